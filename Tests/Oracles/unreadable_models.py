#!/usr/bin/env python3
"""Models and stores with one odd or damaged part: the part is named with its file, everything else
is read as if it were not there, and only what needs the part is refused. The models are written
here: sources by `random_models.py`, compiled ones by `archives.py`.

usage: unreadable_models.py --godwit P --corpus D [--seeds 1-3] [--scratch S]; the corpus is not
read
"""
import json
import os
import plistlib
import random
import shutil
import sqlite3
import xml.etree.ElementTree as ElementTree
import zlib
from dataclasses import dataclass

from archives import compiled
from coredata import Attribute, Model
from unreadable_parts import ARCHIVES, SOURCES
from random_models import A, E, End, Models
from run import Failure, Tool, parser, run_cases, seeds


@dataclass
class Pair:
    """A bundle of two versions, and the paths of both."""
    folder: str
    bundle: str
    old: Model
    new: Model


def make_pair(folder, seed):
    """Version 1, and version 2 that adds an attribute; three entities, one below another."""
    r = random.Random(seed)
    m = Models(r)
    names = r.sample(("Ash", "Bay", "Cob", "Dew", "Elm"), 3)
    for name, parent in zip(names, (None, names[0], None)):
        m.entities[name] = E(name, parent)
        for kind in ("String", "Integer 64", r.choice(("Double", "Boolean", "Date"))):
            attribute = A(m.free_name(name), kind)
            m.entities[name].attributes[attribute.name] = attribute
        blob = A(m.free_name(name), "Transformable")
        m.entities[name].attributes[blob.name] = blob
    one, many = (End(names[n], m.free_name(names[n]), n == 0) for n in (2, 0))
    many.to_many, one.to_many = True, False
    m.relations.append((one, many, names[0]))
    bundle = os.path.join(folder, "Odd.xcdatamodeld")
    paths = [os.path.join(bundle, f"Odd {n}.xcdatamodel") for n in (1, 2)]
    m.write(paths[0])
    later = A(m.free_name(names[2]), "String")
    m.entities[names[2]].attributes[later.name] = later
    m.write(paths[1])
    with open(os.path.join(bundle, ".xccurrentversion"), "wb") as file:
        plistlib.dump({"_XCCurrentVersionName": "Odd 2.xcdatamodel"}, file)
    return Pair(folder, bundle, Model(paths[0]), Model(paths[1]))


def generated(tool, pair, rows=4, name="Old.sqlite"):
    store = os.path.join(pair.folder, name)
    tool.run("generate", pair.old.path, "--rows", rows, "--output", store)
    return store


def has(text, words, what):
    missing = [w for w in words if w and w not in text]
    return [f"{what} does not name {missing}: {text.strip()[-300:]!r}"] if missing else []


def hashes_told(version, wanted, but=()):
    """Whether a version of `inspect` has every entity with its hash, but for some."""
    told = {e["name"]: e.get("versionHash") for e in version["entities"]}
    out = [f"inspect: entity {n} is missing" for n in wanted if n not in told]
    for name, value in wanted.items():
        right = None if name in but else value.hex()
        if name in told and told[name] != right:
            out.append(f"inspect: hash of {name} is {told[name]}, expected {right}")
    return out


def family(model, place):
    """The entities whose hashes cover a part of one."""
    entity = place.partition(".")[0]
    return model.family(entity) if entity in model.entities else []


def cached(store):
    db = sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)
    row = db.execute("select Z_CONTENT from Z_MODELCACHE").fetchone()
    found = db.execute("select Z_PLIST from Z_METADATA").fetchone()[0]
    db.close()
    data = zlib.decompressobj(-15).decompress(row[0]) if row else b""
    return data, plistlib.loads(found)["NSStoreModelVersionHashes"]


# One odd part in a version


