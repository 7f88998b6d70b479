"""Random steps from a random model to a destination that inference can reach from it."""
import copy

from coredata import NUMBERS
from random_models import DEFAULTS, End, Models, top


def make_destination(source):
    """A model that inference can reach, after some steps."""
    while True:
        m = changed(source)
        if m.is_sound():
            return m


def changed(source):
    m = Models(source.random)
    m.entities, m.relations = copy.deepcopy((source.entities, source.relations))
    kept = list(kept_indexes(m))
    for e in m.entities.values():
        e.indexes, e.constraints = [], []
    for _ in range(m.random.choice((1, 2, 4, 8, 16))):
        m.random.choice(STEPS)(m)
    for e, parts in kept:
        if m.entities.get(e.name) is e and all(
                any(a is b for b in m.attributes(e.name)) for a, _ in parts):
            e.indexes.append(([(a.name, up) for a, up in parts], None))
    m.add_indexes()
    m.add_constraints()
    return m


def kept_indexes(m):
    """Most indexes without a predicate, as (entity, [(attribute, ascending)]): a destination has
    those whose attributes it has, under whatever names."""
    for e in m.entities.values():
        known = {a.name: a for a in m.attributes(e.name)}
        for elements, predicate in e.indexes:
            if predicate is None and m.random.random() < 0.7:
                yield e, [(known[name], up) for name, up in elements]


# Steps; each changes something where it can


def some_attribute(m):
    known = [(e, a) for e in m.entities.values() for a in e.attributes.values() if not a.transient]
    return m.random.choice(known) if known else (None, None)


def rename_entity(m):
    old = m.random.choice(list(m.entities))
    new, e = m.names("new"), m.entities[old]
    m.entities = {new if n == old else n: x for n, x in m.entities.items()}
    e.identifier, e.name = e.identifier or old, new
    for x in m.entities.values():
        x.parent = new if x.parent == old else x.parent
    for relation in m.relations:
        for end in filter(None, relation[:2]):
            end.entity = new if end.entity == old else end.entity
    m.relations = [(a, b, new if d == old else d) for a, b, d in m.relations]


def rename_attribute(m):
    e, a = some_attribute(m)
    if a:
        del e.attributes[a.name]
        name = f"{a.name.rpartition('.')[0]}." if "." in a.name else ""
        a.identifier, a.name = a.identifier or a.name, f"{name}{m.free_name(e.name)}New"
        e.attributes[a.name] = a


def rename_composite(m):
    e, a = some_attribute(m)
    if a and "." in a.name:
        old, new = top(a.name), m.free_name(e.name) + "New"
        for a in [a for a in e.attributes.values() if a.name.startswith(old + ".")]:
            del e.attributes[a.name]
            a.identifier, a.name = a.identifier or a.name, f"{new}.{a.name.partition('.')[2]}"
            e.attributes[a.name] = a


def add_attribute(m):
    e = m.random.choice(list(m.entities))
    a = m.add_attribute(e)
    a.name, _ = a.name + "Added", m.entities[e].attributes.pop(a.name)
    m.entities[e].attributes[a.name] = a
    a.optional = a.optional or a.default is None


def drop_attribute(m):
    e, a = some_attribute(m)
    if a:
        del e.attributes[a.name]


def change_type(m):
    _, a = some_attribute(m)
    if a and a.type in NUMBERS:
        a.type = m.random.choice(NUMBERS)
        a.default = None if a.default is None else m.random.choice(DEFAULTS[a.type])
        a.optional = a.optional or a.default is None


def change_optional(m):
    _, a = some_attribute(m)
    if a and a.type in DEFAULTS:
        a.optional = not a.optional
        a.default = a.default if a.default is not None else m.random.choice(DEFAULTS[a.type])


def change_external(m):
    _, a = some_attribute(m)
    if a and a.type == "Binary":
        a.external = not a.external


def add_parent(m):
    child = m.random.choice(list(m.entities.values()))
    new = m.add_entity(child.parent)
    new.attributes = {a.name + "Up": a for a in new.attributes.values()
                      if (a.optional or a.default is not None) and "." not in a.name}
    for name, a in new.attributes.items():
        a.name = name
    child.parent = new.name


def move_up(m):
    e, a = some_attribute(m)
    if not a or not e.parent or "." in a.name:
        return
    del e.attributes[a.name]
    if a.name in m.taken(e.parent):
        e.attributes[a.name] = a
        return
    a.optional = a.optional or a.default is None
    m.entities[e.parent].attributes[a.name] = a


def move_down(m):
    e, a = some_attribute(m)
    children = [x for x in m.entities.values()
                if a and x.parent == e.name and "." not in a.name]
    if children:
        del e.attributes[a.name]
        m.random.choice(children).attributes[a.name] = a


def leave_hierarchy(m):
    children = [e for e in m.entities.values() if e.parent]
    if children:
        m.random.choice(children).parent = None


def add_entity(m):
    name = m.random.choice((None, *m.entities))
    new = m.add_entity(name)
    new.identifier = "added" + new.name


def drop_entity(m):
    if len([e for e in m.entities.values() if not e.abstract]) < 2:
        return
    gone = m.entities.pop(m.random.choice(list(m.entities)))
    for e in m.entities.values():
        e.parent = gone.parent if e.parent == gone.name else e.parent
    m.relations = [(a, b, d) for a, b, d in m.relations
                   if gone.name not in (a.entity, d) and not (b and b.entity == gone.name)]


def some_relation(m):
    return m.random.randrange(len(m.relations)) if m.relations else None


def change_order(m):
    place = some_relation(m)
    if place is not None:
        first, second, _ = m.relations[place]
        many = [e for e in (first, second) if e and e.to_many and first is not second]
        if many:
            end = m.random.choice(many)
            end.ordered = not end.ordered


def to_many(m):
    place = some_relation(m)
    if place is not None:
        first, second, _ = m.relations[place]
        m.random.choice([e for e in (first, second) if e]).to_many = True


def drop_relation(m):
    place = some_relation(m)
    if place is not None:
        del m.relations[place]


def rename_relation(m):
    place = some_relation(m)
    if place is not None:
        end = m.random.choice([e for e in m.relations[place][:2] if e])
        end.identifier, end.name = end.identifier or end.name, m.free_name(end.entity) + "Of"


def add_inverse(m):
    place = some_relation(m)
    if place is not None and m.relations[place][1] is None:
        first, _, destination = m.relations[place]
        other = End(destination, m.free_name(destination) + "Back", not first.to_many)
        m.relations[place] = (first, other, destination)


def add_relation(m):
    m.add_relation()
    for end in filter(None, m.relations[-1][:2]):
        end.identifier = "added" + end.name


STEPS = (rename_entity, rename_attribute, rename_attribute, rename_composite, add_attribute,
         add_attribute,
         drop_attribute, change_type, change_type, change_type, change_optional, change_external,
         add_parent, move_up, move_up, move_down, leave_hierarchy, add_entity, drop_entity,
         change_order, change_order, to_many, to_many, drop_relation, rename_relation, add_inverse,
         add_relation)
