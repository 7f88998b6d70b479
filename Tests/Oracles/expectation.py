"""What an inferred migration must make of a store, computed from the two models alone, and the
comparison of that with a real store, cell by cell."""
from coredata import INTEGERS, NUMBERS, REALS, Attribute, Relationship, key
from renames import paired_entities, paired_properties
from store import HISTORY, INTERNAL, Content, Missing, Object, plain, quoted, read_value

NUMERIC_COLUMNS = ("FLOAT", "TIMESTAMP", "DECIMAL")


class Mapping:
    """Which entity and property of the source each one of the destination comes from."""

    def __init__(self, source, destination):
        self.source, self.destination = source, destination
        self.entities, self.undecided = paired_entities(source, destination)
        self.targets = {old: new for new, old in self.entities.items()}
        self.properties, self.odd = {}, {}  # odd: (undecided, of another kind) of each entity
        for new in destination.order:  # what is above comes first
            if new in self.entities:
                self._pair_properties(new)

    def _pair_properties(self, new):
        old = self.entities[new]
        parent, over = self.source.entities[old].parent, self.destination.entities[new].parent
        above = self.properties[over] if parent and self.entities.get(over) == parent else {}
        self.properties[new], *self.odd[new] = paired_properties(
            self.source, old, self.destination, new, above)

    def origin(self, entity, name):
        """The source's property behind a property of a destination entity, or None."""
        old = self.properties.get(entity, {}).get(name)
        return self.source.stored(self.entities[entity])[old] if old else None

    def refusals(self, populated=lambda entity: True):
        """"Entity.property" of all that cannot be inferred, where rows of the source's entity
        exist; the entity is the one that declares the property. An entity alone is one whose
        identifier joins several."""
        out = set(self.undecided)
        for new, old in self.entities.items():
            for name, p in self.destination.stored(new).items():
                if name in self.odd[new][0] | self.odd[new][1] or self._refused(
                        self.origin(new, name), p, populated(old)):
                    out.add(f"{p.owner}.{name}")
        return sorted(out)

    def _refused(self, origin, p, has_rows):
        if isinstance(p, Attribute):
            mandatory = not p.optional and p.default is None and (not origin or origin.optional)
            if p.derivation is not None:
                same = origin is not None and origin.derivation == p.derivation
                return not same and not self._computed(p)
            return has_rows and mandatory or (origin and not convertible(origin, p))
        if origin is None:
            return False
        # A destination may become one of its ancestors.
        return self.targets.get(origin.destination) not in self.destination.family(p.destination)

    def _computed(self, p):
        """Whether an attribute is derived in a form that is known."""
        path, entity = p.derivation.split("."), self.destination.entities[p.owner]
        r = entity.own.get(path[0])
        if len(path) != 2 or entity.parent or r is None or isinstance(r, Attribute):
            return False
        inverse = self.destination.inverse(r)
        return path[1].isidentifier() != r.to_many and not (
            r.to_many and inverse and inverse.to_many)

    def apply(self, content):
        """The destination's content."""
        out = Content()
        for (root, pk), old in content.objects.items():
            entity = self.targets.get(old.entity)
            if entity:
                out.objects[self.destination.root(entity), pk] = self._object(entity, old)
        self._set_to_many(content, out)
        self._set_to_one(content, out)
        for root in self.destination.roots():
            old = [self.entities[n] for n in self.destination.family(root) if n in self.entities]
            out.maxima[root] = content.maxima.get(self.source.root(old[0]), 0) if old else 0
        return out

    def _object(self, entity, old):
        values = {}
        for name, p in self.destination.stored(entity).items():
            if isinstance(p, Attribute):
                origin = self.origin(entity, name)
                value = converted(origin, p, old.values[origin.name]) if origin else p.default
                values[name] = p.default if value is None and not p.optional else value
        return Object(entity, old.opt, values, {}, self._strays(old))

    def _strays(self, old):
        """Values in columns that only a relative of the object has: newer versions of Core Data
        write a new attribute's default there. They mean nothing and may be kept or dropped."""
        if not old.strays:
            return {}
        own = [key(p) for e in self.destination.entities.values() for p in e.own.values()]
        origins = {k: self.origin(*k) for k in own}
        return {k: old.strays[key(o)] for k, o in origins.items() if o and key(o) in old.strays}

    def _set_to_many(self, content, out):
        """Values of to-many relationships that have a source of their own, then those that follow
        from their inverse."""
        many = [p for p in self.destination.relationships() if p.to_many]
        for p in many:
            family = self.destination.family(p.owner)
            root = self.destination.root(p.owner)
            out.lists[key(p)] = {}
            for (r, pk), o in out.objects.items():
                if r == root and o.entity in family:
                    targets = self._targets(content, o.entity, r, pk, p)
                    alive = [t for t in targets or () if self._lives(out, p, t)]
                    if alive:
                        out.lists[key(p)][pk] = alive if p.ordered else sorted(alive)
        for p in many:
            inverse = self.destination.inverse(p)
            if inverse and inverse.to_many and self._has_origin(inverse) and (
                    not self._has_origin(p)):
                out.lists[key(p)] = inverted(out.lists[key(inverse)])

    def _has_origin(self, p):
        return any(self.origin(e, p.name) for e in self.destination.family(p.owner))

    def _targets(self, content, entity, root, pk, p):
        origin = self.origin(entity, p.name)
        if origin is None:
            return None
        if origin.to_many:
            return content.lists[key(origin)].get(pk)
        old = content.objects[self.source.root(origin.owner), pk]
        return [t for t in (old.to_one[origin.name],) if t is not None]

    def _lives(self, out, p, target):
        found = out.objects.get((self.destination.root(p.destination), target))
        return found is not None and p.destination in self.destination.lineage(found.entity)

    def _set_to_one(self, content, out):
        for (root, pk), o in out.objects.items():
            for name, p in self.destination.stored(o.entity).items():
                if isinstance(p, Relationship) and not p.to_many:
                    targets = self._targets(content, o.entity, root, pk, p) or ()
                    o.to_one[name] = next((t for t in targets if self._lives(out, p, t)), None)
        for p in self.destination.relationships():
            inverse = self.destination.inverse(p)
            if not p.to_many and inverse and inverse.to_many and not self._has_origin(p):
                root = self.destination.root(p.owner)
                for owner, targets in out.lists[key(inverse)].items():
                    for target in targets:
                        out.objects[root, target].to_one[p.name] = owner
            elif not p.to_many and inverse and not inverse.to_many and not self._has_origin(p) and (
                    self._has_origin(inverse)):
                # A new side of a one-to-one follows the side that was there; of several, the first.
                for target, owners in lists_of_to_one(self.destination, out, inverse).items():
                    out.objects[self.destination.root(p.owner), target].to_one[p.name] = owners[0]
            elif not p.to_many and inverse and inverse.to_many and not self._has_origin(inverse):
                out.lists[key(inverse)] = lists_of_to_one(self.destination, out, p)


