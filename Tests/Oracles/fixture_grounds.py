"""Folders of stores in every state, for fixtures.py: what is planted, and what is to be told."""
import hashlib
import json
import os
import plistlib
import shutil
import sqlite3
import stat
import threading
import xml.etree.ElementTree as ElementTree

from run import Failure

ODD = "we<i>rd & \"q\" 'n' ]]> \x1b[31m\t\n\x01‮\uffff.sqlite"
ENTITY = '<entity name="{}">{}</entity>'
ATTRIBUTE = '<attribute name="{}" optional="YES" attributeType="String"/>'
MANDATORY = '<attribute name="{}" attributeType="String"/>'
NOTE, TAG = ENTITY.format("Note", ATTRIBUTE.format("title")), ENTITY.format(
    "Tag", ATTRIBUTE.format("name"))
PAGES = ENTITY.format("Note", ATTRIBUTE.format("title") + ATTRIBUTE.format("pages"))
MUST = ENTITY.format("Must", ATTRIBUTE.format("name"))
STRICT = ENTITY.format("Must", "".join(
    [ATTRIBUTE.format("name"), MANDATORY.format("one"), MANDATORY.format("two")]))
# 1 loses to 3; 2 cannot become 3, for two reasons.
VERSIONS = {"1": PAGES + TAG, "2": NOTE + MUST, "3": NOTE + STRICT}
OK, DAMAGED, IMPOSSIBLE = 0, 65, 78


def bundle(folder, versions, current):
    path = os.path.join(folder, "Notes.xcdatamodeld")
    for name, entities in versions.items():
        os.makedirs(os.path.join(path, name + ".xcdatamodel"))
        with open(os.path.join(path, name + ".xcdatamodel", "contents"), "w") as file:
            file.write('<?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" '
                       f'documentVersion="1.0" userDefinedModelVersionIdentifier="{name}">'
                       f"{entities}</model>")
    with open(os.path.join(path, ".xccurrentversion"), "wb") as file:
        plistlib.dump({"_XCCurrentVersionName": current + ".xcdatamodel"}, file)
    return path


def state(folder):
    """{path: kind, mode, time and bytes} of everything below; nothing but files is opened."""
    out = {}
    for where, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(where, name)
            found = os.lstat(path)
            told = [found.st_mode, found.st_ino, found.st_mtime_ns if name in names else 0]
            if stat.S_ISREG(found.st_mode):
                with open(path, "rb") as file:
                    told.append(hashlib.sha256(file.read()).hexdigest())
            out[path] = told
    return out


