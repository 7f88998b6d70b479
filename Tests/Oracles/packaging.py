#!/usr/bin/env python3
"""Makes the files of a release, and installs, uses and removes each as people and CI do: nothing
is left over. The GitHub action and the GitLab component of docs/examples/ci run from these files.

usage: packaging.py --godwit P [--scratch S]

The Debian package is installed below a folder of its own, with a list of packages of its own; apt
is asked whether this system has what it depends on, and lintian, where it is, what it finds.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from installing import LIBRARY, ROOT, expect, files, run
from run import Failure, parser, run_cases

EXAMPLES = os.path.join(ROOT, "docs", "examples", "ci")
# What lintian asks of packages that Debian builds: this one has the toolchain's libraries in it,
# and a build for debugging looks for them where they lie.
PASSED_OVER = ("statically-linked-binary", "embedded-library", "custom-library-search-path")


class Release:
    """The files that scripts/release makes of a build."""

    def __init__(self, tool, folder, environment=None):
        self.tool, self.folder = tool, os.path.join(folder, "release")
        status, told = run(os.path.join(ROOT, "scripts", "release"), "--built", tool, self.folder,
                           environment=environment)
        if status:
            raise Failure(f"no release: {told[-400:]}")

    def file(self, suffix):
        found = glob.glob(os.path.join(self.folder, "*" + suffix))
        if len(found) != 1:
            raise Failure(f"{suffix}: {found}")
        return found[0]


def fixtures(tool, folder):
    """A folder with a store of an old version, and one with a store that the model has already."""
    made = os.path.join(folder, "Fixtures")
    os.makedirs(made)
    for version in ("Library 1", "Library 3"):
        run(tool, "generate", LIBRARY, "--version", version, "--rows", 300, "--output",
            os.path.join(made, version + ".sqlite"))
    return made


def used(tool, folder):
    """What is wrong with an installed executable."""
    out = []
    work = tempfile.mkdtemp(dir=folder)
    expect(out, "--version", run(tool, "--version"), 0)
    for command in (("generate", LIBRARY, "--version", "Library 1", "--rows", 300, "--output",
                     "Old.sqlite"),
                    ("migrate", "Old.sqlite", "--to", LIBRARY, "--output", "New.sqlite"),
                    ("verify", "Old.sqlite", "New.sqlite")):
        expect(out, command[0], run(tool, *command, folder=work), 0)
    return out


def manual(path):
    status, text = run("bash", "-c", f"(zcat -f '{path}') | mandoc -T utf8")
    named = "SYNOPSIS" in re.sub(r".\x08", "", text)
    return [] if status <= 2 and named else [f"{path} is no manual page: {text[:200]}"]


def debian(release, folder):
    package, root = release.file(".deb"), os.path.join(folder, "root")
    for part in ("info", "updates"):
        os.makedirs(os.path.join(root, "var", "lib", "dpkg", part))
    for name in ("status", "available"):
        open(os.path.join(root, "var", "lib", "dpkg", name), "w").close()
    # Its dependencies are not in that list: apt is asked for them.
    words = ("dpkg", f"--root={root}", "--force-not-root", "--force-depends",
             f"--log={os.path.join(folder, 'log')}")
    out = []
    expect(out, "installing", run(*words, "--install", package), 0)
    tool = os.path.join(root, "usr", "bin", "godwit")
    out += used(tool, folder)
    share = os.path.join(root, "usr", "share")
    out += manual(os.path.join(share, "man", "man1", "godwit-migrate.1.gz"))
    for name in ("doc/godwit/copyright", "doc/godwit/changelog.gz", "doc/godwit/README.md",
                 "bash-completion/completions/godwit", "zsh/vendor-completions/_godwit",
                 "fish/vendor_completions.d/godwit.fish"):
        if not os.path.isfile(os.path.join(share, name)):
            out.append(f"{name} is not in the package")
    owned = run(*words, "--listfiles", "godwit")[1].splitlines()
    there = ["/" + n for n in files(root) if not n.startswith("var/")]
    out += [f"{n} belongs to no package" for n in there if n not in owned]
    expect(out, "removing", run(*words, "--purge", "godwit"), 0)
    if left := [n for n in files(root) if not n.startswith("var/")]:
        out.append(f"left over: {left[:5]}")
    if shutil.which("apt-get"):
        expect(out, "what it depends on", run("apt-get", "install", "--simulate", package), 0)
    else:
        print("apt-get is missing: nothing says whether this system has what the package needs")
    return out + judged(package)


def judged(package):
    """The errors that lintian finds."""
    if not shutil.which("lintian"):
        print("lintian is missing: nothing judges the Debian package")
        return []
    told = run("lintian", "--allow-root", package)[1]
    return [line for line in told.splitlines()
            if line.startswith("E: ") and not any(tag in line for tag in PASSED_OVER)]


def environment(folder):
    """An environment of Python's own, with pip."""
    place = os.path.join(folder, "venv")
    status, told = run("python3", "-m", "venv", place)
    if status:
        raise Failure(f"no environment: {told[-300:]}")
    return place


