#!/usr/bin/env python3
"""Mapping models that run object by object: real ones on generated stores, and an entity that is
split in two by a predicate and put together again.

usage: objects.py --godwit P --corpus D [--rows N] [--only NAME] [--scratch S]
Beside the tool must lie PolicyTool of the same build, which has policies under any name.
"""
import glob
import json
import os
import re
import sqlite3

from coredata import Attribute, Layout, Relationship, bundles, key
from split_and_merge import merging, model, splitting
from mappings import document
from run import Failure, Tool, fingerprint, parser, run_cases, same_bytes, unchanged
from store import Store, quoted

WORKERS = (1, 3)
ATTRIBUTE = re.compile(r"\$source\.(\w+)")
RELATED = re.compile(r'FUNCTION\(\$manager, "destinationInstancesFor\w+:sourceInstances:", '
                     r'"\w+", \$source\.(\w+)\)')


def migrate(tool, source, target, mappings, folder, *more, **options):
    """The result, which must be the same to the byte for any number of workers."""
    before, results = fingerprint(os.path.dirname(source)), []
    for workers in WORKERS:
        result = os.path.join(folder, f"result-{workers}.sqlite")
        report = os.path.join(folder, f"report-{workers}.json")
        arguments = [part for m in mappings for part in ("--mapping", m)]
        tool.migrate(source, "--to", target, *arguments, "--output", result, "--workers", workers,
                     *more, report=report, **options)
        results.append(result)
    unchanged(before, os.path.dirname(source))
    same_bytes(*results, os.path.basename(source))
    return results[0]


# Real mapping models.

