"""Measures edits in place (`--engine edit`) beside what else one could do with the same store.

The others: SQL as an expert would write it for this one step, in one transaction of `sqlite3` on a
store that nothing undoes; what godwit chooses by itself, in place; a copy of the store. All times
end when what was written is on the disk. After each edit `rollback` gives the store back. Kept is
what is on the disk afterwards besides the old store, peak the most that was there meanwhile; both
in megabytes, looked at every millisecond in a round of its own.

--fleet N edits N stores of 160 KB in one call, and has the default migrate as many.
"""
import argparse
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

from measuring import bytes_on_disk, span
from models import THING, attributes, entity, index, relationship, unique, write_version

ROW = 213  # bytes, of a row of the large table
SMALL = 1000


def small(*parts):
    return entity("Small", attributes({"key": "String", "value": "Integer 64"}),
                  relationship("tails", "Tail", "small", many=True), *parts)


def model(big="Big", was="", name="name", more="", others=(), small_parts=(), old=True):
    """The entities of a version, from the large one that all steps are about."""
    kinds = {k: v for k, v in THING.items() if k != "name"}
    settings = {"elementID": was} if was else {}
    first = f'<attribute name="{name}" optional="YES" attributeType="String"' + (
        ' elementID="name"/>' if name != "name" else "/>")
    return [entity(big, first, attributes(kinds), more, **settings),
            *([entity("Old", attributes({"text": "String"}))] if old else []),
            small(*small_parts),
            entity("Tail", attributes({"text": "String"}), relationship("small", "Small", "tails")),
            *others]


def numbers(*pairs):
    """Renumbers the rows of tables whose entities have other numbers."""
    return "".join(f"UPDATE {table} SET Z_ENT = {number};" for table, number in pairs)


def empty(name):
    return (f"CREATE TABLE Z{name.upper()} (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,"
            " ZTEXT VARCHAR);")


def named(name):
    return entity(name, attributes({"text": "String"}))


TO_SMALL = relationship("small", "Small", "bigs")
FROM_BIG = relationship("bigs", "Big", "small", many=True)
TO_TAIL = relationship("tail", "Tail", "smalls"), relationship("smalls", "Small", "tail", many=True)
DEFAULT = '<attribute name="more" attributeType="String" defaultValueString="red"/>'

# Name: (what it is, whether its costs are constant, the new version, the SQL by hand).
STEPS = {
    "attribute": ("attribute added to the large entity", True,
                  model(more=attributes({"more": "String"})),
                  "ALTER TABLE ZBIG ADD COLUMN ZMORE VARCHAR;"),
    "attribute-name": ("attribute of the large entity renamed", True, model(name="title"),
                       "ALTER TABLE ZBIG RENAME COLUMN ZNAME TO ZTITLE;"),
    "entity-name": ("large entity renamed", True, model(big="Bigger", was="Big"),
                    "ALTER TABLE ZBIG RENAME TO ZBIGGER;"),
    "entity-last": ("entity added, last in the alphabet", True, model(others=[named("Zoo")]),
                    empty("Zoo")),
    "entity-between": ("entity added, small tables behind it", True,
                       model(others=[named("Cat")]),
                       empty("Cat") + numbers(("ZOLD", 3), ("ZSMALL", 4), ("ZTAIL", 5))),
    "entity-first": ("entity added, the large table behind it", False,
                     model(others=[named("Ape")]),
                     empty("Ape") + numbers(("ZBIG", 2), ("ZOLD", 3), ("ZSMALL", 4), ("ZTAIL", 5))),
    "to-one-small": ("to-one added to a small entity, with its index", True,
                     [e.replace("</entity>", TO_TAIL[1] + "</entity>") if 'name="Tail"' in e else e
                      for e in model(small_parts=[TO_TAIL[0]])],
                     "ALTER TABLE ZSMALL ADD COLUMN ZTAIL INTEGER;"
                     "CREATE INDEX ZSMALL_ZTAIL_INDEX ON ZSMALL (ZTAIL);"),
    "to-one": ("to-one added to the large entity, with its index", False,
               model(more=TO_SMALL, small_parts=[FROM_BIG]),
               "ALTER TABLE ZBIG ADD COLUMN ZSMALL INTEGER;"
               "CREATE INDEX ZBIG_ZSMALL_INDEX ON ZBIG (ZSMALL);"),
    "index": ("attribute and index of a date added to the large entity", False,
              model(more=index("when") + attributes({"more": "String"})),
              "ALTER TABLE ZBIG ADD COLUMN ZMORE VARCHAR;"
              "CREATE INDEX Z_Big_byWhen ON ZBIG (ZWHEN);"),
    "entity-removed": ("small entity removed, small tables behind it", True, model(old=False),
                       "DROP TABLE ZOLD;" + numbers(("ZSMALL", 2), ("ZTAIL", 3))),
    "unique": ("uniqueness constraint added to a small entity", True,
               model(small_parts=[unique("key")]),
               "CREATE UNIQUE INDEX Z_Small_UNIQUE_key ON ZSMALL (ZKEY);"),
    "default": ("attribute with a default added to the large entity", False, model(more=DEFAULT),
                "ALTER TABLE ZBIG ADD COLUMN ZMORE VARCHAR; UPDATE ZBIG SET ZMORE = 'red';"),
}


