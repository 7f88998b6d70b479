#!/usr/bin/env python3
"""Migrates with workers that a command starts: one that passes everything on, that prints, starts
elsewhere, fails, loses output or input, never starts anything, starts another build, or loses a
worker that lives on. Results are those of child processes to the byte, or the migration ends with a
sentence and goes on by another launcher.

usage: launchers.py --godwit P [--scratch S]
"""
import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial

from run import Failure, Tool, fingerprint, parser, run_cases, said, vacuumed

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ROWS, PATIENCE = 6_000, 60.0
PASSING = {
    "env": "env",
    "a shell": """sh -c 'exec "$@"' sh""",
    "another folder": """sh -c 'cd / && exec "$@"' sh""",
    "one that prints": """sh -c 'echo welcome; "$@"; s=$?; echo bye; exit $s' sh""",
    "a pipe": """sh -c '"$@" | cat' sh""",
    "other ends of lines": r"""sh -c '"$@" | sed -u "s/$/\r/"' sh""",
    "one that hides the status": """sh -c '"$@"; exit 3' sh""",
}
# The status and words of migrations that such launchers end.
FAILING = {
    "false": ("false", 69, "started no worker"),
    "no such command": ("/nonexistent/launcher", 71, "no worker process can be started"),
    "one that loses input": ("""sh -c '"$@" </dev/null' sh""", 69, "no work order comes"),
    "one that loses output": ("""sh -c '"$@" >/dev/null' sh""", 69, "no answer comes"),
    "one that prints alone": ("echo", 69, "started no worker"),
}
# Starts a worker, and the first time ends without it: with status 0, as srun does when its node is
# lost. The worker stands still until SIGCONT, and then nobody answers it or hears it.
PARTITION = """
import os, signal, subprocess, sys, threading, time
folder, words = sys.argv[1], sys.argv[2:]
try:
    os.mkdir(os.path.join(folder, "lost"))
except FileExistsError:
    os.execvp(words[0], words)
worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, start_new_session=True)
def feed():
    while data := os.read(0, 65536):
        os.write(worker.stdin.fileno(), data)
threading.Thread(target=feed, daemon=True).start()
while True:
    data = os.read(worker.stdout.fileno(), 65536)
    os.write(1, data)
    # Some rows are reported: it has begun to write.
    if b'"rows":' in data and b'"rows":0' not in data:
        break
worker.send_signal(signal.SIGSTOP)
if os.fork() == 0:
    os.setsid()
    for number in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    with open(os.path.join(folder, "zombie"), "w") as file:
        file.write(str(worker.pid))
    threading.Thread(target=lambda: [None for _ in iter(worker.stdout.read1, b"")],
                     daemon=True).start()
    # The folder may be gone before anybody looks.
    while os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "released")):
        time.sleep(0.05)
os._exit(0)
"""


