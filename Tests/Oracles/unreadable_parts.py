"""Odd parts of models, each put into a source or an archive, and what must be said of it."""
import plistlib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

from coredata import Attribute


@dataclass
class Odd:
    """What is odd: at `place`, named by `words`; `hashed` where a version hash covers it."""
    place: str
    words: tuple
    hashed: bool = False
    gone: tuple = ()      # entities whose hash is unknown besides
    left_out: tuple = ()  # words of the note that the result's model lacks it
    asked: str = ""  # what must be named for it to go
    carried: tuple = ()   # texts that the result's model has all the same


def some_attribute(root, model, r, kind):
    """An element of an attribute of that type, and its place."""
    found = [(e, a) for e in root.findall("entity") for a in e.findall("attribute")
             if a.get("attributeType") == kind and
             a.get("name") in model.entities[e.get("name")].own]
    entity, attribute = r.choice(found)
    return attribute, f"{entity.get('name')}.{attribute.get('name')}"


def some_entity(root, r):
    element = r.choice(root.findall("entity"))
    return element, element.get("name")


def sub(element, tag, **values):
    return ElementTree.SubElement(element, tag, values)


# Sources


def element_of_model(root, model, r):
    sub(root, "novelty", name="n", kind="x")
    return Odd("", ("element n", "novelty"))


def element_of_entity(root, model, r):
    element, place = some_entity(root, r)
    sub(element, "novelty", kind="x")
    return Odd(place, (place, "novelty"), hashed=True)


def element_of_attribute(root, model, r):
    element, place = some_attribute(root, model, r, "String")
    sub(element, "novelty")
    return Odd(place, (place, "novelty"), hashed=True)


def type_unknown(root, model, r):
    element, place = some_attribute(root, model, r, "String")
    element.set("attributeType", "Colour")
    return Odd(place, (place, "attribute type", "Colour"), hashed=True)


def default_unreadable(root, model, r):
    element, place = some_attribute(root, model, r, "Integer 64")
    element.set("defaultValueString", "twelve")
    return Odd(place, (place, "default value", "twelve"), left_out=("default value", "twelve"))


def default_of_transformable(root, model, r):
    element, place = some_attribute(root, model, r, "Transformable")
    element.set("defaultValueString", "red")
    return Odd(place, (place, "default value", "red"), left_out=(place, "default value"))


def flag_unreadable(root, model, r):
    element, place = some_attribute(root, model, r, "String")
    element.set("optional", "MAYBE")
    return Odd(place.partition(".")[0], (place.replace(".", ": the element "), "MAYBE"),
               hashed=True)


def limit_unreadable(root, model, r):
    element, place = some_attribute(root, model, r, "Integer 64")
    element.set("minValueString", "few")
    return Odd(place, (place, "validation limit", "few"))


def delete_rule(root, model, r):
    entity = r.choice([e for e in root.findall("entity") if e.find("relationship") is not None])
    element = entity.find("relationship")
    element.set("deletionRule", "Keep")
    place = f"{entity.get('name')}.{element.get('name')}"
    return Odd(place, (place, "delete rule", "Keep"), left_out=(place, "delete rule"))


def destination_missing(root, model, r):
    entity, place = some_entity(root, r)
    sub(entity, "relationship", name="stray", optional="YES", maxCount="1",
        destinationEntity="Nowhere")
    return Odd(place, (place, "stray", "Nowhere"), hashed=True)


def parent_missing(root, model, r):
    entity = [e for e in root.findall("entity") if e.get("parentEntity")][0]
    entity.set("parentEntity", "Nowhere")
    return Odd(entity.get("name"), (entity.get("name"), "Nowhere"), hashed=True)


def entity_without_name(root, model, r):
    root.append(ElementTree.Element("entity"))
    return Odd("", ("entity without name",))


