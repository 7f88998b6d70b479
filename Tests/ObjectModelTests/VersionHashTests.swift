import Expressions
import ObjectModel
import Testing

/// The expected hashes are Apple's, from stores and bundles that its tools wrote.
@Suite struct VersionHashTests {
  static func attribute(
    _ name: String, _ type: AttributeType, optional: Bool = false
  ) -> Attribute {
    var attribute = Attribute(name: name, type: type)
    attribute.isOptional = optional
    return attribute
  }

  @Test func `an optional date hashes as Apple's`() throws {
    var event = Entity("Event")
    event.attributes = [Self.attribute("timeStamp", .date, optional: true)]
    let model = try ManagedObjectModel(entities: [event])
    #expect(
      try model.versionHash(of: event).hexadecimal
        == "5431c046d30e7f32c2cc809958add1e7579ad104a3aa8fc4846e97d7af01cc79")
  }

  static func petModel() throws -> ManagedObjectModel {
    var user = Entity("User")
    user.attributes = [
      attribute("petName", .string, optional: true), attribute("name", .string),
    ]
    var pet = Entity("Pet")
    pet.attributes = [attribute("name", .string)]
    var owner = Relationship(name: "owner", to: "User", inverse: "pet")
    owner.isOptional = true
    pet.relationships = [owner]
    var petOfUser = Relationship(name: "pet", to: "Pet", inverse: "owner")
    petOfUser.isOptional = true
    user.relationships = [petOfUser]
    return try ManagedObjectModel(entities: [user, pet])
  }

  @Test func `a relationship hashes as Apple's`() throws {
    let hashes = try Self.petModel().versionHashes().mapValues(\.hexadecimal)
    #expect(
      hashes == [
        "Pet": "767342262a6458730c78aae73c5328d0fcaa4e3596d2f87f22e366eb46a9f46f",
        "User": "6a47cbef0e3f84c2449249fdc83f003d7e514378f8ee9a76a8d4c0ec8bb1b822",
      ])
  }

  @Test func `the checksum of a model is Apple's`() throws {
    var user = Entity("User")
    user.attributes = [
      Self.attribute("name", .string), Self.attribute("petName", .string, optional: true),
    ]
    let model = try ManagedObjectModel(entities: [user])
    #expect(
      try model.versionHashes().checksum == "u970QgYhRHEJGIt0zQr1UhuZL2ZJ1KxBS+B7rkAx0ik=")
  }

  @Test func `what is not part of the schema does not change a hash`() throws {
    var model = try Self.petModel()
    let before = try model.versionHashes()
    var user = try #require(model.entity(name: "User"))
    user.className = "Person"
    user.userInfo = ["key": "value"]
    user.renamingIdentifier = "Customer"
    user.attributes[0].defaultValue = .string("Rex")
    user.attributes[0].isIndexed = true
    user.relationships[0].deleteRule = .cascade
    user.attributes.append(Self.attribute("shown", .boolean))
    user.attributes[2].isTransient = true
    model = try ManagedObjectModel(entities: [user, try #require(model.entity(name: "Pet"))])
    #expect(try model.versionHashes() == before)
  }

  @Test func `a property counts in its subentities, and transient again no more`() throws {
    var parent = Entity("Parent")
    parent.attributes = [Self.attribute("name", .string)]
    var child = Entity("Child")
    child.superentityName = "Parent"
    let plain = try ManagedObjectModel(entities: [parent, child]).versionHashes()
    parent.attributes.append(Self.attribute("more", .string))
    let more = try ManagedObjectModel(entities: [parent, child]).versionHashes()
    #expect(plain["Child"] != more["Child"])
  }

  static func composite(_ names: [String]) -> Attribute {
    var result = attribute("a", .composite)
    result.elements = names.map { attribute($0, .string) }
    return result
  }

  static let unknown: [(Attribute, UnknownVersionHash.Reason)] = {
    var both = attribute("a", .binary)
    both.storesBinaryDataExternally = true
    both.preservesValueAfterDeletion = true
    var filtered = attribute("a", .integer64)
    filtered.derivation = Attribute.Derivation(
      expression: .builtIn(name: "now", []), filter: .always(true))
    var odd = attribute("a", .string)
    odd.unread = [UnreadPart(part: .flags, form: "32")]
    var sum = attribute("a", .integer64)
    sum.derivation = Attribute.Derivation(expression: .keyPath(operand: nil, "items.@sum.x"))
    return [
      (attribute("a", .composite), .compositeAttribute),
      (composite(["a", "B"]), .compositeElements), (odd, .unread(.init(part: .flags, form: "32"))),
      (both, .externalStorageAndPreservation), (filtered, .filteredDerivation),
      (sum, .derivation("items.@sum.x")),
    ]
  }()

  @Test(arguments: unknown)
  func `a form that no file shows has no hash`(
    attribute: Attribute, reason: UnknownVersionHash.Reason
  ) throws {
    var entity = Entity("Thing")
    entity.attributes = [attribute]
    let model = try ManagedObjectModel(entities: [entity])
    #expect(throws: UnknownVersionHash(entity: "Thing", property: "a", reason: reason)) {
      try model.versionHashes()
    }
  }

  static func hash(_ entity: Entity) throws -> VersionHash {
    try ManagedObjectModel(entities: [entity]).versionHash(of: entity)
  }

  /// The modifier comes first, so it cannot be taken for a constraint.
  @Test func `a modifier is hashed before constraints`() throws {
    var entity = Entity("Thing")
    entity.attributes = [Self.attribute("ab", .string), Self.attribute("b", .string)]
    entity.versionHashModifier = "a"
    entity.uniquenessConstraints = [["b"]]
    var joined = entity
    joined.versionHashModifier = nil
    joined.uniquenessConstraints = [["ab"]]
    #expect(try Self.hash(entity) == Self.hash(joined))
  }

  @Test func `a relationship that is its own inverse hashes like one without`() throws {
    var person = Entity("Person")
    person.relationships = [
      Relationship(name: "friends", to: "Person", inverse: "friends", isToMany: true)
    ]
    var alone = person
    alone.relationships[0].inverseName = nil
    #expect(try Self.hash(person) == Self.hash(alone))
  }

  @Test func `a composite hashes as its elements, whatever its own name`() throws {
    var one = Entity("Thing")
    one.attributes = [Self.composite(["x", "y"])]
    var other = Entity("Thing")
    other.attributes = [Self.composite(["y", "x"])]
    other.attributes[0].name = "b"
    other.attributes[0].isOptional = true
    #expect(try Self.hash(one) == Self.hash(other))
    other.attributes[0].elements[0].isOptional = true
    #expect(try Self.hash(one) != Self.hash(other))
  }

  @Test func `one entity of unknown hash hides no other`() throws {
    var odd = Entity("Odd")
    odd.attributes = [Self.attribute("a", .objectID)]
    let model = try ManagedObjectModel(entities: [odd, Entity("Plain")])
    #expect(model.knownVersionHashes().keys.sorted() == ["Plain"])
  }
}

