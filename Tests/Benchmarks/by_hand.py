#!/usr/bin/env python3
"""Writes the SQL that an expert would for a migration, from a store and what became of it; and
tells whether two results have the same rows.

usage: by_hand.py SCRIPT FOLDER STORE...   (runs the script for each store, in one process)
"""
import os
import sqlite3
import sys

# These describe the model. They are small, so they go into the script as they are.
WRITTEN = ("Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY")
CACHE_KIB = 1 << 20
# Sums of remainders are exact, in whatever order they are added up.
PRIME = 1_000_003


def opened(path):
    # Columns may hold text of any bytes.
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    db.text_factory = bytes
    return db


def tables(db):
    """{table: CREATE TABLE}"""
    return {name.decode(): sql.decode() for name, sql in db.execute(
        "select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'")}


def columns(db, table):
    return [row[1].decode() for row in db.execute(f'pragma table_info("{table}")')]


def entities(db):
    return {name: number for number, name in db.execute("select Z_ENT, Z_NAME from Z_PRIMARYKEY")}


class Script:
    """INSERT ... SELECT by the names of columns, then CREATE INDEX, in one transaction.

    `sources` names the tables in the store where they differ, `computed` has expressions by
    "TABLE.COLUMN" for what a name and a constant do not tell, `kept` and `joins` a condition and a
    JOIN by tables of the result.
    """

    def __init__(self, store, result, sources=None, computed=None, kept=None, joins=None):
        self.old, self.new = opened(store), opened(result)
        self.sources, self.computed = sources or {}, computed or {}
        self.kept, self.joins = kept or {}, joins or {}
        self.before, self.after = tables(self.old), tables(self.new)
        now = entities(self.new)
        self.numbers = {number: now[name] for name, number in entities(self.old).items()
                        if name in now}

    def text(self):
        lines = ["PRAGMA page_size=%d;" % self.setting("page_size"),
                 "PRAGMA encoding='%s';" % self.setting("encoding").decode(),
                 "PRAGMA auto_vacuum=%d;" % self.setting("auto_vacuum"),
                 "PRAGMA journal_mode=OFF;", "PRAGMA synchronous=OFF;",
                 "PRAGMA locking_mode=EXCLUSIVE;", "PRAGMA secure_delete=OFF;",
                 "PRAGMA temp_store=MEMORY;", f"PRAGMA cache_size=-{CACHE_KIB};",
                 "ATTACH 'file:SRC?immutable=1' AS src;", "BEGIN;"]
        lines += [f"{sql};" for sql in self.after.values()]
        for table in self.after:
            lines += self.literal(table) if table in WRITTEN else [self.insertion(table)]
        lines += [f"{sql.decode()};" for (sql,) in self.new.execute(
            "select sql from sqlite_schema where type = 'index' and sql is not null")]
        return "\n".join(lines + ["COMMIT;", ""])

    def setting(self, name):
        return self.new.execute(f"pragma {name}").fetchone()[0]

    def literal(self, table):
        def value(name):
            if (table, name) != ("Z_PRIMARYKEY", "Z_MAX"):
                return f'quote("{name}")'
            # The highest key is that of the store; the same script is for several of one model.
            return ("CASE WHEN Z_NAME IN (" + ",".join(quoted) + ") THEN '(SELECT Z_MAX FROM src."
                    "Z_PRIMARYKEY WHERE Z_NAME = ' || quote(Z_NAME) || ')' ELSE Z_MAX END")
        quoted = self.same_keys() or ["NULL"]
        values = " || ',' || ".join(map(value, columns(self.new, table)))
        return [f'INSERT INTO "{table}" VALUES ({row.decode()});'
                for (row,) in self.new.execute(f'select {values} from "{table}"')]

    def same_keys(self):
        """The names of entities, as SQL, whose highest key stays."""
        found = dict(self.old.execute("select quote(Z_NAME), Z_MAX from Z_PRIMARYKEY"))
        return [name.decode() for name, highest in self.new.execute(
            "select quote(Z_NAME), Z_MAX from Z_PRIMARYKEY") if found.get(name) == highest]

    def insertion(self, table):
        source = self.sources.get(table, table)
        if source not in self.before:
            if self.new.execute(f'select 1 from "{table}" limit 1').fetchone():
                raise ValueError(f"nothing says where the rows of {table} come from")
            return ""
        there = columns(self.old, source)
        names = columns(self.new, table)
        parts = [self.expression(table, name, source, there) for name in names]
        condition = " " + self.joins[table] if table in self.joins else ""
        condition += f" WHERE {self.kept[table]}" if table in self.kept else ""
        if parts == [f'"{name}"' for name in there] and not condition:
            # Of tables that are alike, SQLite copies whole records.
            return f'INSERT INTO main."{table}" SELECT * FROM src."{source}";'
        return (f'INSERT INTO main."{table}" SELECT {", ".join(parts)} '
                f'FROM src."{source}"{condition};')

    def expression(self, table, name, source, there):
        if f"{table}.{name}" in self.computed:
            return self.computed[f"{table}.{name}"]
        if name == "Z_ENT" and any(a != b for a, b in self.numbers.items()):
            used = [n for (n,) in self.old.execute(f'select distinct Z_ENT from "{source}"')]
            if len(used) == 1:
                return str(self.numbers[used[0]])
            return "CASE Z_ENT " + " ".join(
                f"WHEN {n} THEN {self.numbers[n]}" for n in used) + " END"
        if name in there:
            return f'"{name}"'
        found = self.new.execute(
            f'select distinct quote("{name}") from "{table}" limit 2').fetchall()
        if len(found) > 1:
            raise ValueError(f"nothing says what becomes of {table}.{name}")
        return found[0][0].decode() if found else "NULL"