class Lab:
    """A folder of fixtures with the model, and a place for temporary files."""

    def __init__(self, tool, folder, versions=None, current="3"):
        self.tool, self.folder = tool, folder
        self.model = bundle(folder, versions or VERSIONS, current)
        self.stores = os.path.join(folder, "Fixtures")
        self.temporary = os.path.join(folder, "temporary")
        os.mkdir(self.stores)
        os.mkdir(self.temporary)

    def path(self, *names):
        return os.path.join(self.stores, *names)

    def make(self, version, *names, rows=30):
        path = self.path(*names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.tool.run("generate", self.model, "--version", version, "--rows", rows, "--output",
                      path)
        return path

    def write(self, content, *names):
        os.makedirs(os.path.dirname(self.path(*names)), exist_ok=True)
        with open(self.path(*names), "wb") as file:
            file.write(content)

    def call(self, *arguments, tool=None):
        return (tool or self.tool).call("check", *arguments, "--to", self.model,
                                        environment={"TMPDIR": self.temporary})

    def reports(self, *options, place=None):
        """The table, the JSON and the file of JUnit of one check each, which have to agree."""
        place, xml = place or self.stores, os.path.join(self.folder, "check.xml")
        table = self.call(place, *options)
        told = self.call(place, *options, "--json", "--junit", xml)
        if table.returncode != told.returncode:
            raise Failure(f"{table.returncode} with a table, {told.returncode} with JSON: "
                          f"{table.stderr}{told.stderr}")
        return table, json.loads(told.stdout), ElementTree.parse(xml).getroot()


# MARK: what lies in a folder

def fill(lab):
    """Fills the folder; (expected findings, expected reasons to pass over by path)."""
    lab.make("1", "a-loss.sqlite")
    lab.make("3", "b-current.sqlite")
    lab.make("2", "c-impossible.sqlite")
    shutil.copy(lab.path("a-loss.sqlite"), lab.path(ODD))
    shutil.copy(lab.path("a-loss.sqlite"), lab.path("without suffix"))
    log_only(lab.path("a-loss.sqlite"), lab.path("deep", "er", "log.store"))
    damage(lab.path("a-loss.sqlite"), lab.path("d-damaged.sqlite"))
    lab.write(b"version https://git-lfs.github.com/spec/v1\n", "e-pointer.sqlite")
    lab.write(b"", "f-empty.storedata")
    shutil.copy(lab.path("a-loss.sqlite"), lab.path("g-part.sqlite"))
    os.truncate(lab.path("g-part.sqlite"), 6000)
    db = sqlite3.connect(lab.path("h-lost.sqlite"))
    db.executescript("create table Z_PRIMARYKEY(Z_ENT); create table ZNOTE(Z_PK)")
    db.close()
    loss = (OK, ["loses Tag: 15 objects", "loses Note.pages"])
    expected = {
        "a-loss.sqlite": loss, ODD: loss, "without suffix": loss, "deep/er/log.store": loss,
        "b-current.sqlite": (OK, []),
        "c-impossible.sqlite": (IMPOSSIBLE, ["Must.one", "Must.two"]),
        "d-damaged.sqlite": (DAMAGED, ["damaged"]),
        "e-pointer.sqlite": (DAMAGED, ["pointer of Git LFS"]),
        "f-empty.storedata": (DAMAGED, ["empty"]),
        "g-part.sqlite": (DAMAGED, ["truncated"]),
        "h-lost.sqlite": (DAMAGED, ["Core Data"]),
    }
    return {lab.path(p): e for p, e in expected.items()}, {
        lab.path(p): r for p, r in pass_over(lab).items()}


def pass_over(lab):
    aside = os.path.join(lab.folder, "aside")
    os.mkdir(aside)
    shutil.copy(lab.path("a-loss.sqlite"), os.path.join(aside, "Outside.sqlite"))
    lab.write(b"# Stores", "README.md")
    lab.write(b"", "empty")
    sqlite3.connect(lab.path("other.sqlite")).execute("create table other(a)").connection.close()
    lab.write(b"7\x7f\x06\x82", "gone.sqlite-wal")
    os.mkfifo(lab.path("pipe.sqlite"))
    os.symlink("..", lab.path("deep", "loop"))
    os.symlink(aside, lab.path("out"))
    os.symlink(lab.path("a-loss.sqlite"), lab.path("link.sqlite"))
    for name in (".hidden", "a-loss.sqlite.godwit", "Old.xcdatamodeld"):
        os.mkdir(lab.path(name))
        shutil.copy(lab.path("a-loss.sqlite"), lab.path(name, "result.sqlite"))
    return {"README.md": "noStore", "empty": "noStore", "other.sqlite": "otherDatabase",
            "gone.sqlite-wal": "looseLog", "pipe.sqlite": "special", "deep/loop": "link",
            "out": "link", "link.sqlite": "link", ".hidden": "hidden",
            "a-loss.sqlite.godwit": "workFile", "Old.xcdatamodeld": "model"}


def log_only(source, path):
    """A copy of a store whose rows lie in its log, where an app has left them."""
    os.makedirs(os.path.dirname(path))
    made = path + ".made"
    shutil.copy(source, made)
    db = sqlite3.connect(made, isolation_level=None)
    db.executescript("pragma journal_mode = wal; pragma wal_autocheckpoint = 0;"
                     "create table rows as select * from znote; delete from znote;"
                     "insert into znote select * from rows; drop table rows")
    for suffix in ("", "-wal"):
        shutil.copy(made + suffix, path + suffix)
    db.close()
    os.remove(made)


def damage(source, path):
    """A copy of a store with the root page of a table overwritten."""
    db = sqlite3.connect(source)
    root, size = (db.execute(q).fetchone()[0] for q in (
        "select rootpage from sqlite_schema where name = 'ZNOTE'", "pragma page_size"))
    db.close()
    shutil.copy(source, path)
    with open(path, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xee" * size)


class PipeWatch:
    """Notices who opens a pipe for reading."""

    def __init__(self, path):
        self.path, self.opened, self.ends = path, False, threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self.ends.wait(0.002):
            try:
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
                self.opened = True
            except OSError:
                pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
