#!/usr/bin/env python3
"""The executables of docs/examples: what their policies must make of real and of made-up stores.

usage: examples.py --godwit P --corpus D --examples FOLDER-OF-EXECUTABLES [--scratch S]
Without the corpus folder only the example of our own runs.
"""
import json
import os
import re
import shutil
import sqlite3
import subprocess

from run import Failure, Tool, fingerprint, parser, run_cases, same_bytes, unchanged
from store import copy_store

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def rows(path, query):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def expect(found, expected, what):
    return [] if found == expected else [f"{what}: expected {expected}, found {found}"]


def by_workers(tool, source, name, folder, arguments, ways=((),)):
    """The result of a migration, which must be the same to the byte with 1 and with 3 workers,
    and whichever way it goes."""
    before, results = fingerprint(os.path.dirname(source)), []
    for way in ways:
        for workers in (1, 3):
            result = os.path.join(folder, f"{name}-{len(results)}.sqlite")
            tool.run("migrate", source, *arguments, *way, "--output", result,
                     "--workers", workers)
            results.append(result)
    unchanged(before, os.path.dirname(source))
    if rows(results[0], "pragma integrity_check") != [("ok",)]:
        raise Failure(f"{name}: the result is damaged")
    for other in results[1:]:
        same_bytes(results[0], other, name)
    return results[0]


def source_of(path, folder):
    return copy_store(path, os.path.join(folder, "source"))


def library(tool, folder):
    """Books go out as volumes and recordings; shelves get branches, readers a state."""
    os.makedirs(os.path.join(folder, "source"))
    source, model = os.path.join(folder, "source", "Library.sqlite"), \
        os.path.join(DOCS, "sample", "Library.xcdatamodeld")
    tool.run("generate", model, "--version", "Library 1", "--rows", 4000, "--output", source)
    result = by_workers(tool, source, "library", folder, [
        "--to", model, "--mapping", os.path.join(DOCS, "examples", "Library1to3.json")])
    db = sqlite3.connect(f"file:{result}?mode=ro&immutable=1", uri=True)
    db.execute(f"attach 'file:{source}?mode=ro&immutable=1' as old")
    db.create_function("lower_text", 1, lambda text: text and text.lower())
    db.create_function("first_letter", 1, lambda text: text[:1] and text[0])
    out = []
    number = dict(db.execute("select Z_NAME, Z_ENT from main.Z_PRIMARYKEY"))
    volume, recording = number["Volume"], number["AudioBook"]

    def none(what, query):
        found = db.execute(query).fetchall()
        if found:
            out.append(f"{what}: {len(found)} rows differ, such as {found[:3]}")

    none("books", f"""
        select b.Z_PK, i.Z_ENT, b.ZPAGECOUNT, i.ZPAGES, i.ZMINUTES from old.ZBOOK b
        left join main.ZITEM i on i.Z_PK = b.Z_PK
        where i.Z_ENT is not iif(b.ZPAGECOUNT > 100, {volume}, {recording})
        or iif(b.ZPAGECOUNT > 100, i.ZPAGES is not b.ZPAGECOUNT,
               i.ZMINUTES is not b.ZPAGECOUNT * 6 or i.ZSUBTITLE is not 'a recording')
        or i.ZTITLE is not b.ZTITLE or i.ZSHELF is not b.ZSHELF or i.ZCOVER is not b.ZCOVER""")
    none("authors' books", """
        select * from (select * from old.Z_1BOOKS except select * from main.Z_1BOOKS)
        union all select * from (select * from main.Z_1BOOKS except select * from old.Z_1BOOKS)""")
    none("loans", """
        select a.Z_PK from old.ZLOAN a left join main.ZLOAN b using (Z_PK)
        where a.ZBOOK is not b.ZBOOK or a.ZREADER is not b.ZREADER or a.ZLENTON is not b.ZLENTON
        or a.ZRETURNEDON is not b.ZRETURNEDON""")
    none("readers", """
        select a.Z_PK, a.ZEMAIL, b.ZEMAIL, b.ZISACTIVE from old.ZREADER a
        left join main.ZREADER b using (Z_PK) where lower_text(a.ZEMAIL) is not b.ZEMAIL
        or b.ZISACTIVE is not exists (select 1 from old.ZLOAN l where l.ZREADER = a.Z_PK
                                      and l.ZRETURNEDON is null)""")
    labels = [text for text, in db.execute("select ZLABEL from old.ZSHELF")]
    shelves = db.execute("select s.Z_PK, s.ZLABEL, b.ZCITY from main.ZSHELF s "
                         "left join main.ZBRANCH b on b.Z_PK = s.ZBRANCH").fetchall()
    out += expect(len(shelves), len(labels), "shelves")
    out += [f"shelf {key}: {label!r} stands in {city!r}" for key, label, city in shelves
            if city is None or not label.upper().startswith(city)][:5]
    cities = [city for city, in db.execute("select ZCITY from main.ZBRANCH")]
    out += expect(len(set(cities)), len(cities), "branches of different cities")
    db.close()
    return out


