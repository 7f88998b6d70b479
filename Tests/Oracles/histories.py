#!/usr/bin/env python3
"""Judges what becomes of persistent history. States of a real photo library are migrated to the
model of a later state by both engines: wherever both have a change, it must be as Core Data's own
migration left it. And what `verify` says of history is judged: it must find each fault planted in a
result.

usage: histories.py --godwit P --corpus D [--seeds 1-6] [--scratch S]
"""
import glob
import json
import os
import random
import shutil
import sqlite3

import history
from random_pairs import make_pair
from run import Failure, Tool, parser, run_cases, seeds

# Each pair lies in one line of descent. From 01 to 04 no mapping can be inferred: GenericAsset
# became Asset, and relationships that led to the old Asset lead to the new one; Core Data went by a
# version between the two. Masks that say more than Core Data's own: of entities whose
# to-many relationships have an order that is not known for certain, by entity.
PAIRS = {
    ("00", "01"): {}, ("04", "05"): {"Person": 29, "PhotosHighlight": 9, "Album": 6},
    ("05", "06"): {"Person": 32, "Asset": 12, "PhotosHighlight": 9, "Album": 6},
    ("06", "07"): {"Asset": 12}, ("07", "09"): {"Person": 43, "Asset": 12, "PhotosHighlight": 10},
    ("07", "11"): {"Person": 43, "Asset": 12, "PhotosHighlight": 10, "Album": 12},
    ("07", "12"): {"Person": 43, "Asset": 12, "PhotosHighlight": 10, "Album": 12},
}
# A value that a state between the two left in a tombstone that its entity has no more.
STALE = {("07", "11"): {("PhotosHighlight", "ZTOMBSTONE1"): 2}}


def state(corpus, number):
    found = glob.glob(os.path.join(corpus, "modern", "photos-history", number + "-*.sqlite"))
    if len(found) != 1:
        raise Failure(f"{len(found)} stores are state {number}")
    return found[0]


def without_private_triggers(path, copy):
    """A copy without the triggers that only Apple's own models ask for."""
    shutil.copyfile(path, copy)
    db = sqlite3.connect(copy)
    for (name,) in db.execute("select name from sqlite_master where type = 'trigger' "
                              "and name glob 'ZT_*'").fetchall():
        db.execute(f'drop trigger "{name}"')
    db.commit()
    db.close()
    return copy


def opened(path):
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def triggers(db):
    """The triggers that a model of an app can ask for."""
    return set(db.execute("select name, sql from sqlite_master where type = 'trigger' "
                          "and name not glob 'ZT_*'"))


def changes(db):
    """{(key, time of the transaction): row}, by which states of one library share changes."""
    times = dict(db.execute("select Z_PK, ZTIMESTAMP from ATRANSACTION"))
    return {(k, times.get(row["ZTRANSACTIONID"])): row
            for k, row in history.rows(db, history.CHANGES).items()}


def check_states(tool, corpus, pair, engine, folder):
    first, last = (state(corpus, n) for n in pair)
    source = without_private_triggers(first, os.path.join(folder, "source.sqlite"))
    result = os.path.join(folder, "result.sqlite")
    tool.run("migrate", source, "--to", last, "--output", result, "--engine", engine)
    tool.run("verify", source, result, "--to", last)
    shown = triggers(opened(last))
    # Migrations of Core Data's to 1403 and later lose those of R-trees.
    lost = {t for t in triggers(opened(result)) - shown if t[0].startswith("Z_RT_")}
    if triggers(opened(result)) - lost != shown or len(lost) not in (0, 3):
        raise Failure(f"triggers: {sorted(triggers(opened(result)) ^ shown)}")
    given, made, wanted = (changes(opened(p)) for p in (source, result, last))
    names = dict(opened(last).execute("select Z_ENT, Z_NAME from Z_PRIMARYKEY"))
    found = [f"{k} is gone" for k in given if k in wanted and k not in made]
    more, stale = {}, {}
    for k in made.keys() & wanted.keys():
        entity = names[wanted[k]["ZENTITY"]]
        for column, value in wanted[k].items():
            other = made[k].get(column)
            if other == value:
                continue
            if column == "ZCOLUMNS" and other and len(other) == len(value) and all(
                    a & b == b for a, b in zip(other, value)):
                more[entity] = more.get(entity, 0) + 1
            elif column.startswith("ZTOMBSTONE"):
                stale[entity, column] = stale.get((entity, column), 0) + 1
            else:
                found.append(f"{k} of {entity}: {column} is {other} instead of {value}")
    if more != PAIRS[pair] or stale != STALE.get(pair, {}):
        found.append(f"masks that say more: {more}, tombstones: {stale}")
    if not made.keys() & wanted.keys():
        found.append("no change is in both")
    return found


