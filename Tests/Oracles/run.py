"""Running the tool and reporting, for the oracles."""
import argparse
import collections
import filecmp
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from json_schema import Schema
from store import uri_path


class Failure(Exception):
    """A check that did not hold, as a sentence."""


def parser(description, needs_corpus=True):
    """The options of every oracle; one that makes all its stores itself takes no corpus."""
    # What is started in the background may ignore these, and so would every tool that it starts.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--godwit", required=True, help="the executable")
    p.add_argument("--corpus", required=needs_corpus, help="the folder with real Core Data files"
                   if needs_corpus else "is not needed")
    p.add_argument("--scratch", help="a folder for copies; default: a temporary one")
    p.add_argument("--jobs", type=int, default=int(os.environ.get("GODWIT_JOBS", 2)),
                   help="cases in parallel")
    p.add_argument("--share", default="1/1", type=share,
                   help="2/3 takes the second of each three cases")
    p.add_argument("--keep", action="store_true", help="leave the scratch files of failed cases")
    return p


def share(text):
    """The first of the cases, counted from 0, and how many steps it is to the next."""
    first, every = map(int, text.split("/"))
    if not 1 <= first <= every:
        raise argparse.ArgumentTypeError(f"{text}: such as 1/3, 2/3 or 3/3")
    return first - 1, every


