#!/usr/bin/env python3
"""Brings migrations into every state that there is, by signals, by faults of the store and by
another user, and looks whether `godwit status` says so, by source, output and folder.

usage: status_states.py --godwit P [--corpus D] [--scratch S]
"""
import collections
import json
import os
import shutil
import signal
import subprocess
import time

from run import KEEP_RECORD, Failure, Tool, parser, run_cases, said

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
REFUSED = os.path.join(HERE, "..", "EndToEndTests", "Scenarios", "fail-every-refusal-is-listed")
STATUS = {"running": 0, "done": 0, "paused": 69, "interrupted": 75, "dead": 75, "refused": 78}
NOBODY = 65534
PATIENCE = 3.0
SUFFIX = ".godwit-status.json"

Said = collections.namedtuple("Said", "status out err json")


def ask(tool, path, prefix=()):
    text = tool.call("status", path, prefix=prefix)
    done = tool.call("status", path, "--json", prefix=prefix)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = {}
    statuses = {text.returncode, done.returncode}
    return Said(done.returncode if len(statuses) == 1 else f"two statuses {statuses}",
                text.stdout, text.stderr, found)


def judge(said, state, status=None, sentence=None):
    """What is wrong with what was said of a migration in a state."""
    status = STATUS[state] if status is None else status
    out = []
    if said.status != status:
        out.append(f"exit {said.status}, expected {status}: {said.err.strip()[:200]}")
    if said.json.get("state") != state or said.json.get("exitStatus") != status:
        out.append(f"JSON says {said.json.get('state')} ({said.json.get('exitStatus')}), expected "
                   f"{state} ({status})")
    first = said.out.split("\n")[0]
    if f": {state}" not in first:
        out.append(f"says {first!r}, expected {state}")
    if state != "running" and (" left" in said.out or said.json.get("secondsRemaining")):
        out.append(f"says how long a migration will take that is {state}")
    if "Error(" in said.out or "unexpected error" in said.out:
        out.append(f"shows an error as programmers see it: {said.out[:200]!r}")
    if sentence and sentence not in said.out:
        out.append(f"does not say {sentence!r}: {said.out[:300]!r}")
    if any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in said.out + said.err):
        out.append("writes control characters to the terminal")
    return out


def settled(tool, path, state, **more):
    """Asks until the state is told, for as long as a state may take to be seen."""
    end = time.monotonic() + PATIENCE
    while True:
        found = judge(ask(tool, path), state, **more)
        if not found or time.monotonic() > end:
            return found


class Place:
    """A store of its own, with the names by which its migration may be asked for."""

    def __init__(self, tool, folder, name="Shop.sqlite", rows=2000, elsewhere=False):
        self.tool, self.folder = tool, folder
        for where in (os.path.dirname(folder), folder):
            os.chmod(where, 0o755)
        self.store = os.path.join(folder, name)
        self.output = os.path.join(folder, "New.sqlite")
        self.elsewhere = os.path.join(folder, "work") if elsewhere else None
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", rows, "--output",
                 self.store)
        self.link = os.path.join(folder, "link")
        os.symlink(self.store, self.link)
        self.linked = os.path.join(folder, "linked")
        os.symlink(self.output, self.linked)

    def arguments(self, *more):
        work = ("--work", self.elsewhere) if self.elsewhere else ()
        return ("migrate", self.store, "--to", LIBRARY, "--output", self.output, "--range-rows",
                "100", "--workers", "1", *work, *more, KEEP_RECORD)

    def paths(self):
        folder = self.elsewhere or self.output + ".godwit"
        return [self.store, self.output, folder, self.link]

    def start(self, *more, slow=200):
        """Starts a migration that takes its time, and waits until it works."""
        process = self.tool.start(*self.arguments(*more), environment={"GODWIT_SLOW": str(slow)})
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            found = ask(self.tool, self.store)
            if any(p["state"] == "running" for p in found.json.get("parts", [])):
                return process
            time.sleep(0.02)
        stop(process, signal.SIGKILL)
        raise Failure(f"the migration never worked: {said(process)[-300:]}")

    def all(self, state, **more):
        return [f"{os.path.basename(p)}: {line}" for p in self.paths()
                for line in settled(self.tool, p, state, **more)]


