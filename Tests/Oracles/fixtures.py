#!/usr/bin/env python3
"""Folders of stores in every state, checked by one command: each is told in the table, in the JSON
and in the file of JUnit alike, and the exit status is that of the worst.

Planted are stores that cannot be migrated, damaged ones, losses, files that are none, names that
terminals and XML obey, pipes, loops of links; and what the judge itself has to notice. The stores
stay as they are to the byte, and nothing is left among temporary files.

usage: fixtures.py --godwit P [--corpus D] [--scratch S]
"""
import copy
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

from fixture_grounds import ATTRIBUTE, ENTITY, Lab, PipeWatch, fill, state
from json_schema import Schema
from run import Failure, Tool, parser, run_cases

SCHEMA = Schema("check")
OK, NEEDED, USAGE, DAMAGED, NOT_FOUND, TAKEN, INTERRUPTED, IMPOSSIBLE = 0, 1, 64, 65, 66, 73, 75, 78


def judge(expected, status, reports):
    """What is wrong with three reports; `expected` has (exit status, what is said) by path."""
    table, document, root = reports
    out = [f"the JSON: {fault}" for fault in SCHEMA.faults(document)]
    if (table.returncode, document["exitStatus"]) != (status, status):
        out.append(f"exit {table.returncode}, {document['exitStatus']} in JSON, expected {status}")
    for text in (table.stdout, table.stderr):
        bad = sorted({c for c in text if c != "\n" and (ord(c) < 32 or ord(c) == 0x202e)})
        out += [f"a terminal would obey {bad}"] if bad else []
    found = {f["store"]: f for f in document["stores"]}
    out += [f"{p} is missing in the JSON" for p in expected if p not in found]
    out += [f"{p} is told and not expected" for p in found if p not in expected]
    cases = {c.get("name"): c for c in root.iter("testcase")}
    rows = table.stdout.split("\n")
    for path, (own, words) in expected.items():
        if path in found:
            out += judge_store(path, own, words, (found[path], cases, rows))
    return out + judge_sums(document, root, cases)


def judge_store(path, own, words, told):
    finding, cases, rows = told
    shown, out = escaped(path), []
    if finding["exitStatus"] != own or finding["isPossible"] != (own in (OK, NEEDED)):
        out.append(f"{shown}: {finding['exitStatus']}, expected {own}")
    case = cases.get(shown.replace("\uffff", "\\u{FFFF}"))
    start = next((n for n, r in enumerate(rows) if r.startswith(shown + "  ")), None)
    if case is None or start is None:
        return [f"{shown} is missing in {'the table' if case is not None else 'JUnit'}"]
    problem = [e.tag for e in case if e.tag in ("failure", "error")]
    if problem != (["failure" if own in (NEEDED, IMPOSSIBLE) else "error"] if own else []):
        out.append(f"{shown}: {problem} in JUnit")
    below = rows[start + 1:]
    length = next((n for n, r in enumerate(below) if not r.startswith("  ")), len(below))
    places = {"JUnit": " ".join(case.itertext()), "the table": "\n".join(below[:length])}
    if own:
        places["the JSON"] = " ".join(finding["reasons"])
    return out + [f"{shown}: {name} does not say {word!r}: {text[:300]!r}"
                  for name, text in places.items() for word in words if word not in text]


def judge_sums(document, root, cases):
    counts = {k: sum(len(list(c.iter(k))) for c in cases.values()) for k in ("failure", "error")}
    out = [f"JUnit counts {e.attrib}, and has {len(cases)} {counts}"
           for e in [root, *root.iter("testsuite")]
           if (int(e.get("tests")), int(e.get("failures")), int(e.get("errors"))) != (
               len(cases), counts["failure"], counts["error"])]
    sums = document["summary"]
    if sums["stores"] != len(document["stores"]) or sums["stores"] != sum(
            sums[k] for k in ("current", "migratable", "impossible", "failed")):
        out.append(f"the sums are {sums}")
    return out


def escaped(text):
    return "".join(
        {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c, f"\\u{{{ord(c):X}}}")
        if ord(c) < 32 or ord(c) == 0x202e else c for c in text)


