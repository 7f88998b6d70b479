#!/usr/bin/env python3
"""Whatever lies beside a store or in a work folder stays as it is, to the byte.

Stores are migrated in folders with bystanders of every kind: nested folders, links, other stores,
folders and files whose names look like Godwit's. However a run ends, nothing but the store's own
files may have changed, and --work may name any folder.

usage: foreign_files.py --godwit P --corpus D [--scratch S]
"""
import hashlib
import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess

from run import Failure, Tool, parser, run_cases, with_engine

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.abspath(os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld"))
OTHER = os.path.abspath(os.path.join(HERE, "..", "Benchmarks", "Press.xcdatamodeld"))
DONE, USAGE, CANNOT_CREATE, CANNOT_WRITE, INTERRUPTED, IMPOSSIBLE = 0, 64, 73, 74, 75, 78
STORE = "Library.sqlite"
# What a migration may leave beside its store or output.
PRODUCTS = {
    "in place": [r"Library\.sqlite\.before-\d{8}-\d{6}(\.\d+)?",
                 r"Library\.sqlite\.godwit-kept\.json", r"\.Library\.sqlite_SUPPORT(/.*)?"],
    "output": [r"New\.sqlite", r"\.New_SUPPORT(/.*)?"],
}
RECORDS = [r"[^/]*\.godwit-status\.json"]
WORK_FOLDER = r"(.*/)?[^/]*\.sqlite\.godwit(-[0-9a-f]{8})?(/.*)?"


def snapshot(folder):
    """{path: kind, mode, link target or digest} of everything below a folder; follows no link."""
    found = {}
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
            found[os.path.relpath(path, folder)] = (kind, stat.S_IMODE(status.st_mode), content)
    return found


def differences(before, folder, changes=(), additions=()):
    """What is not as it was, but for paths that may have changed or come."""
    after, found = snapshot(folder), []
    for path in sorted(set(before) | set(after)):
        if before.get(path) == after.get(path) or path in changes:
            continue
        if path not in before and any(re.fullmatch(p, path) for p in additions):
            continue
        what = ("changed" if path in before and path in after else
                "removed" if path in before else "left behind")
        found.append(f"{what}: {path}")
    return found


def database(path, text):
    db = sqlite3.connect(path)
    db.executescript(
        f"pragma journal_mode=wal; create table t (a); insert into t values ('{text}')")
    db.close()


def write(path, text="mine"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def surround(folder, outside):
    """Puts bystanders of every kind into a folder."""
    write(os.path.join(outside, "precious.txt"))
    write(os.path.join(folder, "letters", "2019", "deep", "letter.txt"))
    write(os.path.join(folder, "notes.txt"))
    os.makedirs(os.path.join(folder, "empty"))
    database(os.path.join(folder, "Other.sqlite"), "other")
    for suffix in ("-wal", "-shm", "-journal"):
        write(os.path.join(folder, "Third.sqlite" + suffix))
    for name in ("plan.json", "shard-1.json", "shard-1.1.sqlite", "result.sqlite", "claims",
                 "swap.json", "stage-1.sqlite", "status.mdb", "godwit.lock", "godwit.json.tmp"):
        write(os.path.join(folder, "Foreign.sqlite.godwit", name))
        write(os.path.join(folder, name))
    write(os.path.join(folder, "Foreign.sqlite.godwit", "inner", "plan.json"))
    write(os.path.join(folder, "stage-1.godwit", "plan.json"))
    write(os.path.join(folder, ".stage-1_SUPPORT", "_EXTERNAL_DATA", "x" * 36))
    write(os.path.join(folder, STORE + ".before-20190101-000000"))
    write(os.path.join(folder, STORE + ".godwit-result"))
    write(os.path.join(folder, ".Other_SUPPORT", "_EXTERNAL_DATA", "a" * 36))
    os.symlink(os.path.join(outside, "precious.txt"), os.path.join(folder, "link-to-file"))
    os.symlink(outside, os.path.join(folder, "link-to-folder"))
    os.symlink("nowhere", os.path.join(folder, "link-to-nothing"))
    os.mkfifo(os.path.join(folder, "pipe"))


class Scene:
    """A store among bystanders, and a folder outside."""

    def __init__(self, tool, folder, version="Library 1", rows=300):
        self.tool, self.folder = tool, os.path.join(folder, "here")
        self.outside = os.path.join(folder, "outside")
        os.makedirs(self.folder)
        os.makedirs(self.outside)
        tool.run("generate", MODEL, "--version", version, "--rows", rows, "--seed", 3,
                 "--output", os.path.join(self.folder, STORE))
        surround(self.folder, self.outside)
        self.before, self.before_outside = snapshot(self.folder), snapshot(self.outside)

    def migrate(self, *arguments, model=MODEL, environment=None, limit=None):
        def restrict():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run(
            [self.tool.path, *with_engine(("migrate", STORE, "--to", model, *arguments))],
            cwd=self.folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=300, text=True,
            env={**os.environ, **(environment or {})}, preexec_fn=restrict if limit else None)

    def check(self, done, status, changes=(), additions=()):
        found = differences(self.before, self.folder, changes, [*additions, *RECORDS])
        found += [f"outside: {f}" for f in differences(self.before_outside, self.outside)]
        if done.returncode != status:
            found.append(f"exit {done.returncode}, expected {status}: {done.stderr.strip()[-300:]}")
        return found


def works(scene):
    """What --work may name, with the status that a migration ends with."""
    os.symlink(scene.outside, os.path.join(scene.folder, "work-link"))
    scene.before = snapshot(scene.folder)
    return {
        "none": ((), DONE), "dot": (("--work", "."), DONE),
        "store's folder": (("--work", scene.folder), DONE),
        "outside": (("--work", scene.outside), DONE),
        "link": (("--work", "work-link"), DONE),
        "file": (("--work", "notes.txt"), CANNOT_CREATE),
        "store itself": (("--work", STORE), CANNOT_CREATE),
        "foreign folder": (("--work", "Foreign.sqlite.godwit"), DONE),
        "new folder": (("--work", "fresh"), DONE),
    }


def succeed(tool, work, folder):
    scene = Scene(tool, folder)
    arguments, status = works(scene)[work]
    done = scene.migrate(*arguments)
    return scene.check(done, status, [STORE] if status == DONE else [], PRODUCTS["in place"])


def output(tool, work, folder):
    scene = Scene(tool, folder)
    arguments, status = works(scene)[work]
    done = scene.migrate("--output", "New.sqlite", *arguments)
    return scene.check(done, status, [], PRODUCTS["output"])


def nothing(tool, work, folder):
    scene = Scene(tool, folder, version="Library 3")
    arguments, status = works(scene)[work]
    return scene.check(scene.migrate(*arguments), status)


def refused(tool, work, folder):
    scene = Scene(tool, folder)
    arguments, status = works(scene)[work]
    return scene.check(scene.migrate(*arguments, model=OTHER), status or IMPOSSIBLE)


def misused(tool, work, folder):
    scene = Scene(tool, folder)
    arguments, _ = works(scene)[work]
    return scene.check(scene.migrate("--workers", "none", *arguments), USAGE)


def full(tool, work, folder):
    scene = Scene(tool, folder, rows=3000)
    arguments, status = works(scene)[work]
    done = scene.migrate(*arguments, limit=40_000)
    if done.returncode == DONE:
        return ["a migration that could not write its files ended with 0"]
    return scene.check(done, done.returncode)


def killed(tool, work, folder):
    scene = Scene(tool, folder, rows=3000)
    arguments, status = works(scene)[work]
    point = {"GODWIT_FAULT": "coordinator:migrating"}
    done = scene.migrate(*arguments, "--range-rows", 200, environment=point)
    if status != DONE:
        return scene.check(done, status)
    left = scene.check(done, -signal.SIGKILL, [], [WORK_FOLDER, "fresh"])
    outside = [f for f in left if not re.fullmatch("outside: left behind: " + WORK_FOLDER, f)]
    if len(outside) == len(left) and not any(
            re.fullmatch(WORK_FOLDER, p) for p in snapshot(scene.folder) if p not in scene.before):
        outside.append("the killed run left no work folder")
    done = scene.migrate(*arguments, "--range-rows", 200)
    return outside + scene.check(done, DONE, [STORE], PRODUCTS["in place"])


def foreign(tool, kind, folder):
    """The work folder's own name is taken."""
    scene = Scene(tool, folder)
    taken = os.path.join(scene.folder, STORE + ".godwit")
    if kind == "folder":
        shutil.copytree(os.path.join(scene.folder, "Foreign.sqlite.godwit"), taken)
    elif kind == "file":
        write(taken)
    else:
        os.symlink(scene.outside, taken)
    scene.before = snapshot(scene.folder)
    found = scene.check(scene.migrate(), CANNOT_CREATE)
    done = scene.migrate("--work", "elsewhere")
    return found + scene.check(done, DONE, [STORE], PRODUCTS["in place"])


def intruder(tool, folder):
    """Somebody puts files into the work folder of an interrupted migration."""
    scene = Scene(tool, folder, rows=3000)
    scene.migrate("--range-rows", 200, environment={"GODWIT_FAULT": "coordinator:migrating"})
    work = os.path.join(scene.folder, STORE + ".godwit")
    write(os.path.join(work, "mine", "plan.json"))
    write(os.path.join(work, "photo.jpg"))
    os.symlink(os.path.join(scene.outside, "precious.txt"), os.path.join(work, "shard-99.json"))
    mine = {p: v for p, v in snapshot(work).items()
            if p.startswith("mine") or p in ("photo.jpg", "shard-99.json")}
    done = scene.migrate("--range-rows", 200)
    after = snapshot(work)
    found = [f"touched: {p}" for p, v in mine.items() if after.get(p) != v]
    if "photo.jpg" not in done.stderr:
        found.append("nobody is told what stays in the work folder")
    return found + scene.check(
        done, DONE, [STORE], [*PRODUCTS["in place"], r"Library\.sqlite\.godwit/(godwit\.\w+|mine"
                              r"(/plan\.json)?|photo\.jpg|shard-99\.json)",
                              r"Library\.sqlite\.godwit"])


def linked(tool, folder):
    """A store with a live log, reached through a link: the target is exchanged, the link stays."""
    scene = Scene(tool, folder, rows=300)
    real = os.path.join(scene.outside, "Real.sqlite")
    os.rename(os.path.join(scene.folder, STORE), real)
    support = os.path.join(scene.folder, ".Library_SUPPORT")
    if os.path.exists(support):
        os.rename(support, os.path.join(scene.outside, ".Real_SUPPORT"))
    os.symlink(real, os.path.join(scene.folder, STORE))
    db = sqlite3.connect(real)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma wal_autocheckpoint=0")
    rows, top = db.execute("select count(*), max(Z_PK) from ZAUTHOR").fetchone()
    db.execute("delete from ZAUTHOR where Z_PK = ?", (top,))
    db.commit()
    # Closing would fold the log in, so the files are taken as they are.
    for suffix in ("", "-wal"):
        shutil.copy(real + suffix, real + suffix + ".copy")
    db.close()
    for suffix in ("", "-wal"):
        os.replace(real + suffix + ".copy", real + suffix)
    if os.path.getsize(real + "-wal") == 0:
        raise Failure("the store has no live log")
    done = scene.migrate()
    if done.returncode != DONE:
        return [f"exit {done.returncode}: {done.stderr}"]
    found = [] if os.path.islink(os.path.join(scene.folder, STORE)) else ["the link is gone"]
    db = sqlite3.connect(f"file:{real}?immutable=1", uri=True)
    now = db.execute("select count(*) from ZAUTHOR").fetchone()[0]
    db.close()
    if now != rows - 1:
        found.append(f"{now} rows of ZAUTHOR, expected {rows - 1}")
    with open(real, "rb") as file:
        if file.read(20)[18] != 2:
            found.append("the journal mode of the store was not kept")
    kept = [n for n in os.listdir(scene.outside) if n.startswith("Real.sqlite.before-")]
    if len(kept) != 1:
        found.append(f"kept beside the target: {kept}")
    return found


def main():
    options = parser(__doc__).parse_args()
    tool = Tool(options.godwit)
    kinds = ["none", "dot", "store's folder", "outside", "link", "file", "store itself",
             "foreign folder", "new folder"]
    endings = {"success": succeed, "output": output, "nothing to do": nothing, "refusal": refused,
               "wrong options": misused, "no room": full, "kill and resume": killed}
    cases = [(f"{ending}, --work {kind}", lambda f, e=function, k=kind: e(tool, k, f))
             for ending, function in endings.items() for kind in kinds]
    cases += [(f"the work folder's name is a {kind}'s", lambda f, k=kind: foreign(tool, k, f))
              for kind in ("folder", "file", "link")]
    cases.append(("files in a work folder", lambda f: intruder(tool, f)))
    cases.append(("a store behind a link", lambda f: linked(tool, f)))
    run_cases(options, cases, "scenes")


if __name__ == "__main__":
    main()
