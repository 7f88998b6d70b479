"""Judges what watchers show: frames of a screen, lines for a log file, objects in JSON, metrics,
and what clients in other languages print; and plants the faults that each has to find."""
import json
import re

from json_schema import Schema
from metrics_text import Metrics
from terminals import Screen, Unknown

PERCENT = re.compile(r"(\d+) %")
STALE_NEWS = 0.5  # seconds; what is promised is 0.2, and oracles run on busy machines


def judge_screen(screen, fewest=8):
    """What is wrong with the frames of a screen: the lines of each."""
    frames, out = screen.frames, []
    if screen.scrolled:
        out.append(f"the screen scrolled {screen.scrolled} times")
    if screen.too_wide:
        out.append(f"{screen.too_wide} characters stood beyond the last column")
    if len(frames) < fewest:
        out.append(f"{len(frames)} frames, expected {fewest} at least")
    if screen.too_low:
        out.append(f"{screen.too_low} lines stood below the last one")
    if not screen.shows_cursor or screen.is_other or not screen.wraps:
        out.append("the terminal is not left as it was found")
    shown = [next((int(m[1]) for line in lines[:4] if (m := PERCENT.search(line))), None)
             for lines in frames]
    return out + falls([s for s in shown if s is not None])


def falls(fractions):
    return [f"the fraction fell from {a} to {b}" for a, b in zip(fractions, fractions[1:]) if b < a]


def judge_plain(text, times=()):
    """What is wrong with lines for a log file."""
    out = [f"a control character: {m[0]!r}" for m in [re.search(r"[^\n\x20-\x7e\xa0-\U0010ffff]",
                                                              text)] if m]
    if "\x1b" in text:
        out.append("a code for a terminal")
    if text and not text.endswith("\n"):
        out.append("the last line has no end")
    out += falls([int(m) for m in PERCENT.findall(text)])
    lines, kinds = text.splitlines(), []
    for line in lines:
        words = re.search(r": (\w+), \d+ %, (\w+)", line)
        kinds.append(words.groups() if words else line)
    near = sum(b - a < 8 for (a, b, one, other) in zip(times, times[1:], kinds, kinds[1:])
               if one == other)
    return out + ([f"{near} lines follow too soon, and tell no change"] if near else [])