class Ground:
    """A made-up store, and what child processes make of it."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.source = os.path.join(folder, "source.sqlite")
        self.mapping = os.path.join(folder, "mapping.json")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS,
                 "--output", self.source)
        tool.run("map", "--from", os.path.join(LIBRARY, "Library 1.xcdatamodel"), "--to", LIBRARY,
                 "--output", self.mapping)
        self.before = fingerprint(folder)
        self.expected = {}
        for engine in ("pages", "sql", "objects"):
            output = os.path.join(folder, f"expected-{engine}.sqlite")
            tool.run(*self.command(output, engine))
            self.expected[engine] = canonical(output)
            os.remove(output)

    def command(self, output, engine="pages", launcher=None, *options):
        more = ("--mapping", self.mapping) if engine == "objects" else ()
        if launcher is not None:
            more += ("--launcher", launcher)
        return ["migrate", self.source, "--to", LIBRARY, "--output", output, "--range-rows", 400,
                *(() if "--workers" in options else ("--workers", 2)), "--engine", engine, *more,
                *options]

    def judge(self, output, engine="pages"):
        if canonical(output) != self.expected[engine]:
            raise Failure("the result is not that of child processes")
        if os.path.exists(output + ".godwit"):
            raise Failure(f"{output}.godwit is left")
        after = fingerprint(os.path.dirname(self.source))
        changed = [name for name in self.before if after.get(name) != self.before[name]]
        if changed:
            raise Failure(f"{', '.join(changed)} changed")


def canonical(path):
    copy = vacuumed(path)
    try:
        with open(copy, "rb") as file:
            return file.read()
    finally:
        os.remove(copy)


def attempts(report):
    with open(report, encoding="utf-8") as file:
        return [order["attempts"] for order in json.load(file)["workOrders"]]


def passing(ground, launcher, engine, folder):
    output, report = os.path.join(folder, "result.sqlite"), os.path.join(folder, "report.json")
    ground.tool.run(*ground.command(output, engine, launcher, "--report", report))
    found = attempts(report)
    if set(found) != {1} or (engine != "objects" and len(found) < 2):
        raise Failure(f"attempts at work orders: {found}")
    ground.judge(output, engine)


def failing(ground, launcher, status, words, folder):
    output = os.path.join(folder, "result.sqlite")
    done = ground.tool.run(*ground.command(output, "pages", launcher), expect=status)
    if words not in done.stderr:
        raise Failure(f"it does not say {words!r}: {done.stderr}")
    if os.path.exists(output):
        raise Failure("there is a result")
    ground.tool.run(*ground.command(output, "pages", "env"))
    ground.judge(output)


def doubled(ground, folder):
    """Two workers for one order would write to the same files."""
    output, pipe = os.path.join(folder, "result.sqlite"), os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    launcher = f"""sh -c 'exec 3<&0; tee {pipe} <&3 | "$@" & "$@" <{pipe}; wait' sh"""
    done = ground.tool.run(*ground.command(output, "pages", launcher, "--workers", 1), expect=64)
    if "several workers for one work order" not in done.stderr:
        raise Failure(f"two workers for one order: {done.stderr}")
    ground.tool.run(*ground.command(output, "pages", "env"))
    ground.judge(output)


def endless(ground, folder):
    output = os.path.join(folder, "result.sqlite")
    launcher = "sh -c 'exec cat /dev/zero'"
    done = ground.tool.run(*ground.command(output, "pages", launcher), expect=64)
    if "endless line" not in done.stderr:
        raise Failure(f"an endless line: {done.stderr}")


def badly_typed(ground, folder):
    output, out = os.path.join(folder, "result.sqlite"), []
    for words in ("", "  ", "'env", "env \\", '"" env'):
        done = ground.tool.call(*ground.command(output, "pages", words))
        if done.returncode != 64 or os.path.exists(output + ".godwit"):
            out.append(f"--launcher {words!r} ends with {done.returncode}: {done.stderr[-200:]}")
    return out


class Watched:
    """A migration that runs, and its status."""

    def __init__(self, ground, folder, engine, launcher, *options, environment=None):
        self.tool, self.output = ground.tool, os.path.join(folder, "result.sqlite")
        self.process = ground.tool.start(
            *ground.command(self.output, engine, launcher, *options), environment=environment)

    def wait(self, words, fits):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            done = self.tool.call("status", self.output, "--json")
            found = json.loads(done.stdout)
            if fits(found):
                return found
            if self.process.poll() is not None:
                raise Failure(f"it ended with {self.process.returncode} before {words}: "
                              f"{said(self.process)[-300:]}")
            time.sleep(0.05)
        os.killpg(self.process.pid, signal.SIGKILL)
        raise Failure(f"after {PATIENCE:.0f} s not yet {words}: {found}")

    def end(self, status=0):
        try:
            self.process.wait(PATIENCE)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.returncode != status:
            raise Failure(f"it ended with {self.process.returncode}, expected {status}: "
                          f"{said(self.process)[-400:]}")


def never_starting(ground, folder):
    """What waits in a queue is planned, and can be cancelled at once."""
    run = Watched(ground, folder, "pages", "sh -c 'exec sleep 1000'")
    run.wait("work orders are there", lambda s: s.get("parts"))
    time.sleep(1)
    found = run.wait("it waits", lambda s: s.get("phase") == "migrating")
    states = {part["state"] for part in found["parts"]}
    if states != {"planned"} or found["workersRunning"] != 0 or found["bytesDone"] != 0:
        raise Failure(f"nothing has started, and it says {found}")
    begun = time.monotonic()
    run.tool.run("cancel", run.output)
    run.end(75)
    if time.monotonic() - begun > 10:
        raise Failure(f"it took {time.monotonic() - begun:.0f} s to cancel it")
    ground.tool.run(*ground.command(run.output, "pages", "env"))
    ground.judge(run.output)


def killed(ground, engine, folder):
    """The first worker is killed, and its launcher ends with 0."""
    flag, report = os.path.join(folder, "once"), os.path.join(folder, "report.json")
    launcher = f"""sh -c 'if mkdir {flag} 2>/dev/null; then exec 3<&0; "$@" <&3 & """ \
               """sleep 0.3; kill -9 $!; exit 0; fi; exec "$@"' sh"""
    run = Watched(ground, folder, engine, launcher, "--report", report,
                  environment={"GODWIT_SLOW": "400"})
    found = run.wait("a second attempt", lambda s: any(
        part["attempt"] == 2 for part in s.get("parts") or []))
    if found["state"] != "running":
        raise Failure(f"after the loss of a worker it says {found['state']}")
    run.end()
    if sorted(attempts(report))[-2:] != [1, 2]:
        raise Failure(f"attempts at work orders: {attempts(report)}")
    ground.judge(run.output, engine)


def living_on(ground, folder):
    """The first worker is lost and lives on: what it writes later is in no file with a name."""
    script = os.path.join(folder, "partition.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(PARTITION)
    launcher = shlex.join([sys.executable, script, folder])
    output, report = os.path.join(folder, "result.sqlite"), os.path.join(folder, "report.json")
    zombie = None
    try:
        ground.tool.run(*ground.command(output, "pages", launcher, "--report", report),
                        environment={"GODWIT_SLOW": "40"})
        with open(os.path.join(folder, "zombie"), encoding="utf-8") as file:
            zombie = int(file.read())
        held = [os.readlink(link) for link in glob.glob(f"/proc/{zombie}/fd/*")]
        results = [path for path in held if "result.sqlite" in path and "shard" not in path]
        if not results or any(not path.endswith("(deleted)") for path in results):
            raise Failure(f"the lost worker has open {held}")
        if max(attempts(report)) != 2:
            raise Failure(f"attempts at work orders: {attempts(report)}")
        ground.judge(output)
        # It goes on, and nothing comes of it.
        os.kill(zombie, signal.SIGCONT)
        time.sleep(2)
        ground.judge(output)
    finally:
        open(os.path.join(folder, "released"), "w", encoding="utf-8").close()
        if zombie and os.path.exists(f"/proc/{zombie}"):
            os.kill(zombie, signal.SIGCONT)
    require_end([zombie])


def require_end(workers):
    end = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{worker}/fd/0") for worker in workers):
        if time.monotonic() > end:
            raise Failure("workers outlive their standard input by 10 s")
        time.sleep(0.05)


def killed_coordinator(ground, folder):
    """A worker ends with its coordinator, and the next run goes on with what is done."""
    run = Watched(ground, folder, "pages", "env", environment={"GODWIT_SLOW": "150"})
    found = run.wait("a work order is done", lambda s: any(
        part["state"] == "done" for part in s.get("parts") or []) or s.get("rowsDone", 0) > 800)
    workers = [part["process"] for part in found["parts"] if part["state"] == "running"]
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    require_end(workers)
    done = ground.tool.call("status", run.output, "--json")
    state = json.loads(done.stdout).get("state")
    if state != "dead":
        raise Failure(f"the state of one that was killed: {state}")
    # Child processes do not go on with what other machines may have written.
    done = ground.tool.call(*ground.command(run.output))
    if done.returncode == 0 or "it ran with --launcher" not in done.stderr:
        raise Failure(f"without a launcher: {done.returncode} {done.stderr}")
    ground.tool.run(*ground.command(run.output, "pages", """sh -c 'exec "$@"' sh"""))
    ground.judge(run.output)


def stopped_coordinator(ground, folder):
    """Workers that hear nothing wait."""
    run = Watched(ground, folder, "pages", "env", environment={"GODWIT_SLOW": "150"})
    run.wait("rows are made", lambda s: s.get("rowsDone", 0) > 0)
    os.kill(run.process.pid, signal.SIGSTOP)
    time.sleep(7)
    sizes = written(run.output)
    time.sleep(1)
    if written(run.output) != sizes:
        raise Failure("the coordinator is stopped, and workers write")
    os.kill(run.process.pid, signal.SIGCONT)
    run.end()
    ground.judge(run.output)


def written(output):
    return {path: os.stat(path).st_mtime_ns for path in glob.glob(f"{output}.godwit/*")
            if "status.mdb" not in path}


def another_build(ground, folder):
    other = os.path.join(folder, "godwit")
    shutil.copy(ground.tool.path, other)
    with open(other, "ab") as file:
        file.write(b"x")
    output = os.path.join(folder, "result.sqlite")
    launcher = f"""sh -c 'shift; exec {other} "$@"' sh"""
    done = ground.tool.run(*ground.command(output, "pages", launcher), expect=64)
    if "another build" not in done.stderr:
        raise Failure(f"another build as worker: {done.stderr}")


def elsewhere(ground, folder):
    """A folder that is another one where the worker runs."""
    output = os.path.join(folder, "result.sqlite")
    hidden = f"""unshare --mount sh -c 'mount -t tmpfs none {output}.godwit && exec "$@"' sh"""
    done = ground.tool.call(*ground.command(output, "pages", hidden))
    if done.returncode == 69 and "started no worker" in done.stderr:
        print("skipped: a folder that is not shared (no right to mount)")
        return
    if done.returncode not in (66, 69, 73, 74) or f"{output}.godwit" not in done.stderr:
        raise Failure(f"a folder that is not shared: {done.returncode} {done.stderr}")
    ground.tool.run(*ground.command(output, "pages", "env"))
    ground.judge(output)


def foreign_system(ground, folder):
    """On a file system that another machine may keep, the status file is on this one: the run is
    watched, paused and cancelled as elsewhere, and takes it along."""
    if not shutil.which("bindfs") or os.geteuid():
        print("skipped: a file system of another machine (scripts/packages bindfs, as root)")
        return
    shared, below = os.path.join(folder, "shared"), os.path.join(folder, "below")
    os.mkdir(shared)
    os.mkdir(below)
    done = subprocess.run(["bindfs", below, shared], capture_output=True, check=False)
    if done.returncode:
        print(f"skipped: a file system of another machine ({done.stderr.decode().strip()})")
        return
    elsewhere = set(glob.glob("/tmp/godwit-0/*"))
    try:
        run = Watched(ground, shared, "pages", "env", environment={"GODWIT_SLOW": "150"})
        run.wait("rows are made", lambda s: s.get("rowsDone", 0) > 0)
        run.tool.run("pause", run.output)
        run.wait("paused", lambda s: s.get("state") == "paused")
        run.tool.run("cancel", run.output)
        run.end(75)
        if glob.glob(f"{run.output}.godwit/status.mdb*"):
            raise Failure("the status file is on the shared file system")
        report = os.path.join(folder, "report.json")
        ground.tool.run(*ground.command(run.output, "pages", "env", "--report", report))
        ground.judge(run.output)
        if os.listdir(below) and set(os.listdir(below)) - {"result.sqlite", ".result_SUPPORT"}:
            raise Failure(f"left over: {os.listdir(below)}")
        if set(glob.glob("/tmp/godwit-0/*")) - elsewhere:
            raise Failure("a status file is left on this machine")
    finally:
        subprocess.run(["umount", shared], check=False)


def main():
    options = parser(__doc__.splitlines()[0], needs_corpus=False).parse_args()
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    os.makedirs(base, exist_ok=True)
    ground = Ground(Tool(options.godwit), tempfile.mkdtemp(prefix="ground-", dir=base))
    cases = [(f"{name}, {engine}", partial(passing, ground, launcher, engine))
             for name, launcher in PASSING.items()
             for engine in (ground.expected if name in ("env", "a pipe") else ["pages"])]
    cases += [(name, partial(failing, ground, *case)) for name, case in FAILING.items()]
    cases += [(f"killed, {engine}", partial(killed, ground, engine)) for engine in ("pages", "sql")]
    cases += [(body.__name__.replace("_", " "), partial(body, ground)) for body in (
        badly_typed, doubled, endless, never_starting, living_on, killed_coordinator,
        stopped_coordinator, another_build, elsewhere, foreign_system)]
    try:
        run_cases(options, cases, "launchers")
    finally:
        shutil.rmtree(ground.folder, ignore_errors=True)
        if not options.scratch:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
