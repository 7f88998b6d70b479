#!/usr/bin/env python3
"""Migrates random stores by mapping files that make new objects of pairs, of values and of all
objects, and that sort relationships: every row, reference, place and highest key of the result is
what this script computes from the source by itself; all engines and numbers of workers give the
same bytes, `plan` counts the new objects, and `verify` confirms the result and finds faults that
were planted.

usage: new_objects.py --godwit P [--seeds 1-16] [--scratch S]; the corpus is not read
"""
import json
import os
import random
import shutil
import sqlite3

from run import Failure, Tool, parser, run_cases, same_bytes, seeds

ENGINES = ("auto", "sql", "pages", "objects")
TYPES = {"String": "VARCHAR", "Integer 32": "INTEGER", "Integer 64": "INTEGER",
         "Boolean": "INTEGER", "Double": "FLOAT", "Date": "TIMESTAMP"}


def attribute(name, kind):
    return f'<attribute name="{name}" optional="YES" attributeType="{kind}"/>'


def one(name, entity, inverse):
    return (f'<relationship name="{name}" optional="YES" maxCount="1" deletionRule="Nullify" '
            f'destinationEntity="{entity}" inverseName="{inverse}" inverseEntity="{entity}"/>')


def many(name, entity, inverse, ordered=False):
    return (f'<relationship name="{name}" optional="YES" toMany="YES" deletionRule="Nullify" '
            + ('ordered="YES" ' if ordered else "") + f'destinationEntity="{entity}" '
            f'inverseName="{inverse}" inverseEntity="{entity}"/>')


