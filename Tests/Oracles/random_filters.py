#!/usr/bin/env python3
"""Migrates random stores by random mapping models with filters that rows can be made by: every
object, reference, pair and place of the result is what this script says by itself; SQL and pages
make the same bytes, and what is made object by object says the same. Counts which road was taken.

usage: random_filters.py --godwit P --corpus D [--seeds 1-40] [--scratch S]; the corpus is not read
"""
import collections
import json
import os
import random
import sqlite3

from coredata import Attribute, Layout, key
from random_mappings import Count, Maker, compare, make_ground
from run import Failure, Tool, fingerprint, parser, run_cases, same_bytes, seeds, unchanged
from store import copy_store, quoted, uri_path

ENGINES = ("auto", "sql", "pages", "objects")
NUMBERS = ("Integer 16", "Integer 32", "Integer 64", "Double", "Float", "Boolean")
ORDERED = (*NUMBERS, "String")
ROADS = collections.Counter()
SEEN = collections.Counter()


# Predicates: a text of the format language, and what it says of a value as Python has it.

class Nil:
    def __init__(self, name, is_nil):
        self.text = f"{name} {'==' if is_nil else '!='} nil"
        self.name, self.is_nil, self.kind = name, is_nil, "nil"

    def holds(self, one):
        return (one[self.name] is None) == self.is_nil


class Compared:
    """A comparison with a constant; nil is equal to nothing, and neither less nor greater."""

    def __init__(self, name, operator, constant):
        self.text = f"{name} {operator} {literal(constant)}"
        self.name, self.operator, self.constant, self.kind = name, operator, constant, operator

    def holds(self, one):
        value, other = one[self.name], self.constant
        if value is None:
            return self.operator == "!="
        if isinstance(value, str):
            value, other = value.encode(), other.encode()
        return {"==": value == other, "!=": value != other, "<": value < other,
                "<=": value <= other, ">": value > other, ">=": value >= other}[self.operator]


class Among:
    def __init__(self, name, constants):
        self.text = f"{name} IN {{{', '.join(map(literal, constants))}}}"
        self.name, self.constants, self.kind = name, constants, "IN"

    def holds(self, one):
        return one[self.name] is not None and one[self.name] in self.constants


class Between:
    def __init__(self, name, low, high):
        self.text = f"{name} BETWEEN {{{literal(low)}, {literal(high)}}}"
        self.name, self.low, self.high, self.kind = name, low, high, "BETWEEN"

    def holds(self, one):
        return one[self.name] is not None and self.low <= one[self.name] <= self.high


class Text:
    """A text's beginning, end or part, to the byte."""

    def __init__(self, name, operator, part):
        self.text = f"{name} {operator} {literal(part)}"
        self.name, self.operator, self.part, self.kind = name, operator, part.encode(), operator

    def holds(self, one):
        if one[self.name] is None:
            return False
        value = one[self.name].encode()
        return {"BEGINSWITH": value.startswith(self.part), "ENDSWITH": value.endswith(self.part),
                "CONTAINS": self.part in value}[self.operator]


class Joined:
    def __init__(self, word, parts):
        self.text = f" {word} ".join(f"({p.text})" for p in parts)
        self.word, self.parts, self.kind = word, parts, word

    def holds(self, one):
        return (all if self.word == "AND" else any)(p.holds(one) for p in self.parts)


class Not:
    def __init__(self, part):
        self.text, self.part, self.kind = f"NOT ({part.text})", part, "NOT"

    def holds(self, one):
        return not self.part.holds(one)


class Always:
    def __init__(self, value):
        self.text = "TRUEPREDICATE" if value else "FALSEPREDICATE"
        self.value, self.kind = value, self.text

    def holds(self, _):
        return self.value


def literal(value):
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def is_plain(value):
    """Whether a constant has one spelling that nobody could read otherwise."""
    if isinstance(value, str):
        return len(value) < 40 and value.isascii() and value.isalnum()
    return isinstance(value, (int, float)) and abs(value) < 2**52 \
        and "e" not in repr(value) and "n" not in repr(value)


