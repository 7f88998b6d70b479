"""The store whose mutants are migrated, and what SQLite reads of a mutant and of its result."""
import os
import plistlib
import random
import sqlite3

import damage_grounds
from sqlite_pages import Image, damaged
from store import uri_path

# What becomes of Zoo 1 in Zoo 2.
NUMBERS = {1: 1, 2: 3, 3: 2, 4: 4, 5: 5}
RENAMED = {"ZNUMBER": "ZCOUNT"}
ADDED = {"ZLEVEL": 7}
NUMBER_COLUMNS = {"Z_ENT", "Z1_OWNER"}
TABLES = ("ZCREATURE", "ZHERD", "ZPLACE", "Z_1FRIENDS", "Z_1VISITS")


class Ground:
    """A sound store of version 1 with trees of several levels, and its pages."""

    def __init__(self, tool, folder):
        os.makedirs(folder, exist_ok=True)
        self.bundle, paths = damage_grounds.write(folder)
        self.source, self.target = paths[0], paths[1]
        self.store = os.path.join(folder, "Sound.sqlite")
        tool.run("generate", paths[0], "--rows", 300, "--output", self.store)
        damage_grounds.plant(self.store)
        enlarge(self.store)
        with open(self.store, "rb") as file:
            self.data = file.read()
        db = sqlite3.connect(self.store)
        roots = [("schema", 1)] + db.execute(
            "select name, rootpage from sqlite_schema where rootpage > 0").fetchall()
        db.close()
        self.image = Image(self.data, roots)


def enlarge(path):
    """Trees with several levels in tables and indexes, chains in both, and free pages."""
    r, db = random.Random(1), sqlite3.connect(path)
    for (key,) in db.execute("select Z_PK from ZPLACE").fetchall():
        size = r.choice((300, 500, 900, 1500, 6000))
        db.execute("update ZPLACE set ZLABEL = ? where Z_PK = ?",
                   (f"{r.randrange(10**6)}-{key}-".ljust(size, "x"), key))
    for (key,) in db.execute("select Z_PK from ZHERD where Z_PK % 5 = 0").fetchall():
        db.execute("update ZHERD set ZNAME = ? where Z_PK = ?", ("herd " * r.randrange(3000), key))
    keys = [k for (k,) in db.execute("select Z_PK from ZCREATURE")]
    places = [k for (k,) in db.execute("select Z_PK from ZPLACE")]
    db.execute("create table passing (a)")
    db.executemany("insert into passing values (?)", [("y" * 3000,)] * 20)
    for table, others in (("Z_1FRIENDS", keys), ("Z_1VISITS", places)):
        for _ in range(2500):
            row = (r.choice(keys), r.choice(others), 2048, 4096)
            marks = "?, ?, ?, ?" if table == "Z_1VISITS" else "?, ?"
            db.execute(f"insert or ignore into {table} values ({marks})",
                       row[:marks.count("?")])
    db.execute("drop table passing")
    db.commit()
    db.close()


# Mutants that a sound file can be, too.

