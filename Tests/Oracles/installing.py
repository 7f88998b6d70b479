#!/usr/bin/env python3
"""Installs the tool below a prefix, uses what lies there as people do, updates it and removes it:
nothing else is touched, and nothing is left over.

usage: installing.py --godwit P [--scratch S]
"""
import os
import re
import subprocess

from run import parser, run_cases

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INSTALL = os.path.join(ROOT, "scripts", "install")
LIBRARY = os.path.join(ROOT, "docs", "sample", "Library.xcdatamodeld")
MISSING, EXISTS = 66, 73
# What is packed and unpacked in tests need not be small.
QUICKLY = {"GODWIT_PACKING": "1"}


def run(*command, environment=None, folder=None, umask=-1):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, cwd=folder, umask=umask,
                          env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout + done.stderr


def files(folder):
    """The files below a folder with their bytes, links with where they lead."""
    out = {}
    for place, folders, names in os.walk(folder):
        for name in names + [f for f in folders if not os.listdir(os.path.join(place, f))]:
            path = os.path.join(place, name)
            if os.path.islink(path):
                out[os.path.relpath(path, folder)] = os.readlink(path)
            elif os.path.isdir(path):
                out[os.path.relpath(path, folder)] = "a folder"
            else:
                with open(path, "rb") as file:
                    out[os.path.relpath(path, folder)] = file.read()
    return out


class Prefix:
    """A folder with files of somebody else's, below which the tool is installed."""

    def __init__(self, tool, folder, name="a prefix"):
        self.tool, self.path = tool, os.path.join(folder, name)
        for other in ("bin/other", "share/man/man1/other.1", "share/doc/other/README.md"):
            self.write(other, "somebody else's")
        self.before = files(self.path)

    def at(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)

    def install(self, *more):
        return run(INSTALL, "--prefix", self.path, "--built", self.tool, *more)

    def uninstall(self):
        return run(self.at("share/godwit/uninstall"))

    def touched(self):
        """What became of others' files, and what else is there."""
        now = files(self.path)
        return ([f"{n} was touched" for n, v in self.before.items() if now.get(n) != v]
                + [f"{n} is left" for n in sorted(set(now) - set(self.before))])


def expect(out, what, told, status):
    if told[0] != status:
        out.append(f"{what}: exit {told[0]}, expected {status}: {told[1].strip()[-300:]}")


def used(tool, folder):
    prefix, out = Prefix(tool, folder), []
    expect(out, "installing", prefix.install(), 0)
    path = {"PATH": prefix.at("bin") + os.pathsep + os.environ["PATH"],
            "MANPATH": prefix.at("share/man")}
    expect(out, "--version", run("godwit", "--version", environment=path), 0)
    work = os.path.join(folder, "work")
    os.mkdir(work)
    for command in (("generate", LIBRARY, "--version", "Library 1", "--rows", 300, "--output",
                     "Old.sqlite"),
                    ("migrate", "Old.sqlite", "--to", LIBRARY, "--output", "New.sqlite"),
                    ("verify", "Old.sqlite", "New.sqlite")):
        expect(out, command[0], run("godwit", *command, environment=path, folder=work), 0)
    listed = re.findall(r"^  ([a-z]+)  ", run("godwit", "help", environment=path)[1].partition(
        "SUBCOMMANDS:")[2], flags=re.M)
    for page in ("godwit", *(f"godwit-{c}" for c in listed)):
        status, text = run("mandoc", "-T", "utf8", prefix.at(f"share/man/man1/{page}.1"))
        if status > 2 or "SYNOPSIS" not in re.sub(r".\x08", "", text):
            out.append(f"no manual page {page}: {text[:200]}")
    script = prefix.at("share/bash-completion/completions/godwit")
    status, text = run("bash", "-c", f"source '{script}' && complete -p godwit", environment=path)
    if status or "godwit" not in text:
        out.append(f"bash completes nothing: {text[:300]}")
    for name in ("share/zsh/site-functions/_godwit",
                 "share/fish/vendor_completions.d/godwit.fish"):
        with open(prefix.at(name), encoding="utf-8") as file:
            text = file.read()
        out += [f"{name} does not name {c}" for c in listed if c not in text]
    for name in ("README.md", "LICENSE", "docs/reference/migration.md",
                 "docs/schemas/error.schema.json"):
        if not os.path.isfile(prefix.at(f"share/doc/godwit/{name}")):
            out.append(f"{name} is not installed")
    out += dead_links(prefix.at("share/doc/godwit"))
    expect(out, "a server that is not installed",
           run("godwit", "serve", "--port", 0, folder, environment=path), MISSING)
    expect(out, "installing again", prefix.install("--serve"), 0)
    expect(out, "a server in no folder",
           run("godwit", "serve", os.path.join(folder, "none"), environment=path), MISSING)
    if not os.access(prefix.at("bin/godwit-serve"), os.X_OK):
        out.append("--serve installs no server")
    expect(out, "removing", prefix.uninstall(), 0)
    return out + prefix.touched()


