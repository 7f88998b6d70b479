#!/usr/bin/env python3
"""The app of living.py: a store whose every state shows in all of its rows, and a process that
changes it at random moments.

usage: living_app.py PLAN, a plan in JSON; ends when its standard input does
"""
import contextlib
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import sys
import time
import uuid

from store import uri_path

# The column of each table that bears the state, in the old store and in the new one.
OLD = {"ZAUTHOR": "ZNAME", "ZBOOK": "ZISBN", "ZLOAN": "ZRETURNEDON", "ZREADER": "ZEMAIL",
       "ZSHELF": "ZLABEL"}
NEW = {**OLD, "ZITEM": "ZISBN"}
del NEW["ZBOOK"]
BOOK = 1


class Store:
    """A store and its external files."""

    def __init__(self, path):
        self.path = path
        base = os.path.basename(path).removesuffix(".sqlite")
        self.files = os.path.join(os.path.dirname(path), f".{base}_SUPPORT", "_EXTERNAL_DATA")

    def connect(self, timeout=0.2, **options):
        return sqlite3.connect(f"file:{uri_path(self.path)}?mode=rw", uri=True, timeout=timeout,
                               isolation_level=None, **options)

    def tables(self, db):
        return {name for name, in db.execute("select name from sqlite_master")}

    def is_new(self):
        db = self.connect(timeout=5)
        try:
            return "ZITEM" in self.tables(db)
        finally:
            db.close()


def stamp(table, state):
    return state if table == "ZLOAN" else f"s{state}"


def make_stateful(store):
    """Brings a generated store to state 0."""
    db = store.connect()
    counts = {t: db.execute(f"select count(*) from {t}").fetchone()[0] for t in OLD}
    db.execute("begin immediate")
    for table in OLD:
        db.execute(f"update {table} set {OLD[table]} = ?", (stamp(table, 0),))
    # The rows at state 0 are told by a row that no migration changes.
    db.execute("update zbook set ztitle = ? where z_pk = ?", (json.dumps(counts), BOOK))
    write_file(db, store, 0)
    db.execute("commit")
    db.close()


def write_file(db, store, state):
    """Gives a book another external file; the name of the one before."""
    before = db.execute("select zcover from zbook where z_pk = ?", (BOOK,)).fetchone()[0]
    name = str(uuid.uuid4()).upper()
    os.makedirs(store.files, exist_ok=True)
    with open(os.path.join(store.files, name), "w") as file:
        file.write(f"state {state}")
    db.execute("update zbook set zcover = ? where z_pk = ?",
               (b"\x02" + name.encode() + b"\x00", BOOK))
    return before


def state_in(db):
    return db.execute("select max(zreturnedon) from zloan").fetchone()[0]


def change(db, store, least=0):
    """Takes the store of an open transaction to its next state; the state, and the file that no
    value names any more."""
    state = max(int(state_in(db)) + 1, least)
    for table, column in OLD.items():
        db.execute(f"update {table} set {column} = ?", (stamp(table, state),))
    # Each state has one author more than its number says.
    highest, entity = db.execute("select max(z_pk), max(z_ent) from zauthor").fetchone()
    rows = json.loads(db.execute("select ztitle from zbook where z_pk = ?", (BOOK,)).fetchone()[0])
    there = db.execute("select count(*) from zauthor").fetchone()[0]
    for extra in range(rows["ZAUTHOR"] + state - there):
        highest += 1
        db.execute("insert into zauthor (z_pk, z_ent, z_opt, zname) values (?, ?, 1, ?)",
                   (highest, entity, stamp("ZAUTHOR", state)))
    db.execute("update z_primarykey set z_max = ? where z_name = 'Author'", (highest,))
    return state, write_file(db, store, state)


def commit(db, store, least=0):
    """Commits the next state and removes the file of the one before, as Core Data does."""
    db.execute("begin immediate")
    try:
        state, before = change(db, store, least)
        db.execute("commit")
    except sqlite3.Error:
        db.execute("rollback") if db.in_transaction else None
        raise
    remove_file(store, before)
    return state


