#!/usr/bin/env python3
"""Migrates random stores whose references lose objects to filters, policies, mappings that leave
entities out, removed subentities and duplicates, some with references that led nowhere before: the
references that came in are those that went out and those that were dropped, by cause, as this
script counts them with plain SQL and as every engine reports them. `check`, `plan` and `migrate`
have to agree in their status. What would be wrong is planted, and has to be found.

usage: references.py --godwit P [--seeds 1-6] [--scratch S]; the executable is `godwit` or lies
beside `PolicyTool`
"""
import collections
import copy
import json
import os
import random
import shutil
import sqlite3

from coredata import Layout, Model, key
from expectation import Mapping
from expected_references import (
    inferred, mapped, opened, reference_places, references)
from random_mappings import LowFiller, Maker, has_twins, make_ground
from random_models import make_source
from random_pairs import alone, own_inverses, value_limits
from random_stores import Form, make_store
from random_values import Values
from run import Tool, fingerprint, parser, run_cases, seeds, unchanged
from store import copy_store, quoted

NOWHERE = 777_777_777_777
BY_OBJECT = ("filter", "policy", "unmappedEntity", "elsewhere", "collision", "duplicate")


# Comparing

def compare(report, result, expected, new, keeps_nowhere, doubles=False):
    """What a report and a result say otherwise than was counted."""
    found, (accounts,) = [], report["accounts"]
    told = {(a["entity"], a["relationship"]): a for a in accounts.get("references", [])}
    layout, db = Layout(new), opened(result)
    after = {name: len(references(db, layout, form, p))
             for name, (form, p) in reference_places(layout, db).items()}
    joins = {a: b for j in layout.joins
             for a, b in ((key(j.inverse), key(j.relationship)),
                          (key(j.relationship), key(j.inverse)))}
    for name, count in expected.all.items():
        dropped, nowhere = dict(expected.dropped[name]), expected.nowhere[name]
        account = told.pop(name, None)
        own = {d["cause"]: d["references"] for d in account["dropped"]} if account else {}
        dangling = own.pop("dangling", 0)
        if own != dropped or dangling not in (0, nowhere):
            found.append(f"{name}: dropped {own} and {dangling}, not {dropped} and {nowhere}")
        if not keeps_nowhere and account and dangling != nowhere:
            found.append(f"{name}: {nowhere} led nowhere, {dangling} told")
        out = account["referencesOut"] if account else count
        if account and (account["referencesIn"] != count
                        or count != out + sum(own.values()) + dangling):
            found.append(f"{name}: {account} does not add up to {count}")
        there = after.get(name, after.get(joins.get(name), 0))
        lost = nowhere if not account and not keeps_nowhere else 0
        if (there < out - lost) if doubles else there != out - lost:
            found.append(f"{name}: {there} references in the result, not {out - lost}")
    found += [f"{name}: an account of nothing" for name in told]
    losses = {(l["entity"], l["property"], l["cause"]): l["count"] for l in report["losses"]
              if l["kind"] == "relationship"
              and (l["cause"] in BY_OBJECT or l["cause"] == "removed" and (
                  l["entity"], l["property"], "removed") in expected.losses)}
    if losses != dict(expected.losses):
        found.append(f"losses {losses}, not {dict(expected.losses)}")
    db.close()
    return found


def lied(report, result, folder, new):
    """(what, report, result) of what could be said falsely; each must be noticed."""
    stages = report["accounts"][0].get("references", [])
    if stages:
        one, two = copy.deepcopy(report), copy.deepcopy(report)
        one["accounts"][0]["references"][0]["referencesOut"] += 1
        drop = two["accounts"][0]["references"][0]["dropped"]
        drop[0]["cause"] = "history"
        yield "a reference too many", one, result
        yield "a wrong cause", two, result
    lost = [l for l in report["losses"] if l["kind"] == "relationship" and l["cause"] in BY_OBJECT]
    if lost:
        three = copy.deepcopy(report)
        three["losses"].remove(lost[0])
        yield "a loss too little", three, result
    layout, db = Layout(new), opened(result)
    full = [(f, p) for f, p in reference_places(layout, db).values()
            if references(db, layout, f, p)]
    db.close()
    if full:
        path = os.path.join(folder, "emptied.sqlite")
        shutil.copyfile(copy_store(result, os.path.join(folder, "emptied")), path)
        db = sqlite3.connect(path)
        (form, p), = full[:1]
        if form == "pair":
            name = [n for n in p.names if db.execute(
                "select 1 from sqlite_master where name = ?", (n,)).fetchone()][0]
            db.execute(f"delete from {quoted(name)} where rowid = (select min(rowid) from "
                       f"{quoted(name)})")
        else:
            table = "Z" + (layout.model.root(p.owner) if form == "owner"
                           else layout.foreign[key(p)][0]).upper()
            column = layout.columns[key(p)] if form == "owner" else layout.foreign[key(p)][1]
            column = quoted(column)
            db.execute(f"update {table} set {column} = null where {column} is not null")
        db.commit()
        db.close()
        yield "references that are gone", report, path


