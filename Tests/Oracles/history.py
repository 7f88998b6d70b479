"""Persistent history for the oracles: plants it in stores, and says what a migration leaves of it.

Which bit of a mask stands for which property is derived again here from
docs/reference/store-format.md.
"""
import sqlite3

from coredata import Attribute, key
from store import quoted

CHANGES, TRANSACTIONS, STRINGS = "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"
FIRST = ["Z_PK", "Z_ENT", "Z_OPT", "ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID",
         "ZCOLUMNS"]
SCHEMA = (
    "create table ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
    "ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, "
    "ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, "
    "ZPROCESSID VARCHAR, ZQUERYGEN BLOB)",
    "create table ATRANSACTIONSTRING (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
    "ZNAME VARCHAR)",
    "create index ACHANGE_ZTRANSACTIONID_INDEX on ACHANGE (ZTRANSACTIONID)",
    *(f"create index ATRANSACTION_{c}_INDEX on ATRANSACTION ({c})"
      for c in ("ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS")),
    "create index Z_TRANSACTION_TransactionAuthorIndex on ATRANSACTION (ZAUTHOR collate binary)",
    "create index Z_TRANSACTION_TransactionTimestampIndex on ATRANSACTION "
    "(ZTIMESTAMP collate binary)",
    "create unique index Z_TRANSACTIONSTRING_UNIQUE_NAME on ATRANSACTIONSTRING "
    "(ZNAME collate binary)",
)
SIZES = ((3, 3), (6, 7), (11, 13), (19, 23), (32, 41), (52, 71), (85, 127), (118, 191),
         (155, 251), (237, 383))


def string_hash(name):
    """The hash of a string, 64 bits."""
    units = [int.from_bytes(name.encode("utf-16-le")[i:i + 2], "little")
             for i in range(0, 2 * len(name), 2)]
    out, place = len(units), 0
    while place + 4 <= len(units):
        a, b, c, d = units[place:place + 4]
        out, place = out * 67503105 + a * 16974593 + b * 66049 + c * 257 + d, place + 4
    for unit in units[place:]:
        out = out * 257 + unit
    out %= 2**64
    return (out + (out << (len(units) & 31))) % 2**64


def slots(layout, entity):
    """What each bit of an entity's masks stands for, and the groups of to-manys, whose order may be
    another than is known."""
    model = layout.model
    levels = list(reversed(model.lineage(entity)))
    own = [p for n in levels for _, p in sorted(model.entities[n].own.items()) if not p.transient]
    # As far as is known a composite, which is its elements here, has one bit.
    attributes = list(dict.fromkeys(
        p.name.partition(".")[0] for p in own if isinstance(p, Attribute)))
    to_ones = [p for p in own if not isinstance(p, Attribute) and not p.to_many]
    to_manys = [p for p in own if not isinstance(p, Attribute) and p.to_many]
    both = [p for p in to_manys if model.inverse(p) and model.inverse(p).to_many]
    single = [p for p in to_manys if p not in both]
    # The columns of owners, in the order of the table.
    columns = list(layout.types[model.root(entity)])
    owners = sorted(((root, column, order, k) for k, (root, column, order) in layout.foreign.items()
                     if model.properties(k[0])[k[1]].destination in levels),
                    key=lambda item: columns.index(item[1]))
    orders = [(layout.order[key(p)], p.name) for p in to_ones if key(p) in layout.order]
    orders += [(order, k[1]) for _, _, order, k in owners if order]
    numbered = [p for p in to_ones if key(p) in layout.polymorphic]
    out = [("property", p.name) for p in to_ones] + [("owner", *k) for *_, k in owners]
    out += [("number", p.name) for p in numbered]
    out += [("order", n) for _, n in sorted(orders, key=lambda o: columns.index(o[0]))]
    out += [("property", n) for n in attributes]
    entries = 3 + 2 * (len(to_ones) + len(owners)) + len(numbered) + len(orders) + len(
        attributes) + len(to_manys)
    size = next((n for most, n in SIZES if entries <= most), None)
    places = {}
    for name in sorted({p.name.partition(".")[0] for p in own}) if size else ():
        place = string_hash(name) % size
        while place in places.values():
            place = (place + 1) % size
        places[name] = place
    groups = []
    for group in (single, both):
        names = sorted((p.name for p in group), key=lambda n: (places.get(n, 0), n))
        groups.append(set(range(len(out), len(out) + len(names))))
        out += [("property", n) for n in names]
    return out, groups


