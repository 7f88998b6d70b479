#!/usr/bin/env python3
"""Compares `godwit export` of made-up and real stores with plain SQL: every value, reference, place
and pair, in each format, after the files were read by readers that know nothing of Godwit.

usage: exported.py --godwit P [--corpus D] [--scratch S]
"""
import base64
import csv
import datetime
import glob
import json
import os
import plistlib
import sqlite3
import subprocess
import sys
import uuid

from coredata import INTEGERS, Attribute, Bundle, Layout, bundles, key
from json_schema import Schema
from run import Failure, Tool, fingerprint, parser, run_cases, unchanged
from store import Missing, Store, copy_store, read_content

DAY_ZERO = datetime.datetime(2001, 1, 1)
SCHEMA = Schema("export")
csv.field_size_limit(1 << 30)


# Readers of the three formats: a list of rows for each table, None for NULL

def read_csv(path):
    """Rows of a CSV file; None for an empty field without quotes, unlike the csv module."""
    rows, row, text, quoted, inside = [], [], [], False, False
    with open(path, encoding="utf-8", newline="") as file:
        data = file.read()
    index = 0
    while index < len(data):
        character = data[index]
        if inside:
            if character == '"' and data[index + 1:index + 2] == '"':
                text.append('"')
                index += 1
            elif character == '"':
                inside = False
            else:
                text.append(character)
        elif character == '"':
            inside = quoted = True
        elif character in ",\n":
            row.append("".join(text) if text or quoted else None)
            text, quoted = [], False
            if character == "\n":
                rows.append(row)
                row = []
        else:
            text.append(character)
        index += 1
    with open(path, encoding="utf-8", newline="") as file:
        known = [[cell or None for cell in line] for line in csv.reader(file)]
    if known != [[cell or None for cell in line] for line in rows]:
        raise Failure(f"{path}: Python's csv module reads other rows")
    return [dict(zip(rows[0], line, strict=True)) for line in rows[1:]]


def flattened(thing, columns, prefix=""):
    row = {}
    for name, value in thing.items():
        if isinstance(value, dict) and prefix + name not in columns:
            row.update(flattened(value, columns, prefix + name + "."))
        else:
            row[prefix + name] = value
    return row


def read_jsonl(path, columns):
    with open(path, encoding="utf-8") as file:
        return [flattened(json.loads(line), columns) for line in file]


def read_tables(folder, report):
    tables = {}
    database = os.path.join(folder, "export.sqlite")
    connection = sqlite3.connect(database) if os.path.exists(database) else None
    for table in report["tables"]:
        names = {c["name"] for c in table["columns"]}
        if connection:
            cursor = connection.execute(f'select * from "{table["name"]}"')
            found = [d[0] for d in cursor.description]
            rows = [dict(zip(found, row)) for row in cursor]
        elif table["file"].endswith(".csv"):
            rows = read_csv(os.path.join(folder, table["file"]))
        else:
            rows = read_jsonl(os.path.join(folder, table["file"]), names)
        if len(rows) != table["rows"]:
            raise Failure(f"{table['name']}: {len(rows)} rows, the report says {table['rows']}")
        for row in rows[:1]:
            if set(row) != names:
                raise Failure(f"{table['name']}: columns {sorted(set(row) ^ names)}")
        tables[table["name"]] = rows
    return tables


# Values

def as_bytes(said, folder):
    """The bytes that a cell stands for, or the decoded value."""
    if isinstance(said, dict) and set(said) == {"file"}:
        said = said["file"]
    if isinstance(said, bytes):
        return said
    if isinstance(said, str) and said.startswith("files/"):
        with open(os.path.join(folder, said), "rb") as file:
            return file.read()
    if isinstance(said, str) and said[:1] not in ("{", "["):
        try:
            return base64.b64decode(said, validate=True)
        except ValueError:
            return None
    return None


