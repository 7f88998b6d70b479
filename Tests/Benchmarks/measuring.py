"""Measures commands that take turns: time until what they made is on disk, memory and disk."""
import json
import os
import shutil
import statistics
import subprocess
import threading
import time


class Failed(Exception):
    """A command that failed, or did not do its work."""


def private_kib(pid):
    """What a process has for itself: anonymous, shared and swapped, but no mapped files."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return sum(int(line.split()[1]) for line in status
                       if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")))
    except (OSError, ValueError):
        return 0


def tree(root):
    """A process and all below it."""
    waiting, seen = [root], []
    while waiting:
        pid = waiting.pop()
        seen.append(pid)
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as children:
                    waiting += map(int, children.read().split())
        except OSError:
            pass
    return seen


def span(values, unit="", digits=2):
    return (f"{statistics.median(values):.{digits}f}{unit} "
            f"[{min(values):.{digits}f}-{max(values):.{digits}f}]")


def files_below(folder):
    return [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names]


def bytes_on_disk(folder):
    """The bytes that the files of a folder take; one that goes meanwhile takes none."""
    total = 0
    for path in files_below(folder):
        try:
            total += os.lstat(path).st_blocks * 512
        except OSError:
            continue
    return total


def bytes_used(mount):
    """The bytes that a file system has given away: files may share them."""
    found = os.statvfs(mount)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


class Run:
    """One of the ways to do a workload's work; those of one workload take turns.

    Its commands run one after another; what they make is in `folder`, which is empty before.
    """

    def __init__(self, name, commands, sources=(), folder=None, says=None, loose=False):
        self.name, self.commands, self.sources = name, commands, list(sources)
        self.folder, self.says = folder, says
        # A copy has the rows of the source and none of the columns that are new.
        self.loose = loose
        self.walls, self.peak, self.disk = [], 0, 0
        # The command that tells how much disk the run needs, and a file system of its own.
        self.plan, self.mount = None, None

    def once(self, watched):
        """Runs the commands; where memory is watched, which takes time, no time is taken."""
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
        for path in self.sources:
            with open(path, "rb") as source:
                while source.read(1 << 20):
                    pass
        os.sync()
        start, said = time.perf_counter(), ""
        for command in self.commands:
            said = self.call(command, watched)
        for path in files_below(self.folder) if self.folder else ():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        wall = time.perf_counter() - start
        if self.says and self.says not in said:
            raise Failed(f"{self.name} does not say “{self.says}”: {said[-300:]}")
        if not watched:
            self.walls.append(wall)

    def call(self, command, watched):
        # Temporary files count as well, where somebody looks.
        there = {"TMPDIR": self.folder} if watched and self.folder else {}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   env={**os.environ, **there})
        watcher = threading.Thread(target=self.watch, args=(process,)) if watched else None
        if watcher:
            watcher.start()
        try:
            said = process.communicate()[0].decode(errors="replace")
        finally:
            process.kill()
        if watcher:
            watcher.join()
        status = process.returncode
        if status:
            raise Failed(f"{self.name} ended with {status}: {said[-300:].strip()}")
        return said

    def bytes_taken(self):
        return bytes_used(self.mount) if self.mount else bytes_on_disk(self.folder)

    def disk_needed(self):
        """The bytes that the plan of the run asks for; None where it has none."""
        return json.loads(self.call(self.plan, False))["diskNeeded"] if self.plan else None

    def watch(self, process):
        """Every 20 ms the sum over all processes; the first time at once, the last at the end."""
        before = bytes_used(self.mount) if self.mount else 0
        is_running = True
        while is_running:
            is_running = process.poll() is None
            if self.folder:
                self.disk = max(self.disk, self.bytes_taken() - before)
            self.peak = max(self.peak, sum(private_kib(pid) for pid in tree(process.pid)))
            time.sleep(0.02)


def take_turns(runs, rounds, judge):
    """Lets the runs take turns: a round in which memory is watched, then those that are timed.
    `judge` looks at what all have made after each round."""
    for number in range(rounds + 1):
        turn = number % len(runs)
        for run in runs[turn:] + runs[:turn]:
            run.once(watched=number == 0)
        judge(runs)
