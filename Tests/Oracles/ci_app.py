#!/usr/bin/env python3
"""The made-up app repository of docs/examples/ci/app: every step of its workflow files is run as
its server runs it, in a Git repository with stores of all versions; the first time with the wheel
of a release. Then the model is broken as teams break it, and each break has to fail the step that
guards against it, with an annotation at the line that Python finds in the model's source, and a
cure that works.

usage: ci_app.py --godwit P [--scratch S]; needs no corpus
"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

from installing import QUICKLY, expect, run
from json_schema import Schema
from packaging import EXAMPLES, Release, script
from run import Failure, parser, run_cases

APP = os.path.join(EXAMPLES, "app")
INSTALL = "Install godwit"


class Step:
    """A step of a workflow of GitHub that runs commands."""

    def __init__(self, name, condition, body):
        self.name, self.condition, self.body = name, condition, body


def steps(text):
    """The steps of a workflow, in order; those that use actions of others have no commands."""
    for part in re.split(r"^      - ", text, flags=re.M)[1:]:
        lines = part.split("\n")
        name = re.match(r"name: (.*)", lines[0])
        condition = re.search(r"^        if: (.*)$", part, re.M)
        for number, line in enumerate(lines):
            if line == "        run: |":
                body = script(lines[number + 1:])
            elif line.startswith("        run: "):
                body = line.partition("run: ")[2]
            else:
                continue
            yield Step(name[1] if name else "", condition[1] if condition else "success()", body)


class Checkout:
    """A Git repository of the app, with stores."""

    def __init__(self, tool, folder):
        self.tool, self.temporary = tool, os.path.join(folder, "temporary")
        self.path = os.path.join(folder, "Shop")
        shutil.copytree(APP, self.path)
        os.makedirs(self.temporary)
        self.model = os.path.join(self.path, "Shop.xcdatamodeld")
        for version in (1, 2, 3):
            self.store(f"Shop {version}", f"Fixtures/{version}.sqlite")
        self.store("Shop 1", "Backups/Shop.sqlite")
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "3.0"]):
            self.git(*words)
        self.environment = {
            "GITHUB_WORKSPACE": self.path, "GITHUB_PATH": self.named("path"),
            "GITHUB_STEP_SUMMARY": self.named("summary.md"), "RUNNER_TEMP": self.temporary,
            "CI_PROJECT_DIR": self.path}
        open(self.named("path"), "w").close()

    def named(self, name):
        return os.path.join(self.temporary, name)

    def at(self, name):
        return os.path.join(self.path, name)

    def store(self, version, name):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        told = run(self.tool, "generate", self.model, "--version", version, "--rows", 60,
                   "--output", self.at(name))
        if told[0]:
            raise Failure(f"no store: {told[1]}")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C",
                        self.path, *words], check=True, capture_output=True)

    def source(self, version):
        return os.path.join(self.model, f"{version}.xcdatamodel", "contents")

    def edit(self, version, old, new):
        with open(self.source(version), encoding="utf-8") as file:
            text = file.read()
        if old not in text:
            raise Failure(f"{version} has no {old}")
        with open(self.source(version), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))

    def add(self, version, old, new, current=True):
        """A new version, made of Shop 3."""
        shutil.copytree(os.path.dirname(self.source("Shop 3")),
                        os.path.dirname(self.source(version)))
        self.edit(version, old, new)
        if current:
            path = os.path.join(self.model, ".xccurrentversion")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("Shop 3", version))

    def line(self, version, part):
        """The line of a source on which a text stands, from 1."""
        with open(self.source(version), encoding="utf-8") as file:
            found = [n for n, line in enumerate(file, 1) if part in line]
        if len(found) != 1:
            raise Failure(f"{part!r} stands on {found} of {version}")
        return found[0]

    def call(self, body, package=None):
        with open(self.named("path"), encoding="utf-8") as file:
            added = file.read().split()
        tool = [] if package else [os.path.dirname(self.tool)]
        path = os.pathsep.join([*added, *tool, os.environ["PATH"]])
        return run("bash", "-e", "-o", "pipefail", "-c", body, folder=self.path,
                   environment={**self.environment, "PATH": path,
                                "GODWIT_PACKAGE": package or ""})

    def workflow(self, name, package=None):
        """{name of a step: (status, what it printed)}, of the steps that run."""
        with open(self.at(f".github/workflows/{name}.yml"), encoding="utf-8") as file:
            text = file.read()
        told, failed = {}, False
        for step in steps(text):
            if step.name == INSTALL and not package:
                continue
            if {"success()": not failed, "failure()": failed, "always()": True}[step.condition]:
                told[step.name] = self.call(step.body, package)
                failed = failed or told[step.name][0] != 0
        if not told:
            raise Failure(f"{name}: no step")
        return told

    def gitlab(self):
        """The status of the job's script, and what it printed."""
        with open(self.at(".gitlab-ci.yml"), encoding="utf-8") as file:
            text = file.read()
        parts = {}
        for key in ("before_script", "script", "after_script"):
            block = re.search(rf"^  {key}:\n((?:    - .*\n)+)", text, re.M)[1]
            lines = re.findall(r"^    - (.*)$", block, re.M)
            # The tool is there without a wheel.
            parts[key] = [line.replace(".godwit/bin/godwit", "godwit") for line in lines]
        told = self.call("\n".join(parts["script"]))
        self.call("\n".join(parts["after_script"]))
        return told


