#!/usr/bin/env python3
"""Has migrations killed, without room or failing at any call by which they change files, in place
and with an output, by every engine and in stages, with external data: the store's name always leads
to the old store or the new one, whole, with all of its own external files; the next run ends as an
unharmed one, nothing is left over, and `rollback` gives back the old store to the byte.

usage: swap_faults.py --godwit P [--sample N] [--only TEXT] [--scratch S]
"""
import hashlib
import os
import random
import re
import signal
import sqlite3
import tempfile

from failing_calls import IO_ERROR, NO_SPACE, Calls, logged
from run import KEEP_RECORD, Failure, Tool, parser, run_cases, vacuumed
from store import uri_path

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ROWS = 400
EXISTS = 73
DEEDS = ("kill", NO_SPACE, "full", IO_ERROR, "short")
# What a refusal for a fault of the system may not say.
ODD_WORDS = ("please report it", "unexpected error", "Errno(", "SystemCallError", "Fatal error")
MAPPING = "the inferred mapping model"
# What a way leaves, as the judges know it, and the options that it takes.
WAYS = {
    "in place": ("kept", ()),
    "discarding": ("gone", ("--discard-old", "--allow-loss=Shelf.books")),
    "with an output": ("beside", ()),
    "by SQL": ("beside", ("--engine", "sql", KEEP_RECORD)),
    "by objects": ("kept", ("--engine", "objects", "--mapping", MAPPING)),
    "in stages": ("kept", ("--progressive", "--stepwise")),
}


def keeps(way):
    return WAYS[way][0] == "kept"


def is_beside(way):
    return WAYS[way][0] == "beside"



def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical(path):
    """The digest of a sound store's pages in canonical order."""
    copy = vacuumed(path)
    try:
        return digest(copy)
    finally:
        os.remove(copy)