def plain(value):
    """A property list as JSON has it."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return value.isoformat() + "Z"
    return value


def is_decoded(value, said):
    """Whether JSON is what the bytes say."""
    if isinstance(said, str):
        try:
            said = json.loads(said)
        except ValueError:
            pass
    if value[:1] in (b"{", b"["):
        return json.loads(value) == said
    if value.startswith(b"bplist00"):
        archive = plistlib.loads(value)
        if isinstance(archive, dict) and "$archiver" in archive:
            return True  # What keyed archives hold, ExportTests compares.
        return plain(archive) == said
    return False


def wrong(attribute, value, said, folder):
    """Whether a value is exported otherwise than it is."""
    if isinstance(value, Missing):
        return as_bytes(said, folder) not in (value.reference, value.reference[1:])
    if value is None or said is None:
        return value is not said
    kind = attribute.type
    if kind == "Boolean":
        return said not in (bool(value), int(value), "true" if value else "false")
    if kind in INTEGERS:
        return str(said) != str(value)
    if kind in ("Double", "Float"):
        return float(said) != float(value)
    if kind == "Decimal":
        return float(said) != float(value)
    if kind in ("String", "URI"):
        return said != value
    if kind == "UUID":
        return said != str(uuid.UUID(bytes=value)).upper()
    if kind == "Date":
        return wrong_date(value, said)
    found = as_bytes(said, folder)
    return found != value and not is_decoded(value, said)


def wrong_date(value, said):
    """Digits behind the second give the same number again, as far as nine of them can."""
    whole, _, fraction = said.removesuffix("Z").partition(".")
    moment = datetime.datetime.fromisoformat(whole) - DAY_ZERO
    seconds = moment.days * 86400 + moment.seconds
    return abs(seconds + (float("0." + fraction) if fraction else 0) - value) > 1e-6


# Stores

def check_store(tool, path, model, folder, models):
    store = Store(copy_store(path, os.path.join(folder, "read")))
    copy = copy_store(path, os.path.join(folder, "source"))
    content = read_content(store, Layout(model))
    found = []
    for form in ("csv", "jsonl", "sqlite"):
        output = os.path.join(folder, form)
        before = fingerprint(os.path.dirname(copy))
        done = tool.call("export", copy, "--format", form, "--output", output, "--json", *models)
        unchanged(before, os.path.dirname(copy))
        missing = sum(isinstance(v, Missing) for o in content.objects.values()
                      for v in o.values.values())
        if done.returncode != (65 if missing else 0):
            return [f"{form}: exit {done.returncode}: {done.stderr[-300:]}"]
        with open(os.path.join(output, "export.json"), encoding="utf-8") as file:
            report = json.load(file)
        found += [f"{form}: {f}" for f in SCHEMA.faults(report)[:5]]
        if report != json.loads(done.stdout):
            found.append(f"{form}: export.json is not what --json prints")
        if report["missingFileCount"] != missing:
            found.append(f"{form}: {missing} files are missing, told {report['missingFileCount']}")
        tables = read_tables(output, report)
        found += [f"{form}: {f}" for f in compare(model, content, tables, output)]
    return found[:20]


def compare(model, content, tables, folder):
    found = []
    wanted = {}
    for (_, pk), thing in content.objects.items():
        wanted.setdefault(thing.entity, {})[pk] = thing
    for entity in set(wanted) | set(model.concrete()):
        rows = {int(r["_key"]): r for r in tables.get(entity, [])}
        if set(rows) != set(wanted.get(entity, {})):
            found.append(f"{entity}: {len(wanted.get(entity, {}))} objects, exported {len(rows)}")
            continue
        for pk, row in rows.items():
            found += compare_object(model, wanted[entity][pk], row, folder, f"{entity}/{pk}")
    for p in model.relationships():
        if p.to_many and (model.inverse(p) is None or model.inverse(p).to_many):
            found += compare_pairs(p, content.lists[key(p)], tables)
    return found[:20]


def compare_object(model, thing, row, folder, name):
    found = []
    for each, p in model.stored(thing.entity).items():
        if isinstance(p, Attribute):
            if wrong(p, thing.values[each], row[each], folder):
                found.append(f"{name}.{each}: {thing.values[each]!r:.60} became {row[each]!r:.60}")
        elif not p.to_many:
            said = row[each]
            if (None if said is None else int(said)) != thing.to_one[each]:
                found.append(f"{name}.{each}: {thing.to_one[each]} became {said}")
    return found


def compare_pairs(p, lists, tables):
    """The members of each owner, in order where the relationship has one."""
    name, mine, theirs = f"{p.owner}.{p.name}", "owner", "member"
    if name not in tables:
        # The table bears the name of the other end.
        name, mine, theirs = f"{p.destination}.{p.inverse}", "member", "owner"
    if name not in tables:
        return [f"{p.owner}.{p.name}: no table of its pairs"] if lists else []
    said = {}
    for row in tables[name]:
        order = row.get(f"{theirs}._order")
        said.setdefault(int(row[mine]), []).append(
            (-1 if order is None else int(order), int(row[theirs])))
    said = {owner: [k for _, k in sorted(members)] for owner, members in said.items()}
    if said != lists:
        return [f"{name}: {sum(map(len, lists.values()))} pairs, "
                f"exported {sum(map(len, said.values()))}, or in another order"]
    return []


def check_guess(tool, path, folder):
    """A store whose model is nowhere: all rows and values, under names of the tables."""
    copy = copy_store(path, os.path.join(folder, "guess"))
    connection = sqlite3.connect(copy)
    connection.execute("delete from Z_MODELCACHE")
    connection.commit()
    connection.close()
    output = os.path.join(folder, "guessed")
    report = json.loads(tool.run("export", copy, "--format", "sqlite", "--output", output,
                                 "--json").stdout)
    if report["hasModel"] or not all(t["isGuessed"] for t in report["tables"]):
        return ["guess: the model is taken as known"]
    store = Store(copy)
    wanted = {}
    for table, columns in store.tables.items():
        if {"Z_PK", "Z_ENT"} <= set(columns) and table != "Z_PRIMARYKEY":
            for number, count in store.rows(
                    f'select Z_ENT, count(*) from "{table}" group by 1'):
                wanted[store.primary_keys()[number][0]] = count
    said = {t["name"]: t["rows"] for t in report["tables"] if t["contents"] == "objects"}
    return [] if said == wanted else [f"guess: {wanted}, exported {said}"]


def check_refusals(tool, path, folder):
    """An existing folder, unknown names: nothing is left."""
    taken = os.path.join(folder, "taken")
    os.mkdir(taken)
    before = fingerprint(folder)
    tool.run("export", path, "--output", taken, expect=73)
    free = os.path.join(folder, "free")
    tool.run("export", path, "--output", free, "--entity", "Nothing", expect=64)
    tool.run("export", path, "--output", free, "--label", "Book.nothing", expect=64)
    tool.run("export", path, "--output", free, "--label", "nothing", expect=64)
    tool.run("export", os.path.join(folder, "no.sqlite"), "--output", free, expect=66)
    unchanged(before, folder)


def made_stores(tool, folder, root):
    """Stores of the sample model's versions with random values."""
    bundle = Bundle(os.path.join(root, "docs/sample/Library.xcdatamodeld"))
    for name in bundle.models:
        path = os.path.join(folder, f"{name}.sqlite")
        tool.run("generate", bundle.path, "--version", name, "--rows", "600", "--output", path)
        yield path, bundle.models[name]