def preserved(model, entity):
    return sorted(n for n, p in model.properties(entity).items()
                  if isinstance(p, Attribute) and p.preserved)


def plant(store, layout, r):
    """Gives a store a history; with whatever Core Data may have written there."""
    model = layout.model
    concrete = model.concrete()
    tombstones = max((len(preserved(model, n)) for n in model.entities), default=0)
    db = sqlite3.connect(store)
    db.isolation_level = None
    db.execute("pragma wal_autocheckpoint = 0")
    extra = "".join(f", ZTOMBSTONE{n} BLOB" for n in range(tombstones))
    db.execute("begin")
    db.execute(f"create table ACHANGE ({', '.join(c + ' INTEGER' for c in FIRST[:-1])}, "
               f"ZCOLUMNS BLOB{extra})".replace("Z_PK INTEGER", "Z_PK INTEGER PRIMARY KEY"))
    for sql in SCHEMA:
        db.execute(sql)
    names = [f"com.example.{n}" for n in range(r.randint(1, 4))]
    transactions = r.choice((0, 1, 20, 300))
    for n, name in enumerate(names if transactions else (), 1):
        db.execute("insert into ATRANSACTIONSTRING values (?, 16003, null, ?)", (n, name))
    for n in range(1, transactions + 1):
        author = r.choice((None, *range(1, len(names) + 1)))
        db.execute("insert into ATRANSACTION (Z_PK, Z_ENT, ZAUTHORTS, ZBUNDLEIDTS, ZPROCESSIDTS, "
                   "ZTIMESTAMP) values (?, 16002, ?, 1, 1, ?)",
                   (n * r.choice((1, 1, 1000)), author, r.uniform(6e8, 8e8))) if not db.execute(
                       "select 1 from ATRANSACTION where Z_PK = ?", (n,)).fetchone() else None
    keys = [k for (k,) in db.execute("select Z_PK from ATRANSACTION")]
    sizes = {n: len(slots(layout, n)[0]) for n in concrete}
    number = 0
    for _ in range(r.choice((0, 5, 400, 4000)) if keys and concrete else 0):
        number += r.choice((1, 1, 1, 1, 7))
        entity, kind = r.choice(concrete), r.choice((0, 1, 1, 2))
        size, mask, stones = sizes[entity], None, [None] * tombstones
        if kind == 1:
            bits = r.getrandbits(size) if size and r.random() < 0.5 else (
                1 << r.randrange(size) if size else 0)
            mask = (bits << (-size % 8)).to_bytes((size + 7) // 8, "big")
        if kind == 2:
            stones = [r.choice((None, "tomb", 7, 2.5, b"\1\2")) for _ in stones]
        db.execute(f"insert into ACHANGE values (?, 16001, null{', ?' * (5 + tombstones)})",
                   (number, kind, model.numbers[entity], r.choice((1, r.randrange(2**40))),
                    r.choice(keys), mask, *stones))
    for n, (table, name) in enumerate(((CHANGES, "CHANGE"), (TRANSACTIONS, "TRANSACTION"),
                                       (STRINGS, "TRANSACTIONSTRING")), 16001):
        highest = db.execute(f"select max(Z_PK) from {table}").fetchone()[0]
        if keys:
            db.execute("insert into Z_PRIMARYKEY values (?, ?, 0, ?)",
                       (n, name, (highest or 0) + r.choice((0, 0, 3))))
    db.execute("commit")
    db.close()


def generated(store, layout, changes):
    """What so many generated changes promise; and the highest keys that they name, by root."""
    model, db, out, highest = layout.model, store.db, [], {}
    names = {n: name for name, n in model.numbers.items()}
    sizes = {n: len(slots(layout, n)[0]) for n in model.concrete()}
    kept = {n: len(preserved(model, n)) for n in model.concrete()}
    transactions, strings = rows(db, TRANSACTIONS), rows(db, STRINGS)
    there = {n: {k for (k,) in db.execute(f"select Z_PK from {quoted('Z' + model.root(n).upper())} "
                                          "where Z_ENT = ?", (model.numbers[n],))}
             for n in model.concrete()}
    seen, kinds, last = {}, {0: 0, 1: 0, 2: 0}, 0
    for k, row in rows(db, CHANGES).items():
        entity, kind, mask = names.get(row["ZENTITY"]), row["ZCHANGETYPE"], row["ZCOLUMNS"]
        if entity not in sizes or row["ZTRANSACTIONID"] not in transactions:
            out.append(f"change {k} of {entity} in transaction {row['ZTRANSACTIONID']}")
            continue
        objekt, root = (entity, row["ZENTITYPK"]), model.root(entity)
        kinds[kind] += 1
        highest[root] = max(highest.get(root, 0), row["ZENTITYPK"])
        wanted = (sizes[entity] + 7) // 8 if kind == 1 else None
        if (len(mask or b"") if kind == 1 else mask) != wanted:
            out.append(f"change {k} of {entity}: kind {kind}, mask {mask}")
        if mask and max(bits(mask), default=-1) >= sizes[entity]:
            out.append(f"change {k} of {entity}: {mask} has bits of no property")
        stones = [row[c] for c in row if c.startswith("ZTOMBSTONE")]
        if any(s is not None for s in stones[kept[entity] if kind == 2 else 0:]):
            out.append(f"change {k} of {entity}: kind {kind}, tombstones {stones}")
        if objekt in seen and (kind == 0 or seen[objekt] == 2) or row["ZTRANSACTIONID"] < last:
            out.append(f"change {k} of {objekt}: kind {kind} after {seen.get(objekt)}")
        seen[objekt], last = kind, row["ZTRANSACTIONID"]
    out += [f"{o}: the last change is of kind {kind}" for o, kind in seen.items()
            if (kind == 2) == (o[1] in there[o[0]])]
    times = [row["ZTIMESTAMP"] for row in transactions.values()]
    if sum(kinds.values()) != changes or min(kinds.values()) < changes / 20:
        out.append(f"kinds of changes: {kinds}")
    if times != sorted(set(times)):
        out.append("times of transactions do not rise")
    out += [f"transaction {k}: {c} is no string" for k, row in transactions.items()
            for c in row if c.endswith("TS") and row[c] is not None and row[c] not in strings]
    noted = dict(db.execute("select Z_NAME, Z_MAX from Z_PRIMARYKEY"))
    out += [f"Z_MAX of {table} is {noted.get(table[1:])}"
            for table in (CHANGES, TRANSACTIONS, STRINGS)
            if max(rows(db, table)) > noted.get(table[1:], -1)]
    return out[:10], highest


def rows(db, table):
    names = [c[1] for c in db.execute(f"pragma table_info({table})")]
    return {row[0]: dict(zip(names, row)) for row in db.execute(
        f"select * from {quoted(table)} order by Z_PK")}


def differences(old, new, mapping, source, destination):
    """Where the history of a migrated store is not what the old one leads to.

    `mapping` pairs entities and properties of the two models."""
    numbers = (source.model.numbers, destination.model.numbers)
    names = {n: name for name, n in numbers[0].items()}
    become = {before: after for after, before in mapping.entities.items()}
    known = {}
    found = []
    before, after = rows(old, CHANGES), rows(new, CHANGES)
    for k, row in before.items():
        name = names[row["ZENTITY"]]
        other = after.pop(k, None)
        if name not in become:
            found += [f"change {k} of {name}, which is gone, is there"] if other else []
            continue
        if other is None:
            found.append(f"change {k} of {name} is gone")
            continue
        if name not in known:
            known[name] = Pair(source, name, destination, become[name], mapping)
        found += known[name].differences(row, other)
    found += [f"change {k} comes from nowhere" for k in after]
    for table in (TRANSACTIONS, STRINGS):
        one, two = rows(old, table), rows(new, table)
        found += [f"{table} {k}: {two.get(k)} instead of {row}" for k, row in one.items()
                  if two.get(k) != row]
        most = {TRANSACTIONS: 1, STRINGS: 2}[table] if rows(old, TRANSACTIONS) else 0
        added = [k for k in two if k not in one]
        if table == TRANSACTIONS and len(added) != most or len(added) > most:
            found.append(f"{table}: {len(added)} rows are new")
        if any(k < max(one) for k in added):
            found.append(f"{table}: new rows {added} are not the last ones")
    return found


class Pair:
    """An entity before and after a migration."""

    def __init__(self, source, name, destination, other, mapping):
        self.name, self.number = name, destination.model.numbers[other]
        (self.old, before), (self.new, after) = slots(source, name), slots(destination, other)
        # Bits whose owner is not known for certain, before and after.
        self.unsure = set().union(*(g for g in before if len(g) > 1))
        self.loose = set().union(*(g for g in after if len(g) > 1))
        elements = [[n for n in layout.model.properties(e) if "." in n]
                    for layout, e in ((source, name), (destination, other))]
        self.same = self.old == self.new and elements[0] == elements[1]
        self.vague = any(elements)
        stones = preserved(source.model, name)
        pairs = mapping.properties.get(other, {})
        # A transient attribute has no pair.
        origins = [pairs.get(n, n if n not in pairs.values() else None)
                   for n in preserved(destination.model, other)]
        self.stones = [stones.index(o) if o in stones else None for o in origins]

    def differences(self, row, other):
        out = [f"change {row['Z_PK']} of {self.name}: {c} is {other[c]} instead of {wanted}"
               for c, wanted in ((c, self.number if c == "ZENTITY" else row[c])
                                 for c in FIRST if c != "ZCOLUMNS") if other[c] != wanted]
        out += self.mask_differences(row, other)
        count = sum(c.startswith("ZTOMBSTONE") for c in other)
        for n in range(count):
            origin = self.stones[n] if n < len(self.stones) else n
            wanted = None if origin is None else row.get(f"ZTOMBSTONE{origin}")
            if other[f"ZTOMBSTONE{n}"] != wanted:
                out.append(f"change {row['Z_PK']}: tombstone {n} is {other[f'ZTOMBSTONE{n}']} "
                           f"instead of {wanted}")
        return out

    def mask_differences(self, row, other):
        mask, result = row["ZCOLUMNS"], other["ZCOLUMNS"]
        if mask is None or self.same:
            return [] if mask == result else [f"mask {result} instead of {mask}"]
        if result is None or len(result) != (len(self.new) + 7) // 8:
            return [f"change {row['Z_PK']}: a mask of the wrong size {result}"]
        wanted = set()
        for place in bits(mask):
            kind, *name = self.old[place]
            for n, (other_kind, *other_name) in enumerate(self.new):
                # A reference and its place among others change together.
                alike = {kind, other_kind} <= {"property", "order"} or kind == other_kind
                if alike and name == other_name:
                    wanted.add(n)
        have, loose = set(bits(result)), set(self.loose)
        if self.unsure.intersection(bits(mask)):
            names = {self.old[n] for n in self.unsure}
            loose |= {n for n, slot in enumerate(self.new) if slot in names}
        # Of an entity with composites any bit may be set besides.
        if wanted - have or have - wanted - loose and not self.vague:
            return [f"change {row['Z_PK']} of {self.name}: bits {sorted(have)} instead of "
                    f"{sorted(wanted)}"]
        return []


def bits(mask):
    return [8 * n + b for n, byte in enumerate(mask) for b in range(8) if byte & 0x80 >> b]


def settle(store):
    """Gives the transaction that the migration added a time of its own, for comparing bytes."""
    db = sqlite3.connect(store)
    db.execute("pragma journal_mode = delete")
    if db.execute("select 1 from sqlite_master where name = ?", (TRANSACTIONS,)).fetchone():
        db.execute("update ATRANSACTION set ZTIMESTAMP = 1.5 where ZAUTHORTS in (select Z_PK from "
                   "ATRANSACTIONSTRING where ZNAME glob 'Godwit *')")
        db.commit()
        db.execute("vacuum")
    db.close()
