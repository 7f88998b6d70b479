"""Random steps of models that are taken as edits in place, compared with what SQL makes of them."""
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys

import derived
from clones import SMALL, TYPES, attributes, random_model, relationship, wear, write
from run import Failure, fingerprint
from store import uri_path
from swap_faults import digest

COUNT = {"edits": 0, "declined": 0, "stayed": 0, "compared": 0, "derived": 0}


def named(entities, name):
    """The parts of an entity, whatever it was called before."""
    parts = entities[name]
    return parts[2] if isinstance(parts, tuple) else parts


def stepped(r, entities, number):
    """What is changed, and the next version of a model."""
    now = {n: named(entities, n) for n in entities}
    name = r.choice(sorted(now))
    kind = r.choice(("attribute", "attribute", "default", "new name", "index", "to-one", "many",
                     "entity", "first entity", "entity's name", "no attribute", "no entity",
                     "unique", "nothing"))
    if kind == "attribute":
        now[name] += attributes((f"x{number}{n}", r.choice(TYPES)) for n in range(r.randint(1, 3)))
    if kind == "default":
        now[name] += (f'<attribute name="e{number}e" attributeType="Integer 64" '
                      f'defaultValueString="{number}"/>')
    if kind == "new name":
        found = re.findall(r'<attribute name="(\w+)" optional', now[name])
        if found:
            old = r.choice(found)
            now[name] = now[name].replace(
                f'<attribute name="{old}" optional',
                f'<attribute name="n{number}{old}" elementID="{old}" optional')
            now[name] = now[name].replace(f'property="{old}"', f'property="n{number}{old}"')
    if kind == "index":
        found = re.findall(r'<attribute name="(\w+)"', now[name])
        if found:
            now[name] += (f'<fetchIndex name="i{number}"><fetchIndexElement property="{found[0]}" '
                          'type="Binary" order="descending"/></fetchIndex>')
    if kind in ("to-one", "many"):
        other = r.choice(sorted(now))
        now[name] += relationship(f"r{number}", other, f"s{number}", kind == "many")
        now[other] += relationship(f"s{number}", name, f"r{number}", r.random() < 0.7)
    if kind in ("entity", "first entity"):
        now[("Zoo" if kind == "entity" else "Ape") + str(number)] = attributes((("a", "String"),))
    if kind == "entity's name":
        # The numbers of entities follow the order of their names.
        new = f"{name}s"
        now = {new if n == name else n: parts.replace(
            f'destinationEntity="{name}"', f'destinationEntity="{new}"')
            for n, parts in now.items()}
        now[new] = ("was", name, now[new])
    if kind == "no attribute":
        found = [f for f in re.findall(r'<attribute name="(\w+)" optional', now[name])
                 if f'property="{f}"' not in now[name] and f'value="{f}"' not in now[name]]
        if len(found) > 1:
            now[name] = re.sub(rf'<attribute name="{found[-1]}" optional[^>]*>', "", now[name])
    if kind == "no entity":
        added = [n for n in now if n.startswith(("Zoo", "Ape"))]
        if added and all(f'destinationEntity="{added[0]}"' not in p for p in now.values()):
            del now[added[0]]
    if kind == "unique":
        now[name] += attributes(((f"u{number}", "String"),))
        now[name] += ("<uniquenessConstraints><uniquenessConstraint>"
                      f'<constraint value="u{number}"/></uniquenessConstraint>'
                      "</uniquenessConstraints>") * ("uniquenessConstraints" not in now[name])
    if kind == "nothing" and "versionHashModifier" not in now[name]:
        now[name] = now[name].replace("<attribute ", '<attribute versionHashModifier="2" ', 1)
    return f"{kind} of {name}", now


def write_version(path, entities, seed):
    """Writes a version of a model; those of some seeds have derived attributes."""
    write(path, entities)
    if has_derived(seed):
        derived.plant(path, seed, trees=False)


def has_derived(seed):
    return random.Random(f"derived {seed}").random() < 0.5


def has_triggers(path):
    db = sqlite3.connect(f"file:{uri_path(path)}?mode=ro&immutable=1", uri=True)
    try:
        return db.execute(
            "select count(*) from sqlite_master where name like 'Z\\_DA\\_%' escape '\\'"
        ).fetchone()[0] > 0
    finally:
        db.close()


