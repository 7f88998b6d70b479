#!/usr/bin/env python3
"""Join tables whose names the model leaves open: of an entity joined with itself, and with columns
that would have one name. The source's own names are read, and kept where both relationships go on;
a store of the destination's version, or an option, says otherwise.

usage: joins.py --godwit P --corpus D [--scratch S]; the corpus is not read
"""
import json
import os
import random
import re
import sqlite3

from coredata import Model
from random_models import A, E, End, Models
from run import Failure, Tool, parser, run_cases


def make_model(path, later=False, changed=False, pair=True, renamed=False):
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
        m.relations.append((End("Person", name, True), End(far, "people", True), far))
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


def main():
    options = parser(__doc__).parse_args()
    tool = Tool(options.godwit)
    cases = [(f"itself, {e}", self_pair(e)) for e in ENGINES]
    cases += [(f"columns, {e}", numbered_columns(e)) for e in ENGINES]
    cases += [("a new pair", new_pair), ("asked for", asked_for),
              ("as in a store", as_in_a_store)]
    run_cases(options, [(n, lambda folder, c=c: c(tool, folder)) for n, c in cases],
              "kinds of join tables")


if __name__ == "__main__":
    main()
