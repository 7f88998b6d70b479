"""What a salvage has to take of a damaged store, by the pages of the store as it was before."""
import sqlite3
import struct

from mutant_stores import (
    NUMBER_COLUMNS, NUMBERS, TABLES, Text, canonical, expected, open_immutable, rows_of)
from sqlite_pages import INTERIORS, TABLE_LEAF, Cell, varint

MAP_PAGE = 2


class Judge:
    """Compares the pages of a store with those of the same store, damaged."""

    def __init__(self, sound, data):
        """`sound` is the image of the store before."""
        self.sound = sound
        size = sound.size
        count = len(data) // size
        self.touched = {p for p in range(1, sound.count + 1)
                        if p > count or data[(p - 1) * size:p * size]
                        != sound.data[(p - 1) * size:p * size]}
        self.mutant = sound.copy()
        self.mutant.data = bytearray(data)
        # The pointer map tells whose a page is that two name.
        base = sound.base(MAP_PAGE)
        self.unmapped = {MAP_PAGE + 1 + n for n in range(sound.count - MAP_PAGE)
                         if data[base + 5 * n:base + 5 * n + 5]
                         != sound.data[base + 5 * n:base + 5 * n + 5]}
        self.roots = dict(sound.roots)
        self.before, self.certain = {}, {}
        for table in TABLES:
            self.before[table], self.certain[table] = self.walk(table)
        self.found = {t: self.stands(t) for t in TABLES}

    # The store as it was

    def walk(self, table):
        """{key: values} of a table, and the keys whose rows no damage can have reached."""
        rows, certain = {}, set()

        def visit(page, is_safe):
            is_safe = is_safe and not self.is_reached(page)
            if self.sound.kind(page) in INTERIORS:
                for at in self.sound.children(page):
                    visit(self.sound.get(at, 4), is_safe)
                return
            for cell in self.sound.cells(page):
                key, values, chain = decoded(self.sound, cell)
                rows[key] = values
                if is_safe and not any(self.is_reached(p) for p in chain):
                    certain.add(key)
        visit(self.roots[table], True)
        return rows, certain

    def is_reached(self, page):
        return page in self.touched or page in self.unmapped

    def stands(self, table):
        """{key: [values]} of all rows that stand on any touched page, as rows of that table may."""
        rows = {}
        for page in self.touched | self.unmapped:
            try:
                if self.mutant.kind(page) != TABLE_LEAF:
                    continue
                cells = range(self.mutant.get(self.mutant.start(page) + 3, 2))
            except IndexError:
                continue
            for index in cells:
                try:
                    key, values, _ = decoded(self.mutant, Cell(self.mutant, page, index))
                except (IndexError, ValueError, struct.error):
                    continue
                rows.setdefault(key, []).append(values)
        # A row keeps its page, and its chain is another one's now.
        for page, owner in self.sound.owner.items():
            if owner == table and self.sound.kind(page) == TABLE_LEAF:
                for cell in self.sound.cells(page):
                    if cell.overflow:
                        try:
                            key, values, _ = decoded(self.mutant, cell)
                        except (IndexError, ValueError, struct.error):
                            continue
                        rows.setdefault(key, []).append(values)
        return rows

    # The result

    def faults(self, results, telling, engine="sql"):
        """What is wrong with the rows of a result, and with what was told of them.

        Objects made one by one lose references that lead nowhere, and get places and save counts of
        their own: only their other values are compared."""
        found = []
        told = {t["table"]: t for t in (telling or {}).get("tables", [])}
        for table in TABLES:
            columns, rows, kinds = results[table]
            compared = [n for n, name in enumerate(columns)
                        if engine != "objects" or not is_linked(table, name)]
            lines = self.table_faults(table, columns, rows, kinds, told.get(table), compared,
                                      self.ends(table, results) if engine == "objects" else None)
            found += [f"{table}: {line}" for line in lines]
        return found

    def ends(self, table, results):
        """Whether both objects of a pair are in the result."""
        if not table.startswith("Z_"):
            return None
        creatures = set(results["ZCREATURE"][1])
        others = creatures if table == "Z_1FRIENDS" else set(results["ZPLACE"][1])
        return lambda row: row[0] in creatures and row[1] in others

    def table_faults(self, table, columns, rows, kinds, told, compared, are_there=None):
        def chosen(row):
            return tuple(canonical(row[n], kinds[n]) for n in compared)

        def made(key, values):
            names = self.columns(table)
            row = values + [None] * (len(names) - len(values))
            row = [key if n == "Z_PK" else v for n, v in zip(names, row)]
            return chosen(expected((names, [row]), columns)[0])
        found = []
        wanted = {k: made(k, v) for k, v in self.before[table].items()}
        have = {k: chosen(row) for k, row in rows.items()}
        if are_there:
            wanted = {k: row for k, row in wanted.items() if are_there(row)}
        if table.startswith("Z_"):
            # The rows of a join table get other numbers; each pair is there once.
            numbers = {row: k for k, row in wanted.items()}
            have = {numbers.get(row, ("new", row)): row for row in have.values()}
        certain = self.certain[table] & set(wanted)
        changed = [k for k in certain if have.get(k, wanted[k]) != wanted[k]]
        lost = sorted(k for k in certain if k not in have)
        if lost:
            found.append(f"{len(lost)} rows on sound pages are missing: {lost[:9]}")
        if changed:
            found.append(f"{len(changed)} rows on sound pages have other values: {changed[:9]}")
        untold = sorted(k for k in wanted if k not in have and not is_told(k, told))
        if table.startswith("Z_"):
            untold = self.unchanged_pairs(table, untold, made, have, told, are_there)
        else:
            untold = [k for k in untold if not self.is_gone_without_a_trace(table, k)]
        if untold:
            found.append(f"{len(untold)} missing rows are in no range that was told: {untold[:9]}")
        standing = {made(k, self.without_unknown(table, v))
                    for k, all_ in self.found[table].items() for v in all_}
        invented = [k for k, row in have.items() if k not in certain
                    and row != wanted.get(k) and row not in standing]
        if invented:
            found.append(f"{len(invented)} rows stand nowhere: {invented[:9]}"[:300])
        return found

    def columns(self, table):
        if not hasattr(self, "names"):
            self.names = {}
        if table not in self.names:
            db = sqlite3.connect(":memory:")
            text = next(values[4] for values in self.schema() if values[1] == Text(table.encode()))
            db.execute(bytes(text).decode())
            self.names[table] = [r[1] for r in db.execute(f"pragma table_info({table})")]
            db.close()
        return self.names[table]

    def schema(self):
        pages = [p for p, owner in self.sound.owner.items()
                 if owner == "schema" and self.sound.kind(p) == TABLE_LEAF]
        return [decoded(self.sound, c)[1] for p in pages for c in self.sound.cells(p)]

    def without_unknown(self, table, values):
        """The values of a row as any store with them is migrated: the number of an unknown entity
        beside a reference goes."""
        names = self.columns(table)
        return [None if name in NUMBER_COLUMNS - {"Z_ENT"} and value not in NUMBERS else value
                for name, value in zip(names, values)]

    def unchanged_pairs(self, table, missing, made, have, told, are_there):
        """The missing pairs but those in whose row another one stands, which is in the result: one
        for each of them, and for no other pair.

        That pair may stand in another row, too: one of the two is lost then, and that one is told.
        Or it stood in another row before, in which a third one stands now. Objects lose a pair that
        leads to an object that is not there."""
        new = {row for key, row in have.items() if isinstance(key, tuple)}
        new |= {row for key, row in have.items() if not isinstance(key, tuple)
                and is_told(key, told)}
        before = {row: key for key, row in have.items() if not isinstance(key, tuple)}

        def standing(key):
            return [made(key, v) for v in self.found[table].get(key, ())]

        def takes(key, seen):
            for row in standing(key):
                if are_there and not are_there(row):
                    return True
                if row in new:
                    new.remove(row)
                    return True
                other = before.get(row)
                if other is not None and other not in seen and takes(other, seen | {other}):
                    return True
            return False
        return [key for key in missing if not takes(key, {key})]

    def is_gone_without_a_trace(self, table, key):
        """Whether a row went without anything that tells: SQLite reads the table of the damaged
        store to its end, finds nothing wrong with it and no such row, and no index names it; or the
        row is there with another value."""
        db = sqlite3.connect(":memory:")
        try:
            db.deserialize(bytes(self.mutant.data))
            keys = {k for k, in db.execute(f"select rowid from {table} not indexed")}
            indexed = db.execute(f"select count(*) from pragma_index_list('{table}')").fetchone()[0]
            bad = [line for line, in db.execute(f"pragma integrity_check({table})")]
            return key not in keys and (not indexed or bad == ["ok"])
        except sqlite3.Error:
            return False
        finally:
            db.close()

    def alike(self, one, other):
        """Whether two engines that make rows made the same."""
        return (one[0], one[1]) == (other[0], other[1])


