#!/usr/bin/env python3
"""Files that other files and arguments name are what they should be, or nothing happens.

External data that are links, pipes, devices or folders, reports to pipes, devices and links, names
that a terminal would obey, private stores, terminals that close: nothing is read or written
elsewhere, nothing hangs, and work is kept.

usage: strange_files.py --godwit P [--corpus D] [--scratch S]
"""
import contextlib
import os
import pty
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import time

from random_kills import children
from run import Tool, parser, run_cases, said, with_engine

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.abspath(os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld"))
ENGINES = ("sql", "pages", "objects")
USAGE, EXISTS, CANNOT_WRITE, INTERRUPTED, IMPOSSIBLE = 64, 73, 74, 75, 78
SECRET = "what nobody may copy"
NAME = "0F0F0F0F-0000-4000-8000-0123456789AB"


def make(tool, folder, rows=300):
    store = os.path.join(folder, "in", "Shop.sqlite")
    os.makedirs(os.path.dirname(store))
    tool.run("generate", MODEL, "--version", "Library 1", "--rows", rows, "--output", store)
    return store


# MARK: external data

def strange(kind, folder, support):
    """Puts something strange where the external file should be."""
    data = os.path.join(support, "_EXTERNAL_DATA")
    path = os.path.join(data, NAME)
    secret = os.path.join(folder, "secret")
    with open(secret, "w") as file:
        file.write(SECRET)
    if kind == "absolute link":
        os.symlink(secret, path)
    elif kind == "relative link":
        os.symlink(os.path.relpath(secret, data), path)
    elif kind == "endless":
        os.symlink("/dev/zero", path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "linked folder":
        aside = os.path.join(folder, "aside")
        os.rename(data, aside)
        os.symlink(aside, data)
        shutil.copy(secret, os.path.join(aside, NAME))
    elif kind == "linked support":
        aside = os.path.join(folder, "aside")
        os.rename(support, aside)
        os.symlink(aside, support)
        shutil.copy(secret, os.path.join(aside, "_EXTERNAL_DATA", NAME))


KINDS = ("absolute link", "relative link", "endless", "pipe", "folder", "linked folder",
         "linked support")


def external(tool, kind, engine, places, folder):
    store = make(tool, folder)
    db = sqlite3.connect(store)
    db.execute("update zbook set zcover = ? where z_pk = 1", (b"\2" + NAME.encode() + b"\0",))
    db.commit()
    db.close()
    support = os.path.join(folder, "in", ".Shop_SUPPORT")
    os.makedirs(os.path.join(support, "_EXTERNAL_DATA"), exist_ok=True)
    strange(kind, folder, support)
    with open(store, "rb") as file:
        before = file.read()
    output = os.path.join(folder, "out", "New.sqlite")
    os.makedirs(os.path.dirname(output))
    more = ("--output", output) if places == "output" else ()
    done = tool.call("migrate", store, "--to", MODEL, "--engine", engine, *more)
    out = [] if done.returncode == IMPOSSIBLE else [f"exit {done.returncode}: {done.stderr[-300:]}"]
    if not any(words in done.stderr for words in (
            "is a link or not a regular file", "are links or not regular files")):
        out.append(f"says {done.stderr[-300:]!r}")
    with open(store, "rb") as file:
        out += [] if file.read() == before else ["the store is not as it was"]
    for where, _, names in os.walk(os.path.join(folder, "out")):
        out += [f"left behind: {name}" for name in names]
    return out


def target_link(tool, folder):
    """External files of a result never go through a link of the output's folder."""
    store, aside = make(tool, folder), os.path.join(folder, "aside")
    os.makedirs(os.path.join(folder, "out"))
    os.mkdir(aside)
    os.symlink(aside, os.path.join(folder, "out", ".New_SUPPORT"))
    done = tool.call("migrate", store, "--to", MODEL, "--output",
                     os.path.join(folder, "out", "New.sqlite"))
    out = [f"written elsewhere: {os.listdir(aside)}"] if os.listdir(aside) else []
    return out + ([] if done.returncode == EXISTS else [f"exit {done.returncode}: {done.stderr}"])


# MARK: reports

def output_kinds(folder):
    """{name: what may not be written to or replaced}"""
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    nowhere = os.path.join(folder, "nowhere")
    os.symlink(os.path.join(folder, "missing"), nowhere)
    there = os.path.join(folder, "there")
    os.mkdir(there)
    paths = [pipe, nowhere, there]
    if os.geteuid() == 0:
        disk = os.path.join(folder, "disk")
        try:
            os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(7, 254))
            paths.append(disk)
        except OSError:
            pass
    return paths


def reports(tool, folder):
    store, out = make(tool, folder), []
    for path in output_kinds(folder):
        before, kind = os.lstat(path), os.path.basename(path)
        for command in (("migrate", store, "--to", MODEL, "--output",
                         os.path.join(folder, "New.sqlite"), "--report", path),
                        ("map", "--from", f"{MODEL}/Library 1.xcdatamodel", "--to", MODEL,
                         "--output", path)):
            done = tool.call(*command)
            # A map may be written where a link leads nowhere, but not in the place of the link.
            if done.returncode not in (EXISTS, CANNOT_WRITE):
                out.append(f"{command[0]} to a {kind}: exit {done.returncode}")
            after = os.lstat(path)
            if (before.st_ino, before.st_mode) != (after.st_ino, after.st_mode):
                out.append(f"{command[0]} has replaced a {kind}")
        if os.path.exists(os.path.join(folder, "New.sqlite")):
            out.append(f"a migration whose report has no place was made ({kind})")
            os.remove(os.path.join(folder, "New.sqlite"))
    return out + read_pipe(tool, store, folder)


def read_pipe(tool, store, folder):
    """Who reads a pipe gets the whole report; who stops reading stops nobody."""
    pipe = os.path.join(folder, "read")
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    time.sleep(0.2)
    done = tool.call("migrate", store, "--to", MODEL, "--output",
                     os.path.join(folder, "Read.sqlite"), "--report", pipe)
    text = reader.communicate(timeout=30)[0].decode()
    if done.returncode or '"outcome"' not in text:
        return [f"a pipe that is read: exit {done.returncode}, {text[:100]!r}, {done.stderr}"]
    return []


def one_file_twice(tool, folder):
    """No file gets two reports, and no report takes the place of a store: 64 before anything."""
    store, out = make(tool, folder), []
    new, path = os.path.join(folder, "New.sqlite"), os.path.join(folder, "x.json")
    other = os.path.join(folder, "y.json")
    os.link(store, other)
    for options in (("--report", path, "--receipt", path), ("--report", new), ("--receipt", new),
                    ("--report", store), ("--report", other), ("--receipt", other),
                    ("--pause-file", path, "--report", path)):
        done = tool.call("migrate", store, "--to", MODEL, "--output", new, *options)
        if done.returncode != USAGE or " is both " not in done.stderr or ".." in done.stderr:
            out.append(f"{options}: exit {done.returncode}, {done.stderr[-300:]}")
        if os.path.exists(new) or os.path.exists(path):
            out.append(f"{options}: something was written")
    done = tool.call("check", store, "--to", MODEL, "--junit", path, "--sarif", path)
    if done.returncode != USAGE or os.path.exists(path):
        out.append(f"check: exit {done.returncode}, {done.stderr[-300:]}")
    return out


# MARK: models

def model_pipes(tool, folder):
    """A pipe next to a model is skipped, and one where a model has a file is refused."""
    store, out = make(tool, folder), []
    models = os.path.join(folder, "models")
    bundle = os.path.join(models, "Library.xcdatamodeld")
    shutil.copytree(MODEL, bundle)
    os.mkfifo(os.path.join(models, "events.json"))
    os.mkfifo(os.path.join(models, "Old.mom"))
    new = os.path.join(folder, "New.sqlite")
    done = tool.call("migrate", store, "--to", bundle, "--models", models, "--output", new)
    if done.returncode:
        out.append(f"next to a model: exit {done.returncode}, {done.stderr[-300:]}")
    for name in ("M.json", "M.cdm", "M.xcmappingmodel/xcmapping.xml"):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path)
        out += refused(tool, name, "check", store, "--to", bundle, "--mapping",
                       path.removesuffix("/xcmapping.xml"))
    for name in (".xccurrentversion", "Library 1.xcdatamodel/contents"):
        os.remove(os.path.join(bundle, name))
        os.mkfifo(os.path.join(bundle, name))
        out += refused(tool, name, "check", store, "--to", bundle)
    out += refused(tool, "a model", "inspect", os.path.join(models, "Old.mom"))
    return out


