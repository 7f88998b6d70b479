#!/usr/bin/env python3
"""Judges what becomes of CloudKit mirroring, in made-up stores: nobody has a real one. Stores with
a record of each of 100,000 objects are migrated with `--cloudkit carry`, by both engines, up and
down in the numbers of their entities, in one step, two and two stages, in place and with an output,
and killed in between: each record leads to the object that it led to, and nothing else changes.
What `verify` has to find is planted in a result, and what must not end with status 0 in a store.

usage: mirroring.py --godwit P [--rows N] [--scratch S]
"""
import json
import os
import shutil
import signal
import sqlite3
import tempfile
import time

from mirrored_stores import COMIC, FLAGS, RECORDS, ROOTS, Lab, copied, judge, opened
from run import Failure, Tool, parser, run_cases

UTF_16 = object()  # stands for a store whose texts are of that encoding
# The way to a version: what it asks for besides, the entities that go.
WAYS = {
    "up": ("Shop 2", (), ()),
    "up in two steps": ("Shop 3", ("--progressive",), ()),
    "up in two stages": ("Shop 3", ("--progressive", "--stepwise"), ()),
    "up in ranges": ("Shop 3", ("--workers", 4, "--range-rows", 5000), ()),
    "down": ("Shop 4", ("--infer-only", "--allow-loss", "cloudkit"), ("Shelf",)),
}


def check_way(lab, way, engine, in_place, folder):
    target, flags, gone = WAYS[way]
    source, store = lab.large, copied(lab.large, folder)
    result = store if in_place else os.path.join(folder, "Result.sqlite")
    output = () if in_place else ("--output", result)
    began = time.monotonic()
    lab.tool.run(*lab.arguments(store, target, *output, *flags, "--engine", engine))
    seconds = time.monotonic() - began
    if seconds > 60:
        return [f"it took {seconds:.0f} s"]
    numbers = [set(opened(p).execute(f"select distinct ZENTITYID from {RECORDS}"))
               for p in (source, result)]
    if numbers[0] == numbers[1]:
        return ["no number has changed"]
    found = judge(source, result, gone)
    done = lab.tool.call("verify", source, result, "--to", lab.models[target], "--models",
                         lab.bundle)
    return found + ([] if done.returncode == 0 else [f"verify: {done.stdout}{done.stderr}"])


def check_down_again(lab, engine, folder):
    """Up, and down to the version of before: the records of the new entities are few."""
    store, up, down = copied(lab.small, folder), *(os.path.join(folder, n) for n in ("up", "down"))
    lab.tool.run(*lab.arguments(store, "Shop 2", "--output", up, "--engine", engine))
    lab.tool.run(*lab.arguments(up, "Shop 1", "--output", down, "--infer-only", "--engine", engine))
    query = f"select * from {RECORDS} order by 1"
    same = opened(store).execute(query).fetchall() == opened(down).execute(query).fetchall()
    return judge(up, down) + ([] if same else ["the records are not those of before"])


def check_killed(lab, point, engine, folder):
    store = copied(lab.small, folder)
    result = os.path.join(folder, "Result.sqlite")
    command = lab.arguments(store, "Shop 2", "--output", result, "--engine", engine)
    done = lab.tool.call(*command, environment={"GODWIT_FAULT": point})
    if done.returncode != -signal.SIGKILL:
        return [f"not killed at {point}: {done.returncode}"]
    other = lab.tool.call(*[a for a in command if a not in FLAGS])
    if other.returncode != 78:
        return [f"without --cloudkit carry: {other.returncode}"]
    lab.tool.run(*command)
    return judge(store, result)


