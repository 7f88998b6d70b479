#!/usr/bin/env python3
"""Migrates stores of which little changes by clones, and compares them with what SQL makes: alike
to the byte once vacuumed, sound, usable, and the same after kills. Tables that change go to new
pages, all others stay: random models, wear of every kind, logs, history, tables of other programs.

Where file systems that share blocks can be mounted (XFS and btrfs, in files, as root), a clone is
chosen by itself there, takes no room to speak of, and is rolled back; elsewhere pages are chosen.

usage: clones.py --godwit P [--seeds 1-14] [--scratch S]
"""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import derived
import history
from random_pairs import different, usable
from run import Failure, Tool, fingerprint, parser, run_cases, said, seeds, unchanged, vacuumed

TYPES = ("String", "Integer 64", "Double", "Date", "UUID", "Binary", "Boolean", "Decimal")
SMALL = "Zetting"


def attributes(names):
    return "".join(f'<attribute name="{n}" optional="YES" attributeType="{t}"/>' for n, t in names)


def relationship(name, destination, inverse, many):
    return (f'<relationship name="{name}" optional="YES" {"toMany" if many else "maxCount"}='
            f'"{"YES" if many else 1}" deletionRule="Nullify" destinationEntity="{destination}" '
            f'inverseName="{inverse}"/>')


def random_model(r):
    """{entity: its parts as XML}: some entities in a ring of relationships, and a small one."""
    names = r.sample(("Album", "Book", "Chapter", "Dream", "Event", "Folder"), r.randint(2, 5))
    entities = {}
    for place, name in enumerate(names):
        following, before = names[(place + 1) % len(names)], names[place - 1]
        # Of two entities, one would be its own neighbour twice by one name.
        many = r.random() < 0.4
        letters = "abcdef"[:r.randint(2, 6)]
        parts = attributes((f"{c}{n}", r.choice(TYPES)) for n, c in enumerate(letters))
        parts += relationship("next", following, "previous", many)
        parts += relationship("previous", before, "next", r.random() < 0.6)
        if r.random() < 0.6:
            parts += ('<fetchIndex name="by"><fetchIndexElement property="a0" type="Binary" '
                      'order="ascending"/></fetchIndex>')
        entities[name] = parts
    entities[SMALL] = attributes((("key", "String"), ("value", "Integer 64")))
    return entities


def changed(r, entities):
    """A version of which little is new, with what may be expected to stay."""
    new = dict(entities)
    kind = r.choice(("attribute", "attribute", "attribute and name", "entity", "nothing"))
    if "attribute" in kind:
        new[SMALL] += attributes((("more", r.choice(TYPES)),))
    if kind == "entity":
        new["Zoo"] = attributes((("name", "String"),))
    if "name" in kind:
        # The numbers of entities follow the order of their names.
        old = r.choice([n for n in entities if n != SMALL])
        name = old + "s"
        new = {name if n == old else n: parts.replace(
            f'destinationEntity="{old}"', f'destinationEntity="{name}"')
            for n, parts in new.items()}
        new[name] = ("was", old, new[name])
    if kind == "nothing":
        new[SMALL] = new[SMALL].replace('name="key"', 'name="key" versionHashModifier="2"')
    return kind, new


