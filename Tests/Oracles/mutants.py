#!/usr/bin/env python3
"""Mutants of a store: none crashes or hangs, and none ends with status 0 unless the result has
every row that SQLite reads of the mutant, and is sound.

usage: mutants.py --godwit P [--seeds 1-60] [--engine E] [--check full] [--sentences] [--keep]

Each seed stands for one mutant: damaged pages (`sqlite_pages.py`), or changes by SQL, which leave a
sound file (`mutant_stores.py`). It is migrated by every engine.
"""
import collections
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import mutant_stores
from limits import Done
from mutant_stores import (Ground, TABLES, Text, canonical, expected, open_immutable, planted,
                           rows_of)
from run import Tool, fingerprint, parser, seeds
from sqlite_pages import damaged

def lost(source, result):
    """What SQLite reads of the two that differs."""
    found = []
    old, new = open_immutable(source), open_immutable(result)
    try:
        try:
            answer = new.execute("pragma integrity_check(3)").fetchall()
        except sqlite3.Error as error:
            return [f"the result cannot be read: {error}"]
        if answer != [(Text(b"ok"),)]:
            found.append(f"the result is not sound: {answer}"[:300])
        for table in TABLES:
            found += lost_rows(table, old, new)
        found += lost_metadata(old, new)
    finally:
        old.close()
        new.close()
    return found


def lost_rows(table, old, new):
    try:
        before = rows_of(old, table)
    except sqlite3.Error as error:
        return [f"{table} of the source cannot be read: {error}"]
    if before is None:
        return [f"{table} of the source is missing"]
    try:
        after = rows_of(new, table)
        if after is None:
            return [f"{table} of the result is missing"]
        names, rows = after
        kinds = [d[2].decode() for d in new.execute(f"pragma table_info({table})")]
    except sqlite3.Error as error:
        return [f"{table} of the result cannot be read: {error}"]

    def counted(rows):
        return collections.Counter(
            tuple(canonical(v, k) for v, k in zip(row, kinds)) for row in rows)
    wanted, found = counted(expected(before, names)), counted(rows)
    if wanted == found:
        return []
    missing, extra = list((wanted - found).elements()), list((found - wanted).elements())
    return [f"{table}: {sum(wanted.values())} rows before, {sum(found.values())} after; missing "
            f"{len(missing)}: {short(missing)}, extra {len(extra)}: {short(extra)}"]


def short(rows):
    """The first of some rows, with long values cut."""
    return [v if not isinstance(v, bytes) else v[:20] for v in rows[0]][:12] if rows else ""


def lost_metadata(old, new):
    query = "select Z_UUID from Z_METADATA"
    try:
        before = old.execute(query).fetchall()
    except sqlite3.Error as error:
        return [f"metadata of the source cannot be read: {error}"]
    after = new.execute(query).fetchall()
    return [] if before == after else [f"the UUID was {before} and is {after}"]


def judge(tool, ground, folder, engine, check):
    source = os.path.join(folder, "Old.sqlite")
    result = os.path.join(folder, "New.sqlite")
    before = fingerprint(folder)
    done = Done(tool, ["migrate", source, "--to", ground.target, "--models", ground.source,
                       "--infer-only", "--output", result, "--engine", engine, "--no-record",
                       "--check-source", check])
    found = done.faults()
    after = fingerprint(folder)
    if done.status == 0:
        made = {n for n in after if n not in before}
        odd = {n for n in made if not n.startswith(("New.sqlite", ".New_SUPPORT"))}
        found += [f"left {sorted(odd)}"] * bool(odd)
        found += [f"status 0: {line}" for line in lost(source, result)]
    elif after != before:
        found.append(f"left {sorted(set(after) - set(before))} or changed something")
    elif "Old.sqlite" not in done.err:
        found.append(f"status {done.status} without the file's name: {done.err[-300:]}")
    for path in (result,):
        if os.path.exists(path):
            os.remove(path)
    shutil.rmtree(os.path.join(folder, ".New_SUPPORT"), ignore_errors=True)
    return found, done


def mutant(ground, seed, path):
    """Writes the mutant of a seed; what was done to it."""
    r = random.Random(seed)
    plants = list(mutant_stores.sql_mutants())
    if r.random() < 0.35:
        with open(path, "wb") as file:
            file.write(ground.data)
        return planted(r, path, r.choice(plants))
    data, done = damaged(r, ground.image)
    with open(path, "wb") as file:
        file.write(data)
    return done


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-60")
    p.add_argument("--engine", default="sql,pages", help="the engines, with commas")
    p.add_argument("--check", default="off", help="how far sources are checked beforehand: off has "
                   "the engines find out by themselves")
    p.add_argument("--sentences", action="store_true", help="list what is said, with how often")
    options = p.parse_args()
    wanted = seeds(options.seeds)
    tool = Tool(options.godwit)
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    said, statuses, failed = collections.Counter(), collections.Counter(), 0
    lab = tempfile.mkdtemp(prefix="ground-", dir=base)
    ground = Ground(tool, lab)

    def one(seed):
        folder = tempfile.mkdtemp(prefix="mutant-", dir=base)
        lines, ends = [], []
        try:
            name = mutant(ground, seed, os.path.join(folder, "Old.sqlite"))
            for engine in options.engine.split(","):
                found, done = judge(tool, ground, folder, engine, options.check)
                ends.append((done.status, re.sub(r"\d+", "N", done.err.replace(folder, ""))))
                lines += [f"{seed} by {engine} ({name}): {line}" for line in found]
        finally:
            if not (lines and options.keep):
                shutil.rmtree(folder, ignore_errors=True)
        return lines, ends

    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for lines, ends in pool.map(one, wanted):
            failed += bool(lines)
            for line in lines:
                print(line, flush=True)
            for status, text in ends:
                statuses[status] += 1
                said[text] += 1
    if options.sentences:
        for text, count in said.most_common(60):
            print(f"{count:6} {text.strip()[:300]}")
    if not options.scratch:
        shutil.rmtree(base if not (failed and options.keep) else lab, ignore_errors=True)
    told = ", ".join(f"{n} with {s}" for s, n in sorted(statuses.items()))
    print(f"{failed} of {len(wanted)} mutants differ" if failed
          else f"{len(wanted)} mutants alike", f"({told})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