# What is planted in a result, and the table that `verify` has to name.
FAULTS = {
    "a record is lost": f"delete from {RECORDS} where Z_PK = 17",
    "a record is new": f"insert into {RECORDS} (Z_PK, ZENTITYID, ZENTITYPK) values (9999, 1, 9999)",
    "a record of another entity": f"update {RECORDS} set ZENTITYID = 1 where Z_PK = 20",
    "the number of before": f"update {RECORDS} set ZENTITYID = ZENTITYID - 1 where Z_PK = 21",
    "no number": f"update {RECORDS} set ZENTITYID = null where Z_PK = 22",
    "a record of another object": f"update {RECORDS} set ZENTITYPK = 5000 where Z_PK = 23",
    "a record of another name": f"update {RECORDS} set ZCKRECORDNAME = 'x' where Z_PK = 24",
    "a record to be uploaded": f"update {RECORDS} set ZNEEDSUPLOAD = 1 - ZNEEDSUPLOAD "
                               "where Z_PK = 25",
    "a transaction that is not there":
        f"update {RECORDS} set ZLASTEXPORTEDTRANSACTIONNUMBER = 4444 where Z_PK = 26",
    "a transaction is gone": "delete from ATRANSACTION where Z_PK = 2",
    "all history is gone": "delete from ATRANSACTION",
    "a table is gone": "drop table ANSCKEVENT",
    "the records are gone": f"drop table {RECORDS}",
    "an event is gone": "delete from ANSCKEVENT where Z_PK = 2",
    "a key is another": "update ANSCKMETADATAENTRY set ZKEY = 'x' where Z_PK = 1",
    "an index is gone": "drop index Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK",
    "keys that begin anew": "update sqlite_sequence set seq = 1 where name = 'ANSCKNEW'",
    "a table has another column": "alter table ANSCKEVENT add column x",
    "a row of Z_PRIMARYKEY is gone": "delete from Z_PRIMARYKEY where Z_ENT = 17012",
    "keys begin anew": "update Z_PRIMARYKEY set Z_MAX = 0 where Z_ENT = 17012",
}


def check_fault(lab, name, folder):
    store, result = copied(lab.small, folder), os.path.join(folder, "Result.sqlite")
    db = sqlite3.connect(store)
    db.executescript(ODD["keys that grow"][0])
    db.close()
    lab.tool.run(*lab.arguments(store, "Shop 2", "--output", result))
    db = sqlite3.connect(result)
    db.execute(FAULTS[name])
    db.commit()
    db.execute("pragma wal_checkpoint(truncate)")
    db.close()
    done = lab.tool.call("verify", store, result, "--to", lab.models["Shop 2"], "--models",
                         lab.bundle)
    place = "ATRANSACTION" if "ATRANSACTION" in FAULTS[name] else "Z_PRIMARYKEY" if (
        "Z_PRIMARYKEY" in FAULTS[name]) else "ANSCK"
    told = place in done.stdout + done.stderr
    return [] if done.returncode == 65 and told else [
        f"verify ends with {done.returncode}: {done.stdout[:400]}"]


