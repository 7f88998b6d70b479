#!/usr/bin/env python3
"""Mutants of the status file and its lock file: whoever reads one neither crashes nor hangs, tells
no end that was none, and names the file that cannot be read; a migration whose file is damaged in
the middle goes on to its result.

usage: status_mutants.py --godwit P [--seeds 1-60] [--live 20] [--sentences] [--keep]

The files are those of a killed, an interrupted and a stopped migration (`lmdb_files.py` damages
them). One seed of --live damages the files of a migration at work. The tool must be a debug build,
which can be slowed.
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import lmdb_files
from limits import Done
from metrics_text import Metrics
from run import Failure, Tool, judge_mutants, parser, said, same_bytes, seeds

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
# How `status` ends: with the state, or because there is nothing, or nothing that can be read.
KNOWN = {0, 65, 66, 69, 74, 75, 78}
SECONDS = 5


class Ground:
    """A store, what its migration makes, and status files of migrations in three states."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        os.makedirs(folder)
        self.store = os.path.join(folder, "Shop.sqlite")
        tool.run("generate", MODEL, "--version", "Library 1", "--rows", 2000, "--output",
                 self.store)
        self.result = os.path.join(folder, "Result.sqlite")
        tool.run(*self.command(self.result))
        # (state, the file, its lock file)
        self.files, self.stopped = [], None
        for state, number in (("dead", signal.SIGKILL), ("interrupted", signal.SIGTERM),
                              ("paused", signal.SIGSTOP)):
            output = os.path.join(folder, f"{state}.sqlite")
            process = self.start(output)
            os.kill(process.pid, number)
            if number == signal.SIGSTOP:
                self.stopped = process
            else:
                process.wait(60)
            told = tool.call("status", output, "--json")
            if json.loads(told.stdout).get("state") != state:
                raise SystemExit(f"a migration is not {state}: {told.stdout} {told.stderr}")
            self.files.append((state, *(read(status_file(output) + s) for s in ("", "-lock"))))

    def command(self, output):
        return ("migrate", self.store, "--to", MODEL, "--output", output, "--range-rows", "100")

    def start(self, output, slow=40):
        """A slowed migration, once it has a part."""
        process = self.tool.start(*self.command(output), environment={"GODWIT_SLOW": str(slow)})
        end = time.monotonic() + 60
        while not os.path.exists(output + ".godwit/shard-1.json"):
            if process.poll() is not None or time.monotonic() > end:
                kill(process)
                raise Failure(f"the migration never worked: {said(process)[-300:]}")
            time.sleep(0.01)
        return process


