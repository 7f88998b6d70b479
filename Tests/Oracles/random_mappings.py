#!/usr/bin/env python3
"""Migrates random stores by random mapping models with filters, forgotten attributes, copies and
policies that drop or double objects: of every entity, the rows that came in are those that went
out and those that were dropped, as this script counts them and as every engine tells them.

usage: random_mappings.py --godwit P --corpus D [--seeds 1-40] [--scratch S]; the executable is
`godwit` or lies beside `PolicyTool`, and the corpus is not read
"""
import collections
import copy
import json
import os
import random
import sqlite3

from coredata import Attribute, Layout, Model, key
from expectation import Mapping
from random_models import make_source
from random_pairs import alone, own_inverses, value_limits
from random_stores import Filler, Form, make_store
from random_values import Values
from run import Failure, Tool, fingerprint, parser, run_cases, seeds, unchanged
from store import copy_store, quoted, uri_path

ENGINES = ("auto", "sql", "pages", "objects")
WHOLE = ("Integer 16", "Integer 32", "Integer 64")
BROKEN = ("Double", "Float")
FILTERED = (*WHOLE, *BROKEN, "Boolean", "Decimal", "String", "Date", "UUID", "URI")
POLICIES = ("Dropping", "Doubling")
# References that go with the object that they lead to are judged by references.py.
BY_OBJECT = ("filter", "policy", "unmappedEntity", "elsewhere", "collision")


# Making

def make_models(r, folder):
    """The two versions: the new one lacks some attributes, has one more in every entity, and keeps
    some numbers in a type that not all of them fit."""
    old = make_source(r)
    for entity in old.entities.values():
        entity.constraints, entity.indexes = [], []
    new = copy.deepcopy(old)
    for entity in new.entities.values():
        for name, attribute in list(entity.attributes.items()):
            if r.random() < 0.12:
                del entity.attributes[name]
            elif attribute.type in BROKEN and r.random() < 0.4:
                attribute.type, attribute.default = r.choice(("Integer 64", "Boolean")), None
        new.random = r
        added = new.add_attribute(entity.name)
        added.optional, added.transient, added.default, added.type = True, False, None, "String"
        added.external = added.indexed = False
    bundle = os.path.join(folder, "Random.xcdatamodeld")
    paths = [os.path.join(bundle, n + ".xcdatamodel") for n in ("Old", "New")]
    old.write(paths[0])
    new.write(paths[1])
    return paths, Model(paths[0]), Model(paths[1])


class Maker:
    """Makes the entity mappings of one migration."""

    def __init__(self, r, old, new):
        self.r, self.old, self.new = r, old, new
        self.mappings = []
        for entity in old.entities:
            if not old.entities[entity].abstract:
                self.add(entity)

    def attributes(self, model, entity):
        return {n: p for n, p in model.stored(entity).items() if isinstance(p, Attribute)}

    def add(self, entity):
        r = self.r
        kind = r.choice(("copy", "copy", "partial", "partial", "filtered", "filtered", "split",
                         "policy", "policy", "none", "remove"))
        if kind == "none":
            return
        if kind == "remove":
            self.mappings.append({"name": f"Remove{entity}", "type": "remove", "source": entity})
            return
        made = [self.mapping(entity, f"{entity}To{entity}")]
        if kind == "copy":
            for part in ("attributes", "relationships"):
                made[0].pop(part)
            made[0]["type"] = "copy"
        if kind == "split":
            made.append(self.mapping(entity, f"{entity}Again"))
            # Two objects of one row that name one external file are refused (ExternalFilesTests).
            for name, attribute in self.attributes(self.old, entity).items():
                if attribute.external:
                    made[1]["attributes"].pop(name, None)
        if kind in ("filtered", "split") or kind == "policy" and r.random() < 0.3:
            for mapping in made:
                self.filter(mapping, entity)
        if kind == "policy":
            made[0]["type"], made[0]["policy"] = "custom", r.choice(POLICIES)
        self.mappings += made

    def mapping(self, entity, name):
        r, out = self.r, {"name": name, "type": "transform", "source": entity,
                          "destination": entity, "attributes": {}, "relationships": {}}
        known = self.attributes(self.old, entity)
        for new, p in sorted(self.attributes(self.new, entity).items()):
            roll = r.random()
            if new in known and roll < 0.75:
                out["attributes"][new] = f"$source.{new}"
            elif roll < 0.85:
                out["attributes"][new] = None
        for new, p in sorted(self.new.stored(entity).items()):
            if not isinstance(p, Attribute) and r.random() < 0.8:
                out["relationships"][new] = (
                    "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:"
                    f"sourceInstances:\", \"{new}\", $source.{new})")
        return out

    def filter(self, mapping, entity):
        known = [n for n, p in self.attributes(self.old, entity).items() if p.type in FILTERED]
        if known:
            mapping["filter"] = f"{self.r.choice(sorted(known))} {self.r.choice(('==', '!='))} nil"

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "godwit mapping model", "version": 1,
                       "mappings": self.mappings}, file, indent=1)