def check_part(tool, pair, odd, target, described):
    """What every command makes of version 2 with the odd part."""
    version = [v for v in described["versions"] if v["name"] == "Odd 2"][0]
    lines = " | ".join(version.get("unread", []))
    if odd.words:
        file = os.path.basename(target) if target.endswith(".mom") else "Odd 2.xcdatamodel"
        out = has(lines, [file, *odd.words], "inspect")
    else:
        out = [f"inspect names {lines}"] if lines else []
    hidden = family(pair.new, odd.place) if odd.hashed else ()
    out += hashes_told(version, pair.new.hashes(), [*hidden, *odd.gone])
    out += [f"inspect: version 1 is not there: {v}" for v in described["versions"]
            if v["name"] == "Odd 1" and hashes_told(v, pair.old.hashes())]
    tool.run("map", "--from", pair.old.path, "--to", target)
    store = generated(tool, pair)
    result = os.path.join(pair.folder, "New.sqlite")
    expected = 78 if odd.hashed else 0
    command = ("migrate", store, "--to", target, "--models", pair.bundle, "--output", result)
    if odd.asked:
        done = tool.run(*command, expect=78)
        out += has(done.stderr, [*odd.left_out, f"--allow-loss {odd.asked}"], "the question")
        out += ["a result without consent"] if os.path.exists(result) else []
        command += ("--allow-loss", odd.asked)
    done = tool.run(*command, expect=expected)
    if odd.hashed:
        return out + has(done.stderr, [os.path.basename(target), odd.place.partition(".")[0]],
                         "the refusal")
    out += has(done.stderr, odd.left_out, "the note of migrate")
    archive, hashes = cached(result)
    if hashes != pair.new.hashes():
        out.append("the result has other hashes")
    for name in odd.carried:
        if name.encode() not in archive:
            out.append(f"the model of the result does not carry {name}")
    if not archive:
        out.append("the result carries no model")
    # The new store is at the target's version by the model that it carries.
    shutil.rmtree(pair.bundle)
    return out + [f"inspect of the result: {line}" for line in
                  has(tool.run("inspect", result).stdout, ["model: found"], "it")]


def odd_source(tool, odd_of):
    def check(seed, folder):
        pair = make_pair(folder, seed)
        path = os.path.join(pair.new.path, "contents")
        tree = ElementTree.parse(path)
        odd = odd_of(tree.getroot(), pair.new, random.Random(seed))
        tree.write(path, encoding="UTF-8", xml_declaration=True)
        return check_part(tool, pair, odd, pair.new.path,
                          tool.json("inspect", pair.bundle, "--json"))
    return check


def odd_archive(tool, odd_of):
    def check(seed, folder):
        pair = make_pair(folder, seed)
        archive = compiled(pair.new)
        odd = odd_of(archive, pair.new, random.Random(seed))
        momd = os.path.join(folder, "Odd.momd")
        os.makedirs(momd)
        for name, data in (("Odd 1", compiled(pair.old).encoded()), ("Odd 2", archive.encoded())):
            with open(os.path.join(momd, name + ".mom"), "wb") as file:
                file.write(data)
        return check_part(tool, pair, odd, os.path.join(momd, "Odd 2.mom"),
                          tool.json("inspect", momd, "--json"))
    return check


# Bundles


def empty_version_file(tool, pair):
    with open(os.path.join(pair.bundle, ".xccurrentversion"), "wb") as file:
        plistlib.dump({}, file)
    store = generated(tool, pair)
    done = tool.call("check", store, "--to", pair.bundle)
    out = has(done.stdout + done.stderr, ["Odd.xcdatamodeld", "current"], "check")
    out += [] if done.returncode else ["check goes on without a current version"]
    shutil.rmtree(pair.old.path)
    done = tool.run("migrate", store, "--to", pair.bundle, "--output", store + ".new")
    return out + ([] if os.path.exists(store + ".new") else [f"no result: {done.stdout}"])


def damaged_version_file(tool, pair):
    with open(os.path.join(pair.bundle, ".xccurrentversion"), "wb") as file:
        file.write(b"<plist><dict>")
    described = tool.json("inspect", pair.bundle, "--json")
    out = [line for v, m in zip(described["versions"], (pair.old, pair.new))
           for line in hashes_told(v, m.hashes())]
    store = generated(tool, pair)
    done = tool.call("migrate", store, "--to", pair.bundle, "--output", store + ".new")
    out += has(done.stderr, [".xccurrentversion"], "the refusal")
    return out + migrated(tool, store, pair.new.path, pair)


def migrated(tool, store, target, pair):
    """The store goes to version 2, though its own model is in the bundle alone."""
    db = sqlite3.connect(store)
    db.execute("delete from Z_MODELCACHE")
    db.commit()
    db.close()
    result = store + ".result"
    tool.run("migrate", store, "--to", target, "--output", result)
    return [] if cached(result)[1] == pair.new.hashes() else ["the result has other hashes"]


def own_bundle(tool, pair):
    return migrated(tool, generated(tool, pair), pair.new.path, pair)


def own_compiled_bundle(tool, pair):
    momd = write_momd(pair)
    store = generated(tool, pair)
    shutil.rmtree(pair.bundle)
    return migrated(tool, store, os.path.join(momd, "Odd 2.mom"), pair)


def write_momd(pair, current="Odd 2"):
    momd = os.path.join(pair.folder, "Odd.momd")
    os.makedirs(momd)
    for name, model in (("Odd 1", pair.old), ("Odd 2", pair.new)):
        with open(os.path.join(momd, name + ".mom"), "wb") as file:
            file.write(compiled(model).encoded())
    with open(os.path.join(momd, "VersionInfo.plist"), "wb") as file:
        plistlib.dump({"NSManagedObjectModel_CurrentVersionName": current}, file)
    return momd