class Chooser:
    """Makes the predicate of one entity from values that its objects have."""

    def __init__(self, r, attributes, objects):
        self.r, self.objects = r, objects
        self.types = {n: p.type for n, p in attributes.items()}

    def predicate(self, depth=0):
        r, roll = self.r, self.r.random()
        if roll < 0.04:
            return Always(r.random() < 0.5)
        if depth < 2 and roll < 0.3:
            parts = [self.predicate(depth + 1) for _ in range(r.choice((2, 2, 3)))]
            return Joined(r.choice(("AND", "OR")), parts)
        if depth < 2 and roll < 0.4:
            return Not(self.predicate(depth + 1))
        name = r.choice(sorted(self.types))
        known = [o[name] for o in self.objects if is_plain(o[name])]
        if roll < 0.55 or self.types[name] not in ORDERED or not known:
            return Nil(name, r.random() < 0.5)
        return self.compared(name, known)

    def compared(self, name, known):
        r, is_text = self.r, self.types[name] == "String"
        if self.types[name] == "Boolean":
            return Compared(name, r.choice(("==", "!=")), bool(r.randint(0, 1)))
        one = r.choice(known)
        roll = r.random()
        if roll < 0.15:
            return Among(name, [r.choice(known) for _ in range(r.randint(1, 4))])
        if roll < 0.3 and not is_text:
            other = r.choice(known)
            return Between(name, min(one, other), max(one, other))
        if roll < 0.4 and is_text and one:
            part = one[:r.randint(1, len(one))]
            return Text(name, r.choice(("BEGINSWITH", "ENDSWITH", "CONTAINS")), part)
        return Compared(name, r.choice(("==", "!=", "<", "<=", ">", ">=")), one)


def kinds(predicate):
    parts = getattr(predicate, "parts", None) or [getattr(predicate, "part", None)]
    inner = [kind for part in parts if hasattr(part, "holds") for kind in kinds(part)]
    return [predicate.kind, *inner]


# Making

class RowMaker(Maker):
    """Makes mappings of which each object depends on its source object alone."""

    def __init__(self, r, old, new):
        self.mapped = {}
        self.kinds, self.filters = {}, {}
        super().__init__(r, old, new)

    def add(self, entity):
        r = self.r
        kind = r.choice(("copy", "partial", *("filtered",) * 5, "none"))
        self.kinds[entity] = kind
        if kind == "none":
            return
        mapping = self.mapping(entity, f"{entity}To{entity}")
        if kind == "copy":
            for part in ("attributes", "relationships"):
                mapping.pop(part)
            mapping["type"] = "copy"
        self.mappings.append(mapping)

    def is_mapped(self, p):
        """The same for both ends of a relationship, and as a rule for all entities that have it."""
        if self.r.random() < 0.02:
            return False
        inverse = self.new.inverse(p)
        name = min([key(p)] + ([key(inverse)] if inverse else []))
        return self.mapped.setdefault(name, self.r.random() < 0.92)

    def mapping(self, entity, name):
        out = super().mapping(entity, name)
        for new, p in sorted(self.new.stored(entity).items()):
            if isinstance(p, Attribute):
                continue
            out["relationships"].pop(new, None)
            if self.is_mapped(p):
                out["relationships"][new] = (
                    "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:"
                    f"sourceInstances:\", \"{new}\", $source.{new})")
        return out

    def choose(self, objects):
        """Gives mappings the filters that fit what is in the store."""
        for mapping in self.mappings:
            entity = mapping["source"]
            known = {n: p for n, p in self.attributes(self.old, entity).items()
                     if p.type in (*ORDERED, "Decimal", "Date", "UUID", "URI", "Binary")
                     and not p.external}
            if self.kinds[entity] != "filtered" or not known:
                continue
            chooser = Chooser(self.r, known, objects(entity, sorted(known)))
            self.filters[entity] = chooser.predicate()
            mapping["filter"] = self.filters[entity].text
            SEEN.update(kinds(self.filters[entity]))


class RowCount(Count):
    """What must come of a store, by predicates as Python evaluates them."""

    def __init__(self, old, new, store, maker):
        self.taken = {}
        super().__init__(old, new, store, maker)

    def takes(self, mapping, one):
        predicate = self.maker.filters.get(mapping["source"])
        return predicate is None or predicate.holds(one)

    def count(self, entity, takers):
        super().count(entity, takers)
        for one in self.kept:
            self.taken[self.old.root(entity), one["Z_PK"]] = entity


def objects_of(store, old, layout):
    """Reads attributes of an entity's objects, as the format language sees them."""
    def read(entity, names):
        db = sqlite3.connect(f"file:{uri_path(store)}?mode=ro", uri=True)
        columns = [layout.columns[key(old.stored(entity)[n])] for n in names]
        table = "Z" + old.root(entity).upper()
        rows = db.execute(f"select {', '.join(map(quoted, columns))} from {table} not indexed "
                          "where Z_ENT = ?", (old.numbers[entity],)).fetchall()
        db.close()
        return [dict(zip(names, row)) for row in rows]
    return read


