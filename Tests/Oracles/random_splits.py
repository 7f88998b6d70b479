#!/usr/bin/env python3
"""Migrates random stores by random mapping models that split an entity into several tables, or
within one, that merge entities of one table, and look for what other mappings made: every object,
reference and pair of the result is what this script says by itself; SQL and pages make the same
bytes, what is made object by object says the same, and `verify` judges it. Counts which road was
taken, and ends with an error where one never is.

usage: random_splits.py --godwit P --corpus D [--seeds 1-40] [--scratch S]; the corpus is not read
"""
import collections
import json
import os
import random
import sqlite3

from coredata import Attribute, Layout, Model, key
from random_filters import (Always, Chooser, Not, ORDERED, lost_reference, objects_of,
                            said_alike)
from random_mappings import LowFiller, has_twins
from random_models import A, E, End, Models
from random_stores import Form, make_store
from random_values import Values
from run import Failure, Tool, fingerprint, parser, run_cases, same_bytes, seeds, unchanged
from store import copy_store, quoted, uri_path

ENGINES = ("auto", "sql", "pages", "objects")
BY_MAPPING = 'FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", ' \
    '"{}", $source.{})'
BY_RELATIONSHIP = 'FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:' \
    'sourceInstances:", "{1}", $source.{1})'
ROADS = collections.Counter()
# What has to be taken at least once in forty seeds.
WANTED = ("apart by rows", "within by rows", "merged by rows", "several take one, by objects")


class Pair:
    """Two versions of a model: what each entity of the old one becomes in the new one."""

    def __init__(self, r):
        self.r, self.old, self.new = r, Models(r), Models(r)
        self.kinds, self.parts = {}, {}
        for _ in range(r.randint(2, 4)):
            root = self.add_entity(None)
            for _ in range(r.choice((0, 0, 1, 2, 3))):
                self.add_entity(root.name)
        for _ in range(r.randint(1, 6)):
            self.old.add_relation()
        self.old.relations = [x for x in self.old.relations if x[0] is not x[1]]
        self.divide()
        self.relations = []
        self.relate()

    def add_entity(self, parent):
        e = self.old.add_entity(parent)
        e.abstract = False
        for a in e.attributes.values():
            a.optional, a.default, a.transient, a.external = True, None, False, False
        return e

    def children(self, name):
        return [e.name for e in self.old.entities.values() if e.parent == name]

    def touched(self, name):
        return any(name in (first.entity, second and second.entity, leads)
                   for first, second, leads in self.old.relations)

    def divide(self):
        r = self.r
        for e in self.old.entities.values():
            kinds = ["whole", "filtered", "within"]
            if not e.parent and not self.children(e.name):
                kinds += ["apart"] * 3
            if e.parent and not self.children(e.name) and not self.touched(e.name):
                kinds += ["merged"] * 4
            self.kinds[e.name] = r.choice(kinds)
        for e in self.old.entities.values():
            self.parts[e.name] = [e.name]
            if self.kinds[e.name] == "merged":
                self.parts[e.name] = [self.heir(e)]
                continue
            self.copy(e, e.name, e.parent)
            if self.kinds[e.name] in ("apart", "within"):
                for number in range(r.choice((1, 1, 2))):
                    name = f"{e.name}Part{number}"
                    if self.kinds[e.name] == "apart":
                        self.copy(e, name, None)
                    else:
                        self.new.entities[name] = E(name, e.name)
                    self.parts[e.name].append(name)

    def heir(self, e):
        """Whom the objects of a merged entity become objects of: a sibling, or the parent."""
        siblings = [n for n in self.children(e.parent)
                    if n != e.name and self.kinds[n] in ("whole", "filtered")]
        return self.r.choice(siblings) if siblings and self.r.random() < 0.7 else e.parent

    def copy(self, e, name, parent):
        self.new.entities[name] = E(name, parent, attributes={
            n: A(n, a.type, indexed=a.indexed) for n, a in e.attributes.items()
            if self.r.random() < 0.95})

    def tables(self, entity):
        """The entities of the new model that have a relationship of an entity each."""
        return self.parts[entity] if self.kinds[entity] == "apart" else [entity]

    def relate(self):
        for place, (first, second, leads) in enumerate(self.old.relations):
            target = second.entity if second else leads
            if "merged" in (self.kinds[first.entity], self.kinds[target]):
                continue
            for i, owner in enumerate(self.tables(first.entity)):
                for j, held in enumerate(self.tables(target)):
                    tail = f"x{i}{j}" if i or j else ""
                    end = End(owner, first.name + tail, first.to_many, first.ordered)
                    other = second and End(held, second.name + tail, second.to_many,
                                           second.ordered)
                    self.new.relations.append((end, other, held))
                    self.relations.append((place, end, other, held))

    def write(self, folder):
        bundle = os.path.join(folder, "Random.xcdatamodeld")
        paths = [os.path.join(bundle, n + ".xcdatamodel") for n in ("Old", "New")]
        self.old.write(paths[0])
        self.new.write(paths[1])
        return bundle, Model(paths[0]), Model(paths[1])