def judge(tool, folder, common, engines, expected, new, consent, doubles=False, mend=()):
    """Migrates by every engine, and holds the report against what was counted."""
    found = []
    for number, engine in enumerate(engines):
        result, report = (os.path.join(folder, f"{engine}.{n}") for n in ("sqlite", "json"))
        tool.run("migrate", *common, *mend, "--output", result, "--report", report, "--engine",
                 engine, "--workers", 1 + number % 3, "--validation", "off", *consent)
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        keeps = told["engine"] != "objects"
        found += [f"{engine}: {f}" for f in compare(told, result, expected, new, keeps, doubles)]
        if number == 0 and not found:
            found += [f"{engine}: nobody notices {what}"
                      for what, lie, path in lied(told, result, folder, new)
                      if not doubles
                      and not compare(lie, path, expected, new, keeps, doubles)]
    return found


def statuses(tool, folder, common, has_policy=False, mend=()):
    """`check`, `plan` and `migrate` without consent end alike; what only a policy decides shows
    when it runs."""
    common = (*common, *mend, "--validation", "off")
    ends = {word: tool.call(word, *common).returncode for word in ("check", "plan")}
    output = ("--output", os.path.join(folder, "none.sqlite"))
    done = tool.call("migrate", *common, *output)
    ends["migrate"] = done.returncode
    if has_policy:
        del ends["migrate"]
    return [] if len(set(ends.values())) == 1 else [f"without consent: {ends}"]


# Cases

def plant_nowhere(r, store, layout):
    """References and pairs that lead nowhere, where nothing says of which entity the object is."""
    db = sqlite3.connect(store)
    for form, p in reference_places(layout, db).values():
        if form == "owner" and key(p) not in layout.polymorphic and r.random() < 0.5 \
                and not layout.model.inverse(p):
            table, column = layout.table(p.owner), quoted(layout.columns[key(p)])
            numbers = ", ".join(str(layout.model.numbers[e]) for e in layout.model.family(p.owner))
            db.execute(f"update {table} set {column} = {NOWHERE} where Z_PK in (select Z_PK from "
                       f"{table} where Z_ENT in ({numbers}) limit 2)")
    db.commit()
    db.close()


def by_mapping(tool, seed, folder, has_policy):
    class Ground(Maker):
        """Policies make some references open, so not every case has them."""

        def add(self, entity):
            before = len(self.mappings)
            super().add(entity)
            if not has_policy:
                for mapping in self.mappings[before:]:
                    if mapping.pop("policy", None):
                        mapping["type"] = "transform"
    r = random.Random(f"references {seed}")
    bundle, old, new, store, maker = make_ground(
        tool, r, folder, Ground, lambda maker: maker.mappings)
    path = os.path.join(folder, "Random.json")
    maker.write(path)
    store = copy_store(store, os.path.join(folder, "own"))
    plant_nowhere(r, store, Layout(old))
    before = fingerprint(os.path.dirname(store))
    expected = mapped(old, new, copy_store(store, os.path.join(folder, "counted")), maker)
    common = [store, "--to", os.path.join(bundle, "New.xcdatamodel"), "--models", bundle,
              "--mapping", path]
    policies = {m.get("policy") for m in maker.mappings}
    found = statuses(tool, folder, common, policies != {None})
    found += judge(tool, folder, common, ("auto", "sql", "pages", "objects"), expected, new,
                   ("--allow-loss",), doubles="Doubling" in policies or expected.doubles)
    unchanged(before, os.path.dirname(store))
    return found


def without(model, r):
    """The model without some entities that have a superentity, and whatever leads to them."""
    new = copy.deepcopy(model)
    leaves = [n for n, e in new.entities.items()
              if e.parent and not any(o.parent == n for o in new.entities.values())]
    gone = set(r.sample(leaves, r.randint(1, len(leaves)))) if leaves else set()
    for name in gone:
        del new.entities[name]
    new.relations = [(a, b, to) for a, b, to in new.relations
                     if not gone & {a.entity, b.entity if b else to, to}]
    return new, gone