class LowFiller(Filler):
    """Leaves the highest key free: a second object made of one needs a key above all others."""

    def make_keys(self, count):
        return [pk for pk in super().make_keys(count) if pk < 2**63 - 1]


def make_ground(tool, r, folder, maker_class, accepts):
    """The models of one migration, a store of the older one, and what makes the mappings."""
    while True:
        paths, old, new = make_models(r, os.path.join(folder, str(r.random())))
        mapping = Mapping(old, new)
        maker = maker_class(r, old, new)
        # A store of the same hashes is not migrated.
        if old.hashes() != new.hashes() and not mapping.refusals() and accepts(maker) \
                and not own_inverses(mapping) and not any(has_twins(m) for m in (old, new)):
            break
    template = os.path.join(folder, "empty.sqlite")
    tool.run("generate", paths[0], "--rows", 0, "--output", template)
    store = os.path.join(folder, "source", "Random.sqlite")
    os.makedirs(os.path.dirname(store))
    form = Form(r)
    form.encoding = "UTF-8"
    form.tame, form.odd, form.short, form.defaults = True, False, False, False
    support = os.path.join(folder, "source", ".Random_SUPPORT", "_EXTERNAL_DATA")
    filler = LowFiller(r, form, Layout(old),
                       Values(r, form, value_limits(mapping), set(), support))
    make_store(template, store, filler, alone(mapping))
    return os.path.dirname(paths[0]), old, new, store, maker


def has_twins(model):
    """Whether an attribute and a relationship of one entity want columns of one name, of which no
    real store tells who gets the number."""
    for entity in model.entities.values():
        names = [(isinstance(p, Attribute), n.rpartition(".")[2].upper())
                 for n, p in entity.own.items()]
        if {n for is_one, n in names if is_one} & {n for is_one, n in names if not is_one}:
            return True
    return False


def make_case(tool, seed, folder):
    bundle, old, new, store, maker = make_ground(
        tool, random.Random(seed), folder, Maker, lambda maker: maker.mappings)
    path = os.path.join(folder, "Random.json")
    maker.write(path)
    return bundle, old, new, store, path, maker


# Counting

