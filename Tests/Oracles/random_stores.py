"""Random stores: an empty store of a model, made anew in a random form and filled with values that
SQLite may hold there."""
import os
import shutil
import sqlite3

from coredata import Attribute, key
from random_values import Invalid
from store import INTERNAL, quoted


# The key of a row whose entity the model does not have.
STRAY = 2**40 + 7


class Form:
    """The form of a store's file, and how odd its contents are."""

    def __init__(self, random):
        r = random
        self.page_size = r.choice((512, 1024, 2048, 4096, 4096, 4096, 8192, 16384, 32768, 65536))
        self.auto_vacuum = r.choice((0, 1, 2, 2))
        self.journal = r.choice(("wal", "delete"))
        self.encoding = "UTF-16le" if r.random() < 0.04 else "UTF-8"
        # What Core Data itself could have written, so that the models tell what must come of it.
        self.tame = r.random() < 0.4
        self.odd = r.random() < 0.5 and not self.tame
        self.short = r.random() < 0.4 and not self.tame
        self.defaults = r.random() < 0.15 and not self.tame
        self.free_pages = r.random() < 0.5

    def __str__(self):
        flags = [n for n in ("tame", "odd", "short", "defaults", "free_pages") if getattr(self, n)]
        return " ".join([f"page_size={self.page_size}", f"auto_vacuum={self.auto_vacuum}",
                         self.journal, self.encoding, *flags])


class Filler:
    """Decides what the tables of one store hold."""

    def __init__(self, random, form, layout, values):
        self.random, self.form, self.layout, self.values = random, form, layout, values
        self.model, self.keys = layout.model, {}  # entity -> its objects' keys
        self.places = 0

    # Keys

    def make_keys(self, count):
        """Distinct keys, in no order."""
        r = self.random
        style = r.choice(("dense", "dense", "gaps", "high", "negative", "scattered", "runs"))
        if style == "dense":
            found = set(range(1, count + 1))
        elif style == "runs":
            found = {s * 10**r.choice((3, 9, 15)) + i for s in range(3) for i in range(count)}
            found = set(r.sample(sorted(found), count))
        else:
            low, high = {"gaps": (1, 50 * count + 1), "high": (2**62 - 20 * count - 2, 2**62),
                         "negative": (-50 * count - 1, 50 * count + 1),
                         "scattered": (-2**62, 2**62)}[style]
            found = {r.randint(low, high) for _ in range(count)}
            if style == "scattered" and r.random() < 0.3:
                found |= {-2**63, 2**63 - 1, 0}
        found = list(found)
        r.shuffle(found)
        return found

    def plan(self):
        """Which keys each entity gets."""
        r = self.random
        for root in self.model.roots():
            family = [n for n in self.model.family(root) if not self.model.entities[n].abstract]
            rows = r.choice((0, 1, 7, 40, 150, 150, 600, 2500)) if family else 0
            shares = [r.random() for _ in family]
            chosen = r.choices(family, shares, k=rows) if family else []
            self.keys.update({n: [] for n in self.model.family(root)})
            for pk, entity in zip(self.make_keys(rows), chosen):
                self.keys[entity].append(pk)

    def targets(self, entity):
        return [pk for n in self.model.family(entity) for pk in self.keys[n]]

    # Rows

    def rows(self, root):
        """{key: cells} of a root's table, without relationships."""
        out, r = {}, self.random
        for entity in self.model.family(root):
            stored = self.model.stored(entity)
            for pk in self.keys[entity]:
                cells = {"Z_PK": pk, "Z_ENT": self.model.numbers[entity],
                         "Z_OPT": r.choice((1, 1, 2, 300, None))}
                for p in stored.values():
                    if isinstance(p, Attribute):
                        cells[self.layout.columns[key(p)]] = self.values.value(p, len(out))
                out[pk] = cells
        if self.form.odd and r.random() < 0.5 and len(self.model.family(root)) > 1:
            out[STRAY] = {"Z_PK": STRAY, "Z_ENT": r.choice((None, 9999)), "Z_OPT": 1}
        return out

    def relate(self, tables, alone):
        """Sets to-one relationships and owners; `alone` names those that no two objects share."""
        done = set()
        for p in self.model.relationships():
            inverse = self.model.inverse(p)
            if p.to_many:
                if inverse is None:
                    self._own(tables, p)
                continue
            if key(p) in done:
                continue
            back = inverse if inverse and not inverse.to_many else None
            done |= {key(p), key(inverse) if back else key(p)}
            self._lead(tables, p, back, bool(back) or key(p) in alone)

    def _lead(self, tables, p, back, alone):
        r = self.random
        owners, targets = self.targets(p.owner), self.targets(p.destination)
        r.shuffle(owners)
        if back and key(back) == key(p):
            targets = list(owners)
        left = r.sample(targets, len(targets)) if alone else None
        for owner in owners:
            if r.random() < 0.25 or not targets or alone and not left:
                continue
            target = left.pop() if alone else r.choice(targets)
            if not back and not alone and not self.form.tame and r.random() < 0.02:
                target = r.choice((0, 999_999_999, -5, 2**40))
            self._point(tables, p, owner, target)
            if back and key(back) != key(p):
                self._point(tables, back, target, owner)

    def _point(self, tables, p, owner, target):
        cells = tables[self.model.root(p.owner)][owner]
        cells[self.layout.columns[key(p)]] = target
        if key(p) in self.layout.polymorphic:
            family = tables[self.model.root(p.destination)]
            cells[self.layout.polymorphic[key(p)]] = family.get(target, {}).get("Z_ENT")
        if key(p) in self.layout.order:
            cells[self.layout.order[key(p)]] = self.place()

    def place(self):
        if self.form.tame:
            self.places += 1
            return self.places * 7919 % 2**31
        return self.random.choice((None, self.random.randint(1, 2**20) * 1024))

    def _own(self, tables, p):
        root, column, order = self.layout.foreign[key(p)]
        owners = self.targets(p.owner)
        for pk in self.targets(p.destination) if owners else ():
            if self.random.random() < 0.6:
                tables[root][pk][column] = self.random.choice(owners)
                if order:
                    tables[root][pk][order] = self.place()

    def join_rows(self, join, columns):
        """Rows of a join table, whose first two columns are the keys."""
        r = self.random
        ends = [join.columns.get(key(p)) for p in (join.relationship, join.inverse)]
        first, second = (self.targets(p.destination) for p in (join.relationship, join.inverse))
        if columns[0] == ends[1]:
            first, second = second, first
        if not first or not second:
            return []
        count = min(r.choice((0, 5, len(first), 4 * len(first))), 4000)
        pairs = {(r.choice(first), r.choice(second)) for _ in range(count)}
        if r.random() < 0.3 and not self.form.tame:
            pairs.add((r.choice(first), 123_456_789_012))
        rows = [(*pair, *(self.place() for _ in columns[2:])) for pair in pairs]
        r.shuffle(rows)
        return rows


