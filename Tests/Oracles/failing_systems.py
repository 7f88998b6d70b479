#!/usr/bin/env python3
"""Migrates where disks are full, pages are damaged and permissions are missing, by both engines:
the sentence names the file, the status is that of the fault, the old store stays as it is, and what
fits is migrated.

Small disks are file systems in memory, which only root may mount; else they are skipped.

usage: failing_systems.py --godwit P [--corpus D] [--scratch S]
"""
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import sqlite3
import subprocess
import time

from run import Tool, parser, run_cases, said

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ENGINES = ("sql", "pages")
DAMAGED, TOO_LITTLE_MEMORY, NOT_PERMITTED, CANNOT_WRITE = 65, 71, 73, 74
NOBODY = 65534
MIB = 1 << 20


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Store:
    """A store of its own, and what may not happen to it."""

    def __init__(self, tool, folder, rows=20000):
        self.tool, self.folder = tool, folder
        self.path = os.path.join(folder, "in", "Shop.sqlite")
        os.makedirs(os.path.dirname(self.path))
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", rows, "--output",
                 self.path)
        self.before = digest(self.path)

    def migrate(self, *more, **options):
        return self.tool.call("migrate", self.path, "--to", LIBRARY, *more, **options)

    def judge(self, done, status, *words, forbidden=()):
        """What is wrong with the end of a migration that had to fail."""
        return judge(done.returncode, done.stderr, status, words, forbidden) + self.left()

    def left(self):
        out = [] if digest(self.path) == self.before else ["the store is not as it was"]
        for where, folders, files in os.walk(self.folder):
            out += [f"left behind: {n}" for n in folders + files if ".godwit" in n]
        return out


def judge(found, text, status, words, forbidden=()):
    out = []
    if found != status:
        out.append(f"exit {found}, expected {status}: {text.strip()[-300:]}")
    for word in words:
        if not re.search(word, text):
            out.append(f"does not say {word!r}: {text.strip()[-300:]}")
    for word in ("unexpected error", "Error(", "Errno", "attempts", *forbidden):
        if word in text:
            out.append(f"says {word!r}: {text.strip()[-300:]}")
    return out


class Disk:
    """A small file system below a folder."""

    def __init__(self, folder, name, size):
        self.path = os.path.join(folder, name)
        os.mkdir(self.path)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.path],
                              capture_output=True, text=True)
        self.mounted = done.returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=True)


def on_disk(size, check):
    """Runs a check with a small disk, where one may be mounted."""
    def run(tool, folder, engine):
        with Disk(folder, "disk", size) as disk:
            if not disk.mounted:
                print("a small disk: skipped, since only root may mount one", flush=True)
                return []
            return check(tool, folder, engine, disk.path)
    return run


def small_output(tool, folder, engine, disk):
    store = Store(tool, folder)
    done = store.migrate("--output", os.path.join(disk, "New.sqlite"), "--engine", engine)
    out = store.judge(done, CANNOT_WRITE, re.escape(disk), "free and .* are needed")
    return out + [f"written before the disk was looked at: {n}" for n in os.listdir(disk)]


def small_output_of_large_work(tool, folder, engine, disk):
    """The work folder has room, and the output has none."""
    store = Store(tool, folder)
    done = store.migrate("--output", os.path.join(disk, "New.sqlite"), "--work",
                         os.path.join(folder, "elsewhere"), "--engine", engine)
    return store.judge(done, CANNOT_WRITE, re.escape(disk), r"the new store")


def small_work(tool, folder, engine, disk):
    store = Store(tool, folder)
    done = store.migrate("--output", os.path.join(folder, "New.sqlite"), "--work", disk,
                         "--engine", engine)
    out = store.judge(done, CANNOT_WRITE, re.escape(disk), "free and .* are needed")
    return out + [f"left behind: {n}" for n in os.listdir(disk)]


