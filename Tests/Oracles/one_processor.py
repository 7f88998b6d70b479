#!/usr/bin/env python3
"""Runs commands on one processor, where as many threads as processors share all tasks, and sees
that none of them stands still: a thread that waits for what only another one of these can do goes
on when the system gives one more, a second later.

usage: one_processor.py --godwit P [--scratch S]
"""
import os
import shutil
import subprocess
import tempfile
import time

from mutant_stores import Ground
from run import Failure, Tool, parser, run_cases

# This program may be kept waiting as well, but not each time.
ATTEMPTS, SECONDS = 8, 0.7
# From here on a file is checked in parts.
LARGE = 36 << 20


def on_one():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def states(process):
    """The states of all threads of a process and of its children: R where one wants a processor."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/stat") as file:
                found.append(file.read().rpartition(")")[2].split()[0])
            with open(f"/proc/{process}/task/{thread}/children") as file:
                for child in file.read().split():
                    found += states(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def idle(tool, arguments, status):
    """For how many seconds at a time no thread of a command worked, or waited for a processor or a
    disk."""
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen([tool, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=words, stderr=words, preexec_fn=on_one)
        longest, worked, ends = 0, time.monotonic(), time.monotonic() + 120
        while process.poll() is None:
            now = time.monotonic()
            if set(states(process.pid)) & {"R", "D"}:
                worked = now
            longest = max(longest, now - worked)
            if now > ends:
                process.kill()
                raise Failure(f"godwit {arguments[0]} did not end")
            time.sleep(0.01)
        if process.returncode != status:
            words.seek(0)
            raise Failure(f"godwit {arguments[0]}: exit {process.returncode}: "
                          f"{words.read()[-300:]!r}")
    return longest


class Lab:
    """Stores and models, and commands that need them."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.ground = Ground(tool, os.path.join(folder, "ground"))
        self.models = ("--to", self.ground.target, "--models", self.ground.source, "--infer-only",
                       "--allow-loss")

    def path(self, name):
        return os.path.join(self.folder, name)

    def output(self, name):
        path = self.path(name)
        for found in os.listdir(self.folder):
            if found.startswith(name):
                found = self.path(found)
                shutil.rmtree(found) if os.path.isdir(found) else os.remove(found)
        return path

    def copies(self, count):
        folder = self.output("several")
        os.mkdir(folder)
        for number in range(count):
            shutil.copy(self.ground.store, os.path.join(folder, f"{number}.sqlite"))
        return folder

    def large(self):
        path = self.path("Large.sqlite")
        if not os.path.exists(path):
            self.tool.run("generate", self.ground.source, "--rows", 200_000, "--output", path)
        if os.path.getsize(path) < LARGE:
            raise Failure(f"{os.path.getsize(path)} bytes are not many")
        return path

    def migrated(self, store, name):
        path = self.path(name)
        if not os.path.exists(path):
            self.tool.run("migrate", store, *self.models, "--output", path, "--no-record")
        return path


def commands(lab):
    """(name, what makes the arguments of a run)"""
    def made(*flags, store=None):
        return lambda: ("migrate", store() if store else lab.ground.store, *lab.models, "--output",
                        lab.output("New.sqlite"), "--no-record", *flags)

    def verified(store, name):
        return lambda: ("verify", store(), lab.migrated(store(), name), "--to", lab.ground.target,
                        "--models", lab.ground.source, "--infer-only")
    return [
        ("inspect", lambda: ("inspect", lab.ground.store)),
        ("plan", lambda: ("plan", lab.ground.store, *lab.models)),
        ("check", lambda: ("check", lab.ground.store, *lab.models)),
        ("check of copies", lambda: ("check", lab.ground.store, *lab.models, "--migrate")),
        ("check of copies of several", lambda: ("check", lab.copies(5), *lab.models, "--migrate")),
        ("migrate", made()),
        ("migrate by processes", made("--workers", 2, "--range-rows", 50, "--work",
                                      lab.path("New.sqlite.work"))),
        ("migrate, all verified", made("--verify", "full")),
        ("migrate by SQL", made("--engine", "sql")),
        ("migrate a large store", made("--verify", "full", store=lab.large)),
        ("verify", verified(lambda: lab.ground.store, "Small.new.sqlite")),
        ("verify a large store", verified(lab.large, "Large.new.sqlite")),
    ]


def check(lab, arguments):
    found = []
    for _ in range(ATTEMPTS):
        found.append(idle(lab.tool.path, arguments(), 0))
        if found[-1] < SECONDS:
            return []
    return [f"stood still for {min(found):.2f} s and more, {ATTEMPTS} times"]


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    options.jobs = 1
    tool = Tool(options.godwit)
    base = options.scratch or None
    with tempfile.TemporaryDirectory(dir=base) as folder:
        lab = Lab(tool, folder)
        cases = [(name, lambda _, a=arguments: check(lab, a)) for name, arguments in commands(lab)]
        run_cases(options, cases, "commands on one processor")


if __name__ == "__main__":
    main()
