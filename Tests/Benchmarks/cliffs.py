#!/usr/bin/env python3
"""Measures many kinds of migrations in turn with what else one could do, and prints one table.

usage: scripts/bench cliffs [--scale S] [--only NAME[,NAME...]] [--rounds N] [--godwit PATH]
                            [--work DIR] [--history DIR] [--list]

x is the time of the other way divided by ours, round by round. SQL is what an expert would write by
hand: INSERT ... SELECT and CREATE INDEX in one transaction of one SQLite process, without journal
and syncs, with a cache of 1 GiB. After each round all results have to have the same rows: as many
in each table, and in each column as many values with the same sum. The tool is as scripts/install
makes it. Memory is private memory (anonymous, shared and swapped) of all processes together, looked
at every 20 ms in a round of its own, which warms up as well, and so is the disk that all files
take; beside it stands what `plan` asks for. Scale 1 makes stores of millions of rows, one at a
time; the default is 0.1.

What was measured goes into a file of its own in DIR, docs/performance if not given. The status is 1
if a workload failed or made other rows.
"""
import argparse
import datetime
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import by_hand
from lab import Lab, Skipped
from measuring import Failed, files_below, span, take_turns
from workloads import WORKLOADS

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def judge(runs):
    """Compares what the runs have made, store by store, with what the last of them has."""
    found = {run: {os.path.relpath(path, run.folder): by_hand.contents(path)
                   for path in sorted(files_below(run.folder)) if path.endswith(".sqlite")}
             for run in runs if run.folder}
    if not found:
        return
    *others, (last, expected) = sorted(
        found.items(), key=lambda item: item[0].name.startswith("SQL"))
    if not expected:
        raise Failed(f"{last.name} made nothing")
    for run, actual in others:
        if actual.keys() != expected.keys():
            raise Failed(f"{run.name} made {len(actual)} stores, {last.name} {len(expected)}")
        for name in expected:
            differs = by_hand.difference(expected[name], actual[name], run.loose or last.loose)
            if differs:
                raise Failed(f"{run.name} made other rows than {last.name}: {differs}")


def mebibytes(run):
    return round(run.peak / 1024, 1)


def rows(name, what, case):
    """A row of the history for each of the other ways, or one without."""
    base = {"workload": name, "what": what, "objects": case.objects, "stores": case.stores,
            "bytes": case.size, "seconds": [round(s, 4) for s in case.ours.walls],
            "peakMiB": mebibytes(case.ours)}
    needed = case.ours.disk_needed()
    if needed is not None:
        base.update(peakDiskMB=round(case.ours.disk / 1e6, 1), neededDiskMB=round(needed / 1e6, 1))
    for other in case.others:
        ratios = [b / a for a, b in zip(case.ours.walls, other.walls)]
        yield {**base, "against": other.name,
               "otherSeconds": [round(s, 4) for s in other.walls],
               "otherPeakMiB": mebibytes(other),
               "times": round(statistics.median(ratios), 4),
               "timesRange": [round(min(ratios), 4), round(max(ratios), 4)]}
    if not case.others:
        yield base


def times(ratio):
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.4f}"


def line(row):
    """A row of the table."""
    size = f"{row['objects']:,} objects, {row['bytes'] / 1e6:,.1f} MB"
    if row["stores"] > 1:
        rate = row["stores"] / statistics.median(row["seconds"])
        size = f"{row['stores']} stores, {rate:.0f} a second"
    cells = [f"`{row['workload']}`: {row['what']}; {size}", span(row["seconds"], " s", 3)]
    if "against" in row:
        low, high = row["timesRange"]
        cells += [f"{row['against']} {span(row['otherSeconds'], ' s', 3)}",
                  f"{times(row['times'])} [{times(low)}-{times(high)}]"]
    else:
        cells += ["", ""]
    disk = f"{row['peakDiskMB']:.0f} of {row['neededDiskMB']:.0f}" if "neededDiskMB" in row else ""
    return "| " + " | ".join([*cells, f"{row['peakMiB']:.0f}", disk]) + " |"