def guarded(tool, folder):
    """Files of others in the places of ours, files that were changed, and an earlier version's."""
    out = []
    for number, name in enumerate(("bin/godwit", "share/man/man1/godwit.1")):
        prefix = Prefix(tool, folder, f"taken {number}")
        prefix.write(name, "somebody else's")
        prefix.before = files(prefix.path)
        expect(out, f"over {name}", prefix.install(), EXISTS)
        out += prefix.touched()
    prefix = Prefix(tool, folder, "linked")
    os.symlink("other", prefix.at("bin/godwit"))
    prefix.before = files(prefix.path)
    expect(out, "over a link", prefix.install(), EXISTS)
    out += prefix.touched()
    prefix = Prefix(tool, folder, "changed")
    expect(out, "installing", prefix.install(), 0)
    prefix.write("share/doc/godwit/README.md", "my notes")
    prefix.write("share/doc/godwit/mine.md", "my notes")
    expect(out, "over what was changed", prefix.install(), EXISTS)
    expect(out, "removing what was changed", prefix.uninstall(), 1)
    prefix.before |= {"share/doc/godwit/README.md": b"my notes",
                      "share/doc/godwit/mine.md": b"my notes"}
    out += prefix.touched()
    prefix = Prefix(tool, folder, "older")
    expect(out, "installing", prefix.install(), 0)
    prefix.write("share/doc/godwit/docs/gone.md", "of an earlier version")
    with open(prefix.at("share/godwit/installed"), "a", encoding="utf-8") as file:
        file.write(run("bash", "-c", "cd '{}' && sha256sum share/doc/godwit/docs/gone.md".format(
            prefix.path))[1])
    expect(out, "over an earlier version", prefix.install(), 0)
    if os.path.exists(prefix.at("share/doc/godwit/docs/gone.md")):
        out.append("a file of an earlier version stays")
    expect(out, "removing", prefix.uninstall(), 0)
    return out + prefix.touched()


def released(tool, folder):
    """The files of a release: unpacked, they are what is installed, and each time the same, also
    in other surroundings and on another file system."""
    out, sums = [], []
    elsewhere = {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}
    if os.access("/dev/shm", os.W_OK):
        elsewhere["TMPDIR"] = "/dev/shm"
    for name, surroundings, umask in (("first", {}, 0o022), ("second", elsewhere, 0o077)):
        told = run(os.path.join(ROOT, "scripts", "release"), "--built", tool,
                   os.path.join(folder, name), environment={**QUICKLY, **surroundings},
                   umask=umask)
        expect(out, "a release", told, 0)
        place = os.path.join(folder, name)
        if out:
            return out
        expect(out, "the checksum", run("sha256sum", "--check", "SHA256SUMS", folder=place), 0)
        with open(os.path.join(place, "SHA256SUMS"), encoding="utf-8") as file:
            sums.append(file.read())
    differing = [line.split()[1] for line in sums[1].splitlines() if line not in sums[0]]
    if differing:
        out.append(f"two releases of one build differ in {differing}")
    archive = sums[0].split()[1]
    expect(out, "unpacking", run("tar", "xzf", os.path.join(folder, "first", archive),
                                 folder=folder), 0)
    whole = os.path.join(folder, archive.removesuffix(".tar.gz"))
    told = run(os.path.join(whole, "bin", "godwit"), "--version")
    if told != run(tool, "--version"):
        out.append(f"the unpacked tool says {told}")
    expect(out, "over what is there",
           run(os.path.join(ROOT, "scripts", "release"), "--built", tool,
               os.path.join(folder, "first")), EXISTS)
    with open(os.path.join(folder, "first", "docker", "Dockerfile"), encoding="utf-8") as file:
        text = file.read()
    if archive not in text or not os.path.isfile(os.path.join(folder, "first", "docker", archive)):
        out.append("the folder for docker has no archive")
    missing = needed(tool) - set(re.findall(r"\blib[\w.+-]+|zlib1g", text))
    out += [f"the image has no {library}" for library in sorted(missing)]
    expect(out, "removing", run(os.path.join(whole, "share", "godwit", "uninstall")), 0)
    if files(whole):
        out.append(f"left over: {sorted(files(whole))[:5]}")
    return out


def needed(tool):
    """The Debian packages of the libraries that a release links, but for the C library's."""
    packages = {"libsqlite3.so.0": "libsqlite3-0", "liblmdb.so.0": "liblmdb0",
                "libsodium.so.23": "libsodium23", "libxml2.so.2": "libxml2",
                "libz.so.1": "zlib1g", "libstdc++.so.6": "libstdc++6"}
    linked = re.findall(r"NEEDED.*\[(\S+)\]", run("readelf", "-d", tool)[1])
    known = re.compile(r"lib(c|m|gcc_s|pthread|dl|rt|util)\.so|ld-linux|libswift|lib_?Foundation"
                       r"|libBlocksRuntime|libdispatch")
    return {packages.get(name, name) for name in linked if not known.match(name)}


def dead_links(folder):
    """The links of pages below a folder that lead to no file."""
    out = []
    for name, content in files(folder).items():
        if not name.endswith(".md"):
            continue
        for link in re.findall(r"\]\(([^)#\s]+)", content.decode()):
            path = os.path.join(folder, os.path.dirname(name), link)
            if "://" not in link and not os.path.exists(path):
                out.append(f"{name} leads to {link}, which is not there")
    return out


def the_judge(tool, folder):
    prefix = Prefix(tool, folder)
    prefix.write("left", "over")
    prefix.write("bin/other", "changed")
    found = prefix.touched()
    prefix.write("pages/a.md", "[a](a.md#part) [the web](https://example.org/) [b](../b.md)")
    found += dead_links(prefix.at("pages"))
    expected = ["bin/other was touched", "left is left",
                "a.md leads to ../b.md, which is not there"]
    return [] if found == expected else [f"the judge: {found}"]


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = os.path.abspath(options.godwit)
    run_cases(options, [(body.__name__.replace("_", " "), lambda f, b=body: b(tool, f))
                        for body in (the_judge, used, guarded, released)], "ways to install")


if __name__ == "__main__":
    main()
