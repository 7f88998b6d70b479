#!/usr/bin/env python3
"""200 random key paths through random families, and 200 random regular expressions of nested
repetitions, measured: all of the paths together, and all of the patterns, take at most 2 s of a
processor and 64 MiB more than the same commands without them, and each pattern is matched, not
matched or given up by name. A check of twice the subentities takes at most six times as long.

usage: expression_bounds.py --godwit P --corpus D [--scratch S] [--seeds 1-2]; the corpus is not
read
"""
import json
import os
import random

from limits import Spawner
from run import Failure, Tool, parser, run_cases, seeds

SECONDS, MEBIBYTES, COUNT = 2, 64, 200
# What a build for debugging may take longer.
SLOWNESS = 3
HEAD = '<?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" ' \
    'documentVersion="1.0">'


def contents(members, more=""):
    """A family of entities whose objects lead to each other, each below one before it."""
    text = HEAD + (
        '<entity name="E0"><attribute name="name" optional="YES" attributeType="String"/>' + more
        + '<relationship name="parent" optional="YES" maxCount="1" destinationEntity="E0" '
          'inverseName="kids" inverseEntity="E0" deletionRule="Nullify"/>'
          '<relationship name="kids" optional="YES" toMany="YES" destinationEntity="E0" '
          'inverseName="parent" inverseEntity="E0" deletionRule="Nullify"/></entity>')
    for number, parent in enumerate(members, 1):
        text += (f'<entity name="E{number}" parentEntity="E{parent}"><attribute name="a{number}" '
                 'optional="YES" attributeType="String"/></entity>')
    return text + "</model>"


def make_bundle(folder, versions):
    bundle = os.path.join(folder, "Bounds.xcdatamodeld")
    for name, text in versions.items():
        os.makedirs(os.path.join(bundle, f"{name}.xcdatamodel"))
        with open(os.path.join(bundle, f"{name}.xcdatamodel", "contents"), "w") as file:
            file.write(text)
    return bundle


def measured(tool, *arguments):
    status, _, seconds, mebibytes, out, err = Spawner.run(
        [tool.path, *map(str, arguments)], {}, 120)
    return status, seconds, mebibytes, out, err


def paths(tool, folder, seed):
    """One mapping model with all paths, checked without a store."""
    r = random.Random(seed)
    members = [r.randrange(n) for n in range(1, r.randint(3, 24))]
    names = [f"x{n}" for n in range(COUNT)]
    new = "".join(f'<attribute name="{n}" optional="YES" attributeType="String"/>' for n in names)
    bundle = make_bundle(folder, {"1": contents(members), "2": contents(members, new)})
    old, later = (os.path.join(bundle, f"{n}.xcdatamodel") for n in (1, 2))
    store = os.path.join(folder, "Old.sqlite")
    tool.run("generate", bundle, "--version", "1", "--rows", 20, "--output", store)
    found = []
    for random_paths in (False, True):
        file = os.path.join(folder, "Map.json")
        attributes = {"name": "$source.name"}
        for name in names:
            hops = [r.choice(("parent", "parent", "kids")) for _ in range(r.randint(1, 60))]
            tail = ["@count", "stringValue"] if "kids" in hops else ["name"]
            if "kids" in hops:
                hops = hops[:hops.index("kids") + 1]
            path = ".".join(hops + tail) if random_paths else "name"
            attributes[name] = f"$source.{path}"
        with open(file, "w") as output:
            json.dump({"format": "godwit mapping model", "version": 1, "mappings": [
                {"source": f"E{n}", "destination": f"E{n}", "attributes": attributes}
                for n in range(len(members) + 1)]}, output)
        calls = [("map", file, "--check", "--from", old, "--to", later),
                 ("plan", store, "--to", later, "--models", bundle, "--mapping", file)]
        found.append([measured(tool, *call) for call in calls])
        for call, (status, _, _, out, err) in zip(calls, found[-1]):
            if status:
                raise Failure(f"{call[0]} of the key paths ends with {status}: {err[:300]}")
    return within(tool, "key paths", *found)


def pattern(r, depth=5):
    if depth == 0:
        return r.choice(("a", "b", ".", "", "[ab]"))
    kind = r.randrange(6)
    inner = [pattern(r, depth - 1) for _ in range(2)]
    if kind == 0:
        return inner[0] + inner[1]
    if kind == 1:
        return f"({inner[0]}|{inner[1]})"
    if kind == 2:
        return f"(?:{inner[0]}){{1,{r.randint(2, 9)}}}"
    return f"({inner[0]})" + r.choice(("*", "+", "*?", "?"))


def patterns(tool, folder, seed):
    r = random.Random(seed)
    bundle = make_bundle(folder, {"1": contents([])})
    store = os.path.join(folder, "Old.sqlite")
    tool.run("generate", bundle, "--rows", 5, "--output", store)
    ask = ("inspect", store, "--entity", "E0", "--limit", "1", "--where")
    plain = [measured(tool, *ask, "name MATCHES 'a'") for _ in range(5)]
    base = [sorted(plain, key=lambda m: m[1])[2]]
    found, given_up = [], 0
    for _ in range(COUNT):
        text = pattern(r)
        status, *rest, err = measured(tool, *ask, f"name MATCHES '{text}'")
        slow = status != 0 and f"{text} takes too long to match" in err
        given_up += slow
        if status and not slow:
            raise Failure(f"the pattern {text} ends with {status}: {err[:300]}")
        found.append((status, *rest, err))
    lines = within(tool, "patterns", base * COUNT, found)
    return lines + ([] if given_up else ["no pattern was given up: none of them was hard"])


def family(tool, folder):
    """Of checks of many subentities of one entity the time does not grow by the third power."""
    times = []
    for count in (200, 400):
        members = [0] * count
        new = '<attribute name="x" optional="YES" attributeType="String"/>'
        place = os.path.join(folder, str(count))
        bundle = make_bundle(place, {"1": contents(members), "2": contents(members, new)})
        old, later = (os.path.join(bundle, f"{n}.xcdatamodel") for n in (1, 2))
        store = os.path.join(place, "Old.sqlite")
        tool.run("generate", old, "--rows", 10, "--output", store)
        status, seconds, _, _, err = measured(tool, "check", store, "--to", later, "--models", old)
        if status:
            raise Failure(f"check ends with {status}: {err[:300]}")
        times.append(seconds)
    ratio = times[1] / times[0]
    return [f"twice the subentities took {ratio:.1f} times as long: {times}"] if ratio > 6 else []


def within(tool, what, base, found):
    seconds = sum(m[1] for m in found) - sum(m[1] for m in base)
    mebibytes = max(m[2] for m in found) - max(m[2] for m in base)
    lines = []
    if seconds > SECONDS * (SLOWNESS if "debug" in tool.path else 1):
        lines.append(f"{COUNT} {what} took {seconds:.1f} s more than none")
    if mebibytes > MEBIBYTES:
        lines.append(f"{COUNT} {what} took {mebibytes:.0f} MiB more than none")
    return lines


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-2")
    options = p.parse_args()
    tool = Tool(options.godwit)

    cases = [(f"{kind.__name__} {seed}", lambda folder, k=kind, n=seed: k(tool, folder, n))
             for seed in seeds(options.seeds) for kind in (paths, patterns)]
    cases.append(("family", lambda folder: family(tool, folder)))
    run_cases(options, cases, "bounds")


if __name__ == "__main__":
    main()
