#!/usr/bin/env python3
"""Runs the commands of README.md and docs as they stand there, and looks whether the options that
these pages name are those of the tool.

Each ```sh block runs from top to bottom in a folder of its own, with an app's files in it: a model
in several versions, stores of old ones, mapping models. In a block ```sh alternatives each line has
such a folder; where `running`, `paused` or `migrated` follows, the store is just that; where
`released` does, the model is locked and its folder a Git repository with the tag v2.1; where
`listed` or `fleet` does, there is a fleet of both stores, Autumn, which has run for the latter. A
block ```sh continued goes on in the folder of the block before it on its page that calls godwit. A
command ends with 0 unless a comment behind it says `ends with N`. The lines of a ```yaml block that
call godwit, in a file for a server that runs tests, are run likewise. The files are made from
docs/sample, and where .xcmappingmodel files are named, from the corpus as well. docs/commands.md
and the manual pages have to be what scripts/manual writes.

usage: documented.py --godwit P [--corpus D] [--scratch S]
"""
import ast
import contextlib
import glob
import importlib.util
import json
import os
import plistlib
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from apps import apps
from planted_pages import PLANTED
from run import Failure, Tool, parser
from served import serve_once

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAGES = ("README.md", "docs/*.md", "docs/how-to/*.md", "docs/reference/*.md",
         "docs/explanation/*.md", "docs/examples/README.md", "Tests/Oracles/README.md")
COMMANDS = ("check", "plan", "migrate", "status", "pause", "resume", "cancel", "set", "verify",
            "inspect", "export", "diff", "map", "model", "versions", "generate", "list", "rollback",
            "finish", "discard", "serve", "fleet")
# Commands whose options are those of commands within.
WITHIN = {"model": ["export"], "versions": ["lock", "check", "find"],
          "fleet": ["create", "plan", "run", "submit", "status", "list", "retry", "rollback"]}
# Options of swift build, scripts/install and scripts/bench that the pages name.
FOREIGN = {"--static-swift-stdlib", "--prefix", "--scale", "--rounds", "--only", "--list",
           "--alone", "--fleet"}
# Options that every program has.
ALWAYS = {"--help"}
# What may have become of the store before a command runs.
SETTINGS = ("running", "paused", "migrated", "released", "listed", "fleet")
PATIENCE = 300
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


