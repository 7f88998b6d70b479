"""The workloads: for each a name, what the table says of it, and what makes its store and runs."""
import os
import shutil
import sqlite3

from lab import Skipped, Step, by_python, one_by_one, recoded, with_log
from measuring import Run
from models import (MORE, THING, attributes, entity, index, relationship, thing, unique,
                    write_version)

WORKLOADS = {}


def workload(name, what):
    def add(make):
        WORKLOADS[name] = what, make
        return make
    return add


# Indexes

INDEXES = {"date": ("when",), "uuid": ("uid",), "string": ("name",), "compound": ("name", "when-")}
FIVE = "".join(index(*elements) for elements in (*INDEXES.values(), ("amount-",)))
ONLY = "UPDATE ZTHING SET ZUID = CAST(printf('%016d', Z_PK * 7919 % 100000007) AS BLOB);"

for kind, elements in INDEXES.items():
    @workload(f"index-{kind}", f"one attribute more, an index of {kind} stays")
    def _(lab, elements=elements):
        return lab.step([thing(index(*elements))], [thing(index(*elements), MORE)],
                        lab.scaled(3_000_000)).against_sql()


@workload("index-five-stay", "one attribute more, five indexes stay")
def _(lab):
    return lab.step([thing(FIVE)], [thing(FIVE, MORE)], lab.scaled(1_000_000)).against_sql()


@workload("index-five-new", "one attribute more, five new indexes")
def _(lab):
    return lab.step([thing()], [thing(FIVE, MORE)], lab.scaled(1_000_000)).against_sql()


@workload("unique-new", "one attribute more, a UUID becomes unique")
def _(lab):
    return lab.step([thing()], [thing(unique("uid"), MORE)], lab.scaled(3_000_000),
                    spoil=ONLY).against_sql()


# Orders and look-ups


def post(ordered, tags="posts"):
    return [entity("Post", attributes({"title": "String"}),
                   relationship(*(("tags", "Tag", "posts") if tags == "posts" else
                                  ("notes", "Note", "post")), many=True, ordered=ordered))]


@workload("order-many-to-many", "a many-to-many relationship gets an order")
def _(lab):
    tag = entity("Tag", attributes({"name": "String"}),
                 relationship("posts", "Post", "tags", many=True))
    old, new = (post(ordered) + [tag] for ordered in (False, True))
    return lab.step(old, new, lab.scaled(2_000_000)).against_sql(computed={
        "Z_1TAGS.Z_FOK_2TAGS":
            "1024 * (1 + row_number() OVER (PARTITION BY Z_1POSTS ORDER BY Z_2TAGS))"})


@workload("order-to-many", "a to-many relationship gets an order")
def _(lab):
    note = entity("Note", attributes({"text": "String"}), relationship("post", "Post", "notes"))
    old, new = (post(ordered, "post") + [note] for ordered in (False, True))
    return lab.step(old, new, lab.scaled(2_000_000)).against_sql(computed={
        "ZNOTE.Z_FOK_POST": "CASE WHEN ZPOST IS NOT NULL THEN 1024 * (1 + row_number() OVER "
                            "(PARTITION BY ZPOST ORDER BY Z_PK)) END"})


@workload("look-ups", "the sample model from 1 to 3: a target becomes polymorphic")
def _(lab):
    bundle = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "sample",
                          "Library.xcdatamodeld")
    old, new = (os.path.join(bundle, f"Library {n}.xcdatamodel") for n in (1, 3))
    rows = lab.scaled(6_000_000)
    step = Step(lab, bundle, old, new, lab.generate(old, rows), rows)
    return step.against_sql("--infer-only", sources={"ZITEM": "ZBOOK"}, computed={
        "ZITEM.Z_ENT": "4", "ZITEM.ZPAGES": "ZPAGECOUNT", "ZITEM.ZMINUTES": "NULL",
        "Z_1BOOKS.Z_4BOOKS": "Z_2BOOKS",
        "ZLOAN.Z4_BOOK": "(SELECT 4 FROM src.ZBOOK b WHERE b.Z_PK = ZLOAN.ZBOOK)"})


# Mapping models

OWNED = [thing(relationship("owner", "Owner", "things")),
         entity("Owner", attributes({"label": "String"}),
                relationship("things", "Thing", "owner", many=True)),
         entity("Setting", attributes({"key": "String", "value": "Integer 64"}))]
NEWER = [thing(relationship("owner", "Owner", "things"), MORE), *OWNED[1:]]
FEW = "DELETE FROM ZSETTING WHERE Z_PK > 10; VACUUM;"