def refused(tool, name, *arguments):
    done = tool.call(*arguments)
    if done.returncode == EXISTS and "is a pipe, a socket or a device" in done.stdout + done.stderr:
        return []
    return [f"{name}: exit {done.returncode}, {done.stderr[-300:]}"]


# MARK: names

def names(tool, folder):
    """No name or value reaches a terminal as it is."""
    odd = "\x1b]0;x\x07\x1b[31m\u202e\u2066\x9b5m\r\n.sqlite"
    store = os.path.join(folder, odd)
    out = []
    tool.run("generate", MODEL, "--version", "Library 1", "--rows", 20, "--output", store)
    for command in (("inspect", store), ("inspect", store + "x"), ("migrate", odd, "--to", odd),
                    ("check", store, "--to", MODEL), ("plan", store, "--to", MODEL),
                    ("migrate", store, "--to", MODEL, odd), ("migrate", store, "--" + odd),
                    ("status", store), ("verify", store, store), ("map", store), (odd,),
                    ("generate", MODEL, "--rows", odd, "--output", store),
                    ("migrate", store, "--to", MODEL, "--log-sql"), ("status", store)):
        done = tool.call(*command)
        text = done.stdout + done.stderr
        bad = sorted({c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160
                      or ord(c) in (0x202e, 0x2066))})
        if bad:
            out.append(f"{command[0]!r}: writes {bad}")
    return out


