"""A store without defects, and the kinds of defects that planted_defects.py plants in it."""
import os
import re
import sqlite3

from damage_grounds import entity, related, valued
from split_and_merge import attribute, contents

OTHER = 990000000  # no object has such a key


def version(number):
    """Version 2 has another entity before all others, so that numbers change; it converts three
    attributes, makes one unique and one mandatory, and has one back out of its files."""
    later = number > 1
    unique = ('<uniquenessConstraints><uniquenessConstraint><constraint value="code"/>'
              '</uniquenessConstraint></uniquenessConstraints>') if later else ""
    title = ('<attribute name="title" attributeType="String"/>' if later
             else attribute("title", "String"))
    kept = ('<attribute name="{}" optional="YES" attributeType="Binary" '
            'allowsExternalBinaryDataStorage="YES"/>')
    thing = entity(
        "Thing", attribute("code", "String"), title,
        attribute("photo", "Binary") if later else kept.format("photo"), kept.format("scan"),
        attribute("size", "Double" if later else "Integer 64"),
        attribute("level", "Integer 16" if later else "Integer 32"),
        attribute("rate", "Integer 32" if later else "Double"),
        attribute("grown", "Integer 64" if later else "Integer 32"),
        valued("rank", "Integer 32", "0"),
        related("owner", "Party", "things"), related("maker", "Person", "made"),
        related("twin", "Thing", "twinOf"), related("twinOf", "Thing", "twin"),
        related("tags", "Tag", "things", many=True), more=unique)
    entities = [
        entity("Party", attribute("name", "String"),
               related("things", "Thing", "owner", many=True, ordered=True), abstract=True),
        entity("Person", related("made", "Thing", "maker", many=True), parent="Party"),
        entity("Firm", attribute("seat", "String"), parent="Party"),
        entity("Tag", attribute("name", "String"),
               related("things", "Thing", "tags", many=True)), thing]
    if later:
        entities.append(entity("Aardvark", attribute("snout", "String")))
    return contents(*entities)


class Ground:
    """A store without defects, of version 1 of the model, and the numbers of its entities."""

    def __init__(self, tool, folder, rows):
        bundle = os.path.join(folder, "Stock.xcdatamodeld")
        self.models = []
        for number in (1, 2):
            path = os.path.join(bundle, f"Stock {number}.xcdatamodel")
            os.makedirs(path)
            with open(os.path.join(path, "contents"), "w", encoding="utf-8") as file:
                file.write(version(number))
            self.models.append(path)
        self.mapping = os.path.join(folder, "Stock.json")
        tool.run("map", "--from", self.models[0], "--to", self.models[1], "--output", self.mapping)
        self.store = os.path.join(folder, "Sound.sqlite")
        tool.run("generate", self.models[0], "--rows", rows, "--output", self.store)
        db = sqlite3.connect(self.store)
        self.numbers = dict(db.execute("select Z_NAME, Z_ENT from Z_PRIMARYKEY"))
        self.beside = next(c for _, c, *_ in db.execute("pragma table_info(ZTHING)")
                           if re.fullmatch(r"Z\d+_OWNER", c))
        self.settle(db)
        db.commit()
        db.close()

    @staticmethod
    def join(db):
        return db.execute("select name from sqlite_schema where type = 'table' and "
                          "name glob 'Z_[0-9]*'").fetchone()[0]

    def settle(self, db):
        """Every object is sound, and every reference leads somewhere and back."""
        parties = db.execute("select Z_PK, Z_ENT from ZPARTY order by 1").fetchall()
        persons = [k for k, e in parties if e == self.numbers["Person"]]
        things = [k for (k,) in db.execute("select Z_PK from ZTHING order by 1")]
        tags = [k for (k,) in db.execute("select Z_PK from ZTAG order by 1")]
        for place, key in enumerate(things):
            owner, number = parties[place % len(parties)]
            db.execute(
                "update ZTHING set ZPHOTO = x'0107', ZSCAN = x'0107', "
                f"ZCODE = ?, ZTITLE = ?, ZSIZE = ?, ZLEVEL = ?, ZRATE = ?, "
                f"ZRANK = 1, ZGROWN = 2, ZOWNER = ?, {self.beside} = ?, Z_FOK_OWNER = ?, "
                "ZMAKER = ?, ZTWIN = null, ZTWINOF = null where Z_PK = ?",
                (f"code {key}", f"title {key}", key, key % 30000, float(key), owner, number,
                 2048 + 1024 * place, persons[place % len(persons)], key))
        for one, other in zip(things[::2], things[1::2]):
            db.execute("update ZTHING set ZTWIN = ? where Z_PK = ?", (other, one))
            db.execute("update ZTHING set ZTWINOF = ? where Z_PK = ?", (one, other))
        table = self.join(db)
        db.execute(f"delete from {table}")
        of_thing, of_tag = self.thing_and_tag(db)
        for place, key in enumerate(things):
            db.execute(f"insert into {table} ({of_thing}, {of_tag}) values (?, ?)",
                       (key, tags[place % len(tags)]))

    def thing_and_tag(self, db):
        """The columns of the join table with the keys of things and of tags."""
        columns = [c for _, c, *_ in db.execute(f"pragma table_info({self.join(db)})")]
        tag = next(c for c in columns if c.endswith("TAGS"))
        return next(c for c in columns if c != tag), tag