class Maker:
    """The mapping model of a pair."""

    def __init__(self, r, pair, old, new):
        self.r, self.pair, self.old, self.new = r, pair, old, new
        self.mappings, self.filters = [], {}
        self.read = {}  # (place of the relation, its end) -> whether mappings read it
        self.reads = {}  # mapping -> the ends that it reads, by entity and name
        for entity in old.concrete():
            for part in pair.parts[entity]:
                self.add(entity, part)

    def name(self, entity, part):
        return f"{entity}To{part}"

    def add(self, entity, part):
        name = self.name(entity, part)
        known = {n: p.type for n, p in self.old.stored(entity).items() if isinstance(p, Attribute)}
        mapping = {"name": name, "type": "transform", "source": entity, "destination": part,
                   "attributes": {n: self.copied(n, p.type)
                                  for n, p in sorted(self.new.stored(part).items())
                                  if isinstance(p, Attribute) and known.get(n) == p.type
                                  and self.r.random() < 0.97},
                   "relationships": {}}
        self.reads[name] = set()
        for place, end, other, held in self.pair.relations:
            first, second, leads = self.pair.old.relations[place]
            target = second.entity if second else leads
            for side, mine, was, other_was, to, at in (
                    (0, end, first, second, target, held),
                    (1, other, second, first, first.entity, end.entity)):
                if mine and mine.entity in self.new.lineage(part) \
                        and was.entity in self.old.lineage(entity) and self.is_read(place, side):
                    mapping["relationships"][mine.name] = self.value(was.name, to, at)
                    self.reads[name].add((place, side, mine.entity, mine.name))
        self.mappings.append(mapping)

    def copied(self, name, kind):
        """An attribute's value, now and then computed."""
        if kind == "String" and "." not in name and self.r.random() < 0.1:
            return f"uppercase($source.{name})"
        return f"$source.{name}"

    def is_read(self, place, side):
        if self.r.random() < 0.01:
            return False
        sides = self.read.setdefault(place, self.r.choice(((0, 1), (0, 1), (0, 1), (0,), (1,), ())))
        return side in sides

    def value(self, name, target, held):
        """What a relationship holds: what one mapping made of its objects, or any."""
        alone = not self.pair.children(target) and self.pair.kinds[target] in ("whole", "filtered")
        if self.pair.kinds[target] == "apart" or alone and self.r.random() < 0.5:
            return BY_MAPPING.format(self.name(target, held), name)
        return BY_RELATIONSHIP.format(None, name)

    def choose(self, objects):
        """Gives mappings filters that fit what is in the store."""
        r = self.r
        for entity in self.old.concrete():
            kind, own = self.pair.kinds[entity], [m for m in self.mappings if m["source"] == entity]
            if kind == "whole" or kind == "merged" and r.random() < 0.6:
                continue
            known = {n: p for n, p in self.old.stored(entity).items()
                     if isinstance(p, Attribute) and p.type in (*ORDERED, "Date", "UUID", "Binary")}
            if not known:
                parts = [Always(True)] + [Always(False)] * (len(own) - 1)
            else:
                parts = self.divided(Chooser(r, known, objects(entity, sorted(known))), len(own),
                                     kind)
            for mapping, part in zip(own, parts):
                self.filters[mapping["name"]] = part
                mapping["filter"] = part.text

    def divided(self, chooser, count, kind):
        """Predicates that share objects out; at times one object to several, or to none."""
        first = chooser.predicate()
        parts = [first]
        left = Not(first)
        for place in range(1, count):
            if place == count - 1 and self.r.random() < 0.8:
                parts.append(left)
                break
            one = chooser.predicate()
            parts.append(Both(left, one))
            left = Both(left, Not(one))
        if count > 1 and self.r.random() < (0.3 if kind == "apart" else 0.12):
            parts[-1] = chooser.predicate()
        return parts

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "godwit mapping model", "version": 1,
                       "mappings": self.mappings}, file, indent=1)