def make_store(template, path, filler, alone):
    """Makes a store of the form of the filler from an empty one, with a log beside it or none."""
    r, form = filler.random, filler.form
    scratch = path + ".making"
    db = sqlite3.connect(scratch)
    db.isolation_level = None
    for pragma in (f"page_size = {form.page_size}", f"encoding = '{form.encoding}'",
                   f"auto_vacuum = {form.auto_vacuum}", "synchronous = off",
                   f"journal_mode = {form.journal}", "wal_autocheckpoint = 0"):
        db.execute(f"pragma {pragma}")
    db.execute("begin")
    later = copy_schema(template, db, r, form, filler)
    db.execute("commit")
    db.execute("pragma wal_checkpoint(truncate)")
    db.execute("begin")
    filler.plan()
    tables = {root: filler.rows(root) for root in filler.model.roots()}
    filler.relate(tables, alone)
    rows = [("Z" + root.upper(), cells) for root in tables for cells in tables[root].values()]
    for join in filler.layout.joins:
        name, columns = join_columns(db, join)
        rows += [(name, dict(zip(columns, row))) for row in filler.join_rows(join, columns)]
    write(db, r, form, rows, later)
    finish(db, r, form, filler, tables)
    shutil.move(scratch, path) if form.journal == "delete" else None
    if form.journal == "wal":
        for suffix in ("", "-wal"):
            shutil.copyfile(scratch + suffix, path + suffix)
    db.close()
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(scratch + suffix):
            os.remove(scratch + suffix)