def library_by_rows(tool, folder):
    """Each object by itself: by either engine, in ranges, and object by object all alike."""
    os.makedirs(os.path.join(folder, "source"))
    source, model = os.path.join(folder, "source", "Library.sqlite"), \
        os.path.join(DOCS, "sample", "Library.xcdatamodeld")
    tool.run("generate", model, "--version", "Library 2", "--rows", 3000, "--output", source)
    # What a reader's state was goes: the mapping tells it anew from the loans.
    arguments = ["--to", model, "--mapping", os.path.join(DOCS, "examples", "Library2to3.json"),
                 "--allow-loss", "Reader.isActive"]
    result = by_workers(
        tool, source, "rows", folder, arguments,
        [("--engine", "sql"), ("--engine", "pages"), ("--engine", "sql", "--range-rows", 97),
         ("--engine", "pages", "--range-rows", 97)])
    objects = by_workers(tool, source, "objects", folder, arguments, [("--engine", "objects")])
    db = sqlite3.connect(f"file:{result}?mode=ro&immutable=1", uri=True)
    db.execute(f"attach 'file:{objects}?mode=ro&immutable=1' as objects")
    db.execute(f"attach 'file:{source}?mode=ro&immutable=1' as old")
    db.create_function("lower_text", 1, lambda text: text and text.lower())
    db.create_function("trimmed", 1, lambda text: text and text.strip(" "))
    out = []
    for table, in db.execute("select name from main.sqlite_schema where type = 'table' "
                             "and name not like 'Z_M%'").fetchall():
        # Objects that are made anew have been saved once; rows that stay keep their counts.
        columns = ", ".join(f'"{name}"' for _, name, *_ in db.execute(
            f"pragma main.table_info({table})") if name != "Z_OPT")
        for one, other in (("main", "objects"), ("objects", "main")):
            found = db.execute(f"select {columns} from {one}.{table} except "
                               f"select {columns} from {other}.{table}").fetchall()
            if found:
                out.append(f"{table}: {len(found)} rows of {one} are not in {other}: {found[:2]}")
    found = db.execute("""
        select a.Z_PK from old.ZREADER a left join main.ZREADER b using (Z_PK)
        where lower_text(a.ZEMAIL) is not b.ZEMAIL or b.ZISACTIVE is not exists (
          select 1 from old.ZLOAN l where l.ZREADER = a.Z_PK and l.ZRETURNEDON is null)
        union all
        select a.Z_PK from old.ZVOLUME a left join main.ZITEM b using (Z_PK)
        left join old.ZSHELF s on s.Z_PK = a.ZSHELF
        where b.ZSUBTITLE is not iif(a.ZSHELF is null, 'not on a shelf', s.ZLABEL)
        or b.ZRATING is not iif(a.ZRATING between 0 and 5, a.ZRATING, null)
        union all
        select a.Z_PK from old.ZAUTHOR a left join main.ZAUTHOR b using (Z_PK)
        where trimmed(a.ZNAME) is not b.ZNAME or a.ZBORN is not b.ZBORN""").fetchall()
    out += [f"computed values: {len(found)} rows differ"] if found else []
    db.close()
    return out


