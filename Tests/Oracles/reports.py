#!/usr/bin/env python3
"""Reports of migrations of every kind, and pictures of plans: what JSON, pages and pictures say is
what the stores hold; pages are opened in a real browser, narrow and wide, in the light and in the
dark; names that would be markup are none. What would be wrong is planted, and has to be found.

usage: reports.py --godwit P [--scratch S] [--pictures FOLDER]
"""
import html.parser
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import xml.etree.ElementTree as trees
from functools import partial

import browser
from json_schema import Schema
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
EVENT = Schema("event")
PHASES = ("surveying", "planning", "reading", "migrating", "merging", "relinking", "indexing",
          "verifying", "swapping")
WIDTHS = (400, 1400)
LEAST_CONTRAST = 4.5

# What a page has of each text that is drawn: its place, its colour, that of the ground behind it.
TEXTS = """
(() => {
  const found = [];
  const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0.5) return c.slice(0, 3);
    }
    return parse(getComputedStyle(document.documentElement).getPropertyValue('--ground'));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest('title, details:not([open]) pre')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    const style = getComputedStyle(parent);
    const svg = parent.namespaceURI.endsWith('svg');
    found.push({text: node.textContent.trim().slice(0, 40), left: box.left, right: box.right,
                size: parseFloat(style.fontSize), colour: parse(svg ? style.fill : style.color),
                ground: ground(parent), wide: !!parent.closest('.wide, pre, details')});
  }
  return found;
})()
"""


