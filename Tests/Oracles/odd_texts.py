#!/usr/bin/env python3
"""Migrates stores in each encoding of SQLite's whose values are of other types than their columns:
texts in columns of numbers that are numbers or nearly so, numbers in columns of texts, texts that
are not well-formed. Rows are made anew, moved as they are, converted, or computed by a mapping
model, and values get the tag of external storage; by pages they become what SQL makes of them, to
the byte, and what column affinity makes of them by plain SQL. Stores are tame, with values as
SQLite itself keeps them in such columns, or wild, with values that columns of other types have
kept: those SQL may refuse, since they change.

usage: odd_texts.py --godwit P [--seeds 1-24] [--rows 900] [--scratch S]
"""
import collections
import json
import os
import random
import sqlite3

from run import Failure, Tool, fingerprint, parser, run_cases, seeds, unchanged, vacuumed
from sqlite_pages import TABLE_LEAF, Image, varint

TYPES = {"name": "String", "count": "Integer 64", "amount": "Double", "price": "Decimal",
         "when": "Date", "flag": "Boolean", "note": "String", "data": "Binary"}
COLUMNS = {"name": "ZNAME", "count": "ZCOUNT", "amount": "ZAMOUNT", "price": "ZPRICE",
           "when": "ZWHEN", "flag": "ZFLAG", "note": "ZNOTE", "data": "ZDATA"}
KINDS = ("more", "moved", "converted", "computed")
SEEN = collections.Counter()
NUMBERS = ("12", "-0", "+7", " 12 ", "\t9\n", "1e3", "1.0", ".5", "5.", "0012", "0x1F", "1e", "-",
           "", " ", "twelve", "12 apples", "12\0", "\0", "nan", "inf", "1_000", "1e400", "-1e-400",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "999999999999999999", "1234567890123456789", "140737488355328", "4503599627370497.5",
           "0.1", "123456789.125", "\u0661", "1\u00a0", "-5", "281474976710656")


def model(folder, types, indexes, modifier="", tagged="NO"):
    os.makedirs(folder)
    lines = [f'<attribute name="{n}" optional="YES" attributeType="{t}" '
             f'allowsExternalBinaryDataStorage="{tagged if n == "data" else "NO"}"/>'
             for n, t in types.items()]
    for n in indexes:
        lines.append(f'<fetchIndex name="by{n}"><fetchIndexElement property="{n}" type="Binary" '
                     f'order="{"descending" if n == "note" else "ascending"}"/></fetchIndex>')
    with open(os.path.join(folder, "contents"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<model type="com.'
                   'apple.IDECoreDataModeler.DataModel" documentVersion="1.0">'
                   f'<entity name="Thing"{modifier}>' + "\n".join(lines) + "</entity></model>\n")


def text(r, encoding):
    """The bytes of a text, whether it is one or not."""
    kind = r.random()
    if kind < 0.6:
        made = r.choice(NUMBERS)
    elif kind < 0.8:
        made = "".join(r.choice("0123456789012345 +-.eEx\t\0") for _ in range(r.randint(0, 22)))
    else:
        made = "".join(r.choice("aé\u3042\U0001F600\uFEFF\uFFFE09 ")
                       for _ in range(r.randint(0, 40) * r.choice((1, 1, 200))))
    codec = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}[encoding]
    given = made.encode(codec)
    if r.random() < 0.3:
        given += r.choice((b"1", b"\0", b"\xd8", b"\x00\xd8", b"\xd8\x00", b"\xff\xfe",
                           b"\xed\xa0\x80"))
    return r.choice((b"\xff\xfe", b"\xfe\xff", b"\xdc\x00")) + given if r.random() < 0.1 else given


def fill(store, r, encoding, rows, tame, blobs):
    """Puts the store into another encoding, with values that its columns make of others if it is
    tame, else with such that they would not have made."""
    old = sqlite3.connect(store)
    db = sqlite3.connect(store + "-new", isolation_level=None)
    db.executescript(f"pragma encoding = '{encoding}'; pragma auto_vacuum = 2; begin;"
                     + "".join(line for line in old.iterdump()
                               if line not in ("BEGIN TRANSACTION;", "COMMIT;")) + "commit;")
    old.close()
    db.execute("pragma writable_schema = on")
    (sql,) = db.execute("select sql from sqlite_master where name = 'ZTHING'").fetchone()
    head, parts = sql.split("(", 1)
    bare = sql if tame else head + "(" + ", ".join(
        part if "Z_PK" in part else " ".join(part.split()[:1]) + " BLOB"
        for part in parts.rstrip(")").split(",")) + ")"
    version = db.execute("pragma schema_version").fetchone()[0]
    indexes = db.execute("select name, sql from sqlite_master where tbl_name = 'ZTHING' and "
                         "type = 'index' and sql is not null").fetchall()
    for name, _ in indexes:
        db.execute(f'drop index "{name}"')
    db.execute("update sqlite_master set sql = ? where name = 'ZTHING'", (bare,))
    db.execute(f"pragma schema_version = {version + 9}")
    db.execute("begin")
    for key in range(1, rows + 1):
        cells, marks = [], []
        for n in COLUMNS:
            value, mark = cell(r, n, encoding, blobs)
            cells += [value] if mark == "?" else []
            marks.append(mark)
        db.execute(f"insert into ZTHING (Z_PK, Z_ENT, Z_OPT, {','.join(COLUMNS.values())}) "
                   f"values (?, 1, 1, {','.join(marks)})", (key, *cells))
    db.execute("update Z_PRIMARYKEY set Z_MAX = ?", (rows,))
    db.execute("commit")
    db.execute("update sqlite_master set sql = ? where name = 'ZTHING'", (sql,))
    db.execute(f"pragma schema_version = {version + 10}")
    db.close()
    db = sqlite3.connect(store + "-new")
    for _, index in indexes:
        db.execute(index)
    db.commit()
    db.close()
    os.replace(store + "-new", store)