def wheel(release, folder):
    place, out = environment(folder), []
    pip = os.path.join(place, "bin", "pip")
    before = set(files(place))
    expect(out, "installing", run(pip, "install", "--no-index", release.file(".whl")), 0)
    out += used(os.path.join(place, "bin", "godwit"), folder)
    out += manual(os.path.join(place, "share", "man", "man1", "godwit-check.1"))
    expect(out, "what pip checks", run(pip, "check"), 0)
    expect(out, "removing", run(pip, "uninstall", "--yes", "godwit"), 0)
    # pip keeps what it compiles of itself, and folders.
    left = [n for n, what in files(place).items()
            if n not in before and "__pycache__" not in n and what != "a folder"]
    return out + ([f"left over: {sorted(left)[:5]}"] if left else [])


def script(lines):
    """The text of a block `|` that begins at the first line, without what indents it."""
    indent = len(lines[0]) - len(lines[0].lstrip())
    body = []
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        body.append(line[indent:])
    return "\n".join(body)


def steps(text, inputs):
    """(environment, script) of each step of an action."""
    lines = text.split("\n")
    defaults = dict(re.findall(r"^  (\w+):\n(?:    .*\n)*?    default: (.*)$", text, re.M))
    known, settings = {**defaults, **inputs}, {}
    for number, line in enumerate(lines):
        if line.startswith("    - name:"):
            settings = {}
        if found := re.match(r"        (\w+): \$\{\{ inputs\.(\w+) \}\}$", line):
            settings[found[1]] = known[found[2]]
        if line == "      run: |":
            yield dict(settings), script(lines[number + 1:])


def github(release, suffix, folder):
    """The steps of the action, one after the other, as a runner runs them."""
    with open(os.path.join(EXAMPLES, "github", "action.yml"), encoding="utf-8") as file:
        text = file.read()
    stores = fixtures(release.tool, folder)
    inputs = {"package": release.file(suffix), "stores": stores, "model": LIBRARY,
              "junit": os.path.join(folder, "check.xml")}
    added, out = os.path.join(folder, "path"), []
    open(added, "w").close()
    for settings, body in steps(text, inputs):
        with open(added, encoding="utf-8") as file:
            path = os.pathsep.join([*file.read().split(), os.environ["PATH"]])
        expect(out, body.split("\n")[0], run(
            "bash", "-e", "-c", body, folder=folder,
            environment={**settings, "PATH": path, "RUNNER_TEMP": folder, "GITHUB_PATH": added}), 0)
    return out + told_of_both(os.path.join(folder, "check.xml"))


def told_of_both(path):
    if not os.path.isfile(path):
        return ["no file of JUnit"]
    with open(path, encoding="utf-8") as file:
        count = file.read().count("<testcase")
    return [] if count == 2 else [f"{count} test cases, expected 2"]


def gitlab(release, folder):
    """The script of the component, in a folder that stands for a checkout."""
    with open(os.path.join(EXAMPLES, "gitlab", "check.yml"), encoding="utf-8") as file:
        head, _, job = file.read().partition("\n---\n")
    defaults = dict(re.findall(r"^    (\w+):\n(?:      .*\n)*?      default: (.*)$", head, re.M))
    fixtures(release.tool, folder)
    inputs = {**defaults, "package": release.file(".whl"), "model": LIBRARY}
    lines = re.findall(r"^    - (.*)$", job, re.M)
    body = "\n".join(re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda m: inputs[m[1]], line)
                     for line in lines)
    out = []
    expect(out, "the job", run("bash", "-e", "-c", body, folder=folder), 0)
    return out + told_of_both(os.path.join(folder, "check.xml"))


def the_judges(folder):
    """Plants what they have to find."""
    text = ("inputs:\n  stores:\n    default: Fixtures\n  model:\n    required: true\nruns:\n"
            "  steps:\n    - name: One\n      env:\n        A: ${{ inputs.stores }}\n"
            "      run: |\n        echo $A\n          more\n    - name: Two\n      run: |\n"
            "        exit 3\n")
    found = list(steps(text, {"model": "M"}))
    out = []
    if found != [({"A": "Fixtures"}, "echo $A\n  more"), ({}, "exit 3\n")]:
        out.append(f"the reader of steps: {found}")
    path = os.path.join(folder, "check.xml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("<testsuites><testcase/></testsuites>")
    if not told_of_both(path) or not manual(path):
        out.append("the judges find nothing")
    return out


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = os.path.abspath(options.godwit)
    with tempfile.TemporaryDirectory(prefix="godwit-release-") as folder:
        release = Release(tool, folder)
        cases = [("the judges", the_judges), ("a wheel", lambda f: wheel(release, f)),
                 ("a Debian package", lambda f: debian(release, f)),
                 ("the GitHub action with a wheel", lambda f: github(release, ".whl", f)),
                 ("the GitLab component", lambda f: gitlab(release, f))]
        run_cases(options, cases, "files of a release")


if __name__ == "__main__":
    main()