class Kind:
    """A kind of defect: how it is planted, and what is told of it."""

    def __init__(self, name, plant, place, outcome, choice=(), mended=None):
        self.name, self.plant, self.place = name, plant, place
        # refused: a reason why nothing is made; lost: to be allowed; kept: told, and carried over.
        self.outcome = outcome
        self.choice, self.mended = choice, mended

    @property
    def by_objects(self):
        """Whether objects made one by one tell it in the same words."""
        return self.name not in ("mandatory and nil", "mandatory before, and nil")


def update(text):
    return lambda ground, db, keys: db.executemany(
        f"update ZTHING set {text.format(beside=ground.beside)} where Z_PK = ?",
        [(k,) for k in keys])


def duplicates(ground, db, keys):
    """Each planted one agrees with the sound one before it, so it is the later of two."""
    for key in keys:
        db.execute("update ZTHING set ZCODE = (select o.ZCODE from ZTHING o where o.Z_PK = ?) "
                   "where Z_PK = ?", (key - 1, key))


def missing_files(column):
    """Values in files that nobody has."""
    return lambda ground, db, keys: db.executemany(
        f"update ZTHING set {column} = ? where Z_PK = ?",
        [(b"\2" + b"%08d-0000-4000-8000-000000000000\0" % k, k) for k in keys])


def pairs(ground, db, keys):
    table = ground.join(db)
    thing, tag = ground.thing_and_tag(db)
    db.executemany(f"update {table} set {tag} = {OTHER} + {thing} where {thing} = ?",
                   [(k,) for k in keys])


KINDS = [
    Kind("unknown entity number", update("{beside} = 77"), "Thing.owner", "lost",
         ("--on-dangling", "nullify"), "ZOWNER is null"),
    Kind("text entity number", update("{beside} = 'x'"), "Thing.owner", "lost",
         ("--on-dangling", "nullify"), "ZOWNER is null"),
    Kind("abstract entity number", update("{beside} = (select Z_ENT from Z_PRIMARYKEY where "
                                          "Z_NAME = 'Party')"), "Thing.owner", "lost",
         ("--on-dangling", "nullify"), "ZOWNER is null"),
    Kind("text in whole numbers", update("ZSIZE = 'many'"), "Thing.size", "lost",
         ("--on-value", "null"), "ZSIZE is null"),
    Kind("beyond 2^53", update("ZSIZE = 9007199254740993"), "Thing.size", "lost",
         ("--on-value", "null"), "ZSIZE is null"),
    Kind("out of range", update("ZLEVEL = 40000"), "Thing.level", "refused",
         ("--on-value", "null"), "ZLEVEL is null"),
    Kind("fractions", update("ZRATE = Z_PK + 0.5"), "Thing.rate", "lost",
         ("--on-value", "null"), "ZRATE is null"),
    Kind("text in reals", update("ZRATE = 'fast'"), "Thing.rate", "lost",
         ("--on-value", "null"), "ZRATE is null"),
    Kind("text in numbers that only grow", update("ZGROWN = 'tall'"), "Thing.grown", "lost",
         ("--on-value", "null"), "ZGROWN is null"),
    Kind("mandatory and nil", update("ZTITLE = null"), "Thing.title", "refused"),
    Kind("duplicates", duplicates, "Thing", "refused", ("--on-duplicate", "keep-first"), "gone"),
    Kind("dangling", update(f"ZMAKER = {OTHER} + Z_PK"), "Thing.maker", "kept",
         ("--on-dangling", "nullify"), "ZMAKER is null"),
    Kind("dangling pairs", pairs, "Thing.tags", "kept", ("--on-dangling", "nullify"), "unpaired"),
    Kind("one-sided", update("ZTWIN = (select min(Z_PK) from ZTHING)"), "Thing.twin", "kept"),
    Kind("order without a place", update("Z_FOK_OWNER = null"), "Thing.owner", "kept"),
    Kind("text as a place", update("Z_FOK_OWNER = 'x'"), "Thing.owner", "kept"),
    Kind("mandatory before, and nil", update("ZRANK = null"), "Thing.rank", "kept"),
    Kind("missing files", missing_files("ZPHOTO"), "Thing.photo", "refused",
         ("--on-value", "null"), "ZPHOTO is null"),
    Kind("missing files whose names go on", missing_files("ZSCAN"), "Thing.scan", "kept"),
]

# What is tried in large stores too, and what it takes to have it told there.
LARGE = {
    "unknown entity number": (), "text entity number": (), "text in reals": (),
    "text in numbers that only grow": (), "dangling": (), "dangling pairs": (),
    "missing files": (),
    "one-sided": ("--check-source", "full"), "text as a place": ("--check-source", "full"),
    "mandatory before, and nil": ("--check-source", "full"),
}
