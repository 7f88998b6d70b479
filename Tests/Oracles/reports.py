#!/usr/bin/env python3
"""Reports of migrations of every kind, and pictures of plans: what JSON, pages and pictures say is
what the stores hold; pages are opened in a real browser, narrow and wide, in the light and in the
dark; names that would be markup are none. What would be wrong is planted, and has to be found.

usage: reports.py --godwit P [--scratch S] [--pictures FOLDER]
"""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import xml.etree.ElementTree as trees
from functools import partial

import browser
from report_judges import (
    Outline, judge_counts, judge_events, judge_page, judge_reasons, judge_times)
from run import Failure, Tool, made, parser, require_report, run_cases

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
MAPPING = "the inferred mapping model"
ROWS = 3000
KINDS = {
    "pages": ("--engine", "pages"),
    "sql in full": ("--engine", "sql", "--verify", "full"),
    "objects": ("--engine", "objects", "--mapping", MAPPING),
    "stages": ("--progressive", "--stepwise"),
}
HOSTILE = "a\"b'<script>alert(1)<b onload=x>&\u0301.sqlite"


class Ground:
    """A store of the sample model."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.store = os.path.join(folder, "Library.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--seed", 3,
                 "--output", self.store)
        self.mapping = os.path.join(folder, "mapping.json")
        tool.run("map", "--from", os.path.join(LIBRARY, "Library 1.xcdatamodel"), "--to", LIBRARY,
                 "--output", self.mapping)

    def copy(self, folder, name="Library.sqlite"):
        path = os.path.join(folder, name)
        shutil.copy(self.store, path)
        shutil.copytree(os.path.join(self.folder, ".Library_SUPPORT"),
                        os.path.join(folder, f".{os.path.splitext(name)[0]}_SUPPORT"))
        return path


def migrated(ground, options, folder, name="Library.sqlite", pictures=None):
    """A migration with both reports, and everything that is wrong with them."""
    store = ground.copy(folder, name)
    result, told, page = (os.path.join(folder, n) for n in ("N.sqlite", "r.json", "r.html"))
    options = [ground.mapping if word == MAPPING else word for word in options]
    done = ground.tool.run(
        "migrate", store, "--to", LIBRARY, "--output", result, "--workers", 2, "--report", told,
        "--report", page, *options, environment={"GODWIT_SLOW": "20"})
    with open(told, encoding="utf-8") as file:
        report = json.load(file)
    out = judge_times(report) + judge_counts(report, result)
    names = [e["entity"] for a in report["accounts"] for e in a["entities"]]
    out += judge_page(page, [os.path.realpath(store), *names], pictures)
    for entity in report["accounts"][0]["entities"]:
        if entity["rowsIn"] and not re.search(rf"{entity['entity']}.*\b{entity['rowsIn']}\b",
                                              done.stdout):
            out.append(f"standard output does not tell {entity}: {done.stdout}")
    if "rows/s" not in done.stdout or "of memory" not in done.stdout:
        out.append(f"standard output has no summary: {done.stdout}")
    return out


def kind(ground, name, pictures, folder):
    return migrated(ground, KINDS[name], folder,
                    pictures=pictures if name == "pages" else None)


def hostile(ground, folder):
    """A name that would be markup, and a pause, both in the page."""
    return migrated(ground, KINDS["sql in full"], folder, name=HOSTILE)


def refused(ground, folder):
    """What is refused has a report that says why, in both forms."""
    store = ground.copy(folder)
    told, page = (os.path.join(folder, n) for n in ("r.json", "r.html"))
    for _ in range(2):
        done = ground.tool.run("migrate", store, "--to", store + "x", "--output",
                               os.path.join(folder, "N.sqlite"), "--report", told,
                               "--report", page, expect=66)
    with open(told, encoding="utf-8") as file:
        sentences = json.load(file)["failure"]["sentences"]
    out = judge_page(page, sentences)
    if not all(sentence in done.stderr for sentence in sentences):
        out.append(f"{sentences} were reported, {done.stderr} said")
    return out


def reasons(ground, folder):
    """Refusals are told one by one, each with its place, count, keys, code and advice."""
    store = ground.copy(folder)
    strict = shutil.copytree(LIBRARY, os.path.join(folder, "Strict.xcdatamodeld"))
    contents = os.path.join(strict, "Library 3.xcdatamodel", "contents")
    with open(contents, encoding="utf-8") as file:
        text = file.read()
    for name in ("born", "isbn", "rating"):
        text = re.sub(rf'(<attribute name="{name}" [^>]*?) optional="YES"', r"\1", text)
    with open(contents, "w", encoding="utf-8") as file:
        file.write(text)
    told, page = (os.path.join(folder, n) for n in ("r.json", "r.html"))
    ground.tool.run("migrate", store, "--to", strict, "--report", told, "--report", page, expect=78)
    error = json.loads(ground.tool.run("plan", store, "--to", strict, "--json", expect=78).stdout)
    error = error["error"]
    with open(told, encoding="utf-8") as file:
        report = json.load(file)
    with open(page, encoding="utf-8") as file:
        markup = file.read()
    # The page ends the sentence that announces the reasons.
    sentences = [s.removesuffix(":") for s in error["sentences"]]
    out = judge_reasons(report, error, markup) + judge_page(page, sentences)
    found = {(r.get("entity"), r.get("property")) for r in error["reasons"] if r["keys"]}
    if len(found) < 2 or not all(r.get("advice") for r in error["reasons"]):
        out.append(f"the reasons are {error['reasons']}")
    if "timeline" in report:
        out.append("no worker began, and the report has a timeline")
    for what, old, new in (("a lost row", error["reasons"][0]["cause"], "?"),
                           ("other keys", ", ".join(map(str, error["reasons"][0]["keys"])), "?")):
        if not judge_reasons(report, error, markup.replace(old, new)):
            out.append(f"nothing was found: {what}")
    report["failure"]["reasons"].pop()
    if not judge_reasons(report, error, markup):
        out.append("nothing was found: a lost reason")
    return out


def ended(ground, folder):
    """What fails or is interrupted once workers are at work has its timeline until then."""
    store, mapping = ground.copy(folder), os.path.join(folder, "casts.json")
    with open(ground.mapping, encoding="utf-8") as file:
        text = file.read()
    refused_cast = json.dumps('date(CAST($source.lentOn, "NSString"), "yyyy-MM-dd")')
    with open(mapping, "w", encoding="utf-8") as file:
        file.write(text.replace('"$source.lentOn"', refused_cast))
    out = []
    for name, options, status, environment in (
            ("failed", ("--mapping", mapping), 78, {}),
            ("interrupted", ("--engine", "pages", "--range-rows", 400), 75, None)):
        result, told, page = (os.path.join(folder, name + n) for n in (".sqlite", ".json", ".html"))
        command = ("migrate", store, "--to", LIBRARY, "--output", result, "--workers", 2,
                   "--report", told, "--report", page, "--allow-loss", *options)
        if environment is None:
            process = ground.tool.start(*command, environment={"GODWIT_SLOW": "300"})
            for _ in range(600):
                told_now = ground.tool.call("status", result, "--json")
                parts = json.loads(told_now.stdout).get("parts", [])
                if any(part["state"] == "running" for part in parts):
                    break
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            found = process.wait(60)
        else:
            found = ground.tool.call(*command, environment=environment).returncode
        if found != status:
            out.append(f"{name}: exit {found}, expected {status}")
            continue
        require_report(told)
        with open(told, encoding="utf-8") as file:
            report = json.load(file)
        if "timeline" not in report or not report["timeline"]["workOrders"]:
            out.append(f"{name}: workers began, and the report has no timeline of them")
            continue
        out += [f"{name}: {line}" for line in judge_times(report)]
        orders = report["timeline"]["workOrders"]
        if all(order["isDone"] for order in orders):
            out.append(f"{name}: all work orders are done: {orders}")
        if name == "interrupted" and not any(order["to"] > order["from"] for order in orders):
            out.append(f"{name}: no work order took any time: {orders}")
        out += [f"{name}: {line}" for line in judge_page(page, ["Time", "worker 1"])]
        first = {**report["timeline"], "phases": report["timeline"]["phases"][:1]}
        if not judge_times({**report, "timeline": first}):
            out.append(f"{name}: nothing was found: lost phases")
    return out


def resumed(ground, folder):
    """A run that goes on says what it took over."""
    store = ground.copy(folder)
    result, told = os.path.join(folder, "N.sqlite"), os.path.join(folder, "r.json")
    command = ("migrate", store, "--to", LIBRARY, "--output", result, "--workers", 2, "--engine",
               "pages", "--range-rows", 400, "--report", told)
    ground.tool.call(*command, environment={"GODWIT_FAULT": "coordinator:migrating"})
    done = ground.tool.run(*command)
    with open(told, encoding="utf-8") as file:
        report = json.load(file)
    orders = report["workOrders"]
    found = {o["number"] for o in orders if o["wasResumed"]}
    out = judge_counts(report, result) + judge_times(report)
    if not found or not report["resumed"]:
        out.append(f"a work order was there already, told is {orders}")
    if {w["workOrder"] for w in report["timeline"]["workOrders"]} & found:
        out.append("a work order was done twice")
    if f"taken over: {len(found)} of {len(orders)} work orders" not in done.stdout:
        out.append(f"standard output does not tell what was taken over: {done.stdout}")
    return out


def graphs(ground, folder):
    """A plan as a picture and for Graphviz: the same tables and references, nothing else's file."""
    drawn, text = (os.path.join(folder, n) for n in ("plan.svg", "plan.dot"))
    plan = ("plan", ground.store, "--to", LIBRARY, "--graph")
    out = []
    for path in (drawn, text, drawn, text):
        ground.tool.run(*plan, path)
    tree = trees.parse(drawn)
    titles = [t.text for t in tree.iter("{http://www.w3.org/2000/svg}title")]
    with open(text, encoding="utf-8") as file:
        dot = file.read()
    nodes = re.findall(r'^    "(\w+)" \[', dot, re.M)
    edges = re.findall(r'^  "\w+" -- "\w+" \[label="([^"]+)"', dot, re.M)
    db = sqlite3.connect(f"file:{ground.store}?mode=ro", uri=True)
    joins = {name for name, in db.execute(
        "select name from sqlite_schema where name glob 'Z_1*' and type = 'table'")}
    db.close()
    if not {"ZAUTHOR", "ZLOAN", "ZREADER", "ZSHELF"} <= set(nodes) or not joins & set(nodes):
        out.append(f"the graph has the tables {nodes}")
    for name in nodes + edges:
        if not any(name in title for title in titles):
            out.append(f"the picture lacks {name}")
    if len(edges) != 5:
        out.append(f"the graph has the references {edges}, five are there")
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", text], check=True, stdout=subprocess.DEVNULL)
    foreign = os.path.join(folder, "mine.svg")
    with open(foreign, "w", encoding="utf-8") as file:
        file.write("<svg>mine</svg>")
    before = made(foreign)
    ground.tool.run(*plan, foreign, expect=73)
    ground.tool.run(*plan, os.path.join(folder, "plan.png"), expect=64)
    ground.tool.run("plan", ground.store, "--to", ground.store, "--graph", drawn, expect=64)
    if made(foreign) != before:
        out.append("a picture of somebody else's was replaced")
    return out


