#!/usr/bin/env python3
"""`migrate --salvage` of damaged stores: whatever lies on sound pages is in the result with its
values, whatever is missing is in a range of keys that was told, nothing is there that was not, and
all engines agree.

usage: salvage.py --godwit P [--seeds 1-24] [--engines sql,pages,objects] [--keep]

Each seed stands for one store whose pages are damaged (`sqlite_pages.py`), some in many places.
What there is to take is found by a walk over the pages of the store before it was damaged and by a
comparison of the pages (`salvage_judge.py`).
"""
import json
import os
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from limits import Done
from mutant_stores import Ground
from run import Tool, fingerprint, parser, seeds
from salvage_judge import Judge, excuse, rows_of_result
from sqlite_pages import WAYS, damaged

MANY = [way for way in WAYS if way.__name__ not in ("file_header", "free_list", "length")]


def mutant(ground, seed):
    """The bytes of a damaged store, and what was done to it."""
    r = random.Random(seed)
    kind = r.randrange(10)
    image, done = ground.image.copy(), []
    if kind < 6:
        data, what = damaged(r, ground.image)
        return data, what
    if kind == 9:
        # The end of the file is missing, as after a copy that broke off.
        left = r.randrange(image.count * 2 // 3, image.count) * image.size
        return bytes(image.data[:left]), f"{left} bytes are left"
    for _ in range(r.randrange(2, 12)):
        if kind == 8:
            page = r.randrange(30, image.count + 1)
            image.data[image.base(page):image.base(page) + image.size] = bytes(image.size)
            done.append(f"page {page} is zeros")
            continue
        try:
            done.append(r.choice(MANY)(r, image))
        except (LookupError, ValueError):
            pass
    return bytes(image.data), "; ".join(done)


def migrate(tool, ground, folder, engine):
    """A migration by an engine: how it ended, its result and its report."""
    source = os.path.join(folder, "Old.sqlite")
    result, report = (os.path.join(folder, f"{engine}.{end}") for end in ("sqlite", "json"))
    way = ("--infer-only",) if engine != "objects" else ("--mapping", ground.mapping)
    done = Done(tool, ["migrate", source, "--to", ground.target, "--models", ground.source, *way,
                       "--output", result, "--engine", engine, "--no-record", "--salvage",
                       "--report", report, "--validation", "off", "--allow-loss"])
    told = None
    if os.path.exists(report):
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
    return done, result, told


def judge(tool, ground, folder, data, engines):
    """What is wrong, and the statuses."""
    before = fingerprint(folder)
    judge, found, statuses = Judge(ground.image, data), [], []
    results, tellings = {}, {}
    for engine in engines:
        done, result, told = migrate(tool, ground, folder, engine)
        statuses.append(done.status)
        lines = done.faults()
        if done.status == 0:
            results[engine], bad = rows_of_result(result)
            tellings[engine] = told.get("salvage")
            lines += bad or judge.faults(results[engine], tellings[engine], engine)
        else:
            lines += excuse(judge, done)
        found += [f"{engine}: {line}" for line in lines]
    if len(set(statuses)) > 1:
        found.append(f"the engines end with {statuses}")
    for engine in list(results)[1:]:
        first = next(iter(results))
        differing = [t for t in results[first] if engine != "objects"
                     and not judge.alike(results[first][t], results[engine][t])]
        found += [f"{first} and {engine} differ in {t}" for t in differing]
        if tellings[first] != tellings[engine]:
            found.append(f"{first} and {engine} tell different losses")
    changed = [n for n, digest in before.items() if fingerprint(folder).get(n) != digest]
    return found + [f"changed {changed}"] * bool(changed), statuses


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-24")
    p.add_argument("--engines", default="sql,pages,objects", help="with commas")
    p.add_argument("--objects-every", type=int, default=4, help="1: of each seed")
    options = p.parse_args()
    tool, engines = Tool(options.godwit), options.engines.split(",")
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    lab = tempfile.mkdtemp(prefix="ground-", dir=base)
    ground = Ground(tool, lab)
    ground.mapping = os.path.join(lab, "Zoo.json")
    tool.run("map", "--from", ground.source, "--to", ground.target, "--output", ground.mapping)

    def one(seed):
        folder = tempfile.mkdtemp(prefix="salvage-", dir=base)
        data, what = mutant(ground, seed)
        with open(os.path.join(folder, "Old.sqlite"), "wb") as file:
            file.write(data)
        lines, statuses = [], []
        try:
            # Objects take longer, and what they are made of is the same copy.
            some = engines if seed % options.objects_every == 0 else [
                e for e in engines if e != "objects"]
            lines, statuses = judge(tool, ground, folder, data, some)
        finally:
            if not (lines and options.keep):
                shutil.rmtree(folder, ignore_errors=True)
        return [f"{seed} ({what}): {line}"[:1200] for line in lines], statuses

    failed, taken, wanted = 0, 0, seeds(options.seeds)
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for lines, statuses in pool.map(one, wanted):
            failed += bool(lines)
            taken += statuses[0] == 0
            for line in lines:
                print(line, flush=True)
    if not options.scratch and not (failed and options.keep):
        shutil.rmtree(base, ignore_errors=True)
    if not taken:
        print("none of the stores was salvaged")
    print(f"{failed} of {len(wanted)} salvages differ" if failed
          else f"{len(wanted)} damaged stores alike, {taken} of them salvaged")
    sys.exit(1 if failed or not taken else 0)


if __name__ == "__main__":
    main()