def sql_mutants():
    key = "(select Z_PK from {} order by Z_PK limit 1 offset abs(random()) % 40)"
    odd = ("99", "null", "'2'", "'x'", "2.5", "x'02'", "-1", "0", "9223372036854775807", "1", "3",
           "'Creature'", "1e300", "zeroblob(9)")
    for table in TABLES[:3]:
        for value in odd:
            yield f"update {table} set Z_ENT = {value} where Z_PK = {key.format(table)}"
        yield f"update {table} set Z_OPT = {{odd}} where Z_PK = {key.format(table)}"
        yield f"update {table} set Z_PK = -5 where Z_PK = {key.format(table)}"
        yield f"update {table} set Z_PK = 9223372036854775807 where Z_PK = {key.format(table)}"
        yield f"update {table} set Z_PK = -9223372036854775808 where Z_PK = {key.format(table)}"
        yield f"alter table {table} rename to {table.lower()}_x"
        yield (f"alter table {table} rename to other; create view {table} as select * from other")
        yield f"drop table {table}"
        yield f"delete from {table}"
    for table, columns in (("Z_1FRIENDS", ("Z_1FRIENDOF", "Z_1FRIENDS")),
                           ("Z_1VISITS", ("Z_1VISITORS", "Z_5VISITS"))):
        for column in columns:
            for value in ("null", "'x'", "'3'", "2.5", "-1", "9223372036854775807", "x'00'"):
                yield f"update or ignore {table} set {column} = {value} where rowid = 7"
        for column in (("Z_FOK_1VISITORS",) if table == "Z_1VISITS" else ()):
            for value in ("null", "'x'", "2.5", "9223372036854775807", "x'00'"):
                yield f"update {table} set {column} = {value} where rowid = 9"
        yield f"drop table {table}"
        yield f"alter table {table} rename to {table}_x"
        yield f"alter table {table} add column extra"
    for index, table in (("ZCREATURE_Z_ENT_INDEX", "ZCREATURE"),
                         ("ZCREATURE_ZHERD_INDEX", "ZCREATURE"),
                         ("ZPLACE_ZOWNER_INDEX", "ZPLACE"), ("Z_Place_UNIQUE_label", "ZPLACE"),
                         ("Z_1FRIENDS_Z_1FRIENDS_INDEX", "Z_1FRIENDS"),
                         ("sqlite_autoindex_Z_1FRIENDS_1", "Z_1FRIENDS"),
                         ("sqlite_autoindex_Z_1VISITS_1", "Z_1VISITS")):
        yield f"stale {index} {table} 3"
        yield f"stale {index} {table} 0"
        yield f"stale {index} {table} 1000"
        yield f"partial {index}"
        yield f"schema delete from sqlite_schema where name = '{index}'"
        yield f"schema update sqlite_schema set rootpage = {{page}} where name = '{index}'"
    for table in TABLES + ("Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"):
        yield f"schema update sqlite_schema set rootpage = {{page}} where name = '{table}'"
        yield f"schema update sqlite_schema set name = lower(name) where name = '{table}'"
        yield f"schema update sqlite_schema set type = 'view' where name = '{table}'"
        yield f"schema update sqlite_schema set sql = {{cut}} where name = '{table}'"
        yield f"schema delete from sqlite_schema where name = '{table}'"
        yield f"schema update sqlite_schema set sql = null where name = '{table}'"
        yield f"schema update sqlite_schema set tbl_name = 'ZHERD' where name = '{table}'"
    for text in ("delete from Z_PRIMARYKEY where Z_NAME = 'Herd'", "delete from Z_PRIMARYKEY",
                 "update Z_PRIMARYKEY set Z_NAME = 'Herd'",
                 "update Z_PRIMARYKEY set Z_NAME = null", "update Z_PRIMARYKEY set Z_SUPER = 'x'",
                 "update Z_PRIMARYKEY set Z_MAX = {odd}", "update Z_PRIMARYKEY set Z_NAME = x'ff'",
                 "update Z_PRIMARYKEY set Z_ENT = Z_ENT + 70000",
                 "update Z_PRIMARYKEY set Z_ENT = -Z_ENT",
                 "update Z_PRIMARYKEY set Z_ENT = 9223372036854775807 where Z_ENT = 5",
                 "insert into Z_PRIMARYKEY values (77, 'Herd', 0, 5)",
                 "insert into Z_PRIMARYKEY values (77, 'Other', 4, 5)",
                 "update Z_METADATA set Z_UUID = {odd}", "update Z_METADATA set Z_VERSION = {n}",
                 "update Z_METADATA set Z_PLIST = {odd}", "delete from Z_METADATA",
                 "insert into Z_METADATA select 7, Z_UUID, Z_PLIST from Z_METADATA",
                 "update Z_MODELCACHE set Z_CONTENT = {odd}", "delete from Z_MODELCACHE",
                 "alter table ZHERD add column extra", "alter table ZHERD drop column ZNAME",
                 "alter table ZHERD add column ZMORE default 7",
                 "alter table ZCREATURE drop column Z_FOK_HERD",
                 "create trigger t after insert on ZHERD begin delete from ZHERD; end",
                 "create table ZHERDS (Z_PK integer primary key, Z_ENT)",
                 "update ZPLACE set ZLABEL = 'same'; drop index Z_Place_UNIQUE_label; "
                 "update ZPLACE set ZLABEL = 'same'",
                 "drop index Z_Place_UNIQUE_label; update ZPLACE set ZLABEL = 'same'",
                 "update ZPLACE set ZOWNER = {odd} where Z_PK < 9",
                 "update ZPLACE set Z1_OWNER = {odd} where Z_PK < 9",
                 "update ZCREATURE set ZHERD = {odd} where Z_PK < 9",
                 "update ZCREATURE set Z_FOK_HERD = {odd} where Z_PK < 9",
                 "update ZCREATURE set ZPHOTO = {odd} where Z_PK < 9",
                 "update ZCREATURE set ZCOUNT = {odd} where Z_PK < 9"):
        yield text
    yield "plist"


