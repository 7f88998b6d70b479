"""What random models demand of relationships: mandatory to-one ones, uniqueness constraints over
to-one relationships, and forms that hold fewer objects than before; and the refusals that
follow from the rows of a store."""
import random
import re

from coredata import Attribute, Relationship, key
from random_models import End

MOST_KEYS = 10
COMPARED = ("String", "Integer 16", "Integer 32", "Integer 64")


def plant(models, seed, is_destination):
    """Makes some to-one relationships of a model mandatory, and constrains some, in a few seeds."""
    r = random.Random(f"demands {seed} {is_destination}")
    if r.random() > 0.85:
        return
    if is_destination:
        models.relations = [reshaped(models, r, relation) if r.random() < 0.35 else relation
                            for relation in models.relations]
    ends = [e for first, second, _ in models.relations for e in (first, second)
            if e and not e.to_many]
    for end in ends:
        if r.random() < 0.35:
            end.optional = not end.optional
        # What a source's rows have to obey is another matter.
        if is_destination and r.random() < 0.15:
            known = [a.name for a in models.entities[end.entity].attributes.values()
                     if a.type in COMPARED and not a.transient and "." not in a.name]
            more = [r.choice(known)] if known and r.random() < 0.6 else []
            models.entities[end.entity].constraints.append([end.name, *more])


def reshaped(models, r, relation):
    """The relation in another form: one that holds fewer objects, or that leads to an ancestor."""
    first, second, leads_to = relation
    many = [e for e in (first, second) if e and e.to_many]
    if first is second:
        return relation
    step = r.choice(("to_one", "lose_inverse", "new_inverse", "widen"))
    if step == "to_one" and many:
        end = r.choice(many)
        end.to_many = end.ordered = False
    elif step == "lose_inverse" and len(many) == 2:
        return first, None, second.entity
    elif step == "new_inverse" and len(many) == 2:
        name = models.free_name(second.entity) + "One"
        return first, End(second.entity, name, False, identifier="added" + name), second.entity
    elif step == "widen" and second is None and models.entities[leads_to].parent:
        return first, None, models.entities[leads_to].parent
    return relation


def expected(mapping, before, after):
    """The sentences with which a store is refused whose content and that of its result are given:
    those of mandatory relationships and of constraints over relationships."""
    return sorted(missing(mapping, before, after) + repeated(mapping, after)
                  + several(mapping, before) + shared(mapping, before))


def missing(mapping, before, after):
    out = {}
    for (root, pk), o in after.objects.items():
        for name, p in mapping.destination.stored(o.entity).items():
            if isinstance(p, Attribute) or p.to_many or p.optional:
                continue
            if o.to_one.get(name) is None and not lacked(mapping, before, o.entity, p, pk):
                out.setdefault((o.entity, name), []).append(pk)
    return [f"{entity}.{name}: mandatory, and {objects(len(keys), keys)} would have no destination"
            for (entity, name), keys in out.items()]


def lacked(mapping, before, entity, p, pk):
    """Whether the object lacked a relationship that the source made mandatory, and that this one
    continues, by itself or by its inverse."""
    origin = mapping.origin(entity, p.name)
    if origin is None:
        inverse = mapping.destination.inverse(p)
        heirs = mapping.destination.family(inverse.owner) if inverse else []
        found = [mapping.origin(heir, inverse.name) for heir in heirs]
        found = [mapping.source.inverse(f) for f in found if f]
        own = mapping.source.stored(mapping.entities[entity])
        origin = next((f for f in found if f and own.get(f.name) is f), None)
    if origin is None or origin.to_many or origin.optional:
        return False
    old = before.objects.get((mapping.source.root(origin.owner), pk))
    return old is not None and old.to_one.get(origin.name) is None


def continued(mapping):
    """(destination entity, relationship, the one that it continues) of objects that can be."""
    for new, old in mapping.entities.items():
        if mapping.source.entities[old].abstract:
            continue
        for name, p in mapping.destination.stored(new).items():
            origin = mapping.origin(new, name)
            if isinstance(p, Relationship) and origin:
                yield new, p, origin


def several(mapping, before):
    """Objects that have several objects in a relationship that is to-one now."""
    out = []
    for new, p, origin in continued(mapping):
        if origin.to_many and not p.to_many:
            root, old = mapping.source.root(origin.owner), mapping.entities[new]
            keys = [pk for pk, targets in before.lists.get(key(origin), {}).items()
                    if len(targets) > 1 and before.objects[root, pk].entity == old]
            if keys:
                out.append(f"{p.owner}.{p.name}: to-one now, and {objects(len(keys), keys)} "
                           "would have several objects")
    return out


def shared(mapping, before):
    """Objects that share one which may have one owner now."""
    out = set()
    for new, p, origin in continued(mapping):
        inverse, other = mapping.destination.inverse(p), mapping.source.inverse(origin)
        if inverse and inverse.to_many or not (
                other and other.to_many if origin.to_many else p.to_many):
            continue
        goes_on = inverse and mapping.origin(inverse.owner, inverse.name)
        if goes_on and other and other.to_many and goes_on.name == other.name:
            continue
        owners, root = {}, mapping.source.root(origin.owner)
        for (r, pk), o in before.objects.items():
            if r == root and origin.owner in mapping.source.lineage(o.entity):
                targets = before.lists.get(key(origin), {}).get(pk, ()) if origin.to_many \
                    else (o.to_one.get(origin.name),)
                for target in targets:
                    if target is not None:
                        owners.setdefault(target, []).append(pk)
        groups = [keys for keys in owners.values() if len(keys) > 1]
        if groups:
            # Several pairs may be of one object.
            keys = {k for g in groups for k in g}
            some = objects(len(keys), keys if origin.to_many else {min(g) for g in groups})
            out.add(f"{p.owner}.{p.name}: {some} share an object, which may have only one owner "
                    "now")
    return sorted(out)


def repeated(mapping, after):
    out = []
    for name, entity in mapping.destination.entities.items():
        for names in entity.constraints:
            own = mapping.destination.stored(name)
            if not any(isinstance(own[n], Relationship) for n in names):
                continue
            family, groups = mapping.destination.family(name), {}
            for (root, pk), o in after.objects.items():
                if root != mapping.destination.root(name) or o.entity not in family:
                    continue
                values = tuple(o.values[n] if isinstance(own[n], Attribute) else o.to_one.get(n)
                               for n in names)
                if None not in values:
                    groups.setdefault(values, []).append(pk)
            shared = [keys for keys in groups.values() if len(keys) > 1]
            if shared:
                count = sum(map(len, shared))
                out.append(f"{name}: {objects(count, [min(keys) for keys in shared])} break its "
                           f"uniqueness constraint ({', '.join(names)})")
    return out


def objects(count, keys):
    some = sorted(keys)[:MOST_KEYS]
    return (f"{count:,} object{'' if count == 1 else 's'} (Z_PK {', '.join(map(str, some))}"
            f"{', …' if len(some) < count else ''})")


def told(text):
    """The sentences of such refusals in what the tool says."""
    lines = [line.removeprefix("godwit: ") for line in text.splitlines()]
    return sorted(line.partition(";")[0] for line in lines if re.search(
        r": mandatory, and .* no destination;|break its uniqueness constraint \(|share an object, "
        r"|would have several objects", line))
