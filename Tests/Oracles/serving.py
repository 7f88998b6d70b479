#!/usr/bin/env python3
"""Asks `godwit serve` for its pages while migrations run, as a browser (`browser.py`), a program,
Prometheus and an intruder do.

A headless Chromium sees the fraction of a page rise without loading it anew, and the outcome at the
end, at 400 and 1400 px, in the light and in the dark, without an error of a script or a breach of
the page's policy; its buttons pause and resume the migration for real. Foreign names, origins and
tokens, and paths with tricks, are refused. Fifty visitors who read nothing do no harm, and SIGTERM
ends the server with streams open. The judges are judged first. Without a Chromium it says so.

usage: serving.py --godwit P [--scratch S] [--pictures FOLDER]
"""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

import browser
from json_schema import Schema
from metrics_text import Metrics
from report_judges import WIDTHS
from run import Failure, Tool, parser, run_cases
from served import PATIENCE, Events, Ground, Server, until
from serving_judges import (expect, judge_headers, judge_page, judge_shares, judge_stages,
                            judge_stream, outcome, planted, planted_pages, share, told)

HOSTILE = "a\"b'<script>alert(1)<b onload=x>&\u0301.sqlite"


# A browser

def pictures_at_all_sizes(page, url, folder, name):
    out = []
    for width in WIDTHS:
        for dark in (False, True):
            page.show(url, width=width, dark=dark)
            words = "document.getElementById('link').textContent"
            if not until(10, lambda: re.fullmatch(" · (live|.* ended)", page.value(words))):
                out.append(f"{name}: the page has no news: {page.value(words)}")
            out += told(f"{name} at {width} px{', dark' if dark else ''}",
                        judge_page(page, width))
            if folder:
                page.picture(os.path.join(
                    folder, f"{name}-{width}-{'dark' if dark else 'light'}.png"))
    return out


def in_a_browser(ground, pictures, folder):
    """The list and the page of a migration, from its beginning to its end."""
    if browser.program() is None:
        print("no Chromium: pages are not looked at")
        return []
    output, out = os.path.join(folder, "New.sqlite"), []
    with Server(ground.tool, folder) as server, browser.Browser() as page:
        page.show(server.root + "/")
        process = ground.start(output, 25)
        listed = "document.querySelector('.card a')?.textContent ?? null"
        if not until(PATIENCE, lambda: page.value(listed) == "New.sqlite"):
            return ["the list does not get the migration by itself"]
        path = server.wait_for("New.sqlite")
        out += pictures_at_all_sizes(page, server.root + "/", pictures, "list")
        if not until(PATIENCE, lambda: "<h2>Workers</h2>" in server.ask(path)[2]):
            return out + ["the page never has workers"]
        out += pictures_at_all_sizes(page, server.root + path, pictures, "running")
        page.show(server.root + path)
        page.value("window.wasNeverLoadedAnew = true")
        shares = []
        while process.poll() is None and len(shares) < 2000:
            shown = share(page)
            if shown is not None:
                shares.append(shown)
            time.sleep(0.1)
        out += judge_shares(shares, 8)
        expect(out, "the migration ended with", process.wait(PATIENCE), 0)
        if not until(10, lambda: outcome(page) == "done"):
            out.append(f"the page does not end with the outcome: {outcome(page)}")
        expect(out, "it was loaded anew", page.value("window.wasNeverLoadedAnew === true"), True)
        title = page.value("document.title")
        expect(out, "the title of the window", title, "New.sqlite: done")
        out += told("at the end", judge_page(page, 1400))
        out += pictures_at_all_sizes(page, server.root + path, pictures, "done")
        foreign = [u for u in page.requests() if not u.startswith(server.root + "/")]
        if foreign:
            out.append(f"the page asks others: {foreign}")
        out += without_script(page, server.root + "/", "New.sqlite")
    return out


def without_script(page, url, name):
    """A page shows what is known, and loads itself anew, where no script runs."""
    page.tell("Emulation.setScriptExecutionDisabled", value=True)
    page.show(url)
    root = page.tell("DOM.getDocument")["root"]["nodeId"]
    text = page.tell("DOM.getOuterHTML", nodeId=root)["outerHTML"]
    found = page.tell("DOM.querySelector", nodeId=root,
                      selector="noscript meta[http-equiv=refresh]")["nodeId"]
    page.tell("Emulation.setScriptExecutionDisabled", value=False)
    out = [] if name in text else ["without a script the list is empty"]
    return out if found else out + ["without a script the page never changes"]


