#!/usr/bin/env python3
"""Join tables whose names the model leaves open: of an entity joined with itself, and with columns
that would have one name. The source's own names are read, and kept where both relationships go on;
a store of the destination's version, or an option, says otherwise.

And join tables whose keys are no integers: such pairs lead nowhere, and go over like all that do.

usage: joins.py --godwit P --corpus D [--scratch S]; the corpus is not read
"""
import json
import os
import random
import re
import shutil
import sqlite3

from coredata import Model
from random_models import A, E, End, Models
from run import Failure, Tool, parser, run_cases, vacuumed


def make_model(path, later=False, changed=False, pair=True, renamed=False, ordered=False):
    """Person, joined with itself by `follows` and `followedBy`, and twice with Group, where both
    inverses are called `people`."""
    m = Models(random.Random(1))
    for name in ("Group", "Person", "Room"):
        m.entities[name] = E(name)
        m.entities[name].attributes["name"] = A("name", "String")
    if later:
        m.entities["Group"].attributes["later"] = A("later", "String")
        m.entities["Added"] = E("Added")
    if changed:
        m.entities["Person"].attributes["age"] = A("age", "Integer 64")
    if pair:
        one, other = End("Person", "follows", True), End("Person", "followedBy", True)
        if renamed:
            one.name, one.identifier = "zFollows", "follows"
        m.relations.append((one, other, "Person"))
    for far, name in (("Group", "groups"), ("Room", "rooms")):
        m.relations.append(
            (End("Person", name, True, ordered), End(far, "people", True), far))
    m.write(path)
    return Model(path)


class Case:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.bundle = os.path.join(folder, "Joins.xcdatamodeld")

    def model(self, name, **options):
        return make_model(os.path.join(self.bundle, name + ".xcdatamodel"), **options)

    def store(self, model, name="Old"):
        path = os.path.join(self.folder, name + ".sqlite")
        self.tool.run("generate", model.path, "--rows", 40, "--output", path)
        return path

    def migrate(self, store, to, *options, note=None):
        result = store + f".{len(os.listdir(self.folder))}.sqlite"
        done = self.tool.run("migrate", store, "--to", to, "--models", self.bundle, "--output",
                             result, *options)
        noted = "is named after" in done.stderr
        if note is not None and noted != note:
            raise Failure(f"a note was{'' if noted else ' not'} given: {done.stderr}")
        return result


def connect(path):
    return sqlite3.connect(path, isolation_level=None)


def joined(path, relationship):
    """(name, its key columns) of the join table named after a relationship."""
    db = connect(path)
    names = [n for (n,) in db.execute("select name from sqlite_master where type = 'table'")
             if re.fullmatch(rf"Z_\d+{relationship.upper()}", n)]
    found = [(n, [c[1] for c in db.execute(f'pragma table_info("{n}")')]) for n in names]
    db.close()
    return found


def flip(store):
    """Gives the table of Person with itself its other name, as some stores have it."""
    [(name, _)] = joined(store, "follows")
    number = re.match(r"Z_\d+", name)[0]
    db = connect(store)
    db.execute(f"alter table {name} rename to {number}FOLLOWEDBY")
    db.close()


ENGINES = {"sql": ("--engine", "sql"), "pages": ("--engine", "pages"),
           "objects": ("--engine", "objects")}


def self_pair(engine):
    """Both names, where the entity stays, changes and has a relationship renamed."""
    def check(tool, folder):
        case, out = Case(tool, folder), []
        old = case.model("1")
        versions = {"unchanged": case.model("2", later=True),
                    "changed": case.model("3", changed=True),
                    "renamed": case.model("4", renamed=True)}
        plain, flipped = case.store(old), case.store(old, "Flipped")
        flip(flipped)
        mapped = []
        for title, new in versions.items():
            if engine == "objects":
                mapped = ["--mapping", inferred(tool, old, new, folder)]
            for store, name in ((plain, "follows"), (flipped, "followedBy")):
                if title == "renamed" and name == "follows":
                    name = "zFollows"
                result = case.migrate(store, new.path, *mapped, *ENGINES[engine],
                                      note=title != "unchanged")
                out += names_and_pairs(f"{title}, {name}", store, result, name,
                                       "zFollows" if title == "renamed" else "follows")
        return out
    return check


