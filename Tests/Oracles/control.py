#!/usr/bin/env python3
"""Pauses, resumes, slows, widens and cancels migrations that run, by commands, files and signals,
with every engine and in stages: paused ones write nothing, and all end as undisturbed ones.

usage: control.py --godwit P [--scratch S]
"""
import os
import shutil
import signal
import tempfile
import time
from functools import partial

from run import KEEP_RECORD, Failure, Tool, Watched, parser, run_cases, said, vacuumed

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ROWS = 12_000
STILL, PATIENCE, SILENCE = 1.0, 60.0, 2.0
MAPPING = "the inferred mapping model"
WAYS = {
    "pages": ("--engine", "pages"),
    "sql": ("--engine", "sql"),
    "objects": ("--engine", "objects", "--mapping", MAPPING),
    "stages": ("--progressive", "--stepwise"),
}


class Run(Watched):
    """A slowed migration, and what it is asked."""
    patience = PATIENCE

    def __init__(self, ground, folder, way, *options, slow=100):
        self.tool = ground.tool
        source, self.output = ground.copy(folder), os.path.join(folder, "result.sqlite")
        self.work = self.output + ".godwit"
        self.command = ground.command(source, self.output, way)
        self.process = self.tool.start(
            *self.command, *options, environment={"GODWIT_SLOW": str(slow)})

    def wait_for_rows(self):
        return self.wait("rows were made", lambda s: s.get("fraction", 0) > 0.02 and (
            s.get("rowsDone", 0) > 0 or s.get("bytesDone", 0) > 0))

    def ask(self, *arguments, status=0):
        done = self.tool.call(arguments[0], self.output, *arguments[1:])
        if done.returncode != status:
            self.kill()
            raise Failure(f"{arguments[0]} ends with {done.returncode}, expected {status}: "
                          f"{done.stdout} {done.stderr}")
        return done.stdout

    def files(self):
        """What lies in the work folder, but for the status file."""
        found = {}
        for folder, _, names in os.walk(self.work):
            for name in names:
                if not name.startswith("status.mdb"):
                    path = os.path.join(folder, name)
                    try:
                        entry = os.stat(path)
                        found[path] = (entry.st_size, entry.st_mtime_ns)
                    except FileNotFoundError:
                        pass
        return found

    def require_still(self, words):
        before = self.files()
        time.sleep(STILL)
        after = self.files()
        if before != after:
            changed = sorted(p for p in before.keys() | after if before.get(p) != after.get(p))
            self.kill()
            raise Failure(f"{words}, and {', '.join(map(os.path.basename, changed))} change")
        if not self.process.poll() is None:
            raise Failure(f"{words}, and it ended: {said(self.process)[-300:]}")

    def end(self, status=0):
        try:
            self.process.wait(PATIENCE)
        except Exception:
            self.kill()
            raise Failure("it did not end") from None
        if self.process.returncode != status:
            raise Failure(f"it ended with {self.process.returncode}, expected {status}: "
                          f"{said(self.process)[-400:]}")


def canonical(path):
    copy = vacuumed(path)
    try:
        with open(copy, "rb") as file:
            return file.read()
    finally:
        os.remove(copy)


