#!/usr/bin/env python3
"""Changes numbers, texts and bytes in what an interrupted migration left, file by file, and starts
the same command again: it ends as an undisturbed run, or is refused by name with nothing lost, and
`--restart` always gives the result of an undisturbed run. It never crashes.

usage: leftovers.py --godwit P [--sample N] [--only TEXT] [--scratch S]
"""
import json
import os
import random
import shutil
import tempfile

from run import Tool, parser, run_cases
from swap_faults import canonical, digest

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ROWS = 3000
NUMBERS = (-1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1, -2**63, 2**63, 2**64, 1e300, -0.5, None, "7", [],
           {}, True)
ENDINGS = (0, 65, 73, 74)


class Lab:
    """Work folders of interrupted migrations, by engine."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.store = os.path.join(folder, "Shop.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--output",
                 self.store)
        self.bytes, self.new, self.left = digest(self.store), {}, {}
        for engine in ("sql", "pages", "stages", "objects"):
            self.left[engine] = self.interrupt(engine)
            expected = os.path.join(folder, f"{engine}-expected.sqlite")
            tool.run(*self.command(engine, expected))
            self.new[engine] = canonical(expected)

    def command(self, engine, output, *more):
        how = ("--progressive", "--stepwise") if engine == "stages" else ("--engine", engine)
        if engine == "objects":
            how = ("--engine", "objects", "--mapping", os.path.join(self.folder, "map.json"))
        return ("migrate", self.store, "--to", LIBRARY, "--output", output, "--workers", 2,
                "--range-rows", 500, *how, *more)

    def interrupt(self, engine):
        if engine == "objects":
            self.tool.run("map", "--from", self.store, "--to", LIBRARY, "--output",
                          os.path.join(self.folder, "map.json"))
        output = os.path.join(self.folder, f"{engine}.sqlite")
        point = "coordinator:stage-done" if engine == "stages" else "coordinator:assembled"
        if engine == "pages":
            point = "coordinator:migrating"
        done = self.tool.call(*self.command(engine, output), environment={"GODWIT_FAULT": point})
        if done.returncode != -9:
            raise SystemExit(f"{engine}: not killed: {done.returncode} {done.stderr[-300:]}")
        return output

    def files(self, engine):
        work = self.left[engine] + ".godwit"
        return sorted(os.path.relpath(os.path.join(w, n), work) for w, _, ns in os.walk(work)
                      for n in ns if not n.startswith("status.mdb"))


def places(value, path=()):
    """The paths of all numbers in a document, and of every tenth other scalar."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, path + (key,))
    elif isinstance(value, list):
        for index, item in enumerate(value[:3]):
            yield from places(item, path + (index,))
    elif isinstance(value, (int, float)) or value is None or len(path) % 3 == 0:
        yield path


def changed(document, path, value):
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


def mutants(lab, engine, sample, chance):
    """(file, what, content) of changed files."""
    out = []
    for name in lab.files(engine):
        path = os.path.join(lab.left[engine] + ".godwit", name)
        with open(path, "rb") as file:
            content = file.read()
        if name.endswith(".json"):
            document = json.loads(content)
            own = [(name, f"{'.'.join(map(str, p))} = {v!r}",
                    json.dumps(changed(document, p, v)).encode())
                   for p in places(document) for v in NUMBERS]
        else:
            own = []
            for _ in range(40 if content else 0):
                at = chance.randrange(len(content))
                byte = bytes([content[at] ^ chance.randrange(1, 256)])
                own.append((name, f"byte {at}", content[:at] + byte + content[at + 1:]))
        own += [(name, "cut in half", content[:len(content) // 2]), (name, "empty", b"")]
        out += chance.sample(own, min(sample, len(own))) if sample else own
    return out


def check(lab, engine, name, content, folder):
    output = os.path.join(folder, "New.sqlite")
    work = output + ".godwit"
    shutil.copytree(lab.left[engine] + ".godwit", work, symlinks=True)
    retarget(work, lab.left[engine], output)
    if isinstance(content, bytes):
        with open(os.path.join(work, name), "wb") as file:
            file.write(content.replace(lab.left[engine].encode(), output.encode()))
    command = lab.command(engine, output)
    done = lab.tool.call(*command)
    out = [] if done.returncode in ENDINGS else [
        f"exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    if "please report" in done.stderr:
        out.append(f"says {done.stderr.strip()[-300:]}")
    if digest(lab.store) != lab.bytes:
        out.append("the source was written")
    if done.returncode:
        if os.path.exists(output):
            out.append("refused, and there is an output")
        if name and os.path.basename(name) == "godwit.json" and done.returncode == 73:
            return out  # a folder without a mark of this version is somebody else's
        done = lab.tool.call(*lab.command(engine, output, "--restart"))
        if done.returncode:
            return out + [f"--restart: exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    if canonical(output) != lab.new[engine]:
        out.append("another result than that of an undisturbed run")
    return out + [f"left over: {n}" for n in os.listdir(folder) if n.endswith(".godwit")]


def retarget(work, old, new):
    """The marks and markers name their destinations."""
    for where, _, names in os.walk(work):
        for name in names:
            path = os.path.join(where, name)
            if not name.endswith(".json"):
                continue
            with open(path, "rb") as file:
                content = file.read()
            for a, b in ((old, new), (old.replace("/", "\\/"), new.replace("/", "\\/"))):
                content = content.replace(a.encode(), b.encode())
            with open(path, "wb") as file:
                file.write(content)


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--sample", type=int, default=4, help="mutants of each file; 0 for all")
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        lab, chance = Lab(Tool(options.godwit, timeout=60), folder), random.Random(11)
        cases = []
        for engine in lab.left:
            cases.append((f"{engine}: nothing changed",
                          lambda f, e=engine: check(lab, e, None, None, f)))
            for name, what, content in mutants(lab, engine, options.sample, chance):
                cases.append((f"{engine}: {name}: {what}",
                              lambda f, e=engine, n=name, c=content: check(lab, e, n, c, f)))
        run_cases(options, [c for c in cases if options.only in c[0]], "leftovers")


if __name__ == "__main__":
    main()