def copy_schema(template, db, r, form, filler):
    """Makes the tables and indexes; columns that are added later: [(table, column, type)]."""
    old = sqlite3.connect(f"file:{template}?mode=ro&immutable=1", uri=True)
    # R-trees come with their values, in derived.py.
    statements = old.execute("select sql from sqlite_master where sql is not null and type = ? "
                             "and name not glob 'Z_RT_*'", ("table",)).fetchall()
    indexes = old.execute("select sql from sqlite_master where sql is not null and type = 'index'")
    if form.free_pages:
        db.execute("create table filler (x)")
    for (sql,) in statements:
        db.execute(sql)
    for table in INTERNAL:
        for row in old.execute(f"select * from {table}"):
            db.execute(f"insert into {table} values ({', '.join('?' * len(row))})", row)
    later = []
    for root, types in filler.layout.types.items():
        table = "Z" + root.upper()
        # A default would be the value of many rows.
        unique = {filler.layout.columns.get(k) for k in filler.values.unique}
        free = [c for c in types if c not in ("Z_PK", "Z_ENT", "Z_OPT")
                and not (form.defaults and c in unique)]
        if form.short and free:
            for column in r.sample(free, r.randint(1, min(3, len(free)))):
                db.execute(f"alter table {table} drop column {quoted(column)}")
                later.append((table, column, types[column]))
    later += [sql for (sql,) in indexes.fetchall()]
    old.close()
    return later


def join_columns(db, join):
    for name in join.names:
        columns = [c[1] for c in db.execute(f"pragma table_info({quoted(name)})")]
        if columns:
            return name, columns
    raise LookupError(f"join table {join.names}")


def write(db, r, form, rows, later):
    """Inserts, deletes and changes rows, so that pages are filled as use leaves them."""
    r.shuffle(rows)
    cut = r.randint(0, len(rows))
    missing = {}
    for item in later:
        if isinstance(item, tuple):
            missing.setdefault(item[0], set()).add(item[1])
    for number, (table, cells) in enumerate(rows):
        if number == cut:
            complete(db, r, form, later)
        gone = missing.get(table, ()) if number < cut else ()
        insert(db, table, {c: v for c, v in cells.items() if c not in gone})
        if r.random() < 0.05:
            columns = [c for c in cells if not c.startswith("Z_") and c not in gone]
            if columns and "Z_PK" in cells:
                # Written twice, at another size between.
                column = r.choice(columns)
                for value in (bytes(r.randint(0, 5000)), cells[column]):
                    if not (number >= cut and isinstance(value, bytes) and value != cells[column]):
                        db.execute(f"update {table} set {quoted(column)} = {mark(value)} "
                                   "where Z_PK = ?", (plain(value), cells["Z_PK"]))
    if cut == len(rows):
        complete(db, r, form, later)


def complete(db, r, form, later):
    for item in later:
        if isinstance(item, tuple):
            table, column, declared = item
            given = " default 0" if form.defaults and declared == "INTEGER" else ""
            db.execute(f"alter table {table} add column {quoted(column)} {declared}{given}")
        else:
            db.execute(item)


def insert(db, table, cells):
    names = ", ".join(map(quoted, cells))
    marks = ", ".join(mark(v) for v in cells.values())
    db.execute(f"insert into {quoted(table)} ({names}) values ({marks})",
               [plain(v) for v in cells.values()])


def mark(value):
    return "cast(? as text)" if isinstance(value, Invalid) else "?"


def plain(value):
    return bytes(value) if isinstance(value, Invalid) else value


def finish(db, r, form, filler, tables):
    if form.free_pages:
        for _ in range(r.randint(1, 200)):
            db.execute("insert into filler values (?)", (bytes(r.randint(0, 9000)),))
        db.execute("drop table filler")
    for root, rows in tables.items():
        highest = max([0, *rows]) + r.choice((0, 0, 5))
        db.execute("update Z_PRIMARYKEY set Z_MAX = ? where Z_ENT = ?",
                   (min(highest, 2**63 - 1), filler.model.numbers[root]))
    db.execute("commit")
    if form.journal == "wal" and r.random() < 0.5:
        db.execute("pragma wal_checkpoint(truncate)")