# What results have


def contents(path):
    """{table: (rows, {column: (values that are not null, a sum)})}, and the names of indexes. The
    sum is that of remainders of numbers, and of lengths of other values."""
    db, found = opened(path), {}
    for table in tables(db):
        if table in ("Z_METADATA", "Z_MODELCACHE"):
            continue
        names = columns(db, table)
        sums = ", ".join(
            f'count("{n}"), sum(case when typeof("{n}") in (\'integer\', \'real\') '
            f'then "{n}" % {PRIME} else length("{n}") end)' for n in names)
        count, *rest = db.execute(f'select count(*), {sums} from "{table}"').fetchone()
        found[table] = count, dict(zip(names, zip(rest[::2], rest[1::2])))
    indexes = {name.decode() for (name,) in db.execute(
        "select name from sqlite_schema where type = 'index' and sql is not null")}
    db.close()
    return found, indexes


def difference(expected, actual, loose=False):
    """How two results differ, or None; loosely only by what both have."""
    (expected, some), (actual, others) = expected, actual
    if not loose and (expected.keys() != actual.keys() or some != others):
        return (f"tables and indexes {sorted(expected.keys() ^ actual.keys())} "
                f"{sorted(some ^ others)} are in one result only")
    for table in expected.keys() & actual.keys():
        (rows, sums), (count, more) = expected[table], actual[table]
        if rows != count:
            return f"{table} has {count} rows instead of {rows}"
        for name in sums.keys() & more.keys():
            if sums[name] != more[name]:
                return f"{table}.{name} has {more[name]} instead of {sums[name]}"
        if not loose and sums.keys() != more.keys():
            return f"the columns of {table} are others: {sorted(more)}"
    return None


def main(script, folder, *stores):
    with open(script, encoding="utf-8") as file:
        text = file.read()
    for store in stores:
        path = os.path.join(folder, os.path.basename(store))
        db = sqlite3.connect(f"file:{path}", uri=True, isolation_level=None)
        db.executescript(text.replace("SRC", store))
        db.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
