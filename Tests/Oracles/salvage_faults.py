#!/usr/bin/env python3
"""Has migrations of a damaged store killed, without room or failing at the calls by which the
salvaged copy is made, in place and with an output: the damaged store stays as it is, to the byte,
nothing is made of half a copy, and the next run takes and tells what an unharmed one does, and
leaves nothing.

usage: salvage_faults.py --godwit P [--sample N] [--only TEXT] [--scratch S]
"""
import json
import os
import random
import shutil
import sqlite3
import tempfile

from failing_calls import IO_ERROR, NO_SPACE, Calls, logged
from mutant_stores import Ground
from run import Tool, parser, run_cases
from salvage_judge import rows_of_result
from sqlite_pages import TABLE_LEAF
from swap_faults import digest, judge_ending

COPY = "salvaged.sqlite"
DEEDS = ("kill", NO_SPACE, "full", IO_ERROR, "short")
WAYS = ("in place", "with an output")
DAMAGED = ("ZCREATURE", "ZPLACE", "Z_1FRIENDS")


def damaged(image):
    """A leaf of each of some tables is zeros."""
    data = bytearray(image.data)
    for table in DAMAGED:
        leaf = sorted(p for p, owner in image.owner.items()
                      if owner == table and image.kind(p) == TABLE_LEAF)[1]
        data[image.base(leaf):image.base(leaf) + image.size] = bytes(image.size)
    return bytes(data)


class Lab:
    """A damaged store, and what comes of it where nothing else happens."""

    def __init__(self, tool, folder, calls):
        self.tool, self.calls, self.expected = tool, calls, {}
        self.ground = Ground(tool, os.path.join(folder, "ground"))
        self.whole = os.path.join(folder, "whole")
        os.mkdir(self.whole)
        with open(os.path.join(self.whole, "Old.sqlite"), "wb") as file:
            file.write(damaged(self.ground.image))
        self.bytes = digest(file.name)

    def copy(self, folder):
        place = os.path.join(folder, "zoo")
        shutil.copytree(self.whole, place)
        return os.path.join(place, "Old.sqlite")

    def result(self, store, way):
        return store if way == "in place" else os.path.join(os.path.dirname(store), "New.sqlite")

    def migrate(self, store, way, environment=None):
        place = os.path.dirname(store)
        report = os.path.join(os.path.dirname(place), "report.json")
        if os.path.exists(report):
            os.remove(report)
        # Without a work folder the copy would be among the system's temporary files.
        more = () if way == "in place" else ("--output", self.result(store, way), "--work", place)
        done = self.tool.call(
            "migrate", store, "--to", self.ground.target, "--models", self.ground.source,
            "--infer-only", "--salvage", "--allow-loss", "--no-record", "--report", report, *more,
            **({"environment": environment} if environment else {}))
        told = None
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                told = json.load(file).get("salvage")
        return done, told

    def made(self, store, way, told):
        """What a run made: rows, and what it told of those that are lost."""
        rows, bad = rows_of_result(self.result(store, way))
        return bad or (rows, told["tables"])

    def unharmed(self, way, folder):
        """The calls of an unharmed run; what it made is what is expected."""
        store, log = self.copy(folder), os.path.join(folder, "log")
        environment = self.calls.environment(os.path.dirname(store), log=log)
        done, told = self.migrate(store, way, environment)
        if done.returncode or not told:
            raise SystemExit(f"nothing is salvaged: {done.returncode} {done.stderr[-300:]}")
        self.expected[way] = self.made(store, way, told)
        return logged(log)


def kept(store):
    folder, name = os.path.split(store)
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder))
            if n.startswith(name + ".before-")]