def write(folder, entities):
    os.makedirs(folder)
    text = ""
    for name, parts in sorted(entities.items()):
        was = ""
        if isinstance(parts, tuple):
            was, parts = f' elementID="{parts[1]}"', parts[2]
        text += f'<entity name="{name}"{was}>{parts}</entity>\n'
    with open(os.path.join(folder, "contents"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<model type="com.apple'
                   '.IDECoreDataModeler.DataModel" documentVersion="1.0">' + text + "</model>\n")


def wear(r, store, big):
    """Uses a store as apps and other programs do; flags that its migration then needs."""
    db, flags, done = sqlite3.connect(store, isolation_level=None), [], []
    for name in derived.FUNCTIONS:
        db.create_function(name, 5, lambda *_: None)

    def some(chance, name):
        if r.random() < chance:
            done.append(name)
            return True
        return False
    tables = [f"Z{n.upper()}" for n in big]
    if some(0.6, "gaps"):
        db.execute(f"delete from {r.choice(tables)} where Z_PK % 3 = {r.randrange(3)}")
    if some(0.3, "long values"):
        columns = [c[1] for c in db.execute(f"pragma table_info({tables[0]})") if c[2] == "BLOB"]
        for column in columns[:1]:
            db.execute(f"update {tables[0]} set {column} = randomblob(9000) where Z_PK % 40 = 1")
    if some(0.3, "statistics"):
        db.execute("analyze")
    if some(0.3, "an index of another version"):
        db.execute(f"create index {tables[-1]}_ANOTHER on {tables[-1]} (Z_OPT)")
    if some(0.3, "numbers of the app"):
        for name in ("user_version", "application_id"):
            db.execute(f"pragma {name} = {r.randrange(1, 99)}")
    if some(0.3, "a table of another program"):
        db.execute("create table notes (a, b primary key)")
        db.executemany("insert into notes values (?, ?)", [(r.random(), n) for n in range(50)])
        flags += ["--extra-tables", "keep"]
    db.execute(f"delete from ZZETTING where Z_PK > {r.choice((0, 1, 40))}")
    if some(0.4, "a log"):
        db.execute("pragma journal_mode = wal")
        db.execute("pragma wal_autocheckpoint = 0")
        db.execute(f"update {r.choice(tables)} set Z_OPT = Z_OPT + 1 where Z_PK % 5 = 0")
        # Closing it would bring the log into the file.
        keep = store + ".kept"
        shutil.copytree(os.path.dirname(store), keep)
        db.close()
        for name in os.listdir(keep):
            if not name.endswith("-shm"):
                shutil.copyfile(os.path.join(keep, name),
                                os.path.join(os.path.dirname(store), name))
        shutil.rmtree(keep)
    db.close()
    return done, flags


def killed(r, tool, command):
    """Runs a command and kills all of it at a random moment, twice at most; then runs it to its
    end, where it has not come there."""
    for _ in range(2):
        process = tool.start(*command)
        try:
            process.wait(timeout=r.uniform(0.05, 0.4))
            return ended(command, process.returncode, said(process))
        except subprocess.TimeoutExpired:
            COUNT["kills"] += 1
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    done = tool.call(*command)
    return ended(command, done.returncode, done.stderr)


def ended(command, status, errors):
    """How a command ended that may have been killed before: without a record nothing tells that a
    result is that of a run which was all but over."""
    if status == 73 and "already exists" in errors:
        status = 0
    return subprocess.CompletedProcess(command, status, "", errors)


COUNT = {"clones": 0, "stayed": 0, "kills": 0}


def check(tool, seed, folder):
    r = random.Random(seed)
    entities = random_model(r)
    kind, new = changed(r, entities)
    bundle = os.path.join(folder, "Some.xcdatamodeld")
    old, target = (os.path.join(bundle, f"{n}.xcdatamodel") for n in ("Old", "New"))
    write(old, entities)
    write(target, new)
    store = os.path.join(folder, "source", "Some.sqlite")
    os.makedirs(os.path.dirname(store))
    has_history = r.random() < 0.3
    more = ("--transactions", 9) if has_history else ()
    tool.run("generate", old, "--rows", r.choice((300, 4000, 9000)), *more, "--output", store)
    done, flags = wear(r, store, [n for n in entities if n != SMALL])
    before = fingerprint(os.path.dirname(store))
    base = ("migrate", store, "--to", target, "--models", bundle, "--infer-only", *flags)
    told, copies = {}, {}
    for name, engine in (("sql", ()), ("clone", r.choice(((), ("--verify", "full")))),
                         ("killed", ())):
        result = os.path.join(folder, f"{name}.sqlite")
        report = os.path.join(folder, f"{name}.json")
        command = (*base, "--output", result, "--report", report, "--engine",
                   "sql" if name == "sql" else "clone", *engine)
        ended = killed(r, tool, command) if name == "killed" else tool.call(*command)
        if ended.returncode:
            raise Failure(f"{name}, {kind}, {done}: exit {ended.returncode}: {ended.stderr[-400:]}")
        unchanged(before, os.path.dirname(store))
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                told[name] = json.load(file)
        judged = tool.call("verify", store, result, "--models", bundle, "--infer-only")
        if judged.returncode:
            raise Failure(f"{name}, {kind}, {done}: verify: {judged.stdout[-400:]}")
        copies[name] = vacuumed(result)
        if has_history:
            history.settle(copies[name])
    found = []
    for name in ("clone", "killed"):
        found += [f"{name}: {line}" for line in different(copies["sql"], copies[name])]
    report = told["clone"]
    if report["engine"] != "clone":
        found.append(f"no clone was made: {report.get('engineDeclined')}")
    elif not report["movedTables"]:
        found.append("no table stayed")
    if report["rows"] != told["sql"]["rows"]:
        found.append(f"{report['rows']} rows are told, by SQL {told['sql']['rows']}")
    changes = {"ZZETTING"} if "attribute" in kind else set()
    if changes & set(report["movedTables"]):
        found.append(f"{changes} is said to stay")
    COUNT["clones"] += report["engine"] == "clone"
    COUNT["stayed"] += len(report["movedTables"])
    found += usable(os.path.join(folder, "clone.sqlite"), r)
    # The contrary is found: one byte of a table that stayed.
    spoiled = os.path.join(folder, "spoiled.sqlite")
    shutil.copyfile(copies["clone"], spoiled)
    db = sqlite3.connect(spoiled)
    table = next((t for t in report["movedTables"] if t.startswith("Z") and not t.startswith("Z_")
                  and db.execute(f"select count(*) from {t}").fetchone()[0]), None)
    if table:
        db.execute(f"update {table} set Z_OPT = Z_OPT + 1 where Z_PK = "
                   f"(select max(Z_PK) from {table})")
        db.commit()
        db.close()
        if not different(copies["sql"], spoiled):
            found.append("a change of one row is not found")
    return [f"[{kind}; {', '.join(done)}] {line}" for line in found]


# File systems


class FileSystem:
    """A file system in a file, mounted below a folder; `mounted` says whether it could be."""

    def __init__(self, folder, kind):
        self.path = os.path.join(folder, kind)
        image = os.path.join(folder, f"{kind}.img")
        os.mkdir(self.path)
        with open(image, "wb") as file:
            file.truncate(640 << 20)
        how = {"xfs": ("mkfs.xfs", "-q", "-m", "reflink=1"), "btrfs": ("mkfs.btrfs", "-q"),
               "ext4": ("mkfs.ext4", "-q")}[kind]
        self.mounted = bool(shutil.which(how[0])) and all(
            subprocess.run(command, capture_output=True).returncode == 0
            for command in ((*how, image), ("mount", "-o", "loop", image, self.path)))

    def used(self):
        subprocess.run(["sync", "-f", self.path], check=True)
        found = os.statvfs(self.path)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=True)


