#!/usr/bin/env python3
"""Watches migrations as people, log files, programs and Prometheus do, each by `godwit status` and
on terminals of several sizes (`terminals.py`), and as `migrate`, `generate` and `verify` tell it.

The judges are judged first: falling fractions, lines that are too many, codes in a plain text,
objects that miss a field and metrics that no parser takes are planted, and have to be found. Needs
a C compiler and the headers of LMDB, for one of the clients of docs/examples.

usage: watching.py --godwit P [--scratch S]
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from json_schema import Schema
from run import KEEP_RECORD, Tool, parser, run_cases
from terminals import OnTerminal
from watching_judges import (PERCENT, falls, judge_changes, judge_client, judge_metrics,
                             judge_plain, judge_screen, planted)

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
CLIENTS = os.path.join(HERE, "..", "..", "docs", "examples", "clients")
ROWS = 12_000
PATIENCE = 90


# Migrations to watch

class Ground:
    """A made-up store, which is migrated slowly."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.source = os.path.join(folder, "source.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--output",
                 self.source)

    def migration(self, output, seconds, workers=2):
        rate = int(os.path.getsize(self.source) / seconds)
        return ["migrate", self.source, "--to", LIBRARY, "--output", output, "--range-rows", "300",
                "--workers", workers, "--rate", rate, "--engine", "sql"]


class Lines:
    """A process whose standard output is a pipe, and when each line came."""

    def __init__(self, command, environment=None, errors=False):
        variables = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        here, there = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(
            [str(c) for c in command], stdin=subprocess.DEVNULL, start_new_session=True,
            stdout=there if errors else here, stderr=here if errors else there,
            env={**variables, **(environment or {})})
        self.stream = self.process.stderr if errors else self.process.stdout
        self.lines, self.times = [], []
        self.thread = threading.Thread(target=self.take, daemon=True)
        self.thread.start()

    def take(self):
        for line in self.stream:
            self.times.append(time.time())
            self.lines.append(line.decode("utf-8", "replace"))

    @property
    def text(self):
        return "".join(self.lines)

    def finish(self):
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "still running"
        self.thread.join(10)
        self.stream.close()
        return status


def expect(out, what, found, *expected):
    if found not in expected:
        out.append(f"{what}: {found!r}, expected {' or '.join(map(repr, expected))}")


def told(name, faults):
    return [f"{name}: {fault}" for fault in faults]


def clients(folder):
    """Programs in other languages that read the status file by LMDB."""
    program = os.path.join(folder, "watch")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", program,
                    os.path.join(CLIENTS, "watch.c"), "-llmdb"], check=True, timeout=60)
    return {"a client in C": [program],
            "a client in Python": [sys.executable, os.path.join(CLIENTS, "watch.py")]}


