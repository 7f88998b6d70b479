#!/usr/bin/env python3
"""Has an app open a store at any call by which a migration in place, a rollback or a fleet changes
files: it opens the file, waits for the lock and then commits a change of a row.

A commit is never lost: it is in the store that has the name, or the store was rolled back and kept
with it. Every store that is there is sound, no log of another one is next to it, and the next run
succeeds.

usage: visits.py --godwit P [--sample N] [--only TEXT] [--scratch S]
"""
import os
import random
import re
import shlex
import shutil
import sqlite3
import sys
import tempfile
import time

from failing_calls import Calls, logged
from run import Tool, parser, run_cases
from store import uri_path

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
IN_USE, CHANGED, WRITTEN = 69, 74, 73
# How long the app waits for the lock, and how long it is waited for.
PATIENCE, LONGEST = 3, 20
WAYS = ("in place", "discarding", "without second names", "discarding, without second names",
        "in a fleet", "edited", "rollback", "rollback, without second names",
        "rollback of an edit")
MODES = ("wal", "delete")


def connect(path, timeout=5.0):
    return sqlite3.connect(f"file:{uri_path(path)}?mode=rw", uri=True, timeout=timeout,
                           isolation_level=None)


def visit(store, log):
    """Opens a store and returns; a process that goes on commits, and writes down what it did."""
    opened, tell = os.pipe()
    if os.fork():
        os.close(tell)
        os.read(opened, 1)
        return
    os.setsid()
    db = connect(store, timeout=PATIENCE)
    os.write(tell, b"1")
    os.close(tell)
    try:
        db.execute("begin immediate")
        db.execute("update zshelf set zlabel = 'visited'")
        db.execute("commit")
        done = "commit"
    except sqlite3.Error as error:
        done = f"failed: {error}"
    db.close()
    with open(log + ".part", "w") as file:
        file.write(done)
    os.rename(log + ".part", log)


class Lab:
    def __init__(self, tool, calls, folder, rows):
        self.tool, self.calls, self.wholes = tool, calls, {}
        for mode in MODES:
            whole = self.wholes[mode] = os.path.join(folder, mode)
            os.mkdir(whole)
            store = os.path.join(whole, "Shop.sqlite")
            tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", rows, "--seed", 3,
                     "--output", store)
            db = connect(store)
            db.execute(f"pragma journal_mode = {mode}")
            db.close()

    def prepare(self, way, mode, folder):
        """A store, and the command that is visited."""
        place = os.path.join(folder, "shop")
        shutil.copytree(self.wholes[mode], place)
        store = os.path.join(place, "Shop.sqlite")
        migrate = ["migrate", store, "--to", LIBRARY, "--workers", 1]
        if way == "in a fleet":
            # A store with external files is not swapped at once.
            shutil.rmtree(os.path.join(place, ".Shop_SUPPORT"))
            db = connect(store)
            db.execute("update zbook set zcover = null")
            db.close()
            fleet = os.path.join(folder, "F")
            self.tool.run("fleet", "create", fleet, place, "--to", LIBRARY)
            return store, ["fleet", "run", fleet]
        if "edit" in way:
            migrate += ["--engine", "edit"]
        if way.startswith("rollback"):
            self.tool.run(*migrate)
            db = connect(store)
            db.execute(f"pragma journal_mode = {mode}")
            db.close()
            return store, ["rollback", store]
        if way.startswith("discarding"):
            migrate += ["--discard-old", "--allow-loss=Shelf.books"]
        return store, migrate

    def calls_of(self, way, mode, folder):
        store, command = self.prepare(way, mode, folder)
        log = os.path.join(folder, "log")
        self.tool.run(*command, environment=self.calls.environment(
            os.path.dirname(store), log=log, without=without(way)))
        return logged(log)


def without(way):
    return "flags and links" if "without" in way else None


def stores(place):
    """The stores in a folder by name; the one that apps open has the name `Shop.sqlite`."""
    return {n: os.path.join(place, n) for n in sorted(os.listdir(place))
            if re.fullmatch(r"Shop\.sqlite(\.(before|after)-[0-9][-0-9.]+)?", n)}


class Found:
    """What a store is."""

    def __init__(self, path):
        db = connect(path)
        try:
            self.fault = db.execute("pragma integrity_check(1)").fetchone()[0]
            self.is_new = bool(db.execute(
                "select count(*) from sqlite_master where name = 'ZITEM'").fetchone()[0])
            labels = {v for v, in db.execute("select distinct zlabel from zshelf")}
            self.is_visited = labels == {"visited"}
        finally:
            db.close()


