import Expressions
import ModelFiles
import ObjectModel
import TestSupport
import Testing

/// Models written as sources, and read again.
struct ModelSourceTests {
  private func roundTrip(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
    let encoded = try ModelSource.encode(model)
    #expect(encoded.unsayable == [])
    #expect(encoded.model == model)
    let read = try ModelDocument.model(decoding: encoded.bytes)
    #expect(read.knownVersionHashes() == model.knownVersionHashes())
    return read
  }

  private static func everything() throws -> ManagedObjectModel {
    var base = Entity("Base", isAbstract: true, was: "Root")
    base.className = "BaseObject"
    base.versionHashModifier = "2"
    base.userInfo = ["key": "a \"quoted\" <value> & more\n\tto come", "none": ""]
    var thing = Entity("Thing", in: "Base", unique: [["code"], ["name", "code"]])
    var size = Attribute.optional("size", .composite, was: "extent")
    size.elements = [
      .mandatory("unit", default: .string("cl")), .optional("value", .double, was: "amount"),
    ]
    var other = Attribute.optional("weight", .composite)
    other.elements = size.elements
    var picture = Attribute.external("picture")
    picture.allowsCloudEncryption = true
    var code = Attribute.optional("code", .uuid)
    code.preservesValueAfterDeletion = true
    code.versionHashModifier = "code 2"
    var count = Attribute.optional("count", .integer64)
    count.derivation = .init(
      expression: try #require(ValueExpression(parsingDerivation: "parts.@count")))
    var name = Attribute.mandatory("name", default: .string(""))
    name.limits.minimumLength = 1
    name.limits.maximumLength = 20
    name.limits.pattern = "[a-z]+"
    name.isIndexedBySpotlight = true
    var year = Attribute.optional("year", .integer16, default: .integer(-3))
    year.limits.minimum = .integer(-5)
    year.isIndexed = true
    var seen = Attribute.optional("seen", .date, default: .date(0.1))
    seen.limits.maximum = .date(1e9)
    var color = Attribute.optional("color", .transformable)
    color.valueTransformerName = "ColorTransformer"
    color.valueClassName = "UIColor"
    var cached = Attribute.optional("cached", .undefined)
    cached.isTransient = true
    thing.attributes = [
      cached, code, color, count, name, picture, seen, size, other, year,
    ]
    thing.attributes += [
      .optional("big", .decimal, default: .decimal("-12.50")),
      .optional("isOn", .boolean, default: .boolean(false)),
      .optional("ratio", .float, default: .real(0.25)),
      .optional("site", .uri, default: .uri("https://example.org/?a=1&b=2")),
      .optional("key", .uuid, default: .uuid([UInt8](0..<16))),
    ]
    thing.attributes.sort { $0.name < $1.name }
    var parts = Relationship.toMany("parts", "Part", inverse: "thing")
    (parts.isOrdered, parts.minCount, parts.maxCount) = (true, 1, 7)
    parts.deleteRule = .cascade
    parts.userInfo = ["a": "b"]
    thing.relationships = [parts]
    var request = FetchRequest(
      entityName: "Part", predicate: ValuePredicate(parsing: "number > 3"))
    (request.fetchLimit, request.includesSubentities) = (9, false)
    thing.fetchedProperties = [FetchedProperty(name: "many", request: request)]
    thing.fetchIndexes = [
      FetchIndex(
        name: "byYear", elements: [.init(property: "year", isAscending: false)],
        partialPredicate: ValuePredicate(parsing: "year > 0"))
    ]
    thing.compoundIndexes = [["name", "year"]]
    let part = Entity(
      "Part", [.mandatory("number", .integer32)],
      [.toOne("thing", "Thing", inverse: "parts")])
    var model = try ManagedObjectModel(base, thing, part)
    model.versionIdentifiers = ["1.0.0"]
    model.configurations = ["Cloud": ["Part"], "Local": ["Base", "Thing"]]
    model.fetchRequestTemplates = ["some": request]
    return model
  }

  @Test func `whatever a source can say comes back`() throws {
    let model = try Self.everything()
    var read = try roundTrip(model)
    // The names of composites are the source's own.
    #expect(
      read.entity(name: "Thing")?.attributes.compactMap(\.compositeName) == ["Size", "Size"])
    read = try read.withoutCompositeNames()
    #expect(read.entities == model.entities)
    #expect(read.configurations == model.configurations)
    #expect(read.fetchRequestTemplates == model.fetchRequestTemplates)
    #expect(read.versionIdentifiers == model.versionIdentifiers)
  }

  @Test func `composites with other elements get other names`() throws {
    var one = Attribute.optional("size", .composite)
    one.elements = [.optional("a")]
    var two = one
    two.elements = [.optional("b")]
    let read = try roundTrip(
      ManagedObjectModel(Entity("A", [one]), Entity("B", [two]), Entity("C", [one])))
    #expect(
      read.entities.map { $0.attributes[0].compositeName } == ["Size", "Size2", "Size"])
    #expect(read.entities.map { $0.attributes[0].elements.map(\.name) } == [["a"], ["b"], ["a"]])
  }

  @Test(arguments: [
    ("default", "A.x: default value"), ("control", "A.x: default value"),
    ("user info", "A.x: user info count, which is no text"),
    ("validation", "A.x: validation predicate"), ("index", "A: fetch index odd"),
    ("derivation", "A.x: derivation!"),
    ("nested", "A.c.x: composite without elements, or within another!"),
    ("name", ": name with characters that XML does not have!"),
  ])
  func `what a source cannot say is named`(what: String, expected: String) throws {
    var x = Attribute.optional("x", .string)
    var entity = Entity("A")
    switch what {
    case "default":
      x = .optional("x", .binary, default: .data([1, 2]))
    case "control": x.defaultValue = .string("a\u{1}b")
    case "user info": x.opaqueUserInfo = ["count": [1]]
    case "validation": x.limits.others = [.unparsed("?")]
    case "index":
      entity.fetchIndexes = [
        FetchIndex(
          name: "odd", elements: [.init(property: "x")], partialPredicate: .unparsed("?"))
      ]
    case "derivation":
      x.derivation = .init(expression: .keyPath(operand: nil, "y"), filter: .unparsed("?"))
    case "name": x.renamingIdentifier = "a\u{0}b"
    default:
      x.type = .composite
      x.elements = [.optional("y")]
    }
    entity.attributes = [x]
    if what == "nested" {
      var outer = Attribute.optional("c", .composite)
      outer.elements = [x]
      entity.attributes = [outer]
    }
    let found = try ModelSource.encode(ManagedObjectModel(entities: [entity])).unsayable
    #expect(
      found.map { one in
        let place = [one.entity, one.property].compactMap(\.self).joined(separator: ".")
        return "\(place): \(one.part)\(one.isHashed ? "!" : "")"
      } == [expected])
  }
}

extension ManagedObjectModel {
  fileprivate func withoutCompositeNames() throws -> ManagedObjectModel {
    var result = try ManagedObjectModel(
      entities: entities.map { entity in
        var entity = entity
        for index in entity.attributes.indices { entity.attributes[index].compositeName = nil }
        return entity
      })
    result.configurations = configurations
    result.fetchRequestTemplates = fetchRequestTemplates
    result.versionIdentifiers = versionIdentifiers
    return result
  }
}