# What is odd in a store, and whether its mirroring is carried over (0), refused (78), or carried
# over once rows may go (None).
ODD = {
    "NULL for a number": (f"update {RECORDS} set ZENTITYID = null where Z_PK % 3 = 0", 0),
    "NULL for a key": (f"update {RECORDS} set ZENTITYPK = null where Z_PK % 3 = 0", 0),
    "a text": (f"update {RECORDS} set ZENTITYID = 'Book' where Z_PK = 5", None),
    "a blob": (f"update {RECORDS} set ZENTITYID = x'01' where Z_PK = 5", None),
    "half a number": (f"update {RECORDS} set ZENTITYID = 1.5 where Z_PK = 5", None),
    "a number of no model": (f"update {RECORDS} set ZENTITYID = 77 where Z_PK = 5", None),
    "the number after the last": (f"update {RECORDS} set ZENTITYID = 5 where Z_PK = 5", None),
    "nought": (f"update {RECORDS} set ZENTITYID = 0 where Z_PK = 5", None),
    "less than nought": (f"update {RECORDS} set ZENTITYID = -1 where Z_PK = 5", None),
    "the largest number": (f"update {RECORDS} set ZENTITYID = 9223372036854775807 where Z_PK = 5",
                           None),
    "duplicates without an index": (
        "drop index Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK; "
        f"update {RECORDS} set ZENTITYID = 1, ZENTITYPK = 1 where Z_PK < 9", 0),
    "no index": ("drop index Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK; "
                 "drop index Z_NSCKRecordMetadata_UNIQUE_ckRecordName_recordZone", 0),
    "an index more": (f"create index more on {RECORDS} (ZNEEDSUPLOAD, ZENTITYID desc)", 0),
    "a partial index": (f"create index more on {RECORDS} (Z_PK) where ZENTITYID = 2", 78),
    "an index on an expression": (f"create index more on {RECORDS} (ZENTITYID + 1)", 78),
    "a column more": (f"alter table {RECORDS} add column ZMORE blob; "
                      f"update {RECORDS} set ZMORE = x'00ff'", 0),
    "a column of numbers more": (f"alter table {RECORDS} add column ZENTITYNUM integer; "
                                 f"update {RECORDS} set ZENTITYNUM = 2 where Z_PK = 3", 78),
    "an empty column of numbers": (f"alter table {RECORDS} add column ZENTITYNUM integer", 0),
    "numbers of mirroring itself": (f"alter table {RECORDS} add column ZENTITYNUM integer; "
                                    f"update {RECORDS} set ZENTITYNUM = 17003", 0),
    "a column less": ("drop index Z_NSCKRecordMetadata_UNIQUE_ckRecordName_recordZone; "
                      f"alter table {RECORDS} drop column ZCKRECORDNAME", 0),
    "no keys of objects": ("drop index Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK; "
                           f"alter table {RECORDS} drop column ZENTITYPK", 78),
    "an odd name": ("create table \"ANSCK \"\"o'd\" (\"a b\"); "
                    "insert into \"ANSCK \"\"o'd\" values ('x')", 0),
    "a computed column": (f"alter table {RECORDS} add column x as (ZENTITYID)", 78),
    "names in another case": (f"alter table {RECORDS} rename column ZENTITYID to zentityid", 78),
    "without rowid": (f"create table x (Z_PK integer primary key, ZENTITYID, ZENTITYPK) without "
                      f"rowid; drop table {RECORDS}; alter table x rename to {RECORDS}", 78),
    "a unique column": (
        f"create table x (Z_PK integer primary key, Z_ENT, ZENTITYID integer, ZENTITYPK integer, "
        f"ZLASTEXPORTEDTRANSACTIONNUMBER integer, unique (ZENTITYID, ZENTITYPK)); insert into x "
        f"select Z_PK, Z_ENT, ZENTITYID, ZENTITYPK, ZLASTEXPORTEDTRANSACTIONNUMBER "
        f"from {RECORDS}; drop table {RECORDS}; alter table x rename to {RECORDS}", 0),
    "a unique column that replaces": (
        f"create table x (Z_PK integer primary key, ZENTITYID integer, ZENTITYPK integer, "
        f"unique (ZENTITYID, ZENTITYPK) on conflict replace); drop table {RECORDS}; "
        f"alter table x rename to {RECORDS}", 78),
    "no type": (
        f"create table x (Z_PK integer primary key, ZENTITYID, ZENTITYPK); insert into x select "
        f"Z_PK, cast(ZENTITYID as text), ZENTITYPK from {RECORDS}; drop table {RECORDS}; "
        f"alter table x rename to {RECORDS}", None),
    "no table of records": (f"drop table {RECORDS}", 0),
    "the table of another case": (f"alter table {RECORDS} rename to x; "
                                  f"alter table x rename to {RECORDS.lower()}", 78),
    "an empty table": (f"delete from {RECORDS}", 0),
    "two keys of one object": (
        "drop index Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK; "
        f"insert into {RECORDS} (Z_PK, ZENTITYID, ZENTITYPK) select Z_PK + 5000, ZENTITYID, "
        f"ZENTITYPK from {RECORDS}", 0),
    "keys that grow": (
        "create table ANSCKNEW (Z_PK integer primary key autoincrement, x); "
        "insert into ANSCKNEW values (70, 1), (90, 2); delete from ANSCKNEW where x = 2", 0),
    "a table of another case, with numbers": (
        "create table ansckrecordmetadata2 (zentityid); "
        "insert into ansckrecordmetadata2 values (2)", 78),
    "an unknown table": ("create table ANSCKNEW (Z_PK integer primary key, Z_ENT integer, ZX blob);"
                         " insert into ANSCKNEW values (4, 17020, zeroblob(9000))", 0),
    "an unknown table with numbers": ("create table ANSCKNEW (Z_PK integer primary key, Z_ENT "
                                      "integer); insert into ANSCKNEW values (4, 2)", 78),
    "an unknown table of texts": ("create table ANSCKNEW (ZENTITYNAME text, ZENTITYNUMBER text); "
                                  "insert into ANSCKNEW values ('Book', null)", 0),
    "an unknown table without rowid": ("create table ANSCKNEW (a text, b, primary key (a, b)) "
                                       "without rowid; insert into ANSCKNEW values ('a', 1.5)", 0),
    "a view": ("create view ANSCKSEEN as select 1", 78),
    "a trigger": ("create trigger heard after update on ANSCKEVENT begin select 1; end", 78),
    "a virtual table": ("create virtual table ANSCKPLACE using rtree (id, low, high)", 78),
    "an object less": ("delete from ZBOOK where Z_PK = (select min(Z_PK) from ZBOOK)", 0),
    "no history": ("drop table ACHANGE; drop table ATRANSACTION; drop table ATRANSACTIONSTRING", 0),
    "no rows in Z_PRIMARYKEY": ("delete from Z_PRIMARYKEY where Z_ENT > 17000", 0),
    "more rows in Z_PRIMARYKEY": ("insert into Z_PRIMARYKEY values (17030, 'NSCKNew', 0, 44)", 0),
    "long values": (f"update {RECORDS} set ZCKRECORDNAME = hex(zeroblob(100000)) where Z_PK = 9",
                    0),
    "texts in UTF-16": (UTF_16, 0),
}
RECORDLESS = {"no table of records"}


