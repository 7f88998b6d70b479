#!/usr/bin/env python3
"""Kills migrations at random moments, some of them several times over, and lets the last run end:
its result must be that of an undisturbed run, and the old store must still be there.

usage: random_kills.py --godwit P --corpus D [--seeds 1-60] [--rows N] [--scratch S]; the corpus is
not read
"""
import filecmp
import glob
import os
import random
import signal
import tempfile
import time

from run import Failure, Tool, parser, run_cases, seeds, vacuumed
from store import copy_store

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")


class Lab:
    """A store, what must come of it, and how long that takes."""

    def __init__(self, tool, folder, rows):
        self.tool, self.store = tool, os.path.join(folder, "Whole.sqlite")
        tool.run("generate", MODEL, "--version", "Library 1", "--rows", rows, "--seed", 5,
                 "--output", self.store)
        self.old = vacuumed(self.store)
        self.expected, began = os.path.join(folder, "Expected.sqlite"), time.monotonic()
        tool.run("migrate", self.store, "--to", MODEL, "--output", self.expected)
        self.seconds = time.monotonic() - began
        self.new = vacuumed(self.expected)


def children(pid):
    out = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                out += map(int, file.read().split())
        except OSError:
            pass
    return out


def disturb(lab, command, chance):
    """Starts a migration and kills it, or a worker and then it; 0 where it had ended before."""
    process = lab.tool.start(*command)
    time.sleep(chance.uniform(0.005, lab.seconds * 1.1))
    if chance.random() < 0.3:
        for child in children(process.pid):
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(chance.uniform(0, lab.seconds / 2))
    process.kill()
    ended = process.wait()
    # Its workers are dying; the next run looks for nobody.
    time.sleep(chance.choice((0, 0.05)))
    return ended != 0


def check(lab, seed, folder):
    chance = random.Random(seed)
    store = copy_store(lab.store, folder, "Library.sqlite")
    result = chance.choice((store, os.path.join(folder, "New.sqlite")))
    command = ["migrate", store, "--to", MODEL, "--workers", chance.randint(1, 3), "--engine",
               chance.choice(("sql", "pages", "pages"))]
    command += chance.choice(([], ["--range-rows", 1000], ["--progressive", "--stepwise"]))
    if result != store:
        command += ["--output", result]
    for _ in range(chance.randint(1, 3)):
        if not disturb(lab, command, chance):
            break
    if result == store or not os.path.exists(result) or os.path.exists(result + ".godwit"):
        lab.tool.run(*command)
    if not filecmp.cmp(vacuumed(result), lab.new, shallow=False):
        raise Failure(f"another result than that of an undisturbed run: {command}")
    kept = [store] if result != store else glob.glob(glob.escape(store) + ".before-*")
    kept = [path for path in kept if not path.endswith(".vacuumed")]
    if len(kept) != 1 or not filecmp.cmp(vacuumed(kept[0]), lab.old, shallow=False):
        raise Failure(f"the old store is not what it was: {kept}")
    return [f"left behind: {name}" for name in os.listdir(folder) if name.endswith(".godwit")]


def main():
    p = parser(__doc__)
    p.add_argument("--seeds", default="1-60", help="such as 7 or 1-60")
    p.add_argument("--rows", type=int, default=60_000)
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        lab = Lab(Tool(options.godwit), folder, options.rows)
        run_cases(options, [(f"seed {seed}", lambda f, seed=seed: check(lab, seed, f))
                            for seed in seeds(options.seeds)],
                  "killed migrations")


if __name__ == "__main__":
    main()
