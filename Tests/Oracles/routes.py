#!/usr/bin/env python3
"""`verify OLD NEW` without options after migrations on random routes: over versions between, by
mapping models that are found, listed or named, and with choices. With the record beside the result
it ends with 0, and with 65 where a fault is planted in the result. Without the record it ends with
0 or says what to name, and with that named it ends with 0.

usage: routes.py --godwit P [--seeds 1-30] [--scratch S]
"""
import collections
import glob
import json
import os
import random
import shutil
import sqlite3
import threading

from coredata import Attribute, Layout, Model, key
from random_models import make_source
from random_steps import make_destination
from run import KEEP_RECORD, Failure, Tool, parser, run_cases, seeds
from store import quoted

TAKEN = collections.Counter()
LOCK = threading.Lock()
TEXT = "String"
RECORD = ".godwit-status.json"


def count(*names):
    with LOCK:
        TAKEN.update(names)


# Grounds

def tagged(models):
    """An attribute that all versions but the last leave as it is, which demands that its values
    differ; None where no version has one."""
    for entity in models.entities.values():
        for a in entity.attributes.values():
            if a.type == TEXT and a.optional and a.default is None and not a.transient \
                    and "." not in a.name and not entity.abstract:
                return a
    return None


def declaring(models, attribute):
    return next((e for e in models.entities.values()
                 if any(a.number == attribute.number for a in e.attributes.values()
                        if hasattr(a, "number"))), None)


def retype(models):
    """Two versions: one without an attribute, and one in which it has a type that no inference
    takes its values to."""
    import copy
    without = copy.deepcopy(models)
    for e in without.entities.values():
        for a in list(e.attributes.values()):
            if a.type == "Date" and a.optional and "." not in a.name and not a.transient \
                    and not any(a.name in str(i) for i in e.indexes):
                del e.attributes[a.name]
                again = copy.deepcopy(without)
                other = copy.deepcopy(a)
                other.type, other.default, other.indexed = TEXT, None, False
                again.entities[e.name].attributes[a.name] = other
                for m in (without, again):
                    for x in m.entities.values():
                        x.indexes, x.constraints = [], []
                return [without, again]
    return []