def write_log(store, path):
    """The version hashes of a store as Core Data logs them."""
    with contextlib.closing(sqlite3.connect(store)) as db:
        (plist,), = db.execute("select Z_PLIST from Z_METADATA")
    hashes = plistlib.loads(plist)["NSStoreModelVersionHashes"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("CoreData: error: metadata={\n    NSStoreModelVersionHashes =     {\n")
        for name, data in hashes.items():
            words = " ".join(data[n:n + 4].hex() for n in range(0, 32, 4))
            file.write(f"        {name} = <{words}>;\n")
        file.write("    };\n")


class Command(NamedTuple):
    text: str
    line: int
    status: int

    @property
    def words(self):
        return shlex.split(self.text, comments=True)


class Page:
    """A page, with what it has its readers do."""

    def __init__(self, name, text):
        self.name, self.text = name, text

    def blocks(self, language):
        """(rest of the first line, number of the first line within, text) of each."""
        for match in BLOCK.finditer(self.text):
            kind, _, rest = match[1].partition(" ")
            if kind == language:
                yield rest, self.text.count("\n", 0, match.start()) + 2, match[2]

    def scenes(self):
        """(what has become of the store, commands), each of which wants a folder of its own."""
        found = []
        for rest, line, text in self.blocks("sh"):
            commands = []
            for number, whole in joined(text):
                if whole.strip() and not whole.lstrip().startswith("#"):
                    status = re.search(r"#.*ends with (\d+)", whole)
                    commands.append(
                        Command(whole, line + number, int(status[1]) if status else 0))
            words = rest.split()
            settings = [w for w in words if w in SETTINGS]
            before = [part for _, part in found if part and part[0].words[:1] == ["godwit"]]
            if words == ["continued"] and before:
                before[-1].extend(commands)
                continue
            if set(words) - set(settings) - {"alternatives"} or len(settings) > 1:
                raise Failure(f"{self.name}:{line}: no block is known as ```sh {rest}")
            for part in ([c] for c in commands) if "alternatives" in words else [commands]:
                found.append(("".join(settings), part))
        return found

    def prose(self):
        """(line number, line) outside of the blocks that are run."""
        def blank(match):
            runs = match[1].partition(" ")[0] in ("sh", "yaml")
            return re.sub(r"[^\n]", "", match[0]) if runs else match[0]
        return enumerate(BLOCK.sub(blank, self.text).split("\n"), 1)


def joined(text):
    """(number, line), with lines that a backslash continues as one."""
    start, whole = 0, ""
    for number, line in enumerate(text.split("\n")):
        if not whole:
            start = number
        whole += line
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        yield start, whole
        whole = ""


# What the pages name

class Vocabulary:
    """The commands of the tool with their options."""

    def __init__(self, tool):
        calls = {c: [[c, inner] for inner in WITHIN.get(c, [])] or [[c]] for c in COMMANDS}
        self.shown = {c: self._options("".join(tool.run("help", *words).stdout
                                               for words in calls[c])) for c in COMMANDS}
        self.all = {c: self.shown[c] | self._options("".join(
            tool.run(*words, "--help-hidden").stdout for words in calls[c])) for c in COMMANDS}
        listed = re.findall(r"^  ([a-z]+) {3,}", tool.run("help").stdout, re.M)
        if sorted(listed) != sorted(COMMANDS):
            raise Failure(f"the tool's commands are {listed}, and this script knows {COMMANDS}")

    @staticmethod
    def _options(text):
        return set(re.findall(r"^  (?:-\w, )?(--[a-z][a-z-]*)", text, re.M))

    def wrong(self, words):
        """What is wrong with the words after `godwit`."""
        if words[0] in ("help", "--help", "--version"):
            return []
        if words[0] not in self.all:
            return [f"`godwit {words[0]}` is no command"]
        own = words[:words.index("--")] if "--" in words else words
        named = {w.partition("=")[0] for w in own if w.startswith("--")}
        return [f"`godwit {words[0]}` has no option {o}"
                for o in sorted(named - self.all[words[0]])]

    def every(self):
        return set().union(*self.all.values()) | set(FOREIGN)


def check_names(pages, vocabulary):
    """Options, commands and scripts that the pages name and there are not."""
    found = []
    scripts = set(re.findall(r'"(--[a-z-]+)"', "".join(
        open(p, encoding="utf-8").read() for p in glob.glob(f"{ROOT}/Tests/Oracles/*.py"))))
    for page in pages:
        known = vocabulary.every()
        if page.name.startswith("Tests/"):
            known |= scripts
        for number, line in page.prose():
            where = f"{page.name}:{number}"
            found += [f"{where}: no command has an option {o}"
                      for o in sorted(set(OPTION.findall(line)) - known)]
            for span in re.findall(r"`([^`]+)`", line):
                words = span.split()
                if words[:1] == ["godwit"] and len(words) > 1:
                    words = words[1:]
                elif words[:1] and words[0] in COMMANDS and len(words) > 1:
                    pass
                else:
                    continue
                found += [f"{where}: {w}" for w in vocabulary.wrong(words)]
            for path in re.findall(
                    r"(?<![\w/])(?:scripts/[a-z-]+|Tests/Oracles/\w+\.py)\b", line):
                if not os.access(os.path.join(ROOT, path), os.R_OK):
                    found.append(f"{where}: {path} is not there")
    return found


def check_mentions(pages, vocabulary):
    """Options of the tool that no page names."""
    # A list of all of them tells nobody what they are for.
    named = {o for page in pages
             if page.name not in ("Tests/Oracles/README.md", "docs/commands.md")
             for o in OPTION.findall(page.text)}
    return [f"no page names {o} of `godwit {c}`" for c in COMMANDS
            for o in sorted(vocabulary.shown[c] - named - ALWAYS)]


def check_manual(tool):
    """How docs/commands.md and the manual pages differ from what the tool says."""
    done = subprocess.run([os.path.join(ROOT, "scripts", "manual"), "--check", tool],
                          capture_output=True, text=True, timeout=PATIENCE)
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


def check_pages_of_manual():
    """What a reader of manual pages finds wrong with them."""
    pages = sorted(glob.glob(f"{ROOT}/docs/man/*.1"))
    done = subprocess.run(["mandoc", "-Wwarning", "-T", "lint", *pages], capture_output=True,
                          text=True, timeout=PATIENCE)
    # The pages have no date of their own, and lines as long as the sentences of the help.
    return [line for line in done.stdout.splitlines()
            if not re.search(r"missing date|STYLE:|new sentence, new line", line)]


# What the pages have their readers run

class Runner:
    """Runs commands in fresh copies of an app's files."""

    def __init__(self, tool, vocabulary, corpus, scratch):
        self.tool, self.vocabulary, self.scratch = tool, vocabulary, scratch
        self.apps = apps(tool, corpus, scratch)
        self.programs = os.path.join(scratch, "bin")
        os.makedirs(self.programs)
        os.symlink(tool.path, os.path.join(self.programs, "godwit"))
        self.has_real = len(self.apps) > 1
        self.ran, self.skipped = 0, []

    def run(self, page):
        found = []
        for setting, commands in page.scenes():
            if not any(c.words[:1] == ["godwit"] for c in commands):
                found += self._others(page, commands)
                continue
            ran = set()
            names_real = any(".xcmappingmodel" in c.text for c in commands)
            for app in self.apps if names_real else self.apps[:1]:
                folder = app.copy(tempfile.mkdtemp(dir=self.scratch) + "/scene")
                with self._set(setting, folder):
                    for line in self._scene(page, commands, folder, ran):
                        if line not in found:
                            found.append(line)
            self.ran += len(ran)
            for command in commands:
                where = f"{page.name}:{command.line}"
                if command in ran:
                    continue
                if self.has_real:
                    found.append(f"{where}: `{command.text.strip()}` names what no app has")
                else:
                    self.skipped.append(f"{where}: needs a mapping model of the corpus")
        return found

    def _scene(self, page, commands, folder, ran):
        """What is wrong with commands that run one after another in one folder."""
        missing = set()
        for command in commands:
            where = f"{page.name}:{command.line}"
            words = command.words
            if words[:1] == ["mkdir"]:
                os.mkdir(os.path.join(folder, words[1]))
                ran.add(command)
                continue
            if words[:1] != ["godwit"]:
                yield f"{where}: `{command.text}` is no command of godwit's"
                continue
            wrong = self.vocabulary.wrong(words[1:])
            yield from (f"{where}: {w}" for w in wrong)
            if wrong:
                ran.add(command)
                continue
            paths = [os.path.join(folder, w) for w in words[2:]]
            if any(w.endswith((".xcmappingmodel", ".cdm")) and not os.path.exists(p)
                   or any(w == m or w.startswith(m + "/") for m in missing)
                   for w, p in zip(words[2:], paths)):
                missing |= {words[n + 1] for n, w in enumerate(words) if w == "--output"}
                continue
            ran.add(command)
            yield from (f"{where}: `{command.text.strip()}` {w}"
                        for w in self._outcome(command, folder))

    def _outcome(self, command, folder):
        path = self.programs + os.pathsep + os.environ["PATH"]
        if command.words[:2] == ["godwit", "serve"] and "--help" not in command.words:
            return serve_once(command, folder, {**os.environ, "PATH": path})
        try:
            done = subprocess.run(
                ["bash", "-c", command.text], cwd=folder, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=PATIENCE, env={**os.environ, "PATH": path})
        except subprocess.TimeoutExpired:
            return [f"is still running after {PATIENCE} s"]
        if done.returncode == command.status:
            return []
        said = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace")
        return [f"ends with {done.returncode}, not with {command.status}: {said[-500:]}"]

    def _others(self, page, commands):
        """Scripts and examples, which CI runs by themselves."""
        for command in commands:
            program = command.words[0]
            where = f"{page.name}:{command.line}"
            if program.startswith("scripts/"):
                if not os.access(os.path.join(ROOT, program), os.X_OK):
                    yield f"{where}: {program} is no script that can be run"
            elif program.startswith(".build/debug/"):
                with open(os.path.join(ROOT, "docs/examples/Package.swift")) as file:
                    if f'"{os.path.basename(program)}"' not in file.read():
                        yield f"{where}: the package has no product {program}"
                yield from (f"{where}: {w}" for w in self.vocabulary.wrong(command.words[1:]))
            elif command.words[:2] != ["swift", "build"]:
                yield f"{where}: `{command.text}` is not known to this script"

    def run_python(self, page):
        """Programs in Python, which read the status file of a migration that was killed."""
        found = []
        for _, line, text in page.blocks("python"):
            modules = {a.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import)
                       for a in n.names}
            missing = [m for m in sorted(modules) if importlib.util.find_spec(m) is None]
            if missing:
                self.skipped.append(f"{page.name}:{line}: needs the module {', '.join(missing)}")
                continue
            folder = self.apps[0].copy(tempfile.mkdtemp(dir=self.scratch) + "/scene")
            done = subprocess.run([sys.executable, "-c", text], cwd=self._killed(folder),
                                  capture_output=True, timeout=PATIENCE)
            self.ran += 1
            if done.returncode or not re.match(rb"phase \d+, \d+ of [1-9]\d* rows", done.stdout):
                found.append(f"{page.name}:{line}: {(done.stdout + done.stderr).decode()[-400:]}")
        return found

    def run_workflows(self, page):
        """Files in YAML for servers that run tests: parsed, and their calls of godwit run."""
        found = []
        for _, line, text in page.blocks("yaml"):
            found += [f"{page.name}:{line}: {fault}" for fault in yaml_faults(text)]
            commands = [Command(match[1], line + number, 0)
                        for number, whole in enumerate(text.split("\n"))
                        for match in [re.match(r" *(?:- )?(?:run: )?(godwit .*)", whole)] if match]
            if not commands:
                found.append(f"{page.name}:{line}: no line calls godwit")
            folder = self.apps[0].copy(tempfile.mkdtemp(dir=self.scratch) + "/scene")
            ran = set()
            found += self._scene(page, commands, folder, ran)
            self.ran += len(ran)
        return found

    @contextlib.contextmanager
    def _set(self, setting, folder):
        """Makes of the store in a folder what commands are about."""
        store, model = (os.path.join(folder, n) for n in ("Shop.sqlite", "Shop.xcdatamodeld"))
        write_log(store, os.path.join(folder, "crash.log"))
        if setting == "migrated":
            self.tool.run("migrate", store, "--to", model)
            self.tool.run("migrate", os.path.join(folder, "Old.sqlite"), "--to", model,
                          "--output", os.path.join(folder, "New.sqlite"),
                          "--receipt", os.path.join(folder, "receipt.json"))
        if setting == "released":
            self.tool.run("versions", "lock", model)
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "2.1"],
                          ["tag", "v2.1"]):
                subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C",
                                folder, *words], check=True, capture_output=True)
        if setting in ("listed", "fleet"):
            fleet = os.path.join(folder, "Autumn")
            self.tool.run("fleet", "create", fleet, store, os.path.join(folder, "Old.sqlite"),
                          "--to", model)
            if setting == "fleet":
                self.tool.run("fleet", "run", fleet)
        if setting not in ("running", "paused"):
            yield
            return
        process = self._running(store, model)
        try:
            if setting == "paused":
                self.tool.run("pause", store)
            yield
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)

    def _running(self, store, model):
        """A migration whose workers run."""
        process = self.tool.start(
            "migrate", store, "--to", model, "--workers", "1", "--range-rows", "20",
            environment={"GODWIT_SLOW": "200"})
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            told = self.tool.call("status", store, "--json")
            if told.returncode == 0 and any(
                    p["state"] == "running" for p in json.loads(told.stdout).get("parts", [])):
                break
            time.sleep(0.02)
        return process

    def _killed(self, folder):
        """The work folder of a migration that was killed while its workers ran."""
        store = os.path.join(folder, "Old.sqlite")
        process = self._running(store, os.path.join(folder, "Shop.xcdatamodeld"))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        return store + ".godwit"


