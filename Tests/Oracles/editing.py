#!/usr/bin/env python3
"""Edits stores in place (`--engine edit`): what an edit makes is what SQL makes of a copy, by table
and column, sound, and judged by `verify`; `rollback` gives each step back to the byte, one after
the other. Random models and steps, wear of every kind, logs, history.

Then an edit, and its rollback, is killed, fails or has no room at any call by which files are
changed, and whoever opens the store next is SQLite alone: it finds the old store or the new one,
whole; the next run ends as an unharmed one. And what a power cut leaves, which drops or tears what
was not synced, is the old store or the new one as well (`recorded_calls.c`).

usage: editing.py --godwit P [--seeds 1-10] [--sample N] [--cuts N] [--only TEXT] [--scratch S]
"""
import json
import os
import random
import re
import shutil
import sqlite3
import tempfile

from clones import SMALL, TYPES, attributes, random_model, relationship, wear, write
from failing_calls import IO_ERROR, NO_SPACE, Calls
from power_cuts import Recorder
from run import Failure, Tool, fingerprint, parser, run_cases, seeds
from store import uri_path
from swap_faults import DEEDS, LIBRARY, ROWS, digest, external_names, judge_ending, support

REFUSED = 73
COUNT = {"edits": 0, "declined": 0, "stayed": 0}


# Random steps


def named(entities, name):
    """The parts of an entity, whatever it was called before."""
    parts = entities[name]
    return parts[2] if isinstance(parts, tuple) else parts


def stepped(r, entities, number):
    """What is changed, and the next version of a model."""
    now = {n: named(entities, n) for n in entities}
    name = r.choice(sorted(now))
    kind = r.choice(("attribute", "attribute", "default", "new name", "index", "to-one", "many",
                     "entity", "first entity", "entity's name", "nothing"))
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
    if kind == "nothing" and "versionHashModifier" not in now[name]:
        now[name] = now[name].replace("<attribute ", '<attribute versionHashModifier="2" ', 1)
    return f"{kind} of {name}", now


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


def check_steps(tool, seed, folder):
    r = random.Random(seed)
    entities = random_model(r)
    bundle = os.path.join(folder, "Some.xcdatamodeld")
    version = os.path.join(bundle, "V0.xcdatamodel")
    write(version, entities)
    place = os.path.join(folder, "own")
    os.makedirs(place)
    store, report = os.path.join(place, "Some.sqlite"), os.path.join(folder, "report.json")
    more = ("--transactions", 9) if r.random() < 0.3 else ()
    tool.run("generate", version, "--rows", r.choice((300, 2000, 6000)), *more, "--output", store)
    done, flags = wear(r, store, [n for n in entities if n != SMALL])
    found, before = [], []
    for number in range(1, r.randint(2, 5)):
        kind, entities = stepped(r, entities, number)
        done.append(kind)
        target = os.path.join(bundle, f"V{number}.xcdatamodel")
        write(target, entities)
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
        COUNT["stayed"] += len(told["movedTables"])
        if os.path.exists(store + "-wal") or os.path.exists(store + "-journal"):
            found.append(f"{kind}: a log is left")
        found += [f"{kind}: {line}" for line in compare(contents(expected), contents(store))]
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


# Harmed calls


class EditLab:
    """A store with external files in a journal mode, and what an edit makes of it."""

    def __init__(self, tool, folder, calls, way):
        self.tool, self.calls, self.way = tool, calls, way
        self.whole = os.path.join(folder, way.replace(" ", "-"))
        os.mkdir(self.whole)
        store = os.path.join(self.whole, "Shop.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--seed", 3,
                 "--output", store)
        if way == "with a log":
            leave_log(store)
        with tempfile.TemporaryDirectory(dir=folder) as other:
            made = self.copy(other)
            settle(made)
            self.bytes = digest(made)
            tool.run(*self.command(made))
            self.states = {self.content(self.whole)[0]: "old",
                           self.content(os.path.dirname(made))[0]: "new"}
        if len(self.states) != 2:
            raise SystemExit("an edit changes nothing, so nothing would be tried")

    def copy(self, folder):
        place = os.path.join(folder, "shop")
        shutil.copytree(self.whole, place)
        return os.path.join(place, "Shop.sqlite")

    def command(self, store):
        more = ("--discard-old", "--allow-loss=Shelf.books") if self.way == "discarding" else ()
        return ["migrate", store, "--to", LIBRARY, "--engine", "edit", *more]

    def content(self, place):
        """What SQLite alone finds: it has the journal and the log of a copy to go by."""
        with tempfile.TemporaryDirectory(dir=self.calls.folder) as folder:
            path = os.path.join(folder, "S.sqlite")
            for suffix in ("", "-wal", "-journal"):
                own = os.path.join(place, "Shop.sqlite" + suffix)
                if os.path.exists(own):
                    shutil.copyfile(own, path + suffix)
            settle(path)
            return str(contents(path)), digest(path), external_names(path)

    def state(self, place):
        """old or new, or what is wrong with a store and its external files."""
        try:
            text, settled, names = self.content(place)
            found = self.states.get(text, "another store")
            store = os.path.join(place, "Shop.sqlite")
            if found == "old" and settled != self.bytes:
                return "old, with other bytes"
            for name in names:
                if not os.path.isfile(os.path.join(support(store), name)):
                    return f"{found}, without its external file {name}"
            return found
        except (Failure, sqlite3.Error, OSError) as error:
            return f"is broken: {error}"


