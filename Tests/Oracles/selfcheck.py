#!/usr/bin/env python3
"""Holds the oracles themselves against Apple's files, without the tool: every known version hash,
the tables, columns, indexes and numbers of every store, and what our expectation makes of each
wire store against what Apple's own migration made of it.

usage: selfcheck.py --corpus D
"""
import argparse
import glob
import json
import os
import shutil
import sys
import tempfile

from coredata import Layout, Model, bundles
from expectation import Mapping, differences
from store import Store, copy_store, read_content
from wire_pairs import EDITED_STORE, HISTORY_CELLS, Wire, pair_name


def hashes(corpus):
    with open(os.path.join(corpus, "version-hashes.json")) as file:
        known = json.load(file)
    for path, entities in known.items():
        if path.endswith("contents"):
            model = Model(os.path.join(corpus, os.path.dirname(path)))
            for entity, expected in entities.items():
                if model.hash(entity).hex() != expected:
                    yield f"{path}: hash of {entity}"


def stores(corpus, scratch):
    """A store is what our own reading of it expects; only sample V2 bears a stale entity name."""
    known = bundles(corpus)
    for path in sorted(glob.glob(os.path.join(corpus, "**", "*.sqlite"), recursive=True)):
        store = Store(copy_store(path, os.path.join(scratch, str(abs(hash(path))))))
        model = next((b.models[v] for b in known.values() for v in b.matching(store.hashes)), None)
        if model:
            layout = Layout(model)
            content = read_content(store, layout)
            for line in differences(store, content, layout):
                if "ExpensiveSportCar" not in line:
                    yield f"{os.path.relpath(path, corpus)}: {line}"
            for table, wanted in layout.indexes().items():
                if wanted != set(store.indexes(table)):
                    odd = sorted(wanted ^ set(store.indexes(table)))
                    yield f"{os.path.relpath(path, corpus)}: indexes of {table}: {odd}"


def wire(corpus, scratch):
    found = Wire(corpus)
    read = {}
    for path in found.paths:
        store, layout = Store(copy_store(path, os.path.join(scratch, "wire"))), Layout(
            found.models[path])
        read[path] = store, layout, read_content(store, layout)
    for old, new in found.pairs("all"):
        content = Mapping(found.models[old], found.models[new]).apply(read[old][2])
        edited = EDITED_STORE in old or EDITED_STORE in new
        for line in differences(read[new][0], content, read[new][1]):
            history = any(c in line for c in HISTORY_CELLS) and "expected None, found 0" in line
            if not history and not (edited and line.startswith("ZCONVERSATION.")
                                    and " row 11 " in line):
                yield f"{pair_name(old, new)}: {line}"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--corpus", required=True)
    corpus, scratch = p.parse_args().corpus, tempfile.mkdtemp(prefix="godwit-oracle-")
    try:
        found = [*hashes(corpus), *stores(corpus, scratch), *wire(corpus, scratch)]
    finally:
        shutil.rmtree(scratch)
    print("\n".join(found) if found else "all of Apple's files alike")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
