#!/usr/bin/env python3
"""Plants faults in derived values, R-trees and triggers of migrated stores: verify must find each.

usage: derivations.py --godwit P --corpus D [--seeds 1-6] [--scratch S]

The triggers that derived.py writes are compared with those of real files, if the corpus has them.
"""
import os
import pathlib
import shutil
import sqlite3

import derived
from coredata import Layout
from histories import faults_told
from random_pairs import make_pair
from run import Failure, Tool, parser, run_cases, seeds


def usable(store, mapping, form):
    """Whether a store has rows that something is derived of, and a migration keeps them all."""
    known, trees = derived.parts(Layout(mapping.destination))
    return form.tame and known and trees and not os.path.exists(store + "-wal")


def faults(db, known, trees):
    """{name: (statement, what a difference must name)}"""
    out = {}
    for k in known:
        if db.execute(f"select count(*) from {k.table}").fetchone()[0]:
            one = f"where Z_PK = (select max(Z_PK) from {k.table})"
            out[f"{k.name} is another"] = (
                f"update {k.table} set {k.column} = coalesce({k.column}, 0) + 7 {one}", k.column)
        name = k.triggers()[0].split()[2]
        out[f"{name} is gone"] = (f"drop trigger {name}", name)
    for tree in trees:
        if db.execute(f"select count(*) from {tree.name}").fetchone()[0]:
            last = f"where Z_PK = (select max(Z_PK) from {tree.name})"
            out[f"{tree.name} lacks a point"] = (f"delete from {tree.name} {last}", tree.name)
            out[f"{tree.name} has a point elsewhere"] = (
                f"update {tree.name} set ZLATITUDE_MIN = 77, ZLATITUDE_MAX = 78 {last}", tree.name)
            out[f"{tree.name} has a point too many"] = (
                f"insert into {tree.name} values (99999999, 1, 2, 1, 2)", tree.name)
        out[f"{tree.name} is gone"] = (f"drop table {tree.name}", tree.name)
        name = f"{tree.name}_UPDATE"
        out[f"{name} is gone"] = (f"drop trigger {name}", name)
    some = (known + trees)[0]
    out["a trigger is one too many"] = (
        f"create trigger Z_DA_other after insert on {some.table} begin select 1; end", "Z_DA_other")
    return out


def check(tool, seed, folder):
    for attempt in range(100):
        place = os.path.join(folder, str(attempt))
        os.makedirs(place)
        bundle, mapping, store, form, _ = make_pair(tool, seed * 1000 + attempt, place)
        result = os.path.join(place, "result.sqlite")
        # What needs a choice is for other oracles.
        if usable(store, mapping, form) and not tool.call(
                "migrate", store, "--to", mapping.destination.path, "--models", bundle,
                "--output", result, "--allow-loss").returncode:
            break
        shutil.rmtree(place)
    else:
        raise Failure("no store that migrates has an R-tree and derived attributes")
    before = faults_told(tool, store, result, bundle)
    known, trees = derived.parts(Layout(mapping.destination))
    found = [f"the result itself: {line}" for line in before]
    told = tool.call("verify", store, result, "--models", bundle).stderr
    found += [line for line in told.splitlines() if "Z_RT_" in line and trees]
    for name, (sql, place) in faults(sqlite3.connect(result), known, trees).items():
        copy = os.path.join(folder, "planted.sqlite")
        shutil.copyfile(result, copy)
        db = sqlite3.connect(copy)
        triggers = [] if "trigger" in sql else db.execute(
            "select name, sql from sqlite_master where type = 'trigger' order by rowid").fetchall()
        for trigger, _ in triggers:
            db.execute(f"drop trigger {trigger}")
        db.execute(sql)
        for trigger, statement in triggers:
            if not (sql.startswith("drop table") and trigger.startswith(sql.split()[-1])):
                db.execute(statement)
        db.commit()
        db.close()
        told = [line for line in faults_told(tool, store, copy, bundle) if line not in before]
        if not any(place in line for line in told):
            found.append(f"{name}: verify says {told[:3]}")
        os.remove(copy)
    return found


def main():
    p = parser(__doc__)
    p.add_argument("--seeds", default="1-6", help="one seed or a range")
    options = p.parse_args()
    tool = Tool(options.godwit)
    texts = pathlib.Path(options.corpus, "derived", "count-triggers.txt")
    if texts.exists():
        unlike = derived.unlike_real_files(texts.read_text())
        if unlike:
            raise SystemExit("\n".join(unlike))
    else:
        print(f"{texts} is missing: the triggers of counts are not compared with real files")
    run_cases(options, [(f"seed {seed}", lambda folder, seed=seed: check(tool, seed, folder))
                        for seed in seeds(options.seeds)], "derivations")


if __name__ == "__main__":
    main()
