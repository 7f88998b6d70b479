#!/usr/bin/env python3
"""Mutants of models and mapping models in every form: none crashes, hangs, or takes memory without
end; whatever is refused is refused by a sentence that names the file or the store.

usage: odd_inputs.py --godwit P [--corpus D] [--seeds 1-8] [--kind NAME,...] [--sentences]

Kinds: `model` (XML), `compiled` (.mom), `version` (what a bundle says of its versions), `json`,
`expression` (mapping models in JSON), `xml`, `cdm` (Apple's, which need the corpus folder).
"""
import glob
import json
import os
import plistlib
import random
import re
import shutil
import sqlite3
import tempfile
import zlib

import damage_grounds
from limits import Done
from odd_files import json_mutant, text_mutant, xml_mutant
from run import Tool, judge_mutants, parser, seeds

# What a sentence names: a file, or the entity mapping or the property that is at fault.
PLACE = (r"Odd|odd\.json|Zoo|Old\.sqlite|beside|entity mapping \w+|\w+\.\w+ is of type|"
         r"a filter of objects of \w+|\w+ \d+, \w+: mandatory|"
         r"the mapping model: \w+\.\w+: ")
EXPRESSIONS = (
    "$source.name", '"a" + "b"', "depth + 1 - 2 * 3 / 4", "uppercase:(name)", "now()",
    'FUNCTION($source, "valueForKey:", "name")', "ternary(depth > 0, 1, 2)", "{1, 2, 3}",
    "SUBQUERY(friends, $f, $f.depth > 1).@count", "CAST(name, 'NSDate')")
FILTERS = ("depth > 0", "name LIKE[cd] '*a*'", "name MATCHES '(a+)+b'", "ANY friends.depth > 3",
           "name IN {'a', 'b'}", "NOT (depth == 1 AND name != nil)", "depth BETWEEN {1, 5}")


class Lab:
    """A store, its models, and what its mutants are made of."""

    def __init__(self, tool, corpus, folder):
        self.tool, self.folder = tool, folder
        self.bundle, paths = damage_grounds.write(folder)
        self.source, self.target = paths[0], paths[1]
        self.store = os.path.join(folder, "Old.sqlite")
        tool.run("generate", paths[0], "--rows", 60, "--output", self.store)
        mapping = damage_grounds.mapping(tool, paths, os.path.join(folder, "way.json"))
        self.last = paths[2]
        with open(mapping, "rb") as file:
            self.json = file.read()
        db = sqlite3.connect(self.store)
        deflated = db.execute("select Z_CONTENT from Z_MODELCACHE").fetchone()[0]
        db.close()
        self.archive = zlib.decompress(deflated, -15) if deflated[:1] != b"\x78" \
            else zlib.decompress(deflated)
        self.apple = {
            "xml": glob.glob(f"{corpus}/**/xcmapping.xml", recursive=True),
            "cdm": glob.glob(f"{corpus}/**/*.cdm", recursive=True)} if corpus else {}

    def kinds(self):
        return ["model", "compiled", "version", "json", "expression"] + [
            kind for kind, files in self.apple.items() if files]


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def make(r, lab, kind, folder):
    """Writes a mutant; what was done, and the calls that read it."""
    output = ("--output", os.path.join(folder, "New.sqlite"), "--no-record", "--allow-loss")
    if kind == "model":
        data, done = xml_mutant(r, read(os.path.join(lab.target, "contents")))
        path = os.path.dirname(write(os.path.join(folder, "Odd.xcdatamodel", "contents"), data))
        return done, [("migrate", lab.store, "--to", path, "--models", lab.source, "--infer-only",
                       *output), ("inspect", path)]
    if kind == "compiled":
        data, done = text_mutant(r, lab.archive)
        path = write(os.path.join(folder, "Odd.mom"), data)
        return done, [("migrate", lab.store, "--to", path, "--models", lab.source, *output),
                      ("inspect", path)]
    if kind == "version":
        bundle = os.path.join(folder, "Zoo.xcdatamodeld")
        shutil.copytree(lab.bundle, bundle)
        path = os.path.join(bundle, ".xccurrentversion")
        data = plistlib.dumps(plistlib.loads(read(path)),
                              fmt=r.choice((plistlib.FMT_XML, plistlib.FMT_BINARY)))
        data, done = xml_mutant(r, data) if data[:1] == b"<" else text_mutant(r, data)
        write(r.choice((path, os.path.join(folder, "beside.xcmappingmodel", "xcmapping.xml"))),
              data)
        return done, [("migrate", lab.store, "--to", bundle, "--infer-only", *output)]
    if kind in ("json", "expression"):
        if kind == "json":
            data, done = json_mutant(r, lab.json) if r.random() < 0.7 else \
                text_mutant(r, lab.json)
        else:
            data, done = expression_mutant(r, lab.json)
        path = write(os.path.join(folder, "odd.json"), data)
        return done, [("migrate", lab.store, "--to", lab.last, "--models", lab.bundle,
                       "--mapping", path, *output), ("map", path)]
    original = r.choice(lab.apple[kind])
    data = read(original)
    data, done = xml_mutant(r, data) if data[:1] == b"<" else text_mutant(r, data)
    if kind == "xml":
        path = os.path.dirname(
            write(os.path.join(folder, "Odd.xcmappingmodel", "xcmapping.xml"), data))
    else:
        path = write(os.path.join(folder, "Odd.cdm"), data)
    return done, [("map", path), ("check", lab.store, "--to", lab.target, "--mapping", path)]