def fetched(root, r, predicate, **request):
    entity, name = some_entity(root, r)
    element = sub(entity, "fetchedProperty", name="found", optional="YES")
    sub(element, "fetchRequest", name="fetchedPropertyFetchRequest", entity=name,
        predicateString=predicate, **request)
    return entity.findall("attribute")[0].get("name"), name


def fetch_source(root, model, r):
    entity, name = some_entity(root, r)
    attribute = entity.find("attribute").get("name")
    element = sub(entity, "fetchedProperty", name="found", optional="YES")
    sub(element, "fetchRequest", name="fetchedPropertyFetchRequest", entity=name,
        predicateString=f"{attribute} == $FETCH_SOURCE.{attribute}")
    return Odd(name, (), carried=("found", "FETCH_SOURCE"))


def fetched_unwritable(root, model, r):
    _, name = fetched(root, r, "SUBQUERY(x, $y, $y.z > 3).@count > 1 OR name BEGINSWITH 'a'")
    return Odd(name, (), left_out=(f"{name}.found", "fetched property"))


def fetched_unparsable(root, model, r):
    _, name = fetched(root, r, "this is ( no predicate")
    return Odd(name, (), left_out=(f"{name}.found", "fetched property"))


def fetched_limit(root, model, r):
    _, name = fetched(root, r, "TRUEPREDICATE", fetchLimit="few")
    return Odd(name, (name, "fetched property found", "few"), left_out=("fetched property found",))


def fetched_without_request(root, model, r):
    entity, name = some_entity(root, r)
    sub(entity, "fetchedProperty", name="found", optional="YES")
    return Odd(name, (name, "fetched property found"), left_out=("fetched property found",))


def template_unreadable(root, model, r):
    _, name = some_entity(root, r)
    sub(root, "fetchRequest", name="some", entity=name, predicateString="TRUEPREDICATE",
        resultType="strange")
    return Odd("", ("fetch request some", "strange"), left_out=("fetch request some",))


def template_unwritable(root, model, r):
    _, name = some_entity(root, r)
    sub(root, "fetchRequest", name="some", entity=name, predicateString="a ENDSWITH[cd] 'x'")
    return Odd("", (), left_out=("fetch request some",))


def index(root, r, **values):
    entity, name = some_entity(root, r)
    element = sub(entity, "fetchIndex", name="odd", **values.pop("outer", {}))
    values = {"type": "Binary", "order": "ascending", **values}
    if "expression" not in values:
        values.setdefault("property", entity.find("attribute").get("name"))
    sub(element, "fetchIndexElement", **values)
    return name


def index_type(root, model, r):
    name = index(root, r, type="Spiral")
    return Odd(name, (name, "fetch index odd", "Spiral"), left_out=("fetch index odd",))


def index_expression(root, model, r):
    name = index(root, r, expression="this is ( none")
    return Odd(name, (name, "fetch index odd", "this is"), left_out=("fetch index odd",))


def index_predicate(root, model, r):
    name = index(root, r, outer={"partialIndexPredicate": "this is ( none"})
    return Odd(name, (), left_out=(name, "odd"), asked=f"{name}.odd")


def configuration(root, model, r):
    _, name = some_entity(root, r)
    element = sub(root, "configuration", name="Some")
    sub(element, "memberEntity", name=name)
    sub(element, "memberEntity")
    return Odd("", ("configuration Some", "memberEntity"), left_out=("configuration Some",))


SOURCES = {
    "element of the model": element_of_model, "element of an entity": element_of_entity,
    "element of an attribute": element_of_attribute, "attribute type": type_unknown,
    "default": default_unreadable, "default of a transformable": default_of_transformable,
    "flag": flag_unreadable, "limit": limit_unreadable, "delete rule": delete_rule,
    "destination": destination_missing, "superentity": parent_missing,
    "entity without a name": entity_without_name, "FETCH_SOURCE": fetch_source,
    "fetched property that no archive has": fetched_unwritable,
    "fetched property without sense": fetched_unparsable, "fetched property's limit": fetched_limit,
    "fetched property without request": fetched_without_request,
    "template": template_unreadable, "template that no archive has": template_unwritable,
    "index type": index_type, "index expression": index_expression,
    "index predicate": index_predicate, "configuration": configuration,
}


