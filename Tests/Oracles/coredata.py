"""Core Data's models and what a store of a model must look like, for the oracles.

Nothing here is shared with the Swift engine: model sources are read again, version hashes are
computed again, and tables and columns are derived again from the format as it was observed in real
stores. Python's standard library only.
"""
import hashlib
import os
import plistlib
import struct
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

ATTRIBUTE_TYPES = {
    "": 0, "Integer 16": 100, "Integer 32": 200, "Integer 64": 300, "Decimal": 400, "Double": 500,
    "Float": 600, "String": 700, "Boolean": 800, "Date": 900, "Binary": 1000, "UUID": 1100,
    "URI": 1200, "Transformable": 1800,
}
INTEGERS = {"Integer 16": (-2**15, 2**15 - 1), "Integer 32": (-2**31, 2**31 - 1),
            "Integer 64": (-2**63, 2**63 - 1)}
REALS = ("Decimal", "Double", "Float")
NUMBERS = (*INTEGERS, *REALS, "Boolean")
DECLARATIONS = {
    "Integer 16": "INTEGER", "Integer 32": "INTEGER", "Integer 64": "INTEGER", "Boolean": "INTEGER",
    "Double": "FLOAT", "Float": "FLOAT", "Date": "TIMESTAMP", "Decimal": "DECIMAL",
    "String": "VARCHAR", "URI": "VARCHAR", "UUID": "BLOB", "Binary": "BLOB",
    "Transformable": "BLOB",
}


def yes(element, key):
    return element.get(key) == "YES"


@dataclass
class Property:
    """An attribute or a relationship, with the name of the entity that declares it."""
    owner: str
    name: str
    optional: bool
    transient: bool
    renaming: str
    modifier: str

    def base_hash(self):
        flags = (1 if self.optional else 0) | (2 if self.transient else 0)
        name = self.name.rpartition(".")[2]  # of an element its own name
        return sha(name.encode() + bytes([flags, 0]) + self.modifier.encode())


@dataclass
class Attribute(Property):
    type: str
    default_text: str | None
    external: bool
    preserved: bool
    derivation: str | None
    indexed: bool

    def hash(self):
        if self.derivation is not None:
            return sha(derivation_description(self.derivation).encode())
        flags = (b"\x01" if self.external else b"") + (b"\x01" if self.preserved else b"")
        return sha(self.base_hash() + struct.pack("<I", ATTRIBUTE_TYPES[self.type]) + flags)

    @property
    def default(self):
        return None if self.default_text is None else parsed_default(self.type, self.default_text)


@dataclass
class Relationship(Property):
    destination: str
    inverse: str | None
    to_many: bool
    ordered: bool
    min_count: int
    max_count: int

    def hash(self):
        return sha(self.base_hash() + self.destination.encode() + (self.inverse or "").encode()
                   + struct.pack("<ii", self.max_count, self.min_count)
                   + (b"\x01\x00" if self.ordered else b""))


@dataclass
class Entity:
    name: str
    parent: str | None
    abstract: bool
    renaming: str
    modifier: str
    own: dict = field(default_factory=dict)
    constraints: list = field(default_factory=list)
    indexes: list = field(default_factory=list)  # lists of (property, ascending)


def sha(data):
    return hashlib.sha256(data).digest()


def derivation_description(expression):
    """The text that a derivation expression hashes as."""
    if expression.endswith(".@count"):
        return f"count:({expression[:-len('.@count')]})"
    return expression


def parsed_default(kind, text):
    if kind in INTEGERS or kind == "Boolean":
        return {"YES": 1, "NO": 0}.get(text, None) if text in ("YES", "NO") else (
            int(float(text)) if "." in text else int(text))
    if kind in REALS or kind == "Date":
        return float(text)
    return text