def lists_of_to_one(model, content, p):
    root, out = model.root(p.owner), {}
    for (r, pk), o in sorted(content.objects.items()):
        if r == root and o.to_one.get(p.name) is not None and p.owner in model.lineage(o.entity):
            out.setdefault(o.to_one[p.name], []).append(pk)
    return out


def inverted(lists):
    out = {}
    for owner in sorted(lists):
        for target in lists[owner]:
            out.setdefault(target, []).append(owner)
    return out


def convertible(old, new):
    return old.type == new.type or old.type in NUMBERS and new.type in NUMBERS


def converted(old, new, value):
    if value is None or old.type == new.type:
        return value
    if new.type in REALS:
        return float(value)
    if new.type in INTEGERS:
        return int(value)
    return 1 if value else 0


# Comparison with a real store.


def differences(store, content, layout):
    """Where a store differs from the content that it should have, as sentences."""
    out = check_numbers(store, content, layout.model)
    expected = {"Z" + r.upper() for r in layout.types}
    for root, types in layout.types.items():
        table = "Z" + root.upper()
        have = store.tables.get(table, {})
        if have != types:
            odd = sorted(set(have.items()) ^ set(types.items()))
            out.append(f"{table}: columns {odd} are missing, too many or declared otherwise")
        else:
            out += check_table(store, content, layout, root)
    for join in layout.joins:
        name = store.join_table(join)
        if name is None:
            out.append(f"join table {' or '.join(join.names)} is missing")
        else:
            expected.add(name)
            out += check_join(store, content, join, name)
    # What becomes of history is judged in history.py.
    extra = {n for n in store.tables if not n.startswith("Z_RT_")} - (
        expected | set(INTERNAL) | set(HISTORY))
    return out + [f"table {n} is one too many" for n in sorted(extra)]