def rewritten(path):
    """Gives a store texts of another encoding."""
    lines = list(opened(path).iterdump())
    os.remove(path)
    db = sqlite3.connect(path)
    db.execute("pragma encoding = 'UTF-16le'")
    db.executescript("\n".join(lines))
    db.close()


def mapped(changes):
    """A mapping model from the first version to the second that copies all, but for changes."""
    kinds = {**ROOTS, "Comic": ROOTS["Book"] + COMIC}
    mappings = []
    for entity, attributes in kinds.items():
        one = {"name": entity, "source": entity, "destination": entity,
               "attributes": {n: f"$source.{n}" for n, _ in attributes}}
        ends = {"Person": "books", "Book": "author", "Comic": "author"}
        if entity in ends:
            end = ends[entity]
            one["relationships"] = {
                end: "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:"
                     f"sourceInstances:\", \"{end}\", $source.{end})"}
        for key, value in changes.get(entity, {}).items():
            if isinstance(value, dict):
                one[key].update(value)
            else:
                one[key] = value
        if changes.get(entity, 1) is not None:
            mappings.append(one)
    return {"format": "godwit mapping model", "version": 1, "mappings": mappings}


# Mapping models, and with which status a migration by them ends.
MAPPINGS = {
    "copies": ({}, 0),
    "a computed value": ({"Shelf": {"attributes": {"place": "\"shelf \" + $source.place"}}}, 78),
    "a constant": ({"Shelf": {"attributes": {"place": "\"here\""}}}, 78),
    "a value of another attribute": ({"Book": {"attributes": {"pages": "$source.author"}}}, None),
    "a filter": ({"Book": {"filter": "pages > 100"}}, 78),
    "a policy": ({"Person": {"policy": "Nobody"}}, None),
}


def check_mapping(lab, name, folder):
    changes, expected = MAPPINGS[name]
    path, result = (os.path.join(folder, n) for n in ("Map.json", "Result.sqlite"))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(mapped(changes), file)
    store = copied(lab.small, folder)
    done = lab.tool.call(*lab.arguments(store, "Shop 2", "--mapping", path, "--output", result))
    if expected == 0 and done.returncode == 0:
        return judge(store, result)
    if done.returncode == 0 or expected is not None and done.returncode != expected:
        return [f"status {done.returncode}: {done.stderr[-300:]}"]
    told = "CloudKit" in done.stderr
    return [] if told or expected is None else [f"it says {done.stderr[-300:]}"]


def check_odd(lab, name, engine, folder):
    statements, expected = ODD[name]
    store, result = copied(lab.small, folder), os.path.join(folder, "Result.sqlite")
    if statements is UTF_16:
        rewritten(store)
    else:
        db = sqlite3.connect(store)
        db.executescript(statements)
        db.close()
    command = lab.arguments(store, "Shop 2", "--output", result, "--engine", engine,
                            "--extra-tables", "drop")
    done = lab.tool.call(*command)
    if expected is None:
        if done.returncode != 78 or "cloudkit" not in done.stderr:
            return [f"rows go: status {done.returncode}, {done.stderr[-300:]}"]
        done = lab.tool.call(*command, "--allow-loss", "cloudkit")
    if done.returncode != (expected or 0):
        return [f"status {done.returncode}: {done.stderr[-400:]}"]
    if expected == 78:
        return ["a result was left"] if os.path.exists(result) else []
    if name in RECORDLESS or name == "no history":
        return []
    found = judge(store, result)
    verified = lab.tool.call("verify", store, result, "--to", lab.models["Shop 2"], "--models",
                             lab.bundle)
    # What nobody can place, and was allowed to go, `verify` still tells.
    if verified.returncode != (65 if expected is None else 0):
        found.append(f"verify ends with {verified.returncode}: {verified.stdout[:300]}")
    return found


