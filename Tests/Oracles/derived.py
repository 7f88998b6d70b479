"""Derived attributes and R-trees for the oracles: plants them in models and stores, and says
whether they are right in a result, and go on being right.

The triggers are written here again, from docs/reference/store-format.md and what real stores have.
"""
import random
import sqlite3
import xml.etree.ElementTree as ET

from coredata import key
from store import quoted

POINT = "_NSLocationAttributeDerivedComponents"
FUNCTIONS = ("NSCoreDataDATriggerUpdatedAffectedObjectValue",
             "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue")
NUMBERS = ("Integer 16", "Integer 32", "Integer 64", "Double", "Float", "Boolean", "String")


def plant(path, seed, trees=True):
    """Adds derived attributes, and R-trees unless told otherwise, to root entities of a model; what
    is added depends on the names alone, so that two versions have much of it in common."""
    file = f"{path}/contents"
    tree = ET.parse(file)
    entities = {e.get("name"): e for e in tree.getroot().findall("entity")}

    def chosen(*names):
        return random.Random(f"{seed} {names}").random() < 0.6

    def lineage(name):
        while name is not None:
            yield entities[name]
            name = entities[name].get("parentEntity")

    def relationship(name, other):
        return next((r for e in lineage(name) for r in e.findall("relationship")
                     if r.get("name") == other), None)
    for name, entity in entities.items():
        if entity.get("parentEntity"):
            continue
        for r in [r for r in entity.findall("relationship") if r.get("transient") != "YES"]:
            target, own = r.get("destinationEntity"), r.get("name")
            if not chosen(name, own):
                continue
            if r.get("toMany") == "YES":
                # A new count without an inverse is refused: no file shows its triggers.
                inverse = r.get("inverseName") and relationship(target, r.get("inverseName"))
                if inverse is not None and inverse.get("toMany") != "YES":
                    add(entity, f"count_{own}", "Integer 32", f"{own}.@count")
                continue
            for a in [a for e in lineage(target) for a in e.findall("attribute")]:
                if a.get("attributeType") in NUMBERS and a.get("transient") != "YES" \
                        and a.get("derived") != "YES":
                    add(entity, f"value_{own}", a.get("attributeType"), f"{own}.{a.get('name')}")
                    break
        if trees and chosen(name, "place"):
            for coordinate in ("latitude", "longitude"):
                ET.SubElement(entity, "attribute", name=coordinate, optional="YES",
                              attributeType="Double")
            point = ET.SubElement(entity, "attribute", name="place", optional="YES",
                                  transient="YES", attributeType="Transformable")
            info = ET.SubElement(point, "userInfo")
            ET.SubElement(info, "entry", key=POINT, value="latitude, longitude")
    tree.write(file, encoding="UTF-8", xml_declaration=True)


def add(entity, name, kind, expression):
    ET.SubElement(entity, "attribute", name=name, optional="YES", attributeType=kind,
                  derived="YES", derivationExpression=expression)


def made(table, entity, name, kind, event, body, condition=""):
    """The text of one trigger of a derived attribute."""
    return (f"CREATE TRIGGER Z_DA_{table}_{entity}_{name}_{kind} AFTER {event} ON {table} "
            f"FOR EACH ROW {condition}BEGIN {body}END")


def report(table, name, column, inserted, where):
    """The statement by which Core Data learns of the rows that a trigger changed."""
    return (f"SELECT {FUNCTIONS[inserted]}('{table}', Z_ENT, Z_PK, '{name}', {column}) "
            f"FROM {table} WHERE {where}; ")


def count_triggers(t, c, entity, name, p, k, numbers=None):
    """The five triggers of a count of the rows of p whose column k is a key of t; with the first
    and the last entity number where the triggers compare them."""
    among = f" AND {numbers[0]} <= Z_ENT AND Z_ENT <= {numbers[1]}" if numbers else ""
    limited = f"WHEN {numbers[0]} <= NEW.Z_ENT AND NEW.Z_ENT <= {numbers[1]} " if numbers else ""

    def counted(kind, event, row, change):
        where = f"Z_PK = {row}.{k}{among}"
        return made(p, entity, name, kind, event,
                    f"UPDATE {t} SET {c} = {change} WHERE {where}; "
                    + report(t, name, c, False, where), f"WHEN ({row}.{k} NOT NULL) ")
    own = "Z_PK = NEW.Z_PK"
    return [counted("PARAMETER_INSERT", "INSERT", "NEW", f"IFNULL({c}, 0) + 1"),
            counted("PARAMETER_UPDATE_INCREMENT", f"UPDATE OF {k}", "NEW", f"{c} + 1"),
            counted("PARAMETER_UPDATE_DECREMENT", f"UPDATE OF {k}", "OLD", f"{c} - 1"),
            counted("PARAMETER_DELETE", "DELETE", "OLD", f"{c} - 1"),
            made(t, entity, name, "SOURCE_INSERT", "INSERT",
                 f"UPDATE {t} SET {c} = (SELECT IFNULL(COUNT({k}), 0) FROM {p} WHERE {k} = "
                 f"NEW.Z_PK) WHERE {own}; " + report(t, name, c, True, own), limited)]