# Archives


def property_of(a, model, r, kind):
    places = [(e, n) for (e, n), _ in a.properties.items()
              if isinstance(model.entities[e].own[n], Attribute)
              and model.entities[e].own[n].type == kind]
    entity, name = r.choice(sorted(places))
    return a.properties[entity, name], f"{entity}.{name}"


def entity_of(a, r):
    name = r.choice(sorted(a.entities))
    return a.entities[name], name


def strange(a):
    """A graph of unknown classes with a ring in it."""
    reference, value = a.of("ODDColor", red=0.25, name=a.put("odd colour"))
    value["space"] = a.of("ODDSpace", owner=reference, parts=a.list([a.put(1), reference]))[0]
    return reference


def own_class_default(a, model, r):
    p, place = property_of(a, model, r, "Transformable")
    p["NSDefaultValue"] = strange(a)
    return Odd(place, (place, "default value", "ODDColor"), carried=("ODDColor", "odd colour"))


def known_class_default(a, model, r):
    p, place = property_of(a, model, r, "Transformable")
    p["NSDefaultValue"] = a.list([a.put("one"), a.put("two members")])
    return Odd(place, (place, "default value", "NSArray"), carried=("two members",))


def default_of_the_model(a, model, r):
    p, place = property_of(a, model, r, "Transformable")
    p["NSDefaultValue"] = a.of("ODDBox", model=a.model)[0]
    return Odd(place, (place, "default value", "ODDBox"), left_out=(place, "default value"))


