#!/usr/bin/env python3
"""Asks `godwit serve` for the pages of a fleet while it runs: what they show is what
`fleet status --json` and `fleet list --json` print.

One store is damaged and has a name that would be markup. The stream of the fleet has each status,
valid by its schema, and its counts never fall; the table of versions adds up; the failure leads to
the page of its store. A headless Chromium sees both pages at 400 and 1400 px, light and dark.

usage: fleet_pages.py --godwit P [--scratch S] [--pictures FOLDER]
"""
import html
import json
import os
import re
import sys
import tempfile
import time

import browser
from fleets import Lab, spoil
from json_schema import Schema
from metrics_text import Metrics
from report_judges import WIDTHS
from run import Failure, Tool, parser
from served import Events, Server, until
from serving_judges import expect, judge_headers, judge_page, told

HOSTILE = "a\"b'<script>alert(1)<b onload=x>.sqlite"
COUNT = 60


def table(text, section):
    """The cells of the table in a part of a page, row by row."""
    part = re.search(rf'<section id="{section}">(.*?)</section>', text, re.S)
    rows = re.findall(r"<tr>(.*?)</tr>", part[1], re.S) if part else []
    return [[html.unescape(re.sub(r"<.*?>", "", cell))
             for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.S)] for row in rows]


def judge_stream(states, schema):
    out = [fault for state in states for fault in schema.faults(state)]
    done = [state["stores"] - state["waiting"] for state in states]
    if done != sorted(done):
        out.append(f"the number of results falls: {done}")
    if len(set(done)) < 3:
        out.append(f"the number of results does not move: {sorted(set(done))}")
    if states and states[-1]["state"] != "failed":
        out.append(f"the last state is {states[-1]['state']}")
    return out


def judge_fleet(text, status):
    """What is wrong with the page of a fleet that has ended."""
    out = []
    rows = table(text, "versions")
    kinds = {"migrated": "migrated", "failed": "failed"}
    for name, kind in kinds.items():
        if not rows or name not in rows[0]:
            out.append(f"the versions have no column {name}: {rows[:1]}")
            continue
        place = rows[0].index(name)
        found = sum(int(row[place].replace(",", "")) for row in rows[1:])
        expect(out, f"the sum of {name}", found, status[kind])
    expect(out, "versions", {row[0] for row in rows[1:]},
           {v.get("version", "not known") for v in status["versions"]})
    failures = table(text, "failures")
    expect(out, "failures", [(r[0], int(r[1]), r[2], r[3]) for r in failures[1:]],
           [(f["reason"], f["stores"], f["store"], f["sentence"]) for f in status["failures"]])
    if "<script>alert" in text:
        out.append("a name is markup")
    return out


def planted(text, status):
    """The judges find what is wrong with pages and streams."""
    out = []
    for what, faults in (
            ("another count", judge_fleet(text, {**status, "migrated": status["migrated"] + 1})),
            ("no failure", judge_fleet(text, {**status, "failures": []})),
            ("markup", judge_fleet(text + "<script>alert(1)", status)),
            ("results that fall", judge_stream(
                [{**status, "waiting": w} for w in (3, 2, 3, 0)], Schema("fleet-status"))),
            ("a field of no schema", judge_stream(
                [{**status, "waiting": w, "x": 1} for w in (3, 2, 1, 0)],
                Schema("fleet-status")))):
        if not faults:
            out.append(f"self-test: {what} is not noticed")
    return out


def address(server):
    """The address of the fleet on the first page."""
    found = re.search(r'<a href="(/f/[0-9a-f]+)">F</a>', server.ask("/")[2])
    return found and found[1]