def unlike_real_files(text):
    """Where the triggers written here are not those of the two real stores in a corpus' text."""
    groups = [[line for line in part.splitlines() if line.startswith("CREATE TRIGGER ")]
              for part in text.split("# Second")]
    written = [count_triggers("ZBOOK", "ZPAGESCOUNT", "Book", "pagesCount", "ZPAGE", "ZBOOK"),
               count_triggers("ZBOOK", "ZPAGESCOUNT", "Book", "pagesCount", "ZPAGE", "Z1PAGES",
                              numbers=(1, 2))]
    return [f"a real store has {a}, and this oracle writes {b}"
            for real, own in zip(groups, written, strict=True)
            for a, b in zip(real, own, strict=True) if a != b]


class Known:
    """One derived attribute with the tables and columns that it is of."""

    def __init__(self, layout, p):
        model = layout.model
        own, _, rest = p.derivation.partition(".")
        r = model.entities[p.owner].own[own]
        self.entity, self.name = p.owner, p.name
        self.table, self.column = layout.table(p.owner), layout.columns[key(p)]
        self.other, self.is_count = layout.table(r.destination), rest == "@count"
        if not self.is_count:
            self.link = layout.columns[key(r)]
            target = next(model.entities[n].own[rest] for n in model.lineage(r.destination)
                          if rest in model.entities[n].own)
            self.value = layout.columns[key(target)]
            self.sql = (f"(select o.{self.value} from {self.other} o "
                        f"where o.Z_PK = t.{self.link})")
            return
        inverse = model.inverse(r)
        self.key = layout.columns[key(inverse)] if inverse else layout.foreign[key(r)][1]
        self.sql = f"(select count(*) from {self.other} o where o.{self.key} = t.Z_PK)"

    def triggers(self):
        t, c, p = self.table, self.column, self.other
        if self.is_count:
            return count_triggers(t, c, self.entity, self.name, p, self.key)
        link, value = self.link, self.value

        def written(table, kind, event, change, where, inserted):
            body = f"UPDATE {t} SET {c} = {change} WHERE {where}; "
            return made(table, self.entity, self.name, kind, event,
                        body + report(t, self.name, c, inserted, where))
        own, mine = f"(SELECT {value} FROM {p} WHERE Z_PK = NEW.{link})", "Z_PK = NEW.Z_PK"
        given, theirs = f"NEW.{value}", f"{link} = NEW.Z_PK"
        return [written(t, "SOURCE_INSERT", "INSERT", own, mine, True),
                written(t, "SOURCE_UPDATE", f"UPDATE OF {link}", own, mine, False),
                written(p, "PARAMETER_INSERT", "INSERT", given, theirs, True),
                written(p, "PARAMETER_UPDATE", f"UPDATE OF {value}", given, theirs, False)]


class Tree:
    """One R-tree."""

    def __init__(self, layout, entity):
        self.name, self.table = f"Z_RT_{entity}_place", layout.table(entity)
        self.sql = (f"CREATE VIRTUAL TABLE {self.name} USING RTREE (Z_PK INTEGER PRIMARY KEY, "
                    "ZLATITUDE_MIN FLOAT, ZLATITUDE_MAX FLOAT, ZLONGITUDE_MIN FLOAT, "
                    "ZLONGITUDE_MAX FLOAT)")

    def triggers(self):
        row = (f"{self.name} (Z_PK, ZLATITUDE_MIN, ZLATITUDE_MAX, ZLONGITUDE_MIN, ZLONGITUDE_MAX) "
               "VALUES (NEW.Z_PK, NEW.ZLATITUDE ,NEW.ZLATITUDE, NEW.ZLONGITUDE, NEW.ZLONGITUDE) ; ")
        bodies = {"INSERT": f"INSERT OR REPLACE INTO {row}",
                  "UPDATE": f"DELETE FROM {self.name} WHERE Z_PK = NEW.Z_PK ; INSERT INTO {row}",
                  "DELETE": f"DELETE FROM {self.name} WHERE Z_PK = OLD.Z_PK ; "}
        return [f"CREATE TRIGGER {self.name}_{e} AFTER {e} ON {self.table} FOR EACH ROW "
                f"BEGIN {b}END" for e, b in bodies.items()]


def parts(layout):
    """The derived attributes and the R-trees of a model, in the order of a store."""
    model, known, trees = layout.model, [], []
    for entity in sorted(model.numbers, key=model.numbers.get):
        own = model.entities[entity].own
        known += [Known(layout, p) for _, p in sorted(own.items())
                  if getattr(p, "derivation", None) and not p.transient]
        if "place" in own and own["place"].transient:
            trees.append(Tree(layout, entity))
    return known, trees