def make_bundle(r, folder):
    """Some versions of a model in a bundle, the last one its current one."""
    bundle = os.path.join(folder, "Random.xcdatamodeld")
    versions = [make_source(r)]
    for e in versions[0].entities.values():
        e.constraints = []
    unique = tagged(versions[0])
    if unique:
        unique.number = 1
    detour = retype(versions[0]) if r.random() < 0.4 else []
    versions += detour
    for _ in range(r.choice((1, 1, 2, 3)) - bool(detour)):
        versions.append(make_destination(versions[-1]))
    for v in versions:
        for e in v.entities.values():
            e.constraints = []
    last = versions[-1]
    owner = unique and declaring(last, unique)
    if owner and r.random() < 0.6:
        name = next(a.name for a in owner.attributes.values() if hasattr(a, "number"))
        if "." not in name:
            owner.constraints = [[name]]
    paths = []
    for number, version in enumerate(versions, 1):
        paths.append(os.path.join(bundle, f"Random {number}.xcdatamodel"))
        version.write(paths[-1])
    with open(os.path.join(bundle, ".xccurrentversion"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>'
                   "<key>_XCCurrentVersionName</key>"
                   f"<string>{os.path.basename(paths[-1])}</string></dict></plist>")
    return bundle, paths, unique, bool(owner and owner.constraints)


def make_store(tool, r, path, layout, unique, folder):
    """A store of made-up objects with references to objects that are not there, and with objects
    that agree in the attribute."""
    store = os.path.join(folder, "source", "Random.sqlite")
    os.makedirs(os.path.dirname(store))
    tool.run("generate", path, "--rows", r.choice((30, 90)), "--seed", r.randrange(1000),
             "--output", store)
    db = sqlite3.connect(store)
    triggers = db.execute("select name, sql from sqlite_master where type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"drop trigger {quoted(name)}")
    planted = set()
    if r.random() < 0.6:
        for p in layout.model.relationships():
            if key(p) in layout.columns and not p.to_many and r.random() < 0.7:
                table = quoted(layout.table(p.owner))
                done = db.execute(
                    f"update {table} set {quoted(layout.columns[key(p)])} = 987654 where Z_PK in "
                    f"(select Z_PK from {table} where {quoted(layout.columns[key(p)])} not null "
                    "limit 2)")
                planted |= {"dangling"} if done.rowcount else set()
    if unique:
        place = next(k for k in layout.columns if k[1] == unique.name and k in {
            key(p) for p in layout.model.stored(k[0]).values() if isinstance(p, Attribute)})
        table, column = quoted(layout.table(place[0])), quoted(layout.columns[place])
        keys = [k for (k,) in db.execute(
            f"select Z_PK from {table} where {column} not null order by 1")]
        # Those of other entities in the table have none.
        for first, second in zip(keys[0::7], keys[1::7]):
            if r.random() < 0.8:
                db.execute(f"update {table} set {column} = (select {column} from {table} "
                           "where Z_PK = ?) where Z_PK = ?", (first, second))
                planted.add("duplicates")
    for _, sql in triggers:
        db.execute(sql)
    db.commit()
    db.close()
    return store, planted


def make_mapping(tool, r, paths, folder, bundle):
    """Options that have a mapping model used, which may drop objects; none for one beside the
    bundle."""
    first = r.randrange(len(paths) - 1)
    last = r.choice((first + 1, len(paths) - 1))
    where = r.choice(("found", "listed", "named"))
    place = folder if where == "found" else os.path.join(folder, "maps")
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "Step.json")
    done = tool.call("map", "--from", paths[first], "--to", paths[last], "--output", path)
    if done.returncode:
        return None
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    changed = [m for m in said["mappings"] if m.get("attributes")]
    if changed and r.random() < 0.5:
        mapping = r.choice(changed)
        names = [v for v in mapping["attributes"].values()
                 if isinstance(v, str) and v.startswith("$source.") and v.count(".") == 1]
        if names:
            mapping["filter"] = f"{r.choice(names).removeprefix('$source.')} != nil"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(said, file)
    count(f"a mapping model {where}")
    return {"found": [], "listed": ["--mappings", place], "named": ["--mapping", path]}[where]


# Migrating

def migrate(tool, r, store, bundle, options, planted, in_place, folder):
    """Migrates with the choices that it takes; the stores before and after and the choices, None
    where nothing helps."""
    result = os.path.join(folder, "result.sqlite")
    output = [] if in_place else ["--output", result]
    choices = []
    if "dangling" in planted and r.random() < 0.5:
        choices += ["--on-dangling", "nullify"]
    tries = [[], ["--allow-loss"],
             ["--on-duplicate", r.choice(("keep-first", "keep-last", "merge"))],
             ["--on-value", r.choice(("convert", "null"))]]
    for more in tries:
        choices += more
        done = tool.call("migrate", store, "--to", bundle, *options, *choices, *output, KEEP_RECORD,
                         *r.choice(((), (), ("--engine", "pages"), ("--engine", "sql"))))
        if done.returncode == 0:
            if in_place:
                kept = [p for p in glob.glob(store + ".before-*") if not p.endswith("-lock")]
                return kept[0], store, choices
            return store, result, choices
        if done.returncode != 78:
            raise Failure(f"migrate ends with {done.returncode}: {done.stderr[-400:]}")
    return None


# Faults

def plant(r, path, layout):
    """A fault in a copy of the result that has its place: what was done, None where nothing can be
    done."""
    db = sqlite3.connect(path)
    db.isolation_level = None
    for (name,) in db.execute("select name from sqlite_master where type = 'trigger'").fetchall():
        db.execute(f"drop trigger {quoted(name)}")
    tables = sorted({layout.table(root) for root in layout.model.roots()})
    r.shuffle(tables)
    texts = [k for k in layout.columns for p in [layout.model.stored(k[0]).get(k[1])]
             if isinstance(p, Attribute) and p.type == TEXT and key(p) == k]
    r.shuffle(texts)
    try:
        if texts and r.random() < 0.5:
            for place in texts:
                table, column = (quoted(n) for n in (
                    layout.table(place[0]), layout.columns[place]))
                if db.execute(f"update {table} set {column} = 'planted' where Z_PK = (select Z_PK "
                              f"from {table} where {column} not null limit 1)").rowcount:
                    return "a changed text"
        for table in tables:
            if db.execute(f"delete from {quoted(table)} where Z_PK = (select max(Z_PK) from "
                          f"{quoted(table)})").rowcount:
                return "a missing row"
        return None
    finally:
        db.close()


def said(done):
    return (done.stdout + done.stderr)[-700:]


def check(tool, seed, folder):
    r = random.Random(f"routes {seed}")
    bundle, paths, unique, is_unique = make_bundle(r, folder)
    model = Model(paths[0])
    if model.hashes() == Model(paths[-1]).hashes():
        count("nothing to do")
        return []
    store, planted = make_store(tool, r, paths[0], Layout(model), unique, folder)
    options = []
    if r.random() < 0.4:
        options = make_mapping(tool, r, paths, folder, bundle)
        if options is None:
            options = []
    if r.random() < 0.3:
        options = [*options, "--progressive"]
    in_place = r.random() < 0.3
    made = migrate(tool, r, store, bundle, options, planted, in_place, folder)
    if made is None:
        count("refused")
        return []
    old, new, choices = made
    count(*(c for c in choices if c.startswith("--")), *(["in place"] if in_place else []),
          *(o for o in options if o.startswith("--")), "judged")
    out = []
    done = tool.call("verify", old, new)
    if done.returncode:
        return [f"{options} {choices}: verify ends with {done.returncode}: {said(done)}"]
    if RECORD not in done.stderr:
        out.append(f"verify does not name the record: {said(done)}")
    if "compared by inference" in done.stderr and done.stderr.count("compared by") > 1:
        count("several steps")
    kept = new + ".kept"
    shutil.copyfile(new, kept)
    what = plant(r, new, Layout(Model(paths[-1])))
    if what:
        done = tool.call("verify", old, new)
        if done.returncode != 65:
            out.append(f"{what}: verify ends with {done.returncode}: {said(done)}")
        count(what)
    # By a rename it would be another file, which is all the same.
    shutil.copyfile(kept, new)
    os.remove(kept)
    for path in glob.glob(os.path.join(folder, "**", f"*{RECORD}"), recursive=True):
        os.remove(path)
    done = tool.call("verify", old, new)
    if done.returncode == 64:
        count("asked for the way")
        if not any(o in done.stderr for o in ("--mapping", "--models", *choices)):
            out.append(f"without a record nothing is named: {said(done)}")
    elif done.returncode:
        out.append(f"without a record verify ends with {done.returncode}: {said(done)}")
    done = tool.call("verify", old, new, "--models", bundle, *options, *choices)
    if done.returncode:
        out.append(f"{options} {choices}, named: verify ends with {done.returncode}: {said(done)}")
    return out


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-30")
    options = p.parse_args()
    tool = Tool(options.godwit)
    run_cases(options, [(f"seed {s}", lambda f, s=s: check(tool, s, f))
                        for s in seeds(options.seeds)], "routes")


if __name__ == "__main__":
    import atexit
    atexit.register(lambda: print(", ".join(f"{n} {w}" for w, n in sorted(TAKEN.items()))))
    main()