def cell(r, name, encoding, blobs):
    """A value, mostly of its column's type, and how it is written."""
    if r.random() < 0.1:
        return None, "?"
    if name == "data":
        return r.randbytes(r.choice((0, 1, 2, 7, 64, 5001))), "?"
    if r.random() < 0.25:
        odd = r.random()
        # What is computed of another value than a text ends the migration.
        if odd < 0.8 or name == "note":
            # A parameter would be taken for UTF-8.
            return None, f"cast(x'{text(r, encoding).hex()}' as text)"
        return r.choice((b"", b"12", b"\x01\x00", 3, 2.5, 7.0, -2 ** 63)), "?"
    if name == "note" and blobs and r.random() < 0.1:
        return r.randbytes(r.choice((1, 3, 9, 41, 6001))), "?"
    if TYPES[name] == "String":
        return r.choice(("a", "ä", "row", "\U0001F600", "12", f"n{r.randint(0, 99)}")), "?"
    if name == "flag":
        return r.randint(0, 1), "?"
    if name == "count":
        return r.choice((0, 1, r.randint(-9, 9), r.randint(-2 ** 40, 2 ** 40))), "?"
    return r.choice((r.randint(-400, 400) / 8, r.randint(-9, 9) + 0.5)), "?"


def cut_off(store):
    """Makes texts with half a unit at the end of the blobs in ZNOTE, which SQLite makes none of."""
    db = sqlite3.connect(store)
    place = [row[1] for row in db.execute("pragma table_info(ZTHING)")].index("ZNOTE")
    (root,) = db.execute("select rootpage from sqlite_master where name = 'ZTHING'").fetchone()
    db.close()
    with open(store, "rb") as file:
        image = Image(file.read(), [("ZTHING", root)])
    count = 0
    for page in image.pages(TABLE_LEAF):
        for found in image.cells(page):
            _, at = varint(image.data, found.record)
            for _ in range(place):
                _, at = varint(image.data, at)
            kind, end = varint(image.data, at)
            if kind >= 12 and kind % 4 == 2:
                image.data[end - 1] |= 1
                count += 1
    with open(store, "wb") as file:
        file.write(image.data)
    return count


def by_affinity(store, encoding, folder, tag):
    """What columns of the same types make of the rows: type and bytes of each value; those of ZDATA
    have a tag in front."""
    path = os.path.join(folder, "affinity.sqlite")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"pragma encoding = '{encoding}'")
    kinds = {"name": "VARCHAR", "count": "INTEGER", "amount": "FLOAT", "price": "DECIMAL",
             "when": "TIMESTAMP", "flag": "INTEGER", "note": "VARCHAR", "data": "BLOB"}
    db.execute("create table t (Z_PK integer primary key, "
               + ", ".join(f"{c} {kinds[n]}" for n, c in COLUMNS.items()) + ")")
    db.execute("attach ? as src", (store,))
    listed = ", ".join(COLUMNS.values())
    db.execute(f"insert into t select Z_PK, {listed} from src.ZTHING not indexed")
    db.create_function("tagged", 1, lambda value: value if value is None else tag + value)
    db.execute("update t set ZDATA = tagged(ZDATA)")
    found = values(db, "t")
    db.close()
    os.remove(path)
    return found


def values(db, table):
    return db.execute("select Z_PK, " + ", ".join(
        f"typeof({c}), hex(cast({c} as blob))" for c in COLUMNS.values())
        + f" from {table} not indexed order by Z_PK").fetchall()


def mapping(tool, bundle, folder):
    """A mapping model that computes a text and a number from others."""
    path = os.path.join(folder, "way.json")
    tool.run("map", "--from", os.path.join(bundle, "Old.xcdatamodel"), "--to",
             os.path.join(bundle, "New.xcdatamodel"), "--output", path)
    with open(path, encoding="utf-8") as file:
        way = json.load(file)
    for entity in way["mappings"]:
        entity["attributes"]["note"] = 'uppercase:($source.note)'
    with open(path, "w", encoding="utf-8") as file:
        json.dump(way, file)
    return path


