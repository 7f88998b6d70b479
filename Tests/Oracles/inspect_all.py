#!/usr/bin/env python3
"""Compares `godwit inspect --json` of every store with plain SQL, with all its objects, compares it
with changed and migrated copies by `diff`, and reads and compares every model.

usage: inspect_all.py --godwit P --corpus D [--scratch S]
"""
import glob
import os
import shutil

from coredata import bundles
from inspected import check_inside, check_versions, shaped
from run import Failure, Tool, fingerprint, parser, run_cases, unchanged
from store import Store, copy_store


def check_store(tool, known, path, folder):
    copy = copy_store(path, os.path.join(folder, "source"))
    before = fingerprint(os.path.dirname(copy))
    said = tool.json("inspect", "--json", copy)
    unchanged(before, os.path.dirname(copy))
    store = Store(copy_store(path, os.path.join(folder, "read")))
    model = next((b.models[v] for b in known.values() for v in b.matching(store.hashes)), None)
    expected = facts(store, copy, model)
    found = compare(expected, said) + compare_entities(store, model, said)
    found += shaped(said, "inspect")
    found += check_inside(tool, known, path, copy, store, model, folder)
    unchanged(before, os.path.dirname(copy))
    return found


def facts(store, path, model):
    wal = path + "-wal"
    with open(path, "rb") as file:
        header = file.read(20)
    tables = set(store.tables)
    triggers = store.rows(
        "select name, tbl_name from sqlite_master where type = 'trigger' order by rowid")
    inserts = [(n, t) for n, t in triggers
               if n.startswith(f"Z_DA_{t}_") and n.endswith("_SOURCE_INSERT")]
    return {
        "kind": "store", "uuid": store.uuid,
        "frameworkVersion": store.metadata.get("NSPersistenceFrameworkVersion"),
        "metadataKeys": sorted(store.metadata),
        "hasHistory": bool("ACHANGE" in tables and store.rows("select 1 from ACHANGE limit 1")),
        "derivedAttributes": [n[len(f"Z_DA_{t}_"):-len("_SOURCE_INSERT")].replace("_", ".", 1)
                              for n, t in inserts],
        "spatialIndexes": {n: store.rows(f"select count(*) from {n}")[0][0] for n in sorted(tables)
                           if n.startswith("Z_RT_") and f"{n}_node" in tables},
        "unknownTriggers": [n for n, _ in triggers if n.startswith("ZT_")],
        "hasCloudKitTables": any(t.startswith("ANSCK") for t in tables),
        "journalMode": "wal" if header[18] == 2 else "delete",
        "wal": os.path.getsize(wal) if os.path.exists(wal) else 0,
        "model.hashes": {n: h.hex() for n, h in store.hashes.items()},
        "joinTables": {n: store.rows(f'select count(*) from "{n}"')[0][0] for n in tables
                       if n.startswith("Z_") and not n.startswith("Z_RT_")
                       and "Z_PK" not in store.tables[n]
                       and n not in ("Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE")},
    }


def compare(expected, said):
    said = dict(said)
    said["metadataKeys"] = sorted(said.get("metadataKeys") or [])
    said["spatialIndexes"] = {t["name"]: t["rows"] for t in said.get("spatialIndexes") or []}
    said["joinTables"] = {j["name"]: j["rows"] for j in said.get("joinTables") or []}
    said["model.hashes"] = {n: h.lower() for n, h in
                            ((said.get("model") or {}).get("hashes") or {}).items()}
    return [f"{name}: SQL says {value!r:.200}, inspect says {said.get(name)!r:.200}"
            for name, value in expected.items() if said.get(name) != value]


def compare_entities(store, model, said):
    """Rows by Z_ENT for each entity of Z_PRIMARYKEY, under the model's name where it is known."""
    parents = store.primary_keys()
    names = {v: n for n, v in model.numbers.items()} if model else {
        n: row[0] for n, row in parents.items()}
    counts = {}
    for table, columns in store.tables.items():
        # Search indexes and the like have keys and no entities.
        if {"Z_PK", "Z_ENT"} <= set(columns):
            for number, count in store.rows(f'select Z_ENT, count(*) from "{table}" group by 1'):
                counts[number] = counts.get(number, 0) + count
    # The entities of persistent history are none of the model's.
    names = {n: names.get(n, row[0]) for n, row in parents.items()}
    hashes = {n: store.hashes[name].hex() if name in store.hashes else None
              for n, name in names.items()}
    expected = {names[n]: {
        "number": n, "superentity": names.get(parent), "rows": counts.get(n, 0),
        "versionHash": hashes[n]} for n, (_, parent, _) in parents.items()}
    found = {e["name"]: {k: e.get(k) for k in ("number", "superentity", "rows", "versionHash")}
             for e in said.get("entities", [])}
    return [f"entity {n}: SQL says {expected.get(n)}, inspect says {found.get(n)}"
            for n in sorted(set(expected) | set(found)) if expected.get(n) != found.get(n)]


def check_model(tool, path, versions, folder):
    target = os.path.join(folder, os.path.basename(path))
    copier = shutil.copytree if os.path.isdir(path) else shutil.copyfile
    copier(path, target)
    before = fingerprint(folder)
    said = tool.json("inspect", "--json", target)
    unchanged(before, folder)
    if not isinstance(said.get("versions"), list):
        raise Failure(f"no list `versions`, but the keys {sorted(said)}")
    if versions is not None and len(said["versions"]) != versions:
        return [f"{len(said['versions'])} versions, expected {versions}"]
    return shaped(said, "inspect")


def model_cases(tool, corpus):
    def case(path, versions):
        return (os.path.relpath(path, corpus),
                lambda folder: check_model(tool, path, versions, folder))
    find = lambda pattern: sorted(glob.glob(os.path.join(corpus, "**", pattern), recursive=True))
    for path in find("*.xcdatamodeld"):
        yield case(path, len(glob.glob(os.path.join(glob.escape(path), "*.xcdatamodel"))))
    for path in find("*.momd"):
        yield case(path, len(glob.glob(os.path.join(glob.escape(path), "*.mom"))))
    for path in [*find("*.mom"), *find("*.xcdatamodel")]:
        yield case(path, 1)


def main():
    options = parser(__doc__).parse_args()
    tool, known = Tool(options.godwit), bundles(options.corpus)

    def case(path):
        return (os.path.relpath(path, options.corpus),
                lambda folder: check_store(tool, known, path, folder))
    stores = sorted(glob.glob(os.path.join(options.corpus, "**", "*.sqlite"), recursive=True))
    pairs = [(f"versions of {name}", lambda folder, b=b: check_versions(tool, b))
             for name, b in known.items()]
    run_cases(options, [*map(case, stores), *model_cases(tool, options.corpus), *pairs], "files")


if __name__ == "__main__":
    main()