def watched(ground, folder):
    """One migration, and everybody who may watch it at once."""
    others, readers = clients(folder), {}
    output, path = os.path.join(folder, "New.sqlite"), ground.tool.path
    metrics = os.path.join(folder, "godwit.prom")
    status = [path, "status", output, "--wait", "30"]
    screens = {
        "80 columns": OnTerminal([*status, "--watch"], 80, 24),
        "20 columns": OnTerminal([*status, "--watch"], 20, 5, {"NO_COLOR": "1"}),
        "resized": OnTerminal([*status, "--watch"], 120, 30, {"NO_COLOR": ""}),
    }
    dumb = OnTerminal([*status, "--watch"], 80, 24, {"TERM": "dumb"})
    pipes = {"a pipe": Lines([*status, "--watch"]), "changes": Lines([*status, "--follow"]),
             "watched JSON": Lines([*status, "--watch", "--json"])}
    writer = Lines([*status, "--watch", "--prometheus", "--output", metrics])
    killed, once = OnTerminal([*status, "--watch"]), Lines(status)
    process = ground.tool.start(*ground.migration(output, 7))
    out, sizes, seen = [], [(60, 8), (200, 50), (40, 12)], set()
    started = time.monotonic()
    while process.poll() is None and time.monotonic() - started < PATIENCE:
        for terminal in (*screens.values(), dumb, killed):
            terminal.read(0.05)
        if sizes and len(screens["resized"].screen.frames) > 5 * (4 - len(sizes)):
            screens["resized"].resize(*sizes.pop(0))
        if not readers and killed.screen.frames:
            readers = {name: Lines([*command, output + ".godwit/status.mdb"])
                       for name, command in others.items()}
        if os.path.exists(metrics):
            with open(metrics, encoding="utf-8") as file:
                text = file.read()
            seen.add(text)
            out += told("metrics", judge_metrics(text, state=None))
        if killed.screen.frames and killed.process.poll() is None:
            killed.process.kill()
    expect(out, "the migration ended with", process.wait(PATIENCE), 0)
    killed.finish()
    expect(out, "--wait alone ends with", once.finish(), 0)
    if ": running" not in once.text:
        out.append(f"--wait alone says {once.text!r}")
    for name, terminal in screens.items():
        expect(out, f"{name} ends with", terminal.finish(), 0)
        shown = judge_screen(terminal.screen, 5)
        if terminal.fault:
            shown.append(terminal.fault)
        if ": done" not in "".join(terminal.screen.lines()):
            shown.append(f"it does not end with the outcome: {terminal.screen.lines()}")
        out += told(name, shown)
    if sizes:
        out.append(f"never resized to {sizes}")
    out += told("colours", colors(screens))
    wide = "\n".join("\n".join(lines) for lines in screens["80 columns"].screen.frames)
    for word in ("rows/s", "MiB of", " at work", "retries", "GiB free", " left", "key "):
        if word not in wide:
            out.append(f"80 columns never show {word!r}: {wide[-900:]}")
    expect(out, "dumb ends with", dumb.finish(), 0)
    out += told("dumb", judge_plain(dumb.text.replace("\r\n", "\n")))
    for name, pipe in pipes.items():
        expect(out, f"{name} ends with", pipe.finish(), 0)
    out += told("a pipe", judge_plain(pipes["a pipe"].text, pipes["a pipe"].times))
    if ": running, " not in pipes["a pipe"].text or ": done" not in pipes["a pipe"].text:
        out.append(f"a pipe says {pipes['a pipe'].text!r}")
    for name in ("changes", "watched JSON"):
        out += told(name, judge_changes(pipes[name].text, Schema("status"), pipes[name].times))
        if len(pipes[name].lines) < 20:
            out.append(f"{name}: {len(pipes[name].lines)} objects")
    expect(out, "the metrics end with", writer.finish(), 0)
    with open(metrics, encoding="utf-8") as file:
        out += told("metrics at the end", judge_metrics(file.read(), state="done"))
    if len(seen) < 4:
        out.append(f"{len(seen)} states of the metrics were seen")
    for name, client in readers.items():
        out += told(name, judge_client(client))
    left = [n for n in os.listdir(folder) if n.endswith(".tmp")]
    return out + ([f"{left} is left"] if left else [])


def colors(screens):
    out = []
    if not screens["80 columns"].screen.colors or not screens["resized"].screen.colors:
        out.append("a terminal has none")
    if screens["20 columns"].screen.colors:
        out.append("there are some with NO_COLOR")
    return out


def run_for(terminal, seconds, until):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        terminal.read(0.05)
    return until()