def leave_log(store):
    """Has a log beside a store, as an app leaves one that is killed."""
    db = sqlite3.connect(store, isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute("pragma wal_autocheckpoint = 0")
    table = db.execute("select name from sqlite_master where name like 'Z%' and type = 'table' "
                       "and sql like '%Z_OPT%'").fetchone()[0]
    db.execute(f"update {table} set Z_OPT = Z_OPT + 1")
    shutil.copyfile(store, store + ".kept")
    shutil.copyfile(store + "-wal", store + "-wal.kept")
    db.close()
    os.replace(store + ".kept", store)
    os.replace(store + "-wal.kept", store + "-wal")


def undos(place):
    return [n for n in os.listdir(place) if n.endswith(".undo")]


def run_harmed(lab, number, do, store, words, wanted):
    """A command of which one call is harmed: its status, the store, and what is wrong with both."""
    place = os.path.dirname(store)
    environment = lab.calls.environment(place, at=number, do=do)
    done = lab.tool.call(*words, environment=environment)
    harmed = lab.calls.counted(environment)[1]
    out = judge_ending(done.returncode, done.stderr, do) if harmed else []
    found = lab.state(place)
    if found not in ("old", "new"):
        out.append(f"the store: {found}")
    if done.returncode == 0 and found != wanted:
        out.append(f"status 0, and the store: {found}")
    return done, found, out


def check_call(lab, number, do, folder):
    store = lab.copy(folder)
    place = os.path.dirname(store)
    done, found, out = run_harmed(lab, number, do, store, lab.command(store), "new")
    if done.returncode > 0 and found == "new":
        out.append(f"status {done.returncode} with the new store")
    is_opened = do == "kill" and number % 2
    if is_opened:
        # An app opens the store before anybody thinks of Godwit.
        settle(store)
        if lab.state(place) != found:
            out.append("SQLite finds another store the second time")
    again = lab.tool.call(*lab.command(store))
    if again.returncode == REFUSED and is_opened and lab.way == "with a log":
        # SQLite has brought the log into the store, which is not the one that was surveyed.
        again = lab.tool.call(*lab.command(store), "--restart")
    if again.returncode:
        return out + [f"the next run: exit {again.returncode}: {again.stderr.strip()[-300:]}"]
    if lab.state(place) != "new":
        out.append(f"in the end the store: {lab.state(place)}")
    keeps = lab.way != "discarding"
    if len(undos(place)) != keeps:
        out.append(f"in the end there is {undos(place)}")
    if keeps and not out:
        out += rolled_back(lab, store)
    return out + left_over(place)


def rolled_back(lab, store):
    done = lab.tool.call("rollback", store)
    if done.returncode:
        return [f"rollback: exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    found = lab.state(os.path.dirname(store))
    return [] if found == "old" else [f"after rollback the store: {found}"]


def left_over(place):
    odd = set(os.listdir(place)) - {"Shop.sqlite", ".Shop_SUPPORT"}
    return [f"left over: {n}" for n in sorted(odd)]


def check_back(lab, number, do, folder):
    """A rollback of which one call is harmed, and which is then repeated."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    lab.tool.run(*lab.command(store))
    _, found, out = run_harmed(lab, number, do, store, ("rollback", store), "old")
    if found == "new" and not undos(place):
        out.append("the store is the new one, and nothing undoes it")
    again = lab.tool.call("rollback", store)
    if again.returncode not in ((0,) if found == "new" else (0, 66)):
        out.append(f"the next rollback: exit {again.returncode}: {again.stderr.strip()[-300:]}")
    lab.tool.run("discard", store)
    if lab.state(place) != "old":
        out.append(f"in the end the store: {lab.state(place)}")
    return out + left_over(place)


def check_writers(lab, folder):
    """A rollback after an app has written is refused, and finish lets the way back go."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    lab.tool.run(*lab.command(store))
    db = sqlite3.connect(store)
    db.execute("update Z_METADATA set Z_UUID = 'other'")
    db.commit()
    db.close()
    before = digest(store)
    out = []
    if lab.tool.call("rollback", store).returncode != REFUSED or digest(store) != before:
        out.append("a store that was written to is put back")
    lab.tool.run("finish", store)
    return out + left_over(place)


def calls_of(lab, back):
    """How many calls an edit or a rollback makes."""
    with tempfile.TemporaryDirectory(dir=lab.calls.folder) as folder:
        store = lab.copy(folder)
        if back:
            lab.tool.run(*lab.command(store))
        environment = lab.calls.environment(os.path.dirname(store))
        lab.tool.run(*(("rollback", store) if back else lab.command(store)),
                     environment=environment)
        return lab.calls.counted(environment)[0]


def harmed(lab, sample):
    cases = []
    for back in (False, True) if lab.way != "discarding" else (False,):
        every = [(n, d) for n in range(1, calls_of(lab, back) + 1) for d in DEEDS]
        few = random.Random(len(every)).sample(every, min(sample, len(every))) if sample else every
        what, judge = ("rollback", check_back) if back else ("edit", check_call)
        cases += [(f"{lab.way}: {what}: {d} at call {n}",
                   lambda f, n=n, d=d, j=judge: j(lab, n, d, f)) for n, d in few]
    return cases


# Power cuts


def check_cuts(lab, recorder, back, count, folder):
    """What is on the disk after a power cut at random moments of an edit or a rollback."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    if back:
        lab.tool.run(*lab.command(store))
    before = os.path.join(folder, "before")
    shutil.copytree(place, before)
    log = os.path.join(folder, "log")
    done = lab.tool.call(*(("rollback", store) if back else lab.command(store)),
                         environment=recorder.environment(place, log))
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr[-300:]}"]
    deeds, out, seen = recorder.deeds(log), [], {}
    for seed in range(count):
        cut = os.path.join(folder, "cut")
        shutil.rmtree(cut, ignore_errors=True)
        moment = recorder.leave(deeds, before, place, cut, random.Random(seed), seed % 6 == 5)
        found = lab.state(cut)
        seen[found] = seen.get(found, 0) + 1
        if found not in ("old", "new"):
            out.append(f"cut {seed}, after {moment} of {len(deeds)} calls: {found}")
    if len(seen) < 2 and not out and count > 30:
        out.append(f"{count} cuts only led to {seen}")
    # The judge finds what it is there to find: without a sync some cut breaks the store.
    bare = [d for d in deeds if d.call not in ("fsync", "fdatasync")]
    broken = 0
    for seed in range(count):
        shutil.rmtree(os.path.join(folder, "cut"), ignore_errors=True)
        recorder.leave(bare, before, place, os.path.join(folder, "cut"), random.Random(seed))
        broken += lab.state(os.path.join(folder, "cut")) not in ("old", "new")
    if not broken and count > 30:
        out.append("without any sync no cut breaks a store: this judge sees nothing")
    return out


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-10")
    p.add_argument("--sample", type=int, default=20, help="harmed calls of each way; 0 for all")
    p.add_argument("--cuts", type=int, default=60, help="power cuts of each way")
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=120)
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        calls, recorder = Calls(folder), Recorder(folder)
        cases = [(f"seed {seed}", lambda f, seed=seed: check_steps(tool, seed, f))
                 for seed in seeds(options.seeds)]
        for way in ("in place", "with a log", "discarding"):
            lab = EditLab(tool, folder, calls, way)
            cases += harmed(lab, options.sample)
            if way != "discarding":
                cases.append((f"{way}: written", lambda f, b=lab: check_writers(b, f)))
            cases += [(f"{way}: power cuts of {'a rollback' if back else 'an edit'}",
                       lambda f, b=lab, k=back: check_cuts(b, recorder, k, options.cuts, f))
                      for back in ((False, True) if way != "discarding" else (False,))]
        try:
            run_cases(options, [c for c in cases if options.only in c[0]], "edits")
        finally:
            print(f"{COUNT['edits']} edits, {COUNT['declined']} declined; "
                  f"{COUNT['stayed']} tables stayed")


if __name__ == "__main__":
    main()