def car_makers(tool, corpus, folder):
    base = os.path.join(corpus, "samplemodel")
    bundle = os.path.join(base, "SampleModel.xcdatamodeld")
    result = by_workers(
        tool, source_of(os.path.join(base, "Fixtures", "SampleModel_V2.sqlite"), folder), "cars",
        folder, ["--to", os.path.join(bundle, "SampleModel3.xcdatamodel"), "--models", bundle,
                 "--mapping", os.path.join(base, "MappingModels", "V2toV3.xcmappingmodel")])
    maker = os.path.join(folder, "source", "SampleModel_V2.sqlite")
    expected = sorted(rows(maker, "select Z_PK, ZMAKER, ZOWNER from ZCAR"))
    found = sorted(rows(result, "select c.Z_PK, m.ZNAME, c.ZOWNER from ZCAR c "
                                "join ZMAKER m on m.Z_PK = c.ZCREATEDBY"))
    owners = sorted((k, o) for k, _, o in expected if o)
    previous = sorted(rows(result, "select * from Z_1PREVIOUSOWNERS"))
    return (expect(len(found), 125, "cars") + expect(found, expected, "makers and owners")
            + expect(rows(result, "select count(*) from ZMAKER"), [(10,)], "makers")
            + expect(len(owners), 118, "owned cars") + expect(previous, owners, "previous owners"))


def bookstore(tool, corpus, folder):
    base = os.path.join(corpus, "bookmigration")
    bundle = os.path.join(base, "Model.xcdatamodeld")

    def mapping(name):
        return ["--mapping", os.path.join(base, name + ".xcmappingmodel")]
    result = by_workers(
        tool, source_of(os.path.join(base, "Model1.sqlite"), folder), "books", folder,
        ["--to", os.path.join(bundle, "Model3.xcdatamodel"), "--models", bundle,
         *mapping("Model1_to_Model2"), *mapping("Model2_to_Model3_User"),
         *mapping("Model2_to_Model3")])
    db = os.path.join(folder, "source", "Model1.sqlite")
    before = sorted(rows(db, "select ZTITLE, ZAUTHORNAME, hex(ZFILEURL) from ZBOOK"))
    after = sorted(rows(result, """
        select b.ZTITLE, a.ZNAME, hex(f.ZFILEURL) from ZBOOK b
        join Z_1BOOKS j on j.Z_2BOOKS = b.Z_PK join ZAUTHOR a on a.Z_PK = j.Z_1AUTHORS
        join ZFILE f on f.ZBOOK = b.Z_PK"""))
    kafka = rows(result, "select count(*), count(distinct a.Z_PK) from ZAUTHOR a join Z_1BOOKS j "
                         "on j.Z_1AUTHORS = a.Z_PK where a.ZNAME = 'Franz Kafka'")
    return (expect(after, before, "books with authors and files")
            + expect(kafka, [(2, 1)], "Kafka's books and Kafkas")
            + expect(rows(result, "select count(*) from ZAUTHOR"), [(3,)], "authors")
            + expect(rows(result, "select count(*) from ZUSER"), [(3,)], "users")
            + expect(rows(result, "select count(*), count(distinct ZUSER) from ZFILE"), [(4, 1)],
                     "files, and users that have them"))


