"""Makes the stores of a workload, and the commands that do its work."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import by_hand
from measuring import Failed, Run, files_below
from models import write_version


class Skipped(Exception):
    """A workload that cannot be measured on this machine."""


class Case:
    """The tool's run, and those that it is compared with, by the names that the table shows."""

    def __init__(self, ours, others, objects, sizes):
        self.ours, self.others = ours, others
        self.objects, self.stores, self.size = objects, len(sizes), sum(sizes)


class Lab:
    """A folder of one workload, the tool and a scale."""

    def __init__(self, tool, folder, scale):
        self.tool, self.folder, self.scale = tool, folder, scale
        self.undo = []

    def __enter__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        return self

    def __exit__(self, *_):
        for command in reversed(self.undo):
            subprocess.run(command, check=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def scaled(self, rows, least=10):
        return max(least, int(rows * self.scale))

    def fixed(self, rows, least=2):
        """What is the same from a tenth of the scale on: a workload that is small by nature."""
        return max(least, int(rows * min(1, self.scale * 10)))

    def use_policies(self):
        """From here on the tool is the one with policies, which is built beside it."""
        tool = os.path.join(os.path.dirname(self.tool), "PolicyTool")
        if not os.path.exists(tool):
            raise Skipped("PolicyTool is not beside the tool: scripts/build-release PolicyTool")
        self.tool = tool

    def path(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def call(self, *command):
        done = subprocess.run([self.tool, *map(str, command)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        said = done.stdout.decode(errors="replace")
        if done.returncode:
            raise Failed(f"{command[0]} ended with {done.returncode}: {said[-300:].strip()}")
        return said

    def generate(self, model, rows, *flags, name="Store.sqlite", spoil=None, base=None):
        path = os.path.join(base, "source", name) if base else self.path("source", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.call("generate", model, "--rows", rows, *flags, "--output", path)
        if spoil:
            db = sqlite3.connect(path, isolation_level=None)
            db.executescript(spoil)
            db.close()
        # What watches the making of a store is none of its files.
        for other in files_below(os.path.dirname(path)):
            if other.endswith(".godwit-status.json"):
                os.remove(other)
        return path

    def step(self, old, new, rows, **options):
        """A store of the version `old`, which is to be migrated to `new`."""
        bundle = self.path("Model.xcdatamodeld")
        versions = [write_version(bundle, str(n), e) for n, e in enumerate((old, new), 1)]
        return Step(self, bundle, versions[0], versions[1],
                    self.generate(versions[0], rows, **options), rows, options.get("base"))

    def mounted(self, kind, size):
        """A file system in a file; its folder."""
        maker = {"xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"], "btrfs": ["mkfs.btrfs", "-q"]}[kind]
        if not shutil.which(maker[0]) or os.geteuid():
            raise Skipped(f"no {kind} can be mounted here: it needs root and {maker[0]}")
        image, folder = self.path(f"{kind}.img"), self.path(kind, "here")
        folder = os.path.dirname(folder)
        with open(image, "wb") as file:
            file.truncate(max(size, 320 << 20))
        for command in ([*maker, image], ["mount", "-o", "loop", image, folder]):
            done = subprocess.run(command, capture_output=True)
            if done.returncode:
                raise Skipped(f"no {kind} can be mounted here: {done.stderr.decode().strip()}")
        self.undo.append(["umount", "-l", folder])
        return folder


class Step:
    """A store, the version that it is migrated to, and the ways to do that."""

    def __init__(self, lab, bundle, old, new, store, rows, base=None):
        self.lab, self.bundle, self.old, self.new = lab, bundle, old, new
        self.store, self.rows, self.base = store, rows, base or lab.folder
        self.stores = [store]

    def out(self, name):
        return os.path.join(self.base, "out", name)

    def migrate(self, *flags, name="ours", store=None, out=None):
        store, folder = store or self.store, self.out(name)
        run = Run(name, [[self.lab.tool, "migrate", store, "--to", self.new, "--models",
                          self.bundle, "--output", out or os.path.join(folder, "out.sqlite"),
                          "--allow-loss", "--no-record", "--workers", "2", *flags]],
                  self.files(store), folder)
        run.mount = self.base if self.base != self.lab.folder else None
        # A plan chooses the engine by itself.
        if "--engine" not in flags:
            mapping = flags[flags.index("--mapping"):][:2] if "--mapping" in flags else []
            run.plan = [self.lab.tool, "plan", store, "--to", self.new, "--models", self.bundle,
                        "--json", "--allow-loss", *mapping]
        return run

    def files(self, store):
        return [store + suffix for suffix in ("", "-wal") if os.path.exists(store + suffix)]

    def command(self, *arguments, name="ours", sources=None, says=None):
        """A command of the tool that leaves nothing."""
        return Run(name, [[self.lab.tool, *arguments]],
                   self.stores if sources is None else sources, says=says)

    def copy(self):
        folder = self.out("cp")
        return Run("cp", [["cp", "--reflink=never", self.store,
                           os.path.join(folder, "out.sqlite")]], [self.store], folder, loose=True)

    def result(self, *flags):
        """What the tool makes of the store, to derive SQL from."""
        run = self.migrate(*flags, name="result")
        run.once(watched=False)
        return os.path.join(run.folder, "out.sqlite")

    def script(self, *flags, **how):
        """The path of the SQL that an expert would write for this step."""
        result, path = self.result(*flags), self.lab.path("by_hand.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(by_hand.Script(self.store, result, **how).text())
        shutil.rmtree(os.path.dirname(result))
        return path

    def by_sql(self, *flags, **how):
        script, folder = self.script(*flags, **how), self.out("SQL")
        with open(script, encoding="utf-8") as file:
            text = file.read()
        with open(script, "w", encoding="utf-8") as file:
            file.write(text.replace("SRC", self.store))
        return Run("SQL", [["sqlite3", "-bail", os.path.join(folder, "out.sqlite"),
                            f".read '{script}'"]], [self.store], folder)

    def case(self, ours, *others):
        return Case(ours, others, self.rows * len(self.stores),
                    list(map(os.path.getsize, self.stores)))

    def against_sql(self, *flags, **how):
        return self.case(self.migrate(*flags), self.by_sql(*flags, **how))

    def mapping(self, name="mapping.json", edit=None):
        """The mapping model that would be inferred, after `edit` has changed its mappings, by the
        names of destinations."""
        return mapping(self.lab, self.old, self.new, name, edit)


def mapping(lab, old, new, name="mapping.json", edit=None):
    path = lab.path(name)
    lab.call("map", "--from", old, "--to", new, "--output", path)
    if edit:
        with open(path, encoding="utf-8") as file:
            text = json.load(file)
        edit({m.get("destination"): m for m in text["mappings"]}, text["mappings"])
        with open(path, "w", encoding="utf-8") as file:
            json.dump(text, file)
    return path


def by_python(name, script, stores, folder):
    """One process that runs the SQL for each of the stores."""
    return Run(name, [[sys.executable, by_hand.__file__, script, folder, *stores]], stores, folder)


def one_by_one(name, runs, folder):
    """The commands of several runs, one process after another."""
    return Run(name, [command for run in runs for command in run.commands],
               [path for run in runs for path in run.sources], folder)


# What makes a store odd


def recoded(store):
    """Makes a store one of UTF-16."""
    old = sqlite3.connect(store)
    (pages,) = old.execute("pragma page_size").fetchone()
    schema = [sql for (sql,) in old.execute(
        "select sql from sqlite_schema where sql is not null order by type = 'index'")]
    names = [name for (name,) in old.execute(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")]
    new = sqlite3.connect(store + "-16", isolation_level=None)
    new.executescript(f"pragma page_size = {pages}; pragma encoding = 'UTF-16le'; "
                      "pragma auto_vacuum = 2; begin;" + ";".join(schema))
    for name in names:
        rows = old.execute(f'select * from "{name}"')
        places = ",".join("?" * len(rows.description))
        new.executemany(f'insert into "{name}" values ({places})', rows)
    new.execute("commit")
    for db in (old, new):
        db.close()
    os.replace(store + "-16", store)


def with_log(lab, store, rows=1):
    """A copy of the store, which has the same content but its last change, of so many rows, in a
    -wal."""
    def changed(path):
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma wal_autocheckpoint = 0")
        db.execute("update ZTHING set Z_OPT = Z_OPT + 1 where Z_PK <= ?", (rows,))
        return db
    db = sqlite3.connect(store)
    db.execute("pragma journal_mode = wal")
    db.close()
    open_one, live = lab.path("open", "Store.sqlite"), lab.path("live", "Store.sqlite")
    shutil.copyfile(store, open_one)
    db = changed(open_one)
    # Closing it would bring the log into the file.
    for suffix in ("", "-wal"):
        shutil.copyfile(open_one + suffix, live + suffix)
    db.close()
    shutil.rmtree(os.path.dirname(open_one))
    changed(store).close()
    return live
