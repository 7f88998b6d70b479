#!/usr/bin/env python3
"""Migrates each store of one lineage to every later version of which Apple's own result is here.

The result must be alike Apple's, and byte-identical for one worker, three, and key ranges of five
rows. The differences that only the history of Apple's migrations explains are named below.

usage: wire_pairs.py --godwit P --corpus D --compare compare-stores.py
                     [--pairs all|N] [--variants 1,3,ranges] [--scratch S]
"""
import glob
import os
import re
import types

from checks import identity
from coredata import Layout, bundles
from run import Failure, Tool, fingerprint, parser, run_cases, same_bytes, unchanged
from store import Store, copy_store, read_content

# The owners edited this cell in store 2.53 and nowhere else.
EDITED_STORE = "store2-53-0"
EDITED_CELLS = re.compile(r"ZCONVERSATION row 11 (ZISSILENCED|ZMUTEDSTATUS): ")

# Tables joining an entity with itself: the model does not say which of the two relationships names
# the table, and a migration that changed the name left an index in the other direction behind.
HISTORY_INDEXES = {
    frozenset({"IGNOREDCLIENTS", "IGNOREDBYCLIENTS"}): "index of a table that was named after the "
                                                       "other of its two relationships",
    frozenset({"TRUSTEDCLIENTS", "TRUSTEDBYCLIENTS"}): "index of a table that was named after the "
                                                       "other of its two relationships",
}

# Frameworks from 977 on add a column by ALTER TABLE and write its default into every row of the
# table, even where the row's entity has no such attribute; earlier ones, and we, leave NULL there.
HISTORY_CELLS = {"ZDECRYPTIONERRORCODE": "SystemMessage",
                 "ZPARTICIPANTSREMOVEDREASON": "SystemMessage"}
CELL = re.compile(r"ZMESSAGE row (\d+) (\w+): 0 -> None$")
INDEX = re.compile(r"(\w+) lacks an index (.*)$")

VARIANTS = {"1": ("--workers", 1), "2": ("--workers", 2), "3": ("--workers", 3),
            "ranges": ("--workers", 2, "--range-rows", 5)}


def load_compare(path):
    """The comparison tool as a module; it ends the process where it is merely imported."""
    with open(path) as file:
        source = re.sub(r"^sys\.exit\(main\(\)\)\s*$", "", file.read(), flags=re.M)
    module = types.ModuleType("compare_stores")
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def version(path):
    return tuple(map(int, re.findall(r"\d+", os.path.basename(path))))


class Wire:
    """The stores of the lineage, each with the version of the model that its hashes name."""

    def __init__(self, corpus):
        self.bundle = bundles(corpus)["wire"]
        self.paths = sorted(glob.glob(os.path.join(corpus, "wire", "*.sqlite")), key=version)
        self.models = {}
        for path in self.paths:
            store = Store(path)
            self.models[path] = self.bundle.models[self.bundle.matching(store.hashes)[0]]
            store.close()

    def pairs(self, count):
        """All pairs of an older and a newer store, or an even sample of them."""
        pairs = [(a, b) for i, a in enumerate(self.paths) for b in self.paths[i + 1:]]
        if count == "all" or int(count) >= len(pairs):
            return pairs
        return [pairs[i * len(pairs) // int(count)] for i in range(int(count))]


def pair_name(a, b):
    return " -> ".join(os.path.splitext(os.path.basename(p))[0] for p in (a, b))


class Explained:
    """Tells the differences that history explains from real ones."""

    def __init__(self, source, expected, result, layout):
        self.edited = EDITED_STORE in source or EDITED_STORE in expected
        self.result, self.layout = result, layout
        self.old = Store(source)
        self.entities = None  # of the messages, once a line asks for them

    def __call__(self, line):
        cell, index = CELL.match(line), INDEX.match(line)
        if self.edited and EDITED_CELLS.match(line):
            return True
        if cell and cell[2] in HISTORY_CELLS:
            added = cell[2] not in self.old.tables["ZMESSAGE"]
            return added and self._foreign(int(cell[1]), cell[2])
        return bool(index) and self._other_direction(index[1])

    def _foreign(self, row, column):
        """Whether the row's entity lacks the attribute."""
        if self.entities is None:
            objects = read_content(self.result, self.layout).objects
            self.entities = {pk: o.entity for (root, pk), o in objects.items() if root == "Message"}
        return HISTORY_CELLS[column] not in self.layout.model.lineage(self.entities[row])

    def _other_direction(self, table):
        """Whether ours has both directions covered, by its key and one index."""
        for join in self.layout.joins:
            names = frozenset(c.lstrip("Z_0123456789") for c in join.columns.values())
            if table in join.names and names in HISTORY_INDEXES:
                ours = self.result.join_table(join)
                found = self.result.indexes(ours)
                return any({c for c, _ in columns} == set(join.columns.values())
                           for _, columns in found)
        return False


def namings(store, layout):
    """{(entity, both relationships): the one that names the table} of entities joined with
    themselves."""
    out = {}
    for join in layout.joins:
        if len(join.names) > 1:
            name = re.sub(r"^Z_\d+", "", store.join_table(join) or "")
            pair = frozenset({join.relationship.name, join.inverse.name})
            out[join.relationship.owner, pair] = name
    return out


def renamed_joins(old, new):
    """Where both relationships go on, the table keeps the name that the source's store has,
    whatever Apple's own later store calls it."""
    return [f"the table of {' and '.join(sorted(pair))} is named after {new[entity, pair]}, in the "
            f"source after {name}" for (entity, pair), name in old.items()
            if new.get((entity, pair), name) != name]


def check_pair(tool, wire, compare, variants, source, expected, folder):
    store = copy_store(source, os.path.join(folder, "source"))
    before, model = fingerprint(os.path.dirname(store)), wire.models[expected]
    results = []
    for variant in variants:
        results.append(os.path.join(folder, f"result-{variant}.sqlite"))
        tool.run("migrate", store, "--to", model.path, "--models", wire.bundle.path,
                 "--output", results[-1], *VARIANTS[variant])
        unchanged(before, os.path.dirname(store))
        left = [n for n in os.listdir(folder) if n.endswith(".godwit")]
        if left:
            raise Failure(f"with {variant}: the work folder {left[0]} is left over")
    for variant, result in zip(variants[1:], results[1:]):
        same_bytes(results[0], result, f"variants {variants[0]} and {variant}")
    apple = copy_store(expected, os.path.join(folder, "apple"))
    options = types.SimpleNamespace(order=True, identity=True, schema=True)
    found, skipped, _, _ = compare.compare(compare.Store(apple), compare.Store(results[0]), options)
    explained = Explained(store, expected, Store(results[0]), Layout(model))
    names = renamed_joins(namings(Store(store), Layout(wire.models[source])),
                          namings(explained.result, explained.layout))
    return names + [line for line in found if not explained(line)] + [
        f"not compared: {s}" for s in skipped] + identity(Store(store), explained.result)


def main():
    p = parser(__doc__)
    p.add_argument("--compare", required=True, help="path of compare-stores.py")
    p.add_argument("--pairs", default="all")
    p.add_argument("--variants", default="1,3,ranges")
    options = p.parse_args()
    tool, compare, wire = Tool(options.godwit), load_compare(options.compare), Wire(options.corpus)
    variants = options.variants.split(",")

    def case(source, expected):
        return pair_name(source, expected), lambda folder: check_pair(
            tool, wire, compare, variants, source, expected, folder)
    run_cases(options, [case(a, b) for a, b in wire.pairs(options.pairs)], "pairs")


if __name__ == "__main__":
    main()
