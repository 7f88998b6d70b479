#!/usr/bin/env python3
"""A store that crosses the lock page at byte 2^30, or byte 2^32: migrated by both engines or one,
compared, checked and used on.

usage: huge.py --godwit P --corpus D [--gigabytes 1.2] [--engines sql,pages]
               [--stages make,migrate,compare,use] [--scratch S]
Stages run one by one in a scratch folder that is kept where it is named. The corpus is not read.
"""
import filecmp
import os
import random
import shutil
import sqlite3
import time

from coredata import Layout, Model, key
from random_models import A, E, End, Models
from run import Failure, Tool, parser, run_cases

SMALL, LOCK_PAGE = 200_000, 2**30 // 4096 + 1
STAGES = ("make", "migrate", "compare", "use")


def models(folder):
    """Writes both models: values change their types, an order is new, one entity stays as it is."""
    m = Models(random.Random(1))
    m.entities = {
        "Item": E("Item", attributes={a.name: a for a in (
            A("title", "String", indexed=True), A("body", "Binary"), A("number", "Integer 32"),
            A("price", "Decimal", indexed=True))}),
        "Keeper": E("Keeper", attributes={"name": A("name", "String", indexed=True)}),
        "Tag": E("Tag", attributes={"label": A("label", "String")})}
    m.relations = [(End("Keeper", "items", True), End("Item", "keeper", False), "Item"),
                   (End("Item", "tags", True), End("Tag", "items", True), "Tag")]
    paths = [os.path.join(folder, "Huge.xcdatamodeld", n + ".xcdatamodel") for n in ("Old", "New")]
    if not os.path.exists(paths[0]):
        m.write(paths[0])
        item = m.entities["Item"].attributes
        item["count"] = A("count", "Double", identifier="number")
        item["grade"] = A("grade", "Integer 16", optional=False, default="7", indexed=True)
        del item["number"]
        m.relations[0][0].ordered = True
        m.write(paths[1])
    return paths


def make(tool, folder, size):
    old, _ = models(folder)
    store, layout = os.path.join(folder, "Huge.sqlite"), Layout(Model(old))
    tool.run("generate", old, "--rows", 0, "--output", store)
    db = sqlite3.connect(store)
    db.execute("pragma synchronous = off")
    db.execute("pragma journal_mode = off")
    r, column = random.Random(2), layout.columns
    noise = r.randbytes(1 << 20)

    def items():
        written, pk = 0, 0
        while written < size:
            pk += 1 + (pk % 1000 == 0) * 5000
            length = pk * 7919 % 2600 if pk % 50 else pk * 7919 % 30_000
            written += length + 120
            start = pk * 31 % (len(noise) - length)
            yield (pk, layout.model.numbers["Item"], f"item {pk * 7919 % 1_000_003} of {pk}",
                   noise[start:start + length], pk % 100_000, pk % 977 * 0.25,
                   pk * 13 % SMALL + 1)
    names = [column["Item", n] for n in ("title", "body", "number", "price", "keeper")]
    db.executemany(f"insert into ZITEM (Z_PK, Z_ENT, Z_OPT, {', '.join(names)})"
                   " values (?, ?, 1, ?, ?, ?, ?, ?)", items())
    for entity, text in (("Keeper", "name"), ("Tag", "label")):
        db.executemany(
            f"insert into Z{entity.upper()} (Z_PK, Z_ENT, Z_OPT, {column[entity, text]})"
            " values (?, ?, 1, ?)",
            ((n, layout.model.numbers[entity], f"{text} {n}") for n in range(1, SMALL + 1)))
    join, = layout.joins
    names = [join.columns[key(p)] for p in (join.inverse, join.relationship)]
    keys = [pk for (pk,) in db.execute("select Z_PK from ZITEM where Z_PK % 3 = 0")]
    if join.relationship.owner == "Tag":
        names.reverse()
    db.executemany(f"insert into {join.names[0]} ({', '.join(names)}) values (?, ?)",
                   ((pk, pk * 17 % SMALL + 1) for pk in keys))
    db.execute("update Z_PRIMARYKEY set Z_MAX = (select max(Z_PK) from ZITEM)")
    db.commit()
    db.close()


def result(folder, engine):
    return os.path.join(folder, f"result-{engine}.sqlite")