class Model:
    """One version of a managed object model, read from an `.xcdatamodel`."""

    def __init__(self, folder):
        self.path = folder
        root = ElementTree.parse(os.path.join(folder, "contents")).getroot()
        self.identifier = root.get("userDefinedModelVersionIdentifier", "")
        composites = {c.get("name"): c for tag in ("composite", "compositeAttribute")
                      for c in root.findall(tag)}
        self.entities = {e.name: e for e in (
            read_entity(element, composites) for element in root.findall("entity"))}
        self.children = {name: [] for name in self.entities}
        for entity in self.entities.values():
            if entity.parent:
                self.children[entity.parent].append(entity.name)
        self.order = self._depth_first()
        self.numbers = {name: number for number, name in enumerate(self.order, 1)}
        self._hashes = {}

    def _depth_first(self):
        out = []

        def visit(names):
            for name in sorted(names, key=lambda n: (n.lower(), n)):
                out.append(name)
                visit(self.children[name])
        visit([n for n, e in self.entities.items() if not e.parent])
        return out

    def lineage(self, name):
        """The entity and its ancestors, the nearest first."""
        out = []
        while name:
            out.append(name)
            name = self.entities[name].parent
        return out

    def root(self, name):
        return self.lineage(name)[-1]

    def roots(self):
        return [n for n in self.order if not self.entities[n].parent]

    def family(self, name):
        """The entity and its descendants."""
        return [n for n in self.order if name in self.lineage(n)]

    def properties(self, name):
        """All properties of an entity, inherited ones included, by name."""
        out = {}
        for ancestor in reversed(self.lineage(name)):
            out.update(self.entities[ancestor].own)
        return out

    def stored(self, name):
        return {n: p for n, p in self.properties(name).items() if not p.transient}

    def concrete(self):
        return [n for n in self.order if not self.entities[n].abstract]

    def inverse(self, relationship):
        if not relationship.inverse:
            return None
        found = self.properties(relationship.destination).get(relationship.inverse)
        return found if isinstance(found, Relationship) else None

    def relationships(self):
        """Every declared relationship that a store keeps."""
        return [p for n in self.order for _, p in sorted(self.entities[n].own.items())
                if isinstance(p, Relationship) and not p.transient]

    def hash(self, name):
        if name not in self._hashes:
            entity = self.entities[name]
            data = name.encode() + bytes([entity.abstract])
            if entity.parent:
                data += self.hash(entity.parent)
            for group in grouped(self.properties(name)):
                data += group_hash(group)
            data += "".join(sorted(".".join(c) for c in entity.constraints)).encode()
            self._hashes[name] = sha(data + entity.modifier.encode())
        return self._hashes[name]

    def hashes(self):
        return {name: self.hash(name) for name in self.entities}


def grouped(properties):
    """Properties by name, with the elements of each composite together: a composite is its
    elements, named `composite.element`."""
    groups = {}
    for name, p in sorted(properties.items()):
        groups.setdefault(name.partition(".")[0], []).append(p)
    return [groups[name] for name in sorted(groups)]


def group_hash(group):
    """A composite hashes as its elements, by name; nothing of its own counts."""
    stored = [p for p in group if not p.transient]
    if stored and "." in stored[0].name:
        return sha(b"".join(p.hash() for p in stored))
    return stored[0].hash() if stored else b""


def read_entity(element, composites):
    name = element.get("name")
    entity = Entity(name, element.get("parentEntity"), yes(element, "isAbstract"),
                    element.get("elementID") or name, element.get("versionHashModifier", ""))
    for child in element:
        if child.get("attributeType") == "Composite":
            composite = child.get("composite") or child.get("compositeName")
            for p in read_composite(name, child, composites[composite]):
                entity.own[p.name] = p
        elif child.tag == "attribute":
            entity.own[child.get("name")] = read_attribute(name, child)
        elif child.tag == "relationship":
            entity.own[child.get("name")] = read_relationship(name, child)
    for constraint in element.iter("uniquenessConstraint"):
        entity.constraints.append([c.get("value") for c in constraint])
    for compound in element.iter("compoundIndex"):
        entity.indexes.append([(i.get("value"), True) for i in compound])
    for index in element.iter("fetchIndex"):
        entity.indexes.append([(i.get("property"), i.get("order") != "descending")
                               for i in index.findall("fetchIndexElement")])
    return entity


def common_fields(owner, element):
    name = element.get("name")
    return (owner, name, yes(element, "optional"), yes(element, "transient"),
            element.get("elementID") or name, element.get("versionHashModifier", ""))


