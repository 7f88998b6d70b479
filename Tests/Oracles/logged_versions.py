#!/usr/bin/env python3
"""`versions find` with logs made of the metadata of stores of every version, whole and shortened,
cut and of an edited model, from a file and from standard input: the version that has the hashes, or
the nearest one, in words and as JSON by its schema.

usage: logged_versions.py --godwit P [--corpus D] [--scratch S]; needs no corpus
"""
import json
import os
import plistlib
import sqlite3
import subprocess

from json_schema import Schema
from run import Failure, Tool, parser, run_cases

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODEL = os.path.join(ROOT, "docs", "sample", "Library.xcdatamodeld")
NAMES = ["Library 1", "Library 2", "Library 3"]
FOUND = Schema("versions-find")


def hashes(store):
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    (plist,) = db.execute("select Z_PLIST from Z_METADATA").fetchone()
    db.close()
    return plistlib.loads(plist)["NSStoreModelVersionHashes"]


def log(found, is_short):
    """The hashes as Core Data logs them."""
    lines = []
    for name, value in found.items():
        digits = value.hex()
        data = f'"{{length = 32, bytes = 0x{digits[:32]} ... {digits[-16:]} }}"' if is_short \
            else f"<{' '.join(digits[n:n + 8] for n in range(0, 64, 8))}>"
        lines.append(f"        {name} = {data};")
    return "CoreData: error: (134100) metadata={\n    NSStoreModelVersionHashes =     {\n" \
        + "\n".join(lines) + "\n    };\n}\n"


def require(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found!r:.300}, expected {expected!r:.300}")


def told(tool, model, text, folder, status):
    """The answer as JSON, which has to be that in words, by a file and by standard input."""
    path = os.path.join(folder, "crash.log")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = tool.call("versions", "find", model, path, "--json")
    require("the status", done.returncode, status)
    found = json.loads(done.stdout)
    faults = FOUND.faults(found)
    if faults:
        raise Failure(f"not as versions-find.schema.json says: {'; '.join(faults[:5])}")
    words = tool.call("versions", "find", model, path)
    require("the words", (words.returncode, words.stdout.splitlines()),
            (status, found["sentences"]))
    piped = subprocess.run([tool.path, "versions", "find", model, "--json"], input=text,
                           capture_output=True, text=True, timeout=60, check=False)
    require("standard input", (piped.returncode, piped.stdout), (status, done.stdout))
    return found


def version(name, is_short):
    def check(tool, folder):
        store = os.path.join(folder, "Old.sqlite")
        tool.run("generate", MODEL, "--version", name, "--rows", 5, "--output", store)
        own = hashes(store)
        found = told(tool, MODEL, log(own, is_short), folder, 0)
        require("the version", (found["versions"], found.get("nearest")), ([name], None))
        require("the entities", found["entities"], sorted(own))
        # What other versions share with this one fits them all.
        other = {v: set(hashes_of(tool, folder, v).items()) for v in NAMES}
        for entity in own:
            cut = {entity: own[entity]}
            fitting = [v for v in NAMES if cut.items() <= other[v]]
            require(f"a log of {entity} alone",
                    told(tool, MODEL, log(cut, is_short), folder, 0)["versions"], fitting)
        edited = dict(own, **{sorted(own)[0]: bytes(32)})
        found = told(tool, MODEL, log(edited, is_short), folder, 78)
        most = max(len(set(edited.items()) & other[v]) for v in NAMES)
        if found["versions"] or len(set(edited.items()) & other[found["nearest"]]) != most:
            return [f"an edited version: {found}"]
        foreign = {f"Other{n}": value for n, value in enumerate(own.values())}
        found = told(tool, MODEL, log(foreign, is_short), folder, 78)
        return ["another app has a nearest version"] if "nearest" in found else []
    return check


def hashes_of(tool, folder, name):
    store = os.path.join(folder, f"{name}.sqlite")
    if not os.path.exists(store):
        tool.run("generate", MODEL, "--version", name, "--rows", 1, "--output", store)
    return hashes(store)


def nothing(tool, folder):
    path = os.path.join(folder, "empty.log")
    with open(path, "w", encoding="utf-8") as file:
        file.write("CoreData: nothing to see\n")
    done = tool.call("versions", "find", MODEL, path, "--json")
    sentences = json.loads(done.stdout)["error"]["sentences"]
    require("a log without hashes", (done.returncode, "no version hashes" in sentences[0]),
            (66, True))
    return []


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = Tool(options.godwit)
    cases = [(f"{name}{', shortened' if short else ''}", version(name, short))
             for name in NAMES for short in (False, True)] + [("no hashes", nothing)]
    run_cases(options, [(n, lambda folder, c=c: c(tool, folder)) for n, c in cases], "logs")


if __name__ == "__main__":
    main()
