"""Three versions of a model with one of everything, for damage.py."""
import json
import os
import plistlib
import sqlite3

from split_and_merge import attribute, contents

NUL_TEXT, COMPOSED, ODD_BYTES = b"ab\0cd", "caf\u00e9".encode(), b"\xff\xfe\x80"
APP_KEYS = {"appToken": "caf\u00e9", "appCount": 5}


def entity(name, *parts, parent="", was="", abstract=False, more=""):
    marks = f' parentEntity="{parent}"' if parent else ""
    marks += f' elementID="{was}"' if was else ""
    marks += ' isAbstract="YES"' if abstract else ""
    return f'<entity name="{name}"{marks} syncable="YES">{"".join(parts)}{more}</entity>'


def valued(name, kind, default, was=""):
    was = f' elementID="{was}"' if was else ""
    return f'<attribute name="{name}" attributeType="{kind}" defaultValueString="{default}"{was}/>'


def related(name, target, inverse, many=False, ordered=False):
    form = 'toMany="YES"' if many else 'maxCount="1"'
    form += ' ordered="YES"' if ordered else ""
    return (f'<relationship name="{name}" optional="YES" {form} deletionRule="Nullify" '
            f'destinationEntity="{target}" inverseName="{inverse}" inverseEntity="{target}"/>')


def version(number):
    """Version 2 renames an entity and an attribute, 3 adds an entity before all others, so that
    they get other numbers, converts, orders a relationship anew and drops an attribute."""
    later, last = number > 1, number > 2
    photo = ('<attribute name="photo" optional="YES" attributeType="Binary" '
             'allowsExternalBinaryDataStorage="YES"/>')
    counted = valued("number" if later else "count", "Double" if last else "Integer 32", "0",
                     "count" if later else "")
    parts = [attribute("tag", "UUID"), attribute("name", "String"), attribute("born", "Date"),
             attribute("score", "Double"), attribute("weight", "Float"), counted,
             attribute("flag", "Boolean"), attribute("price", "Decimal"),
             attribute("link", "URI"), attribute("blob", "Binary"), photo,
             attribute("note", "String"), attribute("amount", "Double"),
             related("herd", "Herd", "members"),
             related("visits", "Place", "visitors", many=True, ordered=True),
             related("friends", "Creature", "friendOf", many=True),
             related("friendOf", "Creature", "friends", many=True),
             related("owned", "Place", "owner", many=True, ordered=last)]
    if later:
        parts.append(valued("level", "Integer 64", "7"))
    if not last:
        parts.append(attribute("dropped", "String"))
    indexes = ('<fetchIndex name="byName"><fetchIndexElement property="name" type="Binary" '
               'order="descending"/></fetchIndex>') if last else ""
    wings = [attribute("wings", "Integer 16")]
    unique = ('<uniquenessConstraints><uniquenessConstraint><constraint value="label"/>'
              '</uniquenessConstraint></uniquenessConstraints>')
    entities = [
        entity("Creature", *parts, abstract=True, more=indexes),
        entity("Flyer" if later else "Bird", *wings, parent="Creature",
               was="Bird" if later else ""),
        entity("Fish", attribute("depth", "Integer 64"), parent="Creature"),
        entity("Herd", attribute("name", "String"),
               related("members", "Creature", "herd", many=True, ordered=True)),
        entity("Place", attribute("label", "String"), related("owner", "Creature", "owned"),
               related("visitors", "Creature", "visits", many=True, ordered=True), more=unique)]
    if last:
        entities.append(entity("Aardvark", attribute("snout", "String")))
    return contents(*entities)


def write(folder):
    """The paths of the three versions, in one bundle."""
    bundle, paths = os.path.join(folder, "Zoo.xcdatamodeld"), []
    for number in (1, 2, 3):
        path = os.path.join(bundle, f"Zoo {number}.xcdatamodel")
        os.makedirs(path)
        with open(os.path.join(path, "contents"), "w", encoding="utf-8") as file:
            file.write(version(number))
        paths.append(path)
    with open(os.path.join(bundle, ".xccurrentversion"), "wb") as file:
        plistlib.dump({"_XCCurrentVersionName": "Zoo 3.xcdatamodel"}, file)
    return bundle, paths


def plant(path):
    """Values that only a look at the bytes tells apart from others, and keys of an app."""
    db = sqlite3.connect(path)
    keys = [k for k, in db.execute("select Z_PK from ZCREATURE where Z_ENT = 2 order by 1 limit 8")]
    for key, text in zip(keys, (NUL_TEXT, COMPOSED, ODD_BYTES)):
        db.execute("update ZCREATURE set ZNAME = cast(? as text) where Z_PK = ?", (text, key))
    db.execute("update ZCREATURE set ZSCORE = 0.0, ZBLOB = x'00ff00', ZPRICE = 12.5, ZBORN = 7.25, "
               "ZFLAG = 1, ZCOUNT = 3, ZNOTE = null, ZLINK = null where Z_PK = ?", (keys[3],))
    plist = plistlib.loads(db.execute("select Z_PLIST from Z_METADATA").fetchone()[0])
    plist.update(APP_KEYS)
    db.execute("update Z_METADATA set Z_PLIST = ?",
               (plistlib.dumps(plist, fmt=plistlib.FMT_BINARY),))
    db.commit()
    db.close()


def mapping(tool, paths, target, policy=None):
    """A mapping model of versions 1 to 3 that runs object by object: it leaves some fish out."""
    tool.run("map", "--from", paths[0], "--to", paths[2], "--output", target)
    with open(target, encoding="utf-8") as file:
        document = json.load(file)
    for one in document["mappings"]:
        one.pop("sourceHash", None)
        one.pop("destinationHash", None)
        if one.get("destination") == "Fish":
            one["filter"] = "depth > 0"
        if one.get("destination") == "Flyer":
            one["attributes"]["note"] = "\"flown\""
            if policy:
                one["type"], one["policy"] = "custom", policy
    with open(target, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return target


def externalize(path):
    """Puts three photos into files of their own beside the store, as Core Data does."""
    support = os.path.join(os.path.dirname(path),
                           f".{os.path.splitext(os.path.basename(path))[0]}_SUPPORT",
                           "_EXTERNAL_DATA")
    os.makedirs(support, exist_ok=True)
    db = sqlite3.connect(path)
    for number, (key,) in enumerate(db.execute(
            "select Z_PK from ZCREATURE where Z_ENT = 2 order by 1 limit 3").fetchall()):
        name = f"0A0A0A0A-0000-4000-8000-{number:012d}"
        with open(os.path.join(support, name), "wb") as file:
            file.write(bytes(range(256)) * 1000)
        db.execute("update ZCREATURE set ZPHOTO = ? where Z_PK = ?",
                   (b"\x02" + name.encode() + b"\0", key))
    db.commit()
    db.close()
