"""A plain reading of Core Data's rule for renaming: two names belong together whose identifiers
are equal, the identifier being the name where none is set. A name that both sides have under one
identifier goes to itself first, then what the entities above say counts, and what is left over
must be one name on each side, or nothing decides. An identifier that no source bears may still
name a source, and a name may still be the same one."""
from coredata import Attribute


def paired(old, new, above=None):
    """({new name: old name}, {new names that nothing decides}) of {name: identifier} and
    {name: identifier}; `above` is how the entities above pair their names."""
    pairs, undecided = {}, set()
    for identifier in sorted(set(old.values())):
        settle([n for n in old if old[n] == identifier], [n for n in new if new[n] == identifier],
               above or {}, pairs, undecided)
    for name in sorted(set(old) - set(pairs.values())):
        wanting = [n for n in new if new[n] == name and n not in pairs and n not in undecided]
        settle([name], wanting, above or {}, pairs, undecided)
    for name in set(old) & set(new):
        if name not in pairs and name not in undecided and name not in pairs.values():
            pairs[name] = name
    return pairs, undecided


def settle(sources, targets, above, pairs, undecided):
    if len(sources) != 1 or len(targets) != 1:
        for wanted in ({n: n for n in targets}, above):
            for name in targets:
                source = wanted.get(name)
                if name not in pairs and source in sources and source not in pairs.values():
                    pairs[name] = source
    sources = [n for n in sources if n not in pairs.values()]
    targets = [n for n in targets if n not in pairs]
    if len(sources) == len(targets) == 1:
        pairs[targets[0]] = sources[0]
    elif sources:
        undecided |= set(targets)


def paired_entities(source, destination):
    """The same for two models' entities: one whose hash is equal is the same entity, always."""
    same = {n for n in source.entities if n in destination.entities
            and source.hash(n) == destination.hash(n)}
    plain, undecided = paired(identifiers(source.entities), identifiers(destination.entities))
    same = {n for n in same if plain.get(n) != n}
    if same:
        plain, undecided = paired(
            identifiers({n: e for n, e in source.entities.items() if n not in same}),
            identifiers({n: e for n, e in destination.entities.items() if n not in same}))
        plain.update({n: n for n in same})
    return plain, undecided


def paired_properties(source, old, destination, new, above):
    """({new: old}, {undecided}, {new names that continue one of the other kind})."""
    before, after = source.stored(old), destination.stored(new)
    same = old == new and source.hash(old) == destination.hash(new)
    if same and set(before) == set(after):
        return {n: n for n in after}, set(), set()
    pairs, undecided = {}, set()
    for wanted in (True, False):
        one, other = ({n: p for n, p in side.items() if isinstance(p, Attribute) == wanted}
                      for side in (before, after))
        found = paired(identifiers(one), identifiers(other), above)
        pairs.update(found[0])
        undecided |= found[1]
    if same:
        pairs.update(renamed_composites(before, after, pairs, undecided))
    return pairs, undecided, crossing(before, after, pairs, undecided)


def renamed_composites(before, after, pairs, undecided):
    """{new: old} of the elements of composites that are new and of those that are gone, of entities
    that are the same but for the names of their composites: the first of the same elements."""
    def composites(properties, left):
        found = {}
        for name, p in properties.items():
            whole, dot, _ = name.partition(".")
            if dot:
                found.setdefault(whole, {})[name[len(whole):]] = (p.type, left(name))
        return [(whole, {n: kind for n, (kind, _) in elements.items()})
                for whole, elements in sorted(found.items())
                if all(ok for _, ok in elements.values())]
    gone = composites(before, lambda n: n not in pairs.values())
    out = {}
    for whole, elements in composites(after, lambda n: n not in pairs and n not in undecided):
        found = next((g for g in gone if g[1] == elements), None)
        if found:
            gone.remove(found)
            out.update({whole + n: found[0] + n for n in elements})
    return out


def crossing(before, after, pairs, undecided):
    left = [p for n, p in before.items() if n not in pairs.values()]
    return {n for n, p in after.items() if n not in pairs and n not in undecided and any(
        isinstance(o, Attribute) != isinstance(p, Attribute)
        and (p.renaming in (o.renaming, o.name) or p.name == o.name) for o in left)}


def identifiers(items):
    return {n: i.renaming for n, i in items.items()}
