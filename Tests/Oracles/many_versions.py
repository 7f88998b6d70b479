#!/usr/bin/env python3
"""Migrations over many versions: all steps at once must give what one step after another gives.

Apple's own last store of the lineage is compared as well, and the routes that mapping models lead.

usage: many_versions.py --godwit P --corpus D --compare compare-stores.py [--starts N] [--scratch S]
"""
import os
import sqlite3
import types

from checks import identity
from coredata import Layout, bundles
from stated_outcomes import orders
from run import Tool, fingerprint, parser, run_cases, same_bytes, unchanged
from store import Store, copy_store
from wire_pairs import Explained, Wire, load_compare

WAYS = {"composed": (), "in pages": ("--engine", "pages"),
        "three workers, in ranges": ("--workers", 3, "--range-rows", 5),
        "step by step": ("--stepwise",)}


def chain(tool, source, target, bundle, folder):
    """The results of all ways, which must be the same to the byte, and the steps of the route."""
    store = copy_store(source, os.path.join(folder, "source"))
    before, results, route = fingerprint(os.path.dirname(store)), [], []
    for number, way in enumerate(WAYS.values()):
        results.append(os.path.join(folder, f"result-{number}.sqlite"))
        report = os.path.join(folder, f"report-{number}.json")
        told = tool.migrate(store, "--to", target, "--models", bundle, "--progressive",
                            "--infer-only", *way, "--output", results[-1], report=report)
        unchanged(before, os.path.dirname(store))
        route.append(told["steps"])
    for name, result in list(zip(WAYS, results))[1:]:
        same_bytes(results[0], result, f"{name} and all steps at once")
    out = []
    stages = [len({step["stage"] for step in steps}) for steps in route]
    if stages[:3] != [1, 1, 1]:
        out.append(f"the steps were cut into {stages[:3]} stages, expected one")
    if stages[3] != len(route[3]):
        out.append(f"step by step went {len(route[3])} steps in {stages[3]} stages")
    return store, results[0], route[0], out


def wire(tool, lineage, compare, source, folder):
    last = lineage.paths[-1]
    model = lineage.models[last]
    store, result, steps, out = chain(tool, source, model.path, lineage.bundle.path, folder)
    apple = copy_store(last, os.path.join(folder, "apple"))
    found, skipped, _, _ = compare.compare(
        compare.Store(apple), compare.Store(result),
        types.SimpleNamespace(order=True, identity=True, schema=True))
    explained = Explained(store, last, Store(result), Layout(model))
    out += [line for line in found if not explained(line)]
    names = [name for step in steps for name in step["to"]]
    if len(steps) > 1 and len(set(names)) < len(steps):
        out.append(f"a route that meets a version twice: {names}")
    return out + [f"not compared: {s}" for s in skipped] + identity(Store(store), explained.result)


def bookmarks(tool, corpus, version, folder):
    bundle = bundles(corpus)["bookmarks"]
    path = os.path.join(corpus, "bookmarks", f"Bookmarks_V{version}.sqlite")
    new = bundle.models["BookmarksModel 6"]
    _, result, _, out = chain(tool, path, new.path, bundle.path, folder)
    return out + orders(Store(result), new, "result")


def route(tool, path, target, bundle, expected, folder):
    """The mapping models of each step, as the plan names them."""
    store = copy_store(path, os.path.join(folder, "source"))
    # The policies that the mapping models name are known to the tests' own tool.
    policies = Tool(os.path.join(os.path.dirname(tool.path), "PolicyTool"))
    steps = policies.json("plan", store, "--to", target, "--models", bundle, "--json")["route"]
    found = [[os.path.basename(m).removesuffix(".xcmappingmodel") for m in step["mappings"]]
             for step in steps]
    return [] if found == expected else [f"expected {expected}, found {found}"]


def posts(tool, corpus, folder):
    """A mapping model of the first step alone leaves the policy's step aside."""
    base = os.path.join(corpus, "wal-example")
    bundle = os.path.join(base, "CoreDataMigration_Example.xcdatamodeld")
    store = copy_store(os.path.join(base, "CoreDataMigration_Example_1.sqlite"),
                       os.path.join(folder, "source"))
    result = os.path.join(folder, "result.sqlite")
    done = tool.call("migrate", store, "--to", os.path.join(
        bundle, "CoreDataMigration_Example 3.xcdatamodel"), "--models", bundle, "--output", result)
    out = []
    if done.returncode != 78 or "Post2ToPost3MigrationPolicy" not in done.stderr:
        out.append(f"a policy that nobody registered: exit {done.returncode}, {done.stderr[-200:]}")
    if os.path.exists(result) or os.path.exists(result + ".godwit"):
        out.append("a refused migration leaves something")
    tool.run("migrate", store, "--to", os.path.join(
        bundle, "CoreDataMigration_Example 2.xcdatamodel"), "--models", bundle, "--output", result)
    db = sqlite3.connect(f"file:{result}?mode=ro&immutable=1", uri=True)
    count = db.execute("select count(*) from ZPOST").fetchone()[0]
    db.close()
    return out + ([] if count == 1001 else [f"{count} posts, expected 1001"])


def main():
    p = parser(__doc__)
    p.add_argument("--compare", required=True, help="path of compare-stores.py")
    p.add_argument("--starts", type=int, default=3, help="how many stores to start from")
    options = p.parse_args()
    tool, compare, corpus = Tool(options.godwit), load_compare(options.compare), options.corpus
    lineage = Wire(corpus)
    starts = lineage.paths[:-1]
    starts = [starts[i * len(starts) // options.starts] for i in range(options.starts)]
    cases = [(f"{os.path.basename(s)} to the last",
              lambda f, s=s: wire(tool, lineage, compare, s, f)) for s in starts]
    cases += [(f"bookmarks V{v} to 6", lambda f, v=v: bookmarks(tool, corpus, v, f))
              for v in (1, 3)]

    def routed(name, file, target, expected):
        folder = os.path.join(corpus, name)
        bundle = next(os.path.join(folder, n) for n in os.listdir(folder)
                      if n.endswith(".xcdatamodeld"))
        return (f"route of {name}", lambda f: route(
            tool, os.path.join(folder, file), os.path.join(bundle, target), bundle, expected, f))
    cases += [
        routed("bookmigration", "Model1.sqlite", "Model3.xcdatamodel",
               [["Model1_to_Model2"], ["Model2_to_Model3_User", "Model2_to_Model3"]]),
        routed("wal-example", "CoreDataMigration_Example_1.sqlite",
               "CoreDataMigration_Example 3.xcdatamodel", [["Migration1to2"], ["Migration2to3"]]),
        ("posts by mapping models", lambda f: posts(tool, corpus, f))]
    run_cases(options, cases, "chains")


if __name__ == "__main__":
    main()
