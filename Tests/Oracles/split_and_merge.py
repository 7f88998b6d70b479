"""Models and mapping models of a herd: all creatures in one entity, or each kind in its own."""
from xml.sax.saxutils import quoteattr

BY_MAPPING = ('FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", '
              '"{}", $source.{})')


def attribute(name, kind):
    return f'<attribute name="{name}" optional="YES" attributeType="{kind}"/>'


def relationship(name, target, inverse, many=False, ordered=False):
    form = 'toMany="YES"' if many else 'maxCount="1"'
    form += ' ordered="YES"' if ordered else ""
    return (f'<relationship name="{name}" optional="YES" {form} deletionRule="Nullify" '
            f'destinationEntity="{target}" inverseName="{inverse}" inverseEntity="{target}"/>')


def entity(name, *parts):
    return f'<entity name="{name}" syncable="YES">{"".join(parts)}</entity>'


def contents(*entities):
    return ('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            f'<model type={quoteattr("com.apple.IDECoreDataModeler.DataModel")} '
            'documentVersion="1.0" lastSavedToolsVersion="1" minimumToolsVersion="Automatic" '
            f'sourceLanguage="Swift" userDefinedModelVersionIdentifier="">{"".join(entities)}'
            '</model>\n')


COMMON = (attribute("tag", "UUID"), attribute("name", "String"), attribute("age", "Integer 32"),
          attribute("weight", "Double"))


def kind(name, computed):
    """Each kind knows friends and bosses of both kinds, and of whom it is one."""
    return entity(
        name, *COMMON, computed,
        relationship("herd", "Herd", name.lower() + "s"),
        relationship("humanFriends", "Human", f"{name.lower()}FriendOf", many=True),
        relationship("animalFriends", "Animal", f"{name.lower()}FriendOf", many=True),
        relationship("humanFriendOf", "Human", f"{name.lower()}Friends", many=True),
        relationship("animalFriendOf", "Animal", f"{name.lower()}Friends", many=True),
        relationship("humanBoss", "Human", f"{name.lower()}Staff"),
        relationship("animalBoss", "Animal", f"{name.lower()}Staff"),
        relationship("humanStaff", "Human", f"{name.lower()}Boss", many=True),
        relationship("animalStaff", "Animal", f"{name.lower()}Boss", many=True))


def model():
    """The two models, as text of their files."""
    return {
        "together": contents(
            entity("Herd", attribute("name", "String"),
                   relationship("members", "Object", "herd", many=True, ordered=True)),
            entity("Object", *COMMON,
                   relationship("herd", "Herd", "members"),
                   relationship("friends", "Object", "friendOf", many=True),
                   relationship("friendOf", "Object", "friends", many=True),
                   relationship("boss", "Object", "staff"),
                   relationship("staff", "Object", "boss", many=True))),
        "apart": contents(
            entity("Herd", attribute("name", "String"),
                   relationship("humans", "Human", "herd", many=True, ordered=True),
                   relationship("animals", "Animal", "herd", many=True, ordered=True)),
            kind("Human", attribute("months", "Integer 64")),
            kind("Animal", attribute("heavy", "Boolean"))),
    }


def copies(**more):
    return {**{n: f"$source.{n}" for n in ("tag", "name", "age", "weight")}, **more}


def file(*mappings):
    return {"format": "godwit mapping model", "version": 1, "mappings": list(mappings)}


def splitting():
    def part(name, condition, **computed):
        return {
            "name": "ObjectTo" + name, "source": "Object", "destination": name,
            "filter": condition, "attributes": copies(**computed),
            "relationships": {
                "herd": BY_MAPPING.format("HerdToHerd", "herd"),
                "humanFriends": BY_MAPPING.format("ObjectToHuman", "friends"),
                "animalFriends": BY_MAPPING.format("ObjectToAnimal", "friends"),
                "humanBoss": BY_MAPPING.format("ObjectToHuman", "boss"),
                "animalBoss": BY_MAPPING.format("ObjectToAnimal", "boss")}}
    return file(
        {"name": "HerdToHerd", "source": "Herd", "destination": "Herd",
         "attributes": {"name": "$source.name"},
         "relationships": {"humans": BY_MAPPING.format("ObjectToHuman", "members"),
                           "animals": BY_MAPPING.format("ObjectToAnimal", "members")}},
        part("Human", "modulus:by:(age, 3) == 0", months="$source.age * 12"),
        part("Animal", "age == nil OR modulus:by:(age, 3) != 0",
             heavy="TERNARY($source.weight > 0, YES, NO)"))


def merging():
    def both(human, animal):
        return (f"{BY_MAPPING.format('HumanToObject', human)} UNION "
                f"{BY_MAPPING.format('AnimalToObject', animal)}")

    def part(name):
        return {
            "name": name + "ToObject", "source": name, "destination": "Object",
            "attributes": copies(),
            "relationships": {
                "herd": BY_MAPPING.format("HerdToHerd", "herd"),
                "friends": both("humanFriends", "animalFriends"),
                "boss": "TERNARY($source.humanBoss != nil, "
                        f"{BY_MAPPING.format('HumanToObject', 'humanBoss')}, "
                        f"{BY_MAPPING.format('AnimalToObject', 'animalBoss')})"}}
    return file(
        {"name": "HerdToHerd", "source": "Herd", "destination": "Herd",
         "attributes": {"name": "$source.name"},
         "relationships": {"members": both("humans", "animals")}},
        part("Human"), part("Animal"))
