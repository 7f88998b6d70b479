"""What must become of the references of random stores, counted with plain SQL."""
import collections
import sqlite3
from dataclasses import replace

import random_mappings
from coredata import Layout, key
from random_mappings import made_of
from store import quoted, uri_path


# Reading

def opened(path):
    return sqlite3.connect(f"file:{uri_path(path)}?mode=ro", uri=True)


def reference_places(layout, db):
    """{relationship: (form, relationship)} of all references that a store keeps: on the owner's
    row, on the target's, or in a join table, which has the name of its first relationship."""
    tables = {n for (n,) in db.execute("select name from sqlite_master where type = 'table'")}
    out = {}
    for p in layout.model.relationships():
        if not p.to_many:
            out[key(p)] = ("owner", p)
        elif layout.model.inverse(p) is None:
            out[key(p)] = ("target", p)
    for join in layout.joins:
        if join.names[0] not in tables:
            join = replace(join, relationship=join.inverse, inverse=join.relationship)
        out[key(join.relationship)] = ("pair", join)
    return out


def references(db, layout, form, p):
    """(owner, target) of each."""
    model = layout.model
    if form == "pair":
        names = [n for n in p.names if db.execute(
            "select 1 from sqlite_master where name = ?", (n,)).fetchone()]
        columns = quoted(p.columns[key(p.inverse)]), quoted(p.columns[key(p.relationship)])
        return db.execute(f"select {', '.join(columns)} from {quoted(names[0])} not indexed "
                          f"where {columns[0]} is not null and {columns[1]} is not null").fetchall()
    if form == "owner":
        root, column, family = model.root(p.owner), layout.columns[key(p)], model.family(p.owner)
        ends = f"Z_PK, {quoted(column)}"
    else:
        root, column, _ = layout.foreign[key(p)]
        family, ends = model.family(p.destination), f"{quoted(column)}, Z_PK"
    numbers = ", ".join(str(model.numbers[e]) for e in family if not model.entities[e].abstract)
    return db.execute(f"select {ends} from Z{root.upper()} not indexed where {quoted(column)} "
                      f"is not null and Z_ENT in ({numbers})").fetchall()


# Expecting

class Expected:
    """What must become of the references of a store.

    `objects` has {root: {key: (entity, why it goes or None, the names of the relationships that the
    mappings which take it read)}}.
    """

    # Whether an object becomes several, and its references as many.
    doubles = False

    def __init__(self, old, new, db, objects, readers, unmade, policies=()):
        # By entity, the relationships that some mapping reads; entities that no mapping takes, and
        # those with a policy.
        self.readers, self.unmade, self.policies = readers, unmade, policies
        self.layout, self.new, self.objects = Layout(old), new, objects
        self.all, self.dropped, self.nowhere = {}, {}, {}
        self.losses = collections.Counter()
        for name, (form, p) in reference_places(self.layout, db).items():
            self.count(name, form, p, references(db, self.layout, form, p))

    def count(self, name, form, p, found):
        relationship = p.relationship if form == "pair" else p
        model = self.layout.model
        owners = self.objects[model.root(relationship.owner)]
        targets = self.objects[model.root(relationship.destination)]
        inverse = model.inverse(relationship)
        dropped, nowhere = collections.Counter(), 0
        for one, other in found:
            owner, target = owners.get(one), targets.get(other)
            row, far = (target, owner) if form == "target" else (owner, target)
            if form == "pair" and (not row or not row[1]) and far and far[1] and not row:
                dropped[far[1]] += 1
            elif row and row[1] and (form != "pair" or not far or far[1]):
                dropped[row[1]] += 1
            elif row and not far and form != "pair" \
                    and not self.is_known(relationship, inverse, row):
                dropped[self.unread(row[0], relationship)] += 1
            elif not row or not far:
                nowhere += 1
            elif row[1] or far[1]:
                cause = row[1] or far[1]
                is_read = owner[0] in self.unmade \
                    or self.is_read(relationship, inverse, owner, target)
                dropped[cause if is_read else self.unread(owner[0], relationship)] += 1
                if is_read:
                    self.losses[owner[0], name[1], cause] += 1
            elif not (relationship.name in owner[2] or inverse and inverse.name in target[2]):
                is_open = self.is_read(relationship, inverse, owner, target) \
                    and self.has_policy(relationship)
                cause = "policy" if is_open else self.unread(owner[0], relationship)
                dropped[cause] += 1
                if is_open:
                    self.losses[owner[0], name[1], cause] += 1
        self.all[name], self.dropped[name], self.nowhere[name] = len(found), dropped, nowhere

    def is_read(self, relationship, inverse, owner, target):
        """Whether references to an object that goes are lost for that, and not because nothing
        reads them: some mapping of the owner's entity reads them, or of any target's."""
        if inverse is None or relationship.name in self.readers[owner[0]]:
            return relationship.name in self.readers[owner[0]]
        ends = self.layout.model.family(relationship.destination) if target[0] in self.unmade \
            else [target[0]]
        return any(inverse.name in self.readers[e] for e in ends)

    def is_known(self, relationship, inverse, row):
        """Whether some mapping reads references of an object, or may read those that lead to it."""
        return relationship.name in self.readers[row[0]] or inverse is not None and any(
            inverse.name in self.readers[e]
            for e in self.layout.model.family(relationship.destination))

    def has_policy(self, relationship):
        """Whether a policy has a say about references of a relationship."""
        return any(e in self.policies for end in (relationship.owner, relationship.destination)
                   for e in self.layout.model.family(end))

    def unread(self, entity, relationship):
        there = entity in self.new.entities and relationship.name in self.new.stored(entity)
        return "unmappedProperty" if there else "removed"