def make_case(tool, seed, folder):
    bundle, old, new, store, maker = make_ground(
        tool, random.Random(f"filters {seed}"), folder, RowMaker,
        lambda maker: "filtered" in maker.kinds.values())
    read = copy_store(store, os.path.join(folder, "chosen"))
    maker.choose(objects_of(read, old, Layout(old)))
    path = os.path.join(folder, "Random.json")
    maker.write(path)
    return bundle, old, new, store, path, maker


# Judging

class References:
    """Every reference, owner and pair of a result, against those of the source."""

    def __init__(self, count, maker, store, result):
        self.count, self.maker = count, maker
        self.old, self.new = count.old, count.new
        self.before, self.after = Layout(self.old), Layout(self.new)
        self.source, self.result = (
            sqlite3.connect(f"file:{uri_path(p)}?mode=ro", uri=True) for p in (store, result))
        self.found = []

    def close(self):
        self.source.close()
        self.result.close()

    def reads(self, p, entity):
        return any(p.name in names for names in self.count.read[entity])

    def expected(self, rows, p):
        """Pairs of which both objects are there, and of which a mapping reads either end."""
        inverse, wanted = self.new.inverse(p), set()
        for a, b in rows:
            owner = self.count.taken.get((self.old.root(p.owner), a))
            target = self.count.taken.get((self.old.root(p.destination), b))
            if owner and target and (
                    self.reads(p, owner) or inverse and self.reads(inverse, target)):
                wanted.add((a, b))
        return wanted

    def compare(self, p, wanted, there):
        for what, pairs in (("lacks", wanted - there), ("has", there - wanted)):
            if pairs:
                self.found.append(f"{p.owner}.{p.name} {what} {sorted(pairs)[:3]}, "
                                  f"{len(pairs)} in all")

    def check(self):
        for p in self.new.relationships():
            if p.to_many and self.new.inverse(p):
                continue
            if p.to_many:
                root, column, _ = self.after.foreign[key(p)]
                _, own, _ = self.before.foreign[key(p)]
                table, first, second = "Z" + root.upper(), column, "Z_PK"
                rows = self.rows(self.source, table, own, "Z_PK")
            else:
                table = "Z" + self.new.root(p.owner).upper()
                first, second = "Z_PK", self.after.columns[key(p)]
                rows = self.rows(self.source, table, "Z_PK", self.before.columns[key(p)])
            wanted = self.expected(rows, p)
            there = {(a, b) for a, b in self.rows(self.result, table, first, second)
                     if a is not None and b is not None}
            self.compare(p, wanted, there)
        for old, new in zip(self.before.joins, self.after.joins):
            self.check_join(old, new)
        return self.found

    def check_join(self, old, new):
        p, inverse = new.relationship, new.inverse
        ends = [[j.columns[key(i)] for i in (inverse, p)] for j in (old, new)]
        rows = self.rows(self.source, self.name(self.source, old), *ends[0])
        wanted = self.expected(rows, p)
        self.compare(p, wanted, set(self.rows(self.result, self.name(self.result, new), *ends[1])))

    def name(self, db, join):
        have = {n for (n,) in db.execute("select name from sqlite_master where type = 'table'")}
        return next(n for n in join.names if n in have)

    def rows(self, db, table, first, second):
        return db.execute(f"select {quoted(first)}, {quoted(second)} from {quoted(table)} "
                          "not indexed").fetchall()