@Suite struct HierarchyTests {
  static func chain(_ count: Int) -> [Entity] {
    (0..<count).map {
      var entity = Entity("E\($0)")
      entity.superentityName = $0 == 0 ? nil : "E\($0 - 1)"
      return entity
    }
  }

  @Test func `entities that inherit from each other are refused`() {
    var first = Self.chain(3)
    first[0].superentityName = "E2"
    #expect { try ManagedObjectModel(entities: first) } throws: {
      ($0 as? ModelError)?.problem == .inheritanceCycle
    }
  }

  @Test func `a hierarchy of a hundred thousand levels is refused`() {
    #expect { try ManagedObjectModel(entities: Self.chain(100_000)) } throws: {
      ($0 as? ModelError)?.problem == .inheritanceTooDeep
    }
  }

  @Test func `a property that is of another kind in a subentity is refused`() {
    var entities = Self.chain(3)
    entities[0].attributes = [Attribute(name: "a", type: .string)]
    entities[2].relationships = [Relationship(name: "a", to: "E0")]
    #expect(throws: ModelError(problem: .propertyChangesKind, entity: "E2", property: "a")) {
      try ManagedObjectModel(entities: entities)
    }
  }

  @Test func `subentities come in numbering order`() throws {
    var names = ["b", "A", "c"].map {
      var entity = Entity($0)
      entity.superentityName = "Root"
      return entity
    }
    names.append(Entity("Root"))
    let model = try ManagedObjectModel(entities: names)
    #expect(model.family(of: "Root").map(\.name) == ["Root", "A", "b", "c"])
  }

  @Test func `an entity is of the kind of itself and of those above it`() throws {
    let parents = ["Cat": "Animal", "Dog": "Animal", "Lynx": "Cat", "Stone": nil, "Animal": nil]
    let model = try ManagedObjectModel(
      entities: parents.map { name, parent in
        var entity = Entity(name)
        entity.superentityName = parent
        return entity
      })
    let kinds = [
      "Animal": ["Animal", "Cat", "Lynx", "Dog"], "Cat": ["Cat", "Lynx"], "Dog": ["Dog"],
      "Lynx": ["Lynx"], "Stone": ["Stone"], "Ghost": [],
    ]
    for (ancestor, members) in kinds {
      #expect(model.family(of: ancestor).map(\.name) == members)
      for name in Array(parents.keys) + ["Ghost"] {
        #expect(model.isKind(name, of: ancestor) == members.contains(name), "\(name), \(ancestor)")
      }
      #expect(!model.isKind(nil, of: ancestor))
    }
  }
}
