#!/usr/bin/env python3
"""Kills workers and the coordinator at every fault point of a debug build.

A killed worker's work order is done again, and the result is that of an unharmed run. No worker
outlives a killed coordinator, the source stays as it is, and the next run gives the same result.
The tool lists its fault points itself: each is tried in a migration in place, with an output and
in stages, and has to be reached in one of them.

usage: fault_points.py --godwit P --corpus D [--scratch S]
"""
import glob
import json
import os
import signal
import time
import uuid

from coredata import bundles
from run import (KEEP_RECORD, Failure, Tool, fingerprint, parser, run_cases, said, same_bytes,
                 unchanged, vacuumed)
from store import copy_store

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ROWS, SEED = 4000, 7
FLAGS = ("--infer-only", "--workers", 2, "--range-rows", 100)
TAG = "GODWIT_ORACLE_RUN"
GRACE_SECONDS = 2


class Lab:
    """A generated store and the models between which it is migrated."""

    def __init__(self, tool, corpus):
        self.tool, self.bundle = tool, bundles(corpus)["openemu"]
        self.old = self.bundle.models["OEDatabase 1.2"]

    def source(self, folder):
        path = os.path.join(folder, "source", "F.sqlite")
        os.makedirs(os.path.dirname(path))
        self.tool.run("generate", self.old.path, "--rows", ROWS, "--seed", SEED, "--output", path)
        return path

    def arguments(self, source, output):
        return ("migrate", source, "--to", self.bundle.path, "--output", output, *FLAGS)


def attempts(value):
    """Every number under a key `attempts`, anywhere in a report."""
    if isinstance(value, dict):
        own = [v for k, v in value.items() if k == "attempts" and isinstance(v, int)]
        return own + [n for v in value.values() for n in attempts(v)]
    return [n for v in value for n in attempts(v)] if isinstance(value, list) else []


def fault_points(tool):
    """All points at which a debug build may be killed, as it lists them itself."""
    listed = tool.run("--version", environment={"GODWIT_FAULTS": "list"}).stdout.split()
    if not listed or not all(p.startswith(("worker:", "coordinator:", "instant:"))
                             for p in listed):
        raise SystemExit(f"no fault points, is this a debug build? {listed}")
    # Only stores of a fleet get to these: instant_swaps.py.
    listed = [p for p in listed if not p.startswith("instant:")]
    unknown = tool.call("--version", environment={"GODWIT_FAULT": "coordinator:nowhere"})
    if unknown.returncode != 64:
        raise SystemExit(f"a fault point that does not exist: exit {unknown.returncode}")
    return listed


class Sample:
    """A store of the sample model, and what comes of it."""

    SCENARIOS = {
        "with an output": (False, ()),
        "in place": (True, ()),
        "in stages": (False, ("--progressive", "--stepwise")),
        "in place, in stages": (True, ("--progressive", "--stepwise")),
    }

    def __init__(self, tool, folder):
        self.tool, self.store = tool, os.path.join(folder, "Whole.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--seed", SEED,
                 "--output", self.store)
        whole = os.path.join(folder, "Expected.sqlite")
        tool.run("migrate", self.store, "--to", LIBRARY, "--output", whole)
        self.old, self.new = content(self.store), content(whole)


def content(path):
    with open(vacuumed(path), "rb") as file:
        return file.read()


def check_point(tool, point, folder):
    """Kills at a point of every kind of migration that gets there."""
    sample, reached, out = Sample(tool, folder), [], []
    for name, (in_place, more) in Sample.SCENARIOS.items():
        own = os.path.join(folder, name)
        os.mkdir(own)
        was_reached, found = check_scenario(sample, point, own, in_place, more)
        reached += [name] * was_reached
        out += [f"{name}: {line}" for line in found]
    return out if reached else out + ["no migration gets there, so nothing was tried"]


def check_scenario(sample, point, folder, in_place, more):
    store = copy_store(sample.store, folder, "Shop.sqlite")
    result = store if in_place else os.path.join(folder, "New.sqlite")
    report = os.path.join(folder, "report.json")
    command = ["migrate", store, "--to", LIBRARY, "--workers", 2, "--range-rows", 100, "--report",
               report, KEEP_RECORD, *more, *([] if in_place else ["--output", result])]
    done = sample.tool.call(*command, environment={"GODWIT_FAULT": point})
    if point.startswith("worker:"):
        if done.returncode != 0:
            return True, [f"exit {done.returncode}: {done.stderr[-300:]}"]
        with open(report) as file:
            was_reached = max(attempts(json.load(file)), default=1) == 2
    else:
        was_reached = done.returncode == -signal.SIGKILL
        if not was_reached and done.returncode != 0:
            return False, [f"exit {done.returncode}: {done.stderr[-300:]}"]
    out = []
    if was_reached and not point.startswith("worker:"):
        if content(store) not in ((sample.old, sample.new) if in_place else (sample.old,)):
            out.append("the store is neither the old one nor the new one after the kill")
        sample.tool.run(*command)
    if content(result) != sample.new:
        out.append("another result than that of an undisturbed run")
    kept = [store] if not in_place else [
        p for p in glob.glob(glob.escape(store) + ".before-*") if not p.endswith(".vacuumed")]
    if len(kept) != 1 or content(kept[0]) != sample.old:
        out.append(f"the old store is not what it was: {kept}")
    if point.startswith("coordinator:"):
        out += lacks(result, in_place)
    return was_reached, out + [f"left behind: {n}" for n in os.listdir(folder)
                               if n.endswith(".godwit")]