def remove_file(store, value):
    if value and value[:1] == b"\x02":
        try:
            os.remove(os.path.join(store.files, value[1:37].decode()))
        except FileNotFoundError:
            pass


def state_of(store):
    """The state of a store, and what in it does not belong to that state."""
    db = store.connect(timeout=5)
    try:
        sound = db.execute("pragma integrity_check(3)").fetchall()
        if sound != [("ok",)]:
            return None, [f"integrity_check: {sound}"]
        names = NEW if "ZITEM" in store.tables(db) else OLD
        found = {}
        for table, column in names.items():
            entity = " where zisbn is not null" if table == "ZITEM" else ""
            for value, in db.execute(f"select distinct {column} from {table}{entity}"):
                found.setdefault(int(str(value).removeprefix("s").removesuffix(".0")),
                                 []).append(table)
        if len(found) != 1:
            return None, [f"states in one store: {found}"]
        state = next(iter(found))
        return state, content_problems(store, db, names, state)
    finally:
        db.close()


def content_problems(store, db, names, state):
    books = "ZITEM" if "ZITEM" in names else "ZBOOK"
    title, cover = db.execute(f"select ztitle, zcover from {books} where z_pk = ?",
                              (BOOK,)).fetchone()
    expected = json.loads(title)
    expected["ZAUTHOR"] += state
    expected[books] = expected.pop("ZBOOK")
    out = []
    for table, count in expected.items():
        there = db.execute(f"select count(*) from {table}").fetchone()[0]
        if there != count:
            out.append(f"{there} rows in {table}, expected {count}")
    path = os.path.join(store.files, cover[1:37].decode("utf-8", "replace").replace("\0", "?"))
    try:
        with open(path) as file:
            said = file.read()
    except OSError as error:
        said = str(error)
    if said != f"state {state}":
        out.append(f"the external file of state {state} says {said!r}")
    return out


# MARK: the process


