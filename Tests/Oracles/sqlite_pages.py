"""The pages of an SQLite file by "Database File Format" of sqlite.org, and ways to damage them."""
import struct

TABLE_LEAF, TABLE_INTERIOR, INDEX_LEAF, INDEX_INTERIOR = 13, 5, 10, 2
INTERIORS = (TABLE_INTERIOR, INDEX_INTERIOR)


def varint(data, at):
    """The number at an offset, and where it ends."""
    value = 0
    for index in range(9):
        byte = data[at + index]
        if index == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7f
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError


def encoded(value):
    """A number below 2^56 as a varint."""
    out = [value & 0x7f]
    while value := value >> 7:
        out.insert(0, value & 0x7f | 0x80)
    return bytes(out)


class Cell:
    """A cell of a b-tree page: where its pointer and its parts stand in the file."""

    def __init__(self, image, page, index):
        kind, start = image.kind(page), image.start(page)
        self.pointer = start + (12 if kind in INTERIORS else 8) + 2 * index
        self.at = image.base(page) + image.get(self.pointer, 2)
        at = self.at
        self.child = self.payload = self.key = self.record = self.overflow = None
        if kind in INTERIORS:
            self.child, at = at, at + 4
        if kind != TABLE_INTERIOR:
            self.payload = at
            self.size, at = varint(image.data, at)
        if kind in (TABLE_LEAF, TABLE_INTERIOR):
            self.key = at
            _, at = varint(image.data, at)
        self.end = at
        if kind == TABLE_INTERIOR:
            return
        self.record = at
        usable, size = image.size, self.size
        limit = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        self.local = size
        if size > limit:
            least = (usable - 12) * 32 // 255 - 23
            self.local = least + (size - least) % (usable - 4)
            if self.local > limit:
                self.local = least
            self.overflow = at + self.local
        self.end = at + self.local + (4 if self.overflow else 0)


class Image:
    """The bytes of a sound file, and what each page is."""

    def __init__(self, data, roots, parent=None):
        """`roots` are (name, page) of all b-trees."""
        self.data, self.size, self.roots = bytearray(data), 4096, roots
        if parent:
            self.owner, self.chains, self.trunks = parent.owner, parent.chains, parent.trunks
            return
        self.owner, self.chains, self.trunks = {}, {}, []
        for name, root in roots:
            self.walk(name, root)
        trunk = self.get(32, 4)
        while trunk:
            self.trunks.append(trunk)
            trunk = self.get(self.base(trunk), 4)

    def copy(self):
        return Image(self.data, self.roots, self)

    @property
    def count(self):
        return len(self.data) // self.size

    def base(self, page):
        return (page - 1) * self.size

    def start(self, page):
        """Where the header of a b-tree page stands."""
        return 100 if page == 1 else self.base(page)

    def get(self, at, size):
        return int.from_bytes(self.data[at:at + size], "big")

    def put(self, at, size, value):
        self.data[at:at + size] = (value % (1 << 8 * size)).to_bytes(size, "big")

    def kind(self, page):
        return self.data[self.start(page)]

    def cells(self, page):
        return [Cell(self, page, n) for n in range(self.get(self.start(page) + 3, 2))]

    def children(self, page):
        """Where the numbers of an interior page's children stand."""
        return [c.child for c in self.cells(page)] + [self.start(page) + 8]

    def walk(self, name, page):
        self.owner[page] = name
        for cell in self.cells(page):
            if cell.overflow:
                chain, at = [], self.get(cell.overflow, 4)
                while at:
                    chain.append(at)
                    at = self.get(self.base(at), 4)
                self.chains[cell.overflow] = chain
        if self.kind(page) in INTERIORS:
            for at in self.children(page):
                self.walk(name, self.get(at, 4))

    def pages(self, *kinds):
        return [p for p in self.owner if self.kind(p) in kinds]


# Each way takes a generator of random numbers and an image, damages it and says what it did.

def pick_cell(r, image, *kinds):
    page = r.choice(image.pages(*kinds))
    cells = image.cells(page)
    if not cells:
        raise LookupError("a page without cells")
    return page, r.choice(cells)


def place(image, page):
    return f"page {page} of {image.owner.get(page, 'nobody')}"