def is_stopped(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def held(ground, folder):
    """Paused, its watchers interrupted and stopped, and then cancelled."""
    output, path, out = os.path.join(folder, "New.sqlite"), ground.tool.path, []
    process = ground.tool.start(*ground.migration(output, 60), KEEP_RECORD)
    command = [path, "status", output, "--watch", "--wait", "30"]
    try:
        watch = OnTerminal(command)
        if not run_for(watch, 30, lambda: len(watch.screen.frames) > 2):
            return [f"no frames: {watch.text[-300:]!r}"]
        # As Ctrl-Z and `fg` do.
        watch.signal(signal.SIGTSTP)
        if not run_for(watch, 10, lambda: is_stopped(watch.process)):
            out.append("SIGTSTP does not stop it")
        watch.read(0.1)
        if watch.screen.is_other or not watch.screen.shows_cursor:
            out.append("a stopped watcher leaves its screen on the terminal")
        before = len(watch.screen.frames)
        watch.signal(signal.SIGCONT)
        if not run_for(watch, 10, lambda: len(watch.screen.frames) > before):
            out.append("after SIGCONT it shows nothing")
        ground.tool.run("pause", output)
        if not run_for(watch, 10, lambda: "requested by" in "".join(watch.screen.lines())):
            out.append(f"a pause is not told: {watch.screen.lines()}")
        if " left" in "".join(watch.screen.lines()):
            out.append("a paused migration tells how long it will take")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            other = OnTerminal(command)
            run_for(other, 20, lambda: other.screen.frames)
            other.signal(number)
            expect(out, f"after {number.name} it ends with", other.finish(), -number)
            if not other.screen.shows_cursor or other.screen.is_other:
                out.append(f"{number.name} leaves the terminal without its cursor")
        first = subprocess.run(f"'{path}' status '{output}' --follow | head -n 1", shell=True,
                               capture_output=True, timeout=20)
        out += told("the first object", Schema("status").faults(json.loads(first.stdout)))
        ground.tool.run("resume", output)
        ground.tool.run("cancel", output)
        expect(out, "the migration ended with", process.wait(PATIENCE), 75)
        expect(out, "the watcher ended with", watch.finish(), 75)
        out += told("watcher", judge_screen(watch.screen))
        if "interrupted" not in "".join(watch.screen.lines()):
            out.append(f"it does not end with the outcome: {watch.screen.lines()}")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return out


def is_order_note(text):
    """Whether a text is the note on the order of Shelf.books, and nothing besides."""
    return re.fullmatch(r"godwit: note: Shelf\.books: the order of [\d,]+ objects dropped, "
                        r"since the relationship is not ordered\.", text) is not None


def told_by_itself(ground, folder):
    """`migrate` in a log file and on a terminal."""
    out, path = [], ground.tool.path
    plain = Lines([path, *ground.migration(os.path.join(folder, "A.sqlite"), 22, workers=1),
                   "--no-record"], errors=True)
    screen = OnTerminal([path, *ground.migration(os.path.join(folder, "B.sqlite"), 4),
                         "--no-record"], 60, 10, errors=True)
    expect(out, "on a terminal it ends with", screen.finish(), 0)
    shown = [part for part in screen.text.split("\r") if "%" in part]
    # The later version orders no books, which a note says at the end.
    left = "".join(screen.screen.lines())
    if len(shown) < 5 or not is_order_note(left) or screen.text.count("\n") > 1:
        out.append(f"on a terminal: {len(shown)} states, left {screen.screen.lines()}")
    out += told("on a terminal", falls([int(PERCENT.search(part)[1]) for part in shown]))
    if screen.fault:
        out.append(screen.fault)
    short = Lines([path, *ground.migration(os.path.join(folder, "C.sqlite"), 1), "--no-record"],
                  errors=True)
    expect(out, "a short one ends with", short.finish(), 0)
    expect(out, "a short one says the note alone", is_order_note(short.text.strip()), True)
    expect(out, "a long one ends with", plain.finish(), 0)
    out += told("in a log file", judge_plain(plain.text))
    if not re.match(r"godwit: \d+ % after 1\d s: ", plain.text):
        out.append(f"in a log file: {plain.text!r}")
    return out


def other_commands(ground, folder):
    """`generate` and `verify` on a terminal, and redirected."""
    out, path = [], ground.tool.path
    made, again = os.path.join(folder, "Made.sqlite"), os.path.join(folder, "Again.sqlite")
    generate = [path, "generate", LIBRARY, "--version", "Library 1", "--rows", 60_000, "--output"]
    bar = OnTerminal([*generate, made], 70, 10, errors=True)
    expect(out, "generate ends with", bar.finish(), 0)
    if bar.text.count("%") < 3 or "#####" not in bar.text or bar.screen.lines() or bar.fault:
        out.append(f"generate: {bar.text[-200:]!r}, left {bar.screen.lines()}, {bar.fault}")
    quiet = subprocess.run([*map(str, generate), again], capture_output=True, timeout=60)
    expect(out, "generate redirected says", quiet.stderr, b"")
    verify = OnTerminal([path, "verify", made, again], 30, 10, errors=True)
    expect(out, "verify ends with", verify.finish(), 0, 65)
    if verify.text.count("%") < 3 or verify.fault:
        out.append(f"verify: {verify.text[-200:]!r} {verify.fault}")
    return out


HOSTILE = 'S"h\\o\np\x1b[2J\u202e 書庫 e\u0301.sqlite'


def hostile(ground, folder):
    """A store whose name has everything that a format or a terminal could obey."""
    output, out = os.path.join(folder, HOSTILE), []
    process = ground.tool.start(*ground.migration(output, 3), KEEP_RECORD)
    command = [ground.tool.path, "status", output, "--watch", "--wait", "30"]
    watches = [OnTerminal(command, columns, 10) for columns in (25, 70)]
    for watch in watches:
        run_for(watch, PATIENCE, lambda: process.poll() is not None)
        expect(out, "it ends with", watch.finish(), 0)
        out += told("screen", judge_screen(watch.screen, 3))
        out += [watch.fault] if watch.fault else []
    expect(out, "the migration ended with", process.wait(PATIENCE), 0)
    asked = ground.tool.run("status", output, "--prometheus").stdout
    out += told("metrics", judge_metrics(asked, os.path.realpath(ground.source), "done"))
    os.rename(output + ".godwit-status.json", os.path.join(folder, "x"))
    with open(os.path.join(folder, "x"), encoding="utf-8") as file:
        record = json.load(file)
    record["source"] = output
    with open(output + ".godwit-status.json", "w", encoding="utf-8") as file:
        json.dump(record, file)
    shown = output.replace("\x1b", "\\u{1B}").replace("\u202e", "\\u{202E}")
    asked = ground.tool.run("status", output, "--prometheus").stdout
    return out + told("hostile metrics", judge_metrics(asked, shown, "done"))


def files(ground, folder):
    """Metrics replace nothing but metrics, and options that contradict each other are refused."""
    output, out = os.path.join(folder, "New.sqlite"), []
    ground.tool.run(*ground.migration(output, 0.5), KEEP_RECORD)
    made = os.path.join(folder, "godwit.prom")
    ask = ("status", output, "--prometheus", "--output")
    for _ in range(2):
        ground.tool.run(*ask, made)
    with open(made, encoding="utf-8") as file:
        text = file.read()
    out += judge_metrics(text, os.path.realpath(ground.source), "done")
    expect(out, "--output and standard output", ground.tool.run(*ask[:3]).stdout, text)
    other, link = os.path.join(folder, "other.prom"), os.path.join(folder, "link.prom")
    with open(other, "w", encoding="utf-8") as file:
        file.write("# HELP node_load1 1m load average.\n")
    os.symlink("nowhere", link)
    for path in (other, link, output, folder, output + "-wal", folder + "/none/x.prom"):
        done = ground.tool.call(*ask, path)
        if done.returncode != 73 or not done.stderr.startswith("godwit: "):
            out.append(f"{path}: {done.returncode} {done.stderr}")
    with open(other, encoding="utf-8") as file:
        expect(out, "the other metrics are", file.read(), "# HELP node_load1 1m load average.\n")
    for wrong in (("--prometheus", "--json"), ("--prometheus", "--follow"), ("--output", made),
                  ("--prometheus", "--watch")):
        expect(out, " ".join(wrong), ground.tool.call("status", output, *wrong).returncode, 64)
    none = os.path.join(folder, "none")
    for more in ((), ("--wait", "0.1"), ("--watch", "--wait", "0.1"), ("--follow", "--wait", "0.1"),
                 ("--prometheus",)):
        expect(out, f"nothing {more}", ground.tool.call("status", none, *more).returncode, 66)
    for more in (("--follow",), ("--watch", "--json")):
        lines = ground.tool.call("status", none, *more, "--wait", "0.1").stdout.splitlines()
        expect(out, f"lines of a failed {more}", len(lines), 1)
    found = json.loads(ground.tool.run("status", output, "--json").stdout)
    return out + told("--json", Schema("status").faults(found))


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        ground = Ground(Tool(options.godwit), folder)
        cases = [("the judges", planted)]
        cases += [(body.__name__.replace("_", " "), lambda f, b=body: b(ground, f))
                  for body in (watched, held, told_by_itself, other_commands, hostile, files)]
        run_cases(options, cases, "watches")


if __name__ == "__main__":
    main()