def on(kind, tool, folder):
    with FileSystem(folder, kind) as disk:
        if not disk.mounted:
            print(f"{kind}: skipped, since no such file system can be mounted here", flush=True)
            return []
        return on_disk(kind, tool, folder, disk)


def on_disk(kind, tool, folder, disk):
    entities = {"Big": attributes((("a", "String"), ("b", "Date"), ("c", "UUID"))),
                SMALL: attributes((("key", "String"),))}
    bundle = os.path.join(folder, "Two.xcdatamodeld")
    old, target = (os.path.join(bundle, f"{n}.xcdatamodel") for n in ("Old", "New"))
    write(old, entities)
    write(target, {**entities, SMALL: entities[SMALL] + attributes((("more", "String"),))})
    store = os.path.join(disk.path, "Two.sqlite")
    tool.run("generate", old, "--rows", 500_000, "--output", store)
    db = sqlite3.connect(store, isolation_level=None)
    db.execute("delete from ZZETTING where Z_PK > 500")
    db.execute("vacuum")
    db.close()
    size = os.path.getsize(store)
    with open(store, "rb") as file:
        bytes_before = file.read()
    before, found = disk.used(), []
    report = os.path.join(folder, "report.json")
    plan = tool.json("plan", store, "--to", target, "--models", bundle, "--json")
    began = time.monotonic()
    tool.run("migrate", store, "--to", target, "--models", bundle, "--report", report)
    seconds = time.monotonic() - began
    with open(report, encoding="utf-8") as file:
        told = json.load(file)
    grown = disk.used() - before
    shares = kind != "ext4"
    if told["engine"] != ("clone" if shares else "pages"):
        found.append(f"the engine is {told['engine']}")
    stays = [s["table"] for s in plan["plan"]["staying"]]
    if stays != (["ZBIG"] if shares else []) or stays != [
            t for t in told["movedTables"] if shares]:
        found.append(f"planned to stay: {stays}, stayed: {told['movedTables']}")
    if shares and grown > size // 10:
        found.append(f"{grown} bytes more are used, of a store of {size}")
    if not shares and grown < size // 2:
        found.append(f"only {grown} bytes more are used: this judge sees nothing")
    if shares and plan["diskNeeded"] > size // 2 + (32 << 20):
        found.append(f"{plan['diskNeeded']} bytes of disk are said to be needed")
    judged = tool.run("verify", told["oldStore"], store, "--models", bundle)
    if "as expected" not in judged.stdout:
        found.append(judged.stdout[-200:])
    tool.run("rollback", store)
    with open(store, "rb") as file:
        if file.read() != bytes_before:
            found.append("the store that came back is another one")
    print(f"{kind}: {size >> 20} MiB migrated in {seconds:.2f} s by {told['engine']}, "
          f"{grown >> 10} KiB more used", flush=True)
    return found


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-14")
    options = p.parse_args()
    tool = Tool(options.godwit)
    try:
        run_cases(options, [(f"seed {seed}", lambda folder, seed=seed: check(tool, seed, folder))
                            for seed in seeds(options.seeds)]
                  + [(kind, lambda folder, kind=kind: on(kind, tool, folder))
                     for kind in ("xfs", "btrfs", "ext4")], "clones")
    finally:
        print(f"{COUNT['clones']} clones, in which {COUNT['stayed']} tables stayed; "
              f"{COUNT['kills']} kills")


if __name__ == "__main__":
    main()
