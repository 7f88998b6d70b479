#!/usr/bin/env python3
"""Has each read of a device fail once (strace), in migrations and in the commands around them: the
status is 74, the sentence names the disk, the store stays, work that is done stays, and the next
run completes. A command may also not need what it could not read, and then does as ever.

A failed call is the n-th of its kind at one path in one thread, for every n, path and kind.

A seed is the first of the calls that fail, of which one in 40 does.

usage: device_errors.py --godwit P [--corpus D] [--seeds 1-1] [--only WORD] [--scratch S]
"""
import collections
import hashlib
import os
import re
import shutil
import subprocess

from run import parser, run_cases, seeds, vacuumed

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "sample",
                       "Library.xcdatamodeld")
EVERY = 40
CALLS = ("pread64", "read", "newfstatat", "openat", "getdents64")
FAILED = 74
# What a sentence about a device never says.
FORBIDDEN = ("Error(", "(operation:", "SQLite error", "is damaged", "permission", "was changed",
             "please report", "backup")
# Nothing that a migration depends on: progress, who has a store open, what is told of the outcome.
BESIDE = ("status.mdb", "godwit-status.json", "godwit-kept.json.")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Ground:
    """A folder with a store and its model, and one that is copied from it for each run."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.clean, self.place = os.path.join(folder, "clean"), os.path.join(folder, "in")
        self.temporary = os.path.join(folder, "tmp")
        os.makedirs(self.clean)
        os.makedirs(self.temporary)
        shutil.copytree(LIBRARY, os.path.join(self.clean, "M.xcdatamodeld"))
        self.run("generate", LIBRARY, "--version", "Library 1", "--rows", 120, "--output",
                 os.path.join(self.clean, "S.sqlite"))

    def run(self, *words, prefix=()):
        return subprocess.run(
            [*prefix, self.tool, *map(str, words)], capture_output=True, text=True, timeout=300,
            errors="replace", stdin=subprocess.DEVNULL, check=False, cwd=self.folder,
            env={**os.environ, "TMPDIR": self.temporary})

    def fresh(self):
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.clean, self.place, symlinks=True)

    def traced(self, words, *options):
        """A run under strace, and the lines of its trace."""
        trace = os.path.join(self.folder, "trace")
        done = self.run(*words, prefix=["strace", "-f", "-y", "-qq", "-e", "signal=none", "-s", "9",
                                        "-o", trace, *options])
        with open(trace, encoding="utf-8", errors="replace") as file:
            return done, file.read().splitlines()

    def paths(self, words):
        """{kind of call: {path in the folder: how often a thread makes it there, at most}}."""
        self.fresh()
        done, lines = self.traced(words, "-e", f"trace={','.join(CALLS)}")
        counted = {call: collections.Counter() for call in CALLS}
        for line in lines:
            call = re.match(r"(\d+) +(\w+)\(", line)
            if call and call[2] in CALLS:
                counted[call[2]].update({(p, call[1]) for p in re.findall(r'[<"](/[^>"]+)', line)
                                         if p.startswith(self.place + "/")
                                         or p == self.place and call[2] == "getdents64"})
        found = {call: collections.Counter() for call in CALLS}
        for call, counts in counted.items():
            for (path, _), count in counts.items():
                found[call][path] = max(found[call][path], count)
        return done, found


def kept(place):
    """Whether a work folder has orders that are done."""
    work = os.path.join(place, "S.sqlite.godwit")
    return os.path.isdir(work) and any(
        n.startswith("shard-") and n.endswith(".json") for n in os.listdir(work))


class Case:
    """A command, what it needs beforehand, and how its result is known."""

    def __init__(self, name, words, prepare=(), result=None, resumes=False):
        self.name, self.words, self.prepare = name, words, prepare
        self.result, self.resumes = result, resumes

    def __call__(self, tool, folder, firsts):
        ground = Ground(tool, folder)
        for words in self.prepare:
            ground.place, clean = ground.clean, ground.place
            done = ground.run(*self.filled(ground, words))
            ground.place = clean
            if done.returncode:
                return [f"{words}: {done.returncode} {done.stderr}"]
        words = self.filled(ground, self.words)
        done, paths = ground.paths(words)
        if done.returncode:
            return [f"undisturbed: {done.returncode} {done.stderr[-300:]}"]
        self.wanted, self.failures, self.keeps = self.outcome(ground, done), 0, 0
        out = []
        for call in CALLS:
            for path in sorted(paths[call]):
                if re.search(r"\.\d+\.tmp$", path) or any(b in path for b in BESIDE):
                    continue
                # A few more, since a run may make more calls than another one.
                for number in (n + first for n in range(0, paths[call][path] + 2, EVERY)
                               for first in firsts if n + first <= paths[call][path] + 2):
                    found = self.failing(ground, words, call, path, number)
                    if found is None:
                        break
                    out += [f"{call} {number} at {os.path.basename(path)}: {f}" for f in found]
        if len(firsts) == EVERY and not self.failures:
            out.append("no call failed")
        if len(firsts) == EVERY and self.resumes and not self.keeps:
            out.append("no work was kept")
        print(f"{self.name}: {self.failures} failed calls ended with {FAILED}, "
              f"{self.keeps} left work that is done", flush=True)
        return out

    @staticmethod
    def filled(ground, words):
        return [str(w).replace("@", ground.place) for w in words]

    def outcome(self, ground, done):
        """What a run that ended well leaves: its answer, or the result in canonical form."""
        if self.result is None:
            return re.sub(r"\d+(\.\d+)? (s|ms|MiB|KiB)\b|in [\d.]+ s", "", done.stdout)
        path = os.path.join(ground.place, self.result)
        return digest(vacuumed(path)) if os.path.exists(path) else "nothing"

    def failing(self, ground, words, call, path, number):
        """What is wrong where one call fails; None where there is no such call."""
        ground.fresh()
        store = digest(os.path.join(ground.place, "S.sqlite"))
        done, lines = ground.traced(words, "-P", path, "-e", f"trace={call}", "-e",
                                    f"inject={call}:error=EIO:when={number}")
        if not any("(INJECTED)" in line for line in lines):
            return None
        out = []
        if done.returncode == 0:
            if self.outcome(ground, done) != self.wanted:
                out.append("status 0, and another result")
            return out
        self.failures += 1
        if done.returncode != FAILED:
            out.append(f"status {done.returncode}: {done.stderr.strip()[-200:]}")
        # A check tells what it found on standard output.
        told = (done.stderr + (done.stdout if words[0] == "check" else "")).strip()
        out += [f"says {word!r}: {told[-200:]}" for word in FORBIDDEN if word in told]
        if not re.search("disk|device", told):
            out.append(f"does not name the disk: {told[-200:]}")
        if self.result == "S.sqlite" and digest(os.path.join(ground.place, "S.sqlite")) != store:
            # The call failed after the swap.
            if self.outcome(ground, done) != self.wanted:
                out.append("the store is neither the old one nor the new one")
        if self.resumes:
            self.keeps += kept(ground.place)
        again = ground.run(*words)
        if again.returncode or self.outcome(ground, again) != self.wanted:
            out.append(f"the next run: {again.returncode} {again.stderr.strip()[-200:]}")
        return out


# A file to hold it by makes a migration one that leaves work.
STEADY = ("--no-record", "--pause-file", "@/never", "--workers", 1, "--range-rows", 30)
MIGRATE = ("migrate", "@/S.sqlite", "--to", "@/M.xcdatamodeld")
MADE = (*MIGRATE, "--output", "@/N.sqlite", "--no-record")
CASES = [
    *(Case(f"migrate by {engine}", (*MIGRATE, *STEADY, "--engine", engine), result="S.sqlite",
           resumes=True) for engine in ("pages", "sql")),
    Case("migrate within an instant", MADE, result="N.sqlite"),
    Case("verify", ("verify", "@/S.sqlite", "@/N.sqlite"), [MADE]),
    Case("check", ("check", "@/S.sqlite", "--to", "@/M.xcdatamodeld")),
    Case("plan", ("plan", "@/S.sqlite", "--to", "@/M.xcdatamodeld")),
    Case("inspect", ("inspect", "@/S.sqlite")),
    Case("diff", ("diff", "@/S.sqlite", "@/N.sqlite"),
         [("generate", "@/M.xcdatamodeld", "--version", "Library 1", "--rows", 120, "--output",
           "@/N.sqlite")]),
    Case("rollback", ("rollback", "@/S.sqlite"), [(*MIGRATE, "--no-record")], result="S.sqlite"),
    Case("finish", ("finish", "@/S.sqlite"), [(*MIGRATE, "--no-record")], result="S.sqlite"),
    Case("generate", ("generate", "@/M.xcdatamodeld", "--rows", 60, "--output", "@/N.sqlite"),
         result="N.sqlite"),
]


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-1", help=f"first-last, at most {EVERY}")
    p.add_argument("--only", default="", help="a part of the names of cases")
    options = p.parse_args()
    if not shutil.which("strace"):
        print("strace is missing: scripts/packages strace installs it; nothing was tried")
        return
    tool = os.path.abspath(options.godwit)
    run_cases(options, [(c.name, lambda folder, c=c: c(tool, folder, seeds(options.seeds)))
                        for c in CASES if options.only in c.name], "commands with failing reads")


if __name__ == "__main__":
    main()