def judge(lab, store, way, status, told):
    """What is wrong with what a run left."""
    out = []
    if status:
        out += [] if digest(store) == lab.bytes else ["the damaged store is not as it was"]
        if way != "in place" and os.path.exists(lab.result(store, way)):
            out.append(f"status {status}, and there is a result")
        return out
    place = os.path.dirname(store)
    old = store if way != "in place" else (kept(store) or [None])[0]
    if old is None or digest(old) != lab.bytes:
        out.append("the damaged store is not kept as it was")
    if not told or lab.made(store, way, told) != lab.expected[way]:
        out.append("rows or losses differ from those of an unharmed run")
    known = {"Old.sqlite", "New.sqlite", ".New_SUPPORT", "Old.sqlite.godwit-kept.json"}
    known |= {os.path.basename(p) for p in kept(store)}
    return out + [f"left over: {n}" for n in sorted(set(os.listdir(place)) - known)]


def check(lab, way, number, do, folder):
    store = lab.copy(folder)
    environment = lab.calls.environment(os.path.dirname(store), at=number, do=do, of="coordinator")
    done, told = lab.migrate(store, way, environment)
    harmed = lab.calls.counted(environment)[1]
    out = [] if harmed else ["the call was not made"]
    out += judge_ending(done.returncode, done.stderr, do)
    out += judge(lab, store, way, done.returncode, told)
    if done.returncode == 0:
        return out
    done, told = lab.migrate(store, way)
    if done.returncode:
        return out + [f"the next run: exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    return out + [f"in the end {line}" for line in judge(lab, store, way, 0, told)]


def the_judge(lab, folder):
    """The judge finds what it is there to find."""
    way, out = "with an output", []
    store = lab.copy(folder)
    done, told = lab.migrate(store, way)
    if judge(lab, store, way, done.returncode, told):
        out.append("the judge takes an unharmed run for a harmed one")
    fewer = {"tables": told["tables"][1:]}
    if not judge(lab, store, way, 0, fewer) or not judge(lab, store, way, 0, None):
        out.append("the judge does not find: a loss that is not told")
    if not judge(lab, store, way, 74, told):
        out.append("the judge does not find: a result of a run that failed")
    db = sqlite3.connect(lab.result(store, way))
    db.execute("delete from ZHERD where Z_PK = (select min(Z_PK) from ZHERD)")
    db.commit()
    db.close()
    if not judge(lab, store, way, 0, told):
        out.append("the judge does not find: a row that is gone")
    with open(store, "ab") as file:
        file.write(b"x")
    if not judge(lab, store, way, 74, told):
        out.append("the judge does not find: a changed source")
    return out


def cases_of(lab, way, sample):
    """The calls on the salvaged copy: all but the many that write its pages, and some of those."""
    with tempfile.TemporaryDirectory(dir=lab.calls.folder) as folder:
        calls = [c for c in lab.unharmed(way, folder) if c[1] == "coordinator"]
    # That the copy goes in the end is a matter of swap_faults.py.
    found = [(n, call, path) for n, (_, _, call, path) in enumerate(calls, 1)
             if COPY in path and call != "unlink"]
    if not found:
        raise SystemExit(f"no call of a migration {way} is on {COPY}")
    out = [[], []]
    for number, call, path in found:
        for do in DEEDS:
            if do != "short" or call in ("write", "pwrite", "copy_file_range"):
                out[call in ("pwrite", "write")].append((number, do, call, os.path.basename(path)))
    chance = random.Random(len(found))
    if sample:
        out = [chance.sample(cases, min(sample, len(cases))) for cases in out]
    return out[0] + out[1]


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--sample", type=int, default=10,
                   help="calls of each way that write pages, and as many others; 0 for all")
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        lab = Lab(Tool(options.godwit, timeout=120), folder, Calls(folder))
        cases = []
        for way in WAYS:
            cases += [(f"{way}: {do} at call {n} ({call} {name})",
                       lambda f, w=way, n=n, d=do: check(lab, w, n, d, f))
                      for n, do, call, name in cases_of(lab, way, options.sample)]
        cases.append(("the judge", lambda f: the_judge(lab, f)))
        run_cases(options, [c for c in cases if options.only in c[0]], "faults")


if __name__ == "__main__":
    main()
