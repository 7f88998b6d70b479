"""Random values that SQLite may hold in the columns of a store, whatever their declarations."""
import os
import struct
import uuid

from coredata import INTEGERS, key

# What a page of a table or of an index keeps of a record, in pages of 4096 bytes (store-pages.md).
RECORD_LIMITS = (489, 1002, 4061, 489 + 4092, 4061 + 4092, 489 + 2 * 4092, 4061 + 3 * 4092)
TEXTS = ("", " ", "plain", "with 'quotes'", "Grüße", "日本 \U0001F426", "a\0b", "\0", "12", "-7.5",
         "1e3", "0x10", " 5", "9223372036854775808", "e\u0301", "x" * 300)
REALS = (0.0, -0.0, 1.0, -1.0, 1.5, 0.1, 1e300, -1e300, 5e-324, 2.0**53, 2.0**53 + 2, 2.0**60,
         -2.0**47, 2.0**47 - 1, 2.0**63, -2.0**63, float("inf"), float("-inf"), 6.5e8)
WHOLE = (0, 1, -1, 2, 127, 128, -128, -129, 32767, 32768, 8388607, 8388608, -8388609, 2**31 - 1,
         2**31, 2**47 - 1, 2**47, -2**47 - 1, 2**53 + 1, 2**62, 2**63 - 1, -2**63)


# Bytes of long values in one store.
BUDGET = 6 << 20


class Invalid(bytes):
    """Bytes that are no UTF-8, kept as a text."""


class Values:
    """Makes the values of one store's attributes."""

    def __init__(self, random, form, limits, unique, support):
        self.random, self.limits, self.unique = random, limits, unique
        self.odd_ones, self.is_tame = form.odd, form.tame
        self.support, self.count, self.spent, self.sweeps = support, 0, 0, {}

    def value(self, p, row):
        """A value of an attribute; `row` counts up, for sizes that do as well."""
        r = self.random
        self.count += 1
        if key(p) in self.unique:
            return None if r.random() < 0.2 else self.unique_value(p)
        if r.random() < (0.25 if p.optional else 0 if self.is_tame else 0.01):
            return None
        if self.odd_ones and key(p) not in self.limits and r.random() < 0.15:
            return self.odd(p)
        if p.type in INTEGERS or p.type == "Boolean":
            return self.integer(p)
        if p.type in ("Double", "Float", "Decimal", "Date"):
            return self.real(p)
        if p.type in ("String", "URI"):
            return self.text(p, row)
        if p.type == "UUID":
            return r.randbytes(16)
        return self.external(p, row) if p.external else r.randbytes(self.size(p, row))

    def unique_value(self, p):
        if p.type == "Integer 64":
            return self.count * 2**33 - 2**40
        if p.type == "UUID":
            return struct.pack(">QQ", self.count * 2**20, self.count)
        # Behind a digit a number would be another one.
        return f"{self.random.choice(TEXTS)}#{self.count}"

    def odd(self, p):
        """What SQLite takes in any column, whatever its declaration says."""
        r = self.random
        found = r.choice((r.choice(TEXTS), r.choice(WHOLE), r.choice(REALS), 0.5,
                          r.randbytes(r.choice((0, 1, 16, 700))), Invalid(b"\xff\x80"),
                          Invalid(b"ab\xc3"), Invalid(b"\xed\xa0\x80x")))
        if p.type == "Binary" and p.external and (
                r.random() < 0.5 or isinstance(found, bytes) and found[:1] in (b"\x01", b"\x02")):
            # The first byte tells where the value is; what has none is odd.
            return b"\x01" + r.randbytes(3)
        return found

    def integer(self, p):
        r = self.random
        low, high = self.limits.get(key(p), INTEGERS.get(p.type, (0, 1)))
        found = r.choice((*WHOLE, low, high, r.randint(low, high), r.randint(-300, 300)))
        # A whole real is an integer to a column of integers.
        return min(max(found, low), high) if r.random() < 0.95 else float(r.randint(0, 1))

    def real(self, p):
        r = self.random
        found = r.choice((*REALS, *WHOLE, r.uniform(-1e6, 1e6), float(r.randint(-9, 9)), "0.5"))
        if key(p) not in self.limits:
            return found
        low, high = self.limits[key(p)]
        found = float(found)
        if not low <= found <= high:
            found = r.uniform(max(low, -1e6), min(high, 1e6))
        return int(found) if abs(found) < 2**63 and r.random() < 0.3 else found

    def text(self, p, row):
        r = self.random
        if r.random() < 0.5:
            return r.choice(TEXTS)
        size = self.size(p, row)
        body = r.choice(("abc", "ä", "\U0001F426x")) * size
        return body.encode()[:size].decode("utf-8", "ignore")

    def size(self, p, row):
        found = self.any_size(p, row)
        self.spent += found
        return found if self.spent < BUDGET else min(found, 20)

    def any_size(self, p, row):
        """Sizes about the limits of pages, one after the other in some columns."""
        r = self.random
        sweep = self.sweeps.setdefault(
            key(p), r.choice(RECORD_LIMITS) - r.randint(40, 140) if r.random() < 0.3 else None)
        if sweep is not None and r.random() < 0.8:
            return sweep + row % 150
        chance = r.random()
        if chance < 0.7:
            return r.randint(0, 60)
        if chance < 0.9:
            return max(0, r.choice(RECORD_LIMITS) + r.randint(-120, 6))
        if chance < 0.99:
            return r.randint(0, 3000)
        return r.choice((20_000, 70_000, 9_000))

    def external(self, p, row):
        r = self.random
        if r.random() < 0.8:
            return b"\x01" + r.randbytes(self.size(p, row))
        name = str(uuid.UUID(bytes=r.randbytes(16))).upper()
        os.makedirs(self.support, exist_ok=True)
        with open(os.path.join(self.support, name), "wb") as file:
            file.write(r.randbytes(r.choice((0, 5, 100, 5000))))
        return b"\x02" + name.encode() + b"\0"
