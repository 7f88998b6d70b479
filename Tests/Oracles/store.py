"""Reading a Core Data store by the names in it, for the oracles."""
import os
import plistlib
import re
import shutil
import sqlite3
from dataclasses import dataclass, field

from coredata import Attribute, key

INTERNAL = ("Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE")
# The tables of persistent history, and the numbers of their rows' entities.
HISTORY = {"ACHANGE": 16001, "ATRANSACTION": 16002, "ATRANSACTIONSTRING": 16003}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def copy_store(path, folder, name=None, external=True):
    """Copies a store with its journals and external files, writable; returns the copy's path."""
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, name or os.path.basename(path))
    for suffix in ("", "-wal", "-journal"):
        if os.path.exists(path + suffix):
            shutil.copyfile(path + suffix, target + suffix)
            os.chmod(target + suffix, 0o644)
    if external and os.path.isdir(support_folder(path)):
        shutil.copytree(support_folder(path), support_folder(target), dirs_exist_ok=True)
    return target


def support_folder(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    return os.path.join(os.path.dirname(path), f".{stem}_SUPPORT", "_EXTERNAL_DATA")


class Store:
    """An open store. One without a journal is opened so that nothing appears beside it; one with a
    journal should be a copy, since reading it may create files."""

    def __init__(self, path):
        self.path = path
        wal = os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
        how = "mode=rw" if wal else "mode=ro&immutable=1"
        self.db = sqlite3.connect(f"file:{uri_path(path)}?{how}", uri=True)
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        names = self.rows("select name from sqlite_master where type = 'table'"
                          " and name not like 'sqlite_%'")
        self.tables = {n: {r[1]: r[2].upper() for r in
                           self.rows(f"pragma table_xinfo({quoted(n)})")} for (n,) in names}
        self.uuid, blob = self.rows("select Z_UUID, Z_PLIST from Z_METADATA")[0]
        self.metadata = plistlib.loads(blob)
        self.hashes = self.metadata["NSStoreModelVersionHashes"]

    def rows(self, sql, values=()):
        return self.db.execute(sql, values).fetchall()

    def close(self):
        self.db.close()

    def table(self, name):
        """The rows of a table as dictionaries, by Z_PK; none where the table is missing."""
        if name not in self.tables:
            return {}
        columns = list(self.tables[name])
        sql = f"select {', '.join(map(quoted, columns))} from {quoted(name)}"
        return {r["Z_PK"]: r for r in (dict(zip(columns, row)) for row in self.rows(sql))}

    def primary_keys(self):
        """{Z_ENT: (Z_NAME, Z_SUPER, Z_MAX)}"""
        return {r[0]: r[1:] for r in
                self.rows("select Z_ENT, Z_NAME, Z_SUPER, Z_MAX from Z_PRIMARYKEY")}

    def join_table(self, join):
        """The name that a join has here, or None."""
        wanted = {plain(c) for c in join.columns.values()}
        for name in join.names:
            have = {plain(c) for c in self.tables.get(name, ()) if not c.startswith("Z_FOK_")}
            if have == wanted:
                return name
        return None

    def indexes(self, table):
        """{(unique, ((column, ascending), ...)): [names]} of a table."""
        out = {}
        for _, name, unique, origin, _ in self.rows(f"pragma index_list({quoted(table)})"):
            if origin == "pk":
                continue
            columns = tuple((c, not down) for _, _, c, down, _, is_key in
                            self.rows(f"pragma index_xinfo({quoted(name)})") if is_key)
            out.setdefault((bool(unique), columns), []).append(name)
        return out


def uri_path(path):
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def plain(column):
    """A join column without the number that keeps equal names apart."""
    return re.sub(r"\d+$", "", column)


@dataclass
class Object:
    entity: str
    opt: int
    values: dict          # attribute name -> value
    to_one: dict          # relationship name -> key of the target
    strays: dict = field(default_factory=dict)  # property key -> value that only a relative has


@dataclass
class Content:
    """What a store holds, in the words of its model."""
    objects: dict = field(default_factory=dict)   # (root, key) -> Object
    lists: dict = field(default_factory=dict)     # relationship key -> {owner key: [target keys]}
    maxima: dict = field(default_factory=dict)    # root -> Z_MAX


def read_content(store, layout):
    """The objects of a store and the value of every to-many relationship, in order where there is
    one and by key where there is none."""
    model, content = layout.model, Content()
    names = {number: name for name, number in model.numbers.items()}
    raw = {root: store.table("Z" + root.upper()) for root in model.roots()}
    for root, rows in raw.items():
        for pk, row in rows.items():
            content.objects[root, pk] = read_object(store, layout, names[row["Z_ENT"]], row)
    maxima = store.primary_keys()
    content.maxima = {r: maxima[model.numbers[r]][2] for r in model.roots()}
    for p in model.relationships():
        if p.to_many:
            content.lists[key(p)] = {}
            if model.inverse(p) is None:
                read_foreign(content.lists[key(p)], raw, *layout.foreign[key(p)])
            elif not model.inverse(p).to_many:
                read_one_to_many(content, layout, p, raw)
    for join in layout.joins:
        read_join(content, store, join)
    return content


def read_object(store, layout, entity, row):
    values, to_one = {}, {}
    for name, p in layout.model.stored(entity).items():
        if isinstance(p, Attribute):
            values[name] = read_value(store, p, row[layout.columns[key(p)]])
        elif not p.to_many:
            to_one[name] = row[layout.columns[key(p)]]
    mine = {key(p) for p in layout.model.stored(entity).values()}
    strays = {k: row[c] for k, c in layout.columns.items()
              if layout.model.root(k[0]) == layout.model.root(entity)
              and k not in mine and row[c] is not None}
    return Object(entity, row["Z_OPT"], values, to_one, strays)


@dataclass(frozen=True)
class Missing:
    """The value of an external file that is not there."""
    reference: bytes


def read_value(store, attribute, cell):
    """The value behind a cell: the bytes without their tag, or those of the external file."""
    if not attribute.external or cell is None:
        return cell
    if cell[:1] == b"\x01":
        return cell[1:]
    path = os.path.join(support_folder(store.path), cell[1:37].decode("ascii", "replace"))
    if not os.path.exists(path):
        return Missing(cell)
    with open(path, "rb") as file:
        return file.read()


def by_owner(triples):
    """{owner: [targets]} of (owner, order, target) rows; a missing order comes first."""
    out = {}
    def place(triple):
        return triple[0], -1 if triple[1] is None else triple[1], triple[2]
    for owner, _, target in sorted(triples, key=place):
        out.setdefault(owner, []).append(target)
    return out


def read_foreign(lists, raw, root, column, order):
    lists.update(by_owner((row[column], row[order] if order else None, pk)
                          for pk, row in raw[root].items() if row[column] is not None))


def read_one_to_many(content, layout, p, raw):
    """A to-many whose inverse is to-one lives in the targets' rows."""
    inverse = layout.model.inverse(p)
    root, column = layout.model.root(inverse.owner), layout.columns[key(inverse)]
    order, family = layout.order.get(key(inverse)), set(layout.model.family(inverse.owner))
    content.lists[key(p)] = by_owner(
        (row[column], row[order] if order else None, pk) for pk, row in raw[root].items()
        if content.objects[root, pk].entity in family and row[column] is not None)


def read_join(content, store, join):
    name = store.join_table(join)
    have = {plain(c): c for c in store.tables.get(name, ())}
    for p, other in ((join.relationship, join.inverse), (join.inverse, join.relationship)):
        if name is None:
            content.lists[key(p)] = {}
            continue
        owner, target = (have[plain(join.columns[key(r)])] for r in (other, p))
        order = have[plain(join.orders[key(p)])] if key(p) in join.orders else "null"
        content.lists[key(p)] = by_owner(store.rows(
            f"select {quoted(owner)}, {order if order == 'null' else quoted(order)},"
            f" {quoted(target)} from {quoted(name)}"))