def planted(r, path, text):
    """Changes a sound store by SQL, perhaps behind its back."""
    odd = ("null", "'x'", "2.5", "x'ff00'", "9223372036854775807", "-9223372036854775808", "''",
           "zeroblob(100000)", "1e308", "'12'", "-7")
    db = sqlite3.connect(path, isolation_level=None)
    pages = db.execute("pragma page_count").fetchone()[0]
    text = text.replace("{odd}", r.choice(odd)).replace("{n}", str(r.randrange(9)))
    text = text.replace("{page}", str(r.choice((0, 1, 2, 3, pages + 1, r.randrange(pages)))))
    if "{cut}" in text:
        text = text.replace("{cut}", r.choice((
            "substr(sql, 1, abs(random()) % length(sql))", "replace(sql, 'INTEGER', 'TEXT')",
            "replace(sql, 'Z_PK', 'Z_KP')", "replace(sql, 'ZNAME VARCHAR', 'ZNAME BLOB')",
            "replace(sql, 'PRIMARY KEY', '')", "sql || ' WITHOUT ROWID'", "replace(sql, ')', ',)')",
            "replace(sql, 'VARCHAR', 'VARCHAR COLLATE NOCASE')", "replace(sql, ' (', ' (a, ')",
            "replace(sql, 'ZLABEL', 'ZNAME')")))
    try:
        if text.startswith("stale"):
            stale(path, *text.split()[1:])
        elif text == "plist":
            blob = bytearray(db.execute("select Z_PLIST from Z_METADATA").fetchone()[0])
            for _ in range(r.choice((1, 1, 2, 8))):
                blob[r.randrange(len(blob))] = r.randrange(256)
            db.execute("update Z_METADATA set Z_PLIST = ?", (bytes(blob),))
        elif text.startswith("partial"):
            db.execute("pragma writable_schema = on")
            db.execute("update sqlite_schema set sql = sql || ' where rowid > 20' where name = ?",
                       (text.split()[1],))
        elif text.startswith("schema"):
            db.execute("pragma writable_schema = on")
            db.execute(text[7:])
        else:
            db.executescript(text)
    except sqlite3.Error as error:
        text += f" ({error})"
    db.close()
    return text


def stale(path, index, table, count):
    """An index that lacks rows that its table has, or has rows that its table lacks."""
    def run(*statements):
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("pragma writable_schema = on")
        try:
            return [db.execute(text, values).fetchall() for text, values in statements]
        finally:
            db.close()
    limit = int(count) or 5
    (entry,), rows = run(("select * from sqlite_schema where name = ?", (index,)),
                         (f"select rowid, * from {table} limit ?", (limit,)))
    out = [(f"delete from {table} where rowid = ?", (row[0],)) for row in rows]
    if int(count):
        run(*out)
    run(("delete from sqlite_schema where name = ?", (index,)))
    if int(count):
        # Of a table with objects the number of a row is its first column as well.
        own = "" if table in TABLES[:3] else "rowid, "
        names = own + ", ".join(d[1] for d in run((f"pragma table_info({table})", ()))[0])
        first = 0 if own else 1
        run(*((f"insert into {table} ({names}) values "
               f"({', '.join('?' * len(row[first:]))})", row[first:]) for row in rows))
    else:
        run(*out)
    run(("insert into sqlite_schema values (?, ?, ?, ?, ?)", entry))


# What SQLite reads.

def open_immutable(path):
    db = sqlite3.connect(f"file:{uri_path(path)}?mode=ro&immutable=1", uri=True)
    db.text_factory = Text
    return db


class Text(bytes):
    """A text, which equals no blob."""

    def __eq__(self, other):
        return isinstance(other, Text) and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self)) + 1


def rows_of(db, table):
    """The column names and all rows of a table, by a scan of the table itself."""
    kind = db.execute("select type from sqlite_schema where name = ? collate nocase and "
                      "type in ('table', 'view')", (table,)).fetchone()
    if not kind:
        return None
    by = "not indexed" if kind[0] == Text(b"table") else ""
    cursor = db.execute(f"select * from {table} {by}")
    return [d[0] for d in cursor.description], cursor.fetchall()


def canonical(value, kind):
    """One form for all values that a column of that type keeps as the same."""
    if kind == "BLOB" or value is None:
        return value
    if isinstance(value, Text):
        return value if kind == "VARCHAR" else number(value)
    if isinstance(value, bytes):
        return value
    if kind == "VARCHAR":
        return Text(sqlite3.connect(":memory:").execute(
            "select cast(? as text)", (value,)).fetchone()[0].encode())
    return value


def number(text):
    for form in (int, float):
        try:
            return form(text)
        except ValueError:
            pass
    return text


def expected(source, names):
    """The rows of a result's table, from those of the source."""
    have, rows = source
    places = {n.upper(): i for i, n in enumerate(have)}
    out = []
    for row in rows:
        new = []
        for name in names:
            if name in ADDED:
                new.append(ADDED[name])
                continue
            value = row[places[RENAMED.get(name, name)]] \
                if RENAMED.get(name, name) in places else None
            new.append(NUMBERS.get(value, value) if name in NUMBER_COLUMNS else value)
        out.append(tuple(new))
    return out
