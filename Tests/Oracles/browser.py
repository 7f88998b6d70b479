"""Opens pages in a headless Chromium, over a pipe, without any library.

The browser is told what to do in its own protocol: JSON in messages that end with a zero byte, on
file descriptors 3 (to it) and 4 (from it).
"""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


class BrowserError(Exception):
    """The browser does not do what it was told."""


def program():
    """The path of a Chromium, None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """A headless browser with one page; a context manager."""

    def __init__(self, timeout=60):
        self.timeout, self.numbers, self.left = timeout, itertools.count(1), b""
        self.events = []
        self.folder = tempfile.mkdtemp(prefix="godwit-browser-")

    def __enter__(self):
        theirs_in, self.output = os.pipe()
        self.input, theirs_out = os.pipe()
        # The browser wants its ends as 3 and 4, wherever they are here.
        shell = 'exec "$@" 3<&{} 4>&{}'.format(theirs_in, theirs_out)
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", shell, "browser", program(), "--headless", "--no-sandbox",
             "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
             f"--user-data-dir={self.folder}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.session = None
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.tell(
            "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.tell("Browser.close")
        except (BrowserError, OSError):
            pass
        self.process.kill()
        self.process.wait()
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.folder, ignore_errors=True)

    def tell(self, method, **parameters):
        """Sends a command, and waits for its answer; events on the way are kept."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.timeout
        while True:
            answer = self._next(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self, end):
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.input], [], [], max(0, end - time.monotonic()))
            read = os.read(self.input, 1 << 20) if ready else b""
            if not read:
                raise BrowserError("the browser is silent" if not ready else "the browser is gone")
            self.left += read
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def wait_for(self, method, seconds=30):
        """The next event of a kind, of those that are there or will be."""
        end = time.monotonic() + seconds
        while True:
            for event in self.events:
                if event.get("method") == method:
                    self.events.remove(event)
                    return event["params"]
            self.events.append(self._next(end))

    def show(self, url, width=1400, height=900, dark=False):
        """Opens a page at a width, in the light or in the dark; waits until it has loaded."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.tell("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def value(self, expression):
        """What an expression in the page gives."""
        result = self.tell("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(f"{expression[:60]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def complaints(self):
        """What the page complained of since it was opened, and what it asked others for."""
        self.value("1")
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(f"a script failed: {parameters['exceptionDetails'].get('text')}")
            if event.get("method") == "Log.entryAdded":
                entry = parameters["entry"]
                if entry["level"] in ("error", "warning"):
                    found.append(f"{entry['source']}: {entry['text']}")
        return found

    def requests(self):
        """The addresses that the page asked for since it was opened."""
        self.value("1")
        return [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]

    def picture(self, path):
        """Writes the whole page as a PNG."""
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.tell("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
