"""Compiled models for the oracles, written here: keyed archives as the compiler makes them."""
import plistlib

from coredata import ATTRIBUTE_TYPES, Attribute


class Archive:
    """A keyed archive under construction; every object is a dictionary that may still change."""

    def __init__(self):
        self.objects, self.classes = ["$null"], {}
        self.entities, self.properties, self.model = {}, {}, None

    def put(self, value):
        self.objects.append(value)
        return plistlib.UID(len(self.objects) - 1)

    def of(self, kind, **fields):
        """An object of a class; gives its reference and its dictionary."""
        if kind not in self.classes:
            self.classes[kind] = self.put({"$classname": kind, "$classes": [kind, "NSObject"]})
        value = {**fields, "$class": self.classes[kind]}
        return self.put(value), value

    def text(self, value):
        return plistlib.UID(0) if value is None else self.put(value)

    def list(self, members):
        return self.of("NSArray", **{"NS.objects": list(members)})[0]

    def dictionary(self, members):
        return self.of("NSMutableDictionary", **{
            "NS.keys": [self.put(k) for k in members], "NS.objects": list(members.values())})[0]

    def key_path(self, path):
        specifier = self.of("NSKeyPathSpecifierExpression", NSExpressionType=10,
                            NSKeyPath=self.put(path))[0]
        return self.of("NSKeyPathExpression", NSExpressionType=3,
                       NSOperand=self.of("NSSelfExpression", NSExpressionType=1)[0],
                       NSSelectorName=self.put("valueForKey:"),
                       NSArguments=self.list([specifier]))[0]

    def equal(self, left, right):
        operation = self.of("NSEqualityPredicateOperator", NSOperatorType=4, NSModifier=0,
                            NSOptions=0, NSNegate=False)[0]
        return self.of("NSComparisonPredicate", NSLeftExpression=left, NSRightExpression=right,
                       NSPredicateOperator=operation)[0]

    def request(self, entity, predicate):
        return self.of("NSFetchRequest", NSEntity=entity, NSPredicate=predicate,
                       NSHasFetchRequestFlags=True, NSFetchRequestFlags=30, NSResultType=0,
                       NSFetchLimit=0, NSBatchSize=0)[0]

    def encoded(self):
        return plistlib.dumps(
            {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": self.model},
             "$objects": self.objects}, fmt=plistlib.FMT_BINARY)


def compiled(model):
    """The archive of a model that was read from its source, without derived attributes."""
    a = Archive()
    places = {}
    for name in model.entities:
        places[name], a.entities[name] = a.of("NSEntityDescription")
    a.model, root = a.of("NSManagedObjectModel")
    root["NSEntities"] = a.dictionary(places)
    root["NSVersionIdentifiers"] = a.of("NSSet", **{"NS.objects": []})[0]
    root["NSFetchRequestTemplates"] = plistlib.UID(0)
    a.root = root
    for name, entity in model.entities.items():
        own = {}
        for p in entity.own.values():
            own[p.name], a.properties[name, p.name] = archived(a, p, places)
        a.entities[name].update({
            "NSEntityName": a.put(name), "NSManagedObjectModel": a.model,
            "NSProperties": a.dictionary(own), "NSRenamingIdentifier": a.put(entity.renaming),
            "NSSuperentity": places.get(entity.parent, plistlib.UID(0)),
            "NSSubentities": a.dictionary({c: places[c] for c in model.children[name]}),
            "NSUserInfo": a.dictionary({}), "NSClassNameForEntity": a.put("NSManagedObject"),
            "NSVersionHashModifier": a.text(entity.modifier or None)})
        if entity.abstract:
            a.entities[name]["NSIsAbstract"] = True
        if entity.constraints:
            a.entities[name]["NSUniqueTuples"] = a.list(
                a.list(a.put(n) for n in c) for c in entity.constraints)
    return a


def archived(a, p, places):
    fields = {"NSPropertyName": a.put(p.name), "NSEntity": places[p.owner], "_P": 241,
              "NSRenamingIdentifier": a.put(p.renaming)}
    if p.optional:
        fields["NSIsOptional"] = True
    if p.transient:
        fields["NSIsTransient"] = True
    if p.modifier:
        fields["NSVersionHashModifier"] = a.put(p.modifier)
    if isinstance(p, Attribute):
        default = plistlib.UID(0) if p.default is None else a.put(p.default)
        return a.of("NSAttributeDescription", **fields, NSDefaultValue=default,
                    NSAttributeType=ATTRIBUTE_TYPES[p.type],
                    NSFlagsKey=(4 if p.external else 0) | (16 if p.preserved else 0),
                    NSValueTransformerName=plistlib.UID(0))
    if p.ordered:
        fields["NSIsOrdered"] = True
    return a.of("NSRelationshipDescription", **fields, NSDestinationEntity=places[p.destination],
                _NSDestinationEntityName=a.put(p.destination),
                _NSInverseRelationshipName=a.text(p.inverse),
                NSMinCount=p.min_count, NSMaxCount=p.max_count if p.to_many else 1,
                NSDeleteRule=1)
