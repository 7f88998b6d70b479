#!/usr/bin/env python3
"""Mutants of what an interrupted run left: the next run proves what it takes over, or begins anew.

usage: damaged_leftovers.py --godwit P [--by P] [--seeds 1-40] [--engine E] [--only FILE]
                           [--sentences]

Plan, manifests, shards, claims, the result under assembly, the store between two stages with its
external files and whatever else lies in the work folder is damaged, cut, emptied, removed or
exchanged with a file of another run. The same command then ends with a result that has every row
and every external value and is sound, or with a refusal that says which file is at fault. The tool
must be a debug build, which can be killed at a fault point; a faster one may go on in its place.
"""
import os
import random
import re
import shutil
import tempfile
import threading

from limits import Done
from mutant_stores import Ground
from mutants import lost
from odd_files import json_mutant, text_mutant
from run import Tool, judge_mutants, parser, seeds
from swap_faults import canonical, digest, external_names, support

POINTS = ("coordinator:migrating", "coordinator:assembled")
STAGES = "stages"
STAGE_POINT = "coordinator:stage-done"
OPTIONS = {"sql": ("--engine", "sql", "--range-rows", "60"),
           "pages": ("--engine", "pages", "--range-rows", "700"),
           STAGES: ("--progressive", "--stepwise")}


class Run:
    """A folder with a store and what a killed run left beside it, as often as it is asked for.

    A store that was copied would be another one, so everything but the store is put back."""

    def __init__(self, tools, ground, folder, engine, point):
        (tool, self.tool), self.folder = tools, folder
        self.store = os.path.join(folder, "Old.sqlite")
        self.result = os.path.join(folder, "New.sqlite")
        os.makedirs(folder)
        with open(self.store, "wb") as file:
            file.write(ground.data)
        self.is_staged = engine == STAGES
        if self.is_staged:
            shutil.copytree(support(ground.store), support(self.store))
        target = ground.bundle if self.is_staged else ground.target
        self.command = ["migrate", self.store, "--to", target, "--models", ground.source,
                        "--infer-only", "--output", self.result, "--no-record", *OPTIONS[engine]]
        self.work, self.kept = self.result + ".godwit", os.path.join(folder, "kept")
        self.other = os.path.join(folder, "other")
        if self.is_staged:
            tool.run(*self.command)
            self.expected = self.made()
            self.begin_anew()
        for place in (self.other, self.kept):
            done = Done(tool, self.command, {"GODWIT_FAULT": point})
            if done.status != -9:
                raise SystemExit(f"not killed at {point}: {done.status} {done.err}")
            os.rename(self.work, place)

    def made(self):
        """What a result is: its pages in canonical order, and the external files that it names."""
        return canonical(self.result), {
            name: digest(os.path.join(support(self.result), name))
            for name in external_names(self.result)}

    def lost(self):
        """What of the source is not in the result."""
        if not self.is_staged:
            return lost(self.store, self.result)
        try:
            found = self.made()
        except OSError as error:
            return [f"an external value is lost: {error}"]
        return [f"the {what} differ" for what, one, other in zip(
            ("rows", "external files"), found, self.expected) if one != other]

    def begin(self):
        self.begin_anew()
        shutil.copytree(self.kept, self.work, symlinks=True)

    def begin_anew(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(os.path.join(self.folder, ".New_SUPPORT"), ignore_errors=True)
        for name in os.listdir(self.folder):
            if name.startswith("New.sqlite") and os.path.isfile(os.path.join(self.folder, name)):
                os.remove(os.path.join(self.folder, name))

    def names(self):
        return sorted(os.path.relpath(os.path.join(where, n), self.work)
                      for where, _, names in os.walk(self.work) for n in names
                      if not n.endswith("-lock"))


def damage(r, run, name):
    """Changes one file of the work folder; what was done."""
    path = os.path.join(run.work, name)
    with open(path, "rb") as file:
        data = file.read()
    how = r.randrange(12)
    if how == 0:
        os.remove(path)
        return "removed"
    if how == 1:
        data, done = b"", "emptied"
    elif how == 2:
        data, done = bytes(len(data)), "zeroed"
    elif how == 3 and os.path.exists(os.path.join(run.other, name)):
        with open(os.path.join(run.other, name), "rb") as file:
            data, done = file.read(), "that of another run"
    elif how == 4:
        cut = r.choice((1, 4, 8, 4096))
        data, done = data[:-cut] if r.random() < 0.5 else data + data[-cut:], f"{cut} bytes"
    elif name.endswith(".json") and data and how < 10:
        data, done = json_mutant(r, data)
    elif len(data) > 20_000 and how < 11:
        # A bit in a large file, where something stands.
        data, done = bytearray(data), "bits"
        for _ in range(r.choice((1, 1, 4))):
            spots = [r.randrange(len(data)) for _ in range(2000)]
            at = next((s for s in spots if data[s]), spots[0])
            data[at] ^= 1 << r.randrange(8)
    else:
        data, done = text_mutant(r, data)
    with open(path, "wb") as file:
        file.write(data)
    return done


def judge(run, seed, only):
    r = random.Random(seed)
    run.begin()
    names = [n for n in run.names() if only in n]
    name = r.choice(names)
    done_what = damage(r, run, name)
    done = Done(run.tool, run.command)
    found = done.faults()
    if done.status == 0:
        found += [f"status 0: {line}" for line in run.lost()]
        if os.path.exists(run.work):
            found.append(f"left {os.listdir(run.work)}")
    elif ".godwit" not in done.err and "New.sqlite" not in done.err:
        found.append(f"status {done.status} names no file: {done.err[-300:]}")
    where = f"{seed} {name} ({done_what[:100]})"
    return [f"{where}: {f}".replace(run.folder, "<scratch>") for f in found], (
        re.sub(r"\d+", "N", name), done.status,
        re.sub(r"\d+|(?<=note: ).*", "N", done.err.replace(run.folder, ""))[:200])


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-40")
    p.add_argument("--by", help="the build that goes on; default: the one that is killed")
    p.add_argument("--engine", default=f"sql,pages,{STAGES}",
                   help="the engines, with commas; stages: between two of them")
    p.add_argument("--only", default="", help="files with this in their names")
    p.add_argument("--sentences", action="store_true", help="list what is said, with how often")
    options = p.parse_args()
    tool = Tool(options.godwit)
    tools = tool, Tool(options.by or options.godwit)
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    ground = Ground(tool, os.path.join(base, "ground"))
    own = threading.local()

    def one(case):
        seed, engine, point = case
        if not hasattr(own, "runs"):
            own.runs = {}
        if (engine, point) not in own.runs:
            folder = os.path.join(tempfile.mkdtemp(prefix="run-", dir=base), "run")
            own.runs[engine, point] = Run(tools, ground, folder, engine, point)
        lines, end = judge(own.runs[engine, point], seed, options.only)
        return [f"{engine} {point} {line}" for line in lines], [(engine, *end)]

    def sentence(end):
        engine, name, status, text = end
        return f"{engine} {name} {status} {text.strip()}"

    cases = [(seed, engine, STAGE_POINT if engine == STAGES else POINTS[seed % 2])
             for seed in seeds(options.seeds)
             for engine in options.engine.split(",")]
    judge_mutants(options, base, cases, one, sentence)


if __name__ == "__main__":
    main()
