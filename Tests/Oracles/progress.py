#!/usr/bin/env python3
"""What migrations told of the time left, against the time that they then took: plain rows, rows
with look-ups and indexes, objects with a policy, and a run that goes on after a kill. By
`scripts/long progress`, with a release build, on a machine that does nothing else.

usage: progress.py --godwit P [--scale N] [--only TEXT] [--keep-reports FOLDER] [--scratch S]
Beside the tool must lie PolicyTool of the same build.

Every report has samples: at each tenth of the run after the first, what was told then has to be
between half and double of the truth, or within half a second of it, from the first row on; no
fraction falls, and none stands still for 2 s. `plan` has to tell the time within a factor of 2 of
what it takes on two cores. --keep-reports leaves the reports in a folder.
"""
import json
import os
import shutil
import signal
import time

import policy
from run import Failure, Tool, parser, run_cases

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
LEAST, SILENCE, FACTOR = 0.5, 2.0, 2


def judge(report):
    """What was told falsely, and how far off each tenth was."""
    timeline, out, errors = report["timeline"], [], []
    samples, end = timeline["samples"], timeline["seconds"]
    for tenth in range(2, 10):
        at = end * tenth / 10
        sample = min(samples, key=lambda s: abs(s["at"] - at))
        truth, told = end - sample["at"], sample.get("secondsRemaining")
        if told is None and (sample["at"] < LEAST or sample["phase"] in ("surveying", "planning")):
            continue
        if told is None:
            out.append(f"at {tenth} tenths nothing was told")
            continue
        errors.append((told - truth) / truth)
        if abs(told - truth) > LEAST and not truth / FACTOR <= told <= truth * FACTOR:
            out.append(f"at {tenth} tenths ({sample['phase']}) {told:.1f} s were told, it was "
                       f"{truth:.1f} s")
    since = samples[0]
    for before, now in zip(samples, samples[1:]):
        if now["fraction"] < before["fraction"]:
            out.append(f"the fraction falls at {now['at']:.1f} s")
        if now["fraction"] > since["fraction"] or now["isHeld"]:
            since = now
        elif now["at"] - since["at"] > SILENCE:
            out.append(f"nothing moves from {since['at']:.1f} s on ({since['phase']})")
            since = now
    return out, errors


class Workload:
    """A migration whose report is judged."""

    def __init__(self, tool, keep, folder, name):
        self.tool, self.keep, self.folder, self.name = tool, keep, folder, name
        self.report = os.path.join(folder, "report.json")

    def judge(self, command, tool=None, plans=True):
        """Plans and migrates; what was told falsely."""
        planned = None
        if plans:
            at = command.index("--output")
            rest = [w for w in command[1:at] + command[at + 2:]]
            planned = self.tool.json("plan", *strip(rest), "--json")["secondsEstimated"]
        # What was made for the run is not to go to the disk meanwhile.
        os.sync()
        (tool or self.tool).run(*command, "--report", self.report)
        with open(self.report, encoding="utf-8") as file:
            report = json.load(file)
        if self.keep:
            shutil.copy(self.report, os.path.join(self.keep, f"{self.name}.json"))
        out, errors = judge(report)
        seconds = report["timeline"]["seconds"]
        told = " ".join(f"{100 * e:+.0f}" for e in errors)
        print(f"{self.name}: {seconds:.1f} s, off by {told} %"
              + (f", plan told {planned:.1f} s" if planned else ""), flush=True)
        if planned and not 1 / FACTOR < planned / seconds < FACTOR:
            out.append(f"plan told {planned:.1f} s, it was {seconds:.1f} s")
        return out


def strip(words):
    """Without the options that plan does not take."""
    result, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word == "--engine":
            skip = True
        else:
            result.append(word)
    return result


def library(tool, folder, rows):
    store = os.path.join(folder, "Library.sqlite")
    tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", rows, "--output", store)
    return store


def plain(work, rows):
    store = library(work.tool, work.folder, rows)
    return work.judge(["migrate", store, "--to", LIBRARY, "--output",
                       os.path.join(work.folder, "N.sqlite"), "--engine", "sql"], plans=False)


def pages(work, rows):
    store = library(work.tool, work.folder, rows)
    return work.judge(["migrate", store, "--to", LIBRARY, "--output",
                       os.path.join(work.folder, "N.sqlite")])


def objects(work, rows):
    places = {}
    for name, text in policy.model().items():
        places[name] = os.path.join(work.folder, name + ".xcdatamodel")
        os.makedirs(places[name])
        with open(os.path.join(places[name], "contents"), "w", encoding="utf-8") as file:
            file.write(text)
    mapping = os.path.join(work.folder, "gathering.json")
    with open(mapping, "w", encoding="utf-8") as file:
        json.dump(policy.gathering(), file)
    store = policy.store(work.tool, places["together"], work.folder, rows)
    with_policies = Tool(os.path.join(os.path.dirname(work.tool.path), "PolicyTool"))
    return work.judge(
        ["migrate", store, "--to", places["apart"], "--models", places["together"], "--mapping",
         mapping, "--output", os.path.join(work.folder, "N.sqlite")], tool=with_policies,
        plans=False)


def resumed(work, rows):
    store = library(work.tool, work.folder, rows)
    command = ["migrate", store, "--to", LIBRARY, "--output",
               os.path.join(work.folder, "N.sqlite"), "--engine", "sql", "--range-rows",
               rows // 40]
    process = work.tool.start(*command)
    while True:
        time.sleep(0.02)
        if process.poll() is not None:
            raise Failure("the run to be killed has ended")
        status = json.loads(work.tool.call("status", command[5], "--json").stdout or "{}")
        if status.get("bytesTotal") and status["bytesDone"] > status["bytesTotal"] * 0.4:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return work.judge(command, plans=False)


def planted():
    """What the judge has to find."""
    def run(told, stands=False):
        fractions = (i / 100 if not stands or i < 50 else 0.5 for i in range(100))
        samples = [{"at": i / 2, "fraction": f, "phase": "migrating", "isHeld": False,
                    "secondsRemaining": told(50 - i / 2)} for i, f in enumerate(fractions)]
        return {"timeline": {"seconds": 50, "samples": samples}}
    out = []
    if judge(run(lambda truth: truth))[0]:
        out.append("a true run is judged false")
    for what, report in (("a time too short", run(lambda truth: truth * 0.4)),
                         ("a time too long", run(lambda truth: truth * 2.2)),
                         ("no time", run(lambda truth: None)),
                         ("a standstill", run(lambda truth: truth, stands=True))):
        if not judge(report)[0]:
            out.append(f"{what} is not found")
    return out


KINDS = {
    "plain": (plain, 1_500_000), "pages": (pages, 10_000_000), "objects": (objects, 400_000),
    "resumed": (resumed, 1_500_000),
}


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--scale", type=float, default=1, help="of the stores")
    p.add_argument("--only", default="", help="a text in the names of workloads")
    p.add_argument("--keep-reports", help="a folder for the reports")
    options = p.parse_args()
    options.jobs = 1
    if options.keep_reports:
        os.makedirs(options.keep_reports, exist_ok=True)
    tool = Tool(options.godwit, timeout=3600)

    def case(name):
        body, rows = KINDS[name]
        return name, lambda folder: body(
            Workload(tool, options.keep_reports, folder, name), int(rows * options.scale))

    cases = [case(name) for name in KINDS if options.only in name]
    run_cases(options, cases + [("planted", lambda _: planted())], "workloads")


if __name__ == "__main__":
    main()
