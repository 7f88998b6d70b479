#!/usr/bin/env python3
"""Inputs that cannot be migrated: the exit code, one sentence that names the file and says what to
do, and nothing left behind. The sentences are kept in hostile-expected.txt.

usage: hostile.py --godwit P --corpus D [--record] [--scratch S]
"""
import fcntl
import os
import plistlib
import random
import re
import shutil
import sqlite3
import sys

from coredata import bundles
from run import Failure, Tool, fingerprint, parser, run_cases, unchanged
from store import copy_store

SNAPSHOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile-expected.txt")
DAMAGED, NOT_FOUND, IN_USE, IMPOSSIBLE = {65}, {66}, {69}, {78}
CANNOT_WRITE = {73, 74}
NOBODY = 65534


class Lab:
    """What the cases start from: a real store of an older model version, and its bundle."""

    def __init__(self, corpus):
        found = bundles(corpus)["samplemodel"]
        self.bundle, self.target = found.path, found.models["SampleModel2"].path
        self.own = found.models["SampleModel"].path
        self.store = os.path.join(corpus, "samplemodel", "Fixtures", "SampleModel_V1.sqlite")

    def copy(self, folder):
        return copy_store(self.store, folder, "Store.sqlite")


def text_file(lab, folder):
    return written(folder, b"This is no store, but a letter.\n" * 40)


def empty_file(lab, folder):
    return written(folder, b"")


def written(folder, data):
    path = os.path.join(folder, "Store.sqlite")
    with open(path, "wb") as file:
        file.write(data)
    return path


def missing_file(lab, folder):
    return os.path.join(folder, "Store.sqlite")


def plain_sqlite(lab, folder):
    path = os.path.join(folder, "Store.sqlite")
    db = sqlite3.connect(path)
    with db:
        db.execute("create table notes (id integer primary key, body text)")
        db.execute("insert into notes (body) values ('no Core Data here')")
    db.close()
    return path


def xml_store(lab, folder):
    return written(folder, b'<?xml version="1.0"?>\n'
                           b'<!DOCTYPE database SYSTEM "file:///CoreData.dtd">\n'
                           b"<database><databaseInfo><version>134481920</version></databaseInfo>"
                           b"</database>\n")


def encrypted(lab, folder):
    return written(folder, random.Random(7).randbytes(8 * 4096))