def buttons(ground, pictures, folder):
    """A browser pauses, changes, resumes and cancels a migration."""
    if browser.program() is None:
        return []
    output, out = os.path.join(folder, "New.sqlite"), []
    with Server(ground.tool, folder, "--control") as server, browser.Browser() as page:
        process = ground.start(output, 60)
        expect(out, "without a token", server.ask("/")[0], 401)
        bearer = {"Authorization": f"Bearer {server.token}"}
        path = server.wait_for("New.sqlite", **bearer)
        page.show(f"{server.root}{path}?token={server.token}")
        if "token" in page.value("location.href"):
            out.append("the token stays in the address")
        expect(out, "a script can read the cookie", page.value("document.cookie"), "")

        def press(label, name=None, value=None):
            script = f"""(() => {{
              const form = [...document.querySelectorAll('#control form')].find(f =>
                f.querySelector('button').textContent === {json.dumps(label)}
                && (!{json.dumps(name)} || f.querySelector('[name={name}]')));
              if (!form) return false;
              if ({json.dumps(name)})
                form.querySelector('[name={name}]').value = {json.dumps(value)};
              form.querySelector('button').click();
              return true;
            }})()"""
            if not until(10, lambda: page.value(script)):
                raise Failure(f"there is no button {label}: "
                              f"{page.value('document.body.innerText')[-600:]}")

        until(PATIENCE, lambda: ground.state(output) == "running")
        press("Pause")
        if not until(20, lambda: ground.state(output) == "paused"):
            out.append(f"after Pause it is {ground.state(output)}")
        if not until(5, lambda: outcome(page) == "paused"):
            out.append(f"after Pause the page says {outcome(page)}")
        if pictures:
            out += pictures_at_all_sizes(page, server.root + path, pictures, "paused")
        press("Set", "workers", "1")
        asked = "JSON.stringify(document.getElementById('answer').textContent)"
        if not until(10, lambda: page.value(asked).startswith('"Done')):
            out.append(f"the answer is {page.value(asked)}")
        press("Set", "rate", "odd")
        if not until(10, lambda: "such as 50M" in page.value(asked)):
            out.append(f"the answer to an odd rate is {page.value(asked)}")
        press("Resume")
        if not until(20, lambda: ground.state(output) == "running"):
            out.append(f"after Resume it is {ground.state(output)}")
        status = json.loads(ground.tool.run("status", output, "--json").stdout)
        expect(out, "workers after Set", status["workersWanted"], 1)
        press("Cancel")
        expect(out, "after Cancel it ends with", process.wait(PATIENCE), 75)
        if not until(10, lambda: outcome(page) == "interrupted"):
            out.append(f"after Cancel the page says {outcome(page)}")
        # A refused form is an answer of the server, which browsers note in their console.
        noted = [c for c in page.complaints() if "400 (Bad Request)" not in c]
        out += told("the page complains", noted)
        out += refused_requests(server, path, bearer)
    return out


def refused_requests(server, path, bearer):
    out = []
    cookie = {"Cookie": f"godwit-{server.port}={server.token}"}
    own = {"Origin": server.root}
    key = re.search(r'name="key" value="([0-9a-f]+)"', server.ask(path, **cookie)[2])
    if key:
        out.append("a migration that has ended has buttons")
    for what, headers, status in (
            ("no key", {**cookie, **own}, 403),
            ("a foreign origin", {**cookie, "Origin": "http://evil.example"}, 403),
            ("a foreign origin with the header", {**bearer, "Origin": "http://evil.example"}, 403),
            ("no origin", cookie, 403), ("no token", own, 401),
            ("a wrong token", {"Authorization": "Bearer " + "0" * 48}, 401),
            ("a foreign name", {**bearer, "Host": "evil.example"}, 403),
            ("one that has ended", bearer, 409)):
        got = server.ask(path + "/pause", "POST", "key=0", **headers)
        expect(out, f"a request with {what}", got[0], status)
    expect(out, "a request by GET", server.ask(path + "/pause", **bearer)[0], 405)
    expect(out, "a long form",
           server.ask(path + "/pause", "POST", "key=" + "0" * 10_000, **bearer)[0], 413)
    return out