GUARD, CHECK = "Find released versions that were edited", \
    "Migrate stores of all versions, and take them back"


def sound(release):
    def check(folder):
        repository, out = Checkout(release.tool, folder), []
        told = repository.workflow("stores", release.file(".whl"))
        for name, one in told.items():
            expect(out, name, one, 0)
        if list(told) != [INSTALL, GUARD, CHECK]:
            out.append(f"ran {list(told)}")
        if "::error" in told[CHECK][1]:
            out.append(f"errors: {told[CHECK][1]}")
        with open(repository.named("summary.md"), encoding="utf-8") as file:
            if "### godwit check: 6 stores" not in file.read():
                out.append("no summary")
        for name in ("check.sarif", "check.xml", "check.html"):
            if not os.path.isfile(repository.at(name)):
                out.append(f"no {name}")
        return out
    return check


def backup(tool):
    def check(folder):
        repository, out = Checkout(tool, folder), []
        for name, one in repository.workflow("backups").items():
            expect(out, name, one, 0)
        with open(repository.at("receipt.json"), encoding="utf-8") as file:
            receipt = json.load(file)
        out += Schema("receipt").faults(receipt)
        if receipt["result"]["objects"] != {"Customer": 20, "Order": 20, "Product": 20}:
            out.append(f"{receipt['result']['objects']}")
        if not glob.glob(repository.at("Data/*.jsonl")):
            out.append("no data")
        return out
    return check


def edited(repository):
    repository.edit("Shop 2", 'name="weight"', 'name="mass"')
    told = repository.workflow("stores")
    out = []
    expect(out, GUARD, told[GUARD], 78)
    expect(out, CHECK, told[CHECK], 78)
    if "Product.weight became mass" not in told[GUARD][1]:
        out.append(told[GUARD][1])
    line = repository.line("Shop 2", 'name="mass"')
    place = f"::error file=Shop.xcdatamodeld/Shop 2.xcdatamodel/contents,line={line},title=edited::"
    if place not in told[CHECK][1]:
        out.append(told[CHECK][1])
    return out


MANDATORY = '        <attribute name="code" attributeType="String"/>\n'


def add_mandatory(repository):
    repository.add("Shop 4", '        <attribute name="stock"',
                   MANDATORY + '        <attribute name="stock"')
    return repository.line("Shop 4", 'name="code"')


def mandatory(repository):
    line = add_mandatory(repository)
    told, out = repository.workflow("stores"), []
    expect(out, GUARD, told[GUARD], 0)
    expect(out, CHECK, told[CHECK], 78)
    place = f"::error file=Shop.xcdatamodeld/Shop 4.xcdatamodel/contents,line={line},"
    if place not in told[CHECK][1]:
        out.append(f"{place} is not in {told[CHECK][1]}")
    with open(repository.at("check.sarif"), encoding="utf-8") as file:
        results = json.load(file)["runs"][0]["results"]
    places = {r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results
              if r["level"] == "error"}
    if places != {line}:
        out.append(f"SARIF has the lines {places}, expected {line}")
    for number in (1, 2, 3):
        cure = repository.at(f"cure/{number}.sqlite/migrate.sh")
        with open(cure, encoding="utf-8") as file:
            words = file.read().strip().split("\n")[-1]
        expect(out, words, repository.call(f"{words} --output Cured{number}.sqlite"), 0)
        expect(out, "verify", repository.call(
            f"godwit verify Fixtures/{number}.sqlite Cured{number}.sqlite"), 0)
    return out


