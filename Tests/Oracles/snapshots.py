#!/usr/bin/env python3
"""What the tool says, to the letter: the help of every command, every document in JSON of the
sample model, and the sentences of failures, against the files of the folder `snapshots`.

Only what differs from run to run is masked: times, sizes of memory, numbers of processes and files,
by the names of their fields. Every command that the tool lists is asked for its help.

usage: snapshots.py --godwit P [--renew] [--scratch S]

--renew writes the files anew; read the differences before they are committed.
"""
import difflib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile

from run import Failure, parser, require_answer, run_cases

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "snapshots")
DOCS = os.path.join(HERE, "..", "..", "docs")
LIBRARY = "Library.xcdatamodeld"
TO = ("--to", LIBRARY)

# The fields whose values are those of one run.
VOLATILE = {
    "boot", "ended", "made", "mostMemory", "peakMemory", "process", "processStart", "run",
    "now", "seconds", "secondsEstimated", "started",
}
# Those that have as many parts as one run had moments.
PASSING = {"timeline"}
MASKS = [
    (re.compile(r"\d+(?= bytes, the work of)"), "SOME"),
    (re.compile(r"(?<=; about )[0-9]+ (?:s|min|h)\b.*?(?= and [0-9.]+ [KMG]iB of disk)"), "TIME"),
    (re.compile(r"^  in [0-9.]+ (?:s|min|h)\b.* of memory$", re.M), "  in TIME"),
    (re.compile(r"\.(before|after)-\d{8}-\d{6}"), r".\1-TIME"),
    (re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z"), "TIME"),
    (re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z"), "TIME"),
    (re.compile(r"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}(?=[^\n]*run)"), "RUN"),
    (re.compile(r"godwit-[0-9a-f]{8}\b"), "godwit-DIGITS"),
]


def masked(value, name=None):
    """A document without what is of one run; lists and the names of fields stay."""
    if isinstance(value, dict):
        return {k: f"<{k}>" if k in PASSING else masked(v, k if k in VOLATILE else name)
                for k, v in value.items()}
    if isinstance(value, list):
        return [masked(v, name) for v in value]
    return f"<{name}>" if name in VOLATILE else value


def readable(text, folder):
    """A text or a document, masked."""
    text = text.replace(folder, "<folder>")
    try:
        document = json.loads(text)
    except ValueError:
        for pattern, mask in MASKS:
            text = pattern.sub(mask, text)
        return text
    if not isinstance(document, (dict, list)):
        return text
    return readable_json(masked(document))


def readable_json(document):
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


class Stage:
    """A folder with stores of the sample model, in which commands are tried one after the other."""

    def __init__(self, tool, folder):
        self.tool, self.folder, self.said = os.path.abspath(tool), folder, {}
        shutil.copytree(os.path.join(DOCS, "sample", LIBRARY), os.path.join(folder, LIBRARY))
        for name in ("Library1to3.json", "Library2to3.json"):
            shutil.copy(os.path.join(DOCS, "examples", name), folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def call(self, *arguments):
        done = subprocess.run(
            [self.tool, *map(str, arguments)], cwd=self.folder, capture_output=True, timeout=300,
            stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80"})
        out = done.stdout.decode("utf-8", "replace")
        require_answer(arguments, done.returncode, out)
        return done.returncode, out, done.stderr.decode("utf-8", "replace")

    def need(self, *arguments):
        status, _, errors = self.call(*arguments)
        if status:
            raise SystemExit(f"godwit {' '.join(map(str, arguments))}: exit {status}: {errors}")

    def snap(self, name, *arguments, files=()):
        """Keeps all that a command says, and files that it writes."""
        status, out, errors = self.call(*arguments)
        text = f"$ godwit {' '.join(map(str, arguments))}\nexit {status}\n"
        for title, part in (("standard output", out), ("standard error", errors)):
            if part:
                text += f"--- {title}\n{readable(part, self.folder)}"
        for file in files:
            with open(self.path(file), encoding="utf-8") as opened:
                text += f"--- {file}\n{readable(opened.read(), self.folder)}"
        if name in self.said:
            raise SystemExit(f"two snapshots of the name {name}")
        self.said[name] = text


def helps(stage):
    stage.snap("version", "--version")
    stage.snap("help", "help")
    commands = re.findall(r"^  ([a-z]+)  ", stage.call("help")[1].partition("SUBCOMMANDS:")[2],
                          flags=re.M)
    if not commands:
        raise SystemExit("the tool lists no commands")
    for command in commands:
        stage.snap(f"help-{command}", "help", command)
        if stage.call(command, "--help") != stage.call("help", command):
            raise SystemExit(f"`{command} --help` is not `help {command}`")


def documents(stage):
    stage.need("generate", LIBRARY, "--version", "Library 1", "--rows", 300, "--seed", 5,
               "--output", "Old.sqlite")
    for kind, more in (("text", ()), ("json", ("--json",))):
        stage.snap(f"inspect-store-{kind}", "inspect", "Old.sqlite", *more)
        stage.snap(f"inspect-bundle-{kind}", "inspect", LIBRARY, *more)
        stage.snap(f"inspect-version-{kind}", "inspect", LIBRARY, "--version", "Library 3", *more)
        stage.snap(f"inspect-schema-{kind}", "inspect", LIBRARY, "--schema", *more)
        stage.snap(f"inspect-objects-{kind}", "inspect", "Old.sqlite", "--entity", "Book",
                   "--where", "pageCount > 10000 AND shelf != nil", "--limit", 2, *more)
        stage.snap(f"diff-models-{kind}", "diff", f"{LIBRARY}/Library 1.xcdatamodel", LIBRARY,
                   *more)
        stage.snap(f"diff-alike-{kind}", "diff", "Old.sqlite", "Old.sqlite", *more)
        stage.snap(f"check-{kind}", "check", "Old.sqlite", *TO, *more)
        stage.snap(f"check-progressive-{kind}", "check", "Old.sqlite", *TO, "--progressive", *more)
        stage.snap(f"plan-{kind}", "plan", "Old.sqlite", *TO, *more)
        stage.snap(f"plan-progressive-{kind}", "plan", "Old.sqlite", *TO, "--progressive",
                   "--range-rows", 50, *more)
        stage.snap(f"plan-mapped-{kind}", "plan", "Old.sqlite", *TO, "--mapping",
                   "Library1to3.json", *more)
    stage.snap("check-exit-status", "check", "Old.sqlite", *TO, "--exit-status")
    stage.snap("migrate-output", "migrate", "Old.sqlite", *TO, "--output", "New.sqlite",
               "--report", "report.json", "--workers", 1,
               files=("report.json", "New.sqlite.godwit-status.json"))
    stage.snap("migrate-finished", "migrate", "Old.sqlite", *TO, "--output", "New.sqlite",
               "--workers", 1)
    stage.snap("migrate-pages", "migrate", "Old.sqlite", *TO, "--output", "Pages.sqlite",
               "--report", "report.json", "--engine", "pages", "--no-record", "--workers", 1,
               files=("report.json",))
    stage.snap("migrate-progressive", "migrate", "Old.sqlite", *TO, "--progressive", "--stepwise",
               "--output", "Steps.sqlite", "--report", "report.json", "--no-record", "--workers",
               1, files=("report.json",))
    shutil.copy(stage.path("Old.sqlite"), stage.path("Place.sqlite"))
    stage.snap("migrate-in-place", "migrate", "Place.sqlite", *TO, "--report", "report.json",
               "--workers", 1, files=("report.json",))
    stage.snap("migrate-current", "migrate", "Place.sqlite", *TO)
    os.mkdir(stage.path("Several"))
    shutil.copy(stage.path("Old.sqlite"), stage.path("Other.sqlite"))
    stage.snap("migrate-several", "migrate", "Old.sqlite", "Other.sqlite", "Place.sqlite",
               "Nowhere.sqlite", *TO, "--output", "Several", "--no-record")
    for kind, more in (("text", ()), ("json", ("--json",))):
        stage.snap(f"status-done-{kind}", "status", "New.sqlite", *more)
        stage.snap(f"status-unknown-{kind}", "status", "Pages.sqlite", *more)
        stage.snap(f"verify-alike-{kind}", "verify", "Old.sqlite", "New.sqlite", *more)
        stage.snap(f"check-current-{kind}", "check", "New.sqlite", *TO, *more)
    shutil.copy(stage.path("New.sqlite"), stage.path("Changed.sqlite"))
    db = sqlite3.connect(stage.path("Changed.sqlite"))
    with db:
        db.execute("update ZREADER set ZNAME = 'another' where Z_PK = 3")
        db.execute("delete from ZLOAN where Z_PK = 5")
    db.close()
    for kind, more in (("text", ()), ("json", ("--json",))):
        stage.snap(f"verify-different-{kind}", "verify", "Old.sqlite", "Changed.sqlite", *more)
        stage.snap(f"diff-stores-{kind}", "diff", "New.sqlite", "Changed.sqlite", *more)
    stage.snap("diff-other-models", "diff", "Old.sqlite", "New.sqlite")
    stage.snap("inspect-no-entity", "inspect", "Old.sqlite", "--entity", "Bok")
    stage.snap("inspect-no-property", "inspect", "Old.sqlite", "--entity", "Book", "--where",
               "titel == nil")
    stage.snap("inspect-no-predicate", "inspect", "Old.sqlite", "--entity", "Book", "--where",
               "title ==")
    stage.snap("inspect-no-version", "inspect", LIBRARY, "--version", "Library 9")
    stage.snap("usage-inspect-limit", "inspect", "Old.sqlite", "--entity", "Book", "--limit", -1)
    stage.snap("usage-inspect-where", "inspect", "Old.sqlite", "--where", "title == nil")
    stage.snap("usage-diff-limit", "diff", "Old.sqlite", "New.sqlite", "--limit", -1)
    stage.snap("map-inferred", "map", "--from", "Old.sqlite", *TO)
    stage.snap("map-file", "map", "Library2to3.json")
    stage.snap("map-check", "map", "Library2to3.json", "--check", "--from", "Old.sqlite", *TO)
    stage.snap("map-split", "map", "Library2to3.json", "--split")


def damaged_pages(stage):
    """The sample with pages of rows written over."""
    with open(stage.path("Old.sqlite"), "rb") as file:
        whole = bytearray(file.read())
    for page in range(len(whole) // 8192, len(whole) // 4096):
        whole[page * 4096:page * 4096 + 4096] = b"\xff" * 4096
    stage.write("Damaged.sqlite", bytes(whole))


def inputs(stage):
    """Stores and models that are none, for every command that takes one."""
    with open(stage.path("Old.sqlite"), "rb") as file:
        whole = file.read()
    stage.write("Empty.sqlite", b"")
    stage.write("Text.sqlite", b"my own notes\n")
    stage.write("XML.sqlite", b'<?xml version="1.0"?>\n<!DOCTYPE database SYSTEM "x">\n<database/>')
    stage.write("Cut.sqlite", whole[:40_960])
    stage.write("Header.sqlite", whole[:60])
    stage.write("Other.sqlite", whole[:16] + b"\0\3" + whole[18:])
    os.mkdir(stage.path("Folder.sqlite"))
    db = sqlite3.connect(stage.path("Plain.sqlite"))
    db.execute("create table t (a)")
    db.close()
    damaged_pages(stage)
    names = ["Nowhere", "Empty", "Text", "XML", "Cut", "Header", "Other", "Folder", "Plain",
             "Damaged"]
    for name in names:
        stage.snap(f"store-{name.lower()}-migrate", "migrate", f"{name}.sqlite", *TO, "--output",
                   "Failed.sqlite", "--engine", "sql", "--no-record")
        stage.snap(f"store-{name.lower()}-check", "check", f"{name}.sqlite", *TO)
        stage.snap(f"store-{name.lower()}-inspect", "inspect", f"{name}.sqlite")
        stage.snap(f"store-{name.lower()}-verify", "verify", "Old.sqlite", f"{name}.sqlite")
    stage.snap("store-damaged-pages", "migrate", "Damaged.sqlite", *TO, "--output",
               "Failed.sqlite", "--engine", "pages", "--no-record")
    stage.write("Broken.xcdatamodel/contents", b"<model><entity></model>")
    stage.write("Two.xcdatamodeld/A.xcdatamodel/contents", b"<model><entity name='E'/></model>")
    stage.write("Two.xcdatamodeld/B.xcdatamodel/contents", b"<model><entity name='F'/></model>")
    stage.write("Foreign.xcdatamodel/contents", b"<model><entity name='E'/></model>")
    for name in ("Nowhere.momd", "Text.sqlite", "Broken.xcdatamodel", "Two.xcdatamodeld",
                 "Foreign.xcdatamodel"):
        stage.snap(f"model-{name.partition('.')[0].lower()}", "migrate", "Old.sqlite", "--to", name,
                   "--output", "Failed.sqlite", "--no-record")
    stage.snap("model-version-missing", "generate", LIBRARY, "--version", "Library 9", "--rows", 5,
               "--output", "Failed.sqlite")
    stage.write("Mapping.json", b"{}")
    stage.write("Notes.json", b"notes")
    for name in ("Nowhere.json", "Mapping.json", "Notes.json", "Library2to3.json"):
        stage.snap(f"mapping-{name.partition('.')[0].lower()}", "migrate", "Old.sqlite", *TO,
                   "--mapping", name, "--output", "Failed.sqlite", "--no-record")


def outputs(stage):
    """Names that are taken, folders that are not Godwit's, and stores in use."""
    base = ("migrate", "Old.sqlite", *TO, "--no-record")
    stage.write("Taken.sqlite", b"x")
    stage.write("Journal.sqlite-wal", b"x")
    stage.snap("output-taken", *base, "--output", "Taken.sqlite")
    stage.snap("output-with-log", *base, "--output", "Journal.sqlite")
    stage.snap("output-nowhere", *base, "--output", "nowhere/New.sqlite")
    stage.snap("generate-taken", "generate", LIBRARY, "--rows", 5, "--output", "Taken.sqlite")
    stage.snap("report-taken", *base, "--output", "Failed.sqlite", "--report", "Old.sqlite")
    stage.write("File.sqlite.godwit", b"x")
    stage.write("Unmarked.sqlite.godwit/photo.jpg", b"x")
    stage.write("Later.sqlite.godwit/godwit.json", b'{"format":2}')
    stage.write("Elsewhere.sqlite.godwit/godwit.json", json.dumps({
        "format": 1, "id": "0A0A0A0A-0000-4000-8000-000000000000", "store": "/s",
        "destination": "/d", "madeParent": False}).encode())
    os.symlink("Folder.sqlite", stage.path("Link.sqlite.godwit"))
    for name in ("File", "Unmarked", "Later", "Elsewhere", "Link"):
        stage.snap(f"work-{name.lower()}", *base, "--output", f"{name}.sqlite")
    stage.write("Swap.sqlite.godwit/godwit.json", json.dumps({
        "format": 1, "id": "0A0A0A0A-0000-4000-8000-000000000000", "store": "/s",
        "destination": os.path.realpath(stage.path("Swap.sqlite")), "madeParent": False}).encode())
    stage.write("Swap.sqlite.godwit/swap.json", b'{"format":1}')
    stage.snap("work-swap", *base, "--output", "Swap.sqlite")
    shutil.copy(stage.path("Old.sqlite"), stage.path("Used.sqlite"))
    db = sqlite3.connect(stage.path("Used.sqlite"), isolation_level=None)
    db.execute("begin exclusive")
    stage.snap("store-in-use", "migrate", "Used.sqlite", *TO, "--no-record")
    db.execute("rollback")
    db.close()


def upkeep(stage):
    """The way back, and what is left over."""
    store = "Back.sqlite"
    shutil.copy(stage.path("Old.sqlite"), stage.path(store))
    stage.snap("rollback-nothing", "rollback", store)
    stage.snap("finish-nothing", "finish", store)
    stage.need("migrate", store, *TO, "--no-record")
    stage.snap("list", "list", store)
    stage.snap("rollback", "rollback", store)
    stage.snap("list-after-rollback", "list", store)
    stage.snap("finish", "finish", store)
    stage.need("migrate", store, *TO, "--no-record")
    stage.snap("list-json", "list", store, "--json")
    stage.snap("rollback-json", "rollback", store, "--json")
    stage.snap("finish-json", "finish", store, "--json")
    stage.need("migrate", store, *TO, "--no-record")
    for name in os.listdir(stage.path(".")):
        if name.startswith(store + ".before-"):
            stage.write(name, b"changed")
    stage.snap("rollback-changed", "rollback", store)
    stage.snap("finish-changed", "finish", store)
    stage.write("Back.sqlite.godwit-kept.json", b"{}")
    stage.snap("rollback-foreign-list", "rollback", store)
    stage.snap("discard-nothing", "discard", store)
    stage.write("Never.sqlite.godwit/godwit.json", json.dumps({
        "format": 1, "id": "0A0A0A0A-0000-4000-8000-000000000000", "store": "/s",
        "destination": os.path.realpath(stage.path("Never.sqlite")),
        "madeParent": False}).encode())
    stage.write("Never.sqlite.godwit/photo.jpg", b"x")
    stage.snap("list-left", "list", "Never.sqlite")
    stage.snap("discard-left", "discard", "Never.sqlite")
    os.remove(stage.path("Never.sqlite.godwit/photo.jpg"))
    stage.snap("discard-json", "discard", "Never.sqlite", "--json")
    long = "L" * 230 + ".sqlite"
    shutil.copy(stage.path("Old.sqlite"), stage.path(long))
    stage.snap("name-too-long", "migrate", long, *TO, "--no-record")


def usage(stage):
    """Wrong usage, and refusals."""
    wrong = {
        "nothing": (), "unknown-command": ("wash",), "no-store": ("migrate",),
        "no-model": ("migrate", "Old.sqlite"),
        "mistyped-command": ("migrat", "Old.sqlite", *TO), "help-unknown": ("help", "nope"),
        "unknown-option": ("migrate", "Old.sqlite", *TO, "--fast"),
        "mistyped-option": ("migrate", "Old.sqlite", "--too", TO[1]),
        "workers": ("migrate", "Old.sqlite", *TO, "--workers", -1),
        "memory": ("migrate", "Old.sqlite", *TO, "--memory", "1M"),
        "memory-text": ("migrate", "Old.sqlite", *TO, "--memory", "much"),
        "engine": ("migrate", "Old.sqlite", *TO, "--engine", "steam"),
        "contradiction": ("migrate", "Old.sqlite", *TO, "--infer-only", "--mapping",
                          "Library1to3.json"),
        "validation": ("migrate", "Old.sqlite", *TO, "--validation", "maybe"),
        "map-nothing": ("map",), "map-from-alone": ("map", "--from", "Old.sqlite"),
        "several-twice": ("migrate", "Old.sqlite", "./Old.sqlite", *TO),
        "several-output": ("migrate", "Old.sqlite", "Other.sqlite", *TO, "--output", "No"),
        "several-report": ("migrate", "Old.sqlite", "Other.sqlite", *TO, "--report", "r.json"),
        "generate-rows": ("generate", LIBRARY, "--rows", -1, "--output", "Failed.sqlite"),
    }
    for name, arguments in wrong.items():
        stage.snap(f"usage-{name}", *arguments)
    base = ("migrate", "Old.sqlite", *TO, "--no-record", "--output", "Failed.sqlite")
    stage.snap("loss-unknown-name", *base, "--allow-loss=Bok.isbn")
    stage.snap("order-unknown-name", *base, "--progressive", "--order", "Library 9")
    stage.snap("join-table-unknown-name", *base, "--join-table", "Book.nothing")
    stage.snap("no-mapping-and-no-inference", *base, "--no-infer")
    back = ("migrate", "New.sqlite", "--to", os.path.join(LIBRARY, "Library 1.xcdatamodel"),
            "--no-record", "--output", "Failed.sqlite")
    stage.snap("loss-of-a-downgrade", *back, "--fail-on-loss")
    refused = os.path.join(HERE, "..", "EndToEndTests", "Scenarios",
                           "fail-every-refusal-is-listed")
    shutil.copytree(refused, stage.path("Refused"))
    stage.need("generate", "Refused/source.xcdatamodel", "--rows", 0, "--output", "Refused.sqlite")
    for kind, more in (("text", ()), ("json", ("--json",))):
        stage.snap(f"refused-{kind}", "check", "Refused.sqlite", "--to",
                   "Refused/destination.xcdatamodel", *more)
        stage.snap(f"refused-plan-{kind}", "plan", "Refused.sqlite", "--to",
                   "Refused/destination.xcdatamodel", *more)
        stage.snap(f"refused-loss-{kind}", "plan", "New.sqlite", "--to",
                   os.path.join(LIBRARY, "Library 1.xcdatamodel"), "--fail-on-loss",
                   "--infer-only", *more)
    stage.snap("usage-json", "plan", "Old.sqlite", *TO, "--fast", "--json")
    stage.snap("usage-json-parser", "plan", "--json")
    stage.snap("store-nowhere-json", "inspect", "Nowhere.sqlite", "--json")


def spoken(tool, folder):
    """All that the tool says, by the name of the snapshot."""
    stage = Stage(tool, folder)
    for part in (helps, documents, inputs, outputs, upkeep, usage):
        part(stage)
    return stage.said


def compared(name, said):
    """How a snapshot differs from its file."""
    path = os.path.join(GOLDEN, name + ".txt")
    if said is None:
        return ["a file of that name, and no such snapshot: remove it with --renew"]
    if not os.path.exists(path):
        return ["no file of that name: look at it, and write it with --renew"]
    with open(path, encoding="utf-8") as file:
        expected = file.read()
    return [line.rstrip("\n") for line in difflib.unified_diff(
        expected.splitlines(True), said.splitlines(True), "expected", "found", n=1)]


def the_judge(said):
    """Every change is found that is none of a masked field, and nothing else is."""
    name, text = next((n, t) for n, t in said.items() if n == "migrate-output")
    out = []
    for what, other in {
            "a word": text.replace("migrated", "moved", 1),
            "a status": text.replace("exit 0", "exit 1"),
            "a field": text.replace('"rowsIn"', '"rowsRead"', 1),
            "a number": text.replace("60", "61", 1), "the end": text[:-2]}.items():
        if other == text or not compared(name, other):
            out.append(f"a change is not found: {what}")
    document = {"rows": 5, "seconds": {"merging": 0.5}, "list": [{"peakMemory": 7, "name": "x"}]}
    if masked(document) != {"rows": 5, "seconds": {"merging": "<seconds>"},
                            "list": [{"peakMemory": "<peakMemory>", "name": "x"}]}:
        out.append(f"masks something else: {masked(document)}")
    error = {"kind": "fault", "exitStatus": 70, "sentences": ["x"], "reasons": []}
    answers = {"nothing": "", "no JSON": "x", "an array": "[]",
               "another version": json.dumps({"version": 2, "error": error}),
               "another status": json.dumps({"version": 1, "error": {**error, "exitStatus": 74}}),
               "a field that no schema has": json.dumps({"version": 1, "error": error, "x": 1}),
               "no version": json.dumps({"error": error})}
    for what, text in answers.items():
        try:
            require_answer(("plan", "A.sqlite", "--json"), 70, text)
            out.append(f"an answer is taken that is none: {what}")
        except Failure:
            pass
    require_answer(("plan", "A.sqlite", "--json"), 70, json.dumps({"version": 1, "error": error}))
    if not compared("no-such-snapshot", "text") or not compared("help", None):
        out.append("a snapshot without its file, or a file without a snapshot, is not found")
    return out


def renew(said):
    shutil.rmtree(GOLDEN, ignore_errors=True)
    os.makedirs(GOLDEN)
    for name, text in said.items():
        with open(os.path.join(GOLDEN, name + ".txt"), "w", encoding="utf-8") as file:
            file.write(text)
    print(f"{len(said)} snapshots written")


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--renew", action="store_true", help="write the files anew")
    options = p.parse_args()
    said = in_scratch(options)
    if options.renew:
        renew(said)
        return
    names = set(said) | {f[:-len(".txt")] for f in os.listdir(GOLDEN)}
    cases = [("the judge", lambda _: the_judge(said))]
    cases += [(name, lambda _, n=name: compared(n, said.get(n))) for name in sorted(names)]
    run_cases(options, cases, "snapshots")


def in_scratch(options):

    base = os.path.realpath(tempfile.mkdtemp(prefix="godwit-oracle-", dir=options.scratch))
    try:
        return spoken(options.godwit, base)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