def colored_posts(tool, corpus, number, target, folder):
    base = os.path.join(corpus, "wal-example")
    bundle = os.path.join(base, "CoreDataMigration_Example.xcdatamodeld")
    steps = ["Migration1to2", "Migration2to3"][number - 1:target - 1]
    store = f"CoreDataMigration_Example_{number}.sqlite"
    result = by_workers(
        tool, source_of(os.path.join(base, store), folder), "posts", folder,
        ["--to", os.path.join(bundle, f"CoreDataMigration_Example {target}.xcdatamodel"),
         "--models", bundle] + [part for step in steps for part in (
             "--mapping", os.path.join(base, step + ".xcmappingmodel"))])
    source = os.path.join(folder, "source", store)
    count = {1: 1001, 2: 5979, 3: 7995}[number]
    out = expect(rows(source, "select count(*) from ZPOST"), [(count,)], "source posts")
    out += expect(rows(result, "select count(*) from ZPOST"), [(count,)], "posts")
    if target < 3:
        return out
    pairs = rows(result, "select p.Z_PK, c.ZHEX, c.ZPOST, c.ZCOLORID from ZPOST p "
                         "left join ZCOLOR c on c.Z_PK = p.ZCOLOR order by 1")
    out += expect(len({identifier for *_, identifier in pairs}), count, "colours of their own")
    out += expect([(key, key) for key, *_ in pairs], [(k, p) for k, _, p, _ in pairs],
                  "colours know their posts")
    if "ZHEXCOLOR" in {name for _, name, *_ in rows(source, "pragma table_info(ZPOST)")}:
        out += expect([(k, h) for k, h, *_ in pairs],
                      rows(source, "select Z_PK, ZHEXCOLOR from ZPOST order by 1"), "colours")
    return out