class Count:
    """What must come of a store, by plain SQL and by the mappings as they are written."""

    def __init__(self, old, new, store, maker):
        self.old, self.new, self.maker = old, new, maker
        self.layout = Layout(old)
        self.db = sqlite3.connect(f"file:{uri_path(store)}?mode=ro", uri=True)
        self.accounts, self.rows, self.losses = {}, {}, {}
        self.takers = takers = {
            e: [m for m in maker.mappings if m["source"] == e and m["type"] != "remove"]
            for e in old.entities}
        self.read = {e: [self.reads(m, e) for m in takers[e]] for e in takers}
        self.entity_of = self.entities()
        for entity in old.entities:
            if not old.entities[entity].abstract:
                self.count(entity, takers[entity])
        self.loses_many = any(self.lost_pairs(e, p) for e in old.entities if takers[e]
                              for p in old.stored(e).values()
                              if not isinstance(p, Attribute) and p.to_many)
        self.db.close()

    def lost_pairs(self, entity, p):
        """Whether objects of an entity have others in a to-many relationship of which no mapping
        reads this end, and none the other either, or in an order, which the other does not know."""
        if p.name not in self.new.stored(entity) or any(p.name in n for n in self.read[entity]):
            return False
        inverse, alive = self.old.inverse(p), collections.Counter()
        owners = self.entity_of[self.old.root(p.owner)]
        targets = self.entity_of[self.old.root(p.destination)]
        for owner, target in self.pairs(p, inverse):
            name = targets.get(target)
            if owners.get(owner) == entity and self.takers.get(name):
                if not inverse or not any(inverse.name in names for names in self.read[name]):
                    return True
                alive[owner] += 1
        return p.ordered and self.new.stored(entity)[p.name].ordered and any(
            n > 1 for n in alive.values())

    def pairs(self, p, inverse):
        """(owner, target) of a to-many relationship."""
        for join in self.layout.joins:
            if inverse and {key(p), key(inverse)} == {key(join.relationship), key(join.inverse)}:
                there = [n for n in join.names if self.db.execute(
                    "select 1 from sqlite_master where name = ?", (n,)).fetchone()]
                columns = quoted(join.columns[key(inverse)]), quoted(join.columns[key(p)])
                return self.db.execute(
                    f"select {', '.join(columns)} from {quoted(there[0])} not indexed").fetchall()
        column = self.layout.columns[key(inverse)] if inverse else self.layout.foreign[key(p)][1]
        table = "Z" + self.old.root(p.destination).upper()
        return self.db.execute(f"select {quoted(column)}, Z_PK from {table} not indexed "
                               f"where {quoted(column)} is not null").fetchall()

    def reads(self, mapping, entity):
        """The source properties that a mapping reads."""
        stored, wanted = self.old.stored(entity), self.new.stored(entity)
        if mapping["type"] == "copy":
            return {n for n in wanted if n in stored}
        listed = {**mapping["attributes"], **mapping["relationships"]}
        return {n for n, value in listed.items() if value is not None}

    def objects(self, entity, columns):
        table = "Z" + self.old.root(entity).upper()
        names = ", ".join(["Z_PK", *map(quoted, columns)])
        return self.db.execute(f"select {names} from {table} not indexed where Z_ENT = ?",
                               (self.old.numbers[entity],)).fetchall()

    def column(self, entity, name):
        return self.layout.columns[key(self.old.stored(entity)[name])]

    def count(self, entity, takers):
        known = self.maker.attributes(self.old, entity)
        ones = {n: p for n, p in self.old.stored(entity).items()
                if not isinstance(p, Attribute) and not p.to_many}
        names = sorted({**known, **ones})
        objects = [dict(zip(["Z_PK", *names], row)) for row in
                   self.objects(entity, [self.column(entity, n) for n in names])]
        taken = [[m for m in takers if self.takes(m, o)] for o in objects]
        self.kept = [o for o, by in zip(objects, taken) if by]
        kept, drops = 0, {}
        for one, by in zip(objects, taken):
            made = [made_of(m, one["Z_PK"]) for m in by]
            self.rows[entity] = self.rows.get(entity, 0) + sum(made)
            if any(made):
                kept += 1
            else:
                cause = "policy" if by else "filter" if takers else "unmappedEntity"
                drops[cause] = drops.get(cause, 0) + 1
        self.accounts[entity] = (len(objects), kept, drops)
        for cause, count in drops.items():
            self.losses[entity, None, cause] = count
        if takers:
            for name in known:
                self.count_values(entity, name, takers, objects, taken)
            for name, p in ones.items():
                self.count_references(entity, name, p, objects, taken)

    def takes(self, mapping, one):
        """Whether a mapping takes an object."""
        return takes(mapping, one)

    def count_values(self, entity, name, takers, objects, taken):
        read = self.read[entity]
        wanted = self.new.stored(entity).get(name)
        cause = "unmappedProperty" if wanted else "removed"
        full = [o for o in objects if o[name] is not None]
        has_policy = any("policy" in m for m in takers)
        readers = {m["name"] for m, names in zip(takers, read) if name in names}
        if any("filter" in m for m in takers) and not has_policy:
            lost = sum(1 for o, by in zip(objects, taken)
                       if by and o[name] is not None and not readers & {m["name"] for m in by})
        else:
            lost = 0 if any(name in names for names in read) else len(full)
        if lost:
            self.losses[entity, name, cause] = lost
        old_type = self.maker.attributes(self.old, entity)[name].type
        if wanted and wanted.type != old_type and readers:
            fits = (lambda v: v in (0, 1)) if wanted.type == "Boolean" else \
                (lambda v: v == int(v))
            broken = sum(1 for o, by in zip(objects, taken)
                         if o[name] is not None and not fits(o[name])
                         and readers & {m["name"] for m in by})
            if broken:
                self.losses[entity, name, "conversion"] = broken

    def count_references(self, entity, name, p, objects, taken):
        takers, read, cause = self.takers[entity], self.read[entity], "unmappedProperty"
        inverse = self.old.inverse(p)
        readers = {m["name"] for m, names in zip(takers, read) if name in names}
        has_policy = any("policy" in m for m in takers)

        def others(target, which):
            """Whether mappings of the target's objects read the other end: any of them, or all."""
            return bool(inverse) and which(inverse.name in names for names in self.read[target])

        def is_lost(one, by):
            target = self.entity_of[self.old.root(p.destination)].get(one[name])
            if readers:
                return bool(by) and not readers & {m["name"] for m in by} \
                    and bool(self.takers.get(target)) and not others(target, all)
            if is_whole:
                return True
            return bool(self.takers.get(target)) and not others(target, any)

        if len(readers) == len(takers) or readers and (
                has_policy or not any("filter" in m for m in takers)):
            return
        is_whole = not inverse or not has_policy and not any(
            others(e, any) for e in self.old.family(p.destination))
        lost = sum(one[name] is not None and is_lost(one, by)
                   for one, by in zip(objects, taken))
        if lost:
            self.losses[entity, name, cause] = lost

    def entities(self):
        """The entity of each key, by root."""
        result = {}
        for root in {self.old.root(e) for e in self.old.entities}:
            names = {number: e for e, number in self.old.numbers.items()}
            rows = self.db.execute(f"select Z_PK, Z_ENT from Z{root.upper()} not indexed")
            result[root] = {pk: names[number] for pk, number in rows}
        return result

    @property
    def is_refused(self):
        kept = sum(k for _, k, _ in self.accounts.values())
        rows = sum(n for n, _, _ in self.accounts.values())
        return self.loses_many or rows > 0 and kept == 0 or any(
            cause != "removed" for _, _, cause in self.losses)