def check_numbers(store, content, model):
    out, have = [], store.primary_keys()
    for name, number in model.numbers.items():
        parent = model.entities[name].parent
        wanted = (name, model.numbers[parent] if parent else 0, content.maxima.get(name, 0))
        if have.get(number) != wanted:
            out.append(f"Z_PRIMARYKEY {number}: expected {wanted}, found {have.get(number)}")
    known = set(model.numbers.values()) | {n for t, n in HISTORY.items() if t in store.tables}
    out += [f"Z_PRIMARYKEY {n} is one too many" for n in set(have) - known]
    if store.hashes != model.hashes():
        odd = [n for n in set(store.hashes) | set(model.entities)
               if store.hashes.get(n) != model.hashes().get(n)]
        out.append(f"metadata: version hashes of {', '.join(sorted(odd))}")
    return out


def check_table(store, content, layout, root):
    table, rows = "Z" + root.upper(), store.table("Z" + root.upper())
    wanted = {pk: o for (r, pk), o in content.objects.items() if r == root}
    out = [f"{table} row {k} ({wanted[k].entity}) is missing"
           for k in sorted(set(wanted) - set(rows))]
    out += [f"{table} row {k} is one too many" for k in sorted(set(rows) - set(wanted))]
    free = set(layout.order.values()) | {c for f in layout.foreign.values() for c in f[1:]}
    # What is derived is judged in derived.py.
    free |= {layout.columns[key(p)] for n in layout.model.family(root)
             for p in layout.model.entities[n].own.values()
             if isinstance(p, Attribute) and p.derivation is not None and not p.transient}
    for pk in sorted(set(rows) & set(wanted)):
        cells = expected_cells(layout, content, wanted[pk])
        flagged = attributes_by_column(layout, wanted[pk].entity)
        strays = {layout.columns[k]: v for k, v in wanted[pk].strays.items()}
        for column, declared in layout.types[root].items():
            if column in free or column == "Z_PK":
                continue
            found = read_value(store, flagged[column], rows[pk][column]) \
                if column in flagged else rows[pk][column]
            if column not in cells and found == strays.get(column):
                continue
            if not alike(cells.get(column), found, declared):
                out.append(f"{table}.{column} row {pk} ({wanted[pk].entity}): expected "
                           f"{cells.get(column)!r:.80}, found {found!r:.80}")
    return (out + check_orders(content, layout, root, rows)
            + check_foreign(content, layout, root, rows))


def attributes_by_column(layout, entity):
    return {layout.columns[key(p)]: p for p in layout.model.stored(entity).values()
            if isinstance(p, Attribute)}


def expected_cells(layout, content, o):
    numbers = layout.model.numbers
    cells = {"Z_ENT": numbers[o.entity], "Z_OPT": o.opt}
    for name, p in layout.model.stored(o.entity).items():
        if isinstance(p, Attribute):
            cells[layout.columns[key(p)]] = o.values[name]
        elif not p.to_many:
            target = o.to_one[name]
            cells[layout.columns[key(p)]] = target
            if key(p) in layout.polymorphic and target is not None:
                entity = content.objects[layout.model.root(p.destination), target].entity
                cells[layout.polymorphic[key(p)]] = numbers[entity]
    return cells


