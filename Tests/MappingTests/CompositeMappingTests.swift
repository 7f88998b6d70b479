import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// What becomes of composite attributes, element by element.
struct CompositeMappingTests {
  private func composite(
    _ name: String, _ elements: [Attribute], was identifier: String? = nil,
    isOptional: Bool = true
  ) -> Attribute {
    var attribute = Attribute.optional(name, .composite, was: identifier)
    attribute.isOptional = isOptional
    attribute.elements = elements
    return attribute
  }

  private func inference(_ old: [Attribute], _ new: [Attribute]) throws -> MappingInference {
    MappingInference(
      from: try ManagedObjectModel(Entity("E", old)), to: try ManagedObjectModel(Entity("E", new)))
  }

  /// `new<old` for every attribute that continues one, by its own column.
  private func pairs(_ mapping: EntityMapping?) -> [String] {
    (mapping?.attributeMappings ?? []).compactMap {
      if case .attribute(let source, _) = $0.origin { "\($0.name)<\(source)" } else { nil }
    }.sorted()
  }

  @Test func `a renamed composite keeps its elements, renamed ones included`() throws {
    let found = try inference(
      [
        composite("author", [.optional("id", .uuid), .optional("person")]), .optional("id", .uuid),
      ],
      [
        composite(
          "writer", [.optional("who", was: "person"), .optional("id", .uuid), .optional("note")],
          was: "author"), .optional("id", .uuid),
      ])
    #expect(found.refusals.isEmpty && found.conditions.isEmpty)
    #expect(
      pairs(found.mapping.mapping(toDestination: "E"))
        == ["id<id", "writer.id<author.id", "writer.who<author.person"])
  }

  @Test func `an enumeration that is renamed keeps its values, and no other composite's`() throws {
    let named = composite("kind", [.optional("kind")])
    let other = composite("kind", [.optional("value")])
    func found(_ old: Attribute, _ new: Attribute) throws -> [String] {
      pairs(
        try inference([old], [new, .optional("note")]).mapping.mapping(toDestination: "E"))
    }
    let renamed = composite("sort", [.optional("sort")], was: "kind")
    #expect(try found(named, renamed) == ["sort.sort<kind.kind"])
    #expect(try found(other, renamed).isEmpty)
    #expect(try found(named, composite("sort", [.optional("sort")])).isEmpty)
    #expect(try found(named, composite("sort", [.optional("other")], was: "kind")).isEmpty)
  }

  @Test func `a composite of another name stays where nothing else changes`() throws {
    let elements = [Attribute.optional("id", .uuid), .optional("person")]
    let found = try inference(
      [composite("author", elements), .optional("id", .uuid)],
      [composite("creator", elements), .optional("id", .uuid)])
    #expect(
      pairs(found.mapping.mapping(toDestination: "E"))
        == ["creator.id<author.id", "creator.person<author.person", "id<id"])
    #expect(found.possibleLosses.isEmpty)
    let changed = try inference(
      [composite("author", elements)], [composite("writer", elements), .optional("note")])
    #expect(pairs(changed.mapping.mapping(toDestination: "E")).isEmpty)
    #expect(changed.possibleLosses.count == 2)
  }

  @Test func `of several composites those of the same elements belong together`() throws {
    let found = try inference(
      [
        composite("b", [.optional("value", .double)]), composite("a", [.optional("value")]),
        composite("c", [.optional("value", .double)]),
      ],
      [
        composite("bb", [.optional("value", .double)]), composite("aa", [.optional("value")]),
        composite("c", [.optional("value", .double)]),
      ])
    #expect(
      pairs(found.mapping.mapping(toDestination: "E"))
        == ["aa.value<a.value", "bb.value<b.value", "c.value<c.value"])
  }

  @Test func `elements are told as attributes are: new, gone, narrower, of another type`() throws {
    let found = try inference(
      [
        composite(
          "size", [.mandatory("value", .double), .optional("unit"), .optional("gone")],
          isOptional: false)
      ],
      [
        composite(
          "size",
          [.mandatory("value", .integer16), .optional("unit", .date), .mandatory("label")],
          isOptional: false)
      ])
    #expect(
      found.refusals.map { "\($0.property ?? "") \($0.reason)" } == [
        "size.unit incompatibleTypes(source: \"String\", destination: \"Date\")"
      ])
    #expect(Set(found.conditions.map { $0.property ?? "" }) == ["size.value", "size.label"])
    #expect(
      found.possibleLosses.filter { $0.cause == .removed }.map(\.kind)
        == [.attribute("size.gone")])
  }

  @Test func `an element is optional where its composite is`() throws {
    let found = try inference([], [composite("size", [.mandatory("value", .double)])])
    #expect(found.conditions.isEmpty)
    let strict = try inference(
      [], [composite("size", [.mandatory("value", .double)], isOptional: false)])
    #expect(strict.conditions.map(\.property) == ["size.value"])
  }

  @Test(arguments: [true, false])
  func `a composite and another attribute do not become each other`(isFirst: Bool) throws {
    let one = [composite("author", [.optional("id"), .optional("person")])]
    let other = [Attribute.optional("author")]
    let found = isFirst ? try inference(one, other) : try inference(other, one)
    let types = isFirst ? ("Composite", "String") : ("String", "Composite")
    #expect(
      found.refusals == [
        Refusal(
          reason: .incompatibleTypes(source: types.0, destination: types.1), entity: "E",
          property: "author")
      ])
  }

  @Test func `a composite under another name hashes alike, and keeps its values`() throws {
    let elements = [Attribute.optional("id")]
    let old = try ManagedObjectModel(Entity("E", [composite("a", elements)]))
    let new = try ManagedObjectModel(Entity("E", [composite("b", elements, was: "a")]))
    #expect(try old.versionHashes() == new.versionHashes())
    let found = MappingInference(from: old, to: new)
    #expect(pairs(found.mapping.mapping(toDestination: "E")) == ["b.id<a.id"])
  }

  @Test func `mappings of a whole composite become those of its elements`() throws {
    let old = try ManagedObjectModel(
      Entity("E", [composite("author", [.optional("id"), .optional("person")])]))
    let new = try ManagedObjectModel(
      Entity(
        "E",
        [
          composite(
            "writer", [.optional("id"), .optional("note"), .optional("who", was: "person")])
        ]
      ))
    func expanded(_ properties: [PropertyMapping]) -> [PropertyMapping] {
      var mapping = EntityMapping(name: "m", kind: .copy, source: "E", destination: "E")
      mapping.attributeMappings = properties
      return MappingModel(entityMappings: [mapping]).expandingComposites(from: old, to: new)
        .entityMappings[0].attributeMappings
    }
    let whole = PropertyMapping(name: "writer", valueExpression: .source(name: "author"))
    let result = expanded([whole])
    #expect(result.map(\.name) == ["writer.id", "writer.note", "writer.who"])
    #expect(
      result.map(\.origin) == [
        .attribute("author.id", replacingNull: .null), .standard,
        .attribute("author.person", replacingNull: .null),
      ])
    let note = PropertyMapping(name: "writer.note", valueExpression: .constant(.string("n")))
    #expect(expanded([whole, note]).map(\.name) == ["writer.id", "writer.who", "writer.note"])
    let made = ValueExpression.function(operand: .variable("entityPolicy"), selector: "make", [])
    #expect(
      expanded([PropertyMapping(name: "writer", valueExpression: made)]).map(\.valueExpression)
        == ["id", "note", "who"].map { .keyPath(operand: made, $0) })
  }

  @Test func `an element that the source does not have is a problem of the mapping`() throws {
    let model = try ManagedObjectModel(
      Entity("E", [composite("author", [.optional("id")]), .optional("name")]))
    func problems(_ path: String) -> [MappingProblem.Reason] {
      var mapping = EntityMapping(name: "m", kind: .copy, source: "E", destination: "E")
      mapping.attributeMappings = [
        PropertyMapping(name: "name", valueExpression: .source(name: path))
      ]
      return MappingCheck(
        models: [MappingModel(entityMappings: [mapping])], source: model, destination: model
      ).problems.map(\.reason)
    }
    #expect(problems("author.id").isEmpty)
    #expect(
      problems("author.who") == [.sourcePropertyMissing(entity: "E", property: "author.who")])
  }
}