def small_for_external_files(tool, folder, engine, disk):
    """The new store fits, and its external files do not."""
    store = Store(tool, folder)
    external = os.path.join(folder, "in", ".Shop_SUPPORT", "_EXTERNAL_DATA")
    os.makedirs(external, exist_ok=True)
    with open(os.path.join(external, "0A0A0A0A-0000-4000-8000-000000000000"), "wb") as file:
        file.truncate(400 * MIB)
    done = store.migrate("--output", os.path.join(disk, "New.sqlite"), "--engine", engine)
    return store.judge(done, CANNOT_WRITE, re.escape(disk), "external files")


def small_for_pages(tool, folder, engine, disk, change="update ZBOOK set ZISBN = ZISBN || '.'",
                    words="the pages of the -wal"):
    """A store with a live log needs room for its pages, and there is none."""
    store = Store(tool, folder)
    db = sqlite3.connect(store.path)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma wal_autocheckpoint=0")
    db.execute(change)
    db.commit()
    copy = os.path.join(folder, "copy")
    os.mkdir(copy)
    for suffix in ("", "-wal"):
        shutil.copy(store.path + suffix, os.path.join(copy, "Shop.sqlite" + suffix))
    db.close()
    store.path = os.path.join(copy, "Shop.sqlite")
    if words == "a copy of the store":
        with open(store.path, "r+b") as file:
            file.seek(18)
            file.write(b"\1\1")
    store.before = digest(store.path)
    done = store.migrate("--output", os.path.join(folder, "New.sqlite"), "--work", disk,
                         "--engine", engine)
    return store.judge(done, CANNOT_WRITE, re.escape(disk), words)


def small_for_copy(tool, folder, engine, disk):
    """A store that has a log and does not say so is copied whole, for which there is no room."""
    return small_for_pages(tool, folder, engine, disk,
                           "update Z_METADATA set Z_VERSION = Z_VERSION", "a copy of the store")


def filled_meanwhile(tool, folder, engine, disk):
    """A disk that somebody else fills while workers write to it."""
    store = Store(tool, folder)
    process = tool.start(
        "migrate", store.path, "--to", LIBRARY, "--output", os.path.join(disk, "New.sqlite"),
        "--engine", engine, "--range-rows", "200", "--workers", "2",
        environment={"GODWIT_SLOW": "50"})
    end = time.monotonic() + 30
    work = os.path.join(disk, "New.sqlite.godwit")
    while time.monotonic() < end and not any(
            n.startswith("shard-") and n.endswith(".json") for n in names(work)):
        time.sleep(0.01)
    with open(os.path.join(disk, "hog"), "wb", buffering=0) as hog:
        try:
            while True:
                hog.write(b"\1" * MIB)
        except OSError:
            pass
        try:
            while True:
                hog.write(b"\1" * 4096)
        except OSError:
            pass
    status = process.wait(120)
    text = said(process)
    words = [re.escape(disk), "does not fit on its disk", "are free", "stays in the work folder"]
    out = judge(status, text, CANNOT_WRITE, words, ["try again", "ermission"])
    if digest(store.path) != store.before:
        out.append("the store is not as it was")
    os.remove(os.path.join(disk, "hog"))
    report = os.path.join(folder, "report.json")
    done = store.migrate("--output", os.path.join(disk, "New.sqlite"), "--engine", engine,
                         "--range-rows", "200", "--workers", "2", "--report", report)
    if done.returncode:
        return out + [f"with room: exit {done.returncode}: {done.stderr[-300:]}"]
    with open(report, encoding="utf-8") as file:
        if not json.load(file)["resumed"]:
            out.append("with room everything is done anew")
    return out + store.left()


def names(folder):
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def fits(tool, folder, engine, disk):
    """What fits is migrated: the estimate refuses nothing by far."""
    store = Store(tool, folder)
    done = store.migrate("--output", os.path.join(disk, "New.sqlite"), "--engine", engine)
    return [] if done.returncode == 0 else [f"exit {done.returncode}: {done.stderr[-300:]}"]


