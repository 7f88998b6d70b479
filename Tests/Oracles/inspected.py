"""What `inspect --entity`, `inspect --schema` and `diff` say of stores, against plain SQL."""
import datetime
import json
import os
import re
import sqlite3
import uuid

from coredata import INTEGERS, Attribute, Layout, key
from json_schema import Schema
from run import Failure
from store import Missing, Store, copy_store, quoted, read_content, uri_path

SCHEMAS = {(command, kind): Schema(f"{command}-{kind}") for command, kind in (
    ("inspect", "model"), ("inspect", "store"), ("inspect", "objects"), ("inspect", "schema"),
    ("diff", "models"), ("diff", "stores"))}
ALL = str(2**62)
DAY_ZERO = datetime.datetime(2001, 1, 1)


def shaped(said, command):
    """What of a document is not as its schema says."""
    schema = SCHEMAS.get((command, said.get("kind")))
    return schema.faults(said)[:5] if schema else [f"{command} says it is {said.get('kind')}"]


# Objects

def check_objects(tool, store, path, models, model):
    """Every entity of a store with all its objects: as many as SQL counts, with their values."""
    numbers = {n: row for n, row in store.primary_keys().items() if n < 16000}
    children = {n: {n} for n in numbers}
    for number, (_, parent, _) in sorted(numbers.items(), reverse=True):
        if parent in children:
            children[parent] |= children[number]
    names = {v: n for n, v in model.numbers.items()} if model else {
        n: row[0] for n, row in numbers.items()}
    counts = {}
    for table, columns in store.tables.items():
        if {"Z_PK", "Z_ENT"} <= set(columns):
            for number, count in store.rows(
                    f"select Z_ENT, count(*) from {quoted(table)} group by 1"):
                counts[number] = counts.get(number, 0) + count
    content = read_content(store, Layout(model)) if model else None
    found, had_none = [], False
    for number in numbers:
        wanted = sum(counts.get(n, 0) for n in children[number])
        # One entity without objects is like another.
        if wanted == 0 and had_none:
            continue
        had_none = had_none or wanted == 0
        whole = ("--whole",) if number % 2 else ()
        said = tool.json("inspect", path, "--entity", names[number], "--limit", ALL, "--json",
                         *whole, *models)
        found += [f"{names[number]}: {f}" for f in shaped(said, "inspect")]
        told = (said["total"], said["shown"], len(said["objects"]))
        if told != (wanted,) * 3 or said["hasMore"]:
            found.append(f"{names[number]}: SQL counts {wanted}, inspect tells {told}")
        keys = [o["key"] for o in said["objects"]]
        if keys != sorted(set(keys)):
            found.append(f"{names[number]}: the keys are {keys[:9]}")
        if content:
            for thing in said["objects"]:
                found += check_object(store, model, content, thing)
                found += [f"{names[number]}.{p['name']} is cut with --whole"
                          for p in thing["properties"] if whole and p["isCut"]]
    return found[:20]


def check_object(store, model, content, thing):
    """What of an object is not as SQL has it."""
    name = f"{thing['entity']}/{thing['key']}"
    known = content.objects.get((model.root(thing["entity"]), thing["key"]))
    if known is None or known.entity != thing["entity"]:
        return [f"{name}: SQL knows {known and known.entity}"]
    told = {p["name"]: p for p in thing["properties"]}
    stored = model.stored(thing["entity"])
    if set(told) != set(stored):
        return [f"{name}: has {sorted(set(told) ^ set(stored))} in one of the two alone"]
    found = []
    for each, p in stored.items():
        if isinstance(p, Attribute):
            wrong = wrong_value(p, known.values[each], told[each])
        elif p.to_many:
            members = content.lists[key(p)].get(thing["key"], [])
            said = [r["key"] for r in told[each]["references"]]
            wrong = told[each]["count"] != len(members) or (
                said != members[:5] if p.ordered else not set(said) <= set(members))
        else:
            said = [r["key"] for r in told[each]["references"]]
            wrong = said != [k for k in [known.to_one[each]] if k is not None]
        if wrong:
            value = known.values.get(each, known.to_one.get(each))
            found.append(f"{name}.{each}: SQL has {value!r:.80}, told {told[each]}")
    return found


