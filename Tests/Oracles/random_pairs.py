#!/usr/bin/env python3
"""Migrates random stores of random models by both engines: all results must be alike to the byte
once they are vacuumed, and SQLite must be able to go on working in them. Of stores that Core Data
could have written, every cell must be what follows from the two models.

usage: random_pairs.py --godwit P --corpus D [--seeds 1-20] [--scratch S]; the corpus is not read
"""
import json
import os
import random
import re
import shutil
import sqlite3
import threading

import derived
import history
import random_demands
from coredata import INTEGERS, Attribute, Layout, Model, key
from expectation import Mapping, differences
from random_models import make_source
from random_steps import make_destination
from random_stores import STRAY, Filler, Form, make_store
from random_values import Values
from run import Failure, Tool, fingerprint, parser, run_cases, seeds, unchanged, vacuumed
from store import Store, copy_store, quoted, read_content

ENGINES = {"sql": 0, "pages": 0}
DECLINED = {}
CLONES = {"made": 0, "stayed": 0}
LOCK = threading.Lock()
ALIKE = "rows are alike"


def value_limits(mapping):
    """{attribute of the source: (lowest, highest) number that its new type takes}, where that is
    another one."""
    out = {}
    for new, old in mapping.entities.items():
        for name, p in mapping.destination.stored(new).items():
            origin = mapping.origin(new, name)
            if not isinstance(p, Attribute) or not origin or origin.type == p.type:
                continue
            low, high = bounds(origin.type)
            if p.type != "Boolean":
                low, high = max(low, bounds(p.type)[0]), min(high, bounds(p.type)[1])
            if key(origin) in out:
                low, high = max(low, out[key(origin)][0]), min(high, out[key(origin)][1])
            out[key(origin)] = (low, high)
    return out


def bounds(kind):
    if kind == "Boolean":
        return 0, 1
    return INTEGERS.get(kind, (-3e38, 3e38) if kind == "Float" else (-1e300, 1e300))


def constrained(mapping):
    """Attributes of the source with values that occur once."""
    out = set()
    for model, origin in ((mapping.source, None), (mapping.destination, mapping.origin)):
        for name, entity in model.entities.items():
            for names in entity.constraints:
                # What is constrained here may come from below.
                for heir in model.family(name):
                    found = origin(heir, names[0]) if origin else model.stored(heir)[names[0]]
                    out |= {key(found)} if found else set()
    return out


def alone(mapping):
    """To-one relationships of the source that no two objects may share."""
    out = set()
    for new in mapping.entities:
        for name, p in mapping.destination.stored(new).items():
            origin = mapping.origin(new, name)
            if not isinstance(p, Attribute) and p.to_many and origin and not origin.to_many:
                out.add(key(origin))
    return out


def keeps_objects(mapping):
    """Whether the identifiers leave nothing open, each table has objects of one hierarchy at most,
    none of them of an abstract entity, and no value that occurs once has to fit another type."""
    if mapping.undecided or any(any(odd) for odd in mapping.odd.values()):
        return False
    for root in mapping.destination.roots():
        family = [n for n in mapping.destination.family(root) if n in mapping.entities]
        if len({mapping.source.root(mapping.entities[n]) for n in family}) > 1:
            return False
    if constrained(mapping) & set(value_limits(mapping)):
        return False
    return not any(mapping.destination.entities[new].abstract
                   and not mapping.source.entities[old].abstract
                   for new, old in mapping.entities.items())


def make_pair(tool, seed, folder):
    """Writes both models and the store; gives their paths and what the store is like."""
    r = random.Random(seed)
    bundle = os.path.join(folder, "Random.xcdatamodeld")
    paths = [os.path.join(bundle, n + ".xcdatamodel") for n in ("Old", "New")]
    first = make_source(r)
    random_demands.plant(first, seed, False)
    # Numbers of their own, so that what a seed makes besides stays what it was.
    is_derived = random.Random(f"derived {seed}").random() < 0.6

    def write(model, path):
        model.write(path)
        if is_derived:
            derived.plant(path, seed)
        return Model(path)
    old = new = write(first, paths[0])
    mapping = Mapping(old, new)
    while new.hashes() == old.hashes() or not keeps_objects(mapping) or mapping.refusals():
        shutil.rmtree(paths[1], ignore_errors=True)
        last = make_destination(first)
        random_demands.plant(last, seed, True)
        new = write(last, paths[1])
        mapping = Mapping(old, new)
    template = os.path.join(folder, "empty.sqlite")
    tool.run("generate", paths[0], "--rows", 0, "--output", template)
    store = os.path.join(folder, "source", "Random.sqlite")
    os.makedirs(os.path.dirname(store))
    form = Form(r)
    support = os.path.join(folder, "source", ".Random_SUPPORT", "_EXTERNAL_DATA")
    values = Values(r, form, value_limits(mapping), constrained(mapping), support)
    filler = Filler(r, form, Layout(old), values)
    make_store(template, store, filler, alone(mapping))
    if is_derived:
        derived.fill(store, filler.layout)
    of_history = random.Random(f"history {seed}")
    form.history = of_history.random() < 0.6
    if form.history:
        history.plant(store, filler.layout, of_history)
    return bundle, mapping, store, form, r


