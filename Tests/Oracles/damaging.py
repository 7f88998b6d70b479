"""The tools with which damage is done to a migrated menagerie."""
import os
import plistlib
import shutil
import sqlite3
import struct


FLYER, FISH = 4, 3
KEYS = f"(select Z_PK from ZCREATURE where Z_ENT = {FLYER} order by 1 limit 1 offset {{}})"


class Damage:
    def __init__(self, name, do, *kinds, also=(), places=None):
        self.name, self.do = name, do
        self.kinds, self.also, self.places = set(kinds), set(also), places


def sql(*statements):
    """Runs statements; each is text, or text with values."""
    def do(new, _old):
        db = sqlite3.connect(new, isolation_level=None)
        try:
            for statement in statements:
                text, values = statement if isinstance(statement, tuple) else (statement, ())
                if db.execute(text, values).rowcount == 0:
                    raise LookupError(f"nothing to damage: {text}")
        finally:
            db.close()
    return do


def cell(name, column, value, *kinds, row=3, table="ZCREATURE", values=()):
    where = KEYS.format(row) if table == "ZCREATURE" else (
        f"(select min(Z_PK) from {table} where {column} is not null)")
    update = f"update {table} set {column} = {value} where Z_PK = {where}"
    return Damage(name, sql((update, values)),
                  *(kinds or ("value",)), places=1)


def schema(*edits):
    """Changes the text of the schema behind SQLite's back."""
    def do(new, _old):
        for text, values in edits:
            db = sqlite3.connect(new, isolation_level=None)
            db.execute("pragma writable_schema = on")
            if db.execute(text, values).rowcount == 0:
                raise LookupError(f"nothing to damage: {text}")
            db.close()
    return do


def stale_index(table, index, column, where):
    """Rows as they should be, and an index that says otherwise."""
    def do(new, _old):
        def run(text, *values):
            db = sqlite3.connect(new, isolation_level=None)
            db.execute("pragma writable_schema = on")
            rows = db.execute(text, values).fetchall()
            db.close()
            return rows
        key, value = run(f"select Z_PK, {column} from {table} where {where} limit 1")[0]
        entry = run("select * from sqlite_schema where name = ?", index)[0]
        run(f"update {table} set {column} = 'elsewhere' where Z_PK = ?", key)
        run("delete from sqlite_schema where name = ?", index)
        run(f"update {table} set {column} = ? where Z_PK = ?", value, key)
        run("insert into sqlite_schema values (?, ?, ?, ?, ?)", *entry)
    return do


def plist(change):
    def do(new, _old):
        db = sqlite3.connect(new)
        found = plistlib.loads(db.execute("select Z_PLIST from Z_METADATA").fetchone()[0])
        change(found)
        db.execute("update Z_METADATA set Z_PLIST = ?",
                   (plistlib.dumps(found, fmt=plistlib.FMT_BINARY),))
        db.commit()
        db.close()
    return do


def key_set(name, value):
    return plist(lambda found: found.__setitem__(name, value))


def key_gone(name):
    return plist(lambda found: found.__delitem__(name))


def hashes(change):
    return plist(lambda found: change(found["NSStoreModelVersionHashes"]))


def flip_hash(found):
    found["Fish"] = bytes([found["Fish"][0] ^ 1]) + found["Fish"][1:]


def patched(offset, data):
    """Other bytes in the file; a negative offset counts from its end."""
    def do(new, _old):
        with open(new, "r+b") as file:
            file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
            file.write(data)
    return do


def negative_zero(new, _old):
    """SQLite writes no -0.0, so the bytes of another number are exchanged for its."""
    mark = struct.pack(">d", 1.2345678912345e-211)
    sql((f"update ZCREATURE set ZSCORE = ? where Z_PK = {KEYS.format(3)}",
         (1.2345678912345e-211,)))(new, None)
    with open(new, "rb") as file:
        data = file.read()
    if data.count(mark) != 1:
        raise LookupError(f"the number stands {data.count(mark)} times in the file")
    with open(new, "wb") as file:
        file.write(data.replace(mark, struct.pack(">d", -0.0)))


def leaf_of(table, new):
    """The offset of a leaf of a table, and the size of its page."""
    db = sqlite3.connect(new)
    size = db.execute("pragma page_size").fetchone()[0]
    page = db.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchone()[0]
    db.close()
    with open(new, "rb") as file:
        while True:
            file.seek((page - 1) * size)
            data = file.read(size)
            if data[0] == 13:
                return (page - 1) * size, data
            page = struct.unpack(">I", data[8:12])[0]


def broken_leaf(new, _old):
    """A leaf that says that it is none."""
    offset, _ = leaf_of("ZCREATURE", new)
    patched(offset, b"\x77")(new, None)


def wrong_free(new, _old):
    """A cell pointer that leads beyond the page."""
    offset, _ = leaf_of("ZHERD", new)
    patched(offset + 8, b"\xff\xff")(new, None)


def longer(new, _old):
    with open(new, "ab") as file:
        file.write(bytes(4096))


def shorter(new, _old):
    os.truncate(new, os.path.getsize(new) // 2 // 4096 * 4096)


def beside(suffix):
    def do(new, _old):
        with open(new + suffix, "wb") as file:
            file.write(b"left over" * 60)
    return do


def wal(new, _old):
    db = sqlite3.connect(new)
    db.execute("pragma journal_mode = wal")
    db.close()


def external(change):
    def do(new, _old):
        folder = os.path.join(os.path.dirname(new), ".New_SUPPORT", "_EXTERNAL_DATA")
        change(os.path.join(folder, sorted(os.listdir(folder))[0]))
    return do


def one_byte(path):
    with open(path, "r+b") as file:
        file.seek(5000)
        file.write(b"\xee")


def old_cache(new, old):
    db = sqlite3.connect(old)
    content = db.execute("select Z_CONTENT from Z_MODELCACHE").fetchone()[0]
    db.close()
    sql(("update Z_MODELCACHE set Z_CONTENT = ?", (content,)))(new, None)


def lost_row(new, old):
    """A row of the old store that belongs to nothing."""
    sql("insert into ZHERD (Z_PK, Z_ENT, Z_OPT) values (-5, 77, 1)")(old, None)


def lost_null(new, old):
    sql("insert into ZHERD (Z_PK, Z_ENT, Z_OPT) values (-5, null, 1)")(old, None)


def neighbours(table, owner, order, key="rowid"):
    """Two rows of one owner change places."""
    def do(new, _old):
        db = sqlite3.connect(new)
        first, second = db.execute(
            f"select a.rowid, b.rowid from {table} a join {table} b on a.{owner} = b.{owner} "
            f"and a.{order} < b.{order} order by a.{owner}, a.{order}, b.{order}").fetchone()
        values = [db.execute(f"select {order} from {table} where rowid = ?", (r,)).fetchone()[0]
                  for r in (first, second)]
        for row, value in zip((first, second), reversed(values)):
            db.execute(f"update {table} set {order} = ? where rowid = ?", (value, row))
        db.commit()
        db.close()
    return do


def ddl(text):
    def do(new, _old):
        db = sqlite3.connect(new, isolation_level=None)
        db.execute(text)
        db.close()
    return do


def both(*parts):
    def do(new, old):
        for part in parts:
            part(new, old)
    return do
