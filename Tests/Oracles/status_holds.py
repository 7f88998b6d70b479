#!/usr/bin/env python3
"""Holds up the locks of a status file while a migration writes it: the migration goes on to its
result and says so once, and whoever reads is answered; processes that are stopped at random moments
are told as stopped, and the migration ends once they go on.

usage: status_holds.py --godwit P [--stops 3] [--scratch S]

Needs a C compiler and the headers of LMDB (`status_holders.c`). The tool must be a debug build.
"""
import json
import os
import random
import signal
import shutil
import subprocess
import tempfile
import time

from limits import Done
from run import Failure, Tool, parser, run_cases, said, same_bytes
from status_mutants import SECONDS, Ground, kill, status_file

HERE = os.path.dirname(os.path.abspath(__file__))


def compiled(folder):
    program = os.path.join(folder, "holders")
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program,
                    os.path.join(HERE, "status_holders.c"), "-llmdb", "-lpthread"], check=True)
    return program


def answers(tool, output, process, states):
    """Asks until the migration ends; what is wrong with the answers."""
    found, times = set(), 0
    while process.poll() is None:
        done = Done(tool, ("status", output, "--json"), limit=20)
        # It has its result, and no file to tell of, a moment before it ends.
        if process.poll() is None and not os.path.exists(output):
            found.update(done.faults(wrong=()))
            if done.wall > SECONDS:
                found.add(f"status took {done.wall:.0f} s")
            state = json.loads(done.out)["state"] if done.out else done.err.strip()
            if state not in states:
                found.add(f"status says {state}")
            times += 1
        if times > 600:
            return found | {"the migration never ends"}
        time.sleep(0.2)
    return found


def held(ground, program, what, warnings, moment, folder):
    """A lock is held for as long as the migration lasts."""
    output, holder = os.path.join(folder, "New.sqlite"), None
    # A fast machine must not be done before the lock is missed.
    process = ground.start(output, slow=60 if moment else 15)
    try:
        time.sleep(moment)
        holder = subprocess.Popen([program, status_file(output), what], stdout=subprocess.PIPE)
        if holder.stdout.readline() != b"held\n":
            raise Failure("nothing is held")
        if what == "write":
            # It stands still amid its transaction.
            os.kill(holder.pid, signal.SIGSTOP)
        begun = time.monotonic()
        found = answers(ground.tool, output, process, {"running", "paused"})
        lasted, text = time.monotonic() - begun, said(process)
        if process.returncode:
            found.add(f"ended with {process.returncode}: {text[-300:]}")
        else:
            same_bytes(ground.result, output, "the migration that was held up and the other")
        if lasted > 40:
            found.add(f"was held up: it took {lasted:.0f} s")
        if text.count("status file") != warnings:
            found.add(f"tells {text.count('status file')} times of it: {text[-300:]!r}")
        return sorted(found)
    finally:
        kill(process)
        if holder is not None:
            holder.kill()
            holder.wait()


def children(process):
    """The workers of a migration, as /proc tells them."""
    out = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == process.pid:
                    out.append(int(name))
        except (FileNotFoundError, ProcessLookupError, IndexError):
            continue
    return out


def stopped(ground, seed, folder):
    """The coordinator or a worker stands still at some moment, and goes on."""
    r = random.Random(f"stop {seed}")
    output, found = os.path.join(folder, "New.sqlite"), []
    process = ground.start(output, slow=25)
    try:
        time.sleep(r.uniform(0, 0.6))
        for _ in range(2):
            choice = ([process.pid] if r.random() < 0.3 else children(process)) or [process.pid]
            found += stop(ground, output, process, r.choice(choice), r)
        text, status = "", process.wait(60)
        text = said(process)
        if status:
            found.append(f"ended with {status}: {text[-300:]}")
        else:
            same_bytes(ground.result, output, "the migration that stood still and the other")
        return found
    except subprocess.TimeoutExpired:
        return found + ["the migration never ends"]
    finally:
        kill(process)


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def stop(ground, output, process, pid, r):
    """Stops a process for a while; what `status` says of it."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return []
    found, end, state, parts = [], time.monotonic() + 3 + SECONDS, None, []
    try:
        while time.monotonic() < end and state_of(pid) not in ("T", "Z", None):
            time.sleep(0.01)
        while time.monotonic() < end and process.poll() is None and state_of(pid) == "T":
            done = Done(ground.tool, ("status", output, "--json"), limit=20)
            found += done.faults(wrong=())
            told = json.loads(done.out) if done.out else {}
            state, parts = told.get("state", done.err), told.get("parts", [])
            if state == "paused":
                break
            time.sleep(0.1)
        if state not in ("paused", None) and state_of(pid) == "T" and process.poll() is None:
            # One that has said nothing yet, or has said that it is done, is none of a part at work.
            if pid == process.pid or any(
                    p["process"] == pid and p["state"] == "running" for p in parts):
                found.append(f"process {pid} stands still, and status says {state}")
        time.sleep(r.uniform(0, 0.3))
    finally:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    return found


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--stops", type=int, default=3, help="how many migrations are stopped")
    options = p.parse_args()
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    ground = Ground(Tool(options.godwit, timeout=120), os.path.join(base, "ground"))
    program = compiled(base)
    cases = [("a writer that stands still", lambda f: held(ground, program, "write", 1, 0, f)),
             ("a writer that stands still later",
              lambda f: held(ground, program, "write", 1, 0.4, f)),
             # Workers that start meanwhile tell nothing; the coordinator goes on to.
             ("a reader that stands still as it enters itself",
              lambda f: held(ground, program, "readers", 0, 0, f))]
    cases += [(f"stopped processes, {seed}", lambda f, s=seed: stopped(ground, s, f))
              for seed in range(options.stops)]
    try:
        run_cases(options, cases, "held status files")
    finally:
        kill(ground.stopped)
        if not options.scratch:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