def own_inverses(mapping):
    """Whether a relationship is its own inverse, of which other tools tell nothing."""
    return any(p.to_many and p.inverse == p.name and p.destination == p.owner
               for model in (mapping.source, mapping.destination) for p in model.relationships())


def check(tool, seed, folder):
    bundle, mapping, store, form, r = make_pair(tool, seed, folder)
    target = mapping.destination.path
    before = fingerprint(os.path.dirname(store))
    few = ("--range-rows", r.choice((3, 20, 100, 700)))
    runs = [("sql", ("--engine", "sql", "--workers", 1)),
            ("pages", ("--engine", "pages", "--workers", 1)),
            ("pages, 3 workers", ("--engine", "pages", "--workers", 3)),
            ("pages, ranges", ("--engine", "pages", "--workers", 2, *few, "--verify", "full")),
            ("clone, full" if seed % 2 else "clone",
             ("--engine", "clone", "--workers", 2, *(("--verify", "full") if seed % 2 else ())))]
    results, found = [], []
    refused = tool.call("migrate", store, "--to", target, "--models", bundle, "--output",
                        os.path.join(folder, "refused.sqlite"))
    unchanged(before, os.path.dirname(store))
    if not form.tame and "which may have only one owner now" in refused.stderr:
        # Nor would Core Data take it.
        return []
    is_told = form.tame and not own_inverses(mapping)
    if is_told:
        given = Store(copy_store(store, os.path.join(folder, "read-first")))
        before_rows = read_content(given, Layout(mapping.source))
        demands = random_demands.expected(mapping, before_rows, mapping.apply(before_rows))
    else:
        demands = random_demands.told(refused.stderr)
    if demands:
        return demanded(tool, store, target, bundle, runs, demands, folder)
    for name, flags in runs:
        result = os.path.join(folder, f"result-{len(results)}.sqlite")
        report = os.path.join(folder, f"report-{len(results)}.json")
        tool.run("migrate", store, "--to", target, "--models", bundle, "--output", result,
                 "--report", report, "--allow-loss", *flags)
        verified(tool, store, result, bundle, form)
        unchanged(before, os.path.dirname(store))
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        if name.startswith("clone"):
            with LOCK:
                CLONES["made"] += told["engine"] == "clone"
                CLONES["stayed"] += len(told["movedTables"])
        if flags[1] != told["engine"]:
            with LOCK:
                DECLINED[seed if flags[1] != "clone" else f"{seed}, a clone"] = told.get(
                    "engineDeclined", "without a reason")
            if "engineDeclined" not in told:
                found.append(f"{name}: the rows are written by {told['engine']}, and why is told "
                             "nowhere")
        # What goes with the model goes unasked; anything else is refused until it is allowed.
        asked = any(loss["cause"] != "removed" for loss in told["losses"])
        if refused.returncode != (78 if asked else 0):
            found.append(f"{name}: exit {refused.returncode} without consent: {told['losses']}")
        for account in (a for stage in told["accounts"] for a in stage["entities"]):
            if account["rowsIn"] != account["rowsOut"] + sum(
                    d["objects"] for d in account["dropped"]):
                found.append(f"{name}: {account} does not add up")
        results.append((name, result, told))
    with LOCK:
        ENGINES[results[1][2]["engine"]] += 1
    if form.tame and not own_inverses(mapping):
        given = Store(copy_store(store, os.path.join(folder, "read")))
        content = mapping.apply(read_content(given, Layout(mapping.source)))
        found += differences(Store(results[0][1]), content, Layout(mapping.destination))
    copies = [(name, vacuumed(path)) for name, path, _ in results]
    if form.history:
        given = Store(copy_store(store, os.path.join(folder, "read-history")))
        found += history.differences(
            given.db, sqlite3.connect(copies[0][1]), mapping, Layout(mapping.source),
            Layout(mapping.destination))
        for _, copy in copies:
            history.settle(copy)
    changed = os.path.join(folder, "changed.sqlite")
    shutil.copyfile(copies[1][1], changed)
    found += derived.differences(
        changed, Layout(mapping.destination), random.Random(seed), form.tame)
    for name, copy in copies[1:]:
        # Records of a table that stays in a clone end where they ended.
        may_end = name.startswith("clone") and form.short
        found += [f"{name}: {line}" for line in different(copies[0][1], copy)
                  if not (may_end and line.startswith(ALIKE))]
    for name, told in ((n, t) for n, _, t in results[1:]):
        found += [f"{name}: {line}" for line in dangling(told, results[0][2], name == "clone")]
    for name, path, _ in results[1:2] + results[3:]:
        found += [f"{name}, {line}" for line in usable(path, random.Random(seed))]
    return [f"[{form}] {line}" for line in found]


