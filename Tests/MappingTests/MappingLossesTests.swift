import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// What mappings leave behind, and what a mapping of kind `copy` adds to its file.
@Suite struct MappingLossesTests {
  private func losses(
    _ change: (inout MappingModel) throws -> Void,
    to change2: (inout [Entity]) -> Void = { _ in }
  ) throws -> MappingLosses {
    var mapping = ShopModels.mapping()
    try change(&mapping)
    return MappingLosses(
      models: [mapping], source: try ShopModels.model(), destination: try ShopModels.model(change2))
  }

  @Test func `a mapping that reads everything leaves nothing`() throws {
    let losses = try losses { _ in }
    #expect(losses.possible.isEmpty && losses.divisions.isEmpty && losses.open.isEmpty)
  }

  @Test func `what the model lacks goes with it, what it has was forgotten`() throws {
    let forgotten = try losses { $0.entityMappings[0].attributeMappings = [] }
    #expect(
      forgotten.possible == [
        PossibleLoss(entity: "Customer", kind: .attribute("name"), cause: .unmappedProperty)
      ])
    let removed = try losses {
      $0.entityMappings[0].attributeMappings = []
    } to: {
      $0[0].attributes = []
    }
    #expect(removed.possible == [PossibleLoss(entity: "Customer", kind: .attribute("name"))])
    let unmapped = try losses { $0.entityMappings.removeAll { $0.name == "LogToLog" } }
    #expect(
      unmapped.possible == [PossibleLoss(entity: "Log", kind: .entity, cause: .unmappedEntity)])
  }

  @Test func `a property that the entity keeps is forgotten by a mapping to another entity`()
    throws
  {
    let clips = Entity("Clip", [.optional("title")])
    let songs = Entity("Song", [.optional("title"), .optional("lyrics")])
    func cause(_ entities: [Entity]) throws -> [LossCause] {
      var mapping = EntityMapping(
        name: "SongToClip", kind: .copy, source: "Song", destination: "Clip")
      mapping.attributeMappings = [
        PropertyMapping(name: "title", valueExpression: .source(name: "title"))
      ]
      return MappingLosses(
        models: [MappingModel(entityMappings: [mapping])],
        source: try ManagedObjectModel(entities: [songs]),
        destination: try ManagedObjectModel(entities: entities)
      ).possible.map(\.cause)
    }
    #expect(try cause([clips, songs]) == [.unmappedProperty])
    let renamed = Entity("Track", was: "Song", [.optional("lyrics")])
    #expect(try cause([clips, renamed]) == [.unmappedProperty])
    #expect(try cause([clips, Entity("Song", [.optional("title")])]) == [.removed])
    #expect(try cause([Entity("Clip", was: "Song", [.optional("title")])]) == [.removed])
  }

  @Test func `a relationship is kept by either of its ends`() throws {
    let one = try losses { $0.entityMappings[0].relationshipMappings = [] }
    #expect(one.possible.isEmpty)
    let none = try losses {
      $0.entityMappings[0].relationshipMappings = []
      $0.entityMappings[2].relationshipMappings = []
    }
    #expect(
      Set(none.possible) == [
        PossibleLoss(entity: "Customer", kind: .relationship("orders"), cause: .unmappedProperty),
        PossibleLoss(entity: "Order", kind: .relationship("customer"), cause: .unmappedProperty),
      ])
  }

  @Test(arguments: ["customer", "orders", nil])
  func `references that the new model does not store are lost, though their other end is mapped`(
    transient: String?
  ) throws {
    let losses = try losses { _ in
    } to: { entities in
      for entity in entities.indices {
        for place in entities[entity].relationships.indices
        where entities[entity].relationships[place].name == transient {
          entities[entity].relationships[place].isTransient = true
        }
      }
    }
    // The column of the to-one relationship has them, whatever becomes of the other end.
    #expect(
      Set(losses.possible.map(\.kind))
        == (transient == "customer" ? [.relationship("customer"), .relationship("orders")] : []))
  }

  @Test func `the order of a relationship is kept by its own end alone`() throws {
    func order(_ isOrdered: Bool) -> (inout [Entity]) -> Void {
      { $0[0].relationships[0].isOrdered = isOrdered }
    }
    func losses(to destination: ManagedObjectModel, reading ends: [Int]) throws -> [PossibleLoss] {
      var mapping = ShopModels.mapping()
      for end in [0, 2] where !ends.contains(end) {
        mapping.entityMappings[end].relationshipMappings = []
      }
      let source = try ShopModels.model(order(true))
      return MappingLosses(models: [mapping], source: source, destination: destination).possible
    }
    let ordered = try ShopModels.model(order(true))
    var expected = PossibleLoss(
      entity: "Customer", kind: .relationship("orders"), cause: .order)
    expected.targets = ["Order"]
    #expect(try losses(to: ordered, reading: [2]) == [expected])
    #expect(try losses(to: ordered, reading: [0]).isEmpty)
    #expect(
      try losses(to: ordered, reading: []).map(\.cause)
        == Array(repeating: .unmappedProperty, count: 2))
    var given = PossibleLoss(entity: "Customer", kind: .order("orders"))
    given.targets = ["Order"]
    for ends in [[0], [2], [0, 2]] {
      #expect(try losses(to: ShopModels.model(order(false)), reading: ends) == [given])
    }
  }

  @Test func `the order is lost where a policy reads the other end alone`() throws {
    let model = try ShopModels.model { $0[0].relationships[0].isOrdered = true }
    var mapping = ShopModels.mapping()
    for end in [0, 2] {
      mapping.entityMappings[end].relationshipMappings = []
      mapping.entityMappings[end].migrationPolicyClassName = "Policy"
    }
    let losses = MappingLosses(models: [mapping], source: model, destination: model)
    #expect(losses.possible.isEmpty)
    func causes(reading property: String?, of entity: String = "") -> [LossCause: Set<String>?] {
      var read = PropertiesRead()
      if let property { read.add(property, of: entity) }
      let left = losses.open.compactMap { model.unread($0, read: read) }
        .filter { $0.kind == .relationship("orders") }
      return Dictionary(uniqueKeysWithValues: left.map { ($0.cause, $0.targets) })
    }
    #expect(causes(reading: nil) == [.unmappedProperty: ["Order"]])
    #expect(causes(reading: "orders", of: "Customer").isEmpty)
    #expect(causes(reading: "customer", of: "Order") == [.order: ["Order"]])
    // The policy of one end may keep what has none at the other.
    mapping.entityMappings[0].migrationPolicyClassName = nil
    let half = MappingLosses(models: [mapping], source: model, destination: model)
    #expect(Set(half.open.map(\.cause)) == [.unmappedProperty, .order])
  }

  @Test func `what another mapping reads along a key path is no loss`() throws {
    let losses = try losses {
      $0.entityMappings[0].attributeMappings = []
      $0.entityMappings[1].attributeMappings = []
      $0.entityMappings[2].attributeMappings.append(
        PropertyMapping(
          name: "who", valueExpression: .keyPath(operand: .variable("source"), "customer.name")))
    }
    #expect(losses.possible.map(\.entity) == ["Log"])
  }

  @Test func `filters divide an entity, and a policy leaves open what it reads`() throws {
    let divided = try losses {
      $0.entityMappings[1].sourceExpression = .sourceObjects(of: "Log", where: "text != nil")
      $0.entityMappings[1].attributeMappings = []
    }
    #expect(divided.divisions.map(\.entity) == ["Log"])
    #expect(divided.divisions.first?.filters == ["text != nil"])
    #expect(divided.divisions.first?.properties.map(\.name) == ["text"])
    let open = try losses {
      $0.entityMappings[1].migrationPolicyClassName = "P"
      $0.entityMappings[1].attributeMappings = []
    }
    #expect(open.possible.isEmpty)
    #expect(
      open.open == [PossibleLoss(entity: "Log", kind: .attribute("text"), cause: .unmappedProperty)]
    )
  }

  @Test func `numbers are asked about where their type becomes a smaller one`() throws {
    func change(_ type: AttributeType, _ new: AttributeType) throws -> [PossibleLoss] {
      let (old, wanted) = (Attribute.optional("n", type), Attribute.optional("n", new))
      return try MappingInference(
        from: ManagedObjectModel(Entity("E", [old])),
        to: ManagedObjectModel(Entity("E", [wanted]))
      ).possibleLosses
    }
    let loss = PossibleLoss(
      entity: "E", kind: .conversion("n", to: .integer32), cause: .conversion)
    #expect(try change(.double, .integer32) == [loss])
    // A text in a column of numbers is the only thing that changes.
    #expect(try change(.integer16, .integer32).map(\.isOfOddValues) == [true])
    #expect(loss.isOfOddValues == false)
    // Few whole numbers are too large, and workers come across them.
    #expect(try change(.integer64, .double).map(\.isOfOddValues) == [true])
    #expect(try change(.double, .integer64).map(\.isOfOddValues) == [false])
    #expect(try change(.integer32, .boolean).count == 1)
    #expect(try change(.double, .decimal).isEmpty)
  }

  // MARK: Copies

  private func completed(
    _ change: (inout MappingModel) throws -> Void,
    to change2: (inout [Entity]) -> Void = { _ in }
  ) throws -> MappingModel {
    var mapping = ShopModels.mapping()
    try change(&mapping)
    return mapping.completingCopies(
      from: try ShopModels.model(), to: try ShopModels.model(change2))
  }

  @Test func `a copy that lists nothing is the mapping that lists all`() throws {
    let completed = try completed {
      for index in $0.entityMappings.indices {
        $0.entityMappings[index].attributeMappings = []
        $0.entityMappings[index].relationshipMappings = []
      }
    }
    let losses = MappingLosses(
      models: [completed], source: try ShopModels.model(), destination: try ShopModels.model())
    #expect(losses.possible.isEmpty)
    #expect(
      completed.entityMappings[0].attributeMappings == [
        PropertyMapping(name: "name", valueExpression: .source(name: "name"))
      ])
    #expect(completed.entityMappings[0].relationshipMappings.map(\.name) == ["orders"])
  }

  @Test func `what a copy lists stays, and so does what no copy is`() throws {
    let listed = try completed {
      $0.entityMappings[0].attributeMappings = [PropertyMapping(name: "name", valueExpression: nil)]
      $0.entityMappings[1].kind = .transform
      $0.entityMappings[1].attributeMappings = []
    }
    #expect(
      listed.entityMappings[0].attributeMappings == [
        PropertyMapping(name: "name", valueExpression: nil)
      ])
    #expect(listed.entityMappings[1].attributeMappings.isEmpty)
  }

  @Test func `a copy follows renaming identifiers and leaves alone what does not convert`() throws {
    let renamed = try completed {
      $0.entityMappings[0].attributeMappings = []
    } to: {
      $0[0].attributes = [.optional("title", was: "name")]
    }
    #expect(
      renamed.entityMappings[0].attributeMappings == [
        PropertyMapping(name: "title", valueExpression: .source(name: "name"))
      ])
    let changed = try completed {
      $0.entityMappings[0].attributeMappings = []
    } to: {
      $0[0].attributes = [.optional("name", .date)]
    }
    #expect(changed.entityMappings[0].attributeMappings.isEmpty)
  }
}