def cell_pointer(r, image):
    page, cell = pick_cell(r, image, 13, 5, 10, 2)
    other = r.choice(image.cells(page))
    value = r.choice([0, 3, 8, r.randrange(4096), 4090, 4095, 0xffff, r.randrange(65536),
                      image.get(other.pointer, 2), image.get(cell.pointer, 2) + r.choice((-1, 1))])
    image.put(cell.pointer, 2, value)
    return f"a cell pointer of {place(image, page)} is {value}"


def swapped_cells(r, image):
    page = r.choice(image.pages(13, 5, 10, 2))
    cells = image.cells(page)
    one, other = r.choice(cells), r.choice(cells)
    a, b = image.get(one.pointer, 2), image.get(other.pointer, 2)
    image.put(one.pointer, 2, b)
    image.put(other.pointer, 2, a)
    return f"two cells of {place(image, page)} swapped"


def cell_count(r, image):
    page = r.choice(image.pages(13, 5, 10, 2))
    at = image.start(page) + 3
    value = r.choice([image.get(at, 2) - 1, image.get(at, 2) + 1, 0, 1, 0xffff, r.randrange(2000)])
    image.put(at, 2, value)
    return f"{place(image, page)} has {value} cells"


def page_header(r, image):
    page = r.choice(image.pages(13, 5, 10, 2))
    start = image.start(page)
    at, size = r.choice([(0, 1), (1, 2), (5, 2), (7, 1)])
    value = r.choice([0, 2, 5, 10, 13, 1, r.randrange(1 << 8 * size)])
    if at == 1:
        value = r.choice([0, 8, 100, r.randrange(4096), 4094, 0xffff])
    image.put(start + at, size, value)
    return f"byte {at} of {place(image, page)} is {value}"


def lost_cell(r, image):
    """A row or an entry goes, and the page stays sound."""
    page = r.choice(image.pages(13, 10))
    start, cells = image.start(page), image.cells(page)
    if len(cells) < 2:
        raise LookupError("the page's only cell")
    gone = r.randrange(len(cells))
    for index in range(gone, len(cells) - 1):
        image.put(start + 8 + 2 * index, 2, image.get(start + 10 + 2 * index, 2))
    image.put(start + 3, 2, len(cells) - 1)
    return f"cell {gone} of {place(image, page)} is gone"


def doubled_cell(r, image):
    page = r.choice(image.pages(13, 10))
    cells = image.cells(page)
    index = r.randrange(len(cells))
    if index:
        image.put(cells[index].pointer, 2, image.get(cells[index - 1].pointer, 2))
    return f"cell {index} of {place(image, page)} is that before it"


def payload_size(r, image):
    page, cell = pick_cell(r, image, 13, 10, 2)
    value, end = varint(image.data, cell.payload)
    new = max(0, r.choice([value - 1, value + 1, value + 5, 0, value * 2, r.randrange(128)]))
    code = encoded(new)
    if len(code) != end - cell.payload:
        code = (b"\xff" * 8)[:end - cell.payload - 1] + b"\x7f"
    image.data[cell.payload:end] = code
    return f"a payload size of {place(image, page)} is {new}"


def row_key(r, image):
    page, cell = pick_cell(r, image, 13, 5)
    value, end = varint(image.data, cell.key)
    new = max(0, r.choice([value - 1, value + 1, 0, value - 20, value + 50, r.randrange(128)]))
    code = encoded(new)
    if len(code) > end - cell.key:
        code = code[-(end - cell.key):]
    while len(code) < end - cell.key:
        code = b"\x80" + code
    image.data[cell.key:end] = code
    return f"a key of {place(image, page)} is {new}"


def record_header(r, image):
    page, cell = pick_cell(r, image, 13, 13, 10, 2)
    size, at = varint(image.data, cell.record)
    spot = r.randrange(cell.record, min(cell.record + max(size, 1), cell.end))
    old = image.data[spot]
    image.data[spot] = r.choice([0, 1, 7, 8, 9, 10, 11, 12, 13, old ^ 1, (old + 1) % 256,
                                 (old + 2) % 256, r.randrange(256)])
    return f"byte {spot - cell.record} of a record header of {place(image, page)} " \
           f"is {image.data[spot]}, was {old}"


def record_body(r, image):
    page, cell = pick_cell(r, image, 13, 10, 2)
    spot = r.randrange(cell.record, cell.end)
    image.data[spot] ^= 1 << r.randrange(8)
    return f"a bit of a record of {place(image, page)}"