def is_linked(table, name):
    """Whether a column is about other objects, or about how often an object was saved."""
    if table.startswith("Z_"):
        return name.startswith("Z_FOK_")
    return name in ("Z_OPT", "ZHERD", "ZOWNER", "Z1_OWNER") or name.startswith("Z_FOK_")


def is_told(key, told):
    """Whether a key is in a range of keys that the report names as lost or perhaps lost."""
    return told is not None and any(
        r.get("first", key) <= key <= r.get("last", key)
        for r in told["ranges"] + told["lostKeys"])


def rows_of_result(path):
    """{table: (columns, {key: row}, types)} of a result, and what is not sound about it."""
    db, out = open_immutable(path), {}
    try:
        answer = db.execute("pragma integrity_check(3)").fetchall()
        if answer != [(Text(b"ok"),)]:
            return out, [f"the result is not sound: {answer}"[:300]]
        for table in TABLES:
            columns, _ = rows_of(db, table)
            rows = {int(r[0]): r[1:] for r in db.execute(
                f"select rowid, * from {table} not indexed")}
            kinds = [d[2].decode() for d in db.execute(f"pragma table_info({table})")]
            out[table] = columns, rows, kinds
        return out, []
    except sqlite3.Error as error:
        return out, [f"the result cannot be read: {error}"]
    finally:
        db.close()


