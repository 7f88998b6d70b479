"""Stores of one version and with the same rows whose schemas differ in pages, order or encoding."""
import os
import sqlite3

from run import Failure


def other_schemas(store):
    """Changes of a store that leave its version and its rows: pages, order and encoding of what
    its schema lists."""
    def remade(way):
        db = sqlite3.connect(store, isolation_level=None)
        listed = "SELECT name, sql, rootpage FROM sqlite_master ORDER BY rowid"
        before = db.execute(listed).fetchall()
        indexes = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' "
                             "AND sql IS NOT NULL ORDER BY rowid").fetchall()
        for name, _ in indexes:
            db.execute(f'DROP INDEX "{name}"')
        # The last root takes the page of one that goes.
        db.execute("CREATE TABLE passing (a)")
        for _, sql in indexes if way == "roots" else reversed(indexes):
            db.execute(sql)
        db.execute("DROP TABLE passing")
        after = db.execute(listed).fetchall()
        db.close()
        if after == before:
            raise Failure("the schema is as it was")
        if way == "roots" and [r[:2] for r in after] != [r[:2] for r in before]:
            raise Failure("more than the roots has changed")

    def small_pages(_):
        db = sqlite3.connect(store, isolation_level=None)
        db.execute("PRAGMA page_size = 1024")
        db.execute("VACUUM")
        db.close()

    def encoded(encoding):
        db = sqlite3.connect(store)
        other = sqlite3.connect(store + ".copy", isolation_level=None)
        other.execute(f"PRAGMA encoding = '{encoding}'")
        other.executescript("\n".join(db.iterdump()))
        other.close()
        db.close()
        os.replace(store + ".copy", store)

    return {"as it is": lambda _: None, "indexes in reverse": remade, "roots moved": remade,
            "pages of 1024": small_pages, "UTF-8 again": encoded, "UTF-16le": encoded,
            "UTF-16be": encoded}