def events(ground, folder):
    """What happens, as events; a refusal and a worker that is killed are told as well."""
    store, out = ground.copy(folder), []
    command = ("migrate", store, "--to", LIBRARY, "--log-format", "json", "--output")
    new, slow = (lambda n: os.path.join(folder, f"{n}.sqlite")), {"GODWIT_SLOW": "20"}
    plain = ("--engine", "pages", "--range-rows", 400)
    for name, options, environment, status in (
            ("pages", plain, slow, 0), ("stages", KINDS["stages"], slow, 0),
            ("killed", plain, {"GODWIT_FAULT": "worker:first-flush"}, 0)):
        done = ground.tool.run(*command, new(name), *options, environment=environment,
                               expect=status)
        lines = done.stderr.splitlines()
        out += [f"{name}: {line}" for line in judge_events(lines, status)]
        if name == "pages":
            text = lines
    # What is over before anybody looks is told in the order in which it happened.
    tiny = os.path.join(folder, "Tiny.sqlite")
    ground.tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", 10, "--output", tiny)
    for number in range(5):
        done = ground.tool.run("migrate", tiny, *command[2:], new(f"tiny-{number}"))
        out += [f"tiny: {line}" for line in judge_events(done.stderr.splitlines(), 0)]
        wanted = {"pages": "workOrderDone", "stages": "phase", "killed": "workOrderFailed"}[name]
        if not any(json.loads(line)["event"] == wanted for line in lines):
            out.append(f"{name}: no event {wanted} in {lines[:20]}")
    refused = ground.tool.run("migrate", store, "--to", store + "x", "--log-format", "json",
                              "--output", new("refused"), expect=66)
    out += judge_events(refused.stderr.splitlines(), 66)
    for what, lines, status in (
            ("no end", text[:-1], 0), ("another end", text, 65), ("no beginning", text[1:], 0),
            ("a plan that comes late", text[:1] + [x for x in text if '"swapping"' in x]
             + [x for x in text if '"planned"' in x] + text[-1:], 0),
            ("an order that ends twice", text[:-1] + [x for x in text if "OrderDone" in x][:1]
             + text[-1:], 0), ("an unknown field", [text[0].replace("godwit", "x"), *text[1:]], 0)):
        if not judge_events(lines, status):
            out.append(f"nothing was found: {what}")
    return out