class Step:
    """What a mapping model makes of a store, by reading both with SQL."""

    def __init__(self, mappings, old, new, source, result):
        self.mappings, self.old, self.new = mappings, old, new
        self.source, self.result = Store(source), Store(result)
        self.before, self.after = Layout(old), Layout(new)
        self.target = {m["source"]: m["destination"] for m in mappings
                       if m["source"] and m["destination"]}
        self.found = []

    def differ(self, place, expected, actual):
        odd = [(k, expected.get(k), actual.get(k)) for k in {*expected, *actual}
               if expected.get(k) != actual.get(k)]
        if odd:
            self.found.append(f"{place}: {len(odd)} objects differ, such as {sorted(odd)[:2]}")

    def column(self, store, layout, entity, name):
        """{key: stored value} of the objects of an entity."""
        number = layout.model.numbers[entity]
        return dict(store.rows(
            f"select Z_PK, quote({quoted(name)}) from {quoted(layout.table(entity))} "
            f"where Z_ENT = ?", (number,)))

    def taken(self, root):
        """The keys of a source table whose objects are taken along."""
        names = [e for e in self.target if self.old.root(e) == root]
        numbers = ", ".join(str(self.old.numbers[e]) for e in names) or "-1"
        return {k for k, in self.source.rows(
            f"select Z_PK from {quoted(self.before.table(root))} where Z_ENT in ({numbers})")}

    def check(self):
        for mapping in self.mappings:
            if not mapping["source"] or not mapping["destination"]:
                continue
            self.differ(mapping["destination"],
                        self.column(self.source, self.before, mapping["source"], "Z_PK"),
                        self.column(self.result, self.after, mapping["destination"], "Z_PK"))
            for (kind, name), expression in mapping["properties"].items():
                if kind == "attributes":
                    self.check_attribute(mapping, name, expression)
                else:
                    self.check_relationship(mapping, name, expression)
        return self.found

    def check_attribute(self, mapping, name, expression):
        old = self.old.stored(mapping["source"])
        new = self.new.stored(mapping["destination"])[name]
        place = f"{mapping['destination']}.{name}"
        actual = self.column(self.result, self.after, mapping["destination"],
                             self.after.columns[key(new)])
        if expression and expression.startswith("FUNCTION($entityPolicy"):
            return self.differ(place, dict.fromkeys(actual, "NULL"), actual)
        if expression and expression.startswith('"'):
            text = json.loads(expression).replace("'", "''")
            return self.differ(place, dict.fromkeys(actual, f"'{text}'"), actual)
        match = ATTRIBUTE.fullmatch(expression) if expression else None
        if expression and not match:
            raise Failure(f"{place}: an expression that is not understood here: {expression}")
        origin = match.group(1) if match else name
        if isinstance(old.get(origin), Attribute):
            self.differ(place, self.column(self.source, self.before, mapping["source"],
                                           self.before.columns[key(old[origin])]), actual)
        elif new.default_text is None:
            self.differ(place, dict.fromkeys(actual, "NULL"), actual)

    def check_relationship(self, mapping, name, expression):
        match = RELATED.fullmatch(expression) if expression else None
        old = self.old.stored(mapping["source"]).get(match.group(1) if match else name)
        new = self.new.stored(mapping["destination"])[name]
        if not isinstance(old, Relationship):
            return
        place = f"{mapping['destination']}.{name}"
        if not old.to_many and not new.to_many:
            self.differ(place, self.references(old, mapping["source"]), self.column(
                self.result, self.after, mapping["destination"], self.after.columns[key(new)]))
        elif self.joined(old, self.before) and self.joined(new, self.after):
            targets = self.taken(self.old.root(old.destination))
            expected = {o: [t for t in ts if t in targets]
                        for o, ts in self.pairs(self.source, old, self.before).items()
                        if o in self.taken(self.old.root(mapping["source"]))}
            self.differ(place, {o: ts for o, ts in expected.items() if ts},
                        self.pairs(self.result, new, self.after))
        else:
            self.check_children(place, mapping, old, new)

    def references(self, relationship, entity):
        """What a to-one column must hold: nothing where the object stays behind."""
        taken = {str(k) for k in self.taken(self.old.root(relationship.destination))}
        cells = self.column(self.source, self.before, entity,
                            self.before.columns[key(relationship)])
        return {k: v if v in taken else "NULL" for k, v in cells.items()}

    def joined(self, relationship, layout):
        inverse = layout.model.inverse(relationship)
        return relationship.to_many and inverse is not None and inverse.to_many

    def pairs(self, store, relationship, layout):
        """{owner: targets}, in order where there is one."""
        join = next(j for j in layout.joins if key(relationship) in j.columns)
        name = next(n for n in join.names if n in store.tables)
        other = next(k for k in join.columns if k != key(relationship))
        theirs, mine = join.columns[key(relationship)], join.columns[other]
        order = join.orders.get(key(relationship), theirs)
        out = {}
        for owner, target in store.rows(
                f"select {quoted(mine)}, {quoted(theirs)} from {quoted(name)} "
                f"order by {quoted(order)}, {quoted(theirs)}"):
            out.setdefault(owner, []).append(target)
        return out

    def check_children(self, place, mapping, old, new):
        """One to many: the children lead back, in their order."""
        inverse, now = self.old.inverse(old), self.new.inverse(new)
        if inverse is None or now is None or now.to_many or inverse.to_many:
            return
        lists = [self.children(self.source, self.before, old, inverse),
                 self.children(self.result, self.after, new, now)]
        taken = self.taken(self.old.root(old.destination))
        owners = self.column(self.source, self.before, mapping["source"], "Z_PK")
        expected = {o: [t for t in ts if t in taken] for o, ts in lists[0].items() if o in owners}
        self.differ(place, {o: ts for o, ts in expected.items() if ts},
                    {o: ts for o, ts in lists[1].items() if o in owners})

    def children(self, store, layout, relationship, inverse):
        column = quoted(layout.columns[key(inverse)])
        table = quoted(layout.table(relationship.destination))
        order = quoted(layout.order.get(key(inverse), "Z_PK"))
        out = {}
        for owner, child in store.rows(f"select {column}, Z_PK from {table} "
                                       f"where {column} not null order by {order}, Z_PK"):
            out.setdefault(owner, []).append(child)
        return out


def fitting(tool, path, versions):
    """The names of the two versions that a mapping model was made for, by its hashes."""
    said = tool.json("map", path)["mappings"]
    return [next(n for n, m in versions.items() if all(
        one[side] in m.entities and m.hash(one[side]).hex() == one[side + "Hash"]
        for one in said if side in one)) for side in ("source", "destination")]


def real(tool, path, bundle, rows, folder):
    old, new = (bundle.models[n] for n in fitting(tool, path, bundle.models))
    source = os.path.join(folder, "source", "F.sqlite")
    os.makedirs(os.path.dirname(source))
    tool.run("generate", old.path, "--rows", rows, "--seed", 5, "--output", source)
    mappings = document(path)
    names = sorted({m["policy"] for m in mappings if m["policy"]})
    found = []
    for engine in ("objects", "auto"):
        where = os.path.join(folder, engine)
        os.makedirs(where)
        result = migrate(
            tool, source, new.path, [path], where, "--models", bundle.path, "--validation",
            "report", "--engine", engine, environment={"GODWIT_ANSWERING": ",".join(names)})
        lines = Step(mappings, old, new, source, result).check()
        if Store(result).rows("pragma integrity_check") != [("ok",)]:
            lines.append("the result is damaged")
        found += [f"engine {engine}: {line}" for line in lines]
    return found


# One entity in two, and in one again.