def filtered(lab, name, condition, sql):
    step = lab.step(OWNED, NEWER, lab.scaled(1_000_000, 100), spoil=FEW)

    def edit(mappings, _):
        mappings[name]["filter"] = condition
    flags = "--mapping", step.mapping(edit=edit)
    return step.case(step.migrate(*flags), step.by_sql(*flags, kept={f"Z{name.upper()}": sql}))


@workload("filter", "a mapping model with a filter on the large entity")
def _(lab):
    return filtered(lab, "Thing", "count > 0", "ZCOUNT > 0")


@workload("filter-elsewhere", "a mapping model with a filter on ten objects of another entity")
def _(lab):
    return filtered(lab, "Setting", "value > 0", "ZVALUE > 0")


@workload("validation", "a mapping model of all attributes, validated")
def _(lab):
    step = lab.step([thing()], [thing(MORE)], lab.scaled(1_000_000))
    return step.case(step.migrate("--mapping", step.mapping()), step.migrate(name="inferred"))


@workload("split", "a mapping model that splits an entity in two")
def _(lab):
    step = lab.step([thing()], [thing(), thing(name="Thong")], lab.scaled(100_000))

    def edit(mappings, listed):
        listed[:] = [m for m in listed if m.get("destination") != "Thong"]
        mappings["Thing"].update(type="transform", filter="count > 0")
        listed.append({"name": "Rest", "type": "transform", "source": "Thing",
                       "destination": "Thong", "filter": "count <= 0 OR count == nil",
                       "attributes": {name: f"$source.{name}" for name in THING}})
    flags = "--mapping", step.mapping(edit=edit)
    return step.against_sql(
        *flags, sources={"ZTHONG": "ZTHING"}, computed={"ZTHONG.Z_ENT": "2"},
        kept={"ZTHING": "ZCOUNT > 0", "ZTHONG": "ZCOUNT <= 0 OR ZCOUNT IS NULL"})


BOOKS = [entity("Author", attributes({"code": "Integer 64"})),
         entity("Book", attributes({"by": "Integer 64"}))]
RELATED_BOOKS = [entity("Author", attributes({"code": "Integer 64"}),
                        relationship("books", "Book", "author", many=True)),
                 entity("Book", attributes({"by": "Integer 64"}),
                        relationship("author", "Author", "books"))]
MATCHING = "UPDATE ZAUTHOR SET ZCODE = Z_PK * 3; UPDATE ZBOOK SET ZBY = Z_PK * 3;"


def against_joined_sql(step, *flags):
    return step.against_sql(*flags, computed={
        "ZAUTHOR.Z_OPT": "1", "ZBOOK.Z_OPT": "1",
        "ZBOOK.ZAUTHOR": "FOUND"}, joins={"ZBOOK": "LEFT JOIN (SELECT Z_PK AS FOUND, ZCODE AS CODE "
                                          "FROM src.ZAUTHOR) ON CODE = ZBY"})


@workload("fetch", "a mapping model that fetches an object by an attribute for each object")
def _(lab):
    step = lab.step(BOOKS, RELATED_BOOKS, lab.scaled(40_000), spoil=MATCHING)

    def edit(mappings, _):
        mappings["Book"]["relationships"] = {"author": (
            'FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", '
            f'"{mappings["Author"]["name"]}", FETCH(FUNCTION($manager, "fetchRequestForSourceEntity'
            'Named:predicateString:", "Author", FUNCTION("code == ", "stringByAppendingString:", '
            'CAST($source.by, "NSString"))), $manager.sourceContext, NO))')}
    return against_joined_sql(step, "--mapping", step.mapping(edit=edit))


@workload("objects", "a mapping model, object by object (--engine objects)")
def _(lab):
    step = lab.step([thing()], [thing(MORE)], lab.scaled(1_000_000))
    return step.against_sql("--mapping", step.mapping(), "--engine", "objects",
                            computed={"ZTHING.Z_OPT": "1"})


@workload("policy", "a policy that copies and sets, all objects by one worker")
def _(lab):
    lab.use_policies()
    step = lab.step([thing()], [thing(MORE)], lab.scaled(1_000_000))

    def edit(mappings, _):
        mappings["Thing"].update(type="custom", policy="Copying")
    return step.against_sql("--mapping", step.mapping(edit=edit), computed={
        "ZTHING.Z_OPT": "1",
        "ZTHING.ZMORE": "CASE WHEN ZCOUNT > 0 THEN 'many' ELSE 'few' END"})


@workload("policy-fetch", "a policy that fetches and relates, all objects by one worker")
def _(lab):
    lab.use_policies()
    step = lab.step(BOOKS, RELATED_BOOKS, lab.scaled(400_000), spoil=MATCHING)

    def edit(mappings, _):
        mappings["Book"].update(type="custom", policy="Finding")
    return against_joined_sql(step, "--mapping", step.mapping(edit=edit))


