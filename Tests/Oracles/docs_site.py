#!/usr/bin/env python3
"""Builds the pages of the documentation site by scripts/docs, and opens them in a real browser.

Each link leads to a file that exists, and to a heading on it. At 400 and 1400 pixels no page is
wider than the window, no script fails, and nothing is requested from elsewhere. The search finds a
command. The pages of the library are built of the build that the tool is of. Planted faults of each
kind are found.

Needs mkdocs and mkdocs-material of Debian, and chromium for the browser; skips what is missing.

usage: docs_site.py --godwit P [--scratch S]
"""
import functools
import http.server
import os
import re
import shutil
import subprocess
import threading
import time

import browser
from run import Failure, parser, run_cases

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
WIDTHS = (400, 1400)
ANYWHERE = re.compile(r"[a-z][a-z+.-]*:|/")


def built(folder, *options):
    """The site; by default its pages without the library."""
    site = os.path.join(folder, "site")
    command = [os.path.join(ROOT, "scripts", "docs"), *(options or ["--pages"]), "--output", site]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise Failure(done.stderr or done.stdout)
    return site


def pages(site):
    found = [os.path.relpath(os.path.join(place, name), site) for place, _, names in os.walk(site)
             for name in names if name.endswith(".html") and name != "404.html"]
    if len(found) < 40:
        raise Failure(f"the site has {len(found)} pages alone")
    return sorted(found)


def text_of(site, page):
    with open(os.path.join(site, page), encoding="utf-8") as file:
        return file.read()


def dead_links(site):
    """The links that lead to no file, or to no heading of it."""
    texts = {page: text_of(site, page) for page in pages(site)}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for link in sorted(set(re.findall(r'\b(?:href|src)="([^"]+)"', text))):
            if ANYWHERE.match(link):
                continue
            target, _, anchor = link.partition("#")
            folder = os.path.dirname(page)
            place = os.path.normpath(os.path.join(folder, target)) if target else page
            if not os.path.exists(os.path.join(site, place)):
                yield f"{page} leads to {link}, which is not there"
            elif anchor and anchor not in anchors.get(place, {anchor}):
                yield f"{page} leads to {link}, and no heading has that name"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Served:
    """A server of the site on this machine; a context manager that gives its address."""

    def __init__(self, site):
        handler = functools.partial(Quiet, directory=site)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}/"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def shown(site, chosen):
    """What is wrong with pages as a browser shows them."""
    with Served(site) as address, browser.Browser() as window:
        for page in chosen:
            for width in WIDTHS:
                window.show(address + page, width=width)
                wide = window.value("document.documentElement.scrollWidth")
                if wide > width:
                    yield f"{page} takes {wide} of {width} pixels"
                yield from (f"{page} at {width}: {c}" for c in window.complaints())
                yield from (f"{page} requests {url}" for url in window.requests()
                            if not url.startswith((address, "data:")))


def waited(window, expression, wanted, seconds):
    """The value of an expression in the page, once it is wanted or the seconds are over."""
    end = time.monotonic() + seconds
    while not wanted(value := window.value(expression)) and time.monotonic() < end:
        time.sleep(0.2)
    return value


def search(site):
    """What is wrong with the search for a command."""
    with Served(site) as address, browser.Browser() as window:
        window.show(address + "index.html")
        # A word that is typed before the index is read stops the search of Material 9 for good.
        state = waited(window, "document.querySelector('.md-search-result__meta').textContent",
                       lambda text: "Initializing" not in text, seconds=120)
        window.value("document.querySelector('[data-md-component=search-query]').focus()")
        window.tell("Input.insertText", text="rollbac")
        for kind in ("keyDown", "keyUp"):
            window.tell("Input.dispatchKeyEvent", type=kind, key="k", text="k")
        links = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"
        found = waited(window, links, lambda found: any("#rollback" in link for link in found),
                       seconds=60)
    if any("#rollback" in link for link in found):
        return []
    return [f"the search ({state.strip()}) finds for rollback {found[:5]}"]


def links(folder):
    return list(dead_links(built(folder)))


def windows(folder):
    site = built(folder)
    return [*shown(site, pages(site)), *search(site)]


def library(build, folder):
    """The first page of the library, to which a menu of the pages leads."""
    site, found = built(folder, "--built", build), []
    if 'href="/api/documentation/godwit/"' not in text_of(site, "index.html"):
        found.append("no menu leads to the library")
    with Served(site) as address, browser.Browser() as window:
        for width in WIDTHS:
            window.show(address + "api/documentation/godwit/", width=width)
            text = waited(window, "document.body.innerText",
                          lambda text: "StoreMigration" in text, seconds=60)
            if "StoreMigration" not in text:
                return [*found, f"the library shows {text[:200]!r}"]
            wide = window.value("document.documentElement.scrollWidth")
            found += [f"the library takes {wide} of {width} pixels"] * (wide > width)
            found += [f"the library requests {url}" for url in window.requests()
                      if not url.startswith((address, "data:"))]
    return found


def the_judge(folder):
    """A dead link, a dead heading, a wide element, a failing script and a foreign request."""
    site = built(folder)
    page = os.path.join(site, "docs", "tutorial.html")
    shutil.copyfile(page, page + ".kept")
    planted = ('<a href="gone.html">a</a><a href="commands.html#gone">b</a>'
               '<div style="width: 2000px">c</div><script>gone()</script>'
               '<img src="http://127.0.0.1:9/gone.png">')
    with open(page, "a", encoding="utf-8") as file:
        file.write(planted)
    found = list(dead_links(site))
    wanted = ["gone.html", "commands.html#gone"]
    if browser.program():
        found += shown(site, ["docs/tutorial.html"])
        wanted += ["takes 2", "script failed", "requests http://127.0.0.1:9/"]
    return [f"{part!r} is not found: {found}" for part in wanted
            if not any(part in line for line in found)]


def main():
    options = parser(__doc__, needs_corpus=False).parse_args()
    if shutil.which("mkdocs") is None:
        print("skipped: mkdocs is not installed (scripts/packages mkdocs mkdocs-material)")
        return
    cases = [("links", links), ("the judge", the_judge)]
    build = os.path.dirname(os.path.abspath(options.godwit))
    if browser.program():
        cases.append(("windows", windows))
        if os.path.exists(os.path.join(build, "Modules", "Godwit.swiftmodule")):
            cases.append(("the library", lambda f: library(build, f)))
    else:
        print("no browser is installed, so no page is opened: scripts/packages chromium")
    run_cases(options, cases, "views of the site")


if __name__ == "__main__":
    main()