def again(ground, _, folder):
    """A page of what has ended follows the next run without being loaded anew."""
    if browser.program() is None:
        return []
    output, out = os.path.join(folder, "New.sqlite"), []
    with Server(ground.tool, folder) as server, browser.Browser() as page:
        process = ground.start(output, 60)
        page.show(server.root + server.wait_for("New.sqlite"))
        page.value("window.wasNeverLoadedAnew = true")
        if not until(PATIENCE, lambda: ground.state(output) == "running"):
            return ["the migration never runs"]
        process.send_signal(signal.SIGINT)
        expect(out, "after SIGINT it ends with", process.wait(PATIENCE), 75)
        words = "document.getElementById('link').textContent"
        for state in ("interrupted", "running", "done"):
            if state == "running":
                process = ground.start(output, 12)
            if not until(20, lambda s=state: outcome(page) == s):
                out.append(f"the page never says {state}, but {outcome(page)}")
            if state == "interrupted" and not until(5, lambda: "ended" in page.value(words)):
                out.append(f"at the end the page says {page.value(words)}")
        expect(out, "the next run ends with", process.wait(PATIENCE), 0)
        expect(out, "it was loaded anew", page.value("window.wasNeverLoadedAnew === true"), True)
        out += told("the page complains", page.complaints())
    return out


# Programs and intruders

def staged(ground, folder):
    """Of a migration in stages each has its workers, rows and bars."""
    output, out, states = os.path.join(folder, "New.sqlite"), [], []
    with Server(ground.tool, folder) as server:
        process = ground.start(output, 5, "--progressive", "--stepwise")
        path = server.wait_for("New.sqlite")
        stream, shown = Events(server, path + "/events"), set()
        while process.poll() is None:
            text = server.ask(path)[2]
            if "<h2>Workers</h2>" in text:
                shown.update(re.findall(r"stage (\d) of 2, migrating", text))
            time.sleep(0.1)
        expect(out, "the migration ended with", process.wait(PATIENCE), 0)
        stream.finish(10)
        out += told("stream", judge_stream(stream, Schema("status")))
        states = [json.loads(data) for _, name, data in stream.found if name is None]
        expect(out, "stages with workers on the page", shown, {"1", "2"})
        text = server.ask(path)[2]
    out += told("stages", judge_stages(states, text))
    first = [s for s in states if s.get("stage", {}).get("number") != 2]
    still = [{**s, "stage": {**s["stage"], "rowsDone": 0}} for s in states if "stage" in s]
    for what, faults in (
            ("a stage that nobody saw", judge_stages(first, text)),
            ("rows that stand", judge_stages(still, text)),
            ("no bars of a stage", judge_stages(states, text.replace("stage 2, ", "")))):
        if not faults:
            out.append(f"self-test: {what} is not noticed")
    return out



def followed(ground, folder):
    """The stream, the metrics and the health of a server with several migrations."""
    output, other, out = os.path.join(folder, "New.sqlite"), os.path.join(folder, "B.sqlite"), []
    with Server(ground.tool, folder) as server:
        process = ground.start(output, 8)
        path = server.wait_for("New.sqlite")
        streams = [Events(server, path + "/events") for _ in range(3)]
        listed = Events(server, "/events")
        second = ground.start(other, 4)
        server.wait_for("B.sqlite")
        judged = 0
        while process.poll() is None:
            status, headers, text = server.ask("/metrics")
            metrics = Metrics(text)
            out += told("metrics", metrics.faults)
            expect(out, "metrics end with", status, 200)
            expect(out, "the kind of metrics", headers.get("Content-Type"),
                   "text/plain; version=0.0.4; charset=utf-8")
            names = {labels["destination"] for labels, _ in
                     metrics.values("godwit_migration_state")}
            judged += {output, other} <= names
            time.sleep(0.3)
        if not judged:
            out.append("no metrics have both migrations")
        expect(out, "the migration ended with", process.wait(PATIENCE), 0)
        expect(out, "the second one ended with", second.wait(PATIENCE), 0)
        for stream in streams:
            if not stream.finish(10):
                out.append("a stream goes on after the end")
            out += told("stream", judge_stream(stream, Schema("status")))
        for path_ in ("/", path, "/metrics", "/healthz", "/live.js", "/style.css", "/icon.svg"):
            status, headers, text = server.ask(path_)
            expect(out, path_, status, 200)
            out += judge_headers(headers, path_)
            head = server.ask(path_, "HEAD")
            expect(out, f"HEAD {path_}", (head[0], head[2]), (200, ""))
            expect(out, f"the length by HEAD {path_}", head[1].get("Content-Length"),
                   str(len(text.encode())))
        expect(out, "/healthz says", server.ask("/healthz")[2], "ok\n")
        if not listed.found or listed.status != 200:
            out.append("the list tells no news")
        out += intruder(server, path)
        status, taken = server.stop()
        expect(out, "SIGTERM ends it with", status, 0)
        if taken > 2:
            out.append(f"SIGTERM took {taken:.1f} s")
        if not listed.finish(5):
            out.append("a stream outlives the server")
        out += told("the stream of the list", listed.faults)
    return out


