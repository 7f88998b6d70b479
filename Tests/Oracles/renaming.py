#!/usr/bin/env python3
"""Random pairs of models with renaming identifiers in every constellation: chains, swaps, the
present name of another property, one identifier for several, for entity and property, attribute
and relationship, above and below. What `map` pairs must be what a plain reading of the rule pairs,
what it refuses what nothing decides; of the pairs that can be migrated, every cell of a generated
store must be where the plain reading puts it.

usage: renaming.py --godwit P --corpus D [--seeds 1-320] [--scratch S]; the corpus is not read
"""
import copy
import json
import os
import random
import re
import shutil
import threading
from collections import Counter

from coredata import Layout, Model
from expectation import Mapping, differences
from random_models import A, E, End, Models
from random_pairs import keeps_objects
from run import Failure, Tool, parser, run_cases, seeds
from store import Store, read_content

ENTITIES, NAMES = ("Ash", "Bay", "Cob", "Dew"), ("p", "q", "r", "s", "t")
MIGRATED, LOCK = Counter(), threading.Lock()


def identifier(r, names, often=0.45):
    return r.choice((*names, "old")) if r.random() < often else None


def free(m, entity, r):
    left = [n for n in NAMES if n not in m.taken(entity)]
    return r.choice(left) if left else None


def fill(m, entity):
    r = m.random
    for _ in range(r.choice((1, 2, 3, 4))):
        name = free(m, entity, r)
        if name is None:
            return
        if r.random() < 0.2:
            end = End(entity, name, False, identifier=identifier(r, NAMES))
            m.relations.append((end, None, r.choice(list(m.entities))))
        else:
            kind = r.choice(("String", "String", "String", "Integer 64"))
            m.entities[entity].attributes[name] = A(
                name, kind, identifier=identifier(r, NAMES))


def make_model(r):
    m = Models(r)
    for name in r.sample(ENTITIES, r.choice((1, 2, 3))):
        parent = r.choice(list(m.entities)) if m.entities and r.random() < 0.5 else None
        m.entities[name] = E(name, parent, identifier=identifier(r, ENTITIES, 0.3))
    for name in list(m.entities):
        fill(m, name)
    return m


def later(m):
    """The next version: new names and identifiers for some of what is there, or a model that has
    nothing to do with it but the names."""
    r = m.random
    if r.random() < 0.3:
        return make_model(r)
    n = Models(r)
    n.entities, n.relations = copy.deepcopy((m.entities, m.relations))
    for e in list(n.entities.values()):
        if r.random() < 0.25:
            e.identifier = identifier(r, ENTITIES, 0.6)
        change(n, e, r.choice(("identifiers", "shuffle", "rename", "add", "move", "none")))
    return n


def change(m, e, how):
    r = m.random
    own = list(e.attributes.values())
    if how == "identifiers":
        for a in own:
            a.identifier = identifier(r, NAMES, 0.6)
    elif how == "shuffle":  # swaps and rings, each saying what it was
        names = [a.name for a in own]
        r.shuffle(names)
        for a, name in zip(own, names):
            a.identifier = r.choice((a.name, a.identifier or a.name))
            a.name = name
        e.attributes = {a.name: a for a in own}
        fill(m, e.name)
    elif how == "rename" and own:
        a, name = r.choice(own), free(m, e.name, r)
        if name:
            del e.attributes[a.name]
            a.identifier, a.name = r.choice((a.identifier, a.name, a.identifier or a.name)), name
            e.attributes[name] = a
    elif how == "add":
        fill(m, e.name)
    elif how == "move" and e.parent and own:
        a = r.choice(own)
        if a.name not in m.taken(e.parent) - {a.name}:
            m.entities[e.parent].attributes[a.name] = e.attributes.pop(a.name)


def write_pair(seed, folder):
    r = random.Random(seed)
    while True:
        old = make_model(r)
        new = later(old)
        if old.is_sound() and new.is_sound() and all(
                d in m.entities for m in (old, new) for _, _, d in m.relations):
            break
    paths = [os.path.join(folder, "Pair.xcdatamodeld", n + ".xcdatamodel") for n in ("1", "2")]
    for model, path in zip((old, new), paths):
        model.write(path)
    return [Model(path) for path in paths]