def expression_mutant(r, data):
    document = json.loads(data)
    mapping = r.choice([m for m in document["mappings"] if m.get("attributes")])
    if r.random() < 0.5:
        base = r.choice(FILTERS)
        filter_ = grown(r, base, (" AND ", " OR "), "NOT (")
        mapping["filter"] = filter_
        return json.dumps(document).encode(), f"filter {filter_[:80]}"
    base = r.choice(EXPRESSIONS)
    text = grown(r, base, (" + ", " - ", " * ", " ** "), "(")
    mapping["attributes"][r.choice(list(mapping["attributes"]))] = text
    return json.dumps(document).encode(), f"expression {text[:80]}"


def grown(r, text, joints, opening):
    """A chain to the left, nesting to the right, or damaged text."""
    how = r.randrange(5)
    count = r.choice((2, 50, 2000, 30_000))
    if how == 0:
        return r.choice(joints).join([text] * min(count, 400_000 // len(text)))
    if how == 1:
        return opening * count + text + ")" * count
    if how == 2:
        return text_mutant(r, text.encode())[0].decode("utf-8", "replace")
    if how == 3:
        return "a" + ".a" * count
    return ("-" if opening == "(" else "NOT ") * count + text


def judge(lab, kind, seed, base):
    folder = tempfile.mkdtemp(prefix="odd-", dir=base)
    r, found, ends = random.Random(f"{kind} {seed}"), [], []
    try:
        name, calls = make(r, lab, kind, folder)
        for call in calls:
            done = Done(lab.tool, call)
            lines = done.faults()
            if not lines and done.status and not re.search(
                    PLACE, done.err + done.out):
                lines = [f"names no file and no place: {done.err[-300:]}"]
            if call[0] == "migrate" and done.status == 0:
                lines += sound(os.path.join(folder, "New.sqlite"))
            found += [f"{kind} {seed} {call[0]} ({name}): {line}".replace(folder, "<scratch>")
                      for line in lines]
            ends.append((kind, call[0], done.status, re.sub(
                r"\d+", "N", done.err.replace(folder, ""))[:300]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found, ends


def sound(path):
    db = sqlite3.connect(path)
    try:
        found = db.execute("pragma integrity_check(3)").fetchall()
    finally:
        db.close()
    return [] if found == [("ok",)] else [f"status 0, and the result is not sound: {found}"]


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-8")
    p.add_argument("--kind", default="", help="the kinds, with commas; default: all")
    p.add_argument("--sentences", action="store_true", help="list what is said, with how often")
    options = p.parse_args()
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-oracle-")
    corpus = options.corpus if options.corpus and os.path.isdir(options.corpus) else None
    lab = Lab(Tool(options.godwit), corpus, os.path.join(base, "lab"))
    kinds = options.kind.split(",") if options.kind else lab.kinds()

    def sentence(end):
        kind, call, status, text = end
        return f"{kind} {call} {status} {text.strip()[:250]}"

    judge_mutants(options, base, [(kind, seed) for seed in seeds(options.seeds) for kind in kinds],
                  lambda case: judge(lab, *case, base), sentence)


if __name__ == "__main__":
    main()
