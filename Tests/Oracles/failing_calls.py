"""Has a process of the tool die, fail or write less at the n-th call by which it changes files, by
a library that is loaded before the system's own (failing_calls.c)."""
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NO_SPACE, IO_ERROR = 28, 5
# The status file is told to many times a second, and is never the truth.
BUT = "status.mdb"


class Calls:
    """The library, built once."""

    def __init__(self, folder):
        self.folder, self.library = folder, os.path.join(folder, "failing_calls.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o", self.library,
                        os.path.join(HERE, "failing_calls.c"), "-ldl"], check=True)

    def environment(self, inside, at=None, do=None, of="any", log=None, without=None, kinds=None,
                    visit=None):
        """The environment of a run that has one call harmed; `counted` reads what came of it."""
        handle, counter = tempfile.mkstemp(dir=self.folder)
        os.close(handle)
        out = {"LD_PRELOAD": self.library, "GODWIT_CALLS": counter, "GODWIT_CALLS_IN": inside,
               "GODWIT_CALLS_OF": of, "GODWIT_CALLS_BUT": BUT}
        more = {"AT": at, "DO": do, "LOG": log, "WITHOUT": without, "KINDS": kinds, "VISIT": visit}
        out.update({f"GODWIT_CALLS_{k}": str(v) for k, v in more.items() if v is not None})
        return out

    @staticmethod
    def counted(environment):
        """How many calls were counted, and how many of them harmed."""
        with open(environment["GODWIT_CALLS"], "rb") as file:
            found = file.read(16)
        os.remove(environment["GODWIT_CALLS"])
        return int.from_bytes(found[:8], "little"), int.from_bytes(found[8:16], "little")


def logged(path):
    """The calls of a run, as (number, process, call, path)."""
    out = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            number, process, call, name = line.rstrip("\n").split(" ", 3)
            out.append((int(number), process, call, name))
    return out