def judge(store, way, status, said):
    """What is wrong with the stores after a run in which the app said something."""
    place, out = os.path.dirname(store), []
    out += [f"left beside: {n}" for n in os.listdir(place) if re.search("-(wal|shm|journal)$", n)]
    found = {}
    for name, path in stores(place).items():
        try:
            found[name] = Found(path)
        except sqlite3.Error as error:
            out.append(f"{name} cannot be read: {error}")
            continue
        if found[name].fault != "ok":
            out.append(f"{name} is damaged: {found[name].fault}")
    if out:
        return out
    own = found["Shop.sqlite"]
    goesBack = way.startswith("rollback")
    if own.is_new != ((status == 0) != goesBack):
        out.append(f"status {status}, and the store is {'new' if own.is_new else 'old'}")
    holders = [n for n, f in found.items() if f.is_visited]
    if said == "commit" and not (holders if goesBack else own.is_visited):
        out.append(f"status {status}, and the commit is lost; it is in {holders}")
    if said != "commit" and holders:
        out.append(f"{said}, and the change is in {holders}")
    return out


def check(lab, way, mode, number, folder):
    store, command = lab.prepare(way, mode, folder)
    log = os.path.join(folder, "visit")
    words = [sys.executable, os.path.abspath(__file__), "visit", store, log]
    environment = lab.calls.environment(
        os.path.dirname(store), at=number, do="visit", without=without(way),
        visit="env -u LD_PRELOAD " + shlex.join(words) + " >/dev/null 2>&1")
    done = lab.tool.call(*command, environment=environment)
    if not lab.calls.counted(environment)[1]:
        return ["the call was not reached"]
    end = time.monotonic() + LONGEST
    while not os.path.exists(log):
        if time.monotonic() > end:
            return [f"the app does not end; status {done.returncode}"]
        time.sleep(0.01)
    with open(log) as file:
        said = file.read()
    status = done.returncode
    # Nothing undoes an edit that a commit has followed.
    refused = WRITTEN if way == "rollback of an edit" and said == "commit" else None
    if status == refused:
        return judge(store, way, status, said)
    out = [] if status in (0, IN_USE, CHANGED) else [f"exit {status}: {done.stderr.strip()[-300:]}"]
    if status == IN_USE and "in use" not in done.stderr and " open" not in done.stderr:
        out.append(f"says {done.stderr.strip()[-300:]!r}")
    out += judge(store, way, status, said)
    if status and not out:
        again = lab.tool.call(*command)
        if again.returncode and "fleet" in command:
            again = lab.tool.call("fleet", "retry", *command[2:])
        elif again.returncode and "--restart" in again.stderr:
            again = lab.tool.call(*command, "--restart")
        if again.returncode == refused:
            return judge(store, way, again.returncode, said)
        if again.returncode:
            return [f"the next run: exit {again.returncode}: {again.stderr.strip()[-300:]}"]
        out += [f"after the next run: {line}" for line in judge(store, way, 0, said)]
    return out


def the_judge(lab, folder):
    """The judge finds what it is there to find."""
    store, command = lab.prepare("in place", "wal", folder)
    lab.tool.run(*command)
    out = judge(store, "in place", 0, "failed")
    if not judge(store, "in place", 0, "commit"):
        out.append("the judge does not find a lost commit")
    if not judge(store, "in place", IN_USE, "failed"):
        out.append("the judge takes a new store for an old one")
    before = stores(os.path.dirname(store)).popitem()[1]
    db = connect(before)
    db.execute("update zshelf set zlabel = 'visited'")
    db.close()
    if not judge(store, "in place", 0, "commit") or not judge(store, "in place", 0, "failed"):
        out.append("the judge does not find a commit in the wrong store")
    with open(store, "r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\x0a" * 4096)
    if not judge(store, "in place", 0, "failed"):
        out.append("the judge does not find a damaged page")
    return out


def cases_of(lab, way, mode, sample):
    """The calls of the handover, and some of all others that do not write pages."""
    with tempfile.TemporaryDirectory(dir=lab.calls.folder) as folder:
        calls = [c for c in lab.calls_of(way, mode, folder) if c[2] not in ("pwrite", "writev")]
    last = max(i for i, c in enumerate(calls) if c[2].startswith(("rename", "link"))
               and os.path.basename(c[3]).startswith("Shop.sqlite") and not c[3].endswith("json"))
    chance = random.Random(f"{way} {mode} {len(calls)}")
    near = range(max(0, last - 8), last + 1)
    others = [i for i in range(len(calls)) if i not in near]
    few = [*near, *(chance.sample(others, min(sample, len(others))) if sample else others)]
    return [(calls[i][0], f"{calls[i][2]} {os.path.basename(calls[i][3])}") for i in sorted(few)]


def main():
    if sys.argv[1:2] == ["visit"]:
        return visit(*sys.argv[2:])
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--sample", type=int, default=3,
                   help="calls other than those of the handover; 0 for all")
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        calls = Calls(folder)
        lab = Lab(Tool(options.godwit, timeout=120), calls, folder, 400)
        cases = [("the judge", lambda f: the_judge(lab, f))]
        for way in WAYS:
            for mode in MODES:
                cases += [(f"{way}, {mode}, at call {number} ({what})",
                           lambda f, w=way, m=mode, n=number: check(lab, w, m, n, f))
                          for number, what in cases_of(lab, way, mode, options.sample)]
        run_cases(options, [c for c in cases if options.only in c[0]], "visits")


if __name__ == "__main__":
    main()
