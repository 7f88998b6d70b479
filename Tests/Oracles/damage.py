#!/usr/bin/env python3
"""What `verify` says of sound results, and of results damaged in every way that we can think of.

usage: damage.py --godwit P --corpus D [--pairs N|all] [--grounds all] [--only TEXT] [--scratch S]

Every store of the corpus is alike itself, and so is what each engine makes of the real pairs. Then
one kind of damage after the other is planted in results of inference (by both engines), of versions
one by one, of a mapping model and of a policy: it must be named, by its kind, and nothing besides.
Each kind is planted on two of these grounds, or on all.
Beside the tool must lie PolicyTool of the same build.
"""
import glob
import json
import os
import shutil
import tempfile

import damage_grounds
from coredata import bundles
from damages import DAMAGES
from run import Failure, Tool, fingerprint, parser, run_cases, unchanged
from store import copy_store
from wire_pairs import Wire, pair_name

HEAD = b"SQLite format 3\0"
ENGINES = ("sql", "pages")


def verify(tool, old, new, *more, kinds=None):
    """The document of a verification, which must end as the kinds say: none where nothing differs.
    """
    done = tool.call("verify", old, new, "--json", *more)
    expected = 65 if kinds else 0
    if done.returncode != expected:
        raise Failure(f"verify ends with {done.returncode}, expected {expected}: "
                      f"{(done.stdout + done.stderr)[-600:]}")
    return json.loads(done.stdout)


# Every store against itself.

def stores(corpus):
    for where, _, names in sorted(os.walk(corpus)):
        for name in sorted(names):
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                if file.read(16) == HEAD:
                    yield path


def itself(tool, path, folder):
    copy = copy_store(path, os.path.join(folder, "store"))
    before = fingerprint(os.path.dirname(copy))
    verify(tool, copy, copy)
    unchanged(before, os.path.dirname(copy))
    return []


# Real pairs.

def pair(tool, source, target, folder, *route, engine="sql", models=()):
    copy = copy_store(source, os.path.join(folder, "source"))
    if os.path.exists(source + "-shm"):
        shutil.copyfile(source + "-shm", copy + "-shm")
    result = os.path.join(folder, "result.sqlite")
    more = [part for path in models for part in ("--models", path)]
    # One of the pairs is a downgrade; what may be lost is another oracle's business.
    tool.run("migrate", copy, "--to", target, *route, *more, "--engine", engine,
             "--output", result, "--allow-loss")
    before = fingerprint(folder)
    verify(tool, copy, result, *route, *more)
    verify(tool, copy, result, "--to", target, *route, *more)
    unchanged(before, folder)
    return []


def real_pairs(tool, policies, corpus, count):
    wire = Wire(corpus)
    for number, (old, new) in enumerate(wire.pairs(count)):
        engine = ENGINES[number % 2]
        yield (f"{pair_name(old, new)} by {engine}", lambda f, old=old, new=new, engine=engine:
               pair(tool, old, wire.models[new].path, f, "--infer-only", engine=engine,
                    models=[wire.bundle.path]))
    every = bundles(corpus)
    for version in (1, 2, 3):
        path = os.path.join(corpus, "bookmarks", f"Bookmarks_V{version}.sqlite")
        for target in range(version + 1, 7):
            model = every["bookmarks"].models[f"BookmarksModel {target}"].path
            yield (f"bookmarks V{version} -> {target}", lambda f, path=path, model=model: pair(
                tool, path, model, f, "--infer-only", models=[every["bookmarks"].path]))
    yield from mapped_pairs(tool, policies, corpus, every)


def mapped_pairs(tool, policies, corpus, every):
    sample = os.path.join(corpus, "samplemodel")
    fixtures, bundle = os.path.join(sample, "Fixtures"), every["samplemodel"]
    yield "samplemodel V1 -> V2", lambda f: pair(
        tool, os.path.join(fixtures, "SampleModel_V1.sqlite"), bundle.models["SampleModel2"].path,
        f, "--infer-only", models=[bundle.path])
    for mapping in sorted(glob.glob(os.path.join(sample, "MappingModels", "V2toV3.*"))):
        yield f"samplemodel V2 -> V3 by {os.path.basename(mapping)}", lambda f, m=mapping: pair(
            policies, os.path.join(fixtures, "SampleModel_V2.sqlite"),
            bundle.models["SampleModel3"].path, f, "--mapping", m, engine="auto",
            models=[bundle.path])
    folder = os.path.join(corpus, "wal-example")
    for old, new in ((1, 2), (2, 3)):
        for engine in ("auto", "objects"):
            yield (f"wal-example {old} -> {new} by {engine}",
                   lambda f, o=old, n=new, e=engine: pair(
                policies, os.path.join(folder, f"CoreDataMigration_Example_{o}.sqlite"),
                every["wal-example"].models[f"CoreDataMigration_Example {n}"].path, f, "--mapping",
                os.path.join(folder, f"Migration{o}to{n}.xcmappingmodel"), engine=e,
                models=[every["wal-example"].path]))
    yield "wal-example WAL -> 3", lambda f: pair(
        tool, os.path.join(folder, "CoreDataMigration_Example_WAL.sqlite"),
        every["wal-example"].models["CoreDataMigration_Example 3"].path, f, "--infer-only",
        models=[every["wal-example"].path])
    books = os.path.join(corpus, "bookmigration")
    steps = [part for name in ("Model1_to_Model2", "Model2_to_Model3_User", "Model2_to_Model3")
             for part in ("--mapping", os.path.join(books, f"{name}.xcmappingmodel"))]
    yield "bookmigration 1 -> 2 -> 3", lambda f: pair(
        policies, os.path.join(books, "Model1.sqlite"),
        every["bookmigration"].models["Model3"].path, f, *steps, "--progressive", engine="auto",
        models=[every["bookmigration"].path])