def visits(lab, pictures):
    folder, stores = lab.fleet(COUNT)
    hostile = os.path.join(os.path.dirname(min(stores)), HOSTILE)
    with open(hostile, "wb") as file:
        file.write(lab.olds[min(lab.olds)])
    fleet = os.path.join(folder, "F")
    os.remove(os.path.join(fleet, "fleet.json"))
    lab.tool.run("fleet", "create", fleet, os.path.join(folder, "users"), "--to", lab.model)
    spoil(hostile, "cut")
    out = []
    with Server(lab.tool, fleet) as server:
        if not until(20, lambda: address(server)):
            raise Failure(f"the first page has no fleet: {server.ask('/')[2][-600:]}")
        path = address(server)
        expect(out, "before the run",
               "incomplete" in re.sub(r"<.*?>", " ", server.ask(path)[2]), True)
        stream = Events(server, path + "/events")
        process = lab.tool.start("fleet", "run", fleet, "--jobs", 1)
        while process.poll() is None:
            time.sleep(0.1)
        expect(out, "the run ended with", process.returncode, 65)
        status = lab.tool.json("fleet", "status", fleet, "--json", expect=65)
        until(10, lambda: states(stream)
              and states(stream)[-1]["state"] == "failed")
        out += told("stream", judge_stream(states(stream), Schema("fleet-status")))
        code, headers, text = server.ask(path)
        expect(out, "the page", code, 200)
        out += judge_headers(headers, path)
        out += told("page", judge_fleet(text, status)) + planted(text, status)
        failure = status["failures"][0]
        store = f"{path}/{failure['number']}"
        if f'href="{store}"' not in text:
            out.append("the failure does not lead to its store")
        out += judge_store(lab, server, store, fleet, failure)
        for wrong in (f"{path}/{COUNT + 1}", f"{path}/-1", f"{path}/01", f"{path}/x",
                      f"{path}/0/0", "/f/" + "0" * 24):
            expect(out, wrong, server.ask(wrong)[0], 404)
        metrics = Metrics(server.ask("/metrics")[2])
        out += told("metrics", metrics.faults)
        expect(out, "the gauge of stores", [v for _, v in metrics.values("godwit_fleet_stores")],
               [COUNT + 1])
        out += in_a_browser(server, pictures, [("fleet", path), ("store", store)])
    return out


def states(stream):
    return [json.loads(data) for _, name, data in stream.found if name is None]


def judge_store(lab, server, path, fleet, failure):
    out = []
    code, headers, text = server.ask(path)
    expect(out, "the page of a store", code, 200)
    out += judge_headers(headers, path)
    plain = html.unescape(re.sub(r"<.*?>", " ", text))
    for words in (failure["reason"], failure["sentence"], failure["store"], "failed"):
        if words not in plain:
            out.append(f"the page of a store does not have {words!r}")
    stream = Events(server, path + "/events")
    until(10, lambda: states(stream))
    listed = lab.tool.json("fleet", "list", fleet, "--json", "--failed")["stores"]
    expect(out, "the event of a store", states(stream), listed)
    return out


def in_a_browser(server, folder, pages):
    if browser.program() is None:
        print("no Chromium: pages are not looked at")
        return []
    out = []
    with browser.Browser() as page:
        for name, path in pages:
            for width in WIDTHS:
                for dark in (False, True):
                    page.show(server.root + path, width=width, dark=dark)
                    words = "document.getElementById('link').textContent"
                    if not until(10, lambda: page.value(words) == " · live"):
                        out.append(f"{name}: the page has no news: {page.value(words)}")
                    out += told(f"{name} at {width} px{', dark' if dark else ''}",
                                judge_page(page, width))
                    if folder:
                        page.picture(os.path.join(
                            folder, f"{name}-{width}-{'dark' if dark else 'light'}.png"))
    return out


def main():
    p = parser(__doc__.splitlines()[0], needs_corpus=False)
    p.add_argument("--pictures", help="a folder for pictures of the pages")
    arguments = p.parse_args()
    if arguments.pictures:
        os.makedirs(arguments.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        lab = Lab(Tool(arguments.godwit), os.path.realpath(scratch), 200)
        try:
            found = visits(lab, arguments.pictures)
        except Failure as failure:
            found = [str(failure)]
    for fault in found:
        print(fault)
    print(f"fleet_pages: {'as expected' if not found else f'{len(found)} faults'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