def damaged(tool, folder, engine):
    """Pages of every part of a store, overwritten one after the other."""
    out = []
    store = Store(tool, folder, rows=4000)
    whole, chance = open(store.path, "rb").read(), random.Random(7)
    found = 0
    for number in sorted(chance.sample(range(20, len(whole) // 4096), 12)):
        for filling in (b"\xff", b"\0"):
            with open(store.path, "wb") as file:
                file.write(whole[:(number - 1) * 4096] + filling * 4096 + whole[number * 4096:])
            store.before = digest(store.path)
            result = os.path.join(folder, "New.sqlite")
            done = store.migrate("--output", result, "--engine", engine)
            if done.returncode == 0:
                os.remove(result)  # a page of an index, which is made anew
                shutil.rmtree(os.path.join(folder, ".New_SUPPORT"), ignore_errors=True)
                continue
            found += 1
            out += [f"page {number}: {line}"
                    for line in store.judge(done, DAMAGED, r"Shop\.sqlite",
                                            "damaged|ends too early|keys")]
    return out + ([] if found >= 6 else [f"only {found} of 24 damages were found"])


def forbidden(tool, folder, engine):
    """A store that may not be read, and a folder that may not be written."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("missing permissions: skipped, since only root may become another user", flush=True)
        return []
    for where in (os.path.dirname(folder), folder):
        os.chmod(where, 0o755)
    store = Store(tool, folder, rows=200)
    copy = os.path.join(folder, "tool")
    shutil.copy(tool.path, copy)
    store.tool, out = Tool(copy), []
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    model = os.path.join(folder, "Library.xcdatamodeld")
    shutil.copytree(LIBRARY, model)
    outside = os.path.join(folder, "out")
    os.mkdir(outside)

    def migrate(output):
        return store.tool.call("migrate", store.path, "--to", model, "--output", output, "--engine",
                               engine, prefix=prefix)
    out += store.judge(migrate(os.path.join(outside, "New.sqlite")), NOT_PERMITTED,
                       re.escape(outside))
    os.chmod(outside, 0o777)
    out += reserved(store, model, os.path.join(folder, "shared"), engine, prefix)
    os.chmod(store.path, 0o600)
    return out + store.judge(migrate(os.path.join(outside, "New.sqlite")), NOT_PERMITTED,
                             r"Shop\.sqlite", "permissions")


def reserved(store, model, folder, engine, prefix):
    """A store that its user may write, in a folder that lets only owners rename files."""
    os.mkdir(folder)
    shared = os.path.join(folder, "Shop.sqlite")
    shutil.copy(store.path, shared)
    os.chmod(shared, 0o666)
    os.chmod(folder, 0o1777)
    before = sorted(os.listdir(folder))
    done = store.tool.call("migrate", shared, "--to", model, "--engine", engine, prefix=prefix)
    out = store.judge(done, NOT_PERMITTED, r"Shop\.sqlite", "sticky", "--output")
    after = sorted(os.listdir(folder))
    return out + [f"the folder has {after} instead of {before}"] * (after != before)


def large_value(tool, folder, engine):
    """A value that is larger than the memory of all processes: carried over, or refused by name."""
    store = Store(tool, folder, rows=2000)
    db = sqlite3.connect(store.path)
    # 1 says that the value itself follows, and not the name of a file.
    db.execute("update zbook set zcover = cast(x'01' || zeroblob(?) as blob) where z_pk = 7",
               (100 * MIB,))
    db.commit()
    db.close()
    store.before = digest(store.path)
    result, report = os.path.join(folder, "New.sqlite"), os.path.join(folder, "report.json")
    more = []
    if engine == "objects":
        more = ["--mapping", os.path.join(folder, "Mapping.json")]
        tool.run("map", "--from", store.path, "--to", LIBRARY, "--output", more[1])
    done = store.migrate("--output", result, "--engine", engine, "--memory", "64M", "--report",
                         report, *more)
    if engine != "pages":
        # What other work orders have done stays for a run with more memory.
        out = judge(done.returncode, done.stderr, TOO_LITTLE_MEMORY,
                    ["row 7 of table ZBOOK", "100.0 MiB", "--memory"])
        return out + ["the store is not as it was"] * (digest(store.path) != store.before)
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr[-300:]}"]
    with open(report, encoding="utf-8") as file:
        peaks = list(numbers(json.load(file), "peakMemory"))
    out = [] if peaks and max(peaks) <= 64 * MIB else [f"memory of the processes: {peaks}"]
    new = sqlite3.connect(result)
    found = new.execute("select length(zcover), substr(zcover, 1, 1) from zitem where z_pk = 7")
    if found.fetchall() != [(100 * MIB + 1, b"\x01")]:
        out.append("the value is not in the result")
    new.close()
    return out + store.left()


def lost_answers(tool, folder, _):
    """Answers that go to a full disk: nobody takes a part of one for the whole."""
    path = Store(tool, folder).path
    out = []
    for words in (("inspect", path), ("plan", path, "--to", LIBRARY, "--json"),
                  ("inspect", path, "--entity", "Book"), ("map", "--from", path, "--to", LIBRARY),
                  ("help", "migrate"), ("migrate", "--help"), ("--version",)):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([tool.path, *words], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60)
        out += [f"{words}: {fault}" for fault in
                judge(done.returncode, done.stderr, CANNOT_WRITE, ["standard output", "No space"])]
        # A reader who has seen enough loses nothing, nor one who was never there.
        for shell in ("{} | head -c 1 > /dev/null; exit ${{PIPESTATUS[0]}}", "{} >&-"):
            done = subprocess.run(["bash", "-c", shell.format(shlex.join([tool.path, *words]))],
                                  stderr=subprocess.PIPE, text=True, timeout=60)
            if done.returncode:
                out.append(f"{shell} {words}: {done.returncode} {done.stderr}")
    return out


def numbers(value, key):
    """Every number under a key, anywhere in a report."""
    if isinstance(value, dict):
        yield from (v for k, v in value.items() if k == key)
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part, key)


def the_judge(tool, folder, engine):
    """The judge finds every false answer."""
    good = "godwit: /disk/New.sqlite does not fit on its disk, 4 KiB are free: free space there.\n"
    words = [r"/disk", "does not fit on its disk"]
    false = {
        "the status": (70, good), "the file": (74, good.replace("/disk/", "")),
        "the sentence": (74, "godwit: /disk/New.sqlite failed.\n"),
        "a dump": (74, good + "SystemCallError(errno: 28)"),
        "a fault of ours": (74, "godwit: unexpected error, please report it: /disk " + good),
        "three attempts": (74, good + "godwit: work order 1 failed after 3 attempts.\n"),
    }
    out = judge(74, good, CANNOT_WRITE, words)
    return out + [f"the judge does not find: {name}" for name, (status, text) in false.items()
                  if not judge(status, text, CANNOT_WRITE, words)]


CASES = [
    ("the judge", the_judge, (None,)),
    ("no room for the output", on_disk("3m", small_output), ENGINES),
    ("no room for the output, work elsewhere", on_disk("3m", small_output_of_large_work), ENGINES),
    ("no room for work", on_disk("4m", small_work), ENGINES),
    ("no room for external files", on_disk("200m", small_for_external_files), ENGINES),
    ("no room for a copy", on_disk("2m", small_for_copy), ENGINES),
    ("no room for the pages of a log", on_disk("1m", small_for_pages), ENGINES),
    ("a disk filled meanwhile", on_disk("100m", filled_meanwhile), ENGINES),
    ("room enough", on_disk("60m", fits), ENGINES),
    ("damaged pages", damaged, ENGINES),
    ("answers lost", lost_answers, (None,)),
    ("missing permissions", forbidden, ENGINES),
    ("a value larger than the memory", large_value, ("sql", "pages", "objects")),
]


def main():
    p = parser(__doc__, needs_corpus=False)
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=300)
    cases = [(f"{name}, {engine}" if engine else name,
              lambda folder, c=check, e=engine: c(tool, folder, e))
             for name, check, engines in CASES for engine in engines]
    run_cases(options, cases, "faults")


if __name__ == "__main__":
    main()