def check(tool, seed, rows, folder):
    r = random.Random(seed)
    encoding = ("UTF-16le", "UTF-16be", "UTF-8")[seed % 3]
    kind = KINDS[seed // 3 % len(KINDS)]
    old = r.sample(list(TYPES), r.randint(0, 3))
    bundle = os.path.join(folder, "Things.xcdatamodeld")
    types = dict(TYPES)
    if kind == "converted":
        types |= {"count": "Double", "amount": "Integer 64", "price": "Integer 32",
                  "flag": "Integer 16"}
    model(os.path.join(bundle, "Old.xcdatamodel"), TYPES, old)
    more = {"more": "String"} if kind != "moved" else {}
    new = [n for n in old if r.random() < 0.7] + r.sample(list(TYPES), r.randint(0, 2))
    model(os.path.join(bundle, "New.xcdatamodel"), types | more,
          old if kind == "moved" else list(dict.fromkeys(new)), ' versionHashModifier="2"',
          tagged="YES" if kind == "more" else "NO")
    store = os.path.join(folder, "source", "Things.sqlite")
    os.makedirs(os.path.dirname(store))
    tool.run("generate", os.path.join(bundle, "Old.xcdatamodel"), "--rows", 0, "--output", store)
    # Leaves that move are taken to hold what SQLite has written.
    tame = kind == "moved" or seed // 12 % 2 == 0
    fill(store, r, encoding, rows, tame, kind != "computed")
    if encoding != "UTF-8" and kind in ("more", "moved") and "note" not in old:
        SEEN["texts cut off"] += cut_off(store)
    before = fingerprint(os.path.dirname(store))
    way = ("--mapping", mapping(tool, bundle, folder)) if kind == "computed" else ()
    outcomes = {}
    for name, flags in (("sql", ("--engine", "sql")),
                        ("pages", ("--engine", "pages", "--workers", 1)),
                        ("ranges", ("--engine", "pages", "--workers", 2, "--range-rows", 200)),
                        ("full", ("--engine", "pages", "--verify", "full"))):
        result = os.path.join(folder, name + ".sqlite")
        report = os.path.join(folder, name + ".json")
        done = tool.call("migrate", store, "--to", os.path.join(bundle, "New.xcdatamodel"),
                         "--models", bundle, "--output", result, "--report", report,
                         "--allow-loss", "--validation", "off", "--check-source", "off",
                         *(("--on-value", "null") if tame and not way else ()), *way, *flags)
        unchanged(before, os.path.dirname(store))
        if done.returncode not in (0, 65, 78):
            raise Failure(f"{name}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        outcomes[name] = (done.returncode, result, report, done.stderr)
    form = f"{'tame' if tame else 'wild'} {kind}"
    if not tame and {outcome[0] for outcome in outcomes.values()} == {78}:
        SEEN[f"{form}, refused"] += 1
        return []
    SEEN[form] += 1
    if not tame:
        # What is digested before it changes is refused, and so is a check of the source's values.
        names = ("pages", "ranges") if outcomes["sql"][0] else ("sql", "pages", "ranges")
        outcomes = {name: outcomes[name] for name in names}
    return judged(outcomes, kind, encoding, store, folder)


def judged(outcomes, kind, encoding, store, folder):
    found = [f"{name}: exit {status}: {told.strip()[:300]}"
             for name, (status, _, _, told) in outcomes.items() if status]
    if found:
        return found
    base = next(iter(outcomes))
    first = outcomes[base][1]
    with open(vacuumed(first), "rb") as file:
        wanted = file.read()
    for name, (_, result, report, _) in outcomes.items():
        with open(report, encoding="utf-8") as file:
            engine = json.load(file)["engine"]
        if engine != ("sql" if name == "sql" else "pages"):
            found.append(f"{name}: the rows are written by {engine}")
        with open(vacuumed(result), "rb") as file:
            if file.read() != wanted:
                found.append(f"{kind}, {encoding}: {name} and {base} differ")
    db = sqlite3.connect(first)
    if db.execute("pragma encoding").fetchone()[0] != encoding:
        found.append("the result has another encoding")
    if kind in ("more", "moved") and values(db, "ZTHING") != by_affinity(
            store, encoding, folder, b"\1" if kind == "more" else b""):
        found.append(f"{kind}, {encoding}: other values than by column affinity")
    db.close()
    return found


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-24")
    p.add_argument("--rows", type=int, default=900)
    options = p.parse_args()
    tool = Tool(options.godwit)
    try:
        run_cases(options, [
            (f"seed {seed}", lambda folder, seed=seed: check(tool, seed, options.rows, folder))
            for seed in seeds(options.seeds)], "stores with odd texts")
    finally:
        print(", ".join(f"{n} {kind}" for kind, n in sorted(SEEN.items())))


if __name__ == "__main__":
    main()
