#!/usr/bin/env python3
"""Fleets: every store gets what a migration of it alone makes, whatever becomes of the others and
of the processes.

Stores of two versions of docs/sample, in folders of their own. The cases:

same      a fleet in place, one with outputs, and one of array elements, against single migrations
schemas   stores of one version whose schemas differ in pages, order or encoding
bad       one store in a hundred damaged, locked, of another app, missing: named with its reason
stops     runs that are asked to stop, and what they left
crashes   workers that die at a fault point of a debug build with every store
kills     runs killed at random moments, also their workers, the state file deleted, results cut
limits    --canary and --max-failures stop a run, and the next one goes on
rollback  every old store back in its place, to the byte

usage: fleets.py --godwit P [--stores N] [--kills N] [--seed N] [--only CASE...] [--scratch S]
"""
import copy
import glob
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import tempfile
import time
from functools import partial

from other_schemas import other_schemas
from run import Failure, Tool, parser, run_cases

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODEL = os.path.join(ROOT, "docs", "sample", "Library.xcdatamodeld")
VERSIONS = ("Library 1", "Library 2")


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Lab:
    """Stores to copy, with what a migration of each alone makes of it."""

    def __init__(self, tool, folder, rows, model=MODEL, versions=VERSIONS):
        self.tool, self.folder, self.model = tool, folder, model
        self.rows, self.olds, self.news = rows, {}, {}
        for number, version in enumerate(versions):
            for seed in (1, 2):
                name = f"{number}{seed}"
                old = os.path.join(folder, name + ".sqlite")
                tool.run("generate", model, "--version", version, "--rows", rows + 40 * seed,
                         "--seed", seed, "--output", old)
                shutil.rmtree(os.path.join(folder, f".{name}_SUPPORT"), ignore_errors=True)
                self.olds[name] = read(old)
                tool.run("migrate", old, "--to", model, "--output", old + ".new")
                self.news[name] = read(old + ".new")

    def fleet(self, count, *options):
        """A folder with stores, and a fleet of them: (folder, {path: name of what it was})."""
        folder = tempfile.mkdtemp(dir=self.folder)
        stores = {}
        for number in range(count):
            name = sorted(self.olds)[number % len(self.olds)]
            path = os.path.join(folder, "users", str(number % 7), f"{number}.sqlite")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(self.olds[name])
            stores[path] = name
        self.tool.run("fleet", "create", os.path.join(folder, "F"), os.path.join(folder, "users"),
                      "--to", self.model, *options)
        return folder, stores

    def status(self, folder, expect=0):
        told = self.tool.json("fleet", "status", os.path.join(folder, "F"), "--json",
                              expect=expect)
        require(sum(told[k] for k in ("migrated", "copied", "current", "failed", "rolledBack",
                                      "waiting")) == told["stores"],
                f"the counts of the status do not add up: {told}")
        return told

    def listed(self, folder, *options):
        told = self.tool.json("fleet", "list", os.path.join(folder, "F"), "--json", *options)
        require(told["count"] == len(told["stores"]), "the list counts otherwise")
        return {entry["store"]: entry for entry in told["stores"]}

    def require_migrated(self, stores):
        """Each store is the new one, and the old one is kept, once and to the byte."""
        for path, name in stores.items():
            require(read(path) == self.news[name], f"{path} is not what a single migration makes")
            kept = glob.glob(glob.escape(path) + ".before-*")
            require(len(kept) == 1, f"{path}: kept {len(kept)} times")
            require(read(kept[0]) == self.olds[name], f"{kept[0]} is not the old store")
            with open(path + ".godwit-kept.json", encoding="utf-8") as file:
                entries = json.load(file)["stores"]
            require(len(entries) == 1, f"{path}: the list of kept stores has {len(entries)}")
        for folder in {os.path.dirname(path) for path in stores}:
            left = [n for n in os.listdir(folder)
                    if not re.search(r"\.sqlite(\.before-[\d-]+|\.godwit-\w+\.json)?$", n)]
            require(not left, f"{folder} has {left[:4]} left over")