def checked(ground, folder):
    """The page of a check has a mark where each store is, and one where it can be brought."""
    ground.copy(folder, "Old.sqlite")
    ground.tool.run("migrate", ground.copy(folder, "Now.sqlite"), "--to", LIBRARY, "--discard-old",
                    "--allow-loss", "Shelf.books")
    with open(os.path.join(folder, "Broken.sqlite"), "wb") as file:
        file.write(b"SQLite format 3\0" + bytes(4080))
    page = os.path.join(folder, "check.html")
    names = ("Old.sqlite", "Now.sqlite", "Broken.sqlite")
    command = ("check", *(os.path.join(folder, n) for n in names), "--to", LIBRARY, "--report")
    for _ in range(2):
        ground.tool.run(*command, page, expect=65)
    out = judge_page(page, [os.path.join(folder, n) for n in names])
    with open(page, encoding="utf-8") as file:
        rows = [Outline(row).texts for row in re.findall(r"<tr>.*?</tr>", file.read(), re.S)]
    marks = {row[0].split("/")[-1]: "".join(t for t in row if t in "●→✓✗") for row in rows[1:4]}
    if marks != {"Old.sqlite": "●→", "Now.sqlite": "✓", "Broken.sqlite": "✗"}:
        out.append(f"the matrix says {marks}: {rows[:4]}")
    ground.tool.run(*command, os.path.join(folder, "check.json"), expect=64)
    return out