def kill(process):
    """Ends a migration of ours and its workers."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def status_file(output):
    return output + ".godwit/status.mdb"


def read(path):
    with open(path, "rb") as file:
        return file.read()


# MARK: Files at rest

def ask(tool, arguments):
    """An answer; one that took long is asked for once more, for the machine may be busy."""
    done = Done(tool, arguments, limit=20)
    return done if done.wall <= SECONDS else Done(tool, arguments, limit=20)


def faults(done, what, state):
    found = done.faults(wrong=())
    if done.wall > SECONDS:
        found.append(f"took {done.wall:.1f} s")
    if done.status not in KNOWN:
        found.append(f"status {done.status}: {done.err[-200:]}")
    told = "" if is_error(done.out) else done.out
    if is_end(told):
        found.append(f"tells of an end that was none: {told[:200]}")
    if not told and "status.mdb" not in done.err:
        found.append(f"names no file: {done.err[-200:]}")
    if told and done.err:
        found.append(f"tells a state and an error: {told[:100]} {done.err[-200:]}")
    return [f"{what} of a file {state}: {line}" for line in found]


def is_error(text):
    """Whether an answer in JSON says why there is no state."""
    return text[:1] == "{" and isinstance(json.loads(text).get("error"), dict)


def is_end(text):
    """Whether an answer says that the migration has made its result."""
    if text[:1] == "#":
        metrics = Metrics(text)
        states = metrics.values("godwit_migration_state")
        return bool(metrics.faults) or ("done", 1) in [(l["state"], v) for l, v in states]
    if text[:1] != "{":
        return bool(re.search(r"^[^\n]*: done\b", text))
    found = json.loads(text)
    return "done" in (found["state"], found.get("phase")) or found.get("fraction") == 1


def at_rest(ground, r, folder):
    state, data, lock = r.choice(ground.files)
    data, lock, done = lmdb_files.mutant(r, data, lock)
    path = status_file(os.path.join(folder, "New.sqlite"))
    os.makedirs(os.path.dirname(path))
    for name, content in ((path, data), (path + "-lock", lock)):
        if content is not None:
            with open(name, "wb") as file:
                file.write(content)
    calls = [("status", os.path.dirname(path)), ("status", path, "--json"),
             ("status", path, "--prometheus")]
    if state != "paused":
        calls.append(("status", os.path.dirname(path), "--watch", "--wait", "0.2"))
    found, ends = [], []
    for call in calls[:1] + [r.choice(calls[1:])]:
        told = ask(ground.tool, call)
        found += faults(told, " ".join(call[2:]) or "status", state)
        first = (told.out if told.out[:1] != "{" else "JSON") or told.err
        ends.append((told.status, re.sub(r"\d+", "N", first.replace(folder, "").split("\n")[0])))
    return [f"{done}: {line}" for line in found], ends


# MARK: Files of a migration at work

def harm(path, before, after):
    """Writes what differs, as whoever damages a file in the middle of its use does."""
    if after is None:
        os.remove(path)
        return
    with open(path, "r+b", buffering=0) as file:
        if len(after) != len(before):
            file.truncate(len(after))
        for at in range(0, len(after), 512):
            if after[at:at + 512] != before[at:at + 512]:
                file.seek(at)
                file.write(after[at:at + 512])


def at_work(ground, r, folder):
    output = os.path.join(folder, "New.sqlite")
    process = ground.start(output, slow=r.choice((10, 25)))
    path, found, watch = status_file(output), [], ground.tool.start("status", output, "--watch")
    try:
        time.sleep(r.uniform(0, 0.4))
        if process.poll() is not None:
            return [], [("ended before it was harmed", "")]
        data, lock = read(path), read(path + "-lock")
        new_data, new_lock, done = lmdb_files.mutant(r, data, lock)
        for name, before, after in ((path, data, new_data), (path + "-lock", lock, new_lock)):
            if before != after:
                harm(name, before, after)
        while process.poll() is None:
            told = ask(ground.tool, ("status", output, "--json"))
            # It has its result, and no file to tell of, a moment before it ends.
            if process.poll() is None and not os.path.exists(output):
                found += faults(told, "status", "at work")
            time.sleep(0.1)
        text = said(process)
        if process.returncode:
            found.append(f"ended with {process.returncode}: {text[-400:]}")
        else:
            same_bytes(ground.result, output, "the harmed migration and the other")
        if text.count("status file") > 1 or re.search("Crash|Fatal|signal", text):
            found.append(f"says {text[-400:]!r}")
        found += ended(watch)
    except Failure as failure:
        found.append(str(failure))
    except FileNotFoundError:
        return found, [("ended while it was harmed", "")]
    finally:
        kill(process)
        kill(watch)
    return [f"at work, {done}: {line}" for line in sorted(set(found))], [
        (process.returncode, re.sub(r"\d+", "N", text.replace(folder, "")))]


def ended(watch):
    """What is wrong with how a watcher ended."""
    try:
        status = watch.wait(20)
    except subprocess.TimeoutExpired:
        return ["--watch never ends"]
    return [] if status in KNOWN else [f"--watch ended with {status}: {said(watch)[-300:]}"]


def judge(ground, seed, live, base):
    folder = tempfile.mkdtemp(prefix="status-", dir=base)
    r = random.Random(f"status {seed}")
    try:
        lines, ends = (at_work if live and seed % live == 0 else at_rest)(ground, r, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"{seed} {line}".replace(folder, "<scratch>") for line in lines], ends


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-60")
    p.add_argument("--live", type=int, default=20, help="one of so many is a migration at work")
    p.add_argument("--sentences", action="store_true", help="list what is said, with how often")
    options = p.parse_args()
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    ground = Ground(Tool(options.godwit, timeout=60), os.path.join(base, "ground"))
    try:
        judge_mutants(options, base, list(seeds(options.seeds)),
                      lambda seed: judge(ground, seed, options.live, base),
                      lambda end: f"{end[0]} {end[1].strip()[:200]}")
    finally:
        kill(ground.stopped)


if __name__ == "__main__":
    main()