def takes(mapping, one):
    if "filter" not in mapping:
        return True
    name, operator, _ = mapping["filter"].split()
    return (one[name] is None) == (operator == "==")


def made_of(mapping, pk):
    if mapping.get("policy") == "Dropping":
        return 0 if pk % 5 == 0 else 1
    return 2 if mapping.get("policy") == "Doubling" and pk % 7 == 0 else 1


# Comparing

def compare(report, result, count, new):
    """What a report and a result say otherwise than was counted."""
    found = []
    (accounts,) = report["accounts"]
    for account in accounts["entities"]:
        name = account["entity"]
        told = (account["rowsIn"], account["rowsOut"],
                {d["cause"]: d["objects"] for d in account["dropped"]})
        if told != count.accounts[name]:
            found.append(f"{name}: {told}, not {count.accounts[name]}")
        if account["rowsIn"] != account["rowsOut"] + sum(told[2].values()):
            found.append(f"{name}: {told} does not add up")
    if {a["entity"] for a in accounts["entities"]} != set(count.accounts):
        found.append("the accounts are of other entities")
    rows = {n: c for n, c in accounts["rows"].items() if c}
    if rows != {n: c for n, c in count.rows.items() if c}:
        found.append(f"rows {rows}, not {count.rows}")
    db = sqlite3.connect(f"file:{uri_path(result)}?mode=ro", uri=True)
    for entity, number in new.numbers.items():
        table = "Z" + new.root(entity).upper()
        there = db.execute(f"select count(*) from {table} not indexed where Z_ENT = ?",
                           (number,)).fetchone()[0]
        if there != count.rows.get(entity, 0):
            found.append(f"{entity}: {there} rows in the result, not {count.rows.get(entity, 0)}")
    db.close()
    found += compare_losses(report["losses"], count)
    return found


