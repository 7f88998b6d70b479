#!/usr/bin/env python3
"""Migrates stores that an app goes on using: it writes, checkpoints, closes, replaces, truncates
and locks at random moments of migrations in place and with an output, by every engine.

Every transaction of the app touches every row of the store and an external file, so that two states
in one result show. A migration has to end with a result of one state that the app has committed, or
with a refusal; in place no commit of the app may be lost.

usage: living.py --godwit P [--corpus D] [--seeds 1-27] [--rows N] [--scratch S]
"""
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from living_app import Store, commit, make_stateful, state_of
from run import Failure, Tool, parser, run_cases, said, seeds

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.abspath(os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld"))
ENGINES = ("sql", "pages", "objects")
SCENES = ("writer", "visitor", "replacer", "rewriter", "truncator", "locker", "idler", "crasher",
          "opener")
# Damaged or changed, not found, in use, a file of that name.
REFUSALS = (65, 66, 69, 73)
DAMAGED, IN_USE = 65, 69
LONGEST = 60


class Lab:
    """A whole store at state 0, and about how long its migration takes."""

    def __init__(self, tool, folder, rows):
        self.tool, self.folder = tool, os.path.join(folder, "whole")
        os.makedirs(self.folder)
        self.store = os.path.join(self.folder, "Shop.sqlite")
        tool.run("generate", MODEL, "--version", "Library 1", "--rows", rows, "--seed", 5,
                 "--output", self.store)
        make_stateful(Store(self.store))
        # Objects are made one by one only where a mapping model says how.
        self.mapping = os.path.join(folder, "Mapping.json")
        tool.run("map", "--from", self.store, "--to", MODEL, "--output", self.mapping)
        began = time.monotonic()
        tool.run("migrate", self.store, "--to", MODEL, "--output",
                 os.path.join(folder, "Expected.sqlite"))
        self.seconds = time.monotonic() - began
        self.outcomes = collections.Counter()

    def copy(self, folder):
        shutil.copytree(self.folder, folder)
        return Store(os.path.join(folder, "Shop.sqlite"))


def prepare(lab, chance, folder):
    """A store in a random journal mode, and another whole one of a later state to replace it."""
    store = lab.copy(os.path.join(folder, "in"))
    mode = chance.choice(("wal", "wal", "wal", "delete", "truncate", "persist"))
    db = store.connect()
    db.execute(f"pragma journal_mode = {mode}")
    commit(db, store)
    db.close()
    if chance.random() < 0.5:
        # What a store looks like that was written long ago.
        past = time.time() - 1000
        os.utime(store.path, (past, past))
    spare = lab.copy(os.path.join(folder, "spare"))
    db = spare.connect()
    for _ in range(100, 103):
        commit(db, spare, 100)
    db.close()
    return store, mode, spare


def command(lab, chance, store, folder):
    engine = chance.choice(ENGINES)
    words = ["migrate", store.path, "--to", MODEL, "--workers", chance.randint(1, 3), "--engine",
             engine]
    words += ["--mapping", lab.mapping] if engine == "objects" else \
        chance.choice(([], [], ["--progressive", "--stepwise"]))
    output = None
    if chance.random() < 0.5:
        output = os.path.join(folder, "out", "New.sqlite")
        os.makedirs(os.path.dirname(output))
        words += ["--output", output]
    return words, output


def check(lab, seed, folder):
    chance = random.Random(seed)
    scene = SCENES[seed % len(SCENES)]
    store, mode, spare = prepare(lab, chance, folder)
    words, output = command(lab, chance, store, folder)
    app = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "living_app.py"), json.dumps({
            "scene": scene, "store": store.path, "spare": spare.path, "seed": seed, "mode": mode,
            "seconds": lab.seconds})],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # The app says when it has done what it does beforehand.
    log = [app.stdout.readline().split()]
    process = lab.tool.start(*words)
    try:
        status = process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        status = None
    log += [line.split() for line in end(app).splitlines()]
    text = said(process)
    found = judge(status, text, store, output, log)
    lab.outcomes["result" if status == 0 else "refusal"] += 1
    if status == IN_USE and not found and (left := leftovers(store, output)):
        found = judge_again(lab, words, store, output, log, left)
    what = f"{scene}, {mode}, {' '.join(map(str, words[4:]))}, status {status}"
    return [f"{what}: {line}" for line in found]


def end(app):
    """Ends the app and gives what it has said since its first line: communicate() would lose what
    was read along with that."""
    killer = threading.Timer(LONGEST, app.kill)
    killer.start()
    with contextlib.suppress(BrokenPipeError):
        app.stdin.write("end\n")
        app.stdin.flush()
    rest = app.stdout.read()
    killer.cancel()
    if app.wait() == -signal.SIGKILL:
        raise Failure(f"the app did not end within {LONGEST} s")
    return rest


