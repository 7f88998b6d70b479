#!/usr/bin/env python3
"""Watches a slowed migration from another process, every 20 ms, through `godwit status --json`.

usage: status_watch.py --godwit P --corpus D [--slow MILLISECONDS] [--scratch S]
"""
import json
import os
import signal
import time

from fault_points import Lab
from run import Failure, Tool, parser, run_cases, said

PERIOD, DISTINCT, EXITING = 0.02, 10, 2
PART_KEYS = ("workOrder", "partition", "state", "attempt", "process", "table")


def poll(tool, output, process):
    """What the status said until the migration ended.

    A status that is gone for good belongs to a migration that has nothing left but to exit; one
    that comes back, or whose migration goes on, was lost in its midst.
    """
    seen, problems, deadline, lost = [], set(), time.monotonic() + 300, None
    while process.poll() is None:
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            raise Failure("the migration did not end within 300 s")
        started = time.monotonic()
        done = tool.call("status", output, "--json")
        if done.returncode == 0:
            if lost:
                problems.add(lost[1])
            lost = None
            try:
                seen.append(json.loads(done.stdout))
            except ValueError:
                problems.add(f"no JSON on standard output: {done.stdout[:200]!r}")
        elif seen and not lost:
            lost = (started, f"status: exit {done.returncode} in the midst of the migration: "
                             f"{done.stderr.strip()[:200]}")
        time.sleep(max(0, PERIOD - (time.monotonic() - started)))
    if lost and time.monotonic() - lost[0] > EXITING:
        problems.add(lost[1])
    return seen, problems


def judge(seen):
    missing = {k for s in seen for k in ("fraction", "phase", "parts") if k not in s}
    if missing:
        return [f"the status lacks {', '.join(sorted(missing))}"]
    fractions, out = [s["fraction"] for s in seen], []
    out += [f"fraction {f} is not between 0 and 1" for f in set(fractions) if not 0 <= f <= 1]
    out += [f"fraction fell from {a} to {b}" for a, b in zip(fractions, fractions[1:]) if b < a]
    if len(set(fractions)) < DISTINCT:
        out.append(f"{len(set(fractions))} distinct fractions in {len(seen)} polls, expected at "
                   f"least {DISTINCT}")
    parts = [p for s in seen for p in s["parts"]]
    lacking = {k for p in parts for k in PART_KEYS if k not in p}
    if lacking:
        return out + [f"a part lacks {', '.join(sorted(lacking))}"]
    return out + judge_parts(seen, parts)


def judge_parts(seen, parts):
    running = [p for p in parts if p["state"] == "running"]
    states = sorted({p["state"] for p in parts})
    out = [] if running else [f"no part was ever running, but {states}"]
    for p in running:
        if not p["partition"] or not p["table"] or not p["process"] or p["attempt"] != 1:
            out.append(f"a running part lacks its partition, table, process or attempt: {p}")
    busy = max((len({p["process"] for p in s["parts"] if p["state"] == "running"}) for s in seen),
               default=0)
    if busy < 2:
        out.append(f"at most {busy} workers were seen running at once, expected 2")
    if any(len({p["workOrder"] for p in s["parts"]}) < len(s["parts"]) for s in seen):
        out.append("part numbers are not distinct")
    return out


def check(lab, slow, folder):
    source, output = lab.source(folder), os.path.join(folder, "result.sqlite")
    process = lab.tool.start(*lab.arguments(source, output), environment={"GODWIT_SLOW": str(slow)})
    seen, problems = poll(lab.tool, output, process)
    if process.returncode != 0:
        raise Failure(f"the migration ended with {process.returncode}: {said(process)[-400:]}")
    if not seen:
        raise Failure("the status was never readable while the migration ran")
    return sorted(problems) + judge(seen)


def main():
    p = parser(__doc__)
    p.add_argument("--slow", type=int, default=50, help="milliseconds per piece")
    options = p.parse_args()
    lab = Lab(Tool(options.godwit), options.corpus)
    run_cases(options, [("slowed migration", lambda f: check(lab, options.slow, f))], "watches")


if __name__ == "__main__":
    main()