def page(tool, folder):
    """docs/how-to/policies-in-your-tool.md: its manifest is one, its code stands in the example
    that is built, and its commands do what it says."""
    with open(os.path.join(DOCS, "how-to", "policies-in-your-tool.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```(swift|)\n(.*?)^```$", file.read(), re.M | re.S)
    source = os.path.join(DOCS, "examples", "Sources", "LibraryExample", "LibraryExample.swift")
    with open(source, encoding="utf-8") as file:
        built = file.read()
    (manifest, *code), commands = [b for k, b in blocks if k], [b for k, b in blocks if not k][0]
    out = [f"the example has no {block!r}" for block in code if block not in built]
    out += expect(len(code), 2, "blocks of code")
    with open(os.path.join(folder, "Package.swift"), "w", encoding="utf-8") as file:
        file.write(manifest)
    dumped = subprocess.run(["swift", "package", "dump-package", "--package-path", folder],
                            capture_output=True, text=True, timeout=300)
    if dumped.returncode or '"GodwitTool"' not in dumped.stdout:
        out.append(f"the manifest is none: {dumped.stderr[-300:]}")
    store = os.path.join(folder, "Library.sqlite")
    tool.run("generate", os.path.join(DOCS, "sample", "Library.xcdatamodeld"), "--version",
             "Library 1", "--rows", 900, "--output", store)
    names = {"Library.sqlite": store,
             "../sample/Library.xcdatamodeld": os.path.join(DOCS, "sample", "Library.xcdatamodeld"),
             "Library1to3.json": os.path.join(DOCS, "examples", "Library1to3.json")}
    lines = [line.split() for line in commands.splitlines() if line.startswith(".build")]
    out += expect([line[1] for line in lines], ["check", "migrate", "verify"], "commands")
    for _, *words in lines:
        kept = [os.path.join(folder, n) for n in os.listdir(folder) if ".before-" in n]
        names["Library.sqlite.before-TIME"] = kept[0] if kept else ""
        tool.run(*(names.get(word, word) for word in words))
    return out


def library_update(tool, ours, folder):
    """The program that uses the library alone migrates as the tool does, keeps the old store, and
    ends with the statuses and codes of refusals."""
    model = os.path.join(DOCS, "sample", "Library.xcdatamodeld")
    source, expected = os.path.join(folder, "Library.sqlite"), os.path.join(folder, "tool.sqlite")
    ours.run("generate", model, "--version", "Library 1", "--rows", 3000, "--output", source)
    ours.run("migrate", source, "--to", model, "--output", expected)
    said = tool.run(source, model).stdout
    out = []
    for part in ("from Library 1 to Library 3\n", "Author: 500 in, 500 out\n",
                 "rows as expected.\n"):
        if part.replace("500", str(rows(expected, "select count(*) from ZAUTHOR")[0][0])) \
                not in said:
            out.append(f"{part!r} is not said: {said!r}")
    same_bytes(source, expected, "the program's result and the tool's")
    kept = [name for name in os.listdir(folder) if ".before-" in name]
    out += expect(len(kept), 1, "old stores")
    out += expect(tool.run(source, model).stdout, "up to date\n", "a second run")
    missing = tool.run(os.path.join(folder, "none.sqlite"), model, expect=66)
    if "does not exist" not in missing.stderr:
        out.append(f"a store that is not there: {missing.stderr!r}")
    wide = os.path.join(folder, "Wide.sqlite")
    ours.run("generate", model, "--rows", 400, "--output", wide)
    old = os.path.join(model, "Library 1.xcdatamodel")
    refused = tool.run(wide, old, expect=78)
    if "134110: Book.pageCount" not in refused.stdout:
        out.append(f"a refusal without its code: {refused.stdout!r}")
    return out


def dependency(folder):
    """The line in README.md: a package finds the library by its branch."""
    root = os.path.dirname(os.path.abspath(DOCS))
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        (line, branch), = re.findall(r'(\.package\(url: "ADDRESS.*?", branch: "(\w+)"\))',
                                     file.read())
    here = os.path.join(folder, "here")
    clone = os.path.join(here, "Godwit.git")

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise Failure(f"{' '.join(command[:3])}: {done.stderr[-300:]}")
        return done.stdout
    run("git", "clone", "--quiet", root, clone)
    run("git", "-C", clone, "checkout", "--quiet", "-B", branch)
    package = os.path.join(folder, "App")
    os.makedirs(os.path.join(package, "Sources", "App"))
    with open(os.path.join(package, "Sources", "App", "App.swift"), "w", encoding="utf-8") as file:
        file.write("import Godwit\n")
    with open(os.path.join(package, "Package.swift"), "w", encoding="utf-8") as file:
        file.write(f"""// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "App", platforms: [.macOS(.v15)],
  dependencies: [{line.replace("ADDRESS", "file://" + here)}],
  targets: [
    .executableTarget(name: "App", dependencies: [.product(name: "Godwit", package: "Godwit")])
  ])
""")
    fetched = os.path.join(root, ".build", "repositories")
    if os.path.isdir(fetched):
        shutil.copytree(fetched, os.path.join(package, ".build", "repositories"), symlinks=True)
    run("swift", "package", "--package-path", package, "resolve")
    with open(os.path.join(package, "Package.resolved"), encoding="utf-8") as file:
        pins = {pin["identity"]: pin["state"] for pin in json.load(file)["pins"]}
    revision = run("git", "-C", clone, "rev-parse", "HEAD").strip()
    return expect(pins["godwit"], {"branch": branch, "revision": revision}, "found")


def main():
    p = parser(__doc__)
    p.add_argument("--examples", required=True, help="the folder with their executables")
    options = p.parse_args()

    def tool(name):
        return Tool(os.path.join(options.examples, name))
    corpus = options.corpus
    ours = tool("LibraryExample")
    cases = [("LibraryExample", lambda f: library(ours, f)),
             ("LibraryExample by rows", lambda f: library_by_rows(ours, f)),
             ("policies-in-your-tool.md", lambda f: page(ours, f)),
             ("a package that depends on the library", dependency),
             ("LibraryUpdate", lambda f: library_update(tool("LibraryUpdate"), ours, f))]
    if os.path.isdir(corpus):
        posts = tool("ColoredPosts")
        cases += [
            ("CarMakers", lambda f: car_makers(tool("CarMakers"), corpus, f)),
            ("Bookstore", lambda f: bookstore(tool("Bookstore"), corpus, f)),
            ("ColoredPosts 1 -> 2", lambda f: colored_posts(posts, corpus, 1, 2, f)),
            ("ColoredPosts 1 -> 3", lambda f: colored_posts(posts, corpus, 1, 3, f)),
            ("ColoredPosts 2 -> 3", lambda f: colored_posts(posts, corpus, 2, 3, f))]
    else:
        print("the corpus folder is missing, so only our own example runs: set GODWIT_CORPUS")
    run_cases(options, cases, "examples")


if __name__ == "__main__":
    main()