def said_alike(first, second):
    """What two results say otherwise than each other, but for save counts and the very places in
    ordered relationships, of which only the order counts."""
    found, contents = [], []
    for path in (first, second):
        db = sqlite3.connect(f"file:{uri_path(path)}?mode=ro", uri=True)
        names = [n for (n,) in db.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite%'")]
        contents.append({n: content(db, n) for n in names if n != "Z_METADATA"})
        db.close()
    for name in sorted({*contents[0], *contents[1]}):
        a, b = (c.get(name) for c in contents)
        if a != b:
            rows = next(((x, y) for x, y in zip(a or [], b or []) if x != y), None)
            found.append(f"{name}: {rows or (len(a or []), len(b or []))}"[:400])
    return found


def content(db, table):
    columns = [r[1] for r in db.execute(f"pragma table_info({quoted(table)})")]
    kept = [c for c in columns if c != "Z_OPT"]
    listed = ", ".join(map(quoted, kept))
    rows = [list(r) for r in db.execute(f"select {listed} from {quoted(table)} not indexed")]
    for place, column in enumerate(kept):
        if column.startswith("Z_FOK_"):
            owner = "Z" + column[len("Z_FOK_"):]
            keys = [c for c in kept if c.startswith("Z_") and not c.startswith("Z_FOK_")]
            if owner in kept:
                rank(rows, place, kept.index(owner), 0)
            else:
                own = "Z_" + column[len("Z_FOK_"):]
                other = next(c for c in keys if c != own)
                rank(rows, place, kept.index(other), kept.index(own))
    return sorted(rows, key=repr)


def rank(rows, place, owner, member):
    """Puts the row's number among those of its owner in the stead of its place."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[owner]].append(row)
    for key_, members in groups.items():
        members.sort(key=lambda r: (r[place] is None, r[place] or 0, r[member]))
        for number, row in enumerate(members):
            row[place] = None if key_ is None or row[place] is None else number


def lost_reference(result, references, relationships):
    """A copy of the result in which a reference of one of some relationships is not there any
    more; None where there is none."""
    for p in relationships:
        if p.to_many:
            continue
        table, column = "Z" + references.new.root(p.owner).upper(), references.after.columns[key(p)]
        row = references.result.execute(
            f"select Z_PK from {table} where {quoted(column)} is not null").fetchone()
        if row:
            copy = copy_store(result, result + "-planted")
            db = sqlite3.connect(copy)
            db.execute(f"update {table} set {quoted(column)} = null where Z_PK = ?", row)
            db.commit()
            db.close()
            return copy
    return None


def check(tool, seed, folder):
    bundle, old, new, store, path, maker = make_case(tool, seed, folder)
    counted = copy_store(store, os.path.join(folder, "counted"))
    count = RowCount(old, new, counted, maker)
    before = fingerprint(os.path.dirname(store))
    common = ["migrate", store, "--to", os.path.join(bundle, "New.xcdatamodel"), "--models", bundle,
              "--mapping", path, "--validation", "off"]
    found, results = [], {}
    refused = tool.call(*common, "--output", os.path.join(folder, "none.sqlite"))
    if (refused.returncode == 78) != count.is_refused:
        found.append(f"without consent: exit {refused.returncode}, {refused.stderr[-300:]}, "
                     f"losses {count.losses}")
    losses = set()
    for number, engine in enumerate(ENGINES):
        result = results[engine] = os.path.join(folder, f"{engine}.sqlite")
        report = os.path.join(folder, f"{engine}-report.json")
        tool.run(*common, "--output", result, "--report", report, "--engine", engine,
                 "--workers", 1 + (seed + number) % 3, "--allow-loss",
                 *(("--verify", "full") if seed % 3 == 0 else ()))
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        ROADS[f"{engine} made by {told['engine']}"] += 1
        found += [f"{engine}: {f}" for f in compare(told, result, count, new)]
        losses.add(json.dumps(sorted(told["losses"], key=repr), sort_keys=True))
        references = References(count, maker, counted, result)
        found += [f"{engine}: {f}" for f in references.check()]
        planted = lost_reference(result, references, references.new.relationships())
        references.close()
        if planted:
            other = References(count, maker, counted, planted)
            if not other.check():
                found.append(f"{engine}: nobody notices a reference that is gone")
            other.close()
            ROADS["references planted"] += 1
    if len(losses) != 1:
        found.append(f"the engines tell other losses: {sorted(losses)}")
    try:
        same_bytes(results["sql"], results["pages"], "sql and pages")
    except Failure as failure:
        found.append(str(failure))
    found += [f"rows and objects: {f}" for f in said_alike(results["sql"], results["objects"])]
    kept = [count.accounts[e][1] for e in maker.filters]
    rows = [count.accounts[e][0] for e in maker.filters]
    ROADS["filters that keep all"] += sum(0 < n == k for n, k in zip(rows, kept))
    ROADS["filters that keep none"] += sum(0 == k < n for n, k in zip(rows, kept))
    ROADS["filters that keep some"] += sum(0 < k < n for n, k in zip(rows, kept))
    unchanged(before, os.path.dirname(store))
    return found


def main():
    p = parser(__doc__.splitlines()[0])
    p.add_argument("--seeds", default="1-40", help="first-last")
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=120)
    try:
        run_cases(options, [(f"seed {s}", lambda folder, s=s: check(tool, s, folder))
                            for s in seeds(options.seeds)], "random filters")
    finally:
        for counts in (ROADS, SEEN):
            print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