# Another reader

PANDAS = """
import json, sys
import pandas
for path in sys.argv[1:]:
    if path.endswith(".csv"):
        table = pandas.read_csv(path, dtype=str, keep_default_na=False)
    else:
        table = pandas.read_json(path, lines=True, dtype=False, convert_dates=False,
                                 precise_float=True)
        table = table.astype(object).where(table.notna(), None)
    print(json.dumps(table.to_dict("records")))
"""


def check_pandas(tool, folder, root):
    """Pandas reads the same rows as the readers above."""
    python = next((p for p in (sys.executable, "/usr/bin/python3") if os.path.exists(p)
                   and not subprocess.run([p, "-c", "import pandas"],
                                          capture_output=True).returncode), None)
    if python is None:
        print("pandas is missing (python3-pandas), so it reads no export")
        return []
    found = []
    for path, _ in made_stores(tool, folder, root):
        for form in ("csv", "jsonl"):
            out = f"{path}.{form}"
            tool.run("export", path, "--format", form, "--output", out)
            files = sorted(glob.glob(os.path.join(out, f"*.{form}")))
            done = subprocess.run([python, "-c", PANDAS, *files], capture_output=True, text=True,
                                  check=True)
            for file, line in zip(files, done.stdout.splitlines(), strict=True):
                rows = json.loads(line)
                if form == "csv":
                    wanted = [{k: v or "" for k, v in row.items()} for row in read_csv(file)]
                else:
                    with open(file, encoding="utf-8") as lines:
                        wanted = [json.loads(each) for each in lines]
                found += [f"{file}: pandas reads {one!r:.200} for {other!r:.200}"
                          for one, other in zip(rows, wanted, strict=True) if one != other]
    return found[:10]


def cases(tool, options, root):
    def sample(folder):
        found = []
        for path, model in made_stores(tool, folder, root):
            base = os.path.join(folder, model_folder(path))
            os.mkdir(base)
            found += check_store(tool, path, model, base, ())
            found += check_guess(tool, path, base)
            check_refusals(tool, path, base)
        return found
    yield "sample", sample
    yield "pandas", lambda folder: check_pandas(tool, folder, root)
    paths = real_stores(options.corpus)
    known = bundles(options.corpus).values() if paths else ()
    for path in paths:
        def real(folder, path=path):
            store = Store(copy_store(path, os.path.join(folder, "look")))
            for bundle in known:
                for version in bundle.matching(store.hashes):
                    return check_store(tool, path, bundle.models[version], folder,
                                       ("--models", bundle.path))
            return []
        yield os.path.relpath(path, options.corpus), real


def model_folder(path):
    return os.path.splitext(os.path.basename(path))[0] + ".export"


def real_stores(corpus):
    if not corpus or not os.path.isdir(corpus):
        print("the corpus folder is missing, so its stores are skipped")
        return []
    # The folders of cases have models of their own, and what trying them left.
    cases = tuple(os.path.join(corpus, each) + os.sep for each in ("field", "attack"))
    return sorted(p for pattern in ("*.sqlite", "*.store")
                  for p in glob.glob(os.path.join(corpus, "**", pattern), recursive=True)
                  if not p.startswith(cases))


if __name__ == "__main__":
    options = parser(__doc__, needs_corpus=False).parse_args()
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    run_cases(options, list(cases(Tool(options.godwit), options, here)), "stores")