def read_attribute(owner, element):
    default = element.get("defaultValueString", element.get("defaultDateTimeInterval"))
    return Attribute(*common_fields(owner, element), element.get("attributeType", ""), default,
                     yes(element, "allowsExternalBinaryDataStorage"),
                     yes(element, "preserveAfterDeletion"), element.get("derivationExpression"),
                     yes(element, "indexed"))


def read_composite(owner, element, composite):
    """The elements of a composite attribute, in declared order."""
    name, renaming = element.get("name"), element.get("elementID") or element.get("name")
    # An enumeration of SwiftData: its element has the name of its property.
    is_enumeration = [child.get("name") for child in composite] == [name]
    for child in composite:
        p = read_attribute(owner, child)
        if is_enumeration and not child.get("elementID"):
            p.renaming = renaming
        p.renaming = f"{renaming}.{p.renaming}"
        p.name = f"{name}.{p.name}"
        yield p


def read_relationship(owner, element):
    to_many = yes(element, "toMany")
    return Relationship(*common_fields(owner, element), element.get("destinationEntity"),
                        element.get("inverseName"), to_many, yes(element, "ordered"),
                        int(element.get("minCount", 0)), int(element.get("maxCount", 0)))


class Bundle:
    """The versions of an `.xcdatamodeld`."""

    def __init__(self, path):
        self.path = path
        names = sorted(n for n in os.listdir(path) if n.endswith(".xcdatamodel"))
        self.models = {n[:-len(".xcdatamodel")]: Model(os.path.join(path, n)) for n in names}
        self.current = None
        current = os.path.join(path, ".xccurrentversion")
        if os.path.exists(current):
            with open(current, "rb") as file:
                self.current = plistlib.load(file)["_XCCurrentVersionName"][:-len(".xcdatamodel")]

    def matching(self, hashes):
        """The names of the versions whose entities have just these hashes."""
        return [n for n, m in self.models.items() if m.hashes() == hashes]


def bundles(corpus):
    """Every model bundle in source form, by a short name."""
    places = {
        "wire": "wire/zmessaging", "bookmarks": "bookmarks/BookmarksModel",
        "samplemodel": "samplemodel/SampleModel", "bookmigration": "bookmigration/Model",
        "derived": "derived/Model", "wal-example": "wal-example/CoreDataMigration_Example",
        "altstore": "mappings/altstore/AltStore", "openemu": "mappings/openemu/OEDatabase",
    }
    return {n: Bundle(os.path.join(corpus, p + ".xcdatamodeld")) for n, p in places.items()}


@dataclass
class Join:
    """The table of a many-to-many relationship; each side's column holds that side's targets."""
    relationship: Relationship
    inverse: Relationship
    names: tuple          # one name, or either of two where an entity is joined with itself
    columns: dict         # relationship key (owner, name) -> column holding its targets
    orders: dict          # relationship key -> order column, for ordered sides


def key(relationship):
    return (relationship.owner, relationship.name)


