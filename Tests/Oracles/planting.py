"""Plants objects in a store: every entity, every kind of value, every relationship's two sides."""
import sqlite3
import struct

from coredata import Attribute, key
from expectation import inverted
from store import Content, Object, Store, quoted, read_content

PER_ENTITY = 3


def plant(path, layout):
    """Adds objects of every concrete entity to the store, related to one another."""
    store = Store(path)
    content = read_content(store, layout)
    joins = [(j, store.join_table(j)) for j in layout.joins]
    store.close()
    planted = new_objects(layout.model, content)
    relate(layout.model, planted)
    db = sqlite3.connect(path)
    with db:
        write(db, layout, planted, joins)
    db.close()
    return planted


def new_objects(model, content):
    planted, maxima = Content(), dict(content.maxima)
    for entity in model.concrete():
        root = model.root(entity)
        for turn in range(PER_ENTITY):
            # Gaps show that keys are kept and not counted anew.
            maxima[root] += 1 + (turn == 1) * 7
            pk = maxima[root]
            values = {n: planted_value(p, pk, turn) for n, p in model.stored(entity).items()
                      if isinstance(p, Attribute)}
            planted.objects[root, pk] = Object(entity, turn + 1, values, {})
    planted.maxima = maxima
    return planted


def planted_value(p, pk, turn):
    """A value of the attribute's type; none in the last of an entity's objects if it may be."""
    if p.optional and turn == PER_ENTITY - 1:
        return None
    number = pk * 37 + len(p.name)
    if p.type == "Boolean":
        return (number + turn) % 2
    if p.type in ("Integer 16", "Integer 32", "Integer 64"):
        bits = int(p.type.split()[1])
        return (number % 1000, -2 ** (bits - 1))[turn % 2] if number % 3 else 2 ** (bits - 1) - 1
    if p.type in ("Double", "Float", "Decimal", "Date"):
        return number * 0.25 + (6e8 if p.type == "Date" else 0)
    if p.type in ("String", "URI"):
        return f"x://{p.name}/{number}" if turn else f"{p.name} {number}: 'Grüße', 日本 \U0001F426"
    if p.type == "UUID":
        return struct.pack(">QQ", number, 2 ** 63 + pk)
    body = b"\x00" + f"{p.name} {number}".encode() + b"\xff" * (9000 if turn == 0 else 3)
    return b"\x01" + body if p.external else body


def relate(model, planted):
    """Both sides of every relationship, in an order that is not that of the keys."""
    done = set()
    for p in model.relationships():
        inverse = model.inverse(p)
        if key(p) in done or inverse and key(inverse) in done:
            continue
        done.add(key(p))
        owners, targets = (members(model, planted, e) for e in (p.owner, p.destination))
        if not owners or not targets:
            continue
        if p.to_many and (inverse is None or inverse.to_many):
            planted.lists[key(p)] = spread(owners, targets)
            if inverse:
                # The other end has an order of its own, against that of the owners' keys.
                planted.lists[key(inverse)] = {
                    t: list(reversed(o)) for t, o in inverted(planted.lists[key(p)]).items()}
        elif p.to_many or inverse and inverse.to_many:
            many, to_one = (p, inverse) if p.to_many else (inverse, p)
            one_to_many(model, planted, many, to_one)
        elif inverse and key(inverse) != key(p):
            for owner, target in zip(owners, reversed(targets)):
                assign(model, planted, p, owner, target)
                assign(model, planted, inverse, target, owner)
        else:
            for turn, owner in enumerate(owners):
                assign(model, planted, p, owner, targets[(turn * 2 + 1) % len(targets)])


def members(model, planted, entity):
    family, root = model.family(entity), model.root(entity)
    objects = sorted(planted.objects.items(), key=lambda item: item[0])
    return [pk for (r, pk), o in objects if r == root and o.entity in family]


def assign(model, planted, p, owner, target):
    planted.objects[model.root(p.owner), owner].to_one[p.name] = target


def spread(owners, targets):
    """Two to three targets for each owner but the last, the higher keys first."""
    out = {}
    for turn, owner in enumerate(owners[:-1] or owners):
        chosen = {targets[(turn + step) % len(targets)] for step in range(2 + turn % 2)}
        out[owner] = sorted(chosen, reverse=turn % 2 == 0)
    return out


def one_to_many(model, planted, many, to_one):
    """Each target has one owner; the first owner has several, from every subentity."""
    owners, targets = (members(model, planted, e) for e in (many.owner, to_one.owner))
    lists = {}
    for turn, target in enumerate(targets[:-1] if to_one.optional else targets):
        owner = owners[(turn // 3) % len(owners)]
        assign(model, planted, to_one, target, owner)
        lists.setdefault(owner, []).insert(0, target)
    planted.lists[key(many)] = lists


def write(db, layout, planted, joins):
    model = layout.model
    extra = order_cells(layout, planted)
    for (root, pk), o in planted.objects.items():
        cells = {"Z_PK": pk, "Z_ENT": model.numbers[o.entity], "Z_OPT": o.opt}
        for name, value in o.values.items():
            cells[layout.column(o.entity, name)] = value
        for name, target in o.to_one.items():
            p = model.properties(o.entity)[name]
            cells[layout.columns[key(p)]] = target
            if key(p) in layout.polymorphic:
                found = planted.objects[model.root(p.destination), target]
                cells[layout.polymorphic[key(p)]] = model.numbers[found.entity]
        cells.update(extra.get((root, pk), {}))
        insert(db, "Z" + root.upper(), cells)
    for join, table in joins:
        write_join(db, planted, join, table)
    for root, highest in planted.maxima.items():
        db.execute("update Z_PRIMARYKEY set Z_MAX = ? where Z_ENT = ?",
                   (highest, model.numbers[root]))


def order_cells(layout, planted):
    """Order values of one-to-many relationships and the columns of those without inverse."""
    model, out = layout.model, {}
    for p in model.relationships():
        inverse = model.inverse(p)
        if not p.to_many or inverse and inverse.to_many:
            continue
        if inverse:
            root, column, order = model.root(inverse.owner), None, layout.order.get(key(inverse))
        else:
            root, column, order = layout.foreign[key(p)]
        for owner, targets in planted.lists.get(key(p), {}).items():
            for place, target in enumerate(targets):
                cells = out.setdefault((root, target), {})
                cells.update({column: owner} if column else {})
                cells.update({order: 2048 + 1024 * place + place % 2} if order else {})
    return out


def write_join(db, planted, join, table):
    p, inverse = join.relationship, join.inverse
    back = planted.lists.get(key(inverse), {})
    for owner, targets in planted.lists.get(key(p), {}).items():
        for place, target in enumerate(targets):
            cells = {join.columns[key(inverse)]: owner, join.columns[key(p)]: target}
            if key(p) in join.orders:
                cells[join.orders[key(p)]] = 2048 + 1024 * place
            if key(inverse) in join.orders:
                cells[join.orders[key(inverse)]] = 2048 + 1024 * back[target].index(owner)
            insert(db, table, cells)


def insert(db, table, cells):
    names = ", ".join(map(quoted, cells))
    db.execute(f"insert into {quoted(table)} ({names}) values ({', '.join('?' * len(cells))})",
               list(cells.values()))
