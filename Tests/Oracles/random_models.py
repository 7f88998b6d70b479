"""Random models, as the sources of random migrations."""
import os
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from coredata import INTEGERS, NUMBERS

WORDS = ("amber birch cedar delta ember fjord grove heath isle jade knoll larch moss north opal"
         " pine quartz reed slate tarn umber vale willow yarrow").split()
TYPES = (*NUMBERS, "String", "String", "Binary", "Date", "UUID", "URI", "Transformable")
DEFAULTS = {
    "Boolean": ("YES", "NO"), "Decimal": ("0", "12.5", "-3"),
    "Double": ("0", "1.5", "1e300", "-2.5e-7"),
    "Float": ("0", "-0.25"), "String": ("", "none", "Grüße \U0001F426", "it's"),
    "Date": ("0", "631152000"), "URI": ("https://example.org/x",),
    **{t: ("0", "1", "-7", str(limits[1])) for t, limits in INTEGERS.items()}}
UNIQUE_TYPES = ("String", "Integer 64", "UUID")


@dataclass
class A:
    """An attribute; `composite.element` is an element of a composite."""
    name: str
    type: str
    optional: bool = True
    default: str | None = None
    external: bool = False
    indexed: bool = False
    transient: bool = False
    identifier: str | None = None


@dataclass
class End:
    """One side of a relationship."""
    entity: str
    name: str
    to_many: bool
    ordered: bool = False
    identifier: str | None = None
    optional: bool = True


@dataclass
class E:
    """An entity, without its relationships."""
    name: str
    parent: str | None = None
    abstract: bool = False
    identifier: str | None = None
    attributes: dict = field(default_factory=dict)
    constraints: list = field(default_factory=list)  # lists of attribute names
    indexes: list = field(default_factory=list)      # ([(attribute, ascending)], predicate)