def stop(process, number):
    """Signals the whole session, as a terminal would; workers die with their coordinator."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
    return process.wait(60) if number in (signal.SIGKILL, signal.SIGTERM) else None


def check_killed(tool, folder, elsewhere):
    place = Place(tool, folder, elsewhere=elsewhere)
    process = place.start()
    out = place.all("running")
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    out += place.all("dead", sentence="start the same command again")
    tool.run(*place.arguments())
    return out + [line for p in place.paths() if not elsewhere or p != place.elsewhere
                  for line in settled(tool, p, "done")]


def check_interrupted(tool, folder):
    place = Place(tool, folder)
    process = place.start()
    os.kill(process.pid, signal.SIGTERM)
    status = process.wait(60)
    out = [] if status == 75 else [f"the migration ended with {status}, expected 75"]
    out += place.all("interrupted", sentence="start the same command again")
    tool.run(*place.arguments())
    return out + place.all("done")


def check_stopped(tool, folder):
    place = Place(tool, folder)
    process = place.start()
    try:
        os.kill(process.pid, signal.SIGSTOP)
        out = place.all("paused", sentence="kill -CONT")
        os.kill(process.pid, signal.SIGCONT)
        out += place.all("running")
    finally:
        stop(process, signal.SIGKILL)
    return out


def check_refused(tool, folder):
    """A refusal is seen by a watcher, and leaves nothing behind."""
    store = os.path.join(folder, "Store.sqlite")
    tool.run("generate", os.path.join(REFUSED, "source.xcdatamodel"), "--rows", "20", "--output",
             store)
    for output in ((), ("--output", os.path.join(folder, "New.sqlite"))):
        tool.run("migrate", store, "--to", os.path.join(REFUSED, "destination.xcdatamodel"),
                 *output, KEEP_RECORD, expect=78)
    out = [f"left behind: {n}" for n in os.listdir(folder) if n != "Store.sqlite"]
    return out + unknown(tool, store)


def check_failed(tool, folder):
    """A store whose pages are damaged past its first ones."""
    place = Place(tool, folder, rows=4000)
    size = os.path.getsize(place.store)
    with open(place.store, "r+b") as file:
        for offset in range(size // 8192 * 4096, size, 4096):
            file.seek(offset)
            file.write(b"\xff" * 4096)
    done = tool.call(*place.arguments())
    if done.returncode != 65:
        return [f"exit {done.returncode}, expected 65: {done.stderr[-300:]}"]
    sentence = done.stderr.strip().split("\n")[-1].removeprefix("godwit: ")
    return [line for p in (place.store, place.link)
            for line in settled(tool, p, "failed", status=65, sentence=sentence)]


def check_done(tool, folder):
    place = Place(tool, folder)
    tool.run(*place.arguments())
    out = place.all("done", sentence="rows") + settled(tool, place.linked, "done")
    # The same in its place.
    tool.run("migrate", place.store, "--to", LIBRARY, KEEP_RECORD)
    out += [line for p in (place.store, place.store + ".godwit", place.link)
            for line in settled(tool, p, "done", sentence="The old store is kept as")]
    # What becomes of it afterwards is told as well.
    tool.run("rollback", place.store)
    out += settled(tool, place.store, "done", sentence="was put back in place")
    tool.run("migrate", place.store, "--to", LIBRARY, KEEP_RECORD)
    tool.run("finish", place.store)
    return out + settled(tool, place.store, "done", sentence="The old store is no longer kept")


def check_unknown(tool, folder):
    place = Place(tool, folder, rows=50)
    tool.run(*place.arguments("--no-record"))
    out = [f"--no-record leaves {n}" for n in os.listdir(folder) if n.endswith(SUFFIX)]
    for path in (place.store, place.output, os.path.join(folder, "none"), folder):
        out += unknown(tool, path)
    return out


def unknown(tool, path):
    done = tool.call("status", path)
    if done.returncode == 66 and "no migration of" in done.stderr:
        return []
    return [f"{path}: exit {done.returncode}, expected 66: {done.stderr[:200]}"]


def check_watched(tool, folder):
    """Whoever watches by source, from before the beginning, ends with the outcome, whatever became
    of the migration before, which is told where no other one begins."""
    place, out = Place(tool, folder), []
    for number, expected in ((signal.SIGKILL, 75), (signal.SIGTERM, 75), (None, 0)):
        if os.path.isdir(place.output + ".godwit"):
            shutil.rmtree(place.output + ".godwit")
        # What began less than 2 s before a watcher may be what it is to watch.
        time.sleep(2.5)
        watch = subprocess.Popen(
            [tool.path, "status", place.store, "--watch", "--wait", "30"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process = place.start(slow=50)
        if number:
            os.kill(process.pid, number)
        process.wait(120)
        try:
            shown, errors = watch.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            watch.kill()
            out.append(f"still watching 20 s after the end by {number}")
            continue
        if watch.returncode != expected:
            out.append(f"watching ended with {watch.returncode}, expected {expected}: {errors}")
        if ": running" not in shown:
            out.append(f"watching never said that it runs: {shown[:200]!r}")
    time.sleep(2.5)
    for wait, least, most in ((("--wait", "4"), 3.9, 20), ((), 0, 2)):
        start = time.monotonic()
        done = tool.call("status", place.store, "--watch", *wait)
        taken = time.monotonic() - start
        if done.returncode != 0 or ": done" not in done.stdout or not least <= taken <= most:
            out.append(f"where no other one begins, {' '.join(wait) or 'no --wait'} took "
                       f"{taken:.1f} s and ended with {done.returncode}: {done.stdout[:200]!r}")
    return out


def check_other_user(tool, folder):
    if os.geteuid() != 0:
        print("another user: skipped, since only root may become one", flush=True)
        return []
    place = Place(tool, folder)
    copy = os.path.join(folder, "tool")
    shutil.copy(tool.path, copy)
    other = Tool(copy)
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    reached = subprocess.run([*prefix, "ls", folder], capture_output=True)
    if reached.returncode != 0:
        print("another user: skipped, since the scratch folder is not for all", flush=True)
        return []
    process, out = place.start(), []
    try:
        for path in place.paths():
            found = ask(other, path, prefix)
            out += judge(found, "running")
            if "fraction" not in found.json:
                out.append(f"{path}: another user does not see how far it is")
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait(60)
    out += judge(ask(other, place.store, prefix), "interrupted")
    # What is not for others is not told them either.
    os.remove(place.output + SUFFIX)
    os.chmod(place.store, 0o600)
    tool.run(*place.arguments())
    mode = os.stat(place.output + SUFFIX).st_mode & 0o777
    return out + ([] if mode == 0o600 else [f"the record of a private store has mode {mode:o}"])


def check_foreign(tool, folder):
    """What is no record of ours is neither changed nor followed."""
    place, out = Place(tool, folder, rows=50), []
    record, other = place.output + SUFFIX, os.path.join(folder, "other")
    for make in (lambda: write(record, "my notes\n"), lambda: write(record, ""),
                 lambda: os.symlink(other, record), lambda: os.mkdir(record)):
        write(other, "somebody's\n")
        make()
        before = os.lstat(record)
        tool.run(*place.arguments())
        after = os.lstat(record)
        if (before.st_ino, before.st_mtime_ns, before.st_mode) != (
                after.st_ino, after.st_mtime_ns, after.st_mode):
            out.append("a file in the place of the record was changed")
        with open(other) as file:
            if file.read() != "somebody's\n":
                out.append("a link was followed")
        os.rmdir(record) if os.path.isdir(record) else os.remove(record)
        os.remove(place.output)
    return out


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def check_names(tool, folder):
    """Names with what terminals obey are shown, not obeyed."""
    place = Place(tool, folder, name="S\x1b[2J\x07\nok\x9b.sqlite", rows=50)
    tool.run(*place.arguments())
    out = settled(tool, place.store, "done")
    return out + judge(ask(tool, place.store), "done")


def check_judge(tool, folder):
    """The judge itself finds every false answer."""
    good = Said(75, "S: dead: process 1 has ended; start the same command again to resume.\n", "",
                {"state": "dead", "exitStatus": 75})
    false = {
        "the status": good._replace(status=0),
        "the state in JSON": good._replace(json={"state": "running", "exitStatus": 75}),
        "the status in JSON": good._replace(json={"state": "dead", "exitStatus": 0}),
        "the state": good._replace(out="S: running\n"),
        "time left": good._replace(out=good.out + "[###] 12 %, 23 s left\n"),
        "time left in JSON": good._replace(json={**good.json, "secondsRemaining": 23}),
        "an error": good._replace(out=good.out + "failed: CancellationError()\n"),
        "no sentence": good._replace(out="S: dead: process 1 is gone.\n"),
        "control characters": good._replace(out=good.out + "\x1b[2J"),
        "no JSON": good._replace(json={}),
    }
    sentence = "start the same command again"
    out = judge(good, "dead", sentence=sentence)
    return out + [f"the judge does not find: {name}" for name, answer in false.items()
                  if not judge(answer, "dead", sentence=sentence)]


CASES = [
    ("the judge", check_judge), ("done", check_done), ("refused", check_refused),
    ("failed", check_failed), ("interrupted", check_interrupted), ("stopped", check_stopped),
    ("killed", lambda t, f: check_killed(t, f, False)),
    ("killed in a folder elsewhere", lambda t, f: check_killed(t, f, True)),
    ("unknown", check_unknown), ("watched", check_watched), ("another user", check_other_user),
    ("foreign files", check_foreign), ("odd names", check_names),
]


def main():
    p = parser(__doc__, needs_corpus=False)
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=120)
    run_cases(options, [(n, lambda folder, c=c: c(tool, folder)) for n, c in CASES], "states")


if __name__ == "__main__":
    main()