def truncated(lab, folder):
    path = lab.copy(folder)
    os.truncate(path, os.path.getsize(path) // 2 // 4096 * 4096)
    return path


def newer_hashes(lab, folder):
    return with_metadata(lab, folder, lambda m: m.update(NSStoreModelVersionHashesVersion=4))


def unknown_model(lab, folder):
    """Hashes that no model has, and no model cached in the store."""
    def change(metadata):
        hashes = metadata["NSStoreModelVersionHashes"]
        metadata["NSStoreModelVersionHashes"] = {n: bytes(reversed(h)) for n, h in hashes.items()}
    path = with_metadata(lab, folder, change)
    db = sqlite3.connect(path)
    with db:
        db.execute("delete from Z_MODELCACHE")
    db.close()
    return path


def with_metadata(lab, folder, change):
    path = lab.copy(folder)
    db = sqlite3.connect(path)
    with db:
        metadata = plistlib.loads(db.execute("select Z_PLIST from Z_METADATA").fetchone()[0])
        change(metadata)
        blob = plistlib.dumps(metadata, fmt=plistlib.FMT_BINARY)
        db.execute("update Z_METADATA set Z_PLIST = ?", (blob,))
    db.close()
    return path


def real(lab, folder):
    return lab.copy(folder)


def bundle_without_current(lab, folder):
    """A bundle of three versions none of which is marked as the current one."""
    target = os.path.join(folder, "Model.xcdatamodeld")
    shutil.copytree(lab.bundle, target, copy_function=shutil.copyfile)
    os.chmod(target, 0o755)
    current = os.path.join(target, ".xccurrentversion")
    if os.path.exists(current):
        os.remove(current)
    return target


def dangling_current(lab, folder):
    """A bundle whose current version is not in it."""
    target = bundle_without_current(lab, folder)
    with open(os.path.join(target, ".xccurrentversion"), "wb") as file:
        plistlib.dump({"_XCCurrentVersionName": "Model9.xcdatamodel"}, file)
    return target


def own_version(lab, folder):
    return lab.own


def no_target(lab, folder):
    return os.path.join(folder, "Missing.xcdatamodeld")


def usual_target(lab, folder):
    return lab.target


# name, builder of the store, builder of the model, exit codes, file that the sentence names
CASES = [
    ("a text file", text_file, usual_target, DAMAGED, "Store.sqlite"),
    ("an empty file", empty_file, usual_target, DAMAGED, "Store.sqlite"),
    ("a missing file", missing_file, usual_target, NOT_FOUND, "Store.sqlite"),
    ("an SQLite file without Core Data", plain_sqlite, usual_target, DAMAGED, "Store.sqlite"),
    ("an XML store", xml_store, usual_target, DAMAGED | IMPOSSIBLE, "Store.sqlite"),
    ("an encrypted store", encrypted, usual_target, DAMAGED, "Store.sqlite"),
    ("a truncated store", truncated, usual_target, DAMAGED, "Store.sqlite"),
    ("a newer hash version", newer_hashes, usual_target, IMPOSSIBLE, "Store.sqlite"),
    ("an unknown model", unknown_model, usual_target, IMPOSSIBLE, "Store.sqlite"),
    ("a missing bundle", real, no_target, NOT_FOUND, "Missing.xcdatamodeld"),
    ("a bundle without current version", real, bundle_without_current, DAMAGED | NOT_FOUND,
     "Model.xcdatamodeld"),
    ("a bundle whose current version is missing", real, dangling_current, DAMAGED | NOT_FOUND,
     "Model.xcdatamodeld"),
    ("a store already current", real, own_version, {0}, "Store.sqlite"),
]


class Snapshot:
    """The recorded sentences, by case."""

    def __init__(self, record, corpus):
        self.record, self.corpus, self.known, self.seen = record, corpus, {}, {}
        if os.path.exists(SNAPSHOT):
            with open(SNAPSHOT) as file:
                self.known = dict(line.rstrip("\n").split(": ", 1) for line in file if ": " in line)

    def check(self, name, sentence):
        sentence = sentence.replace(self.corpus, "<corpus>")
        self.seen[name] = sentence
        if self.record or self.known.get(name) == sentence:
            return []
        return [f"says {sentence!r}, expected {self.known.get(name)!r}"]

    def write(self, order):
        merged = {**self.known, **self.seen}
        with open(SNAPSHOT, "w") as file:
            file.writelines(f"{n}: {merged[n]}\n" for n in order if n in merged)


def judge(name, done, codes, named, folder, snapshot):
    """One sentence, on standard error (a store that is current: on standard output)."""
    out = []
    if done.returncode not in codes:
        out.append(f"exit {done.returncode}, expected {' or '.join(map(str, sorted(codes)))}")
    text = done.stderr.strip() or done.stdout.strip()
    sentence = re.sub(r"\s+", " ", text.replace(folder, "<scratch>"))
    if not sentence:
        return out + ["says nothing"]
    if 0 not in codes and ("\n" in text or not sentence.endswith(".")):
        out.append(f"not one sentence on standard error: {text[:300]!r}")
    if named not in sentence:
        out.append(f"the sentence does not name {named}: {sentence!r:.300}")
    return out + snapshot.check(name, sentence)


def check(tool, lab, snapshot, case, folder):
    name, build, target, codes, named = case
    store, model = build(lab, folder), target(lab, folder)
    before = fingerprint(folder)
    done = tool.call("migrate", store, "--to", model)
    out = judge(name, done, codes, named, folder, snapshot)
    unchanged(before, folder)
    return out


def check_locked(tool, lab, snapshot, name, folder):
    """Another godwit holds the work folder's lock."""
    store = lab.copy(folder)
    lock = os.path.join(store + ".godwit", "godwit.lock")
    os.makedirs(os.path.dirname(lock))
    before = fingerprint(folder)
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = tool.call("migrate", store, "--to", lab.target)
    out = judge(name, done, IN_USE, "Store.sqlite", folder, snapshot)
    unchanged({**before, "Store.sqlite.godwit/godwit.lock": fingerprint(folder).get(
        "Store.sqlite.godwit/godwit.lock")}, folder)
    return out


def check_sqlite_locked(tool, lab, snapshot, name, folder):
    """An application has the store open in a transaction."""
    store = lab.copy(folder)
    db = sqlite3.connect(store, isolation_level=None)
    if db.execute("pragma journal_mode=delete").fetchone()[0] != "delete":
        raise Failure("cannot set the journal mode")
    # Reading the file later would drop the lock: closing any descriptor of a file does.
    before = fingerprint(folder)
    db.execute("begin exclusive")
    try:
        done = tool.call("migrate", store, "--to", lab.target)
    finally:
        db.execute("rollback")
        db.close()
    out = judge(name, done, IN_USE, "Store.sqlite", folder, snapshot)
    unchanged(before, folder)
    return out


def check_read_only(tool, lab, snapshot, name, folder):
    """The folder cannot be written; root would not notice, so somebody else runs the tool."""
    inner, model, prefix = os.path.join(folder, "read-only"), lab.target, ()
    store = lab.copy(inner)
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            raise Failure("setpriv is missing, and root can write anywhere")
        prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        model = os.path.join(folder, os.path.basename(lab.target))
        shutil.copytree(lab.target, model)
        for where in (os.path.dirname(folder), folder, model):
            os.chmod(where, 0o755)
        os.chmod(os.path.join(model, "contents"), 0o644)
        tool = reachable(tool, folder)
    before = fingerprint(folder)
    os.chmod(inner, 0o555)
    try:
        done = tool.call("migrate", store, "--to", model, prefix=prefix)
    finally:
        os.chmod(inner, 0o755)
    out = judge(name, done, CANNOT_WRITE, "read-only", folder, snapshot)
    unchanged(before, folder)
    return out


def reachable(tool, folder):
    """The tool, copied where another user may run it."""
    copy = os.path.join(folder, "godwit")
    shutil.copyfile(tool.path, copy)
    os.chmod(copy, 0o755)
    return Tool(copy, tool.timeout)


def main():
    p = parser(__doc__)
    p.add_argument("--record", action="store_true", help="write the sentences down")
    options = p.parse_args()
    tool, lab = Tool(options.godwit), Lab(options.corpus)
    snapshot = Snapshot(options.record, options.corpus)
    cases = [(c[0], lambda f, c=c: check(tool, lab, snapshot, c, f)) for c in CASES]
    for name, function in (("a store migrated by another godwit", check_locked),
                           ("a store in use by an application", check_sqlite_locked),
                           ("a read-only folder", check_read_only)):
        cases.append((name, lambda f, n=name, g=function: g(tool, lab, snapshot, n, f)))
    try:
        run_cases(options, cases, "inputs")
    finally:
        if options.record:
            snapshot.write([n for n, _ in cases])


if __name__ == "__main__":
    sys.exit(main())