def fill(path, layout):
    """Gives a store the values, trees and triggers that its model asks for."""
    known, trees = parts(layout)
    db = sqlite3.connect(path)
    for k in known:
        db.execute(f"update {k.table} as t set {k.column} = {k.sql}")
    for tree in trees:
        db.execute(tree.sql)
        db.execute(f"insert into {tree.name} select Z_PK, ZLATITUDE, ZLATITUDE, ZLONGITUDE, "
                   f"ZLONGITUDE from {tree.table} not indexed")
    for part in trees + known:
        for sql in part.triggers():
            db.execute(sql)
    db.commit()
    db.close()
    return known, trees


def wrong(db, known, trees):
    """What a store has that its rows do not say."""
    out = []
    for k in known:
        odd = db.execute(f"select Z_PK, {k.column}, {k.sql} from {k.table} t "
                         f"where {k.column} is not {k.sql} limit 3").fetchall()
        out += [f"{k.table}.{k.column}: {odd}"] if odd else []
    for tree in trees:
        rows = {r[0]: r[1:] for r in db.execute(
            "select Z_PK, coalesce(cast(ZLATITUDE as real), 0), "
            f"coalesce(cast(ZLONGITUDE as real), 0) from {tree.table}")}
        points = {r[0]: r[1:] for r in db.execute(f"select * from {tree.name}")}
        if set(rows) != set(points):
            out.append(f"{tree.name}: points of {sorted(set(rows) ^ set(points))[:3]}")
        for pk in set(rows) & set(points):
            bounds = points[pk]
            for v, low, high in zip(rows[pk], bounds[::2], bounds[1::2]):
                if abs(v) < 3e38 and not low - 1e-30 <= v <= high + 1e-30:
                    out.append(f"{tree.name} {pk}: {v} is not within {low}, {high}")
        answer = db.execute("select rtreecheck(?)", (tree.name,)).fetchone()[0]
        if answer not in ("ok", b"ok"):
            out.append(f"{tree.name}: {answer}")
    return out[:5]


def differences(path, layout, r, tame):
    """Where values, trees or triggers of a result are not what its model asks for, and where they
    stop being right as an app goes on: one whose texts can be read, since stubs are given them."""
    known, trees = parts(layout)
    db = sqlite3.connect(path)
    db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
    found = [sql for (sql,) in db.execute(
        "select sql from sqlite_master where type = 'trigger' order by rowid")]
    wanted = [sql for part in trees + known for sql in part.triggers()]
    out = [f"trigger: {sql}" for sql in sorted(set(found) ^ set(wanted))] or (
        ["triggers are in another order"] if found != wanted else [])
    out += wrong(db, known, trees)
    for name in FUNCTIONS:
        db.create_function(name, 5, lambda *_: None)
    for step in range(40):
        if out or not tame or not known + trees:
            break
        sql = change(db, r.choice(known + trees), known, r)
        try:
            db.execute(sql)
        except sqlite3.IntegrityError:
            continue
        out += [f"after {step} changes, {sql}: {line}" for line in wrong(db, known, trees)]
    db.rollback()
    db.close()
    return out


def change(db, part, known, r):
    """One thing that an app does to the rows that something is derived of; Core Data itself lets
    references go before it deletes what they lead to."""
    linked = {k.other for k in known if not k.is_count}
    table = quoted(part.table)

    def some(name):
        row = db.execute(f"select Z_PK from {quoted(name)} order by random() limit 1").fetchone()
        return row[0] if row else "null"
    number = db.execute(f"select coalesce(max(Z_ENT), 1) from {table}").fetchone()
    new = db.execute(f"select coalesce(max(Z_PK), 0) + 1 from {table}").fetchone()[0]
    acts = [f"insert into {table} (Z_PK, Z_ENT) values ({new}, {number[0]})",
            f"delete from {table} where Z_PK = {some(part.table)}"]
    if isinstance(part, Tree):
        acts += [f"update {table} set ZLATITUDE = {r.uniform(-90, 90)} "
                 f"where Z_PK = {some(part.table)}"]
    elif part.is_count:
        other = quoted(part.other)
        fresh = db.execute(f"select coalesce(max(Z_PK), 0) + 1 from {other}").fetchone()[0]
        acts = acts[:1] + [
            f"insert into {other} (Z_PK, {part.key}) values ({fresh}, {some(part.table)})",
            f"update {other} set {part.key} = {some(part.table)} where Z_PK = {some(part.other)}",
            f"update {other} set {part.key} = null where Z_PK = {some(part.other)}",
            f"delete from {other} where Z_PK = {some(part.other)}"]
    else:
        acts += [f"update {table} set {part.link} = {some(part.other)} "
                 f"where Z_PK = {some(part.table)}",
                 f"update {quoted(part.other)} set {part.value} = {r.randrange(2**15)} "
                 f"where Z_PK = {some(part.other)}"]
    return r.choice([a for a in acts if not (
        a.startswith("delete") and any(f" from {quoted(t)} " in a for t in linked))])