class Bench:
    def __init__(self, options):
        self.tool, self.work, self.rounds = options.godwit, options.work, options.rounds
        self.bundle = os.path.join(self.work, "Model.xcdatamodeld")
        self.own = os.path.join(self.work, "own")
        self.missed, self.busy = [], 0
        shutil.rmtree(self.bundle, ignore_errors=True)
        write_version(self.bundle, "Old", model())
        for name, (_, _, entities, _) in STEPS.items():
            write_version(self.bundle, name, entities)

    def version(self, name):
        return os.path.join(self.bundle, f"{name}.xcdatamodel")

    def call(self, *words):
        done = subprocess.run([self.tool, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"godwit {' '.join(map(str, words))}: {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    def make(self, size):
        """A store of so many bytes, most of them in one table, which doubles until it is there."""
        shutil.rmtree(self.own, ignore_errors=True)
        os.makedirs(self.own)
        store = os.path.join(self.own, "Store.sqlite")
        self.call("generate", self.version("Old"), "--rows", 4 * SMALL, "--output", store)
        for name in os.listdir(self.own):
            if name != "Store.sqlite":
                os.remove(os.path.join(self.own, name))
        db = sqlite3.connect(store, isolation_level=None)
        db.executescript("pragma journal_mode = off; pragma synchronous = off;"
                         "pragma cache_size = -400000; begin;"
                         "update ZSMALL set ZKEY = ZKEY || Z_PK;")
        (count,), wanted = db.execute("select max(Z_PK) from ZBIG").fetchone(), int(size / ROW)
        while count < wanted:
            names = ", ".join(c[1] for c in db.execute("pragma table_info(ZBIG)") if c[1] != "Z_PK")
            db.execute(f"insert into ZBIG (Z_PK, {names}) select Z_PK + {count}, {names} from ZBIG "
                       f"where Z_PK <= {wanted - count} order by Z_PK")
            count += min(count, wanted - count)
        db.execute(f"update Z_PRIMARYKEY set Z_MAX = {count} where Z_NAME = 'Big'")
        db.execute("commit")
        db.close()
        os.sync()
        return store

    def timed(self, command, paths=()):
        os.sync()
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode:
            sys.exit(f"{command[:3]}: {done.returncode}: {done.stdout[-300:]} {done.stderr[-500:]}")
        return seconds, done.stderr + done.stdout

    def migrate(self, store, name, *flags):
        return [self.tool, "migrate", store, "--to", self.version(name), "--models", self.bundle,
                "--infer-only", "--allow-loss", "--no-record", "--workers", "2", *flags]

    def disk(self, store, name):
        """What an edit takes beside the store at most, and what stays, in bytes; whether it was
        one."""
        before, peak, is_running = bytes_on_disk(self.own), 0, True

        def watch():
            nonlocal peak
            while is_running:
                peak = max(peak, bytes_on_disk(self.own))
                time.sleep(0.001)
        watcher = threading.Thread(target=watch)
        watcher.start()
        _, said = self.timed(self.migrate(store, name, "--engine", "edit"))
        is_running = False
        watcher.join()
        kept, was_edit = bytes_on_disk(self.own), "rollback` restores them" in said
        facts = self.facts(store)
        self.back(store)
        return max(peak, kept) - before, kept - before, was_edit, facts

    @staticmethod
    def facts(store):
        """SQL that writes what a store says of itself."""
        db = sqlite3.connect(f"file:{store}?immutable=1", uri=True)
        out = ["DELETE FROM Z_PRIMARYKEY; DELETE FROM Z_MODELCACHE;"]
        out += [f"INSERT INTO Z_PRIMARYKEY VALUES ({e}, '{n}', {s}, {m});"
                for e, n, s, m in db.execute("select * from Z_PRIMARYKEY")]
        out += [f"UPDATE Z_METADATA SET Z_PLIST = X'{p.hex()}';"
                for p, in db.execute("select Z_PLIST from Z_METADATA")]
        out += [f"INSERT INTO Z_MODELCACHE VALUES (X'{c.hex()}');"
                for c, in db.execute("select * from Z_MODELCACHE")]
        db.close()
        return "".join(out)

    def back(self, store):
        """Takes the last migration back; what a rollback keeps would fill the disk."""
        self.call("rollback", store)
        self.call("finish", store)

    def by_hand(self, name, facts):
        script = os.path.join(self.work, "by_hand.sql")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"BEGIN; {STEPS[name][3]} {facts} COMMIT;")
        return script

    def step(self, store, name, has_others):
        peak, kept, was_edit, facts = self.disk(store, name)
        ours, hand, default, busy = [], [], [], []
        for _ in range(self.rounds):
            ours.append(self.timed(self.migrate(store, name, "--engine", "edit"))[0])
            busy.append(self.busy)
            self.back(store)
            if has_others:
                default.append(self.timed(self.migrate(store, name))[0])
                self.back(store)
        for _ in range(self.rounds if has_others else 0):
            copy = os.path.join(self.work, "Copy.sqlite")
            shutil.copyfile(store, copy)
            script = self.by_hand(name, facts)
            hand.append(self.timed(["sqlite3", "-bail", copy, f".read '{script}'"], [copy])[0])
            os.remove(copy)
        return ours, busy, hand, default, peak, kept, was_edit

    def copies(self, store):
        copy = os.path.join(self.work, "Copy.sqlite")
        walls = []
        for _ in range(self.rounds):
            walls.append(self.timed(["cp", "--reflink=never", store, copy], [copy])[0])
            os.remove(copy)
        return walls

    def size(self, gigabytes, names, has_others):
        store = self.make(gigabytes * 1e9)
        with open(store, "rb") as file:
            while file.read(1 << 20):
                pass
        print(f"\n{os.path.getsize(store) / 1e6:,.0f} MB; cp {span(self.copies(store), ' s', 3)}\n")
        print("| step | edit | on processors | by hand | default | MB kept | MB at the peak |\n"
              "|---|---|---|---|---|---|---|")
        medians = {}
        for name in names:
            what, is_constant, _, _ = STEPS[name]
            ours, busy, hand, default, peak, kept, was_edit = self.step(store, name, has_others)
            cells = [f"`{name}`: {what}" + ("" if was_edit else " (steps aside)"),
                     span(ours, " s", 3), f"{statistics.median(busy):.3f} s",
                     span(hand, " s", 3) if hand else "",
                     span(default, " s", 3) if default else "",
                     f"{kept / 1e6:.2f}", f"{peak / 1e6:.2f}"]
            print("| " + " | ".join(cells) + " |", flush=True)
            if is_constant:
                medians[name] = statistics.median(ours)
            if default and statistics.median(ours) > 1.1 * statistics.median(default):
                self.missed.append(f"{name} is slower than the default at {gigabytes} GB")
            if was_edit and peak > 2.2 * kept + 1e6:
                self.missed.append(f"{name} takes more than twice what changes at {gigabytes} GB")
        shutil.rmtree(self.own)
        return medians

    def fleet(self, count):
        """Stores a second, edited in place and migrated in place by default, in one call."""
        folder, rates = os.path.join(self.work, "fleet"), {}
        original = os.path.join(self.work, "Original.sqlite")
        self.call("generate", self.version("Old"), "--rows", 800, "--output", original)
        for number in range(2 * self.rounds):
            flags = ("--engine", "edit") if number % 2 else ()
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            stores = [os.path.join(folder, f"{n}.sqlite") for n in range(count)]
            for path in stores:
                shutil.copyfile(original, path)
            command = self.migrate(stores[0], "attribute", *flags)
            seconds, _ = self.timed(command[:2] + stores + command[3:])
            rates.setdefault(flags[-1:] or ("default",), []).append(count / seconds)
        size = os.path.getsize(original) / 1e3
        print(f"\n{count} stores of {size:.0f} KB in one call, a second: " + ", ".join(
            f"{name} {span(found, '', 0)}" for (name,), found in rates.items()))
        shutil.rmtree(folder)


def main(arguments):
    p = argparse.ArgumentParser(description=__doc__, prog="scripts/bench edit",
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--godwit", default=".build/release/godwit")
    p.add_argument("--work", default="/tmp/godwit-bench-edit")
    p.add_argument("--sizes", default="0.16,1.6", help="gigabytes")
    p.add_argument("--alone", default="", help="sizes at which nothing but edits is timed")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--only", default=",".join(STEPS))
    p.add_argument("--fleet", type=int, default=0, metavar="N")
    options = p.parse_args(arguments)
    options.godwit = os.path.abspath(options.godwit)
    os.makedirs(options.work, exist_ok=True)
    bench, found = Bench(options), {}
    names = options.only.split(",")
    if options.fleet:
        bench.fleet(options.fleet)
    for size in filter(None, options.sizes.split(",")):
        found[size] = bench.size(float(size), names, has_others=True)
    for size in filter(None, options.alone.split(",")):
        constant = [n for n in names if STEPS[n][1]]
        found[size] = bench.size(float(size), constant, has_others=False)
    for (one, old), (other, new) in zip(found.items(), list(found.items())[1:]):
        ratios = {n: new[n] / old[n] for n in old if n in new}
        print(f"\n{other} GB against {one} GB: " + ", ".join(
            f"{n} {r:.2f} x" for n, r in ratios.items()))
    print("\n".join(f"missed: {line}" for line in bench.missed))
    shutil.rmtree(options.work)
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
