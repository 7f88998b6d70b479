"""What may never happen, whatever the input: a crash, a hang, memory without end, silence."""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

SECONDS, MEBIBYTES = 5, 256
# What is no fault of an input: wrong usage, lack of memory or disk, and faults of our own.
WRONG = {64, 69, 70, 71, 74, 75}
OWN_FAULT = re.compile(r"Fatal error|ended by signal|report it|SIG[A-Z]{3}")


class Spawner:
    """A small process that starts others: a process begins with the peak of memory of the one that
    started it, and an oracle's own may be large."""

    own = threading.local()

    @classmethod
    def here(cls):
        if not hasattr(cls.own, "process"):
            cls.own.process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE)
        return cls.own.process

    @classmethod
    def run(cls, command, environment, limit):
        process = cls.here()
        process.stdin.write(json.dumps([command, environment, limit]).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())


def serve():
    for line in sys.stdin:
        command, environment, limit = json.loads(line)
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        begun = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   env={**os.environ, **environment})
        timer = threading.Timer(limit, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(1 << 20).decode("utf-8", "replace"))
            file.close()
        print(json.dumps([process.returncode, time.monotonic() - begun,
                          usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, *texts]),
              flush=True)


class Done:
    """How a call ended, and what it took."""

    def __init__(self, tool, arguments, environment=None, limit=60):
        (self.status, self.wall, self.cpu, self.mebibytes, self.out, self.err) = Spawner.run(
            [tool.path, *map(str, arguments)],
            {"SWIFT_BACKTRACE": "enable=no", **(environment or {})}, limit)

    def faults(self, wrong=WRONG, mebibytes=MEBIBYTES):
        """What may never happen."""
        found = []
        if self.status < 0 or self.status >= 128:
            found.append(f"ended by a signal ({self.status}) after {self.wall:.0f} s")
        elif self.status in wrong:
            found.append(f"status {self.status}")
        # The processor's time is the same on a machine that others use as well.
        if self.cpu > SECONDS * 2 or self.wall > SECONDS * 8:
            found.append(f"took {self.cpu:.0f} s of work in {self.wall:.0f} s")
        if self.mebibytes > mebibytes:
            found.append(f"took {self.mebibytes:.0f} MiB")
        if OWN_FAULT.search(self.err):
            found.append("speaks of a fault of its own")
        if self.status and not (self.err + self.out).strip():
            found.append("says nothing")
        return [f"{f}: {self.err.strip()[-400:]}" for f in found]


if __name__ == "__main__":
    serve()