class Both:
    def __init__(self, one, other):
        self.text = f"({one.text}) AND ({other.text})"
        self.one, self.other = one, other

    def holds(self, value):
        return self.one.holds(value) and self.other.holds(value)


class Expected:
    """What must come of a store: who takes each object, and what it becomes."""

    def __init__(self, maker, old, store):
        self.maker, self.old = maker, old
        self.layout = Layout(old)
        self.takers = {}  # (root, key) -> the mappings that take it
        self.accounts, self.rows = {}, collections.Counter()
        self.overlaps = False
        read = objects_of(store, old, self.layout)
        for entity in old.concrete():
            names = sorted(n for n, p in old.stored(entity).items() if isinstance(p, Attribute))
            own = [m for m in maker.mappings if m["source"] == entity]
            objects = read_with_keys(read, store, old, entity, names)
            kept = 0
            for pk, one in objects:
                taken = [m for m in own if m["name"] not in maker.filters
                         or maker.filters[m["name"]].holds(one)]
                self.takers[old.root(entity), pk] = taken
                kept += bool(taken)
                roots = [maker.new.root(m["destination"]) for m in taken]
                self.overlaps |= len(set(roots)) < len(roots)
                for mapping in taken:
                    self.rows[mapping["destination"]] += 1
            self.accounts[entity] = (len(objects), kept)


def read_with_keys(read, store, old, entity, names):
    db = sqlite3.connect(f"file:{uri_path(store)}?mode=ro", uri=True)
    table = "Z" + old.root(entity).upper()
    keys = [k for (k,) in db.execute(
        f"select Z_PK from {table} not indexed where Z_ENT = ?", (old.numbers[entity],))]
    db.close()
    return list(zip(keys, read(entity, names))) if names else [(k, {}) for k in keys]


