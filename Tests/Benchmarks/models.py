"""Writes versions of models as .xcdatamodel folders."""
import os

# An attribute of each kind that has an index of its own kind of keys.
THING = {"flag": "Boolean", "amount": "Double", "count": "Integer 64", "name": "String",
         "uid": "UUID", "when": "Date"}


def attributes(kinds, **more):
    """Optional attributes of the kinds; `more` are settings of all."""
    settings = "".join(f' {key}="{value}"' for key, value in more.items())
    return "".join(f'<attribute name="{name}" optional="YES" attributeType="{kind}"{settings}/>'
                   for name, kind in kinds.items())


def relationship(name, destination, inverse, many=False, ordered=False):
    return (f'<relationship name="{name}" optional="YES" {"toMany" if many else "maxCount"}='
            f'"{"YES" if many else 1}"{" ordered=" + chr(34) + "YES" + chr(34) if ordered else ""} '
            f'deletionRule="Nullify" destinationEntity="{destination}" inverseName="{inverse}"/>')


def index(*elements):
    """An index of attributes; those with a minus fall."""
    name = "by" + "And".join(e.strip("-").capitalize() for e in elements)
    return f'<fetchIndex name="{name}">' + "".join(
        f'<fetchIndexElement property="{e.strip("-")}" type="Binary" '
        f'order="{"descending" if e.endswith("-") else "ascending"}"/>'
        for e in elements) + "</fetchIndex>"


def unique(name):
    return ("<uniquenessConstraints><uniquenessConstraint>"
            f'<constraint value="{name}"/></uniquenessConstraint></uniquenessConstraints>')


def entity(name, *parts, **settings):
    more = "".join(f' {key}="{value}"' for key, value in settings.items())
    return f'<entity name="{name}"{more}>' + "\n".join(parts) + "</entity>\n"


def thing(*parts, name="Thing"):
    """An entity with all kinds of attributes."""
    return entity(name, attributes(THING), *parts)


MORE = attributes({"more": "String"})


def write_version(bundle, version, entities):
    """The path of the version that was written."""
    path = os.path.join(bundle, f"{version}.xcdatamodel")
    os.makedirs(path)
    with open(os.path.join(path, "contents"), "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<model type="com.apple'
                   '.IDECoreDataModeler.DataModel" documentVersion="1.0">' + "".join(entities)
                   + "</model>\n")
    return path
