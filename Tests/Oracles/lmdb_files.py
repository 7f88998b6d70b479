"""LMDB files in one file with their lock files, as bytes: what is where in them, and ways to damage
them by a seed. The layout is that of LMDB 0.9 on 64 bits, little-endian."""
import re
import struct

PAGE = 4096
BRANCH, LEAF, OVERFLOW, META = 1, 2, 4, 8
NONE = 2**64 - 1
TABLE = (("pad", 0, 4), ("flags", 4, 2), ("depth", 6, 2), ("branch pages", 8, 8),
         ("leaf pages", 16, 8), ("overflow pages", 24, 8), ("entries", 32, 8), ("root", 40, 8))
HEAD = (("number", 0, 8), ("pad", 8, 2), ("flags", 10, 2), ("lower", 12, 2), ("upper", 14, 2))
LOCK = [("magic", 0, 4), ("format", 4, 4), ("transaction", 48, 8), ("readers", 56, 4)] + [
    (f"{name} lock, word {at}", first + 4 * at, 4)
    for name, first in (("reader", 8), ("writer", 64)) for at in range(10)] + [
    (f"slot {slot}, {name}", 128 + 64 * slot + at, size) for slot in (0, 1, 7)
    for name, at, size in (("transaction", 0, 8), ("process", 8, 4), ("thread", 16, 8))]


def number(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


def last_meta(data):
    """The offset of the page with the last state."""
    return max((0, PAGE), key=lambda at: number(data, at + 144, 8))


def fields(data):
    """[(name, offset, size)] of all that LMDB and the records say, of the last state."""
    out, seen = [], set()
    for meta in (0, PAGE):
        out += [(f"meta {meta // PAGE} {n}", meta + at, size) for n, at, size in (
            *HEAD, ("magic", 16, 4), ("version", 20, 4), ("address", 24, 8), ("map size", 32, 8),
            ("last page", 136, 8), ("transaction", 144, 8))]
        for name, at in (("free", 40), ("main", 88)):
            out += [(f"meta {meta // PAGE} {name} {n}", meta + at + o, s) for n, o, s in TABLE]
    meta = last_meta(data)

    def walk(root, name):
        at = root * PAGE
        if root in seen or root < 2 or at + PAGE > len(data):
            return
        seen.add(root)
        out.extend((f"{name} page {n}", at + o, s) for n, o, s in HEAD)
        for slot in range(at + 16, at + number(data, at + 12, 2), 2):
            out.append((f"{name} slot", slot, 2))
            node = at + number(data, slot, 2)
            out.extend((f"{name} node {n}", node + o, 2) for n, o in (
                ("low", 0), ("high", 2), ("flags", 4), ("key size", 6)))
            low, high, flags, key = struct.unpack_from("<4H", data, node)
            value = node + 8 + key
            out.extend((f"{name} key", node + 8 + o, 1) for o in range(key))
            if number(data, at + 10, 2) & BRANCH:
                walk(low | high << 16 | flags << 32, name)
            elif flags & 2:
                out.extend((f"{name} table {n}", value + o, s) for n, o, s in TABLE)
                walk(number(data, value + 40, 8), bytes(data[node + 8:value]).decode())
            else:
                size = low | high << 16
                out.extend((f"{name} value {o}", value + o, 8) for o in range(0, size, 8))
                out.extend((f"{name} value {o}", value + o, 4) for o in range(0, size, 4))
    walk(number(data, meta + 80, 8), "free")
    walk(number(data, meta + 128, 8), "main")
    return out


def kind_of(name):
    """What a field is, wherever it stands: the records have many, and the pages few."""
    return re.sub(r"\d+", "", name)


def odd_number(r, data, at, size):
    """A number that is unlike the one that stands there."""
    was, top = number(data, at, size), 2 ** (8 * size)
    return r.choice((
        0, 1, 2, 3, 4, 5, 8, 10, 11, 15, 16, 17, 255, 4095, 4096, 65535, 2**31 - 1, 2**31, 2**32,
        2**40, 2**63 - 1, 2**63, top - 1, top // 2, was + 1, was - 1, was * 2, was * 256, ~was,
        was ^ 1 << r.randrange(8 * size), r.randrange(top), len(data), len(data) // PAGE,
        len(data) // PAGE - 1)) % top


def changed(r, data, places):
    """One to three fields hold other numbers."""
    data, done = bytearray(data), []
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        # First the kind of field: there are many of some and few of others.
        kind = r.choice(sorted({kind_of(name) for name, _, _ in places}))
        name, at, size = r.choice([p for p in places if kind_of(p[0]) == kind])
        value = odd_number(r, data, at, size)
        data[at:at + size] = value.to_bytes(size, "little")
        done.append(f"{name} = {value}")
    return bytes(data), ", ".join(done)


def coarse(r, data):
    """Bits, runs of bytes, whole pages and the length are others."""
    data, count = bytearray(data), len(data) // PAGE
    how = r.randrange(9)
    if how == 0:
        spots = [r.randrange(len(data)) for _ in range(r.choice((1, 4, 64)))]
        for at in spots:
            data[at] ^= 1 << r.randrange(8)
        return bytes(data), f"bits at {spots[:4]}"
    if how == 1:
        at, size = r.randrange(len(data)), r.choice((1, 8, 100, 5000))
        data[at:at + size] = r.randbytes(len(data[at:at + size]))
        return bytes(data), f"{size} bytes of garbage at {at}"
    if how == 2:
        size = r.choice((0, 1, 100, PAGE, 2 * PAGE, r.randrange(len(data)), len(data) - 1))
        return bytes(data[:size]), f"cut to {size} bytes"
    if how == 3:
        return bytes(data) + bytes(r.choice((1, PAGE, 100 * PAGE))), "made longer"
    first, second = r.randrange(count), r.randrange(count)
    one, two = slice(first * PAGE, (first + 1) * PAGE), slice(second * PAGE, (second + 1) * PAGE)
    if how == 4:
        data[one], data[two] = data[two], data[one]
        return bytes(data), f"pages {first} and {second} exchanged"
    if how == 5:
        data[one] = data[two]
        return bytes(data), f"page {second} in the place of {first}"
    if how == 6:
        data[one] = bytes(PAGE)
        return bytes(data), f"page {first} zeroed"
    if how == 7:
        data[one] = r.randbytes(PAGE)
        return bytes(data), f"page {first} of garbage"
    data[:] = r.choice((bytes(len(data)), r.randbytes(len(data)), b"\xff" * len(data)))
    return bytes(data), "all zeroed, or garbage"


def mutant(r, data, lock):
    """The bytes of the file and of its lock file, one of which is damaged, and what was done; the
    lock file may be missing, which is None."""
    how = r.random()
    if lock is not None and how < 0.2:
        if r.random() < 0.15:
            return data, None, "no lock file"
        harmed, done = changed(r, lock, LOCK) if r.random() < 0.7 else coarse(r, lock)
        return data, harmed, f"lock file: {done}"
    harmed, done = changed(r, data, fields(data)) if how < 0.75 else coarse(r, data)
    # Who has no right to lock reads in another way.
    return harmed, None if r.random() < 0.3 else lock, done