# Damage.

class Ground:
    """A sound result, what it was made of, and how `verify` is to judge it."""

    def __init__(self, tool, folder, name, *route, make=(), how=()):
        self.tool, self.name = tool, name
        self.folder = os.path.join(folder, name.replace(" ", "-"))
        os.makedirs(self.folder)
        bundle, paths = damage_grounds.write(self.folder)
        self.old = os.path.join(self.folder, "Old.sqlite")
        self.new = os.path.join(self.folder, "New.sqlite")
        tool.run("generate", paths[0], "--rows", 300, "--output", self.old)
        damage_grounds.plant(self.old)
        self.files(self.old)
        how = [part(self, tool, paths) if callable(part) else part for part in how]
        tool.run("migrate", self.old, "--to", bundle, *how, *make, "--output", self.new)
        self.how = [*how, "--models", bundle]
        self.target = ["--to", bundle]

    def files(self, store):
        """Some files outside the store, which the generator makes of long values only."""
        damage_grounds.externalize(store)

    def copy(self, folder):
        shutil.copytree(self.folder, folder, dirs_exist_ok=True, symlinks=True)
        return os.path.join(folder, "Old.sqlite"), os.path.join(folder, "New.sqlite")

    def sound(self, folder):
        old, new = self.copy(folder)
        verify(self.tool, old, new, *self.how)
        verify(self.tool, old, new, *self.how, *self.target)
        return []

    def damaged(self, damage, folder):
        old, new = self.copy(folder)
        damage.do(new, old)
        before = fingerprint(folder)
        document = verify(self.tool, old, new, *self.how, *self.target, kinds=damage.kinds)
        unchanged(before, folder)
        return judged(document, damage)


def judged(document, damage):
    found = set(document["counts"])
    out = [f"{kind} is not named" for kind in sorted(damage.kinds - found)]
    allowed = damage.kinds | damage.also
    out += [f"{kind} is named: {next(d for d in document['differences'] if d['kind'] == kind)}"
            for kind in sorted(found - allowed)]
    if damage.places is not None and document["total"] != damage.places:
        out.append(f"{document['total']} differences, expected {damage.places}: "
                   f"{document['differences'][:3]}")
    if document["isAlike"] or document["total"] != sum(document["counts"].values()):
        out.append("the counts do not agree with each other")
    return out


def mapping(policy=None):
    def make(ground, tool, paths):
        return damage_grounds.mapping(tool, paths, os.path.join(ground.folder, "way.json"), policy)
    return make


def grounds(tool, policies, folder):
    by_sql, by_pages = ("--engine", "sql"), ("--engine", "pages")
    yield Ground(tool, folder, "inference by rows", make=by_sql, how=("--infer-only",))
    yield Ground(tool, folder, "inference by pages", make=by_pages, how=("--infer-only",))
    yield Ground(tool, folder, "version by version", make=("--stepwise",),
                 how=("--progressive", "--infer-only"))
    losing = ("--allow-loss",)
    yield Ground(tool, folder, "mapping model", make=losing, how=("--mapping", mapping()))
    yield Ground(policies, folder, "policy", make=losing, how=("--mapping", mapping("Marking")))


def main():
    p = parser(__doc__)
    p.add_argument("--pairs", default="12", help="how many pairs of wire, or all")
    p.add_argument("--grounds", default="two", help="all plants each kind in every result")
    p.add_argument("--only", default="", help="cases with this in their names")
    options = p.parse_args()
    tool = Tool(options.godwit)
    policies = Tool(os.path.join(os.path.dirname(options.godwit), "PolicyTool"))
    cases = []
    if os.path.isdir(options.corpus):
        cases += [(f"{os.path.relpath(s, options.corpus)} itself",
                   lambda f, s=s: itself(tool, s, f)) for s in stores(options.corpus)]
        cases += real_pairs(tool, policies, options.corpus, options.pairs)
    with tempfile.TemporaryDirectory(prefix="godwit-grounds-") as folder:
        made = list(grounds(tool, policies, folder))
        for place, ground in enumerate(made):
            cases.append((f"{ground.name}: sound", ground.sound))
            cases += [(f"{ground.name}: {d.name}", lambda f, g=ground, d=d: g.damaged(d, f))
                      for number, d in enumerate(DAMAGES)
                      if options.grounds == "all" or (number + place) % len(made) < 2]
        run_cases(options, [c for c in cases if options.only in c[0]], "cases")


if __name__ == "__main__":
    main()
