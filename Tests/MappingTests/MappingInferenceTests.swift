import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// The changes that Core Data calls lightweight.
struct MappingInferenceTests {
  private func infer(_ old: [Entity], _ new: [Entity]) throws -> MappingInference {
    MappingInference(
      from: try ManagedObjectModel(entities: old), to: try ManagedObjectModel(entities: new))
  }

  private func value(
    _ attribute: String, of entity: String, in inference: MappingInference
  ) -> PropertyOrigin? {
    inference.mapping.mapping(toDestination: entity)?.attributeMappings
      .first { $0.name == attribute }?.origin
  }

  private func objects(
    _ relationship: String, of entity: String, in inference: MappingInference
  ) -> String? {
    inference.mapping.mapping(toDestination: entity)?.relationshipMappings
      .first { $0.name == relationship }?.sourceRelationshipName
  }

  @Test func `a model maps onto itself`() throws {
    let entities = [
      Entity("A", [.mandatory("x")], [.toOne("b", "B", inverse: "as")]),
      Entity("B", [], [.toMany("as", "A", inverse: "b")]),
    ]
    let inference = try infer(entities, entities)
    #expect(inference.refusals.isEmpty && inference.conditions.isEmpty)
    #expect(inference.possibleLosses.isEmpty)
    #expect(inference.mapping.entityMappings.map(\.kind) == [.transform, .transform])
    #expect(value("x", of: "A", in: inference) == .attribute("x", replacingNull: .null))
    #expect(objects("b", of: "A", in: inference) == "b")
    #expect(objects("as", of: "B", in: inference) == "as")
  }