class Tool:
    """The executable; every call is checked for its exit code."""

    def __init__(self, path, timeout=600):
        self.path, self.timeout = os.path.abspath(path), timeout

    def call(self, *arguments, environment=None, prefix=()):
        command = [*prefix, self.path, *with_engine(arguments)]
        reports = {path: made(path) for path in reports_of(command)}
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=self.timeout, stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})})
        except subprocess.TimeoutExpired as error:
            raise Failure(f"godwit {' '.join(map(str, arguments))}: still running after "
                          f"{self.timeout} s") from error
        done.stdout = done.stdout.decode("utf-8", "replace")
        done.stderr = done.stderr.decode("utf-8", "replace")
        for path, before in reports.items():
            if made(path) != before:
                require_report(path)
        require_answer(arguments, done.returncode, done.stdout)
        return done

    def run(self, *arguments, expect=0, **options):
        done = self.call(*arguments, **options)
        if done.returncode != expect:
            raise Failure(f"godwit {' '.join(map(str, arguments))}: exit {done.returncode}, "
                          f"expected {expect}: {(done.stderr or done.stdout).strip()[-400:]}")
        return done

    def migrate(self, *arguments, report, **options):
        """Migrates; what is lost beyond what the model removes has to be refused with its counts
        before it is allowed. The report."""
        command = ("migrate", *arguments, "--report", report)
        done = self.call(*command, **options)
        refused = done.returncode == 78 and "without consent" in done.stderr
        if refused:
            self.run(*command, "--allow-loss", **options)
        elif done.returncode:
            raise Failure(f"godwit {' '.join(map(str, command))}: exit {done.returncode}, "
                          f"expected 0: {(done.stderr or done.stdout).strip()[-400:]}")
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        asked = [loss for loss in told["losses"] if loss["cause"] != "removed"]
        if bool(asked) != refused:
            raise Failure(f"{'refused' if refused else 'migrated'} with the losses {asked}")
        names = [".".join(filter(None, (a["entity"], a.get("property")))) for a in asked]
        for name, loss in zip(names, asked):
            if f"{name}: {loss['count']} " not in done.stderr:
                raise Failure(f"the refusal does not tell {loss}: {done.stderr[-600:]}")
        return told

    def json(self, *arguments, **options):
        out = self.run(*arguments, **options).stdout
        try:
            return json.loads(out)
        except ValueError as error:
            raise Failure(f"godwit {' '.join(map(str, arguments))}: no JSON on standard output "
                          f"({error}): {out[:200]!r}") from error

    def start(self, *arguments, environment=None):
        """Starts the tool in a session of its own; `said` gives its standard error."""
        errors = tempfile.TemporaryFile()
        process = subprocess.Popen(
            [self.path, *with_engine(arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=errors,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        process.errors = errors
        return process


REPORT = Schema("report")
# The schemas of what commands print; others tell by `kind` which form they print.
ANSWERS = {"check": "check", "plan": "plan", "verify": "verify", "list": "list",
           "rollback": "rollback", "finish": "removed", "discard": "removed", "export": "export",
           **dict.fromkeys(("status", "pause", "resume", "cancel", "set"), "status")}


def reports_of(command):
    """The reports in JSON that a command writes."""
    named = [b for a, b in zip(command, command[1:]) if a == "--report"]
    return [path for path in named if not path.endswith((".html", ".htm"))]


def made(path):
    """When a regular file was made or changed, None where there is none."""
    return os.stat(path).st_mtime_ns if os.path.isfile(path) else None


def require_report(path):
    """Every report, of whatever oracle, is as its schema says."""
    with open(path, encoding="utf-8") as file:
        faults = REPORT.faults(json.load(file))
    if faults:
        raise Failure(f"the report is not as its schema says: {'; '.join(faults[:5])}")


def require_answer(arguments, status, out):
    """With --json, whatever oracle asks, one object of a known form is printed: the answer, or why
    there is none."""
    words = [str(a) for a in arguments]
    if "--json" not in words or "--watch" in words or status < 0:
        return
    try:
        answer = json.loads(out)
    except ValueError as error:
        raise Failure(f"godwit {' '.join(words)}: no JSON on standard output ({error}): "
                      f"{out[:200]!r}") from error
    if not isinstance(answer, dict):
        raise Failure(f"godwit {' '.join(words)}: prints no object: {out[:200]!r}")
    name = "verify-receipt" if "--receipt" in words else ANSWERS.get(words[0])
    # The state of a migration has a text of that name.
    if isinstance(answer.get("error"), dict):
        name = "error"
        if status != answer["error"].get("exitStatus"):
            raise Failure(f"godwit {' '.join(words)}: exit {status}, and says {out[:400]!r}")
    elif words[0] == "fleet":
        name = f"fleet-{words[1] if words[1] in ('plan', 'list') else 'status'}"
    elif words[0] == "versions":
        name = f"versions-{words[1]}"
    elif name is None and words[0] in ("inspect", "diff"):
        name = f"{words[0]}-{answer.get('kind')}"
    if name is None:
        raise Failure(f"godwit {' '.join(words)}: no schema is known of what it prints")
    faults = Schema(name).faults(answer)
    if faults:
        raise Failure(f"godwit {' '.join(words)}: not as {name}.schema.json says: "
                      f"{'; '.join(faults[:5])}")


KEEP_RECORD = object()  # among the arguments of a migration: it leaves its record beside the store


def with_engine(arguments):
    """The arguments, with the engine of GODWIT_ENGINE in every migration that names none, and
    without the record that a migration leaves beside its store unless KEEP_RECORD asks for it."""
    keeps = KEEP_RECORD in arguments
    arguments = [str(a) for a in arguments if a is not KEEP_RECORD]
    engine = os.environ.get("GODWIT_ENGINE")
    if arguments[0] == "migrate":
        if engine and "--engine" not in arguments:
            arguments += ["--engine", engine]
        if not keeps and "--no-record" not in arguments:
            arguments.append("--no-record")
    return arguments


def said(process):
    """What a started process wrote to its standard error."""
    process.errors.seek(0)
    return process.errors.read().decode("utf-8", "replace")


class Watched:
    """A migration at work, by its process, and what `status` says of its output."""
    patience = 60.0

    def status(self):
        done = self.tool.call("status", self.output, "--json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def wait(self, words, fits):
        """The status once it fits."""
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            found = self.status()
            if fits(found):
                return found
            if self.process.poll() is not None:
                raise Failure(f"it ended with {self.process.returncode} before {words}: "
                              f"{said(self.process)[-400:]}")
            time.sleep(0.05)
        self.kill()
        raise Failure(f"after {self.patience:.0f} s not yet {words}: {found} "
                      f"{said(self.process)[-400:]}")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()



def fingerprint(folder):
    """{file below the folder: (size, SHA-256)}; shows what changed, appeared or went away."""
    out = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                out[os.path.relpath(path, folder)] = hashlib.file_digest(file, "sha256").hexdigest()
    return out


def unchanged(before, folder):
    """Fails unless the folder still has just these files with just these bytes."""
    after = fingerprint(folder)
    if after != before:
        odd = [("changed " if n in before and n in after else "removed " if n in before
                else "created ") + n
               for n in sorted(set(before) | set(after)) if before.get(n) != after.get(n)]
        raise Failure(f"beside the source: {', '.join(odd)}")


def vacuumed(path):
    """A copy of a sound store with its pages in canonical order."""
    copy = path + ".vacuumed"
    if os.path.exists(copy):
        os.remove(copy)
    wal = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
    how = "mode=rw" if wal else "mode=ro&immutable=1"
    db = sqlite3.connect(f"file:{uri_path(path)}?{how}", uri=True)
    try:
        # The copy would lack what belongs to nothing.
        found = db.execute("pragma integrity_check(3)").fetchall()
        if found != [("ok",)]:
            raise Failure(f"integrity_check of {os.path.basename(path)}: {found}")
        db.execute("vacuum into ?", (copy,))
    finally:
        db.close()
    return copy


def same_bytes(first, second, what):
    if not filecmp.cmp(vacuumed(first), vacuumed(second), shallow=False):
        raise Failure(f"{what}: VACUUM INTO copies of the two results differ")


def seeds(text):
    """The seeds that `7` or `1-24` names."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def judge_mutants(options, base, cases, judge, sentence):
    """Judges cases in parallel, prints what differs and, with --sentences, how often each end came,
    and ends the process. `judge` gives the lines and the ends of a case, `sentence` an end's line.
    """
    failed, said = 0, collections.Counter()
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for lines, ends in pool.map(judge, cases):
            failed += bool(lines)
            for line in lines:
                print(line, flush=True)
            said.update(ends)
    if options.sentences:
        for end, count in said.most_common(80):
            print(f"{count:6} {sentence(end)}")
    if not options.scratch:
        shutil.rmtree(base, ignore_errors=True)
    print(f"{failed} of {len(cases)} mutants differ" if failed else f"{len(cases)} mutants alike")
    sys.exit(1 if failed else 0)


def run_cases(options, cases, noun):
    """Runs (name, function of a scratch folder) cases; a function returns its differences or
    fails. Prints them and ends the process as the oracles' contract says."""
    first, every = options.share
    cases = list(cases)[first::every]
    if not cases:
        print(f"no {noun}: nothing was checked")
        sys.exit(1)
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    os.makedirs(base, exist_ok=True)

    def one(case):
        name, function = case
        folder = tempfile.mkdtemp(prefix="case-", dir=base)
        try:
            found = function(folder) or []
        except Failure as failure:
            found = [str(failure)]
        except (sqlite3.Error, OSError, LookupError, ValueError,
                subprocess.SubprocessError) as error:
            found = [f"cannot check: {type(error).__name__}: {error}"]
        if not (found and options.keep):
            shutil.rmtree(folder, ignore_errors=True)
        return name, [f.replace(folder, "<scratch>") for f in found]

    failed = 0
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for name, found in pool.map(one, cases):
            failed += bool(found)
            for line in found[:20]:
                print(f"{name}: {line}", flush=True)
            if len(found) > 20:
                print(f"{name}: ... and {len(found) - 20} more", flush=True)
    if not options.scratch and not (failed and options.keep):
        shutil.rmtree(base, ignore_errors=True)
    print(f"{failed} of {len(cases)} {noun} differ" if failed else f"{len(cases)} {noun} alike")
    sys.exit(1 if failed else 0)