class Outline(html.parser.HTMLParser):
    """The elements, texts and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def luminance(colour):
    parts = [c / 255 for c in colour[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    first, second = sorted((luminance(one), luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def judge_markup(text, names):
    """A page has no script, asks nobody for anything, and shows what it was given."""
    outline, out = Outline(text), []
    for tag in ("script", "iframe", "link", "img", "object"):
        if tag in outline.tags:
            out.append(f"the page has an element {tag}")
    for name, value in outline.attributes:
        if name.startswith("on") or name in ("src", "href"):
            out.append(f"the page has an attribute {name}={value!r}")
    shown = " ".join(outline.texts)
    out += [f"the page does not show {name!r}" for name in names if name not in shown]
    return out


def judge_layout(page, width):
    """What is not readable at a width: what runs out of the page, is tiny or pale."""
    out = []
    if page.value("document.documentElement.scrollWidth") > width:
        out.append(f"at {width} px the page is wider than its window")
    for text in page.value(TEXTS):
        where = f"at {width} px {text['text']!r}"
        if text["size"] < 11:
            out.append(f"{where} has {text['size']} px")
        if not text["wide"] and (text["right"] > width + 1 or text["left"] < -1):
            out.append(f"{where} is outside, {text['left']:.0f} to {text['right']:.0f}")
        found = contrast(text["colour"], text["ground"])
        if found < LEAST_CONTRAST:
            out.append(f"{where} has a contrast of {found:.1f}")
    return out


def judge_page(path, names, pictures=None):
    """Everything that is wrong with a page."""
    with open(path, encoding="utf-8") as file:
        out = judge_markup(file.read(), names)
    if not browser.program():
        print("no Chromium: pages are not looked at")
        return out
    with browser.Browser() as page:
        for width in WIDTHS:
            for dark in (False, True):
                page.show("file://" + os.path.abspath(path).replace("%", "%25").replace("#", "%23")
                          .replace("?", "%3F"), width=width, dark=dark)
                out += [f"{width} px: {line}" for line in page.complaints()]
                asked = [url for url in page.requests() if not url.startswith("file://")]
                out += [f"the page asks for {url}" for url in asked]
                page.value("document.querySelectorAll('details').forEach(d => d.open = true)")
                out += judge_layout(page, width)
                if pictures:
                    shade = "dark" if dark else "light"
                    page.picture(os.path.join(pictures, f"report-{width}-{shade}.png"))
    return out


def judge_times(report):
    """Times are within the run and in their order; what is done only grows."""
    timeline, out = report["timeline"], []
    end = timeline["seconds"]
    for before, now in zip(timeline["phases"], timeline["phases"][1:]):
        if abs(before["to"] - now["from"]) > 1e-6:
            out.append(f"{before['phase']} ends at {before['to']}, {now['phase']} begins later")
    for span in timeline["phases"] + timeline["workOrders"]:
        if not 0 <= span["from"] <= span["to"] <= end + 1e-6:
            out.append(f"{span} is not within the run of {end} s")
    total = sum(p["to"] - p["from"] for p in timeline["phases"])
    if abs(total - end) > 0.05 * end + 0.05:
        out.append(f"the phases take {total:.2f} s of {end:.2f}")
    samples = timeline["samples"]
    if not samples:
        out.append("no sample was taken")
    for before, now in zip(samples, samples[1:]):
        if now["fraction"] < before["fraction"] or now["at"] <= before["at"]:
            out.append(f"a fraction or a time falls: {before}, then {now}")
    done = {(w["stage"], w["workOrder"]) for w in timeline["workOrders"] if w["isDone"]}
    last = max(p["stage"] for p in timeline["phases"])
    for order in report["workOrders"]:
        if (last, order["number"]) not in done and not order["wasResumed"]:
            out.append(f"nobody did work order {order['number']}")
    return out


def judge_counts(report, result):
    """The rows of the report are those that SQLite counts in the result."""
    db = sqlite3.connect(f"file:{result}?mode=ro&immutable=1", uri=True)
    tables = [name for name, in db.execute("select name from sqlite_schema where type = 'table'")]
    own = {t["name"] for t in report["graph"]["tables"]} if report.get("graph") else set()
    counts = {name: db.execute(f'select count(*) from "{name}"').fetchone()[0]
              for name in own.intersection(tables)}
    db.close()
    out = []
    if own - set(counts):
        out.append(f"the graph has tables that there are not: {sorted(own - set(counts))}")
    if sum(counts.values()) != report["rows"]:
        out.append(f"{sum(counts.values())} rows are there, {report['rows']} were told")
    for account in report["accounts"]:
        for entity in account["entities"]:
            dropped = sum(d["objects"] for d in entity["dropped"])
            if entity["rowsIn"] != entity["rowsOut"] + dropped:
                out.append(f"{entity} does not add up")
    return out


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
    if "rows per second" not in done.stdout or "of memory" not in done.stdout:
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


def judge_events(lines, status):
    """Events are as their schema says, in an order that makes sense."""
    events = [json.loads(line) for line in lines]
    out = [fault for event in events for fault in EVENT.faults(event)]
    names = [event["event"] for event in events]
    if names[0] != "begun" or names[-1] != ("failed" if status else "done"):
        out.append(f"the events begin with {names[0]} and end with {names[-1]}")
    if status and events[-1].get("exitStatus") != status:
        out.append(f"{events[-1]} tells another status than {status}")
    if [e["time"] for e in events] != sorted(e["time"] for e in events):
        out.append("the times of events fall")
    running = set()
    for event in events:
        if event["event"] == "workOrderBegun":
            running.add(event["workOrder"])
        elif event["event"] in ("workOrderDone", "workOrderFailed"):
            # An attempt may be over before anybody saw it begin.
            if event["workOrder"] not in running and event["event"] == "workOrderDone":
                out.append(f"{event} ends what had not begun")
            running.discard(event["workOrder"])
    if running and not status:
        out.append(f"the work orders {running} have no end")
    places = [PHASES.index(e["phase"]) for e in events if e["event"] == "phase"]
    if places != sorted(set(places)):
        out.append(f"the phases are {places}")
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
        wanted = {"pages": "workOrderDone", "stages": "phase", "killed": "workOrderFailed"}[name]
        if not any(json.loads(line)["event"] == wanted for line in lines):
            out.append(f"{name}: no event {wanted} in {lines[:20]}")
    refused = ground.tool.run("migrate", store, "--to", store + "x", "--log-format", "json",
                              "--output", new("refused"), expect=66)
    out += judge_events(refused.stderr.splitlines(), 66)
    for what, lines, status in (
            ("no end", text[:-1], 0), ("another end", text, 65), ("no beginning", text[1:], 0),
            ("an order that ends twice", text[:-1] + [x for x in text if "OrderDone" in x][:1]
             + text[-1:], 0), ("an unknown field", [text[0].replace("godwit", "x"), *text[1:]], 0)):
        if not judge_events(lines, status):
            out.append(f"nothing was found: {what}")
    return out


def checked(ground, folder):
    """The page of a check has a mark where each store is, and one where it can be brought."""
    ground.copy(folder, "Old.sqlite")
    ground.tool.run("migrate", ground.copy(folder, "Now.sqlite"), "--to", LIBRARY, "--discard-old")
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
                  for body in (hostile, refused, resumed, graphs, events, checked, planted)]
        run_cases(options, cases, "reports")


if __name__ == "__main__":
    main()