def mandatory_gitlab(repository):
    line = add_mandatory(repository)
    out = []
    expect(out, "the job", repository.gitlab(), 78)
    with open(repository.at("gl-code-quality-report.json"), encoding="utf-8") as file:
        issues = json.load(file)
    found = {(i["location"]["path"], i["location"]["lines"]["begin"]) for i in issues
             if i["severity"] == "blocker"}
    if found != {("Shop.xcdatamodeld/Shop 4.xcdatamodel/contents", line)}:
        out.append(f"{issues}")
    if len({i["fingerprint"] for i in issues}) != len(issues):
        out.append("fingerprints are not unique")
    return out


def renamed(repository):
    """A lost attribute is a warning; the patch that is suggested brings it back."""
    repository.add("Shop 4", 'name="total"', 'name="amount"')
    told, out = repository.workflow("stores"), []
    expect(out, CHECK, told[CHECK], 0)
    line = repository.line("Shop 4", '<entity name="Order"')
    place = f"::warning file=Shop.xcdatamodeld/Shop 4.xcdatamodel/contents,line={line},"
    if place not in told[CHECK][1]:
        out.append(f"{place} is not in {told[CHECK][1]}")
    suggest = "godwit check Fixtures/3.sqlite --to Shop.xcdatamodeld --suggest --output cure"
    expect(out, suggest, repository.call(suggest), 0)
    expect(out, "git apply", repository.call("git apply -p0 cure/rename.patch"), 0)
    if repository.line("Shop 4", 'name="amount" elementID="total"') != \
            repository.line("Shop 4", 'name="amount"'):
        out.append("the patch changes another line")
    told = repository.workflow("stores")
    if "::warning" in told[CHECK][1] or told[CHECK][0]:
        out.append(f"after the patch: {told[CHECK][1]}")
    return out


def not_current(repository):
    repository.add("Shop 4", 'name="total"', 'name="total" versionHashModifier="4"',
                   current=False)
    told, out = repository.workflow("stores"), []
    expect(out, GUARD, told[GUARD], 78)
    if "::error file=Shop.xcdatamodeld/.xccurrentversion,line=1,title=notCurrent::" \
            not in told[CHECK][1]:
        out.append(told[CHECK][1])
    return out


def gitlab(repository):
    out = []
    expect(out, "the job", repository.gitlab(), 0)
    with open(repository.at("gl-code-quality-report.json"), encoding="utf-8") as file:
        out += [f"{issue}" for issue in json.load(file) if issue["severity"] == "blocker"]
    return out


def the_judges(folder):
    """Plants what they have to find."""
    text = ("    steps:\n      - uses: a/b@v1\n        if: always()\n      - name: One\n"
            "        if: failure()\n        run: |\n          a\n            b\n"
            "      - name: Two\n        run: exit 3\n")
    found = [(s.name, s.condition, s.body.strip()) for s in steps(text)]
    if found != [("One", "failure()", "a\n  b"), ("Two", "success()", "exit 3")]:
        return [f"the reader of steps: {found}"]
    return []


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = os.path.abspath(options.godwit)
    with tempfile.TemporaryDirectory(prefix="godwit-release-") as folder:
        release = Release(tool, folder, QUICKLY)
        cases = [("the judges", the_judges), ("the workflow with a wheel", sound(release)),
                 ("a backup", backup(tool))]
        cases += [(name, lambda f, b=broken: b(Checkout(tool, f))) for name, broken in (
            ("an edited version", edited), ("a mandatory attribute", mandatory),
            ("a mandatory attribute, on GitLab", mandatory_gitlab),
            ("a renamed attribute", renamed), ("a version that is not current", not_current),
            ("the job of GitLab", gitlab))]
        run_cases(options, cases, "repositories")


if __name__ == "__main__":
    main()