def judge(status, text, store, output, log):
    """What is wrong with the end of a migration beside an app that did what its log says."""
    commits = [int(words[1]) for words in log if words[:1] == ["commit"]]
    meddled = any(words[:1] == ["meddle"] for words in log)
    if status is None:
        return [f"still running after {LONGEST} s"]
    if status == 0:
        return judge_result(store, output, commits, meddled)
    out = [] if status in REFUSALS else [f"ended with {status}: {text[-400:]}"]
    if "Fatal error" in text or not text.strip():
        out.append(f"said {text[-400:]!r}")
    # What is done before a store is found in use is kept for the run that goes on.
    if status != IN_USE or output or not os.path.isdir(f"{store.path}.godwit"):
        out += [f"left behind: {name}" for name in leftovers(store, output)]
    if not meddled:
        out += [f"the source: {line}" for line in wrong_with(store, commits[-1:], isNew=False)]
    return out


def leftovers(store, output):
    return [os.path.join(where, n)
            for folder in {os.path.dirname(store.path), os.path.dirname(output or store.path)}
            for where, folders, files in os.walk(folder) for n in folders + files
            if ".godwit" in n or n.startswith("New")]


def judge_again(lab, words, store, output, log, left):
    """What is wrong with the next run, now that the app has ended: it goes on with what was kept,
    or says that the store has changed and begins anew when it is told to."""
    process = lab.tool.start(*words)
    status = process.wait(LONGEST)
    text = said(process)
    if status != 0 and "--restart" in text:
        process = lab.tool.start(*words, "--restart")
        status = process.wait(LONGEST)
        text = said(process)
    if status != 0:
        # A store that was cut short meanwhile is refused for good, and the work stays.
        meddled = any(words[:1] == ["meddle"] for words in log)
        return [] if meddled and status == DAMAGED else \
            [f"ended again, with {status}, beside {left}: {text[-400:]}"]
    return judge(status, text, store, output, log) + [
        f"left behind by the next run: {name}" for name in leftovers(store, output)
        if not "before" in name and "godwit-kept" not in name]


def judge_result(store, output, commits, meddled):
    result = Store(output) if output else store
    try:
        if not output and meddled and not result.is_new():
            # The app has put another file in the place of the new store; that one is its own.
            return []
    except sqlite3.Error as error:
        return [f"cannot be read: {error}"]
    # Beside an output the app goes on, so any state that it has committed will do.
    allowed = commits if output or meddled else commits[-1:]
    return wrong_with(result, allowed + ([102] if meddled else []), isNew=True)


def wrong_with(store, allowed, isNew):
    try:
        if store.is_new() != isNew:
            return [f"{'not ' if isNew else ''}migrated"]
        state, problems = state_of(store)
    except (sqlite3.Error, OSError) as error:
        return [f"cannot be read: {error}"]
    if state is not None and state not in allowed:
        problems.append(f"has state {state}, committed were {allowed}")
    return problems


def planted(lab, folder):
    """The judge finds mixtures of every kind, losses and leftovers that are planted."""
    out = []
    result = os.path.join(folder, "Sound.sqlite")
    lab.tool.run("migrate", lab.store, "--to", MODEL, "--output", result)
    log = [["commit", "0"], ["commit", "1"]]
    if found := judge(0, "", Store(lab.store), result, log[:1]):
        return [f"a sound result is judged: {found}"]
    for name, wrong in {
        "a row of another state": "update zreader set zemail = 's1' where z_pk = 2",
        "a table of another state": "update zauthor set zname = 's1'",
        "a row of the next state": "insert into zshelf (z_ent, z_opt, zlabel) values (6, 1, 's0')",
        "a lost row": "delete from zloan where z_pk = 3",
        "the name of no file": "update zitem set zcover = "
                               "cast(x'02' || zeroblob(36) || x'00' as blob) where z_pk = 1",
        "all of another state": "update zitem set zisbn = 's9'; update zreader set zemail = 's9';"
                                "update zauthor set zname = 's9'; update zshelf set zlabel = 's9';"
                                "update zloan set zreturnedon = 9",
    }.items():
        copy = os.path.join(folder, name.replace(" ", ""), "New.sqlite")
        shutil.copytree(Store(result).files, Store(copy).files)
        shutil.copy(result, copy)
        if found := judge(0, "", Store(lab.store), copy, log[:1]):
            return out + [f"{name}: the copy is judged: {found}"]
        db = sqlite3.connect(copy)
        db.executescript(wrong)
        db.close()
        if not judge(0, "", Store(lab.store), copy, log[:1]):
            out.append(f"{name} in a result is not seen")
        if not judge(69, "In use.", Store(lab.store), copy, log[:1]):
            out.append("what a refusal leaves behind is not seen")
    if not judge(0, "", Store(result), None, log):
        out.append("a commit that was lost is not seen")
    if not judge(70, "Fault.", Store(lab.store), None, log[:1]):
        out.append("a fault is taken for a refusal")
    if not judge(None, "", Store(lab.store), None, log[:1]):
        out.append("a hang is not seen")
    return out


def both(lab):
    return [] if lab.outcomes["result"] and lab.outcomes["refusal"] else \
        [f"nothing to tell apart: {dict(lab.outcomes)}"]


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-27", help="such as 7 or 1-24")
    p.add_argument("--rows", type=int, default=6000)
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        lab = Lab(Tool(options.godwit), folder, options.rows)
        cases = [("planted", lambda f: planted(lab, f))]
        cases += [(f"seed {seed}", lambda f, seed=seed: check(lab, seed, f))
                  for seed in seeds(options.seeds)]
        run_cases(options, cases, "migrations of living stores")


if __name__ == "__main__":
    main()