def folder_of_all(tool, options, folder):
    lab = Lab(tool, folder)
    expected, passed = fill(lab)
    before = state(lab.stores)
    with PipeWatch(lab.path("pipe.sqlite")) as watch:
        reports = lab.reports(*options)
    out = judge(expected, IMPOSSIBLE, reports)
    told = {p["path"]: p["reason"] for p in reports[1]["passedOver"]}
    out += [f"passed over: {p}: {told.get(p)}, expected {passed.get(p)}"
            for p in sorted(told.keys() | passed.keys()) if told.get(p) != passed.get(p)]
    out += [] if reports[0].stdout.count("passed over: ") == len(set(passed.values())) else [
        f"the table says of what was passed over: {reports[0].stdout[-900:]}"]
    tried = {f["store"] for f in reports[1]["stores"] if f.get("trial", {}).get("isCompared")}
    wanted = {p for p, (s, words) in expected.items() if s == OK and words and "--migrate" in
              options and "--no-compare" not in options}
    out += [f"migrated and compared: {sorted(tried)}"] if tried != wanted else []
    out += ["a pipe was opened"] if watch.opened else []
    out += [f"changed: {p}" for p in sorted(before.keys() | state(lab.stores).keys())
            if before.get(p) != state(lab.stores).get(p)]
    out += [f"left behind: {n}" for n in os.listdir(lab.temporary)]
    return out + judge_itself(expected, reports)


def judge_itself(expected, reports):
    """Plants faults in reports, and complains of each that the judge does not see."""
    table, document, root = reports
    broken, out = [], []
    for change in (lambda d: d["stores"].pop(), lambda d: d.update(exitStatus=0),
                   lambda d: d["stores"][0].update(isPossible=False), lambda d: d.pop("version"),
                   lambda d: d["summary"].update(failed=0)):
        other = copy.deepcopy(document)
        change(other)
        broken.append((table, other, root))
    for tag in ("failure", "error", "testcase"):
        other = copy.deepcopy(root)
        parent = next(e for e in other.iter() if any(c.tag == tag for c in e))
        parent.remove(next(c for c in parent if c.tag == tag))
        broken.append((table, document, other))
    for old, new in (("Must.two", "it"), ("loses Tag", "loses it"), ("a-loss", "b-loss")):
        broken.append((subprocess.CompletedProcess(
            [], table.returncode, table.stdout.replace(old, new), table.stderr), document, root))
    for n, planted in enumerate(broken):
        if not judge(expected, IMPOSSIBLE, planted):
            out.append(f"self-test: planted fault {n} is not noticed")
    return out


# MARK: exit statuses

def statuses(tool, folder):
    lab = Lab(tool, folder)
    good, bad = lab.make("1", "good", "A.sqlite"), lab.make("2", "bad", "B.sqlite")
    lab.make("3", "new", "C.sqlite")
    os.makedirs(lab.path("none", "within"))
    lab.write(b"no store", "none", "within", "notes.txt")
    lab.write(b"no store", "text", "D.sqlite")
    foreign, xml = os.path.join(folder, "foreign.xml"), os.path.join(folder, "new.xml")
    with open(foreign, "w") as file:
        file.write('<?xml version="1.0"?><testsuites name="mine"/>')
    os.symlink("nowhere", os.path.join(folder, "nowhere.xml"))
    p, gone = lab.path, os.path.join(folder, "Gone")
    cases = [
        (OK, [p("good")]), (OK, [p("good"), "--migrate"]), (OK, [p("new"), "--migrate"]),
        (NEEDED, [p("good"), p("new"), "--exit-status"]), (OK, [p("new"), "--exit-status"]),
        (NEEDED, [p("good"), "--exit-status", "--migrate"]),
        (IMPOSSIBLE, [p("good"), "--fail-on-loss"]),
        (OK, [p("good"), "--fail-on-loss", "--allow-loss=Tag", "--allow-loss=Note.pages"]),
        (IMPOSSIBLE, [p("good"), p("bad")]), (IMPOSSIBLE, [p("bad"), "--migrate"]),
        (NOT_FOUND, [p("none")]), (NOT_FOUND, [p("good"), p("none")]),
        (NOT_FOUND, [good, gone]), (NOT_FOUND, [gone, "--migrate"]), (DAMAGED, [p("text")]),
        (IMPOSSIBLE, [p("text"), bad, gone]), (USAGE, [p("good"), "--no-compare"]),
        (OK, [p("good"), "--junit", xml]), (OK, [p("good"), "--junit", xml]),
        (TAKEN, [p("good"), "--junit", foreign]), (TAKEN, [p("good"), "--junit", good]),
        (TAKEN, [p("good"), "--junit", good + "-wal"]), (TAKEN, [p("good"), "--junit", folder]),
        (TAKEN, [p("good"), "--junit", os.path.join(gone, "check.xml")]),
        (TAKEN, [p("good"), "--junit", os.path.join(folder, "nowhere.xml")]),
    ]
    before, out = state(lab.stores), []
    for status, arguments in cases:
        for more in ((), ("--json",)):
            done = lab.call(*arguments, *more)
            if done.returncode != status:
                out.append(f"{arguments} {more}: exit {done.returncode}, expected {status}: "
                           f"{(done.stderr or done.stdout)[-300:]}")
    lab.temporary = gone
    for status, options in ((TAKEN, ("--migrate",)), (OK, ())):
        done = lab.call(p("good"), *options)
        if done.returncode != status:
            out.append(f"without a temporary folder, {options}: exit {done.returncode}")
    out += [] if state(lab.stores) == before else ["the folder of stores is not as it was"]
    with open(foreign) as file:
        out += [] if "mine" in file.read() else ["a file that is none of JUnit was replaced"]
    out += [f"left behind: {n}" for n in os.listdir(folder) if n.endswith(".tmp")]
    return out


