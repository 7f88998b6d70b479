#!/usr/bin/env python3
"""Defects planted in the rows of a sound store: each is told before anything is written, with its
count and its keys, alike by every engine; what a choice touches is reported row by row, and no more
is touched.

usage: planted_defects.py --godwit P [--defects 12] [--seed 1] [--kind NAME] [--engines sql,pages]
"""
import json
import os
import random
import re
import shutil
import sqlite3
import tempfile

from defect_grounds import KINDS, LARGE, OTHER, Ground
from run import Failure, Tool, parser, run_cases

FIRST_KEYS = 10
SMALL = 8 << 20  # the bytes of a store up to which a migration looks at every row beforehand

# What the tool says.

def told(line):
    """The place, the count and the keys that a sentence tells, if it tells any."""
    found = re.match(r"\s*(?:has |loses )?(\w+(?:\.\w+)?): .*?(\d+) [^(]*\(Z_PK ([\d, …]+)\)", line)
    if not found:
        return None
    place, count, keys = found.groups()
    return place, int(count), [int(k) for k in re.findall(r"\d+", keys)]


def judge_told(what, lines, kind, keys, name):
    """Exactly the planted ones: their number and the first of their keys, under their place."""
    mine = [t for t in map(told, lines) if t and t[0] == kind.place]
    if kind.name == "duplicates":
        # Both of two that agree break the rule, and the lower key stands for them.
        wanted = (kind.place, 2 * len(keys), sorted(k - 1 for k in keys)[:FIRST_KEYS])
    else:
        wanted = (kind.place, len(keys), sorted(keys)[:FIRST_KEYS])
    if mine != [wanted]:
        return [f"{what} {name}: told {mine}, expected {[wanted]}; all that was said: {lines[:6]}"]
    return []


def planted(ground, folder, kinds, defects, seed):
    """A store with defects of some kinds, each in rows of its own; the keys by kind."""
    path = os.path.join(folder, "Old.sqlite")
    shutil.copyfile(ground.store, path)
    r, db = random.Random(seed), sqlite3.connect(path)
    # Twins are neighbours: whoever plants in each third row harms no pair twice.
    free = [k for (k,) in db.execute("select Z_PK from ZTHING order by 1")][4::3]
    r.shuffle(free)
    keys = {}
    for kind in kinds:
        if len(free) < defects:
            raise Failure(f"too few rows for {len(kinds)} kinds of {defects} defects")
        keys[kind.name] = sorted(free[:defects])
        del free[:defects]
        kind.plant(ground, db, keys[kind.name])
    db.commit()
    db.close()
    return path, keys


def enlarged(path):
    """More than 8 MiB, from which on workers come across what nobody looked for beforehand."""
    db = sqlite3.connect(path)
    db.execute("update ZTAG set ZNAME = ? where Z_PK = (select min(Z_PK) from ZTAG)",
               ("x" * (SMALL + (1 << 20)),))
    db.commit()
    db.close()


def large(tool, ground, folder, kind, defects, seed, engines):
    """What is not kept, or is come across, is told of a large store as well."""
    store, keys = planted(ground, folder, [kind], defects, seed)
    enlarged(store)
    out, expected = [], 0 if kind.outcome == "kept" else 78
    for engine in engines:
        if engine == "objects" and not kind.by_objects:
            continue
        status, lines, _, result = migrate(tool, ground, folder, store, engine,
                                           LARGE.get(kind.name, ()), asks=False)
        lines = [re.sub("^godwit: (note: )?", "", line) for line in lines]
        out += judge_told(engine, lines, kind, keys[kind.name], "says")
        out += [f"{engine}: status {status}, expected {expected}"] * (status != expected)
        out += [f"{engine}: refused, and made a store"] * (status and os.path.exists(result))
    return out


def check(tool, ground, store, options=()):
    done = tool.call("check", store, "--to", ground.models[1], "--infer-only", *options)
    return done.returncode, done.stdout.splitlines()