# MARK: modes

def private(tool, engine, elsewhere, folder):
    """Nobody else can read the work folder and the result of a private store, at any moment."""
    store = make(tool, folder, 2000)
    os.chmod(store, 0o600)
    os.makedirs(os.path.join(folder, "out"))
    output = os.path.join(folder, "out", "New.sqlite")
    work = tempfile.mkdtemp(dir="/dev/shm") if elsewhere else None
    seen, out = set(), set()
    try:
        process = tool.start("migrate", store, "--to", MODEL, "--output", output, "--engine",
                             engine, "--range-rows", 200, *(("--work", work) if work else ()),
                             environment={"GODWIT_SLOW": "20"})
        while process.poll() is None:
            for base in filter(None, (os.path.join(folder, "out"), work)):
                for entry in os.scandir(base):
                    try:
                        mode = entry.stat(follow_symlinks=False).st_mode
                    except FileNotFoundError:
                        continue
                    seen.add(stat.S_ISDIR(mode))
                    if mode & 0o077 and "SUPPORT" not in entry.name:
                        out.add(f"{entry.name} has mode {mode & 0o777:o}")
            time.sleep(0.01)
        if process.returncode:
            out.add(f"exit {process.returncode}: {said(process)}")
    finally:
        if work:
            shutil.rmtree(work)
    return sorted(out) + ([] if True in seen else ["no work folder was seen"])


# MARK: signals

def arguments(store, output):
    return with_engine(["migrate", store, "--to", MODEL, "--output", output, "--range-rows", 100])


def stopped(tool, number, folder):
    """A signal that asks to stop leaves what a later run takes up."""
    store, output = make(tool, folder, 2000), os.path.join(folder, "New.sqlite")
    process = tool.start(*arguments(store, output), environment={"GODWIT_SLOW": "60"})
    wait_for(output + ".godwit/shard-1.json")
    os.killpg(process.pid, number)
    return ended(tool, process.wait(60), said(process), store, output)


def ended(tool, status, text, store, output):
    out = [] if status == INTERRUPTED else [f"ended with {status}, expected 75: {text[-200:]}"]
    if not os.path.exists(output + ".godwit/shard-1.json"):
        return out + ["nothing of the work is left"]
    report = os.path.join(os.path.dirname(output), "report.json")
    tool.run(*arguments(store, output), "--report", report)
    with open(report) as file:
        return out + ([] if '"resumed" : true' in file.read() else ["the next run began anew"])


def wait_for(path):
    end = time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.01)