def inferred(tool, old, new, folder):
    path = os.path.join(folder, f"{os.path.basename(new.path)}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(tool.json("map", "--from", old.path, "--to", new.path), file)
    return path


def names_and_pairs(what, store, result, name, forward):
    if not joined(result, name):
        db = connect(result)
        tables = [n for (n,) in db.execute("select name from sqlite_master where name like 'Z!_%' "
                                           "escape '!' and type = 'table'")]
        return [f"{what}: no table is named so: {tables}"]
    source = "follows" if joined(store, "follows") else "followedBy"
    one = self_pairs(store, source, "follows")
    other = self_pairs(result, name, forward)
    return [] if one == other and one else [f"{what}: {len(one)} and {len(other)} pairs differ"]


def self_pairs(path, named, forward):
    """(follower, followed) of the table, whatever it is named after."""
    [(table, _)] = joined(path, named)
    number = re.match(r"Z_\d+", table)[0]
    db = connect(path)
    found = set(db.execute(f'select "{number}FOLLOWEDBY", "{number}{forward.upper()}" '
                           f'from "{table}"'))
    db.close()
    return found


def new_pair(tool, folder):
    case = Case(tool, folder)
    old, new = case.model("1", pair=False), case.model("2")
    result = case.migrate(case.store(old), new.path, note=True)
    return [] if joined(result, "follows") else ["the larger name is not there"]


def asked_for(tool, folder):
    case, out = Case(tool, folder), []
    old, new = case.model("1"), case.model("2", changed=True)
    store = case.store(old)
    for name in ("followedBy", "follows"):
        result = case.migrate(store, new.path, "--join-table", f"Person.{name}", note=False)
        out += names_and_pairs(name, store, result, name, "follows")
    for wrong in ("Person.groups", "Person.none", "None.follows", "Person"):
        done = tool.call("migrate", store, "--to", new.path, "--output", store + ".no",
                         "--join-table", wrong)
        if done.returncode != 64 or wrong not in done.stderr:
            out.append(f"{wrong}: exit {done.returncode}, {done.stderr}")
    return out


def as_in_a_store(tool, folder):
    """A store of the destination's version is there: its name, though the source has another."""
    case = Case(tool, folder)
    old, new = case.model("1"), case.model("2", changed=True)
    store, like = case.store(old), case.store(new, "Like")
    flip(like)
    result = case.migrate(store, like, note=False)
    return names_and_pairs("as in a store", store, result, "followedBy", "follows")


def numbered_columns(engine):
    """Columns of one name numbered otherwise than the model would have it."""
    def check(tool, folder):
        case, out = Case(tool, folder), []
        old, new = case.model("1"), case.model("2", later=True)
        store = case.store(old)
        # Person's key in both tables: Z_nPEOPLE for groups, Z_nPEOPLE1 for rooms.
        before = two_tables(store)
        swap(store, before)
        mapped = ["--mapping", inferred(tool, old, new, folder)] if engine == "objects" else []
        result = case.migrate(store, new.path, *mapped, *ENGINES[engine])
        mine, theirs = two_tables(store), two_tables(result)
        for name in mine:
            if mine[name][2] != theirs[name][2] or not mine[name][2]:
                out.append(f"{name}: {len(mine[name][2])} pairs, then {len(theirs[name][2])}")
            if suffix(mine[name][1]) != suffix(theirs[name][1]):
                out.append(f"{name}: {mine[name][1]} became {theirs[name][1]}")
        return out + ([] if len(before) == 2 else [f"{len(before)} tables instead of two"])
    return check


def two_tables(path):
    """{far entity: (table, column with Person's key, pairs)}."""
    out = {}
    db = connect(path)
    for (name,) in db.execute("select name from sqlite_master where type = 'table' and "
                              "(name like 'Z!_%PEOPLE' escape '!' or name like 'Z!_%GROUPS' "
                              "escape '!' or name like 'Z!_%ROOMS' escape '!')").fetchall():
        columns = [c[1] for c in db.execute(f'pragma table_info("{name}")')]
        people = [c for c in columns if re.fullmatch(r"Z_\d+PEOPLE\d*", c)]
        other = [c for c in columns if c not in people]
        far = "groups" if other[0].endswith("GROUPS") else "rooms"
        found = set(db.execute(f'select "{people[0]}", "{other[0]}" from "{name}"'))
        out[far] = (name, people[0], found)
    db.close()
    return out


def suffix(column):
    return re.fullmatch(r"Z_\d+PEOPLE(\d*)", column)[1]


def swap(store, tables):
    db = connect(store)
    one, other = tables["groups"], tables["rooms"]
    for (table, _, _), column, new in ((one, one[1], other[1]), (other, other[1], one[1])):
        db.execute(f'alter table "{table}" rename column "{column}" to "{new}"')
    db.close()


ODD = [("abc", 3), (3, "abc"), (b"\0", b"x"), (1.5, 3), (2.5, 2.5), ("a\0b", 1), ("\u0100", 1),
       (2**63 - 1, "z"), ("abc", 4), ("abd", 5), ("abe", 6), (float("-inf"), 1), (1, float("inf")),
       (2**63 - 1, 4), (2**63 - 1, 5), (2**63 - 1, 6), (-2**63, 1)]
FEW = ("--range-rows", "3")
RUNS = {"sql": ("--engine", "sql"), "sql, ranges": ("--engine", "sql", "--workers", "2", *FEW),
        "pages": ("--engine", "pages"),
        "pages, ranges": ("--engine", "pages", "--workers", "2", *FEW, "--verify", "full"),
        "clone": ("--engine", "clone", "--verify", "full")}


def odd_keys(encoding, ordered):
    """Keys that are no integers, in tables that keep their rows' numbers and in others."""
    def check(tool, folder):
        case, out = Case(tool, folder), []
        old, new = case.model("1"), case.model("2", later=True, ordered=ordered)
        store = recoded(case.store(old), encoding)
        db = connect(store)
        for table, (first, second) in key_columns(store).items():
            db.executemany(f'insert or ignore into "{table}" ("{first}", "{second}") values (?, ?)',
                           ODD)
        db.close()
        told, copies = {}, {}
        for name, flags in RUNS.items():
            report = os.path.join(folder, "report.json")
            result = case.migrate(store, new.path, "--report", report, *flags)
            with open(report, encoding="utf-8") as file:
                read = json.load(file)
            told[name] = [read["danglingReferences"], pairs_told(read, odd_pairs(store))]
            copies[name] = vacuumed(result)
            if odd_pairs(store) != odd_pairs(result):
                out.append(f"{name}: {odd_pairs(store)} became {odd_pairs(result)}")
            tool.run("verify", store, result, "--models", case.bundle)
        for name in RUNS:
            with open(copies["sql"], "rb") as one, open(copies[name], "rb") as other:
                if one.read() != other.read():
                    out.append(f"{name}: another store than by SQL")
            if told[name] != told["sql"]:
                out.append(f"{name}: {told[name]}, by SQL {told['sql']}")
        if told["sql"][1] or not told["sql"][0]:
            out.append(f"by SQL: {told['sql']}")
        return out + planted(case, store, result)
    return check


def dangling_pairs(tool, folder):
    """Object by object, pairs with an object that is not there go, and are accounted for."""
    case = Case(tool, folder)
    old, new = case.model("1"), case.model("2", later=True)
    store = case.store(old)
    mapping = inferred(tool, old, new, folder)
    db = connect(store)
    tables = {t: db.execute(f'select count(*) from "{t}"').fetchone()[0]
              for t in key_columns(store)}
    for table, (first, second) in key_columns(store).items():
        db.executemany(f'insert into "{table}" ("{first}", "{second}") values (?, ?)',
                       [(99999, 1), (1, 99999), (99999, 99998), ("abc", 2)])
    db.close()
    report = os.path.join(folder, "report.json")
    case.migrate(store, new.path, "--mapping", mapping, "--report", report, *ENGINES["objects"])
    with open(report, encoding="utf-8") as file:
        told = [(a["rowsIn"], a["rowsOut"], a["dropped"]) for stage in json.load(file)["accounts"]
                for a in stage["pairs"]]
    wanted = [(count + 4, count, 4) for count in tables.values()]
    return [] if sorted(told) == sorted(wanted) else [f"{told} instead of {wanted}"]


def recoded(store, encoding):
    """The store in another encoding of its texts."""
    old, path = connect(store), store + ".recoded.sqlite"
    new = connect(path)
    new.execute(f"pragma encoding = '{encoding}'")
    new.execute("pragma auto_vacuum = 2")
    for name, statement in old.execute("select name, sql from sqlite_master where type = 'table'"):
        new.execute(statement)
        for row in old.execute(f'select * from "{name}"'):
            new.execute(f'insert into "{name}" values ({", ".join("?" * len(row))})', row)
    for (statement,) in old.execute("select sql from sqlite_master where type <> 'table' and sql "
                                    "is not null"):
        new.execute(statement)
    old.close()
    new.close()
    return path


def key_columns(path):
    """{join table: the two columns with keys}."""
    db = connect(path)
    names = [n for (n,) in db.execute("select name from sqlite_master where type = 'table' and "
                                      "name glob 'Z_[0-9]*'")]
    found = {n: [c[1] for c in db.execute(f'pragma table_info("{n}")') if c[5]] for n in names}
    db.close()
    return found


def odd_pairs(path):
    """The pairs with a key that is no integer, of all join tables, whatever those are called; and
    how many pairs there are."""
    db, found, rows = connect(path), [], 0
    for table, columns in key_columns(path).items():
        for pair in db.execute(f'select "{columns[0]}", "{columns[1]}" from "{table}"'):
            rows += 1
            if not all(isinstance(k, int) for k in pair):
                found.append(repr(pair))
    db.close()
    return sorted(found), rows


def pairs_told(report, pairs):
    """What the report's accounts of pairs do not add up to."""
    accounts = [a for stage in report["accounts"] for a in stage["pairs"]]
    odd = [a for a in accounts if a["rowsIn"] != a["rowsOut"] or a["incomplete"] or a["dropped"]]
    told = sum(a["rowsIn"] for a in accounts)
    return odd if told == pairs[1] else [f"{told} pairs of {pairs[1]}", *odd]


def planted(case, store, result):
    """The judge of `verify` is judged: each odd pair that is gone, or changed, is found."""
    out = []
    for change, kinds in (("delete from {t} where {a} = 'abc' and {b} = 3", ["pairMissing"]),
                          ("insert into {t} ({a}, {b}) values ('new', 1)", ["pairExtra"]),
                          ("update {t} set {b} = x'79' where {a} = x'00'",
                           ["pairMissing", "pairExtra"])):
        spoiled = result + ".spoiled.sqlite"
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(spoiled + suffix):
                os.remove(spoiled + suffix)
        shutil.copyfile(result, spoiled)
        db = connect(spoiled)
        [(table, (first, second)), *_] = key_columns(spoiled).items()
        done = db.execute(change.format(t=f'"{table}"', a=f'"{first}"', b=f'"{second}"'))
        if done.rowcount != 1:
            raise Failure(f"{change} changes {done.rowcount} rows")
        db.execute("pragma wal_checkpoint(truncate)")
        db.close()
        told = case.tool.call("verify", store, spoiled, "--models", case.bundle,
                              "--infer-only")
        # A pair that is new has no place among those of its owner.
        found = [line for line in told.stdout.splitlines() if not line.startswith("order:")]
        if told.returncode != 65 or len(found) != len(kinds) or not all(
                any(line.startswith(k + ":") for line in found) for k in kinds):
            out.append(f"{change}: verify ends with {told.returncode}: {found}")
    return out


def main():
    options = parser(__doc__).parse_args()
    tool = Tool(options.godwit)
    cases = [(f"itself, {e}", self_pair(e)) for e in ENGINES]
    cases += [(f"columns, {e}", numbered_columns(e)) for e in ENGINES]
    cases += [("a new pair", new_pair), ("asked for", asked_for),
              ("as in a store", as_in_a_store), ("dangling, objects", dangling_pairs)]
    cases += [(f"odd keys, {e}{', ordered' if o else ''}", odd_keys(e, o))
              for e in ("UTF-8", "UTF-16le") for o in (False, True)]
    run_cases(options, [(n, lambda folder, c=c: c(tool, folder)) for n, c in cases],
              "kinds of join tables")


if __name__ == "__main__":
    main()