def migrate(tool, ground, folder, store, engine, options=(), asks=True):
    """The exit status, what was said, the report and the path of the result. Of a large store all
    is told beforehand to those who ask for it."""
    if asks and os.path.getsize(store) > SMALL:
        options = (*options, "--check-source", "full")
    result, report = (os.path.join(folder, n) for n in (f"{engine}.sqlite", f"{engine}.json"))
    for path in (result, report):
        if os.path.exists(path):
            os.remove(path)
    way = ("--infer-only",) if engine != "objects" else (
        "--mapping", ground.mapping, "--models", ground.models[0])
    done = tool.call("migrate", store, "--to", ground.models[1], *way, "--output", result,
                     "--engine", engine, "--report", report, *options)
    with open(report, encoding="utf-8") as file:
        return done.returncode, done.stderr.splitlines(), json.load(file), result


def one_kind(tool, ground, folder, kind, defects, seed, engines):
    store, keys = planted(ground, folder, [kind], defects, seed)
    keys = keys[kind.name]
    expected = 0 if kind.outcome == "kept" else 78
    status, lines = check(tool, ground, store)
    out = judge_told("check", lines, kind, keys, "says")
    out += [f"check: status {status}, expected {expected}"] * (status != expected)
    for engine in engines:
        if engine == "objects" and not kind.by_objects:
            continue  # it breaks rules of the model, and is told as a violation
        status, lines, report, result = migrate(tool, ground, folder, store, engine)
        lines = [re.sub("^godwit: (note: )?", "", line) for line in lines]
        out += judge_told(engine, lines, kind, keys, "says")
        out += [f"{engine}: status {status}, expected {expected}"] * (status != expected)
        if status == 78 and os.path.exists(result):
            out.append(f"{engine}: refused, and made a store")
        if kind.choice:
            out += chosen(tool, ground, folder, store, kind, keys, engine)
    return out


def chosen(tool, ground, folder, store, kind, keys, engine):
    """What a choice touches is in the report, all of it, and nothing besides."""
    status, lines, report, result = migrate(tool, ground, folder, store, engine, kind.choice)
    name = f"{engine} {' '.join(kind.choice)}"
    if status:
        return [f"{name}: status {status}: {lines[:4]}"]
    touched = [d for d in report["defects"] if d["fate"] != "kept" and d["kind"] != "removedTarget"]
    out = []
    if [(d["count"], d["keys"]) for d in touched] != [(len(keys), keys)]:
        out.append(f"{name}: the report has {touched}"[:400])
    db = sqlite3.connect(result)
    old = sqlite3.connect(store)
    if kind.mended == "gone":
        found = {k for (k,) in db.execute("select Z_PK from ZTHING")}
        wanted = {k for (k,) in old.execute("select Z_PK from ZTHING")} - set(keys)
        if found != wanted:
            out.append(f"{name}: {len(found ^ wanted)} other objects are there than should be")
        lost = db.execute("select count(*) from ZTHING where ZTWIN not in (select Z_PK from ZTHING)"
                          " or ZTWINOF not in (select Z_PK from ZTHING)").fetchone()[0]
        lost += db.execute(f"select count(*) from {ground.join(db)} where "
                           f"{ground.thing_and_tag(db)[0]} not in (select Z_PK from ZTHING)"
                           ).fetchone()[0]
        out += [f"{name}: {lost} references lead to removed objects"] * bool(lost)
    elif kind.mended == "unpaired":
        thing, tag = ground.thing_and_tag(db)
        left = db.execute(f"select count(*) from {ground.join(db)} where {tag} > {OTHER}")
        gone = (old.execute(f"select count(*) from {ground.join(old)}").fetchone()[0]
                - db.execute(f"select count(*) from {ground.join(db)}").fetchone()[0])
        if left.fetchone()[0] or gone != len(keys):
            out.append(f"{name}: {gone} pairs are gone")
    else:
        found = [k for (k,) in db.execute(
            f"select Z_PK from ZTHING where {kind.mended} order by 1")]
        if found != keys:
            out.append(f"{name}: touched {len(found)} rows, not those {len(keys)}")
    account = next(a for a in report["accounts"][0]["entities"] if a["entity"] == "Thing")
    drops = sum(d["objects"] for d in account["dropped"])
    if account["rowsIn"] != old.execute("select count(*) from ZTHING").fetchone()[0] \
            or account["rowsOut"] + drops != account["rowsIn"]:
        out.append(f"{name}: the accounts do not add up: {account}")
    for one in (db, old):
        one.close()
    return out