def make_models(r, folder, change):
    """Two versions and their files, of which Core Data could infer the step."""
    while True:
        first = make_source(r)
        for entity in first.entities.values():
            entity.constraints, entity.indexes = [], []
        second, more = change(first, r)
        bundle = os.path.join(folder, str(r.random()), "Random.xcdatamodeld")
        paths = [os.path.join(bundle, n + ".xcdatamodel") for n in ("Old", "New")]
        first.write(paths[0])
        second.write(paths[1])
        old, new = Model(paths[0]), Model(paths[1])
        mapping = Mapping(old, new)
        if more and old.hashes() != new.hashes() and not mapping.refusals() \
                and not own_inverses(mapping) and not any(has_twins(m) for m in (old, new)):
            return bundle, old, new, mapping, more


def fill(tool, r, folder, old, mapping):
    template = os.path.join(folder, "empty.sqlite")
    tool.run("generate", old.path, "--rows", 0, "--output", template)
    store = os.path.join(folder, "source", "Random.sqlite")
    os.makedirs(os.path.dirname(store))
    form = Form(r)
    form.encoding, form.tame = "UTF-8", True
    form.odd, form.short, form.defaults = False, False, False
    form.journal = "delete"
    support = os.path.join(folder, "source", ".Random_SUPPORT", "_EXTERNAL_DATA")
    filler = LowFiller(r, form, Layout(old), Values(r, form, value_limits(mapping), set(), support))
    make_store(template, store, filler, alone(mapping))
    return store


def by_model(tool, seed, folder):
    r = random.Random(f"removed {seed}")
    bundle, old, new, mapping, _ = make_models(r, folder, without)
    store = fill(tool, r, folder, old, mapping)
    plant_nowhere(r, store, Layout(old))
    before = fingerprint(os.path.dirname(store))
    expected = inferred(old, new, copy_store(store, os.path.join(folder, "counted")))
    common = [store, "--to", new.path, "--models", bundle, "--infer-only"]
    found = statuses(tool, folder, common)
    found += judge(tool, folder, common, ("sql", "pages", "clone"), expected, new,
                   ("--allow-loss",))
    for engine in ("sql", "pages", "clone"):
        result = os.path.join(folder, f"{engine}.sqlite")
        done = tool.call("verify", store, result, "--models", bundle, "--infer-only")
        if done.returncode:
            found.append(f"{engine}: verify ends with {done.returncode}: {done.stdout[-300:]}")
    strict = tool.call("migrate", *common, "--fail-on-loss", "--output",
                       os.path.join(folder, "strict.sqlite")).returncode
    is_lost = any(expected.losses) or strict == 78
    if (strict == 78) != is_lost:
        found.append(f"--fail-on-loss ends with {strict}: {dict(expected.losses)}")
    unchanged(before, os.path.dirname(store))
    return found


def unique(model, r):
    """The model with a constraint on a text of an entity without subentities."""
    new = copy.deepcopy(model)
    able = [(n, a.name) for n, e in new.entities.items() if not e.parent and not e.abstract
            and not any(o.parent == n for o in new.entities.values())
            for a in e.attributes.values()
            if a.type == "String" and "." not in a.name and not a.transient]
    if not able:
        return new, None
    entity, name = r.choice(able)
    new.entities[entity].constraints.append([name])
    return new, (entity, name)