def missing_version(tool, pair):
    momd = write_momd(pair, current="Odd 7")
    described = tool.json("inspect", momd, "--json")
    out = [line for v, m in zip(described["versions"], (pair.old, pair.new))
           for line in hashes_told(v, m.hashes())]
    store = generated(tool, pair)
    done = tool.call("migrate", store, "--to", momd, "--output", store + ".new")
    out += has(done.stderr, ["Odd.momd", "Odd 7"], "the refusal")
    return out + migrated(tool, store, os.path.join(momd, "Odd 2.mom"), pair)


def damaged_version(write):
    """A third version that nobody needs cannot be read."""
    def check(tool, pair):
        names = write(pair)
        described = tool.json("inspect", pair.bundle, "--json")
        told = {v["name"]: v for v in described["versions"]}
        out = has(told["Odd 3"].get("unreadable", ""), names, "inspect")
        for name, model in (("Odd 1", pair.old), ("Odd 2", pair.new)):
            out += hashes_told(told[name], model.hashes())
        store = generated(tool, pair)
        out += migrated(tool, store, pair.bundle, pair)
        # Where no readable version fits, the one that cannot be read is named.
        shutil.rmtree(pair.old.path)
        done = tool.call("migrate", store, "--to", pair.bundle, "--output", store + ".other")
        return out + has(done.stderr, names[:1], "the refusal") + (
            [] if done.returncode == 78 else [f"exit {done.returncode}"])
    return check


def third(pair, name, data):
    folder = os.path.join(pair.bundle, "Odd 3.xcdatamodel")
    os.makedirs(folder)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def old_format(pair):
    third(pair, "elements", plistlib.dumps({}, fmt=plistlib.FMT_BINARY))
    third_layout = os.path.join(pair.bundle, "Odd 3.xcdatamodel", "layout")
    with open(third_layout, "wb") as file:
        file.write(b"bplist00")
    return ["Odd 3.xcdatamodel", "Xcode before version 4"]


def cut_off(pair):
    with open(os.path.join(pair.new.path, "contents"), "rb") as file:
        third(pair, "contents", file.read()[:300])
    return ["Odd 3.xcdatamodel"]


def empty_folder(pair):
    os.makedirs(os.path.join(pair.bundle, "Odd 3.xcdatamodel"))
    return ["Odd 3.xcdatamodel"]


def own_cache_damaged(tool, pair):
    """The model in the store is damaged, the one in the bundle is not."""
    store = generated(tool, pair)
    db = sqlite3.connect(store)
    db.execute("update Z_MODELCACHE set Z_CONTENT = x'00112233'")
    db.commit()
    db.close()
    out = has(tool.run("inspect", store).stdout, ["model: not found", "cannot be read"], "inspect")
    tool.run("migrate", store, "--to", pair.bundle, "--output", store + ".new")
    shutil.rmtree(pair.old.path)
    done = tool.call("migrate", store, "--to", pair.bundle, "--output", store + ".other")
    return out + has(done.stderr, ["Old.sqlite"], "the refusal") + (
        [] if done.returncode in (65, 78) else [f"exit {done.returncode}"])


def default_that_matters(tool, pair):
    """The default of an unknown class is that of the new attribute: rows would need it."""
    archive = compiled(pair.new)
    entity, name = [(e, n) for (e, n) in archive.properties
                    if n not in pair.old.entities[e].own][0]
    archive.properties[entity, name]["NSDefaultValue"] = archive.of("ODDColor", red=1)[0]
    target = os.path.join(pair.folder, "New.mom")
    with open(target, "wb") as file:
        file.write(archive.encoded())
    store = generated(tool, pair)
    done = tool.run("migrate", store, "--to", target, "--models", pair.bundle, "--output",
                    store + ".new", expect=78)
    out = has(done.stderr, [f"{entity}.{name}", "ODDColor"], "the refusal")
    none = generated(tool, pair, rows=0, name="Empty.sqlite")
    tool.run("migrate", none, "--to", target, "--models", pair.bundle, "--output", none + ".new")
    return out


# Text