class References:
    """Every reference and pair of a result, against those of the source."""

    def __init__(self, pair, maker, expected, store, result):
        self.pair, self.maker, self.expected = pair, maker, expected
        self.old, self.new = maker.old, maker.new
        self.before, self.after = Layout(self.old), Layout(self.new)
        self.source, self.result = (
            sqlite3.connect(f"file:{uri_path(p)}?mode=ro", uri=True) for p in (store, result))

    def close(self):
        self.source.close()
        self.result.close()

    def makers(self, root, pk, entity):
        """The mappings that make an object of the entity, or of one below it, of an object."""
        family = set(self.new.family(entity))
        return [m["name"] for m in self.expected.takers.get((root, pk), ())
                if m["destination"] in family]

    def check(self):
        found = []
        for place, end, other, held in self.pair.relations:
            first, second, leads = self.pair.old.relations[place]
            target = second.entity if second else leads
            wanted = set()
            for a, b in self.pairs(self.source, self.before, self.old, first, second):
                owners = self.makers(self.old.root(first.entity), a, end.entity)
                targets = self.makers(self.old.root(target), b, held)
                if owners and targets and (
                        self.reads(owners, place, 0, end)
                        or other and self.reads(targets, place, 1, other)):
                    wanted.add((a, b))
            there = set(self.pairs(self.result, self.after, self.new, end, other))
            for what, odd in (("lacks", wanted - there), ("has", there - wanted)):
                if odd:
                    found.append(f"{end.entity}.{end.name} {what} {sorted(odd)[:3]}, "
                                 f"{len(odd)} in all")
        return found

    def reads(self, mappings, place, side, end):
        return any((place, side, end.entity, end.name) in self.maker.reads[m] for m in mappings)

    def pairs(self, db, layout, model, end, other):
        """Owner and target of each pair that a store has of a relationship."""
        p = model.entities[end.entity].own[end.name]
        if not p.to_many:
            return self.rows(db, model.root(p.owner), "Z_PK", layout.columns[key(p)])
        if other is None:
            root, column, _ = layout.foreign[key(p)]
            return self.rows(db, root, column, "Z_PK")
        inverse = model.entities[other.entity].own[other.name]
        if not inverse.to_many:
            return self.rows(db, model.root(inverse.owner), layout.columns[key(inverse)], "Z_PK")
        join = next(j for j in layout.joins if key(p) in j.columns)
        have = {n for (n,) in db.execute("select name from sqlite_master where type = 'table'")}
        name = next(n for n in join.names if n in have)
        return db.execute(f"select {quoted(join.columns[key(inverse)])}, "
                          f"{quoted(join.columns[key(p)])} from {quoted(name)}").fetchall()

    def rows(self, db, root, first, second):
        return db.execute(f"select {quoted(first)}, {quoted(second)} from Z{root.upper()} "
                          f"not indexed where {quoted(first)} is not null "
                          f"and {quoted(second)} is not null").fetchall()


def make_case(tool, seed, folder):
    number = 0
    while True:
        r = random.Random(f"splits {seed} {number}")
        number += 1
        pair = Pair(r)
        if not pair.old.is_sound() or not pair.new.is_sound() \
                or not {"apart", "within", "merged"} & {*pair.kinds.values()}:
            continue
        bundle, old, new = pair.write(os.path.join(folder, str(number)))
        if not any(has_twins(m) or has_clashes(m) for m in (old, new)):
            break
    template = os.path.join(folder, "empty.sqlite")
    tool.run("generate", old.path, "--rows", 0, "--output", template)
    store = os.path.join(folder, "source", "Random.sqlite")
    os.makedirs(os.path.dirname(store))
    form = Form(r)
    form.encoding, form.tame, form.odd, form.short = "UTF-8", True, False, False
    form.defaults = False
    filler = LowFiller(r, form, Layout(old), Values(r, form, {}, set(), folder))
    make_store(template, store, filler, set())
    maker = Maker(r, pair, old, new)
    read = copy_store(store, os.path.join(folder, "chosen"))
    maker.choose(objects_of(read, old, Layout(old)))
    path = os.path.join(folder, "Random.json")
    maker.write(path)
    return bundle, pair, maker, store, read, path


def has_clashes(model):
    """Whether two properties of a table want one column: `name` the second time, and `name1`."""
    wanted = [(model.root(owner), column)
              for (owner, _), column in Layout(model).columns.items()]
    return len(set(wanted)) < len(wanted)


def compare(told, expected, result, new):
    found = []
    (accounts,) = told["accounts"]
    for account in accounts["entities"]:
        said = (account["rowsIn"], account["rowsOut"])
        dropped = sum(d["objects"] for d in account["dropped"])
        if said != expected.accounts[account["entity"]] or said[0] != said[1] + dropped:
            found.append(f"{account['entity']}: {said} and {dropped} dropped, "
                         f"not {expected.accounts[account['entity']]}")
    for pairs in accounts["pairs"]:
        if pairs["rowsIn"] != pairs["rowsOut"] + pairs["incomplete"] + pairs["dropped"] \
                or pairs["dropped"] < 0:
            found.append(f"pairs do not add up: {pairs}")
    rows = {n: c for n, c in accounts["rows"].items() if c}
    if rows != {n: c for n, c in expected.rows.items() if c}:
        found.append(f"rows {rows}, not {dict(expected.rows)}")
    db = sqlite3.connect(f"file:{uri_path(result)}?mode=ro", uri=True)
    for entity, number in new.numbers.items():
        (there,) = db.execute(f"select count(*) from Z{new.root(entity).upper()} not indexed "
                              "where Z_ENT = ?", (number,)).fetchone()
        if there != expected.rows[entity]:
            found.append(f"{entity}: {there} rows, not {expected.rows[entity]}")
    db.close()
    return found


