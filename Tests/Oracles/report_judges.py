"""Judges reports: pages as texts and in a browser, times, counts, the reasons of failures; and
events."""
import html.parser
import json
import os
import re
import sqlite3

import browser
from json_schema import Schema

EVENT = Schema("event")
PHASES = ("surveying", "planning", "reading", "migrating", "merging", "relinking", "indexing",
          "verifying", "swapping")
WIDTHS = (400, 1400)
LEAST_CONTRAST = 4.5
# The least width of a column of sentences.
LEAST_COLUMN = 200

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
    const cell = parent.closest('td');
    found.push({text: node.textContent.trim().slice(0, 40), left: box.left, right: box.right,
                squeezed: cell && node.textContent.trim().length > 60 ? cell.clientWidth : 999,
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
        if text["squeezed"] < LEAST_COLUMN:
            out.append(f"{where} is squeezed to {text['squeezed']} px")
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


def judge_reasons(report, error, markup):
    """A report tells the failure that --json tells, and its page has a row for each reason."""
    failure, out = report["failure"], []
    for key in ("kind", "exitStatus", "file", "coreDataCode", "reasons", "sentences"):
        if failure.get(key) != error.get(key):
            out.append(f"the report tells {key} {failure.get(key)}, --json {error.get(key)}")
    rows = [Outline(row).texts for row in re.findall(r"<tr>.*?</tr>", markup, re.S)]
    for reason in error["reasons"]:
        place = ".".join(filter(None, (reason.get("entity"), reason.get("property"))))
        cells = [place, reason["cause"], ", ".join(map(str, reason["keys"])), reason["sentence"]]
        cells += [str(reason[key]) for key in ("count", "coreDataCode") if key in reason]
        if not any(all(cell in row for cell in cells if cell) for row in rows):
            out.append(f"no row of the page has {cells}: {rows[1:]}")
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
    running, phase = set(), None
    for event in events:
        phase = event.get("phase", phase)
        if event["event"] in ("planned", "workOrderBegun", "workOrderDone"):
            if phase != "migrating" and not status:
                out.append(f"{event} is told in the phase {phase}")
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