def mapped(old, new, store, maker):
    """The same of mappings with filters and policies."""
    layout, db = Layout(old), opened(store)
    attributes = {e: maker.attributes(old, e) for e in old.entities}
    takers = {e: [m for m in maker.mappings if m["source"] == e and m["type"] != "remove"]
              for e in old.entities}

    def reads(mapping, entity):
        wanted = new.stored(entity)
        if mapping["type"] == "copy":
            return {n for n in wanted if n in old.stored(entity)}
        return {n for n, v in mapping["relationships"].items() if v is not None}
    objects, doubles = {old.root(e): {} for e in old.entities}, False
    for entity in old.concrete():
        names = sorted(attributes[entity])
        columns = [layout.columns[key(old.stored(entity)[n])] for n in names]
        list_ = ", ".join(["Z_PK", *map(quoted, columns)])
        for row in db.execute(f"select {list_} from {layout.table(entity)} not indexed "
                              "where Z_ENT = ?", (old.numbers[entity],)):
            one = dict(zip(["Z_PK", *names], row))
            by = [m for m in takers[entity] if random_mappings.takes(m, one)]
            made = [m for m in by if made_of(m, row[0])]
            doubles = doubles or len(made) > 1
            cause = None if made else "policy" if by else "filter" if takers[entity] \
                else "unmappedEntity"
            objects[old.root(entity)][row[0]] = (
                entity, cause, {n for m in made for n in reads(m, entity)})
    readers = {e: {n for m in takers[e] for n in reads(m, e)} for e in old.entities}
    found = Expected(
        old, new, db, objects, readers, {e for e in takers if not takers[e]},
        {e for e in takers if any(m.get("policy") for m in takers[e])})
    found.doubles = doubles
    db.close()
    return found


def inferred(old, new, store, removed=()):
    """The same where the models alone decide; `removed` are duplicates, by root."""
    db, objects, removed = opened(store), {}, dict(removed)
    for root in old.roots():
        names = {number: e for e, number in old.numbers.items()}
        objects[root] = {
            pk: (names[number],
                 "duplicate" if pk in removed.get(root, ())
                 else None if names[number] in new.entities else "removed",
                 set(new.stored(names[number])) if names[number] in new.entities else set())
            for pk, number in db.execute(f"select Z_PK, Z_ENT from Z{root.upper()} not indexed")}
    readers = {e: set(new.stored(e)) if e in new.entities else set() for e in old.entities}
    found = Expected(old, new, db, objects, readers, set(old.entities) - set(new.entities))
    db.close()
    return found