def write_model(path, entities):
    os.makedirs(path)
    with open(os.path.join(path, "contents"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
                   '<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\n')
        for name, properties in entities.items():
            file.write(f'<entity name="{name}">{"".join(properties)}</entity>\n')
        file.write("</model>\n")


class Case:
    """A store of owners in boxes with items, and what a mapping file makes of it."""

    def __init__(self, seed, folder):
        self.r = r = random.Random(seed)
        self.folder = folder
        self.kind = r.choice(list(TYPES))
        self.many_to_many = r.random() < 0.6
        self.ordered = r.random() < 0.4
        self.pairs_from = r.choice(("Owner", "Item")) if self.many_to_many else "Owner"
        self.filtered = r.random() < 0.3
        self.finds = r.random() < 0.4
        self.takes_nil = r.random() < 0.4
        self.whole = r.choice(("all", "filter", "alone"))
        self.sorting = [(k, r.random() < 0.5)
                        for k in r.sample(("rank", "value", "label", "box.name"), r.randint(1, 3))]
        self.write_models()
        self.make()

    def write_models(self):
        old = {
            "Box": [attribute("name", "String"), many("owners", "Owner", "box")],
            "Item": [attribute("name", "String"),
                     many("owners", "Owner", "items", self.ordered) if self.many_to_many
                     else one("owners", "Owner", "items")],
            "Kind": [attribute("value", self.kind)],
            "Owner": [attribute("value", self.kind), attribute("label", "String"),
                      attribute("rank", "Integer 32"), one("box", "Box", "owners"),
                      many("items", "Item", "owners", self.ordered)],
        }
        new = {
            "Box": [attribute("name", "String"), many("owners", "Owner", "box", True)],
            "Item": [attribute("name", "String"), many("links", "Link", "item")],
            "Kind": [attribute("value", self.kind), many("owners", "Owner", "kind")],
            "Link": [attribute("text", "String"), one("item", "Item", "links"),
                     one("owner", "Owner", "links")],
            "Owner": [attribute("label", "String"), one("box", "Box", "owners"),
                      one("kind", "Kind", "owners"), one("root", "Root", "owners"),
                      many("links", "Link", "owner")],
            "Root": [attribute("name", "String"), many("owners", "Owner", "root")],
        }
        bundle = os.path.join(self.folder, "Random.xcdatamodeld")
        later = {**new, "Box": [*new["Box"], attribute("color", "String")]}
        self.models = [os.path.join(bundle, f"Random{n}.xcdatamodel") for n in ("", " 2", " 3")]
        for path, model in zip(self.models, (old, new, later)):
            write_model(path, model)

    def value(self):
        r = self.r
        if r.random() < 0.2:
            return None
        if self.kind == "String":
            return r.choice(("a", "A", "é", "e\u0301", "", " a", "b" * 40, "1", "1.0"))
        if self.kind == "Boolean":
            return r.randint(0, 1)
        if self.kind in ("Double", "Date"):
            return r.choice((0.5, -1.25, 1e9 + 0.5, 3.75))
        return r.choice((0, 1, -7, 2**31 - 1, 12))

    def make(self):
        r = self.r
        self.store = os.path.join(self.folder, "old.sqlite")
        keys = lambda most: sorted(r.sample(range(1, 3 * most + 2), r.randint(0, most)))
        self.boxes = {k: f"box {r.randint(0, 3)}" for k in keys(4)}
        self.items = {k: r.choice((None, "x", "y", "z")) for k in keys(12)}
        self.kinds = {k: self.value() for k in keys(4)}
        self.owners = {k: {"value": self.value(), "label": r.choice((None, "p", "q", "Q")),
                           "rank": r.choice((None, 1, 2, 3)),
                           "box": r.choice([None, *self.boxes])} for k in keys(25)}
        self.pairs = {}  # (owner, item) -> (place of the item, place of the owner)
        for item in self.items:
            several = r.randint(0, 4) if self.many_to_many else r.randint(0, 1)
            for owner in r.sample(sorted(self.owners), min(several, len(self.owners))):
                self.pairs[owner, item] = (r.randrange(10**6), r.randrange(10**6))

    def fill(self, tool):
        tool.run("generate", self.models[0], "--rows", 0, "--output", self.store)
        db = sqlite3.connect(self.store)
        numbers = dict(db.execute("select Z_NAME, Z_ENT from Z_PRIMARYKEY"))
        for k, name in self.boxes.items():
            db.execute("insert into ZBOX (Z_PK, Z_ENT, Z_OPT, ZNAME) values (?, ?, 1, ?)",
                       (k, numbers["Box"], name))
        for k, name in self.items.items():
            db.execute("insert into ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME) values (?, ?, 1, ?)",
                       (k, numbers["Item"], name))
        for k, value in self.kinds.items():
            db.execute("insert into ZKIND (Z_PK, Z_ENT, Z_OPT, ZVALUE) values (?, ?, 1, ?)",
                       (k, numbers["Kind"], value))
        for k, o in self.owners.items():
            db.execute("insert into ZOWNER (Z_PK, Z_ENT, Z_OPT, ZVALUE, ZLABEL, ZRANK, ZBOX) "
                       "values (?, ?, 1, ?, ?, ?, ?)",
                       (k, numbers["Owner"], o["value"], o["label"], o["rank"], o["box"]))
        if self.many_to_many:
            [table] = [n for (n,) in db.execute(
                "select name from sqlite_master where type = 'table' and name glob 'Z_[0-9]*'")]
            columns = [c[1] for c in db.execute(f'pragma table_info("{table}")')]
            own, other = (f"Z_{numbers['Owner']}", f"Z_{numbers['Item']}")
            [owner] = [c for c in columns if c.startswith(own)]
            [item] = [c for c in columns if c.startswith(other)]
            for (a, b), (first, second) in self.pairs.items():
                names, values = [owner, item], [a, b]
                if self.ordered:
                    # The place of an item is named after the key of the item.
                    names += [f"Z_FOK_{item[2:]}", f"Z_FOK_{owner[2:]}"]
                    values += [first, second]
                db.execute(f"insert into \"{table}\" ({', '.join(names)}) values "
                           f"({', '.join('?' * len(values))})", values)
        else:
            for (a, b), (first, _) in self.pairs.items():
                db.execute("update ZITEM set ZOWNERS = ?" +
                           (f", Z_FOK_OWNERS = {first}" if self.ordered else "") +
                           " where Z_PK = ?", (a, b))
        self.maxima = {}
        for name, rows in (("Box", self.boxes), ("Item", self.items), ("Kind", self.kinds),
                           ("Owner", self.owners)):
            self.maxima[name] = max(rows, default=0) + self.r.randint(0, 3)
            db.execute("update Z_PRIMARYKEY set Z_MAX = ? where Z_NAME = ?",
                       (self.maxima[name], name))
        db.commit()
        db.close()

    def stamp(self, mappings, tool):
        """Says for which versions the mappings are, so that they fit no later step."""
        inferred = os.path.join(self.folder, "inferred.json")
        tool.run("map", "--from", self.store, "--to", self.models[1], "--output", inferred)
        hashes = {}
        with open(inferred, encoding="utf-8") as file:
            for known in json.load(file)["mappings"]:
                hashes.update({(side, known[side]): known[side + "Hash"]
                               for side in ("source", "destination") if side + "Hash" in known})
        for mapping in mappings:
            for side in ("source", "destination"):
                if side in mapping:
                    mapping[side + "Hash"] = hashes[side, mapping[side]]

    def mapping(self, tool):
        links = {"name": "Links", "source": self.pairs_from, "destination": "Link"}
        if self.pairs_from == "Owner":
            links["onePer"] = {"pairIn": "items", "sourceIn": "owner", "memberIn": "item"}
            links["attributes"] = {"text": "$member.name"}
        else:
            links["onePer"] = {"pairIn": "owners", "sourceIn": "item", "memberIn": "owner"}
            links["attributes"] = {"text": "$source.name"}
        kinds = {"name": "Kinds", "source": "Owner", "destination": "Kind", "onePer": {
            "value": "$source.value", "attribute": "value", "sourceIn": "owners"}}
        if self.takes_nil:
            kinds["onePer"]["nil"] = "one"
        if self.finds:
            kinds["onePer"]["findsExisting"] = True
        root = {"name": "TheRoot", "destination": "Root", "onePer": {"all": True},
                "attributes": {"name": '"all"'}}
        if self.whole != "alone":
            root["source"] = "Owner"
            root["onePer"]["sourceIn"] = "owners"
        if self.whole == "filter":
            root["filter"] = "rank == 2"
        item = {"source": "Item", "destination": "Item"}
        if self.filtered:
            item["filter"] = "name != 'x'"
        box = {"source": "Box", "destination": "Box", "relationships": {"owners": {"sortedBy": [
            ("-" if descending else "") + key for key, descending in self.sorting]}}}
        mappings = [links, kinds, root, item, box, {"source": "Owner", "destination": "Owner"},
                    {"source": "Kind", "destination": "Kind"}]
        self.r.shuffle(mappings)
        self.stamp(mappings, tool)
        path = os.path.join(self.folder, "map.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "godwit mapping model", "version": 1, "mappings": mappings}, file)
        return path

    def expected(self):
        items = {k for k, name in self.items.items()
                 if not self.filtered or name not in (None, "x")}
        # `!=` of a missing value is true in predicates.
        if self.filtered:
            items |= {k for k, name in self.items.items() if name is None}
        if self.pairs_from == "Owner":
            ordered = sorted(self.pairs, key=lambda p: (
                p[0], self.pairs[p][0] if self.ordered else 0, p[1]))
        else:
            ordered = sorted(self.pairs, key=lambda p: (
                p[1], self.pairs[p][1] if self.ordered else 0, p[0]))
        links = [(n, owner, item, self.items[item]) for n, (owner, item) in
                 enumerate((p for p in ordered if p[1] in items), 1)]
        kinds = dict(self.kinds)
        highest, found, owner_kinds, made = self.maxima["Kind"], {}, {}, 0
        if self.finds:
            for k in sorted(self.kinds):
                found.setdefault(self.kinds[k], k)
        for k, o in sorted(self.owners.items()):
            value = o["value"]
            if value is None and not self.takes_nil:
                owner_kinds[k] = None
                continue
            if value not in found:
                highest, made = highest + 1, made + 1
                found[value] = highest
                kinds[highest] = value
            owner_kinds[k] = found[value]
        roots = {k: 1 if self.whole == "all" or (self.whole == "filter" and o["rank"] == 2)
                 else None for k, o in self.owners.items()}
        order = {}
        for box in self.boxes:
            members = sorted(k for k, o in self.owners.items() if o["box"] == box)
            # A reversed sort is stable too, so those that agree stay in the order of their keys.
            for key, descending in reversed(self.sorting):
                members.sort(key=lambda k: self.sort_key(k, key), reverse=descending)
            order[box] = members
        values = {o["value"] for o in self.owners.values()}
        counts = {"Links": len(self.pairs), "TheRoot": 1, "Kinds": len(
            values if self.takes_nil else values - {None})}
        return {"links": links, "kinds": sorted(kinds.items()), "owner kinds": owner_kinds,
                "roots": roots, "order": order, "maxima": {
                    **self.maxima, "Kind": highest, "Link": len(links), "Root": 1}}, counts

    def sort_key(self, owner, key):
        o = self.owners[owner]
        if key == "box.name":
            value = self.boxes.get(o["box"])
        else:
            value = o[key]
        if value is None:
            return (0, 0)
        return (1, value.encode() if isinstance(value, str) else value)


def found_in(path, boxes):
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    rows = lambda sql: db.execute(sql).fetchall()
    out = {
        "links": rows("select Z_PK, ZOWNER, ZITEM, ZTEXT from ZLINK order by Z_PK"),
        "kinds": rows("select Z_PK, ZVALUE from ZKIND order by Z_PK"),
        "owner kinds": dict(rows("select Z_PK, ZKIND from ZOWNER")),
        "roots": dict(rows("select Z_PK, ZROOT from ZOWNER")),
        "order": {box: [k for (k,) in rows(
            f"select Z_PK from ZOWNER where ZBOX = {box} order by Z_FOK_BOX")] for box in boxes},
        "maxima": dict(rows("select Z_NAME, Z_MAX from Z_PRIMARYKEY")),
    }
    places = rows("select ZBOX, Z_FOK_BOX from ZOWNER where ZBOX is not null")
    if len(set(places)) != len(places) or any(p is None for _, p in places):
        out["order"] = f"places that are missing or doubled: {places}"
    db.close()
    return out


FAULTS = (
    "update ZLINK set ZITEM = NULL where Z_PK = (select min(Z_PK) from ZLINK)",
    "delete from ZLINK where Z_PK = (select max(Z_PK) from ZLINK)",
    "update ZOWNER set ZKIND = NULL where Z_PK = (select min(Z_PK) from ZOWNER where ZKIND > 0)",
    "delete from ZROOT",
    "update Z_PRIMARYKEY set Z_MAX = Z_MAX + 1 where Z_NAME = 'Link'",
    "update ZOWNER set Z_FOK_BOX = -Z_FOK_BOX where ZBOX in "
    "(select ZBOX from ZOWNER group by 1 having count(*) > 1)",
)


def judge(tool, seed, folder):
    case = Case(seed, folder)
    case.fill(tool)
    mapping = case.mapping(tool)
    expected, counts = case.expected()
    wrong, first = [], None
    common = ("--to", case.models[1], "--mapping", mapping)
    allowed = ("--allow-loss",) if case.filtered else ()
    plan = tool.json("plan", case.store, *common, *allowed, "--json")
    told = {n["mapping"]: n for n in plan.get("newObjects", [])}
    for name, count in counts.items():
        if told.get(name, {}).get("objects") != count:
            wrong.append(f"plan tells {told.get(name)} of {name}, which makes {count}")
    for engine in ENGINES:
        for workers in (1, 3):
            output = os.path.join(folder, f"{engine}-{workers}.sqlite")
            tool.run("migrate", case.store, *common, *allowed, "--engine", engine, "--workers",
                     workers, "--output", output)
            found = found_in(output, case.boxes)
            wrong += [f"{engine}, {workers}: {what} {found[what]}, expected {expected[what]}"
                      for what in expected if found[what] != expected[what]]
            if first:
                # The moment of the migration is nowhere in the store.
                same_bytes(first, output, f"{engine}, {workers}")
            first = first or output
    output = os.path.join(folder, "later.sqlite")
    tool.run("migrate", case.store, "--to", case.models[2], "--progressive", "--mapping", mapping,
             *allowed, "--output", output)
    found = found_in(output, case.boxes)
    wrong += [f"one version later: {what} {found[what]}, expected {expected[what]}"
              for what in expected if found[what] != expected[what]]
    if wrong:
        return wrong
    tool.run("verify", case.store, first, *common)
    tool.run("verify", case.store, output, "--to", case.models[2], "--progressive", "--mapping",
             mapping)
    fault = FAULTS[seed % len(FAULTS)]
    spoiled = os.path.join(folder, "spoiled.sqlite")
    shutil.copyfile(first, spoiled)
    db = sqlite3.connect(spoiled)
    changed = db.execute(fault).rowcount
    db.commit()
    db.close()
    if changed > 0:
        told = tool.call("verify", case.store, spoiled, *common)
        if told.returncode != 65:
            wrong.append(f"verify ends with {told.returncode} after: {fault}")
    return wrong


def main():
    options = parser(__doc__, needs_corpus=False)
    options.add_argument("--seeds", default="1-16", help="such as 7 or 1-16")
    options = options.parse_args()
    tool = Tool(options.godwit)
    cases = [(f"seed {s}", lambda folder, s=s: judge(tool, s, folder))
             for s in seeds(options.seeds)]
    run_cases(options, cases, "mapping files of new objects")


if __name__ == "__main__":
    main()