def require(holds, sentence):
    if not holds:
        raise Failure(sentence)


# Cases

def same(lab, count, _kills, _rng):
    folder, stores = lab.fleet(count)
    plan = lab.tool.json("fleet", "plan", os.path.join(folder, "F"), "--json")
    require([g["stores"] for g in plan["groups"]] == [count // 2, count // 2] and plan["seconds"],
            f"the plan of two versions: {plan}")
    lab.tool.run("fleet", "run", os.path.join(folder, "F"))
    lab.require_migrated(stores)
    require(lab.status(folder)["migrated"] == count, "not all are migrated")
    lab.tool.run("fleet", "run", os.path.join(folder, "F"))
    lab.require_migrated(stores)
    folder, stores = lab.fleet(count, "--output", os.path.join(lab.folder, "new"))
    lab.tool.run("fleet", "run", os.path.join(folder, "F"))
    for path, name in stores.items():
        new = path.replace(os.path.join(folder, "users"), os.path.join(lab.folder, "new"))
        require(read(new) == lab.news[name] and read(path) == lab.olds[name],
                f"{new} is not what a single migration makes")
    shutil.rmtree(os.path.join(lab.folder, "new"))
    folder, stores = lab.fleet(count)
    for element in (2, 0):
        lab.tool.run("fleet", "run", os.path.join(folder, "F"), "--element", f"{element}/3")
    lab.status(folder, expect=75)
    left = lab.tool.run("fleet", "list", os.path.join(folder, "F"), "--array").stdout
    require(left == "1\n", f"the element that is left: {left}")
    lab.tool.run("fleet", "run", os.path.join(folder, "F"), "--element", "1/3")
    lab.require_migrated(stores)
    require(lab.status(folder)["migrated"] == count, "the elements have not migrated all")


def spoil(path, way):
    """Spoils a store; the kinds of failure that may be told of it."""
    data = read(path)
    if way == "cut":
        with open(path, "wb") as file:
            file.write(data[:len(data) // 2])
        return {"fileDamaged"}
    if way == "text":
        with open(path, "wb") as file:
            file.write(b"no store at all\n")
        return {"fileDamaged"}
    if way == "gone":
        os.remove(path)
        return {"fileNotFound"}
    if way == "alien":
        os.remove(path)
        alien = sqlite3.connect(path)
        alien.execute("CREATE TABLE t(a)")
        alien.commit()
        alien.close()
        return {"fileDamaged", "storeUnsupported"}
    if way == "other version":
        store = sqlite3.connect(path)
        store.execute("UPDATE Z_METADATA SET Z_PLIST = replace(Z_PLIST, 'Author', 'Arthur')")
        store.execute("DELETE FROM Z_MODELCACHE")
        store.commit()
        store.close()
        return {"fileDamaged", "sourceModelMissing"}
    raise Failure(way)


def bad(lab, count, _kills, rng):
    folder, stores = lab.fleet(count)
    ways = ["cut", "text", "gone", "alien", "other version", "locked"]
    chosen = rng.sample(sorted(stores), max(len(ways), count // 100))
    expected, holders = {}, []
    for number, path in enumerate(chosen):
        way = ways[number % len(ways)]
        if way == "locked":
            holder = sqlite3.connect(path, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            holders.append(holder)
            expected[path] = {"inUse"}
        else:
            expected[path] = spoil(path, way)
    done = lab.tool.call("fleet", "run", os.path.join(folder, "F"), "--retries", 1)
    require(done.returncode in (65, 66, 69, 78), f"the run ended with {done.returncode}")
    told = lab.status(folder, expect=done.returncode)
    failed = lab.listed(folder, "--failed")
    require(set(failed) == set(expected), f"failed: {set(failed) ^ set(expected)}")
    for path, entry in failed.items():
        require(entry["reason"] in expected[path], f"{path}: {entry['reason']}")
        require(path in entry["sentences"][0], f"no place in {entry['sentences']}")
        require(entry["attempts"] == (2 if entry["reason"] == "inUse" else 1),
                f"{path}: {entry['attempts']} attempts")
    require(told["failed"] == len(expected), "the status counts other failures")
    lab.require_migrated({p: n for p, n in stores.items() if p not in expected})
    for holder in holders:
        holder.rollback()
        holder.close()
    for path in expected:
        with open(path, "wb") as file:
            file.write(lab.olds[stores[path]])
    lab.tool.run("fleet", "retry", os.path.join(folder, "F"))
    lab.require_migrated(stores)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def disturbed(lab, folder, command, rng, longest):
    """Runs a command that is killed at a random moment; whether it ended before."""
    process = lab.tool.start(*command)
    ends = time.monotonic() + rng.uniform(0.05, longest)
    while time.monotonic() < ends and process.poll() is None:
        time.sleep(0.01)
        workers = children(process.pid)
        if workers and rng.random() < 0.01:
            os.kill(rng.choice(workers), signal.SIGKILL)
    ended = process.poll() is not None
    if not ended:
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        process.wait(timeout=60)
    wait_for_workers(folder)
    state = os.path.join(folder, "F", "state.mdb")
    if rng.random() < 0.2 and os.path.exists(state):
        os.remove(state)
    for results in glob.glob(os.path.join(folder, "F", "results", "*.ndjson")):
        if rng.random() < 0.1:
            os.truncate(results, rng.randrange(os.path.getsize(results) + 1))
    return ended


def wait_for_workers(folder, patience=20):
    """Workers whose coordinator was killed end at once; what they held is free then."""
    deadline = time.monotonic() + patience
    while True:
        held = False
        for link in glob.glob("/proc/[0-9]*/fd/*"):
            try:
                held = held or os.readlink(link).startswith(os.path.join(folder, "users"))
            except OSError:
                pass
        if not held:
            return
        require(time.monotonic() < deadline, "workers of a run that ended go on")
        time.sleep(0.05)


def kills(lab, count, most, rng):
    done = 0
    while done < most:
        folder, stores = lab.fleet(count)
        command = ["fleet", "run", os.path.join(folder, "F"), "--jobs", 2]
        if rng.random() < 0.4:
            command += ["--element", "0/1"]
        for _ in range(8):
            done += 1
            if disturbed(lab, folder, command, rng, 0.4 + count / 40):
                break
        lab.tool.run(*command)
        lab.require_migrated(stores)
        told = lab.status(folder)
        require(told["migrated"] == count, f"after kills {told}")
        shutil.rmtree(folder)


def crashes(lab, _count, _kills, _rng):
    listed = lab.tool.run("--version", environment={"GODWIT_FAULTS": "list"}).stdout.split()
    for point in ("coordinator:assembled", "coordinator:journaled", "coordinator:kept",
                  "coordinator:swapped"):
        if point not in listed:
            return  # a build for release
        folder, stores = lab.fleet(3)
        fleet = os.path.join(folder, "F")
        ends = 0 if point == "coordinator:swapped" else 70
        lab.tool.run("fleet", "run", fleet, expect=ends, environment={"GODWIT_FAULT": point})
        told = lab.status(folder, expect=ends)
        if ends:
            reasons = {f["reason"]: f["stores"] for f in told["failures"]}
            require(reasons == {"workerCrashed": 3}, f"{point}: {reasons}")
            lab.tool.run("fleet", "retry", fleet)
        lab.require_migrated(stores)


def stops(lab, count, _kills, _rng):
    for number in (signal.SIGTERM, signal.SIGINT):
        folder, stores = lab.fleet(count * 4)
        process = lab.tool.start("fleet", "run", os.path.join(folder, "F"))
        time.sleep(1)
        process.send_signal(number)
        status = process.wait(timeout=30)
        require(status == 75, f"a run that got signal {number} ended with {status}")
        wait_for_workers(folder, 0)
        told = lab.status(folder, expect=75)
        require(told["state"] == "incomplete" and told.get("stopped") == "interrupted",
                f"a run that was stopped is told as {told}")
        lab.tool.run("fleet", "run", os.path.join(folder, "F"))
        lab.require_migrated(stores)


def limits(lab, count, _kills, rng):
    folder, stores = lab.fleet(count)
    spoiled = rng.sample(sorted(stores), 4)
    for path in spoiled:
        spoil(path, "text")
    fleet = os.path.join(folder, "F")
    lab.tool.run("fleet", "run", fleet, "--canary", count, expect=75)
    lab.tool.run("fleet", "run", fleet, expect=65)
    folder, stores = lab.fleet(count)
    for path in spoiled:
        other = path.replace(os.path.dirname(os.path.dirname(os.path.dirname(path))), folder)
        spoil(other, "text")
    fleet = os.path.join(folder, "F")
    done = lab.tool.run("fleet", "run", fleet, "--jobs", 1, "--max-failures", 1, expect=75)
    require("which is the limit" in done.stderr, f"no limit is told: {done.stderr[-300:]}")
    lab.status(folder, expect=75)
    lab.tool.run("fleet", "run", fleet, expect=65)
    folder, stores = lab.fleet(count)
    done = lab.tool.run("fleet", "run", os.path.join(folder, "F"), "--canary", 6)
    require("canary of 6 stores" in done.stderr, f"no canary is told: {done.stderr[-300:]}")
    lab.require_migrated(stores)


def rollback(lab, count, _kills, rng):
    folder, stores = lab.fleet(count)
    fleet = os.path.join(folder, "F")
    lab.tool.run("fleet", "run", fleet)
    one = rng.choice(sorted(stores))
    lab.tool.run("fleet", "rollback", fleet, one)
    require(read(one) == lab.olds[stores[one]], f"{one} is not the old store")
    lab.tool.run("fleet", "rollback", fleet)
    for path, name in stores.items():
        require(read(path) == lab.olds[name], f"{path} is not the old store")
    require(lab.status(folder, expect=75)["rolledBack"] == count, "not all are told back")
    lab.tool.run("fleet", "run", fleet, expect=75)
    require(read(one) == lab.olds[stores[one]], "a run migrates what was rolled back")
    lab.tool.run("fleet", "retry", fleet, "--rolled-back")
    require(lab.status(folder)["migrated"] == count, "not all are migrated again")


def many_versions(folder, count):
    """A model of so many versions before its current one, each with an attribute more; its path
    and the names of the versions."""
    bundle = os.path.join(folder, "Many.xcdatamodeld")
    shutil.copytree(MODEL, bundle)
    names = [f"Library {number}" for number in range(1, count + 2)]
    mark = '<attribute name="born" '
    with open(os.path.join(bundle, "Library 3.xcdatamodel", "contents"), encoding="utf-8") as file:
        text = file.read()
    require(mark in text, "the model has another text")
    for number, name in enumerate(names[3:]):
        text = text.replace(mark, f'<attribute name="added{number}" optional="YES" '
                                  f'attributeType="Integer 64"/>\n        {mark}', 1)
        os.makedirs(os.path.join(bundle, f"{name}.xcdatamodel"))
        with open(os.path.join(bundle, f"{name}.xcdatamodel", "contents"), "w",
                  encoding="utf-8") as file:
            file.write(text.replace('userDefinedModelVersionIdentifier="3"',
                                    f'userDefinedModelVersionIdentifier="{number + 4}"'))
    current = os.path.join(bundle, ".xccurrentversion")
    with open(current, encoding="utf-8") as file:
        text = file.read()
    with open(current, "w", encoding="utf-8") as file:
        file.write(text.replace("Library 3", names[-1]))
    return bundle, names[:-1]


def compact(path, folder):
    """The bytes of a copy by VACUUM INTO."""
    copy = os.path.join(folder, "compact")
    store = sqlite3.connect(path)
    store.execute("VACUUM INTO ?", (copy,))
    store.close()
    data = read(copy)
    os.remove(copy)
    return data


def versions(lab, count, _kills, _rng):
    """Stores of ten versions, and of a thousand or more one that gets all workers."""
    model, names = many_versions(lab.folder, 10)
    scratch = os.path.join(lab.folder, "many")
    os.makedirs(scratch)
    many = Lab(lab.tool, scratch, lab.rows, model, names)
    folder, stores = many.fleet(count)
    fleet = os.path.join(folder, "F")
    giant = os.path.join(folder, "users", "giant.sqlite") if count >= 1000 else None
    if giant:
        lab.tool.run("generate", model, "--version", names[0], "--rows", 250_000, "--output", giant)
        shutil.rmtree(os.path.join(folder, "users", ".giant_SUPPORT"), ignore_errors=True)
        require(os.path.getsize(giant) > 64 << 20, "the giant is no giant")
        lab.tool.run("migrate", giant, "--to", model, "--output", os.path.join(scratch, "giant"))
        os.remove(os.path.join(fleet, "fleet.json"))
        lab.tool.run("fleet", "create", fleet, os.path.join(folder, "users"), "--to", model)
        count += 1
    lab.tool.run("fleet", "run", fleet)
    if giant:
        # Places of pages depend on the number of workers.
        require(compact(giant, scratch) == compact(os.path.join(scratch, "giant"), scratch),
                "the giant is not what a single migration makes")
    many.require_migrated(stores)
    told = many.status(folder)
    require(told["migrated"] == count, f"not all are migrated: {told}")
    found = {v.get("version"): v["stores"].get("migrated", 0) for v in told["versions"]}
    require(len(found) == len(names) and sum(found.values()) == count,
            f"the versions of the status: {found}")
    shutil.rmtree(folder)


def schemas(lab, count, _kills, _rng):
    """Stores of one version whose schemas differ in pages, order or encoding."""
    scratch = os.path.join(lab.folder, "schemas")
    os.makedirs(scratch)
    mixed = copy.copy(lab)
    mixed.olds, mixed.news = {}, {}
    for seed in ("01", "02"):
        store = os.path.join(scratch, "S.sqlite")
        for what in other_schemas(store):
            with open(store, "wb") as file:
                file.write(lab.olds[seed])
            other_schemas(store)[what](what.split()[0])
            name = f"{what}, {seed}"
            mixed.olds[name] = read(store)
            lab.tool.run("migrate", store, "--to", lab.model, "--output", store + ".new")
            mixed.news[name] = read(store + ".new")
            os.remove(store + ".new")
    folder, stores = mixed.fleet(max(count, 2 * len(mixed.olds)))
    lab.tool.run("fleet", "run", os.path.join(folder, "F"))
    mixed.require_migrated(stores)


CASES = {case.__name__: case for case in (
    same, schemas, bad, crashes, kills, limits, stops, rollback, versions)}


def main():
    p = parser(__doc__.splitlines()[0], needs_corpus=False)
    p.add_argument("--stores", type=int, default=60, help="of most fleets")
    p.add_argument("--rows", type=int, default=200, help="objects of a store")
    p.add_argument("--kills", type=int, default=12)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", nargs="*", choices=sorted(CASES), default=sorted(CASES))
    options = p.parse_args()
    options.jobs = 1
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        lab = Lab(Tool(options.godwit), os.path.realpath(scratch), options.rows)

        def one(name, folder):
            lab.folder = os.path.realpath(folder)
            CASES[name](lab, options.stores, options.kills, random.Random(f"{name} {options.seed}"))

        run_cases(options, [(name, partial(one, name)) for name in options.only], "fleets")


if __name__ == "__main__":
    main()