def check_planted(result, references, expected):
    related = [references.new.entities[end.entity].own[end.name]
               for _, end, _, _ in references.pair.relations]
    planted = lost_reference(result, references, related)
    if not planted:
        return []
    other = References(references.pair, references.maker, expected, references.store, planted)
    found = other.check()
    other.close()
    ROADS["references planted"] += 1
    return [] if found else ["nobody notices a reference that is gone"]


def check(tool, seed, folder):
    bundle, pair, maker, store, read, path = make_case(tool, seed, folder)
    expected = Expected(maker, maker.old, read)
    before = fingerprint(os.path.dirname(store))
    target = os.path.join(bundle, "New.xcdatamodel")
    common = [store, "--to", target, "--models", bundle, "--mapping", path]
    found, results, losses, made = [], {}, set(), {}
    for number, engine in enumerate(ENGINES):
        result = results[engine] = os.path.join(folder, f"{engine}.sqlite")
        report = os.path.join(folder, f"{engine}-report.json")
        tool.run("migrate", *common, "--validation", "off", "--output", result, "--report", report,
                 "--engine", engine, "--workers", 1 + (seed + number) % 3, "--allow-loss",
                 *(("--verify", "full") if seed % 3 == 0 else ()),
                 *(("--range-rows", 20) if seed % 4 == 1 else ()))
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        made[engine] = told["engine"]
        ROADS[f"{engine} made by {told['engine']}"] += 1
        found += [f"{engine}: {f}" for f in compare(told, expected, result, maker.new)]
        losses.add(json.dumps(sorted(told["losses"], key=repr), sort_keys=True))
        if not expected.overlaps:
            references = References(pair, maker, expected, read, result)
            references.store = read
            found += [f"{engine}: {f}" for f in references.check()]
            found += check_planted(result, references, expected)
            references.close()
    if len(losses) != 1:
        found.append(f"the engines tell other losses: {sorted(losses)}")
    try:
        same_bytes(results["sql"], results["pages"], "sql and pages")
    except Failure as failure:
        found.append(str(failure))
    found += [f"rows and objects: {f}" for f in said_alike(results["sql"], results["objects"])]
    judged = tool.call("verify", store, results["auto"], *common[1:])
    if judged.returncode:
        found.append(f"verify: exit {judged.returncode}, {judged.stdout[-600:]}")
    if expected.overlaps and made["sql"] != "objects":
        found.append(f"objects that two mappings put into one table were made by {made['sql']}")
    count_roads(pair, expected, made["sql"])
    unchanged(before, os.path.dirname(store))
    return found


def count_roads(pair, expected, engine):
    if engine == "objects":
        ROADS["several take one, by objects" if expected.overlaps else "fell back to objects"] += 1
        return
    for kind in {*pair.kinds.values()} & {"apart", "within", "merged"}:
        ROADS[f"{kind} by rows"] += 1


def main():
    p = parser(__doc__.splitlines()[0])
    p.add_argument("--seeds", default="1-40", help="first-last")
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=120)
    try:
        run_cases(options, [(f"seed {s}", lambda folder, s=s: check(tool, s, folder))
                            for s in seeds(options.seeds)], "random splits")
    finally:
        print(", ".join(f"{n} {what}" for what, n in sorted(ROADS.items())))
    unused = [what for what in WANTED if not ROADS[what]]
    if unused and len(seeds(options.seeds)) >= 40:
        raise SystemExit(f"never taken: {', '.join(unused)}")


if __name__ == "__main__":
    main()
