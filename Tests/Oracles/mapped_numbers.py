#!/usr/bin/env python3
"""Numbers of each numeric type become those of each other type, by inference and by a mapping
model, with and without a filter; their column has what SQLite takes in any column. All engines make
the values that this script gives by itself, for each choice; `check` announces what `migrate` does,
and `verify` agrees with it.

usage: mapped_numbers.py --godwit P [--scratch S] [--share I/N]
"""
import itertools
import json
import os
import sqlite3

from run import Tool, parser, run_cases

ENGINES = ("auto", "sql", "objects")
RANGES = {"Integer 16": 15, "Integer 32": 31, "Integer 64": 63}
TYPES = (*RANGES, "Double", "Float", "Decimal", "Boolean")
GREATEST = {"Float": 3.4028234663852886e38}
VALUES = (0, 1, 2, -3, 7.0, 1.5, -0.25, 70000, 2**31, 2**53 + 1, 2**63 - 1, -2**63, 1e30, -1e300,
          float("inf"), "many", "12", "12.7x", "", b"", b"\0\1", b"7", None)
REFUSED = 78
MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
<entity name="Item" representedClassName="Item" syncable="YES">
<attribute name="kind" optional="YES" attributeType="Integer 16"/>
<attribute name="n" optional="YES" attributeType="{}"/></entity></model>
"""


class Rule:
    """What becomes of values of one type in another; each is an integer, real, text or bytes."""

    def __init__(self, old, new):
        self.old, self.new = old, new
        self.db = sqlite3.connect(":memory:")

    def ask(self, expression, value):
        return self.db.execute(f"SELECT {expression}", (value,)).fetchone()[0]

    def may_overflow(self):
        """Whether the old type has numbers for which the new one has no place."""
        if "Boolean" in (self.old, self.new) or self.new == "Decimal":
            return False
        if self.old in RANGES:
            return self.new in RANGES and RANGES[self.new] < RANGES[self.old]
        return self.new != "Double"

    def fits(self, value):
        if not self.may_overflow() or not isinstance(value, (int, float)):
            return True
        if self.new in GREATEST:
            return abs(value) <= GREATEST[self.new]
        bound = 2**RANGES[self.new]
        return -bound - 1 < value < bound

    def converted(self, value):
        if value is None or self.new == "Decimal":
            return value
        if self.new == "Boolean":
            return self.ask("? <> 0", value)
        return self.ask(f"CAST(? AS {'INTEGER' if self.new in RANGES else 'REAL'})", value)

    def changes(self, value):
        """Whether the new value is another one, so that it is a loss."""
        if value is None or self.new == "Decimal":
            return False
        if not isinstance(value, (int, float)):
            return True
        if self.new == "Boolean":
            return value not in (0, 1)
        if self.new in RANGES or isinstance(value, int):
            # The largest integers become 2^63, which no integer is.
            return int(self.converted(value)) != value if abs(value) != float("inf") else (
                self.new in RANGES)
        return False


class Ground:
    """Two versions of a model, a mapping model between them, and stores of the first."""

    def __init__(self, tool, folder, old, new, is_filtered):
        self.tool, self.folder, self.rule = tool, folder, Rule(old, new)
        self.is_filtered = is_filtered
        self.models = [self.version(name, kind) for name, kind in (("A", old), ("B", new))]
        self.mapping = os.path.join(folder, "mapping", "Map.json")
        os.mkdir(os.path.dirname(self.mapping))
        tool.run("map", "--from", self.models[0], "--to", self.models[1], "--output", self.mapping)
        if is_filtered:
            with open(self.mapping, encoding="utf-8") as file:
                model = json.load(file)
            model["mappings"][0]["filter"] = "kind == 1"
            with open(self.mapping, "w", encoding="utf-8") as file:
                json.dump(model, file)
        self.empty = os.path.join(folder, "Empty.sqlite")
        tool.run("generate", self.models[0], "--rows", len(VALUES) * 2, "--output", self.empty)

    def version(self, name, kind):
        path = os.path.join(self.folder, "Models.xcdatamodeld", f"{name}.xcdatamodel")
        os.makedirs(path)
        with open(os.path.join(path, "contents"), "w", encoding="utf-8") as file:
            file.write(MODEL.format(kind))
        return path

    def store(self, name, values):
        """A store with each value in two objects, of which a filter takes the first; and what its
        column has of them, by key."""
        path = os.path.join(self.folder, f"{name}.sqlite")
        with open(self.empty, "rb") as file, open(path, "wb") as copy:
            copy.write(file.read())
        db = sqlite3.connect(path)
        db.execute("DELETE FROM ZITEM WHERE Z_PK > ?", (2 * len(values),))
        for row, value in enumerate(values):
            for kind in (1, 0):
                db.execute("UPDATE ZITEM SET ZKIND = ?, ZN = ? WHERE Z_PK = ?",
                           (kind, value, 2 * row + 2 - kind))
        db.commit()
        found = dict(db.execute("SELECT Z_PK, ZN FROM ZITEM"))
        db.close()
        return path, found

    def taken(self, found):
        return {k: v for k, v in found.items() if k % 2 == 1 or not self.is_filtered}

    def migrate(self, store, found, choice, engine, is_mapped):
        """The differences of one migration."""
        out, output = [], os.path.join(self.folder, f"out-{engine}-{choice}-{is_mapped}.sqlite")
        wanted = {k: self.rule.converted(v) for k, v in self.taken(found).items()}
        unfit = [k for k, v in self.taken(found).items() if not self.rule.fits(v)]
        changed = [k for k, v in self.taken(found).items()
                   if k not in unfit and self.rule.changes(v)]
        if choice == "null":
            wanted.update({k: None for k in unfit + changed})
        way = ["--to", self.models[1], "--on-value", choice]
        way += ["--mapping", self.mapping] if is_mapped else ["--infer-only"]
        expected = REFUSED if unfit and choice != "null" else 0
        for command in (["check", store], ["migrate", store, "--engine", engine,
                                           "--output", output]):
            told = self.tool.call(*command, *way, "--allow-loss")
            if told.returncode != expected:
                out.append(f"{command[0]} ends with {told.returncode}, not {expected}: "
                           f"{(told.stderr or told.stdout).strip()[-200:]}")
                continue
            for some in ([unfit] if expected else [unfit, changed]):
                keys = f"(Z_PK {', '.join(map(str, sorted(some)[:10]))}"
                if some and keys not in told.stdout + told.stderr:
                    out.append(f"{command[0]} does not name {keys}: {told.stderr.strip()[-200:]}")
        if expected or out:
            return out
        db = sqlite3.connect(output)
        made = dict(db.execute("SELECT Z_PK, ZN FROM ZITEM"))
        db.close()
        out += [f"{found[k]!r} becomes {made.get(k)!r}, not {wanted.get(k)!r}"
                for k in sorted(made.keys() | wanted.keys())
                if made.get(k) != wanted.get(k) or (k in made) != (k in wanted)]
        told = self.tool.call("verify", store, output, *way)
        if told.returncode:
            out.append(f"verify contradicts: {(told.stdout + told.stderr).strip()[-200:]}")
        return out


def case(tool, old, new, is_filtered):
    def run(folder):
        ground, out = Ground(tool, folder, old, new, is_filtered), []
        fitting = [v for v in VALUES if ground.rule.fits(v)]
        stores = [ground.store("Fitting", fitting)]
        if len(fitting) < len(VALUES):
            stores.append(ground.store("Unfit", VALUES))
        for (store, found), choice, engine in itertools.product(
                stores, ("fail", "convert", "null"), ENGINES):
            for is_mapped in (True,) if is_filtered else (False, True):
                name = f"{os.path.basename(store)} {choice} {engine} mapped={is_mapped}"
                differences = ground.migrate(store, found, choice, engine, is_mapped)
                out += [f"{name}: {line}" for line in differences]
                for leftover in os.listdir(folder):
                    if leftover.startswith("out-"):
                        os.remove(os.path.join(folder, leftover))
        return out
    return run


def the_judge(_):
    """The rule, where it is known without it."""
    known = [("Integer 32", "Double", "many", 0.0, True), ("Double", "Integer 32", 1.5, 1, True),
             ("Boolean", "Float", 2, 2.0, False), ("Integer 16", "Boolean", 2, 1, True),
             ("Integer 16", "Decimal", "many", "many", False),
             ("Boolean", "Integer 64", 1e30, 2**63 - 1, True)]
    out = []
    for old, new, value, made, is_changed in known:
        rule = Rule(old, new)
        if rule.converted(value) != made or rule.changes(value) != is_changed:
            out.append(f"{old} as {new}: {value!r}")
    if Rule("Integer 64", "Integer 16").fits(70000):
        out.append("70000 fits Integer 16")
    return out


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = Tool(options.godwit)
    cases = [(f"{old} as {new}" + (", filtered" if is_filtered else ""),
              case(tool, old, new, is_filtered))
             for is_filtered, old, new in itertools.product((False, True), TYPES, TYPES)
             if old != new]
    run_cases(options, [("the judge", the_judge), *cases], "pairs of types")


if __name__ == "__main__":
    main()