  @Test func `entities are added and removed`() throws {
    let inference = try infer([Entity("Old"), Entity("Ghost", isAbstract: true)], [Entity("New")])
    #expect(inference.refusals.isEmpty)
    #expect(
      inference.mapping.entityMappings.map { "\($0.kind) \($0.name)" } == [
        "add IEM_Add_New", "remove IEM_Remove_Ghost", "remove IEM_Remove_Old",
      ])
    #expect(inference.possibleLosses == [PossibleLoss(entity: "Old", kind: .entity)])
  }

  @Test func `renaming identifiers carry entities and properties over`() throws {
    let inference = try infer(
      [
        Entity("Car", [.optional("colour")], [.toOne("owner", "Man", inverse: nil)]),
        Entity("Man"),
      ],
      [
        Entity(
          "Vehicle", was: "Car", [.optional("color", was: "colour")],
          [.toOne("holder", "Person", inverse: nil, was: "owner")]),
        Entity("Person", was: "Man"),
      ])
    #expect(inference.refusals.isEmpty && inference.possibleLosses.isEmpty)
    #expect(inference.mapping.destinationName(ofSource: "Man") == "Person")
    #expect(
      value("color", of: "Vehicle", in: inference) == .attribute("colour", replacingNull: .null))
    #expect(objects("holder", of: "Vehicle", in: inference) == "owner")
  }

  @Test func `an identifier that both versions bear goes on through several renames`() throws {
    let inference = try infer(
      [Entity("B", was: "A", [.optional("y", was: "x")])],
      [Entity("C", was: "A", [.optional("z", was: "x")])])
    #expect(inference.mapping.destinationName(ofSource: "B") == "C")
    #expect(value("z", of: "C", in: inference) == .attribute("y", replacingNull: .null))
  }

  @Test func `two attributes can change names where the entity changes`() throws {
    let inference = try infer(
      [Entity("A", [.optional("x"), .optional("y")])],
      [Entity("A", [.optional("x", was: "y"), .optional("y", was: "x"), .optional("z")])])
    #expect(value("x", of: "A", in: inference) == .attribute("y", replacingNull: .null))
    #expect(value("y", of: "A", in: inference) == .attribute("x", replacingNull: .null))
  }

  @Test func `a new attribute gets its default`() throws {
    let inference = try infer(
      [Entity("A")],
      [Entity("A", [.mandatory("n", .integer16, default: .integer(7)), .optional("note")])])
    #expect(inference.refusals.isEmpty && inference.conditions.isEmpty)
    #expect(value("n", of: "A", in: inference) == .constant(.integer(7)))
    #expect(value("note", of: "A", in: inference) == .standard)
  }

  @Test func `a new mandatory attribute without default asks for a store without objects`() throws {
    let inference = try infer([Entity("A")], [Entity("A", [.mandatory("n")])])
    #expect(
      inference.conditions == [
        Condition(
          demand: .noObjects(missing: "n"), sourceEntity: "A", destinationEntity: "A", property: "n"
        )
      ])
    #expect(inference.conditions.first?.code == .validationMissingMandatoryProperty)
  }

  @Test func `a condition tells where a default value would not be unique`() throws {
    func demands(unique: [[String]]) throws -> [Condition.Demand] {
      try infer(
        [Entity("A", [.optional("x")])],
        [Entity("A", [.mandatory("n"), .mandatory("x")], unique: unique)]
      ).conditions.map(\.demand)
    }
    let plain = [
      Condition.Demand.noObjects(missing: "n"), .noMissingValues(attribute: "x"),
    ]
    #expect(try demands(unique: []) == plain)
    #expect(try demands(unique: [["n", "x"]]).filter(plain.contains) == plain)
    let unique = [
      Condition.Demand.noObjects(missing: "n", isUnique: true),
      .noMissingValues(attribute: "x", isUnique: true),
    ]
    #expect(try demands(unique: [["n"], ["x"]]).filter(unique.contains) == unique)
  }

  @Test func `optional becomes mandatory with a default, or asks for values`() throws {
    let inference = try infer(
      [Entity("A", [.optional("x"), .optional("y")])],
      [Entity("A", [.mandatory("x", default: .string("?")), .mandatory("y")])])
    #expect(value("x", of: "A", in: inference) == .attribute("x", replacingNull: .string("?")))
    #expect(inference.conditions.map(\.demand) == [.noMissingValues(attribute: "y")])
    let back = try infer(
      [Entity("A", [.mandatory("x", default: .string("?"))])], [Entity("A", [.optional("x")])])
    #expect(back.conditions.isEmpty && back.refusals.isEmpty)
    #expect(value("x", of: "A", in: back) == .attribute("x", replacingNull: .null))
  }

  private static let numeric = AttributeType.allCases.filter(\.isNumeric)

  @Test(arguments: numeric, numeric)
  func `numeric types convert into each other`(old: AttributeType, new: AttributeType) throws {
    let inference = try infer(
      [Entity("A", [.optional("x", old)])], [Entity("A", [.optional("x", new)])])
    #expect(inference.refusals.isEmpty)
    // Whatever can be too large for the new type is held against the values.
    let narrows = inference.conditions.contains {
      $0.demand == .valuesFit(attribute: "x", type: new.name)
    }
    if old == new || new == .double || new == .decimal || new == .boolean { #expect(!narrows) }
    if old != new, [.double, .decimal].contains(old), new.integerRange != nil, new != .boolean {
      #expect(narrows)
    }
    if let from = old.integerRange, let to = new.integerRange, new != .boolean {
      #expect(narrows == (from.upperBound > to.upperBound))
    }
  }

  @Test func `a to-one becomes a to-many, and a to-many a many-to-many`() throws {
    let inference = try infer(
      [
        Entity("Book", [], [.toOne("author", "Person", inverse: "books")]),
        Entity("Person", [], [.toMany("books", "Book", inverse: "author")]),
      ],
      [
        Entity("Book", [], [.toMany("authors", "Person", inverse: "books", was: "author")]),
        Entity("Person", [], [.toMany("books", "Book", inverse: "authors", isOrdered: true)]),
      ])
    #expect(inference.refusals.isEmpty && inference.conditions.isEmpty)
    #expect(objects("authors", of: "Book", in: inference) == "author")
    #expect(objects("books", of: "Person", in: inference) == "books")
  }

  @Test func `objects of a new to-many may have one owner only`() throws {
    let inference = try infer(
      [Entity("Team", [], [.toOne("captain", "Player", inverse: nil)]), Entity("Player")],
      [
        Entity("Team", [], [.toMany("captains", "Player", inverse: nil, was: "captain")]),
        Entity("Player"),
      ])
    #expect(inference.refusals.isEmpty)
    #expect(inference.conditions.map(\.demand) == [.singleOwner(relationship: "captain")])
  }

  @Test func `objects share the object of a to-one without an inverse`() throws {
    func demands(inverse: String?) throws -> [Condition.Demand] {
      try infer(
        [
          Entity("Team", [], [.toMany("captain", "Player", inverse: "team")]),
          Entity("Player", [], [.toMany("team", "Team", inverse: "captain")]),
        ],
        [
          Entity("Team", [], [.toOne("captain", "Player", inverse: inverse)]),
          Entity("Player", [], inverse.map { [.toOne($0, "Team", inverse: "captain")] } ?? []),
        ]
      ).conditions.map(\.demand)
    }
    #expect(try demands(inverse: nil) == [.singleObject(relationship: "captain")])
    #expect(try demands(inverse: "team").count == 2)
  }

  @Test func `properties move up and down a hierarchy`() throws {
    let up = try infer(
      [Entity("P"), Entity("A", in: "P", [.optional("x")]), Entity("B", in: "P")],
      [Entity("P", [.optional("x")]), Entity("A", in: "P"), Entity("B", in: "P")])
    #expect(up.refusals.isEmpty && up.possibleLosses.isEmpty)
    #expect(value("x", of: "A", in: up) == .attribute("x", replacingNull: .null))
    #expect(value("x", of: "B", in: up) == .standard)
    let down = try infer(
      [Entity("P", [.optional("x")]), Entity("A", in: "P"), Entity("B", in: "P")],
      [Entity("P"), Entity("A", in: "P", [.optional("x")]), Entity("B", in: "P")])
    #expect(value("x", of: "A", in: down) == .attribute("x", replacingNull: .null))
    #expect(
      down.possibleLosses == [
        PossibleLoss(entity: "B", kind: .attribute("x")),
        PossibleLoss(entity: "P", kind: .attribute("x")),
      ])
  }

  @Test func `parents and children are new, and an entity leaves its hierarchy`() throws {
    let inference = try infer(
      [Entity("A", [.optional("x")]), Entity("Q"), Entity("C", in: "Q")],
      [
        Entity("P", isAbstract: true), Entity("A", in: "P", [.optional("x")]),
        Entity("Kid", in: "A"), Entity("Q"), Entity("C"),
      ])
    #expect(inference.refusals.isEmpty && inference.conditions.isEmpty)
    #expect(inference.mapping.destinationName(ofSource: "C") == "C")
    #expect(inference.mapping.mapping(toDestination: "P") == nil)
    #expect(inference.mapping.mapping(toDestination: "Kid") == nil)
  }

  @Test func `a new constraint asks for unique values, an old one does not`() throws {
    let old = Entity("A", [.optional("x"), .optional("y")], unique: [["x"]])
    let new = Entity(
      "A", [.optional("x"), .optional("z", was: "y")], unique: [["x"], ["x", "z"]])
    #expect(try infer([old], [new]).conditions.map(\.demand) == [.unique(properties: ["x", "z"])])
  }

  @Test func `a constraint is asked for again where values may become the same`() throws {
    let old = Entity(
      "A", [.optional("x", .double), .optional("y"), .optional("z")],
      unique: [["x"], ["y"], ["z"]])
    let new = Entity(
      "A",
      [.optional("x", .integer32), .mandatory("y", default: .string("?")), .optional("z")],
      unique: [["x"], ["y"], ["z"]])
    let demands = try infer([old], [new]).conditions.map(\.demand)
    #expect(demands.contains(.unique(properties: ["x"])))
    #expect(demands.contains(.unique(properties: ["y"])))
    #expect(!demands.contains(.unique(properties: ["z"])))
  }

  @Test(
    arguments: [
      (.integer64, .double, true), (.integer64, .float, true), (.decimal, .double, true),
      (.double, .boolean, true), (.integer32, .double, false), (.integer64, .decimal, false),
      (.float, .double, false), (.integer16, .integer64, false),
    ] as [(AttributeType, AttributeType, Bool)])
  func `a constraint is asked for again where numbers may become the same`(
    old: AttributeType, new: AttributeType, mayAgree: Bool
  ) throws {
    let demands = try infer(
      [Entity("A", [.optional("x", old)], unique: [["x"]])],
      [Entity("A", [.optional("x", new)], unique: [["x"]])]
    ).conditions.map(\.demand)
    #expect(demands.contains(.unique(properties: ["x"])) == mayAgree)
  }

  @Test func `what is dropped is named for every entity that had it`() throws {
    var total = Attribute.optional("total", .integer32)
    total.derivation = .init(expression: .keyPath(operand: nil, "x"))
    let inference = try infer(
      [
        Entity("A", [.optional("x"), total], [.toOne("b", "B", inverse: nil)]),
        Entity("A2", in: "A"), Entity("B"),
      ],
      [Entity("A"), Entity("A2", in: "A"), Entity("B")])
    #expect(
      Set(inference.possibleLosses) == [
        PossibleLoss(entity: "A", kind: .attribute("x")),
        PossibleLoss(entity: "A2", kind: .attribute("x")),
        PossibleLoss(entity: "A", kind: .relationship("b")),
        PossibleLoss(entity: "A2", kind: .relationship("b")),
      ])
  }
}
