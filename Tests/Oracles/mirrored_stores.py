"""Made-up stores that are mirrored with CloudKit, and what a migration may do to one."""
import os
import plistlib
import shutil
import sqlite3
import time

from store import quoted

RECORDS = "ANSCKRECORDMETADATA"
# The entities of the first version, and what others have besides; Comic is a subentity of Book.
ROOTS = {"Book": (("title", "String"), ("pages", "Integer 64")),
         "Person": (("name", "String"),), "Shelf": (("place", "String"),)}
COMIC = (("colours", "Integer 16"),)
VERSIONS = {
    "Shop 1": (),
    "Shop 2": ("Aisle",),
    "Shop 3": ("Aisle", "Catalogue", "Zone", "note"),
    "Shop 4": ("gone",),
}
FLAGS = ("--cloudkit", "carry")


def attribute(name, kind):
    return f'<attribute name="{name}" optional="YES" attributeType="{kind}"/>'


def write_model(bundle, name, parts):
    roots = {n: list(a) for n, a in ROOTS.items()}
    roots.update({n: [("word", "String")] for n in parts if n[0].isupper()})
    if "gone" in parts:
        del roots["Shelf"]
    if "note" in parts:
        roots["Book"].append(("note", "String"))
    text = ['<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
            '<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" '
            f'userDefinedModelVersionIdentifier="{name}">']
    for entity, attributes in roots.items():
        text.append(f'<entity name="{entity}">' + "".join(attribute(*a) for a in attributes))
        if entity == "Book":
            text.append('<relationship name="author" optional="YES" maxCount="1" deletionRule='
                        '"Nullify" destinationEntity="Person" inverseName="books" '
                        'inverseEntity="Person"/>')
        if entity == "Person":
            text.append('<relationship name="books" optional="YES" toMany="YES" deletionRule='
                        '"Nullify" destinationEntity="Book" inverseName="author" '
                        'inverseEntity="Book"/>')
        text.append("</entity>")
    text.append('<entity name="Comic" parentEntity="Book">'
                + "".join(attribute(*a) for a in COMIC) + "</entity></model>")
    folder = os.path.join(bundle, name + ".xcdatamodel")
    os.makedirs(folder)
    with open(os.path.join(folder, "contents"), "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    return folder


class Lab:
    """The models, and stores of the first version with a record of each object."""

    def __init__(self, tool, folder, rows):
        self.tool, self.bundle = tool, os.path.join(folder, "Shop.xcdatamodeld")
        self.models = {n: write_model(self.bundle, n, p) for n, p in VERSIONS.items()}
        with open(os.path.join(self.bundle, ".xccurrentversion"), "wb") as file:
            plistlib.dump({"_XCCurrentVersionName": "Shop 3.xcdatamodel"}, file)
        self.large, self.small = (os.path.join(folder, n + ".sqlite") for n in ("large", "small"))
        began = time.monotonic()
        self.make(self.large, rows)
        self.seconds = time.monotonic() - began
        self.make(self.small, 400)

    def make(self, path, rows):
        self.tool.run("generate", self.bundle, "--version", "Shop 1", "--rows", rows, "--cloudkit",
                      "--output", path)

    def arguments(self, store, target, *flags):
        return ("migrate", store, "--to", self.models[target], "--models", self.bundle, *FLAGS,
                *flags)


def opened(path):
    wal = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
    how = "mode=ro" if wal else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{path}?{how}", uri=True)


def names(db):
    return dict(db.execute("select Z_ENT, Z_NAME from Z_PRIMARYKEY where Z_ENT < 16000"))


def table(name):
    return "Z" + {"Comic": "Book"}.get(name, name).upper()


def judge(source, result, gone=()):
    """What a migration did to mirroring besides renumbering, and dropping the records of entities
    that are gone."""
    one, two = opened(source), opened(result)
    found = [f"integrity_check: {row[0]}" for row in two.execute("pragma integrity_check(5)")
             if row[0] != "ok"]
    mine = ("select type, name, tbl_name, sql from sqlite_master where tbl_name like 'ANSCK%' "
            "order by 1, 2")
    if one.execute(mine).fetchall() != two.execute(mine).fetchall():
        found.append("the schema of mirroring differs")
    for (name,) in one.execute("select name from sqlite_master where type = 'table' and name like "
                               "'ANSCK%' and name <> ?", (RECORDS,)):
        query = f"select * from {quoted(name)} order by 1"
        if one.execute(query).fetchall() != two.execute(query).fetchall():
            found.append(f"{name} differs")
    keys = "select * from Z_PRIMARYKEY where Z_ENT > 17000 order by 1"
    if one.execute(keys).fetchall() != two.execute(keys).fetchall():
        found.append("the rows of Z_PRIMARYKEY differ")
    found += judge_records(one, two, gone) + judge_frame(one, two)
    one.close()
    two.close()
    return found


def judge_records(one, two, gone):
    columns = [c[1] for c in one.execute(f"pragma table_info({RECORDS})")]
    order = ["Z_PK", "ZENTITYID", "ZENTITYPK"]
    order += [c for c in columns if c not in order]
    query = f"select {', '.join(order)} from {RECORDS} order by 1"
    before, after = names(one), names(two)
    there = {db: {n: {k for k, in db.execute(
        f"select Z_PK from {table(n)} where Z_ENT = {number}")} for number, n in known.items()}
        for db, known in ((one, before), (two, after))}
    found, made = [], iter(two.execute(query))
    for row in one.execute(query):
        name = before.get(row[1])
        if row[1] is not None and (name is None or name in gone):
            continue
        other = next(made, None)
        if other is None or other[0] != row[0]:
            return found + [f"record {row[0]} is missing: there is {other and other[0]}"]
        if after.get(other[1]) != name or (row[1] is None) != (other[1] is None):
            found.append(f"record {row[0]} of {name} leads to {after.get(other[1])}")
        if other[2:] != row[2:]:
            found.append(f"record {row[0]}: {other[2:]} instead of {row[2:]}")
        if name and row[2] in there[one][name] and other[2] not in there[two][name]:
            found.append(f"record {row[0]}: its {name} is gone")
        if len(found) > 10:
            break
    if not found and next(made, None):
        found.append("a record is new")
    return found


def judge_frame(one, two):
    """Transactions that records lead to, and metadata, which mirroring relies on."""
    found = []
    columns = {c[1] for c in one.execute(f"pragma table_info({RECORDS})")}
    for column in columns & {"ZLASTEXPORTEDTRANSACTIONNUMBER", "ZPENDINGEXPORTTRANSACTIONNUMBER"}:
        led = (f"select count(*), count(t.Z_PK) from {RECORDS} as r join ATRANSACTION as t "
               f"on t.Z_PK = r.{column} where r.ZENTITYID in ({{}})")
        keep = [{n: k for k, n in names(db).items()} for db in (one, two)]
        both = sorted(keep[0].keys() & keep[1].keys())
        first, second = (db.execute(led.format(", ".join(str(k[n]) for n in both))).fetchone()
                         for db, k in zip((one, two), keep))
        if first != second:
            found.append(f"{column} leads to {second} transactions instead of {first}")
    history = "select * from {} order by 1"
    for name in ("ATRANSACTION", "ATRANSACTIONSTRING", "ACHANGE"):
        rows = one.execute(history.format(name)).fetchall()
        if two.execute(history.format(name)).fetchall()[:len(rows)] != rows:
            found.append(f"{name} differs")
    (uuid, plist), (other, made) = (db.execute("select Z_UUID, Z_PLIST from Z_METADATA").fetchone()
                                    for db in (one, two))
    plist, made = plistlib.loads(plist), plistlib.loads(made)
    if uuid != other or any(made.get(k) != v for k, v in plist.items()
                            if not k.startswith("NSStoreModel")):
        found.append("the metadata differ")
    return found


def copied(store, folder, name="Shop.sqlite"):
    path = os.path.join(folder, name)
    shutil.copyfile(store, path)
    return path
