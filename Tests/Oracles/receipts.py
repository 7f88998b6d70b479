#!/usr/bin/env python3
"""Receipts of migrations by every engine, with an output, in place, with a live -wal, over versions
and with losses that were allowed: each is as its schema says; hashes are those of hashlib, counts
those of plain SQL; `verify --receipt` takes both stores for what they are, and finds each fault
that is planted in one of them.

usage: receipts.py --godwit P [--corpus D] [--scratch S]; needs no corpus
"""
import glob
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys

from json_schema import Schema
from run import Failure, Tool, parser, run_cases

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODEL = os.path.join(ROOT, "docs", "sample", "Library.xcdatamodeld")
RECEIPT = Schema("receipt")
# A process that leaves its log behind.
WRITER = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("pragma journal_mode = wal")
db.execute("pragma wal_autocheckpoint = 0")
db.execute("delete from ZREADER where Z_PK % 7 = 0")
db.execute("update ZLOAN set Z_OPT = Z_OPT + 1")
db.commit()
os._exit(0)
"""


def digest(data):
    return hashlib.sha256(data).hexdigest()


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def support(store):
    folder, name = os.path.split(store)
    return os.path.join(folder, f".{os.path.splitext(name)[0]}_SUPPORT", "_EXTERNAL_DATA")


def external(store):
    """What a receipt has to say of the external files, None where there are none."""
    names = sorted(os.listdir(support(store))) if os.path.isdir(support(store)) else []
    if not names:
        return None
    files = [contents(os.path.join(support(store), name)) for name in names]
    lines = "".join(f"{digest(data)}  {name}\n" for name, data in zip(names, files))
    return {"count": len(names), "bytes": sum(map(len, files)), "sha256": digest(lines.encode())}


def counts(store):
    """Objects by entity, and how many values there are in columns of references and join tables."""
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    names = dict(db.execute("select Z_ENT, Z_NAME from Z_PRIMARYKEY"))
    objects = {}
    for (table,) in db.execute("select name from sqlite_master where type = 'table'").fetchall():
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        if table.startswith("Z_") or "Z_ENT" not in columns:
            continue
        for number, count in db.execute(f"select Z_ENT, count(*) from {table} group by Z_ENT"):
            objects[names[number]] = objects.get(names[number], 0) + count
    def one(query):
        return db.execute(query).fetchone()[0]
    references = {
        "Loan.reader": one("select count(ZREADER) from ZLOAN"),
        "Loan.book": one("select count(ZBOOK) from ZLOAN"),
        "Author.books": sum(
            one(f"select count(*) from {name}") for (name,) in db.execute(
                "select name from sqlite_master where name like 'Z\\__%BOOKS' escape '\\' "
                "and type = 'table'").fetchall())}
    db.close()
    return objects, references


def sealed(receipt):
    """The hash that a receipt has to have of its own fields."""
    rest = {name: value for name, value in receipt.items() if name != "sha256"}
    return digest(json.dumps(rest, sort_keys=True, separators=(",", ":"),
                             ensure_ascii=False).encode())


def require(what, found, expected):
    if found != expected:
        raise Failure(f"{what}: {found!r:.300}, expected {expected!r:.300}")


def judge(receipt, side, store):
    """Compares what a receipt says of a store with the store."""
    told = receipt[side]
    objects, references = counts(store)
    require(f"{side}: objects", told["objects"], objects)
    found = {f"{r['entity']}.{r['relationship']}": r["count"] for r in told["references"]}
    require(f"{side}: references", {n: found.get(n, 0) for n in references}, references)
    require(f"{side}: external files", told.get("externalFiles"), external(store))
    if not os.path.exists(f"{store}-wal"):
        require(f"{side}: SHA-256", told["sha256"], digest(contents(store)))
        require(f"{side}: bytes", told["bytes"], os.path.getsize(store))


def made(tool, folder, engine, *options, in_place=False, log=False):
    """A migration with its receipt; both stores, and the receipt."""
    store, new = os.path.join(folder, "Old.sqlite"), os.path.join(folder, "New.sqlite")
    file = os.path.join(folder, "receipt.json")
    tool.run("generate", MODEL, "--version", "Library 1", "--rows", 400, "--output", store)
    if log:
        subprocess.run([sys.executable, "-c", WRITER, store], check=True)
    page = os.path.join(folder, "receipt.html")
    tool.run("migrate", store, "--to", MODEL, "--engine", engine, *options, "--receipt", file,
             "--receipt", page, *([] if in_place else ["--output", new]))
    receipt = json.loads(contents(file))
    faults = RECEIPT.faults(receipt)
    if faults:
        raise Failure(f"not as receipt.schema.json says: {'; '.join(faults[:5])}")
    if in_place:
        store, new = receipt["source"]["keptAs"], store
    text = contents(page).decode()
    for needed in (receipt["source"]["sha256"], receipt["result"]["sha256"], "Verification"):
        if needed not in text:
            raise Failure(f"the page lacks {needed}")
    return store, new, file, receipt


def right(engine, *options, **more):
    def check(tool, folder):
        store, new, file, receipt = made(tool, folder, engine, *options, **more)
        judge(receipt, "source", store)
        judge(receipt, "result", new)
        require("the receipt's own SHA-256", receipt["sha256"], sealed(receipt))
        for account in receipt["objects"] + receipt["references"]:
            gone = sum(drop["count"] for drop in account["dropped"])
            require("in", account["in"], account["out"] + gone)
        told = tool.json("verify", "--receipt", file, store, new, "--json")
        require("roles", [s["role"] for s in told["stores"]], ["source", "result"])
        return []
    return check


def flip(store):
    with open(store, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))


def delete(store):
    with sqlite3.connect(store) as db:
        db.execute("delete from ZREADER where Z_PK = 2")
    db.close()


def lose_file(store):
    os.remove(sorted(glob.glob(os.path.join(support(store), "*")))[0])


FAULTS = {"a bit": (flip, "SHA-256"), "a row less": (delete, "Reader: 79 objects, and had 80."),
          "a file less": (lose_file, "its external files are")}


def planted(tool, folder):
    store, new, file, _ = made(tool, folder, "auto")
    out = []
    for name, (plant, sentence) in FAULTS.items():
        for victim in (store, new):
            place = os.path.join(folder, name.replace(" ", ""))
            os.makedirs(place)
            copy = os.path.join(place, os.path.basename(victim))
            shutil.copy(victim, copy)
            shutil.copytree(os.path.dirname(support(victim)), os.path.dirname(support(copy)))
            tool.run("verify", "--receipt", file, copy)
            plant(copy)
            done = tool.call("verify", "--receipt", file, copy)
            if done.returncode != 65 or sentence not in done.stdout:
                out.append(f"{name} in {victim}: exit {done.returncode}: {done.stdout[:300]}")
            shutil.rmtree(place)
    other = os.path.join(folder, "Other.sqlite")
    tool.run("generate", MODEL, "--rows", 10, "--seed", 9, "--output", other)
    done = tool.call("verify", "--receipt", file, other)
    if done.returncode != 65 or "it is another store" not in done.stdout:
        out.append(f"another store: exit {done.returncode}: {done.stdout[:300]}")
    for path, status in ((os.path.join(folder, "none.json"), 66), (store, 65)):
        done = tool.call("verify", "--receipt", path, new)
        if done.returncode != status:
            out.append(f"{path} as a receipt: exit {done.returncode}")
    done = tool.call("migrate", store, "--to", MODEL, "--receipt", file, "--discard-old")
    if done.returncode != 64:
        out.append(f"--discard-old: exit {done.returncode}")
    return out


def edited(tool, folder):
    """Each field of a receipt changed by hand: the receipt is known to be edited."""
    _, new, file, receipt = made(tool, folder, "auto")
    out = []
    empty = {str: "", list: [], dict: {}, int: 7}
    for name, value in receipt.items():
        lie = dict(receipt, **{name: empty[type(value)] if value != empty[type(value)] else ["x"]})
        with open(file, "w", encoding="utf-8") as output:
            json.dump(lie, output)
        done = tool.call("verify", "--receipt", file, new)
        if done.returncode != 65:
            out.append(f"{name}: exit {done.returncode}: {done.stdout[:300]}")
    return out


def consents(tool, folder):
    """A downgrade loses what the old version lacks, which needs consent, and values by choice."""
    store, new = os.path.join(folder, "Old.sqlite"), os.path.join(folder, "New.sqlite")
    file = os.path.join(folder, "receipt.json")
    tool.run("generate", MODEL, "--version", "Library 3", "--rows", 400, "--output", store)
    to = os.path.join(MODEL, "Library 1.xcdatamodel")
    for words, consent in ((["--on-value", "null"], None),
                           (["--on-value", "null", "--allow-loss"], "anything")):
        done = tool.call("migrate", store, "--to", to, "--output", new, "--receipt", file, *words)
        if consent is None:
            require("a refusal", (done.returncode, os.path.exists(file)), (78, False))
            continue
        require("the status", done.returncode, 0)
        receipt = json.loads(contents(file))
        chosen = [x for x in receipt["losses"] if x["cause"] == "conversion"]
        others = [x for x in receipt["losses"] if x not in chosen]
        if not others or {x["consent"] for x in others} != {consent}:
            return [f"{others}"]
        if {x["consent"] for x in chosen} != {"choice"}:
            return [f"values that became nil: {chosen}"]
    return []


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    tool = Tool(options.godwit)
    cases = [(engine, right(engine)) for engine in ("pages", "sql", "auto", "clone")]
    cases += [(f"{engine} in place", right(engine, in_place=True)) for engine in ("pages", "sql")]
    cases += [("a log", right("auto", log=True)),
              ("steps", right("sql", "--progressive", "--stepwise")),
              ("a log, in place", right("auto", in_place=True, log=True)),
              ("verified in full", right("auto", "--verify", "full")),
              ("planted faults", planted), ("edited", edited),
              ("consents", consents)]
    run_cases(options, [(n, lambda folder, c=c: c(tool, folder)) for n, c in cases], "receipts")


if __name__ == "__main__":
    main()