def demanded(tool, store, target, bundle, runs, demands, folder):
    """What each command says otherwise than that these demands are broken."""
    with LOCK:
        ENGINES["refused"] = ENGINES.get("refused", 0) + 1
    asked = [("check", "check", ()), ("plan", "plan", ())] + [
        (name, "migrate", ("--output", os.path.join(folder, "no.sqlite"), *flags))
        for name, flags in runs]
    out = []
    for name, command, flags in asked:
        done = tool.call(command, store, "--to", target, "--models", bundle, "--allow-loss", *flags)
        said = random_demands.told(done.stdout + done.stderr)
        if done.returncode != 78 or said != demands:
            out.append(f"{name}: exit {done.returncode}, says {said} and not {demands}")
    return out


def dangling(told, by_sql, may_leave):
    """What a report tells otherwise of references that lead nowhere than that of rows made by SQL.
    Of tables that stayed in a clone it may say that nobody looked, but nothing else."""
    left = {(c["table"], c["column"]) for c in told.get("uncheckedReferences", [])}
    wanted = [d for d in by_sql["danglingReferences"] if (d["table"], d["column"]) not in left]
    out = []
    if told["danglingReferences"] != wanted:
        out.append(f"dangling references {told['danglingReferences']}, by SQL {wanted}")
    if left and (not may_leave or {t for t, _ in left} - set(told["movedTables"])):
        out.append(f"nobody looked at {sorted(left)}, and {told['movedTables']} stayed")
    return out


def verified(tool, store, result, bundle, form):
    """The tool's own judge must find nothing where the others do not, but for the rows of unknown
    entities, which are let go."""
    done = tool.call("verify", store, result, "--models", bundle, "--infer-only", "--limit", 50)
    others = [line for line in done.stdout.splitlines() if not (
        form.odd and re.fullmatch(rf"rowLost: \w+ {STRAY} Z_ENT: (NULL|9999) .*", line))]
    if done.returncode not in (0, 65) or (done.returncode and others):
        raise Failure(f"verify ends with {done.returncode}: {done.stdout[-600:]}")


def different(first, second):
    """Where two vacuumed stores differ, by table; by size where rows are alike."""
    with open(first, "rb") as a, open(second, "rb") as b:
        one, two = a.read(), b.read()
    if one == two:
        return []
    out, dbs = [], []
    for path in (first, second):
        dbs.append(sqlite3.connect(path))
        dbs[-1].text_factory = bytes
    schemas = [db.execute("select type, name, tbl_name, sql from sqlite_master").fetchall()
               for db in dbs]
    if schemas[0] != schemas[1]:
        out.append("schemas differ")
    for kind, name, _, _ in schemas[0]:
        if kind == b"table":
            rows = [db.execute(f"select rowid, * from {quoted(name.decode())}").fetchall()
                    for db in dbs]
            odd = [pair for pair in zip(*rows) if repr(pair[0]) != repr(pair[1])]
            if odd or len(rows[0]) != len(rows[1]):
                out.append(f"{name.decode()}: {len(rows[0])} and {len(rows[1])} rows; " + (
                    f"{len(odd)} differ, the first {odd[0]!r:.600}" if odd else ""))
    places = [n for n in range(0, min(len(one), len(two)), 4096)
              if one[n:n + 4096] != two[n:n + 4096]]
    return out or [f"{ALIKE}, {len(one)} and {len(two)} bytes differ in pages "
                   f"{[n // 4096 + 1 for n in places[:8]]}"]


