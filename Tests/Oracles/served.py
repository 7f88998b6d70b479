"""`godwit serve` and its visitors, for `serving.py`: the server, a store that is migrated
slowly, and streams of events."""
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time

from run import KEEP_RECORD, Failure

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ROWS = 12_000
PATIENCE = 60.0


class Server:
    """`godwit serve` on a port that is free; a context manager."""

    def __init__(self, tool, *arguments):
        self.process = subprocess.Popen(
            [tool.path, "serve", "--port", "0", *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.line = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://(\[[^]]+\]|[^:/]+):(\d+)/(?:\?token=([0-9a-f]+))?", self.line)
        if not found:
            self.process.kill()
            raise Failure(f"the first line is {self.line!r}: {self.process.stderr.read()[-300:]}")
        self.port, self.token = int(found[2]), found[3]
        self.root = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, path="/", method="GET", body=None, **headers):
        """(status, header fields, text) of an answer; a header of None is left out."""
        sent = {"Host": f"127.0.0.1:{self.port}"}
        sent.update({k.replace("_", "-"): v for k, v in headers.items()})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body.encode() if body is not None else None)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8")
        finally:
            connection.close()

    def pages(self, **headers):
        """{name: path} of the migrations that the first page lists."""
        text = self.ask("/", **headers)[2]
        return {name: path for path, name in
                re.findall(r'<a href="(/m/[0-9a-f]+)">([^<]*)</a>', text)}

    def wait_for(self, name, **headers):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.pages(**headers)
            if name in found:
                return found[name]
            time.sleep(0.1)
        raise Failure(f"the list never has {name}: {self.pages(**headers)}")

    def stop(self, number=signal.SIGTERM):
        """The exit status, and how long it took."""
        started = time.monotonic()
        os.kill(self.process.pid, number)
        try:
            status = self.process.wait(10)
        except subprocess.TimeoutExpired:
            return "still running", 10
        return status, time.monotonic() - started

    @property
    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) << 10


class Ground:
    """A made-up store, which is migrated slowly."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.source = os.path.join(folder, "source.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1", "--rows", ROWS, "--output",
                 self.source)

    def start(self, output, seconds, *options):
        rate = int(os.path.getsize(self.source) / seconds)
        return self.tool.start(
            "migrate", self.source, "--to", LIBRARY, "--output", output, "--range-rows", "300",
            "--workers", 2, "--rate", rate, "--engine", "sql", *options, KEEP_RECORD)

    def state(self, output):
        done = self.tool.call("status", output, "--json")
        return json.loads(done.stdout).get("state") if done.stdout else None


class Events(threading.Thread):
    """A stream of events, read until it ends: (time, name, data) of each, and what is no event."""

    def __init__(self, server, path, **headers):
        super().__init__(daemon=True)
        self.found, self.faults, self.numbers, self.status = [], [], [], None
        self.retry, self.beats = None, 0
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.connection.request("GET", path, headers={"Accept": "text/event-stream", **headers})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.start()

    def run(self):
        fields = []
        try:
            for raw in self.answer:
                line = raw.decode("utf-8").rstrip("\n")
                if line:
                    fields.append(line)
                elif fields:
                    self.take(fields)
                    fields = []
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.faults.append(f"the stream broke off: {error!r}")
        self.connection.close()

    def take(self, fields):
        name, data = None, []
        for line in fields:
            field, _, value = line.partition(": ")
            if line.startswith(":"):
                self.beats += 1
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                self.numbers.append(int(value))
            elif field == "retry":
                self.retry = int(value)
            else:
                self.faults.append(f"no field of an event: {line[:80]!r}")
        if data:
            self.found.append((time.time(), name, "\n".join(data)))

    def finish(self, seconds=PATIENCE):
        self.join(seconds)
        return not self.is_alive()


def until(seconds, fits):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if fits():
            return True
        time.sleep(0.05)
    return fits()


def serve_once(command, folder, environment):
    """What is wrong with a command of a page: a server tells its address, and SIGTERM ends it."""
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command.text}"], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
        start_new_session=True)
    with process.stdout:
        line = process.stdout.readline().decode("utf-8", "replace").strip()
    is_begun = re.match(r"http://[^/]+:\d+/", line) is not None
    if is_begun:
        process.terminate()
    try:
        status = process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"is still running after {'SIGTERM' if is_begun else repr(line)}"]
    if status != command.status:
        return [f"ends with {status}, not with {command.status}: {line}"]
    return [] if is_begun or status else [f"tells no address: {line!r}"]
