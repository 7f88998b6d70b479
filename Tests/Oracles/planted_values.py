#!/usr/bin/env python3
"""Plants values in copies of the wire stores, migrates those, and compares the results cell by
cell with what follows from the two models.

usage: planted_values.py --godwit P --corpus D [--pairs all|N] [--scratch S]
"""
import os

from checks import identity
from coredata import Layout, key
from expectation import Mapping, differences
from planting import plant
from run import Failure, Tool, fingerprint, parser, run_cases, same_bytes, unchanged
from store import Store, copy_store, read_content
from wire_pairs import Wire, pair_name


def check(tool, wire, source, expected, folder):
    store = copy_store(source, os.path.join(folder, "source"))
    old, new = wire.models[source], wire.models[expected]
    planted = plant(store, Layout(old))
    idle = [f"{p.owner}.{p.name}" for p in old.relationships() if not used(planted, old, p)]
    if idle:
        raise Failure(f"nothing was planted in {', '.join(idle)}")
    before = fingerprint(os.path.dirname(store))
    results, routes = [], []
    for name, flags in (("one", ("--workers", 1)), ("ranges", ("--workers", 2, "--range-rows", 5))):
        results.append(os.path.join(folder, name + ".sqlite"))
        told = tool.migrate(store, "--to", new.path, "--models", wire.bundle.path, "--output",
                            results[-1], *flags, report=os.path.join(folder, name + ".json"))
        routes.append([step["to"][0] for step in told["steps"]])
    unchanged(before, os.path.dirname(store))
    given, result = Store(store), Store(results[0])
    content, at = read_content(given, Layout(old)), old
    # Where the values of a renamed attribute survive only version by version, that way is taken.
    for name in routes[0]:
        content, at = Mapping(at, wire.bundle.models[name]).apply(content), wire.bundle.models[name]
    if at.hashes() != new.hashes() or routes[0] != routes[1]:
        raise Failure(f"the route ends at another version: {routes}")
    found = differences(result, content, Layout(new)) + identity(given, result)
    same_bytes(*results, "one worker and key ranges")
    return found


def used(planted, model, p):
    if p.to_many:
        return bool(planted.lists.get(key(p)))
    return any(o.to_one.get(p.name) for o in planted.objects.values()
               if p.owner in model.lineage(o.entity))


def main():
    p = parser(__doc__)
    p.add_argument("--pairs", default="40")
    options = p.parse_args()
    tool, wire = Tool(options.godwit), Wire(options.corpus)

    def case(source, expected):
        return (pair_name(source, expected) + " planted",
                lambda folder: check(tool, wire, source, expected, folder))
    run_cases(options, [case(a, b) for a, b in wire.pairs(options.pairs)], "planted pairs")


if __name__ == "__main__":
    main()