def planted(ground, folder):
    """What each judge has to find."""
    store, out = ground.copy(folder), []
    result, told, page = (os.path.join(folder, n) for n in ("N.sqlite", "r.json", "r.html"))
    ground.tool.run("migrate", store, "--to", LIBRARY, "--output", result, "--report", told,
                    "--report", page)
    with open(told, encoding="utf-8") as file:
        text = file.read()
    with open(page, encoding="utf-8") as file:
        markup = file.read()

    def must_find(what, found):
        if not found:
            out.append(f"nothing was found: {what}")

    def changed(change):
        report = json.loads(text)
        change(report)
        return report

    def falls(report):
        report["timeline"]["samples"].append({**report["timeline"]["samples"][-1], "fraction": -1})

    def faulty(report):
        with open(told, "w", encoding="utf-8") as file:
            json.dump(report, file)
        try:
            require_report(told)
        except Failure as failure:
            return [failure]
        return []

    must_find("a fraction that falls", judge_times(changed(falls)))
    must_find("a phase after the end", judge_times(
        changed(lambda r: r["timeline"]["phases"][-1].update(to=1e6))))
    must_find("a work order that nobody did", judge_times(
        changed(lambda r: r["timeline"]["workOrders"].clear())))
    must_find("a row too many", judge_counts(
        changed(lambda r: r.update(rows=r["rows"] + 1)), result))
    must_find("accounts that do not add up", judge_counts(
        changed(lambda r: r["accounts"][0]["entities"][0].update(rowsOut=0)), result))
    must_find("an unknown field", faulty(changed(lambda r: r.update(more=1))))
    must_find("a lost field", faulty(changed(lambda r: r.pop("rows"))))
    must_find("a number that is a text", faulty(
        changed(lambda r: r["seconds"].update(merging="1"))))
    end = "</main>"
    faults = {
        "a script": (end, "<script>nothing()</script>"),
        "a font of somebody": (end, "<link rel=stylesheet href='http://localhost:9/x'>"),
        "a text that is not there": ("Author", "Autor"),
        "a pale text": (end, "<p style='color: var(--line)'>pale</p>"),
        "a tiny text": (end, "<p style='font-size: 6px'>tiny</p>"),
        "a squeezed text": (end, "<div class='wide'><p><table><tr><td style='width: 90px; display: "
                            "block'>" + "many words " * 9 + "</table></div>"),
        "a wide text": (end, "<p style='white-space: nowrap'>" + "wide " * 99 + "</p>"),
    }
    for what, (old, new) in faults.items():
        with open(page, "w", encoding="utf-8") as file:
            file.write(markup.replace(old, new))
        if browser.program() or "text" not in what or "there" in what:
            must_find(what, judge_page(page, ["Author"]))
    return out


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--pictures", help="a folder for screenshots of a page")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        ground = Ground(Tool(options.godwit), folder)
        cases = [(name, partial(kind, ground, name, options.pictures)) for name in KINDS]
        cases += [(body.__name__, partial(body, ground))
                  for body in (hostile, refused, reasons, ended, resumed, graphs, events, checked,
                               planted)]
        run_cases(options, cases, "reports")


if __name__ == "__main__":
    main()