# Odd stores


@workload("utf-16", "one attribute more, UTF-16")
def _(lab):
    step = lab.step([thing()], [thing(MORE)], lab.scaled(1_000_000))
    recoded(step.store)
    return step.against_sql()


@workload("text-in-numbers", "one attribute more, texts in a column of numbers")
def _(lab):
    return lab.step([thing()], [thing(MORE)], lab.scaled(1_000_000), spoil="""
        UPDATE ZTHING SET ZCOUNT = 'twelve ' || Z_PK WHERE Z_PK % 10 = 0;""").against_sql()


def numbered(count, *parts):
    return [entity(f"Kind{n:03}", attributes(THING), *(parts if n == 0 else ()))
            for n in range(count)]


@workload("entities-88", "one attribute more in one of 88 entities")
def _(lab):
    return lab.step(numbered(88), numbered(88, MORE), lab.scaled(2_000_000)).against_sql()


@workload("entities-500", "one attribute more in one of 500 entities")
def _(lab):
    count = lab.fixed(500)
    return lab.step(numbered(count), numbered(count, MORE), 2 * count).against_sql()


BLOB = entity("Blob", attributes({"data": "Binary"}))


@workload("blobs", "one attribute more, ten large values")
def _(lab):
    size = lab.scaled(100_000_000)
    step = lab.step([BLOB], [BLOB.replace("</entity>", MORE + "</entity>")], 10, spoil=f"""
        UPDATE ZBLOB SET ZDATA = randomblob({size});""")
    return step.case(step.migrate(), step.copy(), step.by_sql())


@workload("external-off", "values of 3 KB in files of their own come into the store")
def _(lab):
    def blob(allowed):
        return entity("Blob", attributes({"data": "Binary"},
                                         allowsExternalBinaryDataStorage=allowed))
    step = lab.step([blob("YES")], [blob("NO")], lab.scaled(100_000), spoil="""
        UPDATE ZBLOB SET ZDATA = CAST(x'02' || printf('%08X-0000-4000-8000-000000000000', Z_PK)
            || x'00' AS BLOB);""")
    folder = external(step.store)
    return step.against_sql(computed={
        "ZBLOB.ZDATA": f"readfile('{folder}/' || CAST(substr(ZDATA, 2, 36) AS TEXT))"})


def external(store):
    """The folder with the files that the rows of a store name; 3 KB in each."""
    folder = os.path.join(os.path.dirname(store), ".Store_SUPPORT", "_EXTERNAL_DATA")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    (count,) = sqlite3.connect(store).execute("select max(Z_PK) from ZBLOB").fetchone()
    for key in range(1, count + 1):
        with open(os.path.join(folder, f"{key:08X}-0000-4000-8000-000000000000"), "wb") as file:
            file.write(key.to_bytes(8, "little") * 375)
    return folder


@workload("workers-two", "one attribute more, five indexes stay, two workers against one")
def _(lab):
    step = lab.step([thing(FIVE)], [thing(FIVE, MORE)], lab.scaled(2_000_000))
    one = step.migrate(name="one worker")
    one.commands[0][one.commands[0].index("--workers") + 1] = "1"
    return step.case(step.migrate(), one)


@workload("workers-64", "one attribute more, --workers 64 --memory 64M")
def _(lab):
    step = lab.step([thing()], [thing(MORE)], lab.scaled(1_000_000))
    run = step.migrate("--memory", "64M")
    run.commands[0][run.commands[0].index("--workers") + 1] = "64"
    return step.case(run, step.by_sql())


# Small


@workload("small", "one attribute more, a small store")
def _(lab):
    return lab.step([thing()], [thing(MORE)], lab.fixed(45_000)).against_sql()


def many(lab):
    """Up to 200 stores of 160 KB, and the one script for all of them."""
    step = lab.step([thing()], [thing(MORE)], 900, name="Store000.sqlite")
    stores = [step.store] + [
        lab.generate(step.old, 900, "--seed", n, name=f"Store{n:03}.sqlite")
        for n in range(1, lab.fixed(200))]
    return step, stores, by_python("SQL, all in one process", step.script(), stores,
                                   step.out("SQL"))


@workload("many-one-by-one", "one attribute more, stores of 160 KB one by one")
def _(lab):
    step, stores, sql = many(lab)
    runs = [step.migrate(store=store, out=os.path.join(step.out("ours"), os.path.basename(store)))
            for store in stores]
    return each(step, stores, one_by_one("ours", runs, step.out("ours")), sql)