def by_choice(tool, seed, folder):
    r = random.Random(f"duplicates {seed}")
    bundle, old, new, mapping, (entity, name) = make_models(r, folder, unique)
    store = fill(tool, r, folder, old, mapping)
    layout = Layout(old)
    table, column = layout.table(entity), quoted(layout.columns[entity, name])
    db = sqlite3.connect(store)
    keys = [k for (k,) in db.execute(f"select Z_PK from {table} order by Z_PK")]
    same = {k: r.randint(0, max(1, len(keys) * 2 // 3)) for k in keys}
    for k, value in same.items():
        db.execute(f"update {table} set {column} = ? where Z_PK = ?",
                   (f"v{value}" if value % 9 else None, k))
    db.commit()
    db.close()
    groups = collections.defaultdict(list)
    for k, value in sorted(same.items()):
        if value % 9:
            groups[value].append(k)
    common = [store, "--to", new.path, "--models", bundle, "--infer-only"]
    counted = copy_store(store, os.path.join(folder, "counted"))
    found = []
    for choice in ("keep-first", "keep-last"):
        stay = 0 if choice == "keep-first" else -1
        removed = {k for g in groups.values() for k in g if k != g[stay]}
        expected = inferred(old, new, counted, {old.root(entity): removed})
        expected.losses = named(expected, old, counted, removed, entity)
        into = os.path.join(folder, choice)
        os.makedirs(into)
        mend = ("--on-duplicate", choice)
        found += statuses(tool, into, common, mend=mend)
        found += [f"{choice}: {f}" for f in judge(
            tool, into, common, ("sql", "pages"), expected, new, (), mend=mend)]
    into = os.path.join(folder, "merge")
    os.makedirs(into)
    found += statuses(tool, into, common, mend=("--on-duplicate", "merge"))
    kept = {k: g[0] for g in groups.values() for k in g}
    for engine in ("sql", "pages"):
        result, report = (os.path.join(into, f"{engine}.{n}") for n in ("sqlite", "json"))
        tool.run("migrate", *common, "--on-duplicate", "merge", "--output", result, "--report",
                 report, "--engine", engine)
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        found += [f"merge, {engine}: {f}" for f in merged(
            told, result, counted, old, new, entity, kept)]
    return found


def named(expected, old, store, removed, entity):
    """Losses to removed duplicates: by the relationship that leads to them, that of a pair too."""
    out, layout, db = collections.Counter(), Layout(old), opened(store)
    for form, p in reference_places(layout, db).values():
        for one, other in references(db, layout, form, p):
            if form == "owner" and p.destination == entity and other in removed \
                    and not (p.owner == entity and one in removed):
                out[p.owner, p.name, "duplicate"] += 1
            elif form == "target" and p.owner == entity and one in removed \
                    and not (p.destination == entity and other in removed):
                out[p.owner, p.name, "duplicate"] += 1
            elif form == "pair":
                ends = (p.relationship.destination == entity and other in removed,
                        p.relationship.owner == entity and one in removed)
                if any(ends):
                    out[(*key(p.relationship), "duplicate")] += 1
    db.close()
    return out


def merged(report, result, store, old, new, entity, kept):
    """What is not as it has to be where references of removed objects lead to others."""
    found, layout, after = [], Layout(old), Layout(new)
    before, db = opened(store), opened(result)
    told = {(a["entity"], a["relationship"]): a
            for a in report["accounts"][0].get("references", [])}
    places = reference_places(after, db)

    def lead(name, k):
        return kept.get(k, k) if name == entity else k
    for name, (form, p) in reference_places(layout, db).items():
        relationship = p.relationship if form == "pair" else p
        old_ones = set(references(before, layout, form, p))
        now = set(references(db, after, *places[name]))
        led = {(lead(relationship.owner, a), lead(relationship.destination, b))
               for a, b in old_ones}
        account = told.get(name)
        out = account["referencesOut"] if account else len(old_ones)
        if out != len(now):
            found.append(f"{name}: {len(now)} references, not {out}")
        if account and account["referencesIn"] != out + sum(
                d["references"] for d in account["dropped"]):
            found.append(f"{name}: {account} does not add up")
        if not now <= led:
            found.append(f"{name}: {sorted(now - led)[:3]} lead where nothing led")
        inverse = old.inverse(relationship)
        is_single = form != "pair" and (form == "target" or not relationship.to_many)
        if form == "pair" and now != led:
            found.append(f"{name}: pairs {sorted(led - now)[:3]} are missing")
        # No object is given a reference to itself that it did not have.
        rows = {b if form == "target" else a for a, b in led
                if (a, b) in old_ones or a != b or relationship.destination != entity}
        is_one = is_single and inverse is not None and not inverse.to_many
        if is_single and not is_one \
                and not rows <= {b if form == "target" else a for a, b in now}:
            found.append(f"{name}: rows without the reference that they had")
        if is_one and relationship.owner != entity and {b for _, b in now} != {b for _, b in led}:
            found.append(f"{name}: objects that nothing leads to any more")
    before.close()
    db.close()
    return found


def main():
    p = parser(__doc__.splitlines()[0], needs_corpus=False)
    p.add_argument("--seeds", default="1-6", help="first-last")
    options = p.parse_args()
    policies = os.path.join(os.path.dirname(os.path.abspath(options.godwit)), "PolicyTool")
    tool = Tool(policies if os.path.exists(policies) else options.godwit, timeout=120)
    cases = []
    for seed in seeds(options.seeds):
        cases += [
            (f"seed {seed}, mappings", lambda f, s=seed: by_mapping(tool, s, f, False)),
            (f"seed {seed}, policies", lambda f, s=seed: by_mapping(tool, s, f, True)),
            (f"seed {seed}, removed", lambda f, s=seed: by_model(tool, s, f)),
            (f"seed {seed}, duplicates", lambda f, s=seed: by_choice(tool, s, f))]
    run_cases(options, cases, "random stores")


if __name__ == "__main__":
    main()