class Layout:
    """Tables and columns that a store of a model has."""

    def __init__(self, model):
        self.model = model
        self.columns = {}      # (declaring entity, property) -> column
        self.types = {}        # root -> {column: bare declaration, as Core Data declares it}
        self.polymorphic = {}  # (declaring entity, to-one) -> column with the target's Z_ENT
        self.order = {}        # (declaring entity, to-one) -> order column
        self.foreign = {}      # key of a to-many without inverse -> (root, column, order column)
        for root in model.roots():
            self._lay_out(root)
        self._lay_out_foreign()
        self.joins = list(self._joins())

    def table(self, entity):
        return "Z" + self.model.root(entity).upper()

    def _lay_out(self, root):
        used, types = {}, {"Z_PK": "INTEGER", "Z_ENT": "INTEGER", "Z_OPT": "INTEGER"}
        self.types[root] = types
        for name in self.model.family(root):
            # Attributes stand before relationships, and get their numbers first.
            own = sorted(self.model.entities[name].own.items(),
                         key=lambda item: (isinstance(item[1], Relationship), item[0]))
            for _, p in own:
                if p.transient or (isinstance(p, Relationship) and p.to_many):
                    continue
                suffix = numbered(used, p.name.rpartition(".")[2].upper())
                self.columns[key(p)] = "Z" + suffix
                if isinstance(p, Attribute):
                    types["Z" + suffix] = DECLARATIONS[p.type]
                else:
                    self._lay_out_to_one(p, suffix, types)

    def _lay_out_to_one(self, p, suffix, types):
        types["Z" + suffix] = "INTEGER"
        if self.model.children[p.destination]:
            self.polymorphic[key(p)] = f"Z{self.model.numbers[p.destination]}_{suffix}"
            types[self.polymorphic[key(p)]] = "INTEGER"
        inverse = self.model.inverse(p)
        if inverse and inverse.to_many and inverse.ordered:
            self.order[key(p)] = "Z_FOK_" + suffix
            types[self.order[key(p)]] = "INTEGER"

    def _lay_out_foreign(self):
        for p in self.model.relationships():
            if p.to_many and not self.model.inverse(p):
                root = self.model.root(p.destination)
                stem = f"{self.model.numbers[p.owner]}{p.name.upper()}"
                order = f"Z_FOK_{stem}" if p.ordered else None
                self.foreign[key(p)] = (root, "Z" + stem, order)
                self.types[root].update({c: "INTEGER" for c in ("Z" + stem, order) if c})

    def _joins(self):
        seen, used = set(), {}
        for p in self.model.relationships():
            inverse = self.model.inverse(p)
            if not p.to_many or not inverse or not inverse.to_many or key(p) in seen:
                continue
            seen |= {key(p), key(inverse)}
            yield self._join(p, inverse, used)

    def _join(self, p, inverse, used):
        numbers = self.model.numbers
        if numbers[inverse.owner] < numbers[p.owner]:
            p, inverse = inverse, p
        names = [f"Z_{numbers[p.owner]}{p.name.upper()}"]
        if p.owner == inverse.owner:
            names.append(f"Z_{numbers[p.owner]}{inverse.name.upper()}")
        columns = {key(r): "Z_" + self._target_stem(r) for r in (p, inverse)}
        orders = {key(r): "Z_FOK_" + self._target_stem(r) for r in (p, inverse) if r.ordered}
        return Join(p, inverse, tuple(names), columns, orders)

    def _target_stem(self, relationship):
        """The number of the target's entity and the name, with a number where two relationships
        of one name lead to one entity; those count in the order of their inverses' names."""
        other = self.model.inverse(relationship)
        rivals = sorted(p.inverse and (p.inverse, key(p)) or ("", key(p))
                        for p in self.model.relationships()
                        if p.to_many and p.name.upper() == relationship.name.upper()
                        and self.model.inverse(p) and self.model.inverse(p).to_many
                        and self.model.inverse(p).owner == other.owner)
        place = [k for _, k in rivals].index(key(relationship))
        return f"{self.model.numbers[other.owner]}{relationship.name.upper()}{place or ''}"

    def indexes(self):
        """Indexes that a fresh store has: {table: {(unique, ((column, ascending), ...))}}."""
        out = {}
        for name, entity in self.model.entities.items():
            table, wanted = self.table(name), out.setdefault(self.table(name), set())
            if entity.parent is None and self.model.children[name]:
                wanted.add((False, (("Z_ENT", True),)))
            for p in entity.own.values():
                to_one = isinstance(p, Relationship) and not p.to_many
                if not p.transient and (to_one or getattr(p, "indexed", False)):
                    wanted.add((False, ((self.columns[key(p)], True),)))
            for elements in entity.indexes:
                wanted.add((False, tuple((self.column(name, n), up) for n, up in elements)))
            for names in entity.constraints:
                wanted.add((True, tuple((self.column(name, n), True) for n in names)))
        return out

    def column(self, entity, name):
        return self.columns[key(self.model.properties(entity)[name])]


def numbered(used, name):
    """The name, with the first number that makes it one that nothing has yet."""
    number, full = 0, name
    while full in used:
        number += 1
        full = f"{name}{number}"
    used[full] = True
    return full