def lacks(result, in_place):
    """What the record of a result lacks, whichever run recorded it."""
    with open(result + ".godwit-status.json") as file:
        record = json.load(file)
    found = {"rows": record.get("rows"), "way": record.get("way")}
    if in_place:
        found["oldStore"] = record.get("oldStore")
    return [f"the record has no {name}" for name, value in found.items() if not value]


def check_worker(lab, point, folder):
    source, report = lab.source(folder), os.path.join(folder, "report.json")
    before = fingerprint(os.path.dirname(source))
    whole, harmed = (os.path.join(folder, n + ".sqlite") for n in ("whole", "harmed"))
    lab.tool.run(*lab.arguments(source, whole))
    lab.tool.run(*lab.arguments(source, harmed), "--report", report,
                 environment={"GODWIT_FAULT": point})
    unchanged(before, os.path.dirname(source))
    same_bytes(whole, harmed, f"a worker killed at {point}, and an unharmed run")
    with open(report) as file:
        found = attempts(json.load(file))
    out = [] if found else ["the report has no `attempts`"]
    if found and max(found) != 2:
        out.append(f"the report's highest `attempts` is {max(found)}, expected 2: was none killed?")
    left = [n for n in os.listdir(folder) if n.endswith(".godwit")]
    return out + [f"left behind: {n}" for n in left]


def tagged(tag, folder, session):
    """Processes of a run: by environment, command line, open files or session."""
    out = {}
    for entry in glob.glob("/proc/[0-9]*"):
        pid = int(os.path.basename(entry))
        if pid != os.getpid() and alive(entry) and (
                holds(entry, "environ", tag) or holds(entry, "cmdline", folder)
                or session_of(entry) == session or opens(entry, folder)):
            out[pid] = read(entry, "cmdline").replace("\0", " ").strip()
    return out


def read(entry, name):
    try:
        with open(os.path.join(entry, name), "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def holds(entry, name, text):
    return text in read(entry, name)


def stat_fields(entry):
    """The fields after the command's name: state, parent, group, session, ..."""
    return read(entry, "stat").rpartition(")")[2].split()


def alive(entry):
    fields = stat_fields(entry)
    return bool(fields) and fields[0] not in "ZX"


def session_of(entry):
    fields = stat_fields(entry)
    return int(fields[3]) if len(fields) > 3 else None


def opens(entry, folder):
    for link in glob.glob(os.path.join(entry, "fd", "*")):
        try:
            if os.readlink(link).startswith(folder):
                return True
        except OSError:
            pass
    return False


def check_coordinator(lab, folder):
    source = lab.source(folder)
    before, output = fingerprint(os.path.dirname(source)), os.path.join(folder, "result.sqlite")
    tag = f"{TAG}={uuid.uuid4()}"
    name, _, value = tag.partition("=")
    process = lab.tool.start(*lab.arguments(source, output), environment={
        name: value, "GODWIT_FAULT": "coordinator:migrating", "GODWIT_SLOW": "100"})
    workers = set()
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        workers |= set(tagged(tag, folder, process.pid)) - {process.pid}
        time.sleep(0.01)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        raise Failure("the coordinator was not killed by its fault point within 60 s")
    if process.returncode != -signal.SIGKILL:
        raise Failure(f"the coordinator ended with {process.returncode}, not by SIGKILL: "
                      f"{said(process)[-300:]}")
    if not workers:
        raise Failure("no worker was seen while the coordinator lived")
    return outlived(tag, folder, process.pid) + after(lab, source, output, before, folder)


def outlived(tag, folder, session):
    end = time.monotonic() + GRACE_SECONDS
    left = tagged(tag, folder, session)
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = tagged(tag, folder, session)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return [f"still alive {GRACE_SECONDS} s after the coordinator: {pid} {command[:100]}"
            for pid, command in left.items()]


def after(lab, source, output, before, folder):
    unchanged(before, os.path.dirname(source))
    out = ["a result appeared all the same"] if os.path.exists(output) else []
    whole = os.path.join(folder, "whole.sqlite")
    lab.tool.run(*lab.arguments(source, whole))
    lab.tool.run(*lab.arguments(source, output))
    same_bytes(whole, output, "run again after the coordinator was killed")
    return out


def main():
    options = parser(__doc__).parse_args()
    tool = Tool(options.godwit)
    points = fault_points(tool)
    lab = Lab(tool, options.corpus)
    cases = [(f"killed at {point}", lambda f, p=point: check_point(tool, p, f))
             for point in points]
    cases += [(f"worker killed at {point}", lambda f, p=point: check_worker(lab, p, f))
              for point in points if point.startswith("worker:")]
    cases.append(("coordinator killed", lambda f: check_coordinator(lab, f)))
    run_cases(options, cases, "kills")


if __name__ == "__main__":
    main()