def excuse(judge, done):
    """What is wrong with a refusal: damage has to reach what nothing replaces."""
    needed = {1} | {root for name, root in judge.sound.roots}
    metadata = {p for p, owner in judge.sound.owner.items()
                if owner in ("Z_METADATA", "Z_MODELCACHE", "schema")}
    if "Old.sqlite" not in done.err:
        return [f"status {done.status} without the file's name: {done.err[-300:]}"]
    if done.status == 65 and (needed | metadata) & judge.touched:
        return []
    # What the metadata say of the model may be that of no other.
    if done.status == 78 and "was made with a model" in done.err and metadata & judge.touched:
        return []
    return [f"status {done.status}, and nothing is lost that cannot do without: {done.err[-400:]}"]


# Records

def decoded(image, cell):
    """The key of a leaf's cell, its values, and the pages of its chain."""
    key, _ = varint(image.data, cell.key)
    key = key - (1 << 64) if key >> 63 else key
    record, chain = bytes(image.data[cell.record:cell.record + cell.local]), []
    at = image.get(cell.overflow, 4) if cell.overflow else 0
    while len(record) < cell.size:
        if not 1 < at <= image.count or at in chain:
            raise ValueError("a broken chain")
        chain.append(at)
        base = image.base(at)
        record += bytes(image.data[base + 4:base + min(image.size, 4 + cell.size - len(record))])
        at = image.get(base, 4)
    if at or len(record) != cell.size:
        raise ValueError("a chain of another length")
    return key, values_of(record), chain


def values_of(record):
    """The values of a record by "Database File Format", section 2.1."""
    end, at = varint(record, 0)
    body, out = end, []
    while at < end:
        kind, at = varint(record, at)
        size = (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
        part = record[body:body + size]
        body += size
        if kind in (10, 11) or len(part) < size:
            raise ValueError("no record")
        if kind >= 12:
            out.append(Text(part) if kind % 2 else part)
        elif kind == 7:
            out.append(struct.unpack(">d", part)[0])
        else:
            out.append(None if not kind else kind - 8 if kind > 7
                       else int.from_bytes(part, "big", signed=True))
    if body != len(record):
        raise ValueError("bytes are left")
    return out