def closed_terminal(tool, folder):
    """A terminal that closes is a signal to stop; no error of the output stops the clean end."""
    store, output = make(tool, folder, 2000), os.path.join(folder, "New.sqlite")
    child, terminal = pty.fork()
    if child == 0:
        os.environ["GODWIT_SLOW"] = "60"
        os.execv(tool.path, [tool.path, *map(str, arguments(store, output))])
    wait_for(output + ".godwit/shard-1.json")
    os.close(terminal)
    end = time.monotonic() + 60
    found = (0, 0)
    while found[0] == 0 and time.monotonic() < end:
        found = os.waitpid(child, os.WNOHANG)
        time.sleep(0.02)
    if found[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return ["still running a minute after its terminal was closed"]
    return ended(tool, os.waitstatus_to_exitcode(found[1]), "", store, output)


def no_hangup(tool, folder):
    """What was started to outlive its terminal does."""
    store, output = make(tool, folder, 1000), os.path.join(folder, "New.sqlite")
    process = subprocess.Popen(
        ["nohup", tool.path, *map(str, arguments(store, output))], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "GODWIT_SLOW": "20"})
    wait_for(output + ".godwit/shard-1.json")
    os.killpg(process.pid, signal.SIGHUP)
    status = process.wait(60)
    return [] if status == 0 else [f"ended with {status}, expected 0"]


def closed_output(tool, folder):
    """Nobody reads what is said: the migration goes on."""
    store, output = make(tool, folder), os.path.join(folder, "New.sqlite")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([tool.path, *map(str, arguments(store, output))], stdout=write,
                          stderr=write, timeout=60)
    os.close(write)
    return [] if done.returncode == 0 else [f"ended with {done.returncode}, expected 0"]


def stopped_worker(tool, folder):
    """A worker that stands still shows within seconds: three, and more on a busy machine."""
    store, output = make(tool, folder, 2000), os.path.join(folder, "New.sqlite")
    process = tool.start(*arguments(store, output), "--workers", "1",
                         environment={"GODWIT_SLOW": "400"})
    wait_for(output + ".godwit/shard-1.json")
    found = None
    try:
        # One that has no part yet, or has ended, is none that could stand still: take the next.
        for _ in range(8):
            worker = None
            while worker is None and process.poll() is None:
                worker = next(iter(children(process.pid)), None)
            if worker is None:
                return ["ended before a worker was stopped"]
            try:
                os.kill(worker, signal.SIGSTOP)
            except ProcessLookupError:
                continue
            end = time.monotonic() + 5
            while time.monotonic() < end and (found is None or "paused" not in found.stdout):
                found = tool.call("status", output)
            if "paused" in found.stdout:
                break
            try:
                os.kill(worker, signal.SIGCONT)
            except ProcessLookupError:
                continue
            time.sleep(0.5)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if found is None or "paused" not in found.stdout or found.returncode != 69:
        return [f"exit {found.returncode}, says {found.stdout[:200]!r}" if found else
                "ended before a worker stood still"]
    return []


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = Tool(options.godwit, timeout=60)
    cases = [(f"{kind}, {engine}, {places}",
              lambda f, k=kind, e=engine, p=places: external(tool, k, e, p, f))
             for index, kind in enumerate(KINDS)
             for engine, places in ((ENGINES[index % 3], "output"),
                                    (ENGINES[(index + 1) % 3], "in place"))]
    cases += [("a linked support folder of the output", lambda f: target_link(tool, f)),
              ("reports", lambda f: reports(tool, f)), ("names", lambda f: names(tool, f)),
              ("one file twice", lambda f: one_file_twice(tool, f)),
              ("pipes among models", lambda f: model_pipes(tool, f))]
    cases += [(f"a private store, {engine}{', work elsewhere' * elsewhere}",
               lambda f, e=engine, w=elsewhere: private(tool, e, w, f))
              for engine in ENGINES for elsewhere in (False, True)]
    cases += [(number.name, lambda f, n=number: stopped(tool, n, f))
              for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)]
    cases += [("a closed terminal", lambda f: closed_terminal(tool, f)),
              ("nohup", lambda f: no_hangup(tool, f)),
              ("a closed output", lambda f: closed_output(tool, f)),
              ("a stopped worker", lambda f: stopped_worker(tool, f))]
    run_cases(options, cases, "strange files and signals")


if __name__ == "__main__":
    main()