def judge_changes(text, schema, times=()):
    """What is wrong with a stream of objects in JSON."""
    out, found = [], []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            found.append(json.loads(line))
        except ValueError:
            out.append(f"line {number} is no object: {line[:100]!r}")
            continue
        out += [f"line {number}: {fault}" for fault in schema.faults(found[-1])]
    if not found:
        return out + ["not one object"]
    out += falls([o["fraction"] for o in found if "fraction" in o])
    out += falls([o["rowsDone"] for o in found if o.get("rowsDone") and o["state"] == "running"])
    same = sum(timeless(a) == timeless(b) for a, b in zip(found, found[1:]))
    if same:
        out.append(f"{same} objects tell nothing new")
    if any(o["state"] in ("running", "paused", "ready") for o in found[-1:]):
        out.append(f"the last object says {found[-1]['state']}")
    ages = sorted(t - max([o["heartbeatAt"], *(p["heartbeatAt"] for p in o["parts"])])
                  for t, o in zip(times, found) if o.get("heartbeatAt") and o["state"] == "running")
    if ages and ages[len(ages) // 2] > STALE_NEWS:
        out.append(f"half of the news are older than {ages[len(ages) // 2]:.2f} s")
    return out


def timeless(value):
    return {k: [timeless(p) for p in v] if k == "parts" else v for k, v in value.items()
            if k not in ("heartbeatAt", "freeBytes")}


def judge_metrics(text, store=None, state=None):
    metrics = Metrics(text)
    out = list(metrics.faults)
    names = {labels.get("store") for _, labels in
             ((n, dict(labels)) for n, labels in metrics.samples)}
    if len(names) != 1 or store and names != {store}:
        out.append(f"the metrics are of {names}, expected {store}")
    ones = [labels["state"] for labels, value in metrics.values("godwit_migration_state")
            if value == 1]
    if len(ones) != 1 or state and ones != [state]:
        out.append(f"the states {ones} are 1, expected {state}")
    for labels, value in metrics.values("godwit_migration_fraction"):
        if not 0 <= value <= 1:
            out.append(f"a fraction of {value}")
    return out


def judge_client(client):
    out = [] if client.finish() == 0 else [f"it ends with {client.process.returncode}"]
    found = [re.fullmatch(r"(\w+), (\d+)%, (\d+) of (\d+) rows", line.rstrip())
             for line in client.lines]
    if None in found or len(found) < 5 or found[-1][1] != "done":
        return out + [f"it says {client.text[-300:]!r}"]
    if found[-1][3] == "0" or found[-1][4] == "0":
        out.append(f"its last line is {found[-1][0]}")
    return out + falls([int(f[2]) for f in found])


# The judge of these judges

def planted(_):
    """Each fault that is planted is found."""
    out = []

    def screen(*frames, columns=20, rows=4, end="\x1b[?7h\x1b[?25h\x1b[?1049l"):
        made = Screen(columns, rows)
        made.feed("\x1b[?1049h\x1b[?25l\x1b[?7l")
        for frame in frames:
            made.feed("".join(f"\x1b[{n};1H{line}\x1b[K" for n, line in enumerate(frame, 1))
                      + "\x1b[J")
        made.feed(end)
        return judge_screen(made, 2)

    good = [["x: running", "[#..] 10 %"], ["x: running", "[##.] 20 %"]]
    schema = Schema("status")
    change = {"version": 1, "state": "done", "exitStatus": 0, "sentences": [], "fraction": 1}
    begun = {**change, "state": "running", "fraction": 0.5}
    stream = "\n".join(map(json.dumps, (begun, change))) + "\n"
    gauge = "# HELP godwit_migration_state x\n# TYPE godwit_migration_state gauge\n"
    metrics = gauge + 'godwit_migration_state{store="a",state="done"} 1\n'
    plain = "x: running, 1 %, planning\nx: done.\n"
    for name, faults in (("screen", screen(*good)), ("plain", judge_plain(plain)),
                         ("changes", judge_changes(stream, schema)),
                         ("metrics", judge_metrics(metrics, "a", "done"))):
        out += [f"self-test: nothing is wrong with {name}, and {f}" for f in faults]
    cases = {
        "a falling bar": screen(*reversed(good)), "one frame": screen(good[0]),
        "a scroll": screen(good[0], ["a"] * 3 + ["b\n"]),
        "a wide line": screen(good[0], ["書" * 11]), "a line too many": screen(
            good[0], good[1] + ["x"] * 3),
        "no cursor": screen(*good, end="\x1b[?1049l"), "no way back": screen(*good, end=""),
        "a code in a line": judge_plain(plain.replace("x", "\x1b[1mx")),
        "a return": judge_plain(plain.replace("1 %", "1 %\r")),
        "a fall": judge_plain("x: 5 %\nx: 4 %\n"), "no end": judge_plain("x: done."),
        "haste": judge_plain("x: running, 1 %, planning\n" * 2, (1.0, 2.0)),
        "no object": judge_changes(stream + "{\n", schema),
        "no state": judge_changes(stream.replace('"state": "running", ', ""), schema),
        "a fall in JSON": judge_changes(stream.replace("0.5", "2"), schema),
        "no version": judge_changes(stream.replace('"version": 1', '"version": 2'), schema),
        "no news": judge_changes(json.dumps(change) + "\n" + stream, schema) or judge_changes(
            (json.dumps(change) + "\n") * 2, schema),
        "no end in JSON": judge_changes(json.dumps(begun) + "\n", schema),
        "another store": judge_metrics(metrics, "b"), "another state": judge_metrics(
            metrics, "a", "failed"),
    }
    for line in ('x{store="a"} 1', 'godwit_migration_state{store="a",state="x} 1',
                 'godwit_migration_state{store="a\\z"} 1', 'godwit_migration_state{store="a"} one',
                 'godwit_migration_state{store="a" state="x"} 1', "# something",
                 'godwit_migration_state{store="a",state="done"} 1', '\x1b[2J',
                 "# TYPE godwit_migration_state gauge", 'godwit_migration_state{store="a"}1'):
        cases[f"the line {line!r}"] = judge_metrics(metrics + line + "\n", "a")
    cases["half a line"] = judge_metrics(metrics[:-1], "a")
    try:
        Screen(80, 24).feed("\x1b[5S")
        out.append("self-test: a code that nobody knows is obeyed")
    except Unknown as error:
        cases["an unknown code"] = [str(error)]
    return out + [f"self-test: {name} is not noticed" for name, found in cases.items() if not found]