def yaml_faults(text):
    """What a parser says of a text in YAML; without one, what no parser takes."""
    try:
        import yaml
    except ImportError:
        return [f"line {n} is indented by a tab or an odd number of spaces"
                for n, line in enumerate(text.split("\n"), 1)
                if re.match(r" *\t", line) or (len(line) - len(line.lstrip(" "))) % 2]
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"no YAML: {' '.join(str(error).split())}"]
    return [] if isinstance(found, dict) else ["no mapping at its top"]


# The judge of this judge

def check_self(runner, vocabulary, pages):
    """Plants errors in a page, and complains of each that is not seen."""
    found = []
    base = next(p for p in pages if p.name == "docs/reference/verification.md")
    prose = BLOCK.sub("", base.text)
    for name, (text, sentence) in PLANTED.items():
        page = Page("copy.md", f"{prose}\n\n{text}\n")
        told = (check_names([page], vocabulary) + runner.run(page)
                + runner.run_workflows(page))
        if len(told) != 1 or sentence not in told[0]:
            found.append(f"self-test: {name} gives {told}")
    without = [Page(p.name, p.text.replace("--no-record", "")) for p in pages]
    text = "```sh\ngodwit map Shop9.xcmappingmodel\n```\n"
    if runner.has_real and not any("no app has" in f for f in runner.run(Page("copy.md", text))):
        found.append("self-test: a mapping model that is not there is not noticed")
    other = os.path.join(runner.scratch, "other")
    with open(other, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + shlex.quote(runner.tool.path)
                   + " \"$@\" | sed 's/object by object/x/'\n")
    os.chmod(other, 0o755)
    if not any("+" in f and ", x." in f for f in check_manual(other)):
        found.append("self-test: a manual page that says something else is not noticed")
    expected = [f"no page names --no-record of `godwit {c}`" for c in ("migrate", "fleet")]
    if check_mentions(without, vocabulary) != expected:
        found.append("self-test: an option that no page names is not noticed")
    return found


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    pages = []
    for path in sorted(p for pattern in PAGES for p in glob.glob(os.path.join(ROOT, pattern))):
        with open(path, encoding="utf-8") as file:
            pages.append(Page(os.path.relpath(path, ROOT), file.read()))
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="godwit-documented-", dir=options.scratch) as scratch:
        tool = Tool(options.godwit)
        try:
            vocabulary = Vocabulary(tool)
            runner = Runner(tool, vocabulary, options.corpus, scratch)
            found = check_names(pages, vocabulary) + check_mentions(pages, vocabulary)
            found += check_manual(tool.path) + check_pages_of_manual()
            for page in pages:
                found += [*runner.run(page), *runner.run_python(page),
                          *runner.run_workflows(page)]
            ran, skipped = runner.ran, list(runner.skipped)
            found += check_self(runner, vocabulary, pages)
        except Failure as failure:
            found, ran, skipped = [str(failure)], 0, []
    for line in skipped:
        print(f"skipped: {line}")
    for line in found:
        print(line)
    print(f"{ran} commands run, {len(skipped)} skipped, {len(found)} findings")
    return 1 if found or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