def told(tool, old, new):
    """What `map` says: {new entity: (old entity, {new property: old property})}, and the places
    of what it refuses, by the words of the reason."""
    done = tool.run("map", "--from", old.path, "--to", new.path)
    entities = {}
    for m in json.loads(done.stdout)["mappings"]:
        if m.get("source") and m.get("destination"):
            properties = {}
            for name, text in {**m.get("attributes", {}), **m.get("relationships", {})}.items():
                found = re.findall(r"\$source\.(\w+)", text or "")
                if found:
                    properties[name] = found[-1]
            entities[m["destination"]] = (m["source"], properties)
    refused = {}
    for line in done.stderr.splitlines():
        place, _, reason = line.removeprefix("godwit: not inferred: ").partition(": ")
        kind = "undecided" if reason.startswith("the renaming identifier") else (
            "kind" if " became a" in reason and "to-many" not in reason else "other")
        refused.setdefault(kind, set()).add(place)
    return entities, refused


def expected_refusals(mapping):
    undecided, kinds = set(mapping.undecided), set()
    for entity, (open_names, crossing) in mapping.odd.items():
        for names, out in ((open_names, undecided), (crossing, kinds)):
            out |= {f"{mapping.destination.stored(entity)[n].owner}.{n}" for n in names}
    return undecided, kinds


def check(tool, seed, folder):
    old, new = write_pair(seed, folder)
    mapping = Mapping(old, new)
    entities, refused = told(tool, old, new)
    wanted = {n: (o, mapping.properties[n]) for n, o in mapping.entities.items()}
    out = []
    for name in sorted(set(wanted) | set(entities)):
        if wanted.get(name) != entities.get(name):
            out.append(f"{name}: expected from {wanted.get(name)}, map says {entities.get(name)}")
    undecided, kinds = expected_refusals(mapping)
    for kind, places in (("undecided", undecided), ("kind", kinds)):
        if refused.get(kind, set()) != places:
            out.append(f"{kind}: expected {sorted(places)}, map says {refused.get(kind)}")
    return out or migrate(tool, mapping, folder)


def migrate(tool, mapping, folder):
    old, new = mapping.source, mapping.destination
    with LOCK:
        MIGRATED["pairs"] += 1
        MIGRATED["refused"] += any(expected_refusals(mapping))
        MIGRATED["moved"] += any(n != o for p in mapping.properties.values()
                                 for n, o in p.items())
    if mapping.refusals() or not keeps_objects(mapping):
        return []
    source, result = (os.path.join(folder, n, "Pair.sqlite") for n in ("source", "result"))
    os.makedirs(os.path.dirname(source))
    os.makedirs(os.path.dirname(result))
    tool.run("generate", old.path, "--rows", 3, "--output", source)
    done = tool.run("migrate", source, "--to", new.path, "--models", os.path.dirname(old.path),
                    "--output", result, "--allow-loss")
    content = mapping.apply(read_content(Store(source), Layout(old)))
    if not os.path.exists(result):
        if old.hashes() != new.hashes():
            raise Failure(f"no result: {done.stdout}{done.stderr}")
        shutil.copyfile(source, result)
    with LOCK:
        MIGRATED["migrated"] += 1
    return differences(Store(result), content, Layout(new))


def main():
    p = parser(__doc__)
    p.add_argument("--seeds", default="1-320", help="one seed or a range")
    options = p.parse_args()
    tool = Tool(options.godwit)

    def case(seed):
        return f"seed {seed}", lambda folder: check(tool, seed, folder)
    try:
        run_cases(options, [case(seed) for seed in seeds(options.seeds)], "pairs of models")
    finally:
        print(f"{MIGRATED['pairs']} paired as the rule says, {MIGRATED['moved']} of them with "
              f"moved values, {MIGRATED['refused']} refused by name,"
              f" {MIGRATED['migrated']} migrated")


if __name__ == "__main__":
    main()