def contents(path):
    """{table and its columns: rows}, whatever the order of columns and rows."""
    db = sqlite3.connect(f"file:{uri_path(path)}?mode=ro&immutable=1", uri=True)
    db.text_factory = bytes
    try:
        found = db.execute("pragma integrity_check(3)").fetchall()
        if found != [(b"ok",)]:
            raise Failure(f"integrity_check: {found}")
        out = {"indexes": sorted(
            (n, s or b"") for n, s in db.execute(
                "select name, sql from sqlite_master where type in ('index', 'trigger')"))}
        for table, in db.execute("select name from sqlite_master where type = 'table'").fetchall():
            table = table.decode()
            columns = sorted(c[1].decode() for c in db.execute(f'pragma table_info("{table}")'))
            if table == "ATRANSACTION":
                columns = ["Z_PK"]  # when it was made differs
            names = ", ".join(f'quote("{c}")' for c in columns)
            out[f"{table} {columns}"] = sorted(db.execute(f'select {names} from "{table}"'))
        return out
    finally:
        db.close()


def compare(expected, found):
    """What differs between the contents of two stores."""
    out = [f"only one of them has {n}" for n in sorted(set(expected) ^ set(found))]
    for name in sorted(set(expected) & set(found)):
        if expected[name] != found[name]:
            odd = [row for row in expected[name] if row not in found[name]][:2]
            out.append(f"{name}: {len(expected[name])} by SQL, {len(found[name])}: {odd}"[:400])
    return out


def migrated(tool, store, target, bundle, flags, report, *more):
    done = tool.call("migrate", store, "--to", target, "--models", bundle, "--infer-only", *flags,
                     "--report", report, *more)
    if done.returncode:
        raise Failure(f"migrate {more}: exit {done.returncode}: {done.stderr[-400:]}")
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def compared(options, expected, found):
    """What the corpus' own tool finds, whose status 1 means a difference."""
    if not options.compare:
        return []
    done = subprocess.run([sys.executable, options.compare, expected, found, "--identity",
                           "--order"], capture_output=True, text=True)
    COUNT["compared"] += 1
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    # The transaction that a migration leaves in the history has its own time.
    own = [line for line in lines if line.startswith("ATRANSACTION") and "ZTIMESTAMP" in line]
    if done.returncode == 0 or done.returncode == 1 and len(own) == len(lines) - 1:
        return []
    return [f"compare-stores.py: {' '.join(lines)[-400:]}{done.stderr[-200:]}"]


def check_row(tool, seed, count, folder):
    """One store and many steps in a row: each is taken back to the byte, and done again."""
    r = random.Random(seed)
    entities = random_model(r)
    bundle = os.path.join(folder, "Some.xcdatamodeld")
    version = os.path.join(bundle, "V0.xcdatamodel")
    write_version(version, entities, seed)
    place = os.path.join(folder, "own")
    os.makedirs(place)
    store, report = os.path.join(place, "Some.sqlite"), os.path.join(folder, "report.json")
    tool.run("generate", version, "--rows", 600, "--output", store)
    _, flags = wear(r, store, [n for n in entities if n != SMALL])
    tool.run("discard", store)
    for number in range(1, count + 1):
        kind, entities = stepped(r, entities, number)
        if len(entities) > 12:
            entities = {n: p for n, p in entities.items() if not n.startswith(("Zoo", "Ape"))
                        or any(f'destinationEntity="{n}"' in str(q) for q in entities.values())}
        target = os.path.join(bundle, f"V{number}.xcdatamodel")
        write_version(target, entities, seed)
        settle(store)
        before = digest(store)
        for time in ("first", "second"):
            told = migrated(tool, store, target, bundle, flags, report, "--engine", "edit")
            if told["outcome"] == "alreadyCurrent":
                break
            COUNT["edits" if told["engine"] == "edit" else "declined"] += 1
            contents(store)
            if time == "first":
                after = digest(store)
                tool.run("rollback", store)
                tool.run("discard", store)
                if digest(store) != before:
                    return [f"step {number}, {kind}: rollback gives another store"]
        if told["outcome"] != "alreadyCurrent" and digest(store) == before != after:
            return [f"step {number}, {kind}: done again, nothing changes"]
        tool.run("finish", store)
        left = set(os.listdir(place)) - {"Some.sqlite", ".Some_SUPPORT"}
        if left:
            return [f"step {number}, {kind}: left over: {sorted(left)}"]
    return []


