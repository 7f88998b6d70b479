"""Works out what a power cut may leave of what a run changed (recorded_calls.c): of the bytes of a
file what was synced is there, and of what was not each sector may be, in any order; names change in
the order in which they were changed, at least up to the last sync of their folder."""
import os
import struct
import subprocess
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
SECTOR = 512


@dataclass
class Deed:
    """A call that changed a file or a name, or synced one."""
    call: str
    path: str
    other: str
    offset: int
    content: bytes


@dataclass
class File:
    """A file on the disk: what is there for sure, and what may be."""
    content: bytearray = field(default_factory=bytearray)
    pending: list = field(default_factory=list)

    def change(self, deed):
        if deed.call == "write":
            end = deed.offset + len(deed.content)
            if len(self.content) < end:
                self.content.extend(bytes(end - len(self.content)))
            self.content[deed.offset:end] = deed.content
        elif deed.call == "size":
            if deed.offset < len(self.content):
                del self.content[deed.offset:]
            else:
                self.content.extend(bytes(deed.offset - len(self.content)))
        elif deed.offset > len(self.content):
            self.content.extend(bytes(deed.offset - len(self.content)))

    def sync(self):
        for deed in self.pending:
            self.change(deed)
        self.pending = []

    def cut(self, r):
        """Takes some of what is pending, whole, in part or not at all."""
        deeds = list(self.pending)
        if r.random() < 0.5:
            r.shuffle(deeds)
        chance = r.choice((0, 0.2, 0.5, 0.8, 1))
        for deed in deeds:
            if deed.call != "write":
                if r.random() < chance:
                    self.change(deed)
                continue
            for start in range(0, len(deed.content), SECTOR):
                if r.random() < chance:
                    part = deed.content[start:start + SECTOR]
                    self.change(Deed("write", deed.path, "", deed.offset + start, part))


class Recorder:
    """The library, built once."""

    def __init__(self, folder):
        self.library = os.path.join(folder, "recorded_calls.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o", self.library,
                        os.path.join(HERE, "recorded_calls.c"), "-ldl", "-lpthread"], check=True)

    def environment(self, inside, log):
        return {"LD_PRELOAD": self.library, "GODWIT_RECORD_IN": inside, "GODWIT_RECORD_TO": log}

    @staticmethod
    def deeds(log):
        """All that was recorded, in its order."""
        with open(log, "rb") as file:
            text = file.read()
        out, at = [], 0

        def taken():
            nonlocal at
            count, = struct.unpack_from("<Q", text, at)
            at += 8 + count
            return text[at - count:at]
        while at < len(text):
            call, path, other, offset, content = (taken() for _ in range(5))
            out.append(Deed(call.decode(), os.fsdecode(path), os.fsdecode(other),
                            struct.unpack("<q", offset)[0], content))
        return out

    @staticmethod
    def leave(deeds, before, place, target, r, ends=False):
        """Makes a folder as the disk has it after a cut, at any moment or after the last call; how
        many calls there were before."""
        moment = len(deeds) if ends else r.randint(0, len(deeds))
        names, files, later = {}, {}, []
        for where, _, found in os.walk(before):
            for name in found:
                path = os.path.join(place, os.path.relpath(os.path.join(where, name), before))
                with open(os.path.join(where, name), "rb") as file:
                    names[path] = File(bytearray(file.read()))
        # What the run saw: its own changes are all there.
        seen = dict(names)
        for deed in deeds[:moment]:
            if deed.call in ("write", "size", "grow"):
                found = seen.get(deed.path)
                if found is not None:
                    found.pending.append(deed)
            elif deed.call == "fsync":
                if deed.path in seen:
                    seen[deed.path].sync()
                else:
                    # A folder: names in it up to here are on the disk.
                    for one in later:
                        apply(names, one, files)
                    later = []
            else:
                if deed.call == "create" and deed.path not in seen:
                    files[id(deed)] = File()
                apply(seen, deed, files)
                later.append(deed)
        for one in later[:r.randint(0, len(later))]:
            apply(names, one, files)
        for found in {id(f): f for f in names.values()}.values():
            found.cut(r)
        written = {}
        for path, found in names.items():
            own = os.path.join(target, os.path.relpath(path, place))
            os.makedirs(os.path.dirname(own), exist_ok=True)
            if id(found) in written:
                os.link(written[id(found)], own)
                continue
            written[id(found)] = own
            with open(own, "wb") as file:
                file.write(found.content)
        return moment


def apply(names, deed, files):
    """Changes names as a call did."""
    if deed.call == "create":
        names.setdefault(deed.path, files.get(id(deed)) or File())
    elif deed.call in ("rename", "link") and deed.path in names:
        names[deed.other] = names[deed.path]
        if deed.call == "rename":
            del names[deed.path]
    elif deed.call == "unlink":
        names.pop(deed.path, None)