# What is planted in a result, and the table that `verify` has to name.
FAULTS = {
    "a change is gone": ("delete from ACHANGE where Z_PK = (select max(Z_PK) from ACHANGE)",
                         "ACHANGE"),
    "a change is new": ("insert into ACHANGE select max(Z_PK) + 1, 16001, null, 0, max(ZENTITY), 1,"
                        " max(ZTRANSACTIONID), null{stones} from ACHANGE", "ACHANGE"),
    "a change of another entity": ("update ACHANGE set ZENTITY = ZENTITY + 1 where Z_PK = "
                                   "(select min(Z_PK) from ACHANGE)", "ACHANGE"),
    "a change of another object": ("update ACHANGE set ZENTITYPK = ZENTITYPK + 1 where Z_PK = "
                                   "(select max(Z_PK) from ACHANGE)", "ACHANGE"),
    "a mask without a bit": ("update ACHANGE set ZCOLUMNS = zeroblob(length(ZCOLUMNS)) where Z_PK ="
                             " {mask}", "ACHANGE"),
    "a mask that is gone": ("update ACHANGE set ZCOLUMNS = null where Z_PK = {mask}", "ACHANGE"),
    "a mask of another size": ("update ACHANGE set ZCOLUMNS = cast(ZCOLUMNS || x'00' as blob) "
                               "where Z_PK = {mask}", "ACHANGE"),
    "a transaction at another time": ("update ATRANSACTION set ZTIMESTAMP = ZTIMESTAMP + 1 where "
                                      "Z_PK = (select min(Z_PK) from ATRANSACTION)",
                                      "ATRANSACTION"),
    "a transaction is gone": ("delete from ATRANSACTION where Z_PK = (select min(Z_PK) from "
                              "ATRANSACTION)", "ATRANSACTION"),
    "two transactions are new": ("insert into ATRANSACTION (Z_PK, Z_ENT) select max(Z_PK) + 1, "
                                 "16002 from ATRANSACTION", "ATRANSACTION"),
    "an author is another": ("update ATRANSACTIONSTRING set ZNAME = 'nobody' where Z_PK = 1",
                             "ATRANSACTIONSTRING"),
    "keys begin anew": ("update Z_PRIMARYKEY set Z_MAX = 0 where Z_ENT = 16002", "Z_PRIMARYKEY"),
    "an index is gone": ("drop index ACHANGE_ZTRANSACTIONID_INDEX", "ACHANGE"),
    "all of it is gone": ("delete from ACHANGE; delete from ATRANSACTION; delete from "
                          "ATRANSACTIONSTRING", "ACHANGE"),
    "a table is gone": ("drop table ATRANSACTIONSTRING", "ATRANSACTIONSTRING"),
}


def check_faults(tool, seed, folder):
    """Migrates a random store whose history has masks; plants every fault in the result."""
    for attempt in range(100):
        place = os.path.join(folder, str(attempt))
        os.makedirs(place)
        bundle, mapping, store, form, _ = make_pair(tool, seed * 1000 + attempt, place)
        db = opened(store) if not os.path.exists(store + "-wal") else sqlite3.connect(store)
        # Of composites nobody knows the bits, so that no judge can say much of their masks.
        plain = {new: old for new, old in mapping.entities.items() if not any(
            "." in n for model, e in ((mapping.source, old), (mapping.destination, new))
            for n in model.properties(e))}
        numbers = ", ".join(str(mapping.source.numbers[n]) for n in plain.values())
        usable = form.history and form.encoding == "UTF-8" and db.execute(
            "select count(*) from ACHANGE where hex(ZCOLUMNS) glob '*[1-9A-F]*' and "
            f"ZENTITY in ({numbers or 'null'})").fetchone()[0]
        db.close()
        # Objects may lack what the new model demands.
        if usable and tool.call("check", store, "--to", mapping.destination.path, "--models",
                                bundle).returncode == 0:
            break
        shutil.rmtree(place)
    else:
        raise Failure("no store has a history with masks")
    result = os.path.join(folder, "result.sqlite")
    tool.run("migrate", store, "--to", mapping.destination.path, "--models", bundle, "--output",
             result, "--allow-loss")
    before = faults_told(tool, store, result, bundle)
    found = [f"the result itself: {line}" for line in before if "ACHANGE" in line]
    for name, (sql, table) in FAULTS.items():
        copy = os.path.join(folder, "planted.sqlite")
        shutil.copyfile(result, copy)
        db = sqlite3.connect(copy)
        columns = [c[1] for c in db.execute("pragma table_info(ACHANGE)")]
        stones = sum(c.startswith("ZTOMBSTONE") for c in columns)
        numbers = ", ".join(str(mapping.destination.numbers[n]) for n in plain)
        mask = db.execute("select min(Z_PK) from ACHANGE where hex(ZCOLUMNS) glob '*[1-9A-F]*' and "
                          f"ZENTITY in ({numbers})")
        mask = mask.fetchone()[0]
        if mask is None and "{mask}" in sql:
            continue
        db.executescript(sql.replace("{stones}", ", null" * stones).replace("{mask}", str(mask)))
        changed = db.total_changes or "drop" in sql
        db.commit()
        db.close()
        told = [line for line in faults_told(tool, store, copy, bundle) if line not in before]
        if not changed or not any(f": {table}" in line for line in told):
            found.append(f"{name}: verify says {told[:3]}")
        os.remove(copy)
    return found


def faults_told(tool, store, result, bundle):
    done = tool.call("verify", store, result, "--models", bundle, "--infer-only", "--limit", 200,
                     "--json")
    if done.returncode not in (0, 65):
        raise Failure(f"verify ends with {done.returncode}: {done.stderr[-400:]}")
    report = json.loads(done.stdout)
    return [f"{d['kind']}: {d.get('table', '')} {d.get('key', '')} {d.get('column', '')}"
            for d in report["differences"]]


def main():
    p = parser(__doc__)
    p.add_argument("--seeds", default="1-6", help="one seed or a range")
    options = p.parse_args()
    tool = Tool(options.godwit)
    cases = [(f"{' to '.join(pair)} by {engine}", lambda folder, pair=pair, engine=engine:
              check_states(tool, options.corpus, pair, engine, folder))
             for pair in PAIRS for engine in ("sql", "pages")]
    cases += [(f"seed {seed}", lambda folder, seed=seed: check_faults(tool, seed, folder))
              for seed in seeds(options.seeds)]
    run_cases(options, cases, "histories")


if __name__ == "__main__":
    random.seed(1)
    main()