class App:
    def __init__(self, plan):
        self.chance = random.Random(plan["seed"] + 1)
        self.store, self.spare = Store(plan["store"]), Store(plan["spare"])
        self.mode, self.seconds = plan["mode"], plan["seconds"]
        self.db = None

    def say(self, *words):
        print(*words, flush=True)

    def over(self, seconds=0.0):
        """Waits; whether the migration has ended."""
        return bool(select.select([sys.stdin], [], [], seconds)[0])

    def moment(self):
        """Waits for a random moment of the migration."""
        return self.over(self.chance.uniform(0, self.seconds * 1.1))

    def open(self):
        db = self.store.connect()
        db.execute("select count(*) from sqlite_master").fetchall()
        return db

    def write(self, db):
        try:
            self.say("commit", commit(db, self.store))
        except sqlite3.Error as error:
            self.say("failed", str(error).replace(" ", "_"))

    def checkpoint(self, db):
        kind = self.chance.choice(("passive", "full", "restart", "truncate"))
        try:
            db.execute(f"pragma wal_checkpoint({kind})").fetchall()
        except sqlite3.Error as error:
            self.say("failed", str(error).replace(" ", "_"))

    def begin(self, *, crash=False):
        """Tells the state at which the migration begins."""
        db = self.open()
        self.say("commit", int(state_in(db)))
        return db

    def writer(self):
        db = self.begin()
        if self.chance.random() < 0.3:
            db.close()
            db = None
        while not self.over(self.chance.uniform(0, self.seconds / 4)):
            try:
                db = db or self.open()
            except sqlite3.Error:
                continue
            self.write(db)
            act = self.chance.random()
            if act < 0.4:
                self.checkpoint(db)
            elif act < 0.6:
                db.close()
                db = None

    def visitor(self):
        self.begin().close()
        for _ in range(self.chance.randint(1, 2)):
            self.moment()
            try:
                db = self.open()
            except sqlite3.Error as error:
                self.say("failed", str(error).replace(" ", "_"))
                continue
            self.write(db)
            if self.chance.random() < 0.7:
                self.checkpoint(db)
            db.close()

    def replacer(self):
        """Renames another store into the place, and maybe the first one back."""
        self.begin().close()
        self.moment()
        if self.store_is_new():
            return
        self.say("meddle")
        aside = self.store.path + "-aside"
        for name in os.listdir(self.spare.files):
            shutil.copy(os.path.join(self.spare.files, name), self.store.files)
        os.link(self.store.path, aside)
        os.rename(self.spare.path, self.store.path)
        if self.chance.random() < 0.5:
            self.over(self.chance.uniform(0, self.seconds / 4))
            os.rename(aside, self.store.path)
        else:
            os.remove(aside)

    def rewriter(self):
        """Copies another store over the bytes of this one, as `cp` does."""
        self.begin().close()
        self.moment()
        with self.old_file() as file:
            if file is None:
                return
            self.say("meddle")
            for name in os.listdir(self.spare.files):
                shutil.copy(os.path.join(self.spare.files, name), self.store.files)
            with open(self.spare.path, "rb") as spare:
                file.truncate(0)
                shutil.copyfileobj(spare, file)

    def truncator(self):
        self.begin().close()
        self.moment()
        with self.old_file() as file:
            if file is None:
                return
            self.say("meddle")
            size = os.fstat(file.fileno()).st_size
            file.truncate(self.chance.choice((0, size // 2, size - 4096, size - 100)))

    def locker(self):
        db = self.begin()
        if self.chance.random() < 0.5:
            self.moment()
        try:
            db.execute(self.chance.choice(("begin immediate", "begin exclusive", "begin")))
            if self.chance.random() < 0.7:
                state, before = change(db, self.store)
                self.over(self.chance.uniform(0, self.seconds))
                if self.chance.random() < 0.6:
                    db.execute("commit")
                    self.say("commit", state)
                    remove_file(self.store, before)
                else:
                    db.execute("rollback")
            else:
                state_in(db)
                self.moment()
                db.execute("rollback")
        except sqlite3.Error as error:
            self.say("failed", str(error).replace(" ", "_"))

    def idler(self):
        """Holds a connection from before the migration on, and writes once at the end or amid."""
        db = self.begin()
        if self.chance.random() < 0.5:
            self.moment()
        else:
            while not self.over(0.2):
                pass
        self.write(db)

    def opener(self):
        """Has the main file open for writing from a random moment on, under no lock."""
        self.begin().close()
        self.moment()
        if self.store_is_new():
            return
        with open(self.store.path, "r+b"):
            while not self.over(0.2):
                pass

    def crasher(self):
        """Leaves the log of a killed process, which holds a commit or half of one."""
        child = os.fork()
        if child == 0:
            db = self.store.connect()
            db.execute("pragma cache_size = 10")
            state = int(state_in(db))
            if self.mode == "wal" or self.chance.random() < 0.3:
                self.say("commit", commit(db, self.store))
            else:
                db.execute("begin immediate")
                change(db, self.store)
                self.say("commit", state)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        self.moment()
        if self.chance.random() < 0.3:
            try:
                db = self.open()
                self.write(db)
                db.close()
            except sqlite3.Error as error:
                self.say("failed", str(error).replace(" ", "_"))

    @contextlib.contextmanager
    def old_file(self):
        """The file of the old store, opened before it is found to be old: a swap that happens
        afterwards does not turn what is done to it on the new store."""
        with open(self.store.path, "r+b") as file:
            yield None if self.store_is_new() else file

    def store_is_new(self):
        try:
            return self.store.is_new()
        except sqlite3.Error:
            return True


def main():
    plan = json.loads(sys.argv[1])
    app = App(plan)
    getattr(app, plan["scene"])()
    while not app.over(0.2):
        pass


if __name__ == "__main__":
    main()