def wrong_value(attribute, value, told):
    """Whether a value is told otherwise than it is."""
    text = told.get("text")
    if isinstance(value, Missing):
        return "missing" not in told.get("fault", "")
    if value is None:
        return text is not None
    if isinstance(value, str):
        start = text.removesuffix("…") if told["isCut"] else text
        cut = told["isCut"] and len(start) >= 100 and value.startswith(start)
        return attribute.type not in ("String", "URI") or not (cut or start == value)
    if attribute.type in INTEGERS:
        return text != str(value)
    if attribute.type == "Boolean":
        return text != ("true" if value else "false")
    if attribute.type == "UUID":
        return text != str(uuid.UUID(bytes=value)).upper()
    if attribute.type == "Date":
        moment = DAY_ZERO + datetime.timedelta(milliseconds=round(value * 1000))
        said = datetime.datetime.fromisoformat(text.removesuffix("Z"))
        return abs(said - moment) > datetime.timedelta(milliseconds=1)
    if attribute.type in ("Double", "Float", "Decimal"):
        return float(text) != float(value)
    if told["bytes"] != len(value):
        return True
    if attribute.type == "Transformable" and value.startswith(b"bplist00"):
        return not text.startswith(("a keyed archive", "a property list"))
    return text.removesuffix("…") != (value[:16] if told["isCut"] else value).hex()


# Tables

def check_schema(tool, store, path, models):
    """The tables that a model wants, against those that its store has."""
    said = tool.json("inspect", path, "--schema", "--json", *models)
    found = shaped(said, "inspect") + [f"--schema: the store lacks {n}" for n in said["missing"]]
    for table in said["tables"]:
        wanted = {c["name"]: c["type"] for c in table["columns"]}
        if store.tables.get(table["name"]) != wanted:
            found.append(f"--schema: {table['name']} has {wanted}, "
                         f"SQL says {store.tables.get(table['name'])}")
    return found


# Two stores

def diff(tool, *arguments):
    """The exit status and the document of a comparison."""
    done = tool.call("diff", "--json", *arguments)
    if done.returncode not in (0, 1, 65) or not done.stdout:
        raise Failure(f"diff {arguments}: exit {done.returncode}: {done.stderr[-300:]}")
    said = json.loads(done.stdout)
    wrong = shaped(said, "diff")
    if wrong:
        raise Failure(f"diff {arguments}: {wrong}")
    if (done.returncode == 1) == said["isAlike"]:
        raise Failure(f"diff {arguments}: exit {done.returncode} and isAlike {said['isAlike']}")
    return done.returncode, said


def check_diffs(tool, store, path, models, folder):
    """A store against itself, a copy, and copies with one row changed or gone."""
    found = []
    status, said = diff(tool, path, path, *models)
    rows = sum(store.rows(f"select count(*) from {quoted(t)}")[0][0]
               for t, c in store.tables.items() if {"Z_PK", "Z_ENT", "Z_OPT"} <= set(c)
               and t.startswith("Z") and not t.startswith("Z_"))
    if not said["isAlike"] or said["differences"]:
        found.append(f"itself differs: {said['differences'][:3]}")
    if sum(e["compared"] for e in said["entities"]) != rows:
        found.append(f"SQL counts {rows} objects, diff compares {said['entities']}")
    for number, (sql, kind, count) in enumerate(changes(store)):
        copy = copy_store(path, os.path.join(folder, f"changed-{number}"))
        db = sqlite3.connect(f"file:{uri_path(copy)}?mode=rw", uri=True)
        # Triggers of Core Data's call functions of Core Data's.
        triggers = db.execute("select name from sqlite_master where type = 'trigger'")
        for (name,) in triggers.fetchall():
            db.execute(f"drop trigger {quoted(name)}")
        db.execute(sql)
        db.commit()
        db.close()
        status, said = diff(tool, path, copy, *models)
        if status != 1 or said["counts"].get(kind) != count:
            found.append(f"{sql}: {count} of {kind} expected, told {said['counts']}")
    return found