def text_stores(encoding, raw):
    """A store of that encoding, some texts of which are not well-formed, object by object."""
    def check(tool, pair):
        store = generated(tool, pair, rows=30)
        recoded(store, encoding)
        entity = [e for e in pair.old.concrete() if not pair.old.entities[e].parent
                  and not pair.old.children[e]][0]
        name = [n for n, p in pair.old.entities[entity].own.items()
                if isinstance(p, Attribute) and p.type == "String"][0]
        table, column = "Z" + entity.upper(), "Z" + name.upper()
        wanted = plant(store, table, column, raw)
        mapping = split_mapping(tool, pair, entity, name)
        result = store + ".result"
        report = store + ".json"
        tool.run("migrate", store, "--to", pair.new.path, "--models", pair.bundle, "--mapping",
                 mapping, "--output", result, "--report", report)
        with open(report, encoding="utf-8") as file:
            engine = json.load(file)["engine"]
        db = sqlite3.connect(result)
        found = dict(db.execute(f"select Z_PK, hex(cast({column} as blob)) from {table}"))
        told = db.execute("pragma encoding").fetchone()[0]
        sound = db.execute("pragma integrity_check").fetchone()[0]
        db.close()
        out = [] if engine == "objects" else [f"migrated by {engine}"]
        out += [] if told == encoding else [f"the result is in {told}"]
        out += [] if sound == "ok" else [f"integrity_check: {sound}"]
        return out + [f"{table}.{column} row {k}: {found.get(k)}, expected {v}"
                      for k, v in wanted.items() if found.get(k) != v]
    return check


def recoded(store, encoding):
    """The store anew with its texts in another encoding."""
    db = sqlite3.connect(store)
    lines = list(db.iterdump())
    version = db.execute("pragma user_version").fetchone()[0]
    db.close()
    os.remove(store)
    db = sqlite3.connect(store)
    db.execute(f"pragma encoding = '{encoding}'")
    db.executescript("\n".join(lines))
    db.execute(f"pragma user_version = {version}")
    db.commit()
    db.close()


def plant(store, table, column, raw):
    db = sqlite3.connect(store)
    for place, data in enumerate(raw):
        db.execute(f"update {table} set {column} = cast(? as text) where Z_PK = "
                   f"(select Z_PK from {table} order by Z_PK limit 1 offset ?)", (data, place))
    db.commit()
    wanted = dict(db.execute(f"select Z_PK, hex(cast({column} as blob)) from {table}"))
    db.close()
    return wanted


def split_mapping(tool, pair, entity, name):
    """The inferred mapping with one entity's objects taken by two mappings, which no program of
    rows can do."""
    mapping = tool.json("map", "--from", pair.old.path, "--to", pair.new.path)
    members = mapping["mappings"]
    one = [m for m in members if m.get("source") == entity][0]
    other = json.loads(json.dumps(one))
    one["name"], other["name"] = "First", "Second"
    one["filter"], other["filter"] = f"{name} == nil", f"{name} != nil"
    members.insert(members.index(one) + 1, other)
    path = os.path.join(pair.folder, "split.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(mapping, file)
    return path


BUNDLES = {
    "an empty .xccurrentversion": empty_version_file,
    "a damaged .xccurrentversion": damaged_version_file,
    "a version in its own bundle": own_bundle,
    "a compiled version in its own bundle": own_compiled_bundle,
    "a current version that is missing": missing_version,
    "a version of Xcode before 4": damaged_version(old_format),
    "a version that is cut off": damaged_version(cut_off),
    "a version without a file": damaged_version(empty_folder),
    "a damaged model cache": own_cache_damaged,
    "a default that rows would need": default_that_matters,
    "texts in UTF-16le": text_stores("UTF-16le", ["Grüße \U0001F426".encode("utf-16-le"),
                                                  b"a\x00\x00\xd8b\x00", b"", b"\x00\xdc"]),
    "texts in UTF-16be": text_stores("UTF-16be", ["Grüße".encode("utf-16-be"),
                                                  b"\x00a\xd8\x00\x00b"]),
    "texts that are not UTF-8": text_stores("UTF-8", [b"a\xffb", b"\xc3", b"\xed\xa0\x80", b"",
                                                      b"nul\x00behind\xfe", "é".encode()]),
}


def main():
    p = parser(__doc__)
    p.add_argument("--seeds", default="1-3", help="one seed or a range")
    options = p.parse_args()
    tool, cases = Tool(options.godwit), []
    for title, odd in SOURCES.items():
        cases += [(f"source, {title}, seed {s}", s, odd_source(tool, odd))
                  for s in seeds(options.seeds)]
    for title, odd in ARCHIVES.items():
        cases += [(f"compiled, {title}, seed {s}", s, odd_archive(tool, odd))
                  for s in seeds(options.seeds)]
    for title, odd in BUNDLES.items():
        cases.append((title, 1, lambda s, f, odd=odd: odd(tool, make_pair(f, s))))
    run_cases(options, [(n, lambda folder, s=s, c=c: c(s, folder)) for n, s, c in cases],
              "odd models and stores")


if __name__ == "__main__":
    main()