def herds(tool, rows, folder):
    places = {}
    for name, entities in model().items():
        places[name] = os.path.join(folder, name + ".xcdatamodel")
        os.makedirs(places[name])
        with open(os.path.join(places[name], "contents"), "w", encoding="utf-8") as file:
            file.write(entities)
    for name, mapping in (("split", splitting()), ("merge", merging())):
        places[name] = os.path.join(folder, name + ".json")
        with open(places[name], "w", encoding="utf-8") as file:
            json.dump(mapping, file)
    together = os.path.join(folder, "together", "Herds.sqlite")
    os.makedirs(os.path.dirname(together))
    tool.run("generate", places["together"], "--rows", rows, "--output", together)
    for step in ("there", "back"):
        os.makedirs(os.path.join(folder, step))
    apart = migrate(tool, together, places["apart"], [places["split"]],
                    os.path.join(folder, "there"), "--validation", "strict")
    again = migrate(tool, apart, places["together"], [places["merge"]],
                    os.path.join(folder, "back"), "--models", places["apart"])
    return check_split(together, apart) + check_merge(together, again)


HERD_LISTS = {
    "objects": "select ZTAG, ZNAME, ZAGE, ZWEIGHT from ZOBJECT",
    "bosses": "select a.ZTAG, b.ZTAG from ZOBJECT a join ZOBJECT b on b.Z_PK = a.ZBOSS",
    "friends": "select a.ZTAG, b.ZTAG from {join} j join ZOBJECT a on a.Z_PK = j.{first} "
               "join ZOBJECT b on b.Z_PK = j.{second}",
    # Those of one kind stay in their order; that among the kinds has no place between the steps.
    "herds": "select h.ZNAME, a.ZTAG, row_number() over (partition by h.Z_PK, a.ZAGE % 3 = 0 "
             "order by a.Z_FOK_HERD) from ZOBJECT a join ZHERD h on h.Z_PK = a.ZHERD",
}


def herd_lists(path):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    join, = db.execute("select name from sqlite_schema where name in "
                       "('Z_2FRIENDS', 'Z_2FRIENDOF') and type = 'table'").fetchone()
    names = {"join": join, "first": "Z_2FRIENDOF", "second": "Z_2FRIENDS"}
    out = {k: sorted(db.execute(q.format(**names)).fetchall(), key=repr)
           for k, q in HERD_LISTS.items()}
    db.close()
    return out


def check_merge(before, after):
    old, new = herd_lists(before), herd_lists(after)
    if not all(old.values()):
        return [f"the generated store lacks {[k for k, v in old.items() if not v]}"]
    return [f"{k}: {len(old[k])} before, {len(new[k])} after, "
            f"{len(set(old[k]) ^ set(new[k]))} differ" for k in old if old[k] != new[k]]


def check_split(before, after):
    db = sqlite3.connect(f"file:{after}?mode=ro&immutable=1", uri=True)
    db.execute(f"attach 'file:{before}?mode=ro&immutable=1' as old")
    out = []
    for kind, table, condition, computed in (
            ("humans", "ZHUMAN", "ZAGE % 3 = 0", "ZMONTHS is not o.ZAGE * 12"),
            ("animals", "ZANIMAL", "ZAGE is null or ZAGE % 3 <> 0",
             "ZHEAVY is not ifnull(o.ZWEIGHT > 0, 0)")):
        odd = db.execute(f"""
            select count(*) from (select * from old.ZOBJECT where {condition}) o
            full join main.{table} n on n.Z_PK = o.Z_PK
            where n.ZNAME is not o.ZNAME or n.ZTAG is not o.ZTAG or n.{computed}""").fetchone()[0]
        count = db.execute(f"select count(*) from main.{table}").fetchone()[0]
        if odd or not count:
            out.append(f"{kind}: {odd} of {count} differ")
    db.close()
    return out


def main():
    p = parser(__doc__)
    p.add_argument("--rows", type=int, default=10000, help="objects of each generated store")
    p.add_argument("--only", default="", help="cases whose name contains this")
    options = p.parse_args()
    tool = Tool(os.path.join(os.path.dirname(options.godwit), "PolicyTool"), timeout=3600)
    known, cases = bundles(options.corpus), []
    pattern = os.path.join(options.corpus, "mappings", "*", "*.xcmappingmodel")
    for path in sorted(glob.glob(pattern)):
        name = os.path.relpath(path, options.corpus)
        bundle = known[name.split(os.sep)[1]]
        cases.append((name, lambda folder, path=path, bundle=bundle:
                      real(tool, path, bundle, options.rows, folder)))
    cases.append(("herds", lambda folder: herds(tool, options.rows, folder)))
    cases = [case for case in cases if options.only in case[0]]
    run_cases(options, cases, "object migrations")


if __name__ == "__main__":
    main()