def intruder(server, path):
    """Paths, methods, names and bytes that are none."""
    out = []
    for target in ("/m/..%2f..", "/m/../../etc/passwd", "/m/%2e%2e", "/m/", "/m", "//", "/none",
                   path + "/", path + "/..", path.upper(), path + "%00", "/live.js/../m",
                   "http://evil.example/m/..", "/m/" + "0" * 24, "/favicon.ico"):
        expect(out, target, server.ask(target)[0], 404)
    expect(out, "a long address", server.ask("/" + "a" * 4000)[0], 414)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        got = server.ask(path, method)
        expect(out, f"{method} of a page", (got[0], got[1].get("Allow")), (405, "GET, HEAD"))
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", None):
        got = server.ask("/", Host=host)[0]
        expect(out, f"the name {host!r}", got, 403, 400)
    for host in ("localhost", "127.0.0.1:1", "[::1]:99"):
        expect(out, f"the name {host}", server.ask("/", Host=host)[0], 200)
    got = server.ask(path + "/pause", "POST", "", Origin=server.root)[0]
    expect(out, "a request to a server that only shows", got, 403)
    for junk in (b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"b" * 100_000 + b"\r\n\r\n",
                 b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(junk)
            try:
                first = connection.recv(12)
            except OSError:
                first = b""
            if first.startswith(b"HTTP/1.1 2"):
                out.append(f"{junk[:30]!r} is answered by {first!r}")
    expect(out, "after all that", server.ask("/healthz")[0], 200)
    return out


def slow_visitors(ground, folder):
    """Fifty who read nothing, and then more than there are places."""
    output, out = os.path.join(folder, "New.sqlite"), []
    with Server(ground.tool, folder) as server:
        process = ground.start(output, 12)
        path = server.wait_for("New.sqlite")
        before, silent = server.memory, []
        for _ in range(50):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(f"GET {path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            silent.append(connection)
        prompt = Events(server, path + "/events")
        took = []
        while process.poll() is None:
            started = time.monotonic()
            expect(out, "a page amid silent visitors", server.ask(path)[0], 200)
            took.append(time.monotonic() - started)
            time.sleep(0.1)
        expect(out, "the migration ended with", process.wait(PATIENCE), 0)
        if not prompt.finish(10):
            out.append("a stream goes on after the end")
        out += told("stream", judge_stream(prompt, Schema("status")))
        if sorted(took)[len(took) // 2] > 0.5:
            out.append(f"half of the pages took longer than {sorted(took)[len(took) // 2]:.2f} s")
        if server.memory - before > 150 << 20:
            out.append(f"memory grew from {before >> 20} to {server.memory >> 20} MiB")
        for connection in silent:
            connection.close()
        crowd = [Events(server, "/events") for _ in range(64)]
        time.sleep(0.5)
        refused = [server.ask("/events")[0:2] for _ in range(3)]
        if not any(status == 503 and "Retry-After" in headers for status, headers in refused):
            out.append(f"the place after the last one: {refused}")
        if any(e.status != 200 for e in crowd[:8]):
            out.append(f"the first visitors get {[e.status for e in crowd[:8]]}")
        status, taken = server.stop(signal.SIGINT)
        expect(out, "SIGINT ends it with", status, 0)
        if taken > 2:
            out.append(f"SIGINT with streams open took {taken:.1f} s")
    return out


def idle_connections(ground, folder):
    """More connections that ask nothing than there are places keep nobody out."""
    out = []
    with Server(ground.tool, folder) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port), timeout=5)
                for _ in range(250)]
        half = [socket.create_connection(("127.0.0.1", server.port), timeout=5)
                for _ in range(50)]
        for connection in half:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: local")
        for _ in range(3):
            began = time.monotonic()
            expect(out, "health amid idle connections", server.ask("/healthz")[0], 200)
            if time.monotonic() - began > 2:
                out.append(f"health took {time.monotonic() - began:.1f} s")
        for connection in idle + half:
            connection.close()
    return out