def default_missing(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["NSDefaultValue"] = plistlib.UID(60000)
    return Odd(place, (place, "default value"), left_out=(place, "default value"))


def user_info(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["NSUserInfo"] = a.dictionary({"colour": strange(a), "plain": a.put("text of it")})
    return Odd(place, (), carried=("ODDColor", "odd colour", "text of it"))


def user_info_of_entity(a, model, r):
    e, place = entity_of(a, r)
    e["NSUserInfo"] = a.dictionary({"list": a.list([a.put(5), a.put("in a list")])})
    return Odd(place, (), carried=("in a list",))


def user_info_damaged(a, model, r):
    e, place = entity_of(a, r)
    e["NSUserInfo"] = a.put("not a dictionary")
    return Odd(place, (place, "user info"), left_out=("user info",))


def template_predicate(a, model, r):
    _, place = entity_of(a, r)
    request = a.request(plistlib.UID(0), a.of("ODDPredicate", text=a.put("odd words"))[0])
    a.root["NSFetchRequestTemplates"] = a.dictionary({"some": request})
    return Odd("", ("predicate some", "ODDPredicate"), carried=("ODDPredicate", "odd words"))


def template_damaged(a, model, r):
    a.root["NSFetchRequestTemplates"] = a.dictionary({"some": a.of(
        "NSFetchRequest", NSEntity=a.put("none"), NSFetchLimit=a.put("few"))[0]})
    return Odd("", ("fetch request some",), left_out=("fetch request some",))


def fetched_expression(a, model, r):
    e, place = entity_of(a, r)
    predicate = a.equal(a.key_path("x"), a.of("ODDExpression", NSExpressionType=99)[0])
    request = a.request(plistlib.UID(0), predicate)
    found = a.of("NSFetchedPropertyDescription", NSPropertyName=a.put("found"),
                 NSFetchRequest=request, NSRenamingIdentifier=a.put("found"),
                 NSIsOptional=True, NSIsTransient=True, _P=255,
                 _NSFetchRequestEntityName=a.put(place))[0]
    own = {n: ref for n, ref in zip(
        [a.objects[k.data] for k in a.objects[e["NSProperties"].data]["NS.keys"]],
        a.objects[e["NSProperties"].data]["NS.objects"])}
    e["NSProperties"] = a.dictionary({**own, "found": found})
    return Odd(place, (f"{place}.found", "predicate", "ODDExpression"),
               carried=("found", "ODDExpression"))


def validation(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["NSValidationPredicates"] = a.list([a.equal(
        a.of("ODDExpression")[0], a.key_path("x"))])
    return Odd(place, (place, "validation predicate", "ODDExpression"))


def fetch_index(a, e, name, predicate=None, kind=0):
    attribute = a.of("NSFetchIndexElementDescription", NSPropertyName=a.put(name),
                     NSFetchIndexElementType=kind, NSAscending=True)[0]
    e["NSFetchIndexDescriptions"] = a.list([a.of(
        "NSFetchIndexDescription", NSIndexName=a.put("odd"), NSIndexElements=a.list([attribute]),
        NSPartialIndexPredicate=predicate or plistlib.UID(0))[0]])


def partial_index(a, model, r):
    e, place = entity_of(a, r)
    fetch_index(a, e, next(iter(model.entities[place].own)), a.of("ODDPredicate")[0])
    return Odd(place, (place, "predicate odd", "ODDPredicate"), carried=("ODDPredicate",),
               asked=f"{place}.odd")


def index_kind(a, model, r):
    e, place = entity_of(a, r)
    fetch_index(a, e, next(iter(model.entities[place].own)), kind=9)
    return Odd(place, (place, "fetch index odd", "9"), left_out=("fetch index odd",))


def type_number(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["NSAttributeType"] = 2300
    return Odd(place, (place, "attribute type", "2300"), hashed=True)


def flags(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["NSFlagsKey"] = 64
    return Odd(place, (place, "flags", "64"), hashed=True)


def property_class(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["$class"] = a.of("ODDAttributeDescription")[1]["$class"]
    entity, name = place.split(".")
    return Odd(entity, (f"{entity}: the element {name}", "ODDAttributeDescription"), hashed=True)


def delete_rule_number(a, model, r):
    places = [(k, p) for k, p in a.properties.items() if "NSDeleteRule" in p]
    (entity, name), p = r.choice(places)
    p["NSDeleteRule"] = 17
    place = f"{entity}.{name}"
    return Odd(place, (place, "delete rule", "17"), left_out=(place, "delete rule"))


def newer_keys(a, model, r):
    e, place = entity_of(a, r)
    e["NSNovelty"] = strange(a)
    a.root["NSOtherNovelty"] = a.put("news")
    p, _ = property_of(a, model, r, "String")
    p["NSNewFlag"] = True
    return Odd(place, ())


def transformer(a, model, r):
    p, place = property_of(a, model, r, "Transformable")
    p["NSValueTransformerName"] = a.put("OddTransformer")
    return Odd(place, (), carried=("OddTransformer",))


def flag_of_another_kind(a, model, r):
    p, place = property_of(a, model, r, "String")
    p["NSIsOptional"] = a.put("perhaps")
    entity, name = place.split(".")
    return Odd(entity, (f"{entity}: the element {name}", "NSIsOptional"), hashed=True)


def configuration_of_others(a, model, r):
    a.root["NSConfigurations"] = a.dictionary({"Some": a.list([a.put("no entity")])})
    return Odd("", ("configuration Some",), left_out=("configuration Some",))


ARCHIVES = {
    "default of an own class": own_class_default, "default of a known class": known_class_default,
    "default that holds the model": default_of_the_model,
    "default that is missing": default_missing,
    "user info": user_info, "user info of an entity": user_info_of_entity,
    "damaged user info": user_info_damaged, "template's predicate": template_predicate,
    "template": template_damaged, "fetched property's expression": fetched_expression,
    "validation": validation, "partial index": partial_index, "index type": index_kind,
    "attribute type": type_number, "flags": flags, "class of a property": property_class,
    "delete rule": delete_rule_number, "newer keys": newer_keys, "transformer": transformer,
    "flag": flag_of_another_kind, "configuration": configuration_of_others,
}