def compare_losses(losses, count):
    whole = not any(k for _, k, _ in count.accounts.values())
    def cause(name):
        return "removed" if whole and name == "allObjects" else name
    many = {(e, n) for e in count.old.entities for n, p in count.old.stored(e).items()
            if not isinstance(p, Attribute) and p.to_many}
    told = {(l["entity"], l.get("property"), cause(l["cause"])): l["count"] for l in losses
            if (l["entity"], l.get("property")) not in many
            and not (l.get("kind") == "relationship" and l["cause"] in BY_OBJECT)}
    if told == count.losses:
        return []
    return [f"lost {name}: {told.get(name)}, not {count.losses.get(name)}"
            for name in sorted({*told, *count.losses}, key=str)
            if told.get(name) != count.losses.get(name)]


def kept_too_many(told):
    told["accounts"][0]["entities"][0]["rowsOut"] += 1
    return told


def lost_too_little(told):
    counted = [loss for loss in told["losses"] if loss["kind"] in ("entity", "attribute")]
    if counted:
        told["losses"].remove(counted[0])
    else:
        told["losses"].append({"entity": "None", "cause": "filter", "count": 1})
    return told


def wrote_too_many(told):
    rows = told["accounts"][0]["rows"]
    name = next(iter(rows), told["accounts"][0]["entities"][0]["entity"])
    rows[name] = rows.get(name, 0) + 1
    return told


# What a report could say falsely; each must be noticed.
LIES = {"an object too many": kept_too_many, "a loss too little": lost_too_little,
        "a row too many": wrote_too_many}


def check(tool, seed, folder):
    bundle, old, new, store, path, maker = make_case(tool, seed, folder)
    count = Count(old, new, copy_store(store, os.path.join(folder, "counted")), maker)
    before = fingerprint(os.path.dirname(store))
    common = ["migrate", store, "--to", os.path.join(bundle, "New.xcdatamodel"), "--models", bundle,
              "--mapping", path, "--validation", "off"]
    found = []
    refused = tool.call(*common, "--output", os.path.join(folder, "none.sqlite"))
    if (refused.returncode == 78) != count.is_refused:
        found.append(f"without consent: exit {refused.returncode}, {refused.stderr[-300:]}, "
                     f"losses {count.losses}")
    for number, engine in enumerate(ENGINES):
        result = os.path.join(folder, f"{engine}.sqlite")
        report = os.path.join(folder, f"{engine}.json")
        tool.run(*common, "--output", result, "--report", report, "--engine", engine,
                 "--workers", 1 + (seed + number) % 3, "--allow-loss")
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        found += [f"{engine}: {f}" for f in compare(told, result, count, new)]
        found += [f"{engine}: nobody notices {what}" for what, lie in LIES.items()
                  if not compare(lie(copy.deepcopy(told)), result, count, new)]
    unchanged(before, os.path.dirname(store))
    return found


def main():
    p = parser(__doc__.splitlines()[0])
    p.add_argument("--seeds", default="1-40", help="first-last")
    options = p.parse_args()
    policies = os.path.join(os.path.dirname(os.path.abspath(options.godwit)), "PolicyTool")
    tool = Tool(policies if os.path.exists(policies) else options.godwit, timeout=120)
    run_cases(options, [(f"seed {s}", lambda folder, s=s: check(tool, s, folder))
                        for s in seeds(options.seeds)], "random mapping models")


if __name__ == "__main__":
    main()
