"""Judges what `godwit serve` tells: shares, streams of events, header fields, pages in a browser;
and plants the faults that each has to find."""
import json
import tempfile
import time

import browser
from json_schema import Schema
from report_judges import judge_layout

STALE_NEWS = 0.6  # seconds; what is promised is 0.25, and oracles run on busy machines
POLICY = "default-src 'none'"


def expect(out, what, found, *expected):
    if found not in expected:
        out.append(f"{what}: {found!r}, expected {' or '.join(map(repr, expected))}")


def told(name, faults):
    return [f"{name}: {fault}" for fault in faults]


def share(page):
    """How far the bar of a page is, in thousandths; None where there is none."""
    return page.value("document.querySelector('#state progress')?.value ?? null")


def outcome(page):
    return page.value("document.querySelector('#state .outcome')?.textContent ?? null")


def judge_shares(shares, fewest=4):
    """What is wrong with the shares that a page showed one after the other, in thousandths."""
    out = [f"the fraction fell from {a} to {b}" for a, b in zip(shares, shares[1:]) if b < a]
    if len(set(shares)) < fewest:
        out.append(f"the fraction does not move: {sorted(set(shares))}")
    return out


def judge_stream(events, schema):
    """What is wrong with the stream of one migration that has ended."""
    out = list(events.faults)
    plain = [(at, json.loads(data)) for at, name, data in events.found if name is None]
    for at, status in plain:
        out += schema.faults(status)
    if len(plain) < 5:
        out.append(f"{len(plain)} states")
    if plain and plain[-1][1]["state"] in ("running", "paused", "ready"):
        out.append(f"the last state is {plain[-1][1]['state']}")
    out += judge_shares([int(s["fraction"] * 1000) for _, s in plain if "fraction" in s])
    if events.numbers != list(range(1, len(events.numbers) + 1)):
        out.append(f"the numbers are {events.numbers[:20]}")
    if not events.retry:
        out.append("no time after which to come back")
    if [name for _, name, _ in events.found][-1:] != ["over"]:
        out.append(f"the end is {events.found[-1:]}")
    ages = sorted(
        at - max([s["heartbeatAt"], *(p["heartbeatAt"] for p in s["parts"])])
        for at, s in plain if s.get("heartbeatAt") and s["state"] == "running")
    if ages and ages[len(ages) // 2] > STALE_NEWS:
        out.append(f"half of the news are older than {ages[len(ages) // 2]:.2f} s")
    return out


def judge_stages(states, text):
    """What is wrong with the states of a migration in two stages, and with its page at the end."""
    out = []
    numbers = [s["stage"]["number"] for s in states if "stage" in s]
    if numbers != sorted(numbers):
        out.append(f"the stages are {numbers}")
    for number in (1, 2):
        seen = [s for s in states if s.get("stage", {}).get("number") == number]
        if not any(part["state"] == "running" for s in seen for part in s["parts"]):
            out.append(f"stage {number} has no workers in {len(seen)} states")
        rows = [s["stage"]["rowsDone"] for s in seen]
        if len(set(rows)) < 3 or rows != sorted(rows):
            out.append(f"the rows of stage {number} are {sorted(set(rows))[:9]}")
        for bar in (f"stage {number}, migrating: ", f"stage {number}, work order "):
            if bar not in text:
                out.append(f"the page has no bar {bar!r}")
    return out


def judge_headers(headers, what):
    out = []
    wanted = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
              "Referrer-Policy": "same-origin"}
    for name, value in wanted.items():
        if headers.get(name) != value:
            out.append(f"{what}: {name} is {headers.get(name)!r}")
    policy = headers.get("Content-Security-Policy", "")
    if not policy.startswith(POLICY) or "unsafe" in policy or "*" in policy:
        out.append(f"{what}: the policy is {policy!r}")
    return out


def judge_page(page, width, extra=()):
    """What is wrong with a page that a browser shows."""
    out = judge_layout(page, width) + list(extra)
    out += [f"the page complains: {line}" for line in page.complaints()]
    return out


class Stream:
    """A stream as a judge sees it."""

    def __init__(self, statuses, last="over", numbers=None, retry=2000):
        self.faults, self.retry = [], retry
        self.found = [(time.time(), None, json.dumps(s)) for s in statuses]
        if last:
            self.found.append((time.time(), last, "it has ended"))
        self.numbers = numbers or list(range(1, len(self.found) + 1))


def planted(_):
    """Each fault that is planted is found."""
    schema, now = Schema("status"), time.time()
    base = {"version": 1, "state": "running", "exitStatus": 0, "sentences": []}
    good = [{**base, "fraction": n / 10} for n in range(1, 8)]
    good.append({**base, "state": "done", "fraction": 1})
    late = [{**s, "heartbeatAt": now - 5, "parts": []} for s in good]
    out = told("self-test: nothing is wrong, and", judge_stream(Stream(good), schema))
    cases = {
        "a fraction that stands": judge_shares([100] * 9),
        "a fraction that falls": judge_shares([100, 200, 300, 400, 399]),
        "no end": judge_stream(Stream(good, last=None), schema),
        "a state that goes on": judge_stream(Stream(good[:-1]), schema),
        "numbers that jump": judge_stream(Stream(good, numbers=[1, 3]), schema),
        "no way back": judge_stream(Stream(good, retry=None), schema),
        "a field that is none": judge_stream(Stream([{**s, "x": 1} for s in good]), schema),
        "old news": judge_stream(Stream(late), schema),
        "no policy": judge_headers({}, ""),
        "a policy with a hole": judge_headers({
            "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
            "Referrer-Policy": "same-origin",
            "Content-Security-Policy": POLICY + "; script-src 'unsafe-inline'"}, ""),
    }
    return out + [f"self-test: {name} is not noticed" for name, f in cases.items() if not f]


STILL = """<!doctype html><title>x</title><p id=state><progress max=1000 value=100></progress></p>
<div style="width:2000px">wide</div><script>undefined.x</script>"""


def planted_pages(_):
    """A page that does not move, is too wide and has a script that fails, in a browser."""
    if browser.program() is None:
        return []
    out = []
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file, browser.Browser() as page:
        file.write(STILL)
        file.flush()
        page.show("file://" + file.name, width=400)
        faults = judge_page(page, 400) + judge_shares([share(page) for _ in range(5)])
        for words in ("wider than its window", "a script failed", "does not move"):
            if not any(words in fault for fault in faults):
                out.append(f"self-test: {words!r} is not noticed in {faults}")
    return out