class Models:
    """A model under construction. A relationship is a pair of ends: (end, inverse), (end, None)
    with the name of the entity that it leads to, or one end twice where it is its own inverse."""

    def __init__(self, random):
        self.random, self.entities, self.relations = random, {}, []

    def names(self, prefix=""):
        """A name that no entity has, in a case that tells byte order from alphabet."""
        while True:
            word = prefix + self.random.choice(WORDS)
            word = self.random.choice((word.capitalize(), word.capitalize(), word))
            if word.upper() not in {n.upper() for n in self.entities}:
                return word

    def lineage(self, name):
        out = []
        while name:
            out.append(name)
            name = self.entities[name].parent
        return out

    def family(self, name):
        return [n for n in self.entities if name in self.lineage(n)]

    def own(self, name):
        ends = [e for relation in self.relations for e in relation[:2] if e and e.entity == name]
        return {*map(top, self.entities[name].attributes), *(e.name for e in ends)}

    def taken(self, name):
        """Names that a property of the entity cannot have."""
        return {n for e in {*self.lineage(name), *self.family(name)} for n in self.own(e)}

    def free_name(self, entity):
        taken = self.taken(entity)
        while True:
            word = self.random.choice(WORDS) + self.random.choice(("", "", "2", "Key"))
            if word.upper() not in {t.upper() for t in taken}:
                return word

    def attributes(self, entity):
        """Stored attributes, inherited ones included."""
        found = [a for e in self.lineage(entity) for a in self.entities[e].attributes.values()]
        return [a for a in found if not a.transient]

    def is_sound(self):
        """Whether no entity has two properties of one name, and all have a parent that is there."""
        for e in self.entities:
            names = [n.upper() for x in self.lineage(e) for n in self._names(x)]
            if len(names) != len(set(names)):
                return False
        return any(not e.abstract for e in self.entities.values())

    def _names(self, name):
        ends = [e.name for first, second, _ in self.relations
                for e in ((first,) if first is second else (first, second))
                if e and e.entity == name]
        return [*{top(n) for n in self.entities[name].attributes}, *ends]

    # Making

    def add_entity(self, parent=None):
        r = self.random
        e = E(self.names(), parent, abstract=r.random() < 0.1)
        self.entities[e.name] = e
        for _ in range(r.choice((0, 1, 2, 3, 5, 9))):
            self.add_attribute(e.name)
        if r.random() < 0.35:
            self.add_composite(e.name)
        return e

    def add_composite(self, entity):
        """Some elements, whose names may be those of other attributes."""
        r, name = self.random, self.free_name(entity)
        known = [n for n in self.entities[entity].attributes if "." not in n]
        for _ in range(r.choice((1, 2, 3, 5))):
            a = self.add_attribute(entity)
            own = self.entities[entity].attributes
            del own[a.name]
            element = r.choice(known) if known and r.random() < 0.4 else a.name
            a.name, a.transient, a.indexed = f"{name}.{element}", False, False
            if a.name.upper() not in {n.upper() for n in own}:
                own[a.name] = a

    def add_attribute(self, entity):
        r = self.random
        a = A(self.free_name(entity), r.choice(TYPES), optional=r.random() < 0.7)
        a.external = a.type == "Binary" and r.random() < 0.4
        a.indexed = r.random() < 0.15
        a.transient = r.random() < 0.03
        if a.type in DEFAULTS and r.random() < 0.4:
            a.default = r.choice(DEFAULTS[a.type])
        self.entities[entity].attributes[a.name] = a
        return a

    def add_relation(self):
        r = self.random
        first, second = (r.choice(list(self.entities)) for _ in range(2))
        kind = r.choice(("one-many", "one-many", "many-many", "many-many", "one-one", "to-one",
                         "to-many", "self-many", "own-inverse"))
        if kind in ("self-many", "own-inverse"):
            second = first
        end = End(first, self.free_name(first), kind not in ("one-many", "one-one", "to-one"))
        end.ordered = end.to_many and kind != "own-inverse" and r.random() < 0.35
        if kind in ("to-one", "to-many"):
            self.relations.append((end, None, second))
            return
        if kind == "own-inverse":
            self.relations.append((end, end, first))
            return
        self.relations.append((end, None, second))
        other = End(second, self.free_name(second), kind != "one-one")
        other.ordered = other.to_many and r.random() < 0.35
        self.relations[-1] = (end, other, second)

    def add_indexes(self):
        r = self.random
        for e in self.entities.values():
            known = [a for a in self.attributes(e.name) if "." not in a.name]
            for _ in range(r.choice((0, 0, 1, 2))):
                chosen = r.sample(known, min(len(known), r.choice((1, 1, 2, 3))))
                if chosen:
                    e.indexes.append(([(a.name, r.random() < 0.6) for a in chosen],
                                      self.predicate(known) if r.random() < 0.25 else None))

    def predicate(self, known):
        a = self.random.choice(known)
        if a.type in INTEGERS:
            return f"{a.name} > {self.random.choice((-1, 0, 100))}"
        return f"{a.name} {self.random.choice(('!=', '=='))} nil"

    def add_constraints(self):
        for e in self.entities.values():
            known = [a for a in e.attributes.values() if a.type in UNIQUE_TYPES and a.optional
                     and a.default is None and not a.transient and "." not in a.name]
            if known and self.random.random() < 0.25:
                first = self.random.choice(known)
                others = [a for a in e.attributes.values() if a is not first
                          and not a.transient and "." not in a.name]
                more = [self.random.choice(others).name] if others and self.random.random() < 0.4 \
                    else []
                e.constraints.append([first.name, *more])

    # Writing

    def write(self, folder):
        """Writes an `.xcdatamodel`."""
        os.makedirs(folder)
        body = "".join(self._entity(e) for e in self.entities.values())
        body += "".join(self._composites(e) for e in self.entities.values())
        with open(os.path.join(folder, "contents"), "w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<model type="com.'
                       'apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\n'
                       f"{body}</model>\n")

    def _entity(self, e):
        lines = [tag("entity", name=e.name, parentEntity=e.parent, isAbstract=e.abstract,
                     elementID=e.identifier)]
        lines += [written(a) for a in e.attributes.values() if "." not in a.name]
        for name, elements in composites(e).items():
            identifiers = {top(a.identifier) for a in elements if a.identifier} - {name}
            lines.append(tag("attribute", True, name=name, attributeType="Composite",
                             optional=all(a.optional for a in elements),
                             composite=e.name + name, elementID=min(identifiers, default=None)))
        for first, second, destination in self.relations:
            for end, other in ((first, second), (second, first)):
                if end and end.entity == e.name and not (end is second and second is first):
                    lines.append(self._end(end, other, destination))
            if first is second and first.entity == e.name:
                lines.append(self._end(first, first, destination))
        for number, (elements, predicate) in enumerate(e.indexes):
            inside = "".join(tag("fetchIndexElement", True, property=n, type="Binary",
                                 order="ascending" if up else "descending") for n, up in elements)
            lines.append(tag("fetchIndex", name=f"by{number}", partialIndexPredicate=predicate)
                         + inside + "</fetchIndex>\n")
        if e.constraints:
            lines.append("<uniquenessConstraints>" + "".join(
                "<uniquenessConstraint>" + "".join(
                    tag("constraint", True, value=n) for n in names) + "</uniquenessConstraint>"
                for names in e.constraints) + "</uniquenessConstraints>\n")
        return "".join(lines) + "</entity>\n"

    def _composites(self, e):
        return "".join(
            tag("composite", name=e.name + name) + "".join(written(a) for a in elements)
            + "</composite>\n" for name, elements in composites(e).items())

    def _end(self, end, other, destination):
        leads_to = destination if other is None else other.entity
        return tag("relationship", True, name=end.name, optional=end.optional, toMany=end.to_many,
                   maxCount=None if end.to_many else "1", ordered=end.ordered,
                   destinationEntity=leads_to, inverseName=other and other.name,
                   inverseEntity=other and other.entity, deletionRule="Nullify",
                   elementID=end.identifier)


def top(name):
    """The name of an element's composite, or of any other attribute."""
    return name.partition(".")[0]


def composites(e):
    """The elements of each composite of an entity, by name."""
    out = {}
    for a in sorted(e.attributes.values(), key=lambda a: a.name):
        if "." in a.name:
            out.setdefault(top(a.name), []).append(a)
    return out


def written(a):
    """The element of an attribute, or of an element of a composite."""
    is_date = a.type == "Date"
    identifier = a.identifier and a.identifier.rpartition(".")[2]
    return tag(
        "attribute", True, name=a.name.rpartition(".")[2], optional=a.optional,
        attributeType=a.type, transient=a.transient,
        defaultValueString=None if is_date else a.default,
        defaultDateTimeInterval=a.default if is_date else None, indexed=a.indexed,
        allowsExternalBinaryDataStorage=a.external, elementID=identifier)


def tag(name, closed=False, /, **values):
    parts = [f"{k}={quoteattr('YES' if v is True else v)}" for k, v in values.items()
             if v is not None and v is not False]
    return f"<{name} {' '.join(parts)}{'/' if closed else ''}>\n"


def make_source(random):
    m = Models(random)
    for _ in range(random.choice((1, 2, 3, 4, 6))):
        parents = list(m.entities)
        m.add_entity(random.choice(parents) if parents and random.random() < 0.45 else None)
    if all(e.abstract for e in m.entities.values()):
        next(iter(m.entities.values())).abstract = False
    for _ in range(random.randint(0, len(m.entities) + 2)):
        m.add_relation()
    m.add_indexes()
    m.add_constraints()
    return m