def starting(ground, folder):
    """What it says where it cannot begin, and of names that would be markup."""
    out, tool = [], ground.tool
    token = os.path.join(folder, "token")
    with open(token, "w", encoding="ascii") as file:
        file.write("a" * 40 + "\n")
    os.chmod(token, 0o644)
    for words, status in ((("--token-file", token), 64), (("--bind", "nowhere.example"), 64),
                          (("--port", "70000"), 64), (("--bind", "203.0.113.9"), 64),
                          (("--token-file", folder + "/no"), 66), (("--nothing",), 64),
                          ((folder + "/no",), 66), ((token,), 64)):
        where = () if words[0].startswith(folder) else (folder,)
        done = tool.call("serve", "--port", "0", *words, *where)
        expect(out, f"serve {words}", done.returncode, status)
        if not done.stderr.startswith(("godwit: ", "Error: ")):
            out.append(f"serve {words}: {done.stderr!r}")
    os.chmod(token, 0o600)
    hostile = os.path.join(folder, HOSTILE)
    ground.start(hostile, 0.3).wait(PATIENCE)
    with Server(tool, "--bind", "0.0.0.0", "--token-file", token, folder) as server:
        expect(out, "a token of one's own is shown", server.token, None)
        expect(out, "without it", server.ask("/")[0], 401)
        expect(out, "a wrong one", server.ask("/", Authorization="Bearer " + "b" * 40)[0], 401)
        right = {"Authorization": "Bearer " + "a" * 40}
        expect(out, "with it", server.ask("/", **right)[0], 200)
        expect(out, "health without it", server.ask("/healthz")[0], 200)
        end = time.monotonic() + PATIENCE
        while "/m/" not in server.ask("/", **right)[2] and time.monotonic() < end:
            time.sleep(0.1)
        text = server.ask("/", **right)[2]
        if "<script>" in text or "&lt;script&gt;" not in text:
            out.append("a name is markup")
        taken = tool.call("serve", "--bind", "0.0.0.0", "--port", server.port, "--token-file",
                          token, folder)
        expect(out, "a port that is taken", taken.returncode, 69)
        if "--port" not in taken.stderr:
            out.append(f"a port that is taken: {taken.stderr!r}")
        expect(out, "SIGTERM ends it with", server.stop()[0], 0)
    alone = os.path.join(folder, "alone")
    os.makedirs(alone)
    program = os.path.join(alone, "godwit")
    subprocess.run(["cp", os.path.realpath(tool.path), program], check=True)
    done = Tool(program).call("serve", folder)
    if done.returncode != 66 or "scripts/install --serve" not in done.stderr:
        out.append(f"without godwit-serve: {done.returncode} {done.stderr!r}")
    return out


def main():
    arguments = parser(__doc__, needs_corpus=False)
    arguments.add_argument("--pictures", help="a folder for pictures of the pages")
    options = arguments.parse_args()
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        ground = Ground(Tool(options.godwit), folder)
        cases = [("the judges", planted), ("the judges of pages", planted_pages)]
        for body in (in_a_browser, buttons, again):
            cases.append((body.__name__.replace("_", " "),
                          lambda f, b=body: b(ground, options.pictures, f)))
        for body in (followed, staged, slow_visitors, idle_connections, starting):
            cases.append((body.__name__.replace("_", " "), lambda f, b=body: b(ground, f)))
        run_cases(options, cases, "visits")


if __name__ == "__main__":
    main()