class Ground:
    """A made-up store, and what becomes of it undisturbed."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.source = os.path.join(folder, "source.sqlite")
        self.mapping = os.path.join(folder, "mapping.json")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS,
                 "--output", self.source)
        tool.run("map", "--from", os.path.join(LIBRARY, "Library 1.xcdatamodel"), "--to", LIBRARY,
                 "--output", self.mapping)
        self.expected = {}
        for way in WAYS:
            output = os.path.join(folder, f"expected-{way}.sqlite")
            tool.run(*self.command(self.source, output, way))
            self.expected[way] = canonical(output)

    def command(self, source, output, way, *options):
        more = [self.mapping if word == MAPPING else word for word in WAYS[way]]
        return ["migrate", source, "--to", LIBRARY, "--output", output, "--range-rows", 500,
                "--workers", 1, *more, *options]

    def copy(self, folder):
        shutil.copy(self.source, folder)
        support = os.path.join(self.folder, ".source_SUPPORT")
        if os.path.isdir(support):
            shutil.copytree(support, os.path.join(folder, ".source_SUPPORT"))
        return os.path.join(folder, "source.sqlite")

    def judge(self, run, way):
        if canonical(run.output) != self.expected[way]:
            raise Failure("the result is not that of an undisturbed migration")
        if os.path.exists(run.work):
            raise Failure(f"{run.work} is left")


def paused(run):
    run.wait_for_rows()
    run.ask("pause")
    found = run.wait("paused", lambda s: s.get("state") == "paused")
    if found.get("secondsRemaining") is not None:
        raise Failure("a paused migration tells how long it will take")
    run.require_still("it says that it is paused")
    text = run.tool.call("status", run.output)
    if text.returncode != 69 or "requested by" not in text.stdout:
        raise Failure(f"status of a paused migration: {text.returncode} {text.stdout}")
    run.ask("resume")
    run.wait("resumed", lambda s: s.get("state") in ("running", "done"))


def stopped_coordinator(run):
    run.wait_for_rows()
    os.kill(run.process.pid, signal.SIGSTOP)
    time.sleep(1)
    run.require_still("its coordinator is stopped")
    os.kill(run.process.pid, signal.SIGCONT)


def more_workers(run):
    run.wait_for_rows()
    run.ask("set", "--workers", "2", "--rate", "200K")
    found = run.wait("changed", lambda s: s.get("rate") == 200 << 10)
    if found.get("workersWanted") != 2:
        raise Failure(f"after `set --workers 2` it wants {found.get('workersWanted')}")
    run.ask("set", "--rate", "0")


def cancelled(run):
    run.wait_for_rows()
    answer = run.ask("cancel")
    if "interrupted" not in answer:
        raise Failure(f"cancel says {answer!r}")
    run.end(75)
    run.tool.run(*run.command)


def cancelled_in_a_pause(run):
    run.wait_for_rows()
    run.ask("pause")
    cancelled(run)


def disturbed(ground, way, body, folder):
    run = Run(ground, folder, way)
    body(run)
    if run.process.poll() is None:
        run.end()
    ground.judge(run, way)


def pause_file(ground, folder):
    file = os.path.join(folder, "hold")
    open(file, "w").close()
    run = Run(ground, folder, "pages", "--pause-file", file)
    run.wait("paused", lambda s: s.get("state") == "paused")
    run.require_still("the pause file is there")
    answer = run.tool.call("resume", run.output)
    if answer.returncode != 69 or file not in answer.stderr:
        raise Failure(f"resume of one that a file holds: {answer.returncode} {answer.stderr}")
    run.require_still("the pause file is there, and it was asked to go on")
    os.remove(file)
    run.end()
    ground.judge(run, "pages")


def postponed_swap(ground, folder):
    file = os.path.join(folder, "later")
    run = Run(ground, folder, "pages", "--postpone-swap", file, slow=1)
    run.wait("ready", lambda s: s.get("state") == "ready")
    if os.path.exists(run.output):
        raise Failure("the output is there before the swap")
    text = run.tool.call("status", run.output)
    if text.returncode != 0 or file not in text.stdout:
        raise Failure(f"status of one that is ready: {text.returncode} {text.stdout}")
    # All is done but the swap.
    run.wait("almost all", lambda s: s.get("fraction", 0) >= 0.99)
    run.require_still("it waits for its swap")
    os.remove(file)
    run.end()
    ground.judge(run, "pages")


def held_by_the_store(ground, folder):
    """Nobody is told to remove the store."""
    out, source = [], ground.copy(folder)
    link = os.path.join(folder, "link")
    os.symlink(source, link)
    output = os.path.join(folder, "result.sqlite")
    for option in ("--postpone-swap", "--pause-file"):
        for file in (source, link, output):
            done = ground.tool.call(*ground.command(source, output, "pages", option, file))
            if done.returncode != 64 or os.path.exists(output):
                out.append(f"{option} {file} ends with {done.returncode}: {done.stderr}")
    return out


def judge_told(told):
    """A slow run begins with little done, and is never silent for long."""
    if told[0][2] > 0.4:
        raise Failure(f"with a limit of its speed it begins with {told[0][2]:.0%} done")
    moved = [now for before, now in zip(told, told[1:]) if now[1] > before[1]]
    for before, now in zip([told[0], *moved], [*moved, told[-1]]):
        if now[0] - before[0] > SILENCE:
            raise Failure(f"{now[0] - before[0]:.1f} s without news at {before[1]} bytes")


def rated(ground, folder):
    """With a tenth of its bytes a second it takes ten seconds, less what nobody reads of it."""
    size = os.path.getsize(ground.source)
    started = time.monotonic()
    run = Run(ground, folder, "sql", "--rate", str(size // 10), slow=0)
    told = []
    while run.process.poll() is None:
        found = run.status()
        if found.get("phase") == "migrating":
            told.append((time.monotonic(), found["bytesDone"], found["fraction"]))
        time.sleep(0.05)
    run.end()
    taken = time.monotonic() - started
    if taken < 4:
        raise Failure(f"with a tenth of its bytes a second it took {taken:.1f} s")
    judge_told(told)
    steady = [(n / 10, n, n / 99) for n in range(99)]
    for what, wrong in (("a silence", [t for t in steady if not 30 < t[1] < 60]),
                        ("half of it done at first", [(t, n, 0.5 + f / 2) for t, n, f in steady])):
        try:
            judge_told(wrong)
        except Failure:
            continue
        raise Failure(f"nothing was found: {what}")
    judge_told(steady)
    ground.judge(run, "sql")


def nobody(ground, folder):
    out = []
    none = os.path.join(folder, "none.sqlite")
    for command, *more in (("pause",), ("resume",), ("cancel",), ("set", "--workers", "2")):
        done = ground.tool.call(command, none, *more)
        if done.returncode != 66:
            out.append(f"{command} of nothing ends with {done.returncode}: {done.stderr}")
    run = Run(ground, folder, "pages", KEEP_RECORD, slow=0)
    run.end()
    done = ground.tool.call("pause", run.output)
    if done.returncode != 69 or "no migration" not in done.stderr:
        out.append(f"pause of one that has ended: {done.returncode} {done.stderr}")
    for wrong in ((), ("--workers", "0"), ("--workers", "257"), ("--rate", "-1")):
        done = ground.tool.call("set", run.output, *wrong)
        if done.returncode != 64:
            out.append(f"set {' '.join(wrong)} ends with {done.returncode}, expected 64")
    return out


def damaged_status(ground, folder):
    """A status file that is lost amid a pause holds nobody for ever."""
    run = Run(ground, folder, "pages")
    run.wait_for_rows()
    run.ask("pause")
    with open(os.path.join(run.work, "status.mdb"), "r+b") as file:
        file.write(b"\xff" * 8192)
    run.end()
    ground.judge(run, "pages")


def cases(ground):
    result = [(f"{way}: {body.__name__.replace('_', ' ')}", partial(disturbed, ground, way, body))
              for way in WAYS
              for body in (paused, stopped_coordinator, more_workers, cancelled,
                           cancelled_in_a_pause)]
    return result + [(body.__name__.replace("_", " "), partial(body, ground))
                     for body in (pause_file, postponed_swap, held_by_the_store, rated, nobody,
                                  damaged_status)]


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        run_cases(options, cases(Ground(Tool(options.godwit), folder)), "requests")


if __name__ == "__main__":
    main()