def all_kinds(tool, ground, folder, defects, seed, engines):
    """All kinds that do not share a place, at once: all are told, by one call."""
    places, kinds = set(), []
    for kind in KINDS:
        if kind.place not in places:
            places.add(kind.place)
            kinds.append(kind)
    store, keys = planted(ground, folder, kinds, defects, seed)
    out = []
    answers = {"check": check(tool, ground, store)}
    for engine in engines:
        if engine == "objects":
            continue
        status, lines, _, _ = migrate(tool, ground, folder, store, engine)
        answers[engine] = status, [re.sub("^godwit: (note: )?", "", line) for line in lines]
    for name, (status, lines) in answers.items():
        out += [f"{name}: status {status}, expected 78"] * (status != 78)
        for kind in kinds:
            if kind.outcome == "kept" and name != "check":
                continue  # told with the result
            out += judge_told(name, lines, kind, keys[kind.name], f"of {kind.name} says")
    choices = ["--on-duplicate", "keep-first", "--on-dangling", "nullify", "--on-value", "null"]
    status, lines = check(tool, ground, store, choices)
    mandatory = next(k for k in kinds if k.name == "mandatory and nil")
    out += judge_told("check with all choices", lines, mandatory, keys[mandatory.name], "says")
    return out


def sound(tool, ground, folder, engines):
    """Of a store without defects nothing is told."""
    store = os.path.join(folder, "Old.sqlite")
    shutil.copyfile(ground.store, store)
    status, lines = check(tool, ground, store)
    out = [f"check: status {status} {lines}"] * (status != 0 or any(map(told, lines)))
    for engine in engines:
        status, lines, report, _ = migrate(tool, ground, folder, store, engine)
        if status or report["defects"] or report["losses"] or any(map(told, lines)):
            out.append(f"{engine}: status {status}, told {report['defects']} {lines[:3]}")
    return out


def judge_of_judge(tool, ground, folder, defects, seed):
    """One defect more, one less or another key than was planted is found."""
    kind = KINDS[0]
    store, keys = planted(ground, folder, [kind], defects, seed)
    keys = keys[kind.name]
    _, lines = check(tool, ground, store)
    out = []
    for name, wrong in (("one less", keys[1:]), ("one more", keys + [keys[-1] + 3]),
                        ("another key", [keys[0] + 1] + keys[1:])):
        if not judge_told("check", lines, kind, wrong, "says"):
            out.append(f"{name} than was planted is not found")
    if not judge_told("check", [], kind, keys, "says"):
        out.append("silence is not found")
    return out


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--defects", type=int, default=12, help="of each kind")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kind", help="one kind only")
    p.add_argument("--engines", default="sql,pages,objects")
    options = p.parse_args()
    tool, engines = Tool(options.godwit), options.engines.split(",")
    with tempfile.TemporaryDirectory(prefix="godwit-defects-") as lab:
        ground = Ground(tool, lab, max(600, options.defects * (len(KINDS) + 4) * 10))
        n, seed = options.defects, options.seed
        cases = [(k.name, lambda f, k=k: one_kind(tool, ground, f, k, n, seed, engines))
                 for k in KINDS if options.kind in (None, k.name)]
        cases += [(f"{k.name}, large", lambda f, k=k: large(tool, ground, f, k, n, seed, engines))
                  for k in KINDS if k.name in LARGE and options.kind in (None, k.name)]
        if not options.kind:
            cases += [("all at once", lambda f: all_kinds(tool, ground, f, n, seed, engines)),
                      ("none", lambda f: sound(tool, ground, f, engines)),
                      ("the judge", lambda f: judge_of_judge(tool, ground, f, n, seed))]
        run_cases(options, cases, "kinds of defects")


if __name__ == "__main__":
    main()
