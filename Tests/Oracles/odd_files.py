"""Ways to damage a file of text, of JSON, of XML or of bytes, by a seed."""
import copy
import json
import re

NUMBERS = (-1, 0, 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -2**63, 2**64, 10**30,
           1.5, 1e308, -0.0)
ODD = (None, True, "", "x", [], {}, [[]], "\0", "\ud800", "a" * 100_000, [None] * 1000)
TEXTS = (b"\0", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xbf\xbe", b"%", b"&", b"<", b">",
         b'"', b"'", b"]]>", b"&#0;", b"&#xFFFFFFFF;", b"&x;", b"<!--", b"{", b"[", b"(", b")",
         b"9" * 40, b"-", b"1e999", b"\\u0000", b"A" * 70_000)


def nodes(document):
    """The paths of all values in a document, however deep it is."""
    left = [((), document)]
    while left:
        path, value = left.pop()
        yield path
        parts = value.items() if isinstance(value, dict) else \
            enumerate(value) if isinstance(value, list) else ()
        left += reversed([(path + (key,), inner) for key, inner in parts])


def json_mutant(r, data):
    """One or two values of a JSON document are others; the bytes, and what was done."""
    document, done = json.loads(data), []
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        *outer, last = r.choice([p for p in nodes(document) if p] or [("x",)])
        at = document
        for key in outer:
            at = at[key]
        how = r.randrange(10)
        if how == 0:
            del at[last]
        elif how == 1 and isinstance(at, dict):
            at[r.choice(("", "x", "z" * 5000))] = at.pop(last)
        elif how == 2 and isinstance(at, list):
            at.extend([at[last]] * r.choice((1, 2, 3000)))
        elif how == 3:
            at[last] = deep(r.choice((60, 600, 5000)), r.choice(("list", "own")), last, at[last])
        elif isinstance(at[last], str) and how < 8:
            at[last] = text_mutant(r, at[last].encode("utf-8", "surrogatepass"))[0].decode(
                "utf-8", "replace")
        elif how < 8:
            at[last] = r.choice(NUMBERS)
        else:
            at[last] = copy.deepcopy(r.choice(ODD))
        done.append("/".join(map(str, (*outer, last)))[:80])
        if r.random() < 0.05:
            break
    text = dumped(document)
    return text, "JSON " + ", ".join(done)


def dumped(document):
    try:
        return json.dumps(document).encode("utf-8", "surrogatepass")
    except RecursionError:
        return b"[" * 20_000


def deep(depth, kind, key, inner):
    for _ in range(min(depth, 800)):
        inner = [inner] if kind == "list" or isinstance(key, int) else {key: inner}
    return inner


def text_mutant(r, data):
    """Bytes are put in, taken out, exchanged, repeated."""
    data, done = bytearray(data), []
    for _ in range(r.choice((1, 1, 2, 4))):
        at = r.randrange(len(data) + 1)
        how = r.randrange(8)
        if how == 0:
            del data[at:]
        elif how == 1:
            del data[at:at + r.choice((1, 2, 10, 100))]
        elif how == 2:
            piece = data[at:at + r.choice((1, 10, 100, 1000))]
            data[at:at] = piece * r.choice((1, 2, 100))
        elif how in (3, 4):
            data[at:at] = r.choice(TEXTS)
        elif how == 5 and at < len(data):
            data[at] = r.randrange(256)
        elif how == 6 and at < len(data):
            data[at] ^= 1 << r.randrange(8)
        else:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.choice((1, 4, 64))))
        done.append(f"{how} at {at}")
    return bytes(data), "bytes " + ", ".join(done)


def xml_mutant(r, data):
    """An attribute or an element of a document is another, or the text is damaged as any other."""
    if r.random() < 0.4:
        return text_mutant(r, data)
    text = data.decode("utf-8", "surrogateescape")
    attributes = list(re.finditer(r'\b([\w:]+)="([^"]*)"', text))
    elements = list(re.finditer(r"<(\w+)[^<>]*/?>", text))
    how = r.randrange(7)
    if how < 4 and attributes:
        found = r.choice(attributes)
        value = r.choice([str(r.choice(NUMBERS)), "", "x" * 70_000, "YES", "NO", "&lt;", "a.b.c",
                          r.choice(attributes)[2], r.choice(attributes)[2], "(" * 5000,
                          " + 1" * 20_000, "a." * 20_000 + "a", "NOT " * 20_000 + "a == 1",
                          "Undefined", "Transformable"])
        text = text[:found.start(2)] + value + text[found.end(2):]
        done = f"{found[1]} is {value[:40]}"
    elif how == 4 and elements:
        found = r.choice(elements)
        count = r.choice((0, 2, 3000))
        text = text[:found.start()] + found[0] * count + text[found.end():]
        done = f"{count} elements {found[0][:60]}"
    elif how == 5 and elements:
        found = r.choice(elements)
        depth = r.choice((50, 1000, 100_000))
        text = text[:found.start()] + "<a>" * depth + "</a>" * depth + text[found.start():]
        done = f"{depth} levels"
    else:
        entity = ('<!DOCTYPE x [<!ENTITY a "' + "b" * 1000 + '">' + "".join(
            f'<!ENTITY a{n} "{f"&a{n - 1 or str()};" * 10}">' for n in range(1, 9)) + "]>")
        at = text.index("?>") + 2 if "?>" in text else 0
        text = text[:at] + entity + text[at:].replace('="', '="&a8;', 1)
        done = "entities"
    return text.encode("utf-8", "surrogateescape"), f"XML {done}"