def measure(name, options):
    what, make = WORKLOADS[name]
    with Lab(options.godwit, os.path.join(options.work, name), options.scale) as lab:
        case = make(lab)
        take_turns([case.ours, *case.others], options.rounds, judge)
        return list(rows(name, what, case))


def installed(tool, folder):
    """The tool as `scripts/install` makes it, with PolicyTool if that lies beside it."""
    for name in (os.path.basename(tool), "PolicyTool"):
        path, copy = os.path.join(os.path.dirname(tool), name), os.path.join(folder, name)
        if os.path.exists(path) and subprocess.run(
                ["strip", "-o", copy, path], stderr=subprocess.DEVNULL).returncode:
            shutil.copy2(path, copy)  # no executable of a linker's
    return os.path.join(folder, os.path.basename(tool))


def machine():
    with open("/proc/meminfo", encoding="utf-8") as file:
        kib = next(int(text.split()[1]) for text in file if text.startswith("MemTotal:"))
    return {"cores": len(os.sched_getaffinity(0)), "memoryMiB": kib // 1024,
            "load": round(os.getloadavg()[0], 1)}


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().strip()


def record(folder, options, before, measured):
    """The path of a file with what was measured, and on what."""
    now = datetime.datetime.now(datetime.timezone.utc)
    version = said(options.godwit, "--version")
    commit = version.partition("(")[2].rstrip(")") or said(
        "git", "-C", ROOT, "rev-parse", "--short=12", "HEAD")
    text = {"version": 1, "commit": commit, "godwit": version.split()[0],
            "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), **before,
            "sqlite": said("sqlite3", "--version").split()[0], "scale": options.scale,
            "rounds": options.rounds}
    path = os.path.join(folder, f"{now:%Y%m%dT%H%M%S}-{commit.rstrip('+')}.json")
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        head = json.dumps(text, indent=2)[:-2]
        body = ",\n".join("    " + json.dumps(row) for row in measured)
        file.write(f'{head},\n  "rows": [\n{body}\n  ]\n}}\n')
    return path


def parsed(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--only")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--godwit")
    parser.add_argument("--work", default="/tmp/godwit-cliffs")
    parser.add_argument("--history", default=os.path.join(ROOT, "docs", "performance"))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    options.names = options.only.split(",") if options.only else list(WORKLOADS)
    unknown = [name for name in options.names if name not in WORKLOADS]
    if unknown:
        parser.error(f"no workload is called {', '.join(unknown)}; --list names all")
    if options.rounds < 1 or options.scale <= 0:
        parser.error("--rounds is at least 1, and --scale more than 0")
    return options


def main(arguments):
    options = parsed(arguments)
    if options.list:
        print("\n".join(f"{name:22} {what}" for name, (what, _) in WORKLOADS.items()))
        return 0
    # What is mounted goes away at the end of a workload, however it ends.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if not options.godwit:
        subprocess.run([os.path.join(ROOT, "scripts", "build-release")], check=True)
        options.godwit = os.path.join(ROOT, ".build", "release", "godwit")
    options.godwit, options.work = map(os.path.abspath, (options.godwit, options.work))
    before = machine()
    with tempfile.TemporaryDirectory(prefix="godwit-cliffs-tool-") as folder:
        options.godwit = installed(options.godwit, folder)
        return measure_all(options, before)


def measure_all(options, before):
    measured, wrong = [], []
    print("| workload | ours | other | x | MiB in all | MB of disk, of those needed |\n"
          "|---|---|---|---|---|---|", flush=True)
    for name in options.names:
        try:
            new = measure(name, options)
        except Skipped as reason:
            print(f"| `{name}` | skipped: {reason} | | | |", flush=True)
            continue
        except (Failed, ValueError, sqlite3.Error) as reason:
            wrong.append(name)
            print(f"| `{name}` | failed: {reason} | | | |", flush=True)
            continue
        measured += new
        print("\n".join(map(line, new)), flush=True)
    if measured:
        path = record(options.history, options, before, measured)
        print(f"\n{before['cores']} cores, {before['memoryMiB']} MiB, load {before['load']} at the "
              f"start, scale {options.scale:g}, {options.rounds} rounds: {path}")
    if wrong:
        print(f"failed: {', '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