def support(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{os.path.splitext(name)[0]}_SUPPORT", "_EXTERNAL_DATA")


def external_names(path):
    """The external files that the values of a store name."""
    out = set()
    db = sqlite3.connect(f"file:{uri_path(path)}?mode=ro&immutable=1", uri=True)
    try:
        for table, in db.execute("select name from sqlite_master where type = 'table'").fetchall():
            for column in db.execute(f"select name from pragma_table_info('{table}')").fetchall():
                out |= {bytes(v)[1:37].decode() for v, in db.execute(
                    f'select "{column[0]}" from "{table}" where typeof("{column[0]}") = \'blob\' '
                    f'and length("{column[0]}") between 37 and 40 '
                    f'and substr("{column[0]}", 1, 1) = x\'02\'')}
    finally:
        db.close()
    return out


class Lab:
    """A store with external files, and what must come of it."""

    def __init__(self, tool, folder, calls):
        self.tool, self.calls = tool, calls
        self.whole = os.path.join(folder, "whole")
        os.mkdir(self.whole)
        store = os.path.join(self.whole, "Shop.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--seed", 3,
                 "--output", store)
        expected = os.path.join(folder, "Expected.sqlite")
        tool.run("migrate", store, "--to", LIBRARY, "--output", expected)
        # Objects are made one by one only where a mapping model says how.
        self.mapping = os.path.join(folder, "Mapping.json")
        tool.run("map", "--from", store, "--to", LIBRARY, "--output", self.mapping)
        made = os.path.join(folder, "Objects.sqlite")
        tool.run("migrate", store, "--to", LIBRARY, "--output", made, "--engine", "objects",
                 "--mapping", self.mapping)
        self.bytes = digest(store)
        # Objects get new keys, so theirs is another store.
        self.states = {canonical(store): "old", canonical(expected): "new", canonical(made): "new"}
        self.external = {n: digest(os.path.join(support(store), n))
                         for n in os.listdir(support(store))}
        if not self.external or external_names(store) != set(self.external):
            raise SystemExit("the store has no external files, so nothing would be tried")

    def copy(self, folder):
        place = os.path.join(folder, "shop")
        os.system(f"cp -a '{self.whole}' '{place}'")
        return os.path.join(place, "Shop.sqlite")

    def command(self, store, way):
        more = [self.mapping if word == MAPPING else word for word in WAYS[way][1]]
        if is_beside(way):
            more += ["--output", os.path.join(os.path.dirname(store), "New.sqlite")]
        return ["migrate", store, "--to", LIBRARY, "--workers", 2, "--range-rows", 100, *more]

    def calls_of(self, way, folder):
        """The calls of an unharmed run."""
        store, log = self.copy(folder), os.path.join(folder, "log")
        self.tool.run(*self.command(store, way), environment=self.calls.environment(
            os.path.dirname(store), log=log))
        return logged(log)

    def state(self, path):
        """old or new, or what is wrong with a store and its external files."""
        for suffix in ("-wal", "-journal"):
            if os.path.exists(path + suffix):
                return f"has a {suffix}"
        if not os.path.isfile(path):
            return "is not there"
        try:
            found = self.states.get(canonical(path), "another store")
            named = external_names(path)
        except (Failure, sqlite3.Error) as error:
            return f"is broken: {error}"
        for name in named:
            file = os.path.join(support(path), name)
            if not os.path.isfile(file):
                return f"{found}, without its external file {name}"
            if digest(file) != self.external[name]:
                return f"{found}, with a changed external file {name}"
        return found


def kept(store):
    folder, name = os.path.split(store)
    return [os.path.join(folder, n) for n in sorted(os.listdir(folder))
            if re.fullmatch(re.escape(name) + r"\.before-\d{8}-\d{6}(\.\d+)?", n)]


def left_over(store, way, also=()):
    """What lies beside a store after a success and does not belong there."""
    folder, name = os.path.split(store)
    known = {name, ".Shop_SUPPORT", *also}
    if is_beside(way):
        known |= {"New.sqlite", ".New_SUPPORT"}
        if KEEP_RECORD in WAYS[way][1]:
            known |= {"New.sqlite.godwit-status.json"}
    elif keeps(way):
        known |= {os.path.basename(p) for p in kept(store)} | {".Shop.sqlite_SUPPORT",
                                                              f"{name}.godwit-kept.json"}
    return [f"left over: {n}" for n in sorted(set(os.listdir(folder)) - known)]


def judge_ending(status, text, do):
    """What is wrong with how a harmed run ended."""
    if do == "kill":
        return [] if status in (0, -signal.SIGKILL) else [f"exit {status}: {text.strip()[-300:]}"]
    out = []
    if status < 0 or status in (64, 65, 70, 78):
        out.append(f"exit {status}: {text.strip()[-300:]}")
    for word in ODD_WORDS + (("ermission",) if do in (NO_SPACE, "full") else ()):
        # SQLite does not say why it cannot open a file, so the sentence names both.
        if word in text and not (word == "ermission" and "the room on its disk" in text):
            out.append(f"says {word!r}: {text.strip()[-300:]}")
    return out


def judge_state(lab, store, way, status):
    """What is wrong with what a harmed run left."""
    found, killed = lab.state(store), status == -signal.SIGKILL
    if is_beside(way):
        out = [] if found == "old" and digest(store) == lab.bytes else [f"the source: {found}"]
        result = os.path.join(os.path.dirname(store), "New.sqlite")
        if status == 0 and lab.state(result) != "new":
            out.append(f"status 0, and the output {lab.state(result)}")
        if os.path.exists(result) and lab.state(result) != "new":
            out.append(f"the output: {lab.state(result)}")
        return out
    out = [] if found in ("old", "new") else [f"the store: {found}"]
    if status == 0 and found != "new":
        out.append(f"status 0, and the store: {found}")
    if status != 0 and not killed and found == "new":
        out.append(f"status {status} after the new store took its place")
    if found == "old" and digest(store) != lab.bytes:
        out.append("the old store was written")
    states = [lab.state(p) for p in kept(store)]
    if keeps(way) and found == "new" and states != ["old"]:
        out.append(f"the old store is not kept: {states}")
    if found == "old" and not killed and states:
        out.append(f"kept stores beside the old one: {states}")
    if "new" in states:
        out.append("the new store has the name of the old one")
    return out


def judge_end(lab, store, way):
    """What is wrong after the run that nothing harmed."""
    result = store
    if is_beside(way):
        result = os.path.join(os.path.dirname(store), "New.sqlite")
    found = lab.state(result)
    out = [] if found == "new" else [f"in the end the result: {found}"]
    if is_beside(way) and digest(store) != lab.bytes:
        out.append("in the end the source was written")
    if keeps(way):
        states = [lab.state(p) for p in kept(store)]
        if states != ["old"]:
            out.append(f"in the end the old store is not kept: {states}")
        elif digest(kept(store)[0]) != lab.bytes:
            out.append("in the end the old store was written")
    if WAYS[way][0] == "gone":
        unnamed = set(os.listdir(support(store))) - external_names(store)
        out += [f"no store names {n}" for n in sorted(unnamed)]
    return out + [f"in the end {line}" for line in left_over(store, way)]


def is_forgotten(lab, store, way):
    """Whether all is done, and neither a record nor what is left of the work folder tells it: then
    the same command finds a file in its way, as it does after any run without a record."""
    if not is_beside(way) or KEEP_RECORD in WAYS[way][1]:
        return False
    output = os.path.join(os.path.dirname(store), "New.sqlite")
    left = set(os.listdir(output + ".godwit")) if os.path.isdir(output + ".godwit") else set()
    return lab.state(output) == "new" and left <= {"godwit.json", "godwit.lock"}


def roll_back(lab, store):
    done = lab.tool.call("rollback", store)
    if done.returncode:
        return [f"rollback: exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    out = [] if digest(store) == lab.bytes else ["rollback does not give the old store back"]
    found = lab.state(store)
    return out + ([] if found == "old" else [f"after rollback the store: {found}"])


def check(lab, way, number, do, of, folder):
    store = lab.copy(folder)
    place, command = os.path.dirname(store), lab.command(store, way)
    environment = lab.calls.environment(place, at=number, do=do, of=of)
    done = lab.tool.call(*command, environment=environment)
    harmed = lab.calls.counted(environment)[1]
    out = judge_ending(done.returncode, done.stderr, do) if harmed else []
    out += judge_state(lab, store, way, done.returncode)
    if done.returncode == 0 and "note:" not in done.stderr:
        out += left_over(store, way)
    if is_beside(way) and done.returncode == 0:
        return out
    again = lab.tool.call(*command)
    if again.returncode == EXISTS and do == "kill" and is_forgotten(lab, store, way):
        lab.tool.run("discard", os.path.join(place, "New.sqlite"))
    elif again.returncode:
        return out + [f"the next run: exit {again.returncode}: {again.stderr.strip()[-300:]}"]
    out += judge_end(lab, store, way)
    return out + (roll_back(lab, store) if keeps(way) and not out else [])


def check_back(lab, verb, number, do, folder):
    """A rollback, or a finish after it, of which one call is harmed, and which is then repeated."""
    store = lab.copy(folder)
    place = os.path.dirname(store)
    lab.tool.run(*lab.command(store, "in place"))
    if verb == "finish":
        lab.tool.run("rollback", store)
    environment = lab.calls.environment(place, at=number, do=do)
    done = lab.tool.call(verb, store, environment=environment)
    harmed = lab.calls.counted(environment)[1]
    out = judge_ending(done.returncode, done.stderr, do) if harmed else []
    found = lab.state(store)
    if found not in (("old", "new") if verb == "rollback" else ("old",)):
        out.append(f"the store: {found}")
    if verb == "rollback":
        names = sorted(n for n in os.listdir(place) if re.search(r"\.(before|after)-[0-9-]+$", n))
        states = [lab.state(os.path.join(place, n)) for n in names]
        if {"old", "new"} - {found, *states}:
            out.append(f"a store is lost: {found}, {states}")
        if done.returncode == 0 and found != "old":
            out.append(f"status 0, and the store: {found}")
        if found == "new":
            lab.tool.run("rollback", store)
    for _ in range(2):
        lab.tool.run("finish", store)
    lab.tool.run("discard", store)
    if digest(store) != lab.bytes or lab.state(store) != "old":
        out.append("in the end the store is not the old one")
    out += [f"no store names {n}" for n in set(os.listdir(support(store))) - set(lab.external)]
    return out + [f"in the end {line}" for line in left_over(store, "discarding")]


def calls_back(lab, verb):
    """How many calls a rollback or a finish makes."""
    with tempfile.TemporaryDirectory(dir=lab.calls.folder) as folder:
        store = lab.copy(folder)
        lab.tool.run(*lab.command(store, "in place"))
        if verb == "finish":
            lab.tool.run("rollback", store)
        environment = lab.calls.environment(os.path.dirname(store))
        lab.tool.run(verb, store, environment=environment)
        return lab.calls.counted(environment)[0]


def elsewhere(lab, way, without, folder):
    """A file system without renames with conditions (NFS, FUSE), and without second names."""
    store = lab.copy(folder)
    environment = lab.calls.environment(os.path.dirname(store), without=without)
    done = lab.tool.call(*lab.command(store, way), environment=environment)
    lab.calls.counted(environment)
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    out = judge_state(lab, store, way, 0) + judge_end(lab, store, way)
    return out + (roll_back(lab, store) if keeps(way) and not out else [])


def the_judge(lab, folder):
    """The judge finds what it is there to find."""
    store, out = lab.copy(folder), []
    if judge_state(lab, store, "in place", 74):
        out.append("the judge takes a store that nothing happened to for a harmed one")
    name = sorted(lab.external)[0]
    plants = {
        "an external file is gone": lambda: os.remove(os.path.join(support(store), name)),
        "a page is zeroed": lambda: overwrite(store, 3 * 4096, bytes(4096)),
        "status 0 and nothing done": None,
        "a copy under the kept name": lambda: os.link(store, store + ".before-20200101-000000"),
    }
    for what, plant in plants.items():
        os.system(f"rm -rf '{os.path.dirname(store)}'")
        lab.copy(folder)
        if plant:
            plant()
        if not judge_state(lab, store, "in place", 74 if plant else 0):
            out.append(f"the judge does not find: {what}")
    if not left_over(store + "x", "in place") or not judge_ending(70, "", "full"):
        out.append("the judge finds no left-over, or takes any ending")
    if not judge_ending(74, "check permissions", "full"):
        out.append("the judge takes any sentence")
    return out


def overwrite(path, offset, content):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(content)


def cases_of(lab, way, sample):
    """Every call of the coordinator but those that write pages, and a sample of all others."""
    with tempfile.TemporaryDirectory(dir=lab.calls.folder) as folder:
        calls = lab.calls_of(way, folder)
    chance, out = random.Random(len(calls)), []
    for of in ("coordinator", "worker"):
        own = [c for c in calls if c[1] == of]
        for index, (_, _, call, path) in enumerate(own, 1):
            is_bulk = call in ("pwrite", "writev") or of == "worker"
            for do in DEEDS:
                if do == "short" and call not in ("write", "pwrite", "copy_file_range"):
                    continue
                out.append((is_bulk, way, index, do, of, f"{call} {os.path.basename(path)}"))
    few = [c for c in out if not c[0]]
    bulk = [c for c in out if c[0]]
    if sample:
        few = chance.sample(few, min(sample, len(few)))
        bulk = chance.sample(bulk, min(max(1, sample // 4), len(bulk)))
    return few + bulk


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--sample", type=int, default=10, help="calls of each way; 0 for all")
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        calls = Calls(folder)
        lab = Lab(Tool(options.godwit, timeout=120), folder, calls)
        cases = [("the judge", lambda f: the_judge(lab, f))]
        for way in WAYS:
            cases += [(f"{way}, without {without}",
                       lambda f, w=way, o=without: elsewhere(lab, w, o, f))
                      for without in ("flags", "flags and links")]
            cases += [(f"{way}: {do} at call {n} of the {of} ({what})",
                       lambda f, w=way, n=n, d=do, o=of: check(lab, w, n, d, o, f))
                      for _, way, n, do, of, what in cases_of(lab, way, options.sample)]
        for verb in ("rollback", "finish"):
            every = [(n, d) for n in range(1, calls_back(lab, verb) + 1)
                     for d in ("kill", NO_SPACE, IO_ERROR)]
            chance = random.Random(len(every))
            few = chance.sample(every, options.sample) if options.sample else every
            cases += [(f"{verb}: {d} at call {n}",
                       lambda f, v=verb, n=n, d=d: check_back(lab, v, n, d, f)) for n, d in few]
        run_cases(options, [c for c in cases if options.only in c[0]], "faults")


if __name__ == "__main__":
    main()