def changes(store):
    """(statement, kind of the difference, how many) for one table of the store."""
    for table, columns in sorted(store.tables.items()):
        if not {"Z_PK", "Z_ENT", "Z_OPT"} <= set(columns) or not re.match("Z[^_]", table):
            continue
        rows = store.rows(f"select Z_PK from {quoted(table)} order by 1 limit 3")
        if len(rows) < 3:
            continue
        yield (f"delete from {quoted(table)} where Z_PK = {rows[0][0]}", "onlyInFirst", 1)
        yield (f"update {quoted(table)} set Z_PK = {2**40} where Z_PK = {rows[1][0]}",
               "onlyInSecond", 1)
        texts = [c for c, t in columns.items() if t == "VARCHAR"]
        if texts:
            yield (f"update {quoted(table)} set {quoted(texts[0])} = 'another text of 1999' "
                   f"where Z_PK = {rows[2][0]}", "value", 1)
        return


def check_migrated(tool, path, bundle, hashes, folder):
    """A store against what a migration to its bundle's current version made of it."""
    result = os.path.join(folder, "Migrated.sqlite")
    done = tool.call("migrate", path, "--to", bundle.path, "--output", result, "--workers", "1",
                     "--allow-loss")
    if done.returncode or not os.path.exists(result):
        return []
    status, said = diff(tool, path, result, "--models", bundle.path)
    current = bundle.models.get(bundle.current)
    if current is None or current.hashes() == hashes:
        return [] if status == 0 else [f"migrated to its own model it differs: {said['counts']}"]
    told = said.get("models", {})
    if status != 1 or not told.get("needsMigration") or said["differences"]:
        return [f"its migrated version: exit {status}, models {told.get('needsMigration')}"]
    return []


# Two models

def check_versions(tool, bundle):
    """Neighbouring versions of a bundle, and each with itself."""
    found = []
    models = list(bundle.models.values())
    for one, other in [*zip(models, models[1:]), *((m, m) for m in models)]:
        status, said = diff(tool, one.path, other.path)
        name = f"{os.path.basename(one.path)} and {os.path.basename(other.path)}"
        if one is other and status != 0:
            found.append(f"{name}: differ in {said['entities'][:1]}")
        if said.get("needsMigration") != (one.hashes() != other.hashes()):
            found.append(f"{name}: needsMigration is {said.get('needsMigration')}")
        if set(said["same"]) - set(one.entities) & set(other.entities):
            found.append(f"{name}: the same are {said['same']}")
        new = {e["name"] for e in said["entities"] if e["fate"] == "new"}
        renamed = {e["name"] for e in said["entities"] if e["fate"] == "renamed"}
        if new | renamed != set(other.entities) - set(one.entities) and not renamed:
            found.append(f"{name}: new are {sorted(new)}")
    return found


def check_inside(tool, known, path, copy, store, model, folder):
    """All of the above for one store."""
    if model is None:
        if not tool.json("inspect", "--json", copy)["model"]["found"]:
            names = [n for n, *_ in store.primary_keys().values()]
            done = tool.call("inspect", copy, "--entity", names[0])
            return [] if done.returncode == 78 and copy in done.stderr else [
                f"without a model: exit {done.returncode}: {done.stderr[-200:]}"]
        bundle, models = None, ()
    else:
        bundle = next(b for b in known.values() if b.matching(store.hashes))
        # Of a bundle with many versions each call would read them all.
        models = ("--models", model.path)
    found = check_objects(tool, store, copy, models, model)
    found += check_schema(tool, store, copy, models)
    found += check_diffs(tool, store, copy, models, folder)
    if bundle:
        found += check_migrated(tool, copy, bundle, store.hashes, folder)
    return found
