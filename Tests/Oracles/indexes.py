#!/usr/bin/env python3
"""Migrates stores with random indexes of every kind of column by both engines. Indexes that stay,
come, go and become unique: results are alike to the byte. An index that is damaged, or whose
entries are not those that SQLite would make of the rows, is made anew, so that the result is that
of SQL as well, or the store is refused as damaged; the result is never another one.

usage: indexes.py --godwit P [--seeds 1-30] [--rows 1500] [--scratch S]
"""
import os
import random
import shutil
import sqlite3
import struct

from run import Failure, Tool, fingerprint, parser, run_cases, seeds, unchanged, vacuumed

TYPES = {"flag": "Boolean", "amount": "Double", "count": "Integer 64", "name": "String",
         "uid": "UUID", "when": "Date", "price": "Decimal", "data": "Binary"}
COLUMNS = {n: "Z" + {"when": "WHEN"}.get(n, n.upper()) for n in TYPES}


def write_model(folder, indexes, unique, more):
    """A version: `indexes` are lists of (attribute, ascending)."""
    os.makedirs(folder)
    lines = [f'<attribute name="{n}" optional="YES" attributeType="{t}"/>'
             for n, t in (TYPES | dict(more)).items()]
    for number, parts in enumerate(indexes):
        lines.append(f'<fetchIndex name="by{number}">' + "".join(
            f'<fetchIndexElement property="{n}" type="Binary" '
            f'order="{"ascending" if up else "descending"}"/>' for n, up in parts)
            + "</fetchIndex>")
    if unique:
        lines.append("<uniquenessConstraints>" + "".join(
            f'<uniquenessConstraint><constraint value="{n}"/></uniquenessConstraint>'
            for n in unique) + "</uniquenessConstraints>")
    with open(os.path.join(folder, "contents"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<model type="com.'
                   'apple.IDECoreDataModeler.DataModel" documentVersion="1.0">'
                   '<entity name="Thing">'
                   + "\n".join(lines) + "</entity></model>\n")


def random_indexes(r):
    found = []
    for _ in range(r.randint(1, 5)):
        names = r.sample(list(TYPES), r.choice((1, 1, 1, 2, 3)))
        found.append([(n, r.random() < 0.6) for n in names])
    return found


def value(r, name, row):
    """A value as an app may have written it, or another program."""
    if r.random() < 0.1:
        return None
    number = r.choice((0, 1, -1, 2 ** 47, 2 ** 53 + 1, 2 ** 62, -2 ** 63, 2 ** 63 - 1,
                       r.randint(-300, 300), r.randint(-2 ** 40, 2 ** 40)))
    if name in ("count", "flag"):
        return number if name == "count" else r.randint(0, 1)
    if name in ("amount", "when", "price"):
        return r.choice((float(number), number / 8, -0.0, 0.0, 1e300, number, r.random() * 1e9))
    if name == "name":
        return r.choice(("", "a", "a\0b", "ä", "long " * r.randint(1, 400), f"row {row % 50}",
                         f"{r.random()}"))
    if name == "uid":
        return r.choice((struct.pack(">QQ", row, r.getrandbits(63)), b"\0" * 16))
    return r.choice((b"", b"\0", b"\0\0\1", r.randbytes(r.randint(0, 60)),
                     r.randbytes(r.choice((900, 1100, 5000)))))


def fill(path, r, rows, unique):
    db = sqlite3.connect(path)
    names = list(TYPES)
    places = ",".join("?" * (len(names) + 3))
    key = 0
    with db:
        for row in range(rows):
            key += r.choice((1, 1, 1, 9))
            cells = [value(r, n, row) for n in names]
            for n in unique:
                cells[names.index(n)] = {"count": row, "name": f"only {row}",
                                         "uid": struct.pack(">QQ", 7, row)}[n]
            columns = ",".join(COLUMNS[n] for n in names)
            db.execute(f"insert into ZTHING (Z_PK, Z_ENT, Z_OPT, {columns}) values ({places})",
                       (key, 1, 1, *cells))
        db.execute("update Z_PRIMARYKEY set Z_MAX = ?", (key,))
    db.close()


# Damage


def forged(db, change):
    """Changes rows behind the back of the indexes, which then have other entries."""
    db.execute("pragma writable_schema = on")
    kept = db.execute("select type, name, tbl_name, rootpage, sql from sqlite_master where "
                      "type = 'index' and tbl_name = 'ZTHING' and sql is not null").fetchall()
    db.execute("delete from sqlite_master where type = 'index' and tbl_name = 'ZTHING' "
               "and sql is not null")
    db.commit()
    version = db.execute("pragma schema_version").fetchone()[0]
    db.execute(f"pragma schema_version = {version + 1}")
    db.commit()
    change(db)
    db.commit()
    db.executemany("insert into sqlite_master values (?, ?, ?, ?, ?)", kept)
    db.execute(f"pragma schema_version = {version + 2}")
    db.commit()


def row_changes(r):
    key = f"(select Z_PK from ZTHING limit 1 offset {r.randint(0, 900)})"
    name = r.choice(list(TYPES))
    other = {"name": "'other'", "uid": "x'0102'", "data": "x'0102'"}.get(name, "12345.5")
    return {
        "a value that differs": f"update ZTHING set {COLUMNS[name]} = {other} where Z_PK = {key}",
        "an entry too many": f"delete from ZTHING where Z_PK = {key}",
        "an entry too few": "insert into ZTHING (Z_PK, Z_ENT, Z_OPT) values (99999999, 1, 1)",
        "another key": f"update ZTHING set Z_PK = 99999998 where Z_PK = {key}"}


def retyped(db, declaration, values):
    """Values that a column of another type keeps stand in one that would keep them otherwise; the
    entries of its indexes are the same."""
    column, kind = declaration
    db.execute("pragma writable_schema = on")
    (sql,) = db.execute("select sql from sqlite_master where name = 'ZTHING'").fetchone()
    version = db.execute("pragma schema_version").fetchone()[0]
    for step, text in enumerate((sql.replace(f"{column} {kind}", f"{column} BLOB"), sql)):
        db.execute("update sqlite_master set sql = ? where name = 'ZTHING'", (text,))
        db.execute(f"pragma schema_version = {version + 1 + step}")
        db.commit()
        for offset, odd in enumerate(() if step else values):
            db.execute(f"update ZTHING set {column} = ? where Z_PK = (select Z_PK from ZTHING "
                       f"limit 1 offset {offset * 7})", (odd,))
        db.commit()


RETYPED = [(("ZAMOUNT", "FLOAT"), (1.0, -0.0, 2.0 ** 50, "12", "x")),
           (("ZCOUNT", "INTEGER"), ("12", "x", 3.0, b"\1")),
           (("ZWHEN", "TIMESTAMP"), (5.0, -0.0, "77", 2.0 ** 60)),
           (("ZNAME", "VARCHAR"), (5, 5.5, b"x")),
           (("ZDATA", "BLOB"), (1, 1.0, -0.0, "text"))]


SOUND = ("none", "utf16", "indexes of another kind")


def plant(store, r):
    """Plants a damage in the store, or none; its name."""
    db = sqlite3.connect(store)
    kind = r.choice(("none", "none", "rows", "retyped", "foreign", "utf16"))
    try:
        if kind == "rows":
            name, sql = r.choice(sorted(row_changes(r).items()))
            forged(db, lambda db: db.execute(sql))
            return name
        if kind == "retyped":
            declaration, values = r.choice(RETYPED)
            retyped(db, declaration, values)
            return f"odd values in {declaration[0]}"
        if kind == "foreign":
            # Indexes of another program on the same columns: no entry of theirs is ours.
            names = [n for (n,) in db.execute(
                "select name from sqlite_master where type = 'index' and sql is not null")]
            for n in names:
                (sql,) = db.execute("select sql from sqlite_master where name = ?", (n,)).fetchone()
                if "UNIQUE" in sql:
                    continue
                db.execute(f'drop index "{n}"')
                sql = sql.replace("BINARY", r.choice(("NOCASE", "RTRIM", "BINARY")))
                db.execute(sql + r.choice(("", " where ZCOUNT > 0", " where ZNAME is not null")))
            db.commit()
            return "indexes of another kind"
    finally:
        db.close()
    if kind == "utf16":
        recoded(store)
    return kind


def recoded(store):
    """Copies a store into one of UTF-16."""
    db = sqlite3.connect(store + "-16", isolation_level=None)
    db.execute("pragma encoding = 'UTF-16le'")
    db.execute("pragma auto_vacuum = 2")
    old = sqlite3.connect(store)
    for line in old.iterdump():
        db.execute(line)
    for each in (db, old):
        each.close()
    os.replace(store + "-16", store)


def check(tool, seed, rows, folder):
    r = random.Random(seed)
    unique = r.choice(([], ["uid"], ["count"], ["name"]))
    old = random_indexes(r)
    new = [i for i in old if r.random() < 0.8] + random_indexes(r)[:r.randint(0, 3)]
    bundle = os.path.join(folder, "Things.xcdatamodeld")
    more = r.choice(((), (("more", "String"),), (("more", "Integer 64"), ("most", "Date"))))
    made = r.choice((unique, []))
    write_model(os.path.join(bundle, "Old.xcdatamodel"), old, made, ())
    write_model(os.path.join(bundle, "New.xcdatamodel"), new, unique, more or (("m", "Boolean"),))
    store = os.path.join(folder, "source", "Things.sqlite")
    os.makedirs(os.path.dirname(store))
    tool.run("generate", os.path.join(bundle, "Old.xcdatamodel"), "--rows", 0, "--output", store)
    fill(store, r, rows, unique)
    damage = plant(store, r)
    before = fingerprint(os.path.dirname(store))
    results = []
    # A small store that is checked first is refused before an engine sees the damage.
    checked = () if r.random() < 0.2 else ("--check-source", "off")
    for name, flags in (("sql", ("--engine", "sql")),
                        ("pages", ("--engine", "pages", "--workers", 1)),
                        ("ranges", ("--engine", "pages", "--workers", 2, "--range-rows", 200)),
                        ("full", ("--engine", "pages", "--verify", "full"))):
        result = os.path.join(folder, name + ".sqlite")
        done = tool.call("migrate", store, "--to", os.path.join(bundle, "New.xcdatamodel"),
                         "--models", bundle, "--output", result, "--allow-loss", *checked, *flags)
        unchanged(before, os.path.dirname(store))
        if done.returncode:
            told = done.stderr.strip()
            # Odd values may be equal to others where all have to differ.
            if damage in SOUND or not ("is damaged" in told or "uniqueness" in told):
                raise Failure(f"{damage}, {name}: exit {done.returncode}: {told[-300:]}")
            result = None
        results.append((name, result))
    sound = [(name, vacuumed(path)) for name, path in results if path]
    found = []
    for name, copy in sound[1:]:
        with open(sound[0][1], "rb") as one, open(copy, "rb") as other:
            if one.read() != other.read():
                found.append(f"{damage}: {name} and {sound[0][0]} differ")
    shutil.rmtree(os.path.join(folder, "source"), ignore_errors=True)
    return found


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-30")
    p.add_argument("--rows", type=int, default=1500)
    options = p.parse_args()
    tool = Tool(options.godwit)
    run_cases(options, [
        (f"seed {seed}", lambda folder, seed=seed: check(tool, seed, options.rows, folder))
        for seed in seeds(options.seeds)], "stores with indexes")


if __name__ == "__main__":
    main()