def usable(result, r):
    """Whether SQLite can go on in a copy of the store."""
    copy = result + ".used.sqlite"
    shutil.copyfile(result, copy)
    db = sqlite3.connect(copy)
    db.isolation_level = None
    db.text_factory = bytes
    found = []

    def sound(step):
        answers = db.execute("pragma integrity_check(3)").fetchall()
        if answers != [(b"ok",)]:
            found.append(f"after {step}: {answers}")
        return not found
    # What they call is in Core Data's process; derived.py has stubs for it.
    for (name,) in db.execute("select name from sqlite_master where type = 'trigger'").fetchall():
        db.execute(f"drop trigger {quoted(name.decode())}")
    if sound("the migration"):
        for step, action in STEPS:
            try:
                action(db, r)
            except sqlite3.Error as error:
                found.append(f"at {step}: {error}")
            if not sound(step):
                break
    db.close()
    os.remove(copy)
    return found


def tables(db):
    names = db.execute("select name from sqlite_master where type = 'table' and name like 'Z%'"
                       " and name not in ('Z_METADATA', 'Z_PRIMARYKEY', 'Z_MODELCACHE')"
                       " and name not glob 'Z_RT_*'")
    return [n.decode() for (n,) in names.fetchall()]


def insert_rows(db, r):
    db.execute("begin")
    for table in tables(db):
        columns = [c[1].decode() for c in db.execute(f"pragma table_info({quoted(table)})")]
        for _ in range(r.choice((1, 200))):
            cells = [r.choice((r.randrange(2**40), bytes(r.choice((3, 5000)))))
                     if c not in ("Z_PK", "Z_ENT", "Z_OPT") else r.randrange(-2**50, 2**50)
                     for c in columns]
            db.execute(f"insert or ignore into {quoted(table)} values "
                       f"({', '.join('?' * len(cells))})", cells)
    db.execute("commit")


def update_rows(db, r):
    db.execute("begin")
    for table in tables(db):
        columns = [c[1].decode() for c in db.execute(f"pragma table_info({quoted(table)})")]
        for column in columns[1:]:
            db.execute(f"update or ignore {quoted(table)} set {quoted(column)} = ? "
                       "where rowid % 3 = ?", (bytes(r.choice((0, 60, 6000))), r.randrange(3)))
    db.execute("commit")


def delete_rows(db, r):
    db.execute("begin")
    for table in tables(db):
        db.execute(f"delete from {quoted(table)} where rowid % 2 = ?", (r.randrange(2),))
    db.execute("commit")


def vacuum_some(db, r):
    # Only a script runs such a statement to its end here.
    db.executescript(f"pragma incremental_vacuum({r.choice((1, 7, 50))})")


def vacuum_free(db, _):
    db.executescript("pragma incremental_vacuum")
    left = db.execute("pragma freelist_count").fetchone()[0]
    if left:
        raise sqlite3.Error(f"{left} pages are free after incremental_vacuum")


def drop_tables(db, r):
    for table in r.sample(tables(db), min(2, len(tables(db)))):
        db.execute(f"drop table {quoted(table)}")


def vacuum(db, _):
    db.execute("vacuum")


STEPS = (("insert", insert_rows), ("incremental_vacuum", vacuum_some), ("update", update_rows),
         ("delete", delete_rows), ("incremental_vacuum of some", vacuum_some),
         ("drop table", drop_tables), ("incremental_vacuum of all", vacuum_free),
         ("vacuum", vacuum))


def main():
    p = parser(__doc__)
    p.add_argument("--seeds", default="1-20", help="one seed or a range")
    options = p.parse_args()
    tool, wanted = Tool(options.godwit), seeds(options.seeds)

    def told(seed):
        return f"seed {seed}", lambda folder: check(tool, seed, folder)
    try:
        run_cases(options, [told(seed) for seed in wanted], "random pairs")
    finally:
        print(f"seeds {wanted[0]}-{wanted[-1]}: {ENGINES['pages']} by pages, "
              f"{ENGINES['sql']} declined, {ENGINES.get('refused', 0)} refused, "
              f"{CLONES['made']} begun with a clone, in which "
              f"{CLONES['stayed']} tables stayed" + "".join(
                  f"\n  seed {s}: {why}" for s, why in sorted(DECLINED.items(), key=str)))


if __name__ == "__main__":
    main()