# MARK: ends before the end

def started(lab, count, xml):
    for n in range(count):
        shutil.copy(lab.path("0.sqlite"), lab.path(f"{n}.sqlite")) if n else lab.make(
            "1", "0.sqlite", rows=200)
    return subprocess.Popen(
        [lab.tool.path, "check", lab.stores, "--to", lab.model, "--migrate", "--junit", xml],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": lab.temporary, "GODWIT_SLOW": "300"}, start_new_session=True)


def wait_for_work(lab, process):
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if glob.glob(os.path.join(lab.temporary, "godwit-*", "*.godwit", "shard*")):
            return
        time.sleep(0.01)
    raise Failure("the migration of the first store was not seen")


def interrupted(tool, number, folder):
    """A signal ends the check soon; what was not checked is told, and nothing is left."""
    lab, xml = Lab(tool, folder), os.path.join(folder, "check.xml")
    process = started(lab, 5, xml)
    wait_for_work(lab, process)
    before, start = state(lab.stores), time.monotonic()
    process.send_signal(number)
    table = process.communicate(timeout=60)[0].decode()
    took, out = time.monotonic() - start, []
    if process.returncode != INTERRUPTED:
        out.append(f"exit {process.returncode}, expected {INTERRUPTED}")
    out += [f"took {took:.1f} s to stop"] if took > 20 else []
    root = ElementTree.parse(xml).getroot()
    if len(list(root.iter("testcase"))) != 5 or len(list(root.iter("error"))) != 5:
        out.append("the file of JUnit does not tell all stores as not checked")
    if table.count("not checked, since the check was interrupted") != 5:
        out.append(f"the table says {table!r}")
    out += [] if state(lab.stores) == before else ["the folder of stores is not as it was"]
    return out + [f"left behind: {n}" for n in os.listdir(lab.temporary)]


def killed(tool, folder):
    """What a kill leaves lies among temporary files alone, and the next check is as any other."""
    lab, xml = Lab(tool, folder), os.path.join(folder, "check.xml")
    process = started(lab, 2, xml)
    wait_for_work(lab, process)
    before = state(lab.stores)
    process.kill()
    process.communicate()
    out = [f"written by a killed check: {xml}"] if os.path.exists(xml) else []
    out += [] if state(lab.stores) == before else ["the folder of stores is not as it was"]
    out += [f"left behind: {n}" for n in os.listdir(lab.temporary) if not n.startswith("godwit-")]
    done = lab.call(lab.stores, "--migrate")
    return out + ([] if done.returncode == OK else [f"exit {done.returncode}: {done.stderr}"])


# MARK: many versions

def read_once(tool, folder):
    """Eight stores cost far less than eight times one: models are read once."""
    entities = [ENTITY.format(f"E{n}", "".join(ATTRIBUTE.format(f"a{m}") for m in range(20)))
                for n in range(40)]
    versions = {str(n): "".join(entities) + ENTITY.format(f"Only{n}", ATTRIBUTE.format("a"))
                for n in range(60)}
    lab = Lab(tool, folder, versions, current="59")
    lab.make("0", "0.sqlite", rows=1)
    for n in range(1, 8):
        shutil.copy(lab.path("0.sqlite"), lab.path(f"{n}.sqlite"))

    def seconds(*places):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = lab.call(*places, "--json")
        if done.returncode:
            raise Failure(f"exit {done.returncode}: {done.stderr}")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    one, all_of_them = seconds(lab.path("0.sqlite")), seconds(lab.stores)
    return [] if all_of_them < 4 * one else [
        f"eight stores take {all_of_them:.2f} s of processor time, one {one:.2f} s"]


# MARK: real stores

def real(tool, corpus, folder):
    """Real stores of three apps, each against its own model, by one command for each."""
    out = []
    for name, model, places, wanted in (
            ("wire", "wire/*.xcdatamodeld", ["wire/store2-26-0.sqlite", "wire/store2-76-0.sqlite",
                                             "wire/store2-101-0.sqlite"], 2),
            ("bookmarks", "bookmarks/*.xcdatamodeld", ["bookmarks"], 3)):
        found = glob.glob(os.path.join(corpus, model))
        if len(found) != 1:
            raise Failure(f"{name}: the models are {found}")
        paths = [os.path.join(corpus, p) for p in places]
        done = tool.call("check", *paths, "--to", found[0], "--migrate", "--json")
        told = json.loads(done.stdout)
        faults = SCHEMA.faults(told)
        good = [s["store"] for s in told["stores"] if s.get("trial", {}).get("isCompared")]
        if done.returncode or faults or len(good) != wanted:
            out.append(f"{name}: exit {done.returncode}, compared {good}, {faults}: "
                       f"{[s['reasons'] for s in told['stores'] if s['reasons']]}")
    return out


def policies(tool, corpus, folder):
    """A mapping model with a policy: refused by name, and made by an executable that has it."""
    here = os.path.join(corpus, "samplemodel")
    target = glob.glob(os.path.join(here, "**", "*.xcdatamodeld"), recursive=True)[0]
    version = sorted(glob.glob(os.path.join(target, "*3.xcdatamodel")))[0]
    mapping = glob.glob(os.path.join(here, "**", "*.xcmappingmodel"), recursive=True)[0]
    store = glob.glob(os.path.join(here, "**", "*V2.sqlite"), recursive=True)[0]
    call = ("check", store, "--to", version, "--mapping", mapping, "--migrate", "--json")
    out, done = [], tool.call(*call)
    if done.returncode != IMPOSSIBLE or "V2to3MakerPolicy" not in done.stdout:
        out.append(f"without the policy: exit {done.returncode}: {done.stdout[-400:]}")
    other = os.path.join(os.path.dirname(tool.path), "PolicyTool")
    if os.path.exists(other):
        done = Tool(other).call(*call, "--allow-loss")
        told = json.loads(done.stdout)
        if done.returncode or not told["stores"][0].get("trial", {}).get("isCompared"):
            out.append(f"with the policy: exit {done.returncode}: {done.stdout[-400:]}")
    return out


def main():
    options = parser(__doc__.split("\n")[0], needs_corpus=False).parse_args()
    tool = Tool(options.godwit)
    cases = [
        ("a folder of all", lambda f: folder_of_all(tool, (), f)),
        ("a folder of all, migrated", lambda f: folder_of_all(tool, ("--migrate",), f)),
        ("a folder of all, migrated and not compared",
         lambda f: folder_of_all(tool, ("--migrate", "--no-compare"), f)),
        ("exit statuses", lambda f: statuses(tool, f)),
        ("SIGINT", lambda f: interrupted(tool, signal.SIGINT, f)),
        ("SIGTERM", lambda f: interrupted(tool, signal.SIGTERM, f)),
        ("a kill", lambda f: killed(tool, f)),
        ("many versions", lambda f: read_once(tool, f)),
    ]
    if options.corpus and os.path.isdir(options.corpus):
        corpus = os.path.abspath(options.corpus)
        cases += [("real stores", lambda f: real(tool, corpus, f)),
                  ("policies", lambda f: policies(tool, corpus, f))]
    run_cases(options, cases, "folders")


if __name__ == "__main__":
    main()