@workload("many-in-one-call", "one attribute more, stores of 160 KB in one call")
def _(lab):
    if "<store> ..." not in lab.call("help", "migrate"):
        raise Skipped("this build migrates one store in a call")
    step, stores, sql = many(lab)
    run = step.migrate(out=step.out("ours"))
    run.commands[0][2:3] = stores
    run.sources, run.plan = stores, None
    return each(step, stores, run, sql)


@workload("many-in-one-check", "check --migrate of stores of 160 KB, in one call")
def _(lab):
    step, stores, sql = many(lab)
    return each(step, stores, step.command("check", os.path.dirname(step.store), "--to", step.new,
                                           "--models", step.bundle, "--migrate"), sql)


def each(step, stores, *runs):
    step.stores = stores
    return step.case(*runs)


# Logs, checks and bundles


def logged(lab, changed=1):
    step = lab.step([thing()], [thing(MORE)], lab.scaled(5_000_000))
    return step, with_log(lab, step.store, changed)


@workload("wal-plan", "plan of a store with a -wal of one page")
def _(lab):
    return planned_with_log(*logged(lab))


@workload("wal-large-plan", "plan of a store with a -wal of a third of its size")
def _(lab):
    return planned_with_log(*logged(lab, lab.scaled(1_600_000)))


def planned_with_log(step, live):
    return step.case(*(step.command("plan", store, "--to", step.new, "--models", step.bundle,
                                    name=name, sources=step.files(store))
                       for name, store in (("ours", live), ("without", step.store))))


@workload("wal-migrate", "one attribute more, a -wal of one page")
def _(lab):
    step, live = logged(lab)
    return step.case(step.migrate(store=live), step.migrate(name="without"))


@workload("wal-large-migrate", "one attribute more, a -wal of a third of the store's size")
def _(lab):
    step, live = logged(lab, lab.scaled(1_600_000))
    return step.case(step.migrate(store=live), step.migrate(name="without"))


@workload("verify", "verify of a migrated store")
def _(lab):
    step = lab.step([thing(FIVE)], [thing(FIVE, MORE)], lab.scaled(1_000_000))
    result = step.result()
    return step.case(step.command("verify", step.store, result, "--models", step.bundle,
                                  says="rows as expected"), checked(result))


@workload("verify-full", "one attribute more, --verify full")
def _(lab):
    step = lab.step([thing(FIVE)], [thing(FIVE, MORE)], lab.scaled(1_000_000))
    return step.case(step.migrate("--verify", "full"), step.migrate(name="quick"),
                     checked(step.result()))


def checked(result):
    return Run("integrity_check", [["sqlite3", "-readonly", result, "pragma integrity_check"]],
               [result], says="ok")


def versions(lab, *flags):
    count, bundle = lab.fixed(64), lab.path("Model.xcdatamodeld")
    paths = [write_version(bundle, f"Model {n}", numbered(40, attributes(
        {f"more{m}": "String" for m in range(n)}))) for n in range(1, count + 1)]
    store = lab.generate(paths[0], 4000)
    step = Step(lab, bundle, paths[0], paths[-1], store, 4000)
    return step.case(step.command("check", store, "--to", paths[-1], "--models", bundle, *flags),
                     step.command("inspect", store, "--models", bundle, name="inspect"))


@workload("versions-check", "check against a bundle of 64 versions")
def _(lab):
    return versions(lab)


@workload("versions-progressive", "check --progressive over 64 versions")
def _(lab):
    return versions(lab, "--progressive")


# Little changes

LARGE = [thing(name=f"Large{n}") for n in range(4)]
LITTLE = entity("Little", attributes({"key": "String"}))
LESS = "DELETE FROM ZLITTLE WHERE Z_PK > 1000; VACUUM;"


def small_entity(lab, base=None):
    step = lab.step([*LARGE, LITTLE], [*LARGE, LITTLE.replace("</entity>", MORE + "</entity>")],
                    lab.scaled(5_000_000), spoil=LESS, base=base)
    return step.case(step.migrate(), step.copy(), step.by_sql())


@workload("small-entity", "one attribute more in a small entity of a large store")
def _(lab):
    return small_entity(lab)


@workload("small-entity-xfs", "the same on XFS with reflink=1")
def _(lab):
    return small_entity(lab, lab.mounted("xfs", (320 << 20) + lab.scaled(5_000_000) * 1600))


@workload("small-entity-btrfs", "the same on btrfs")
def _(lab):
    return small_entity(lab, lab.mounted("btrfs", (320 << 20) + lab.scaled(5_000_000) * 1600))