def child(r, image):
    page = r.choice(image.pages(5, 2) or [0])
    if not page:
        raise LookupError("no interior page")
    places = image.children(page)
    at = r.choice(places)
    new = r.choice([0, 1, 2, page, image.count, image.count + 1, 1 << 31, r.randrange(image.count),
                    image.get(r.choice(places), 4), r.choice(list(image.owner)),
                    r.choice(list(image.owner))])
    image.put(at, 4, new)
    return f"a child of {place(image, page)} is page {new}"


def swapped_children(r, image):
    page = r.choice(image.pages(5, 2))
    one, other = (r.choice(image.children(page)) for _ in range(2))
    a, b = image.get(one, 4), image.get(other, 4)
    image.put(one, 4, b)
    image.put(other, 4, a)
    return f"two children of {place(image, page)} swapped"


def overflow(r, image):
    """A chain ends too early, too late, or is another's."""
    at = r.choice(list(image.chains))
    chain = image.chains[at]
    spot = r.choice([at] + [image.base(p) for p in chain])
    others = [p for c in image.chains.values() for p in c]
    new = r.choice([0, 1, 2, chain[0], r.choice(others), image.count + 5, r.choice(others),
                    r.randrange(image.count)])
    image.put(spot, 4, new)
    return f"a page of a chain of {place(image, spot // image.size + 1)} is page {new}"


def free_list(r, image):
    if not image.trunks or r.random() < 0.3:
        at = r.choice([32, 36])
        image.put(at, 4, r.choice([0, 1, 2, r.randrange(image.count), image.count + 1, 1 << 31]))
        return "the free list's head"
    base = image.base(r.choice(image.trunks))
    at = r.choice([0, 4, 8])
    image.put(base + at, 4, r.choice([0, 1, 2, r.choice(list(image.owner)), 1 << 31, 2000]))
    return "a page of the free list"


def pointer_map(r, image):
    spot = image.base(2) + 5 * r.randrange(image.count - 2)
    image.data[spot + r.randrange(5)] = r.choice([0, 1, 2, 3, 4, 5, 6, r.randrange(256)])
    return "an entry of the pointer map"


def file_header(r, image):
    at, size = r.choice([(16, 2), (18, 1), (19, 1), (20, 1), (21, 1), (24, 4), (28, 4), (28, 4),
                         (40, 4), (44, 4), (48, 4), (52, 4), (56, 4), (60, 4), (64, 4), (92, 4)])
    old = image.get(at, size)
    new = r.choice([0, 1, 2, 3, 4, 5, 512, 1024, old + 1, old - 1, r.randrange(1 << 8 * size)])
    image.put(at, size, new)
    return f"byte {at} of the header is {new}, was {old}"


def some_bytes(r, image):
    page = r.choice(list(image.owner))
    count = r.choice([1, 1, 2, 8, 64, 512])
    for _ in range(count):
        image.data[image.base(page) + r.randrange(image.size)] = r.randrange(256)
    return f"{count} bytes of {place(image, page)}"


def page_of_another(r, image):
    one, other = r.choice(list(image.owner)), r.randrange(1, image.count + 1)
    size = image.size
    source = r.choice([bytes(size), b"\xff" * size,
                       bytes(image.data[image.base(other):image.base(other) + size])])
    image.data[image.base(one):image.base(one) + size] = source
    return f"{place(image, one)} is page {other}, or zeros"


def length(r, image):
    whole = len(image.data)
    new = r.choice([r.randrange(1, image.count) * image.size, r.randrange(whole), whole - 1,
                    whole - image.size])
    del image.data[new:]
    return f"{new} of {whole} bytes"


WAYS = [cell_pointer, swapped_cells, cell_count, page_header, lost_cell, doubled_cell,
        payload_size, row_key, record_header, record_header, record_body, child, child,
        swapped_children, overflow, overflow, free_list, pointer_map, file_header, some_bytes,
        some_bytes, page_of_another, length]


def damaged(r, image):
    """A copy with one damage, or two; its bytes, and what was done."""
    copy, done = image.copy(), []
    for _ in range(r.choice((1, 1, 1, 1, 2))):
        try:
            done.append(r.choice(WAYS)(r, copy))
        except (LookupError, ValueError, struct.error):
            if not done:
                return damaged(r, image)
    return bytes(copy.data), "; ".join(done)