def check_steps(tool, seed, options, folder):
    r = random.Random(seed)
    entities = random_model(r)
    bundle = os.path.join(folder, "Some.xcdatamodeld")
    version = os.path.join(bundle, "V0.xcdatamodel")
    write_version(version, entities, seed)
    place = os.path.join(folder, "own")
    os.makedirs(place)
    store, report = os.path.join(place, "Some.sqlite"), os.path.join(folder, "report.json")
    more = ("--transactions", 9) if r.random() < 0.3 else ()
    rows = options.large if options.large and seed % 10 == 0 else r.choice((300, 2000, 6000))
    tool.run("generate", version, "--rows", rows, *more, "--output", store)
    done, flags = wear(r, store, [n for n in entities if n != SMALL])
    found, before = [], []
    for number in range(1, r.randint(2, 5)):
        kind, entities = stepped(r, entities, number)
        done.append(kind)
        target = os.path.join(bundle, f"V{number}.xcdatamodel")
        write_version(target, entities, seed)
        other = os.path.join(folder, f"other{number}")
        shutil.copytree(place, other)
        expected = os.path.join(folder, f"expected{number}.sqlite")
        migrated(tool, os.path.join(other, "Some.sqlite"), target, bundle, flags, report,
                 "--engine", "sql", "--output", expected)
        told = migrated(tool, store, target, bundle, flags, report, "--engine", "edit",
                        *r.choice(((), ("--verify", "full"))))
        if told["outcome"] == "alreadyCurrent":
            continue
        COUNT["edits" if told["engine"] == "edit" else "declined"] += 1
        COUNT["derived"] += told["engine"] == "edit" and has_triggers(store)
        COUNT["stayed"] += len(told["movedTables"])
        if os.path.exists(store + "-wal") or os.path.exists(store + "-journal"):
            found.append(f"{kind}: a log is left")
        found += [f"{kind}: {line}" for line in compare(contents(expected), contents(store))]
        # That tool knows no tables of other programs.
        if not flags:
            found += [f"{kind}: {line}" for line in compared(options, expected, store)]
        if options.compare and not flags and number == 1:
            pages = os.path.join(folder, "pages.sqlite")
            migrated(tool, os.path.join(other, "Some.sqlite"), target, bundle, flags, report,
                     "--engine", "pages", "--output", pages)
            found += [f"{kind}, by pages: {line}" for line in compared(options, pages, store)]
        judged = tool.call("verify", os.path.join(other, "Some.sqlite"), store, "--models", bundle,
                           "--infer-only")
        if judged.returncode:
            found.append(f"{kind}: verify: {judged.stdout[-300:]} {judged.stderr[-200:]}")
        settle(os.path.join(other, "Some.sqlite"))
        before.append((kind, digest(os.path.join(other, "Some.sqlite"))))
        # Each migration has a name of its own by the second.
    for kind, old in reversed(before):
        now, aside = fingerprint(place), os.path.join(folder, "aside.sqlite")
        copied = tool.call("rollback", store, "--output", aside)
        if copied.returncode or digest(aside) != old:
            found.append(f"rollback --output of {kind}: exit {copied.returncode}: "
                         f"{copied.stderr[-300:]}, or not the old store")
        else:
            os.remove(aside)
        if fingerprint(place) != now:
            found.append(f"rollback --output of {kind} changes something beside the store")
        back = tool.call("rollback", store)
        if back.returncode:
            found.append(f"rollback of {kind}: exit {back.returncode}: {back.stderr[-300:]}")
            break
        if digest(store) != old:
            found.append(f"rollback of {kind} does not give the old store")
    tool.run("finish", store)
    left = set(os.listdir(place)) - {"Some.sqlite"}
    if not before:
        # No step needed a migration, so the log is still there.
        left.discard("Some.sqlite-wal")
    if left:
        found.append(f"left over: {sorted(left)}")
    return [f"[{'; '.join(done)}] {line}" for line in found]


def settle(path):
    """Has SQLite bring the log of a store into it."""
    if os.path.exists(path + "-wal") or os.path.exists(path + "-journal"):
        db = sqlite3.connect(path)
        db.execute("select count(*) from sqlite_master").fetchone()
        db.execute("pragma wal_checkpoint(truncate)")
        db.close()