def migrate(tool, folder, engine):
    old, new = models(folder)
    if os.path.exists(result(folder, engine)):
        os.remove(result(folder, engine))
    told = os.path.join(folder, f"report-{engine}.json")
    tool.run("migrate", os.path.join(folder, "Huge.sqlite"), "--to", new, "--models",
             os.path.dirname(old), "--output", result(folder, engine), "--engine", engine,
             "--workers", 2, "--report", told)
    with open(told, encoding="utf-8") as file:
        if f'"engine":"{engine}"' not in file.read().replace(" ", "").replace("\n", ""):
            raise Failure(f"engine {engine} was asked for and did not write the rows")


def compare(folder, engines):
    copies = []
    for engine in engines:
        db = sqlite3.connect(f"file:{result(folder, engine)}?mode=ro&immutable=1", uri=True)
        copies.append(result(folder, engine) + ".vacuumed")
        if os.path.exists(copies[-1]):
            os.remove(copies[-1])
        db.execute("vacuum into ?", (copies[-1],))
        db.close()
    alike = all(filecmp.cmp(copies[0], other, shallow=False) for other in copies[1:])
    for copy in copies:
        os.remove(copy)
    if not alike:
        raise Failure("VACUUM INTO copies of the two engines' results differ")


def use(folder, size):
    """What SQLite does in the result of the page engine; it is changed by that."""
    db = sqlite3.connect(result(folder, "pages"))
    db.isolation_level = None
    db.execute("pragma synchronous = off")
    db.execute("pragma cache_size = -200000")

    def step(name, *statements):
        began = time.monotonic()
        for statement in statements:
            db.executescript(statement)
        print(f"  {name}: {time.monotonic() - began:.0f} s", flush=True)

    def sound(when):
        began = time.monotonic()
        found = db.execute("pragma integrity_check(3)").fetchall()
        print(f"  integrity_check {when}: {time.monotonic() - began:.0f} s", flush=True)
        if found != [("ok",)]:
            raise Failure(f"integrity_check {when}: {found}")

    pages, = db.execute("pragma page_count").fetchone()
    if pages * 4096 < size or pages <= LOCK_PAGE:
        raise Failure(f"the result has only {pages} pages")
    sound("after the migration")
    step("insert", "insert into ZITEM (Z_ENT, ZBODY, ZTITLE) select Z_ENT, ZBODY || ZBODY, 'new'"
                   " from ZITEM where Z_PK % 50 = 1")
    step("update", "update ZITEM set ZBODY = zeroblob(length(ZBODY) * 2), ZCOUNT = 1"
                   " where Z_PK % 40 = 3", "update ZITEM set ZGRADE = 8 where Z_PK % 20 = 0")
    step("delete", "delete from ZITEM where Z_PK % 10 = 7", "delete from ZTAG where Z_PK % 2 = 0")
    sound("after insert, update, delete")
    step("incremental_vacuum of some", "pragma incremental_vacuum(2000)")
    step("drop table", "drop table ZTAG")
    step("incremental_vacuum of all", "pragma incremental_vacuum")
    sound("after drop table and incremental_vacuum")
    step("vacuum", "vacuum")
    sound("after vacuum")
    db.close()


def check(options, folder):
    folder = options.scratch or folder
    tool, size = Tool(options.godwit, timeout=7200), int(options.gigabytes * 2**30)
    engines = options.engines.split(",")
    stages = [(n, e) for n in options.stages.split(",")
              for e in (engines if n == "migrate" else [None])]
    for name, engine in stages:
        began = time.monotonic()
        if name == "make":
            make(tool, folder, size)
        elif name == "migrate":
            migrate(tool, folder, engine)
        elif name == "compare":
            compare(folder, engines)
        else:
            use(folder, size)
        print(f"{name} {engine or ''}: {time.monotonic() - began:.0f} s", flush=True)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".sqlite"):
            print(f"{name}: {os.path.getsize(os.path.join(folder, name)):,} bytes")
    if not options.scratch:
        shutil.rmtree(folder)


def main():
    p = parser(__doc__)
    p.add_argument("--gigabytes", type=float, default=1.2, help="size of the store")
    p.add_argument("--engines", default="sql,pages")
    p.add_argument("--stages", default=",".join(STAGES))
    options = p.parse_args()
    run_cases(options, [("huge", lambda folder: check(options, folder))], "stores")


if __name__ == "__main__":
    main()