def check_damaged(lab, engine, folder):
    """A page of records that has become an empty one is missed by no index."""
    store, result = copied(lab.large, folder), os.path.join(folder, "Result.sqlite")
    db = sqlite3.connect(store)
    size = db.execute("pragma page_size").fetchone()[0]
    root = db.execute("select rootpage from sqlite_master where name = ?", (RECORDS,)).fetchone()[0]
    db.close()
    with open(store, "r+b") as file:
        page = root
        while True:
            file.seek((page - 1) * size)
            data = file.read(size)
            if data[0] == 13:
                break
            place = int.from_bytes(data[12:14], "big")
            page = int.from_bytes(data[place:place + 4], "big")
        file.seek((page - 1) * size)
        file.write(bytes([13, 0, 0, 0, 0]) + (size % 65536).to_bytes(2, "big") + bytes(size - 7))
    done = lab.tool.call(*lab.arguments(store, "Shop 2", "--output", result, "--engine", engine))
    if done.returncode == 65 and RECORDS in done.stderr and not os.path.exists(result):
        return []
    return [f"status {done.returncode}: {done.stderr[-300:]}"]


def check_default(lab, folder):
    store = copied(lab.small, folder)
    found = []
    for flags in ((), ("--extra-tables", "drop"), ("--extra-tables", "keep"),
                  ("--allow-loss",), ("--cloudkit", "refuse"), ("--history", "drop"),
                  ("--cloudkit", "carry", "--history", "drop"),
                  ("--cloudkit", "carry", "--on-duplicate", "keep-first"),
                  ("--cloudkit", "carry", "--salvage")):
        for command in ("check", "plan", "migrate"):
            done = lab.tool.call(command, store, "--to", lab.models["Shop 2"], "--models",
                                 lab.bundle, *flags)
            if done.returncode != 78 or "cloudkit" not in (done.stdout + done.stderr).lower():
                found.append(f"{command} {flags}: {done.returncode} {done.stderr[-200:]}")
    if opened(store).execute(f"select count(*) from {RECORDS}").fetchone() != (400,):
        found.append("the store has changed")
    return found


def check_inspection(lab, folder):
    told = lab.tool.json("inspect", lab.small, "--json")["cloudKit"]
    db = opened(lab.small)
    def count(where):
        return db.execute(f"select count(*) from {RECORDS} where {where}").fetchone()[0]
    wanted = {
        "records": count("1"), "needsUpload": count("ZNEEDSUPLOAD"),
        "needsLocalDelete": count("ZNEEDSLOCALDELETE"),
        "needsCloudDelete": count("ZNEEDSCLOUDDELETE"),
        "pending": count("ZNEEDSUPLOAD or ZNEEDSLOCALDELETE or ZNEEDSCLOUDDELETE"),
        "zones": [r[0] for r in db.execute(
            "select ZCKRECORDZONENAME from ANSCKRECORDZONEMETADATA")],
    }
    found = [f"{k} is {told.get(k)} instead of {v}" for k, v in wanted.items() if told.get(k) != v]
    if told["lastEvent"]["type"] != "export" or told["lastEvent"]["succeeded"] is not True:
        found.append(f"the last event is {told['lastEvent']}")
    if not wanted["needsUpload"]:
        found.append("nothing is pending in the store")
    return found


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--rows", type=int, default=100_000, help="objects of the large store")
    options = p.parse_args()
    tool = Tool(options.godwit)
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    os.makedirs(base, exist_ok=True)
    try:
        lab = Lab(tool, base, options.rows)
        print(f"{options.rows} records made in {lab.seconds:.1f} s")
        engines = ("sql", "pages")
        cases = [(f"{way} by {engine}{' in place' if here else ''}",
                  lambda f, w=way, e=engine, h=here: check_way(lab, w, e, h, f))
                 for way in WAYS for engine in engines for here in (False, True)
                 if way == "up" or not here]
        cases += [(f"up and down by {e}", lambda f, e=e: check_down_again(lab, e, f))
                  for e in engines]
        cases += [(f"killed at {point} by {e}", lambda f, p=point, e=e: check_killed(lab, p, e, f))
                  for point in ("coordinator:migrating", "coordinator:assembled") for e in engines]
        cases += [(name, lambda f, n=name: check_fault(lab, n, f)) for name in FAULTS]
        cases += [(f"{name} by {e}", lambda f, n=name, e=e: check_odd(lab, n, e, f))
                  for name in ODD for e in engines]
        cases += [(f"a mapping model with {n}", lambda f, n=n: check_mapping(lab, n, f))
                  for n in MAPPINGS]
        cases += [(f"a damaged page by {e}", lambda f, e=e: check_damaged(lab, e, f))
                  for e in engines]
        cases += [("by default", lambda f: check_default(lab, f)),
                  ("inspect", lambda f: check_inspection(lab, f))]
        run_cases(options, cases, "migrations of mirrored stores")
    except Failure as failure:
        print(failure)
        raise SystemExit(1) from failure
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