def alike(expected, found, declared):
    if isinstance(expected, Missing) and not isinstance(found, Missing):
        return expected.reference == found
    if declared in NUMERIC_COLUMNS and None not in (expected, found):
        return not isinstance(found, (str, bytes)) and expected == found
    return type(expected) is type(found) and expected == found


def check_orders(content, layout, root, rows):
    """Each owner's sequence in the order columns of a table."""
    out = []
    for (owner, name), order in layout.order.items():
        p = layout.model.entities[owner].own[name]
        if layout.model.root(owner) == root:
            out += check_sequence(f"Z{root.upper()}.{order}", layout.columns[owner, name], order,
                                  rows, content.lists[key(layout.model.inverse(p))])
    return out


def check_foreign(content, layout, root, rows):
    """To-many relationships without an inverse live in a column of their targets."""
    out = []
    for relationship, (table, column, order) in layout.foreign.items():
        if table == root:
            owners = {t: o for o, ts in content.lists[relationship].items() for t in ts}
            out += [f"Z{root.upper()}.{column} row {pk}: expected {owners.get(pk)}, found "
                    f"{row[column]}" for pk, row in rows.items() if row[column] != owners.get(pk)]
            if order:
                out += check_sequence(f"Z{root.upper()}.{order}", column, order, rows,
                                      content.lists[relationship])
    return out


def check_sequence(place, column, order, rows, lists):
    found, out = {}, []
    for pk, row in rows.items():
        if (row[column] is None) != (row[order] is None):
            out.append(f"{place} row {pk}: order {row[order]} beside key {row[column]}")
        elif row[column] is not None:
            found.setdefault(row[column], []).append((row[order], pk))
    return out + compare_sequences(place, lists, found)


def compare_sequences(place, lists, found):
    out = []
    for owner in sorted(set(lists) | set(found)):
        pairs = sorted(found.get(owner, []))
        if len({o for o, _ in pairs}) < len(pairs):
            out.append(f"{place} owner {owner}: one order value twice in {pairs}")
        if [t for _, t in pairs] != lists.get(owner, []):
            out.append(f"{place} owner {owner}: expected order {lists.get(owner, [])}, "
                       f"found {[t for _, t in pairs]}")
    return out


def check_join(store, content, join, name):
    have = {plain(c): c for c in store.tables[name]}
    if set(store.tables[name]) != set(join.columns.values()) | set(join.orders.values()):
        return [f"join table {name}: columns are {sorted(store.tables[name])}, expected "
                f"{sorted([*join.columns.values(), *join.orders.values()])}"]
    out, p, inverse = [], join.relationship, join.inverse
    column, other = have[plain(join.columns[key(p)])], have[plain(join.columns[key(inverse)])]
    found = set(store.rows(f"select {quoted(other)}, {quoted(column)} from {quoted(name)}"))
    wanted = {(o, t) for o, ts in content.lists[key(p)].items() for t in ts}
    if found != wanted:
        out.append(f"join table {name} ({other}, {column}): missing {sorted(wanted - found)[:5]},"
                   f" too many {sorted(found - wanted)[:5]}")
        return out
    for r, owner, target in ((p, other, column), (inverse, column, other)):
        if key(r) in join.orders:
            order = have[plain(join.orders[key(r)])]
            lists = {}
            for o, v, t in store.rows(f"select {quoted(owner)}, {quoted(order)}, {quoted(target)}"
                                      f" from {quoted(name)} where {quoted(order)} is not null"):
                lists.setdefault(o, []).append((v, t))
            out += compare_sequences(f"join table {name}.{order}", content.lists[key(r)], lists)
    return out
