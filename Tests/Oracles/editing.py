#!/usr/bin/env python3
"""Edits stores in place (`--engine edit`): what an edit makes is what SQL makes of a copy, by table
and column, sound, and judged by `verify`; `rollback` gives each step back to the byte, one after
the other. Random models and steps, wear of every kind, logs, history. Where the corpus has
compare-stores.py beside it, that tool finds no difference either to what SQL and pages make. One
store is taken through many steps in a row, each of which is taken back to the byte and done again.
Half of the models have derived attributes.

Then an edit, and its rollback, is killed, fails or has no room at any call by which files are
changed, and whoever opens the store next is SQLite alone: it finds the old store or the new one,
whole; the next run ends as an unharmed one. And what a power cut leaves, which drops or tears what
was not synced, is the old store or the new one as well (`recorded_calls.c`).

usage: editing.py --godwit P [--seeds 1-10] [--steps N] [--large N] [--sample N] [--cuts N]
                  [--corpus C] [--only TEXT] [--scratch S]
"""
import os
import random
import shutil
import sqlite3
import tempfile

from edit_steps import COUNT, check_row, check_steps, contents, settle
from failing_calls import Calls, logged
from power_cuts import Recorder
from run import Failure, Tool, parser, run_cases, seeds
from swap_faults import DEEDS, LIBRARY, ROWS, digest, external_names, judge_ending, support

REFUSED, MISSING = 73, 66


# Harmed calls


class EditLab:
    """A store with external files in a journal mode, and what an edit makes of it."""

    def __init__(self, tool, folder, calls, way):
        self.tool, self.calls, self.way = tool, calls, way
        self.whole = os.path.join(folder, way.replace(" ", "-"))
        os.mkdir(self.whole)
        store = os.path.join(self.whole, "Shop.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--seed", 3,
                 "--output", store)
        if way == "with a log":
            leave_log(store)
        with tempfile.TemporaryDirectory(dir=folder) as other:
            made = self.copy(other)
            settle(made)
            self.bytes = digest(made)
            tool.run(*self.command(made))
            self.states = {self.content(self.whole)[0]: "old",
                           self.content(os.path.dirname(made))[0]: "new"}
        if len(self.states) != 2:
            raise SystemExit("an edit changes nothing, so nothing would be tried")

    def copy(self, folder):
        place = os.path.join(folder, "shop")
        shutil.copytree(self.whole, place)
        return os.path.join(place, "Shop.sqlite")

    def command(self, store):
        more = ("--discard-old", "--allow-loss=Shelf.books") if self.way == "discarding" else ()
        return ["migrate", store, "--to", LIBRARY, "--engine", "edit", *more]

    def content(self, place):
        """What SQLite alone finds: it has the journal and the log of a copy to go by."""
        with tempfile.TemporaryDirectory(dir=self.calls.folder) as folder:
            path = os.path.join(folder, "S.sqlite")
            for suffix in ("", "-wal", "-journal"):
                own = os.path.join(place, "Shop.sqlite" + suffix)
                if os.path.exists(own):
                    shutil.copyfile(own, path + suffix)
            settle(path)
            return str(contents(path)), digest(path), external_names(path)

    def state(self, place):
        """old or new, or what is wrong with a store and its external files."""
        try:
            text, settled, names = self.content(place)
            found = self.states.get(text, "another store")
            store = os.path.join(place, "Shop.sqlite")
            if found == "old" and settled != self.bytes:
                return "old, with other bytes"
            for name in names:
                if not os.path.isfile(os.path.join(support(store), name)):
                    return f"{found}, without its external file {name}"
            return found
        except (Failure, sqlite3.Error, OSError) as error:
            return f"is broken: {error}"


