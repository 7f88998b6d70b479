#!/usr/bin/env python3
"""Stores with random logs: what an app wrote and never checkpointed, amid a transaction or not, of
any page size, cut short, damaged, left over from before a checkpoint, or with nothing that counts.

What SQLite makes of a copy of the files, with the log brought into the main file, is the store that
the tool has to see: `inspect`, `plan`, `check`, `migrate` by every engine, with an output and in
place, and `verify` give the same for both. The main file and its log stay as they are, and in place
the old store is kept with what its log had.

usage: wals.py --godwit P [--corpus D] [--seeds 1-24] [--scratch S]
"""
import hashlib
import json
import os
import random
import shutil
import sqlite3
import tempfile

from run import Failure, Tool, fingerprint, parser, run_cases, seeds, unchanged, vacuumed

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.abspath(os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld"))
SUFFIXES = ("", "-wal", "-shm")
FAULTS = (None, None, None, None, "flip", "flip", "cut", "tail", "header", "salts", "other header")


class Lab:
    def __init__(self, tool, folder):
        self.tool = tool
        self.store = os.path.join(folder, "whole", "Shop.sqlite")
        os.makedirs(os.path.dirname(self.store))
        tool.run("generate", MODEL, "--version", "Library 1", "--rows", 1500, "--seed", 11,
                 "--output", self.store)
        self.mapping = os.path.join(folder, "Mapping.json")
        tool.run("map", "--from", self.store, "--to", MODEL, "--output", self.mapping)
        self.seen = {"written": 0, "nothing": 0, "refused": 0}


def change(db, r):
    """One transaction's worth of changes that keep a store a store."""
    kind = r.randrange(7)
    if kind == 0:
        db.execute("update zbook set ztitle = ztitle || ? where z_pk % ? = 0",
                   ("x" * r.randrange(900), r.randint(1, 9)))
    elif kind == 1:
        db.execute("delete from zloan where z_pk % ? = 0", (r.randint(3, 9),))
    elif kind == 2:
        db.execute("update zreader set zemail = zemail || ?", ("y" * r.randrange(200),))
    elif kind == 3:
        highest, entity = db.execute("select max(z_pk), max(z_ent) from zauthor").fetchone()
        for extra in range(1, r.randint(1, 60)):
            db.execute("insert into zauthor (z_pk, z_ent, z_opt, zname) values (?, ?, 1, ?)",
                       (highest + extra, entity, "n" * r.randrange(300)))
        db.execute("update z_primarykey set z_max = (select max(z_pk) from zauthor) "
                   "where z_name = 'Author'")
    elif kind == 4:
        db.execute("update zauthor set zname = 'short' where z_pk % 2 = 0")
    elif kind == 5:
        db.execute("create table if not exists junk (a)")
        db.execute("insert into junk values (randomblob(?))", (r.randrange(100_000),))
        db.execute("drop table junk")
    else:
        db.execute("update zshelf set zlabel = zlabel || 'z'")


def make(lab, r, folder):
    """A store and its log, as a crash leaves them, in a folder of their own."""
    live = os.path.join(folder, "live.sqlite")
    shutil.copy(lab.store, live)
    db = sqlite3.connect(live, isolation_level=None)
    db.execute("pragma journal_mode = delete")
    db.execute(f"pragma page_size = {r.choice((512, 1024, 4096, 4096, 4096, 65536))}")
    db.execute(f"pragma auto_vacuum = {r.randrange(3)}")
    db.execute("vacuum")
    db.execute("pragma journal_mode = wal")
    db.execute(f"pragma wal_autocheckpoint = {r.choice((0, 0, 30))}")
    db.execute("pragma cache_size = 8")
    for _ in range(r.randint(1, 8)):
        db.execute("begin")
        change(db, r)
        db.execute(r.choice(("commit", "commit", "rollback")))
        if r.random() < 0.2:
            db.execute(f"pragma wal_checkpoint({r.choice(('passive', 'restart', 'truncate'))})")
        if r.random() < 0.15:
            db.execute(r.choice(("vacuum", "pragma incremental_vacuum(40)")))
    if r.random() < 0.4:
        db.execute("begin")
        for _ in range(3):
            change(db, r)
    store = os.path.join(folder, "in", "Shop.sqlite")
    os.makedirs(os.path.dirname(store))
    for suffix in SUFFIXES if r.random() < 0.3 else SUFFIXES[:2]:
        if os.path.exists(live + suffix):
            shutil.copy(live + suffix, store + suffix)
    db.close()
    return store


def harm(store, fault, r):
    log = store + "-wal"
    size = os.path.getsize(log) if os.path.exists(log) else 0
    if size == 0 or fault is None:
        return
    if fault == "other header":
        with open(store, "r+b") as file:
            file.seek(18)
            file.write(b"\1\1")
        return
    with open(log, "r+b") as file:
        if fault == "cut":
            file.truncate(r.randrange(size))
        elif fault == "tail":
            file.seek(0, os.SEEK_END)
            file.write(r.randbytes(r.randrange(1, 20_000)))
        else:
            place = {"header": r.randrange(32), "salts": 16 + r.randrange(8),
                     "flip": r.randrange(32, max(33, size))}[fault]
            file.seek(place)
            byte = file.read(1) or b"\0"
            file.seek(place)
            file.write(bytes([byte[0] ^ 1 << r.randrange(8)]))


def fold(store, folder):
    """What SQLite makes of the files, in a file of its own; nil where it opens no such store."""
    folded = os.path.join(folder, "folded", "Shop.sqlite")
    os.makedirs(os.path.dirname(folded))
    for suffix in SUFFIXES[:2]:
        if os.path.exists(store + suffix):
            shutil.copy(store + suffix, folded + suffix)
    db = sqlite3.connect(folded, isolation_level=None)
    try:
        busy = db.execute("pragma wal_checkpoint(truncate)").fetchone()
        db.execute("pragma journal_mode = wal")
        if busy[0] == 1:
            raise Failure(f"SQLite cannot fold the log: {busy}")
    except sqlite3.DatabaseError:
        return None
    finally:
        db.close()
    return folded


def inspected(lab, store):
    """What is told of a store; a log that ends early may leave none that is sound."""
    done = lab.tool.call("inspect", store, "--json")
    if done.returncode:
        named = os.path.basename(store) in done.stderr and "source.pages" not in done.stderr
        return done.returncode, "" if named else done.stderr
    out = json.loads(done.stdout)
    for key in ("wal", "lacksLog", "path", "store", "bytes", "journalMode"):
        out.pop(key, None)
    return out


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(lab, seed, folder):
    r = random.Random(seed)
    store = make(lab, r, folder)
    fault = r.choice(FAULTS)
    harm(store, fault, r)
    folded = fold(store, folder)
    if folded is None:
        lab.seen["refused"] += 1
        done = lab.tool.call("inspect", store)
        return [] if done.returncode else ["a store that SQLite does not open is read"]
    size = os.path.getsize(store + "-wal") if os.path.exists(store + "-wal") else 0
    before = digest(store) == digest(folded)
    lab.seen["nothing" if before else "written"] += 1
    return [f"{fault or 'no fault'}, log of {size} bytes: {line}"
            for line in compare(lab, r, store, folded, folder)]


def compare(lab, r, store, folded, folder):
    """Where the store with its log is not seen as the folded one."""
    out = []
    files = fingerprint(os.path.dirname(store))
    if inspected(lab, store) != inspected(lab, folded):
        out.append("inspect tells another store")
    for command in ("plan", "check"):
        ends = [lab.tool.call(command, s, "--to", MODEL).returncode for s in (store, folded)]
        if ends[0] != ends[1]:
            out.append(f"{command} ends with {ends[0]}, and with {ends[1]} for the folded store")
    engine = r.choice(("sql", "pages", "objects"))
    words = ["--to", MODEL, "--engine", engine, "--workers", r.randint(1, 3)]
    words += ["--mapping", lab.mapping] if engine == "objects" else \
        r.choice(([], ["--check-source", "full"], ["--verify", "full"],
                  ["--progressive", "--stepwise"]))
    results = []
    for name, source in (("of-log", store), ("of-folded", folded)):
        result = os.path.join(folder, name, "New.sqlite")
        os.makedirs(os.path.dirname(result))
        done = lab.tool.call("migrate", source, "--output", result, *words)
        results.append((done.returncode, digest(vacuumed(result)) if not done.returncode else
                        done.stderr.replace(os.path.dirname(source), "")))
    if results[0] != results[1]:
        out.append(f"{engine}: {results[0]}, and of the folded store {results[1]}")
    unchanged(files, os.path.dirname(store))
    if results[0][0]:
        return out
    if r.random() < 0.5 or engine == "objects":
        new = os.path.join(folder, "of-log", "New.sqlite")
        report = lab.tool.call("verify", store, new, "--to", MODEL,
                               *(["--mapping", lab.mapping] if engine == "objects" else
                                 ["--progressive"] if "--progressive" in words else []))
        if report.returncode:
            out.append(f"verify: {report.stdout[-300:]}{report.stderr[-300:]}")
    unchanged(files, os.path.dirname(store))
    return out + in_place(lab, store, folded, words, results[0][1])


def in_place(lab, store, folded, words, expected):
    """The store is replaced, and the old one kept with what its log had."""
    lab.tool.run("migrate", store, *words)
    folder = os.path.dirname(store)
    out = [] if digest(vacuumed(store)) == expected else ["in place is another result"]
    kept = [n for n in os.listdir(folder) if ".before-" in n and not n.startswith(".")]
    if len(kept) != 1:
        return out + [f"kept is {kept}"]
    if digest(vacuumed(os.path.join(folder, kept[0]))) != digest(vacuumed(folded)):
        out.append("the old store is kept without what its log had")
    if any(n.endswith(("-wal", ".godwit")) for n in os.listdir(folder)):
        out.append(f"left behind: {os.listdir(folder)}")
    return out


def planted(lab, folder):
    """A store that is read without its log, and one of another commit, are found."""
    r = random.Random(1)
    store = make(lab, r, folder)
    while not os.path.exists(store + "-wal") or os.path.getsize(store + "-wal") < 10_000 or \
            digest(store) == digest(fold(store, os.path.join(folder, f"f{r.random()}"))):
        shutil.rmtree(os.path.dirname(store))
        for suffix in SUFFIXES:
            if os.path.exists(os.path.join(folder, "live.sqlite") + suffix):
                os.remove(os.path.join(folder, "live.sqlite") + suffix)
        store = make(lab, r, folder)
    folded = fold(store, os.path.join(folder, "planted"))
    db = sqlite3.connect(folded)
    db.execute("update zshelf set zlabel = 'planted' where z_pk = 1")
    db.commit()
    db.close()
    return [] if compare(lab, r, store, folded, folder) else ["a change in one row is not seen"]


def both(lab):
    return [] if lab.seen["written"] and lab.seen["nothing"] else [f"all alike: {lab.seen}"]


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-24", help="such as 7 or 1-24")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        lab = Lab(Tool(options.godwit), folder)
        cases = [("planted", lambda f: planted(lab, f))]
        cases += [(f"seed {seed}", lambda f, seed=seed: check(lab, seed, f))
                  for seed in seeds(options.seeds)]
        run_cases(options, cases, "random logs")
        if found := both(lab):
            raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