def leave_log(store):
    """Has a log beside a store, as an app leaves one that is killed."""
    db = sqlite3.connect(store, isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma wal_autocheckpoint = 0")
    table = db.execute("select name from sqlite_master where name like 'Z%' and type = 'table' "
                       "and sql like '%Z_OPT%'").fetchone()[0]
    db.execute(f"update {table} set Z_OPT = Z_OPT + 1")
    shutil.copyfile(store, store + ".kept")
    shutil.copyfile(store + "-wal", store + "-wal.kept")
    db.close()
    os.replace(store + ".kept", store)
    os.replace(store + "-wal.kept", store + "-wal")


def undos(place):
    return [n for n in os.listdir(place) if n.endswith(".undo")]


def run_harmed(lab, number, do, store, words, wanted):
    """A command of which one call is harmed: its status, the store, and what is wrong with both."""
    place = os.path.dirname(store)
    environment = lab.calls.environment(place, at=number, do=do)
    done = lab.tool.call(*words, environment=environment)
    harmed = lab.calls.counted(environment)[1]
    out = judge_ending(done.returncode, done.stderr, do) if harmed else []
    found = lab.state(place)
    if found not in ("old", "new"):
        out.append(f"the store: {found}")
    if done.returncode == 0 and found != wanted:
        out.append(f"status 0, and the store: {found}")
    return done, found, out


def check_call(lab, number, do, folder):
    store = lab.copy(folder)
    place = os.path.dirname(store)
    done, found, out = run_harmed(lab, number, do, store, lab.command(store), "new")
    if done.returncode > 0 and found == "new":
        out.append(f"status {done.returncode} with the new store")
    is_opened = do == "kill" and number % 2
    if is_opened:
        # An app opens the store before anybody thinks of Godwit.
        settle(store)
        if lab.state(place) != found:
            out.append("SQLite finds another store the second time")
    again = lab.tool.call(*lab.command(store))
    if again.returncode == REFUSED and is_opened and lab.way == "with a log":
        # SQLite has brought the log into the store, which is not the one that was surveyed.
        again = lab.tool.call(*lab.command(store), "--restart")
    if again.returncode:
        return out + [f"the next run: exit {again.returncode}: {again.stderr.strip()[-300:]}"]
    if lab.state(place) != "new":
        out.append(f"in the end the store: {lab.state(place)}")
    keeps = lab.way != "discarding"
    if len(undos(place)) != keeps:
        out.append(f"in the end there is {undos(place)}")
    if keeps and not out:
        out += rolled_back(lab, store)
    return out + left_over(place)


def rolled_back(lab, store):
    done = lab.tool.call("rollback", store)
    if done.returncode:
        return [f"rollback: exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    found = lab.state(os.path.dirname(store))
    return [] if found == "old" else [f"after rollback the store: {found}"]


def left_over(place):
    odd = set(os.listdir(place)) - {"Shop.sqlite", ".Shop_SUPPORT"}
    # SQLite does not report that an empty log could not be removed, and needs it no more.
    log = os.path.join(place, "Shop.sqlite-wal")
    if os.path.exists(log) and not os.path.getsize(log):
        odd.remove("Shop.sqlite-wal")
    return [f"left over: {n}" for n in sorted(odd)]


def check_back(lab, number, do, folder):
    """A rollback of which one call is harmed, and which is then repeated."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    lab.tool.run(*lab.command(store))
    _, found, out = run_harmed(lab, number, do, store, ("rollback", store), "old")
    if found == "new" and not undos(place):
        out.append("the store is the new one, and nothing undoes it")
    again = lab.tool.call("rollback", store)
    if again.returncode not in ((0,) if found == "new" else (0, 66)):
        out.append(f"the next rollback: exit {again.returncode}: {again.stderr.strip()[-300:]}")
    lab.tool.run("discard", store)
    if lab.state(place) != "old":
        out.append(f"in the end the store: {lab.state(place)}")
    return out + left_over(place)


def check_writers(lab, folder):
    """A rollback after an app has written is refused, and finish lets the way back go."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    lab.tool.run(*lab.command(store))
    db = sqlite3.connect(store)
    db.execute("update Z_METADATA set Z_UUID = 'other'")
    db.commit()
    db.close()
    before = digest(store)
    out = []
    if lab.tool.call("rollback", store).returncode != REFUSED or digest(store) != before:
        out.append("a store that was written to is put back")
    lab.tool.run("finish", store)
    return out + left_over(place)


def check_moved(lab, folder):
    """A way back that was renamed, moved or lost is named, and serves again once it is back."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    lab.tool.run(*lab.command(store))
    undo = os.path.join(place, undos(place)[0])
    renamed, moved = os.path.join(place, "mine"), os.path.join(folder, "mine")
    before, out = digest(store), []

    def refused(what, *words):
        done = lab.tool.call("rollback", store)
        if done.returncode != MISSING or not all(w in done.stderr for w in words):
            out.append(f"{what}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        if digest(store) != before:
            out.append(f"{what}: the store is changed")
    os.rename(undo, renamed)
    refused("renamed", undo, renamed)
    os.rename(renamed, moved)
    refused("moved", undo, "is missing")
    os.rename(moved, undo)
    os.rename(store + ".godwit-kept.json", moved)
    refused("without the list", undo, store + ".godwit-kept.json")
    os.rename(moved, store + ".godwit-kept.json")
    return out + rolled_back(lab, store) + left_over(place)


# Commits after a kill

NOTES = """<?xml version="1.0"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
<entity name="Note"><attribute name="title" attributeType="String" optional="YES"/>%s</entity>
<entity name="Tag"><attribute name="word" attributeType="String" optional="YES"/></entity>
<entity name="Pen"><attribute name="word" attributeType="String" optional="YES"/></entity>
</model>"""
COVER = ('<attribute name="cover" attributeType="Binary" optional="YES" '
         'allowsExternalBinaryDataStorage="YES"/>')


def change_counter(store):
    """The number that each commit raises (SQLite's file format, section 1.3.9)."""
    with open(store, "rb") as file:
        return int.from_bytes(file.read(28)[24:], "big")


def check_commits(tool, calls, folder):
    """An edit without an undo file is killed where it ends, and SQLite restores the store. Commits
    of an app give it the change counter of the edited store. `discard` removes no external file
    that it names, and removes those of an edit that has ended."""
    for name, attribute in (("Old", COVER), ("New", "")):
        os.mkdir(os.path.join(folder, name + ".xcdatamodel"))
        with open(os.path.join(folder, name + ".xcdatamodel", "contents"), "w",
                  encoding="utf-8") as file:
            file.write(NOTES % attribute)
    whole, out = os.path.join(folder, "whole"), []
    os.mkdir(whole)
    tool.run("generate", os.path.join(folder, "Old.xcdatamodel"), "--rows", 3000, "--journal-mode",
             "delete", "--output", os.path.join(whole, "Shop.sqlite"))

    def edit(place, environment):
        shutil.copytree(whole, place)
        store = os.path.join(place, "Shop.sqlite")
        tool.call("migrate", store, "--to", os.path.join(folder, "New.xcdatamodel"), "--engine",
                  "edit", "--discard-old", "--allow-loss", environment=environment)
        return store
    made, log = os.path.join(folder, "made"), os.path.join(folder, "log")
    counter = change_counter(edit(made, calls.environment(made, log=log)))
    end = max(number for number, _, call, path in logged(log)
              if call.startswith("unlink") and path.endswith("-journal"))
    for number, ends in ((end, False), (end + 1, True)):
        place = os.path.join(folder, f"killed at {number}")
        store = edit(place, calls.environment(place, at=number, do="kill"))
        settle(store)
        names, files = external_names(store), len(os.listdir(support(store)))
        if bool(names) == ends or not files:
            out.append(f"killed at call {number}: {len(names)} names of {files} files")
        with sqlite3.connect(store, isolation_level=None) as db:
            for value in range(counter - change_counter(store)):
                db.execute(f"pragma user_version = {value + 1}")
        db.close()
        if change_counter(store) != counter:
            out.append(f"killed at call {number}: the change counter is another one")
        tool.run("discard", store)
        left = os.listdir(support(store)) if os.path.isdir(support(store)) else []
        if sorted(left) != sorted(names):
            out.append(f"killed at call {number}: {len(left)} of {len(names)} external files")
    return out


def calls_of(lab, back):
    """How many calls an edit or a rollback makes."""
    with tempfile.TemporaryDirectory(dir=lab.calls.folder) as folder:
        store = lab.copy(folder)
        if back:
            lab.tool.run(*lab.command(store))
        environment = lab.calls.environment(os.path.dirname(store))
        lab.tool.run(*(("rollback", store) if back else lab.command(store)),
                     environment=environment)
        return lab.calls.counted(environment)[0]


def harmed(lab, sample):
    cases = []
    for back in (False, True) if lab.way != "discarding" else (False,):
        every = [(n, d) for n in range(1, calls_of(lab, back) + 1) for d in DEEDS]
        few = random.Random(len(every)).sample(every, min(sample, len(every))) if sample else every
        what, judge = ("rollback", check_back) if back else ("edit", check_call)
        cases += [(f"{lab.way}: {what}: {d} at call {n}",
                   lambda f, n=n, d=d, j=judge: j(lab, n, d, f)) for n, d in few]
    return cases


# Power cuts


def check_cuts(lab, recorder, back, count, folder):
    """What is on the disk after a power cut at random moments of an edit or a rollback."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    if back:
        lab.tool.run(*lab.command(store))
    before = os.path.join(folder, "before")
    shutil.copytree(place, before)
    log = os.path.join(folder, "log")
    done = lab.tool.call(*(("rollback", store) if back else lab.command(store)),
                         environment=recorder.environment(place, log))
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr[-300:]}"]
    deeds, out, seen = recorder.deeds(log), [], {}
    for seed in range(count):
        cut = os.path.join(folder, "cut")
        shutil.rmtree(cut, ignore_errors=True)
        moment = recorder.leave(deeds, before, place, cut, random.Random(seed), seed % 6 == 5)
        found = lab.state(cut)
        seen[found] = seen.get(found, 0) + 1
        if found not in ("old", "new"):
            out.append(f"cut {seed}, after {moment} of {len(deeds)} calls: {found}")
    if len(seen) < 2 and not out and count > 30:
        out.append(f"{count} cuts only led to {seen}")
    # The judge finds what it is there to find: without a sync some cut breaks the store.
    bare = [d for d in deeds if d.call not in ("fsync", "fdatasync")]
    broken = 0
    for seed in range(count):
        shutil.rmtree(os.path.join(folder, "cut"), ignore_errors=True)
        recorder.leave(bare, before, place, os.path.join(folder, "cut"), random.Random(seed))
        broken += lab.state(os.path.join(folder, "cut")) not in ("old", "new")
    if not broken and count > 30:
        out.append("without any sync no cut breaks a store: this judge sees nothing")
    return out


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-10")
    p.add_argument("--steps", type=int, default=15, help="steps in a row")
    p.add_argument("--large", type=int, default=0, help="objects of the store of each tenth seed")
    p.add_argument("--sample", type=int, default=20, help="harmed calls of each way; 0 for all")
    p.add_argument("--cuts", type=int, default=60, help="power cuts of each way")
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=300)
    options.compare = os.path.join(options.corpus or "", "..", "tools", "compare-stores.py")
    if not os.path.exists(options.compare):
        options.compare = None
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        calls, recorder = Calls(folder), Recorder(folder)
        cases = [(f"seed {seed}", lambda f, seed=seed: check_steps(tool, seed, options, f))
                 for seed in seeds(options.seeds)]
        first = min(seeds(options.seeds))
        cases.append((f"{options.steps} steps",
                      lambda f: check_row(tool, first, options.steps, f)))
        cases.append(("commits after a kill", lambda f: check_commits(tool, calls, f)))
        for way in ("in place", "with a log", "discarding"):
            lab = EditLab(tool, folder, calls, way)
            cases += harmed(lab, options.sample)
            if way != "discarding":
                cases.append((f"{way}: written", lambda f, b=lab: check_writers(b, f)))
                cases.append((f"{way}: moved", lambda f, b=lab: check_moved(b, f)))
            cases += [(f"{way}: power cuts of {'a rollback' if back else 'an edit'}",
                       lambda f, b=lab, k=back: check_cuts(b, recorder, k, options.cuts, f))
                      for back in ((False, True) if way != "discarding" else (False,))]
        try:
            run_cases(options, [c for c in cases if options.only in c[0]], "edits")
        finally:
            print(f"{COUNT['edits']} edits, {COUNT['declined']} declined; "
                  f"{COUNT['derived']} with derived attributes; "
                  f"{COUNT['stayed']} tables stayed; {COUNT['compared']} compared by another tool")


if __name__ == "__main__":
    main()
