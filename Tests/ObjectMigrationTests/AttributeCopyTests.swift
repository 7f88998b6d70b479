import Expressions
import GRDB
import ObjectModel
import Schema
import StoreFormat
import TestSupport
import Testing

@testable import ObjectMigration

/// What `copyAttributes` makes of values, compared with reading and setting them one by one.
struct AttributeCopyTests {
  private static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .boolean, .double, .float, .decimal, .date, .string, .uri,
    .uuid, .binary, .transformable,
  ]

  /// Values that fit a type, and those that only a damaged or foreign store has.
  private static let values: [StoredValue] = [
    .null, .integer(0), .integer(1), .integer(2), .integer(-1), .integer(40_000),
    .integer(.max), .real(0), .real(1), .real(2.5), .text(""), .text("a"), .text("12"),
    .rawText([0x61, 0xFF], isUTF16: false), .blob([]), .blob([1, 7]), .blob([2, 0x61, 0]),
    .blob([UInt8](0..<16)),
  ]

  private static func model(_ type: AttributeType, isExternal: Bool) throws -> ManagedObjectModel {
    var thing = Entity("Thing")
    var attribute = Herds.attribute("value", type)
    attribute.storesBinaryDataExternally = isExternal
    thing.attributes = [attribute, Herds.attribute("other", .string)]
    return try ManagedObjectModel(entities: [thing])
  }

  private static func object(
    _ db: Database, type: AttributeType, isExternal: Bool, isSource: Bool, value: StoredValue
  ) throws -> ManagedObject {
    let context = ObjectContext(
      schema: try StoreSchema(model(type, isExternal: isExternal)),
      statements: PreparedStatements(db), database: "main", isSource: isSource, support: nil)
    let facts = try context.entityFacts(name: "Thing")
    var row = facts.newRow
    if let attribute = facts.attributes["value"] { row[attribute.index] = value }
    return ManagedObject(context: context, facts: facts, key: 7, row: row, isInserted: !isSource)
  }

  private func outcome(_ object: ManagedObject, _ body: () throws -> Void) -> String {
    do { try body() } catch { return "\(error)" }
    return "\(object.row ?? []) \(object.changed.sorted()) \(object.isWaiting)"
  }

  @Test(arguments: types)
  func `Copies are what reading and setting would make`(_ type: AttributeType) throws {
    try DatabaseQueue().writeWithoutTransaction { db in
      var refused = 0
      for other in Self.types {
        for isExternal in [false, true] where !isExternal || other == .binary {
          for value in Self.values {
            let source = try Self.object(
              db, type: type, isExternal: isExternal && type == .binary, isSource: true,
              value: value)
            let (one, two) = (
              try Self.object(
                db, type: other, isExternal: isExternal, isSource: false, value: .null),
              try Self.object(
                db, type: other, isExternal: isExternal, isSource: false, value: .null)
            )
            let expected = outcome(one) {
              for name in ["other", "value"] {
                try one.set(name, value: try source.attribute(name: name))
              }
            }
            #expect(
              outcome(two) { try two.copyAttributes(from: source) } == expected,
              "\(value) of \(type) to \(other)")
            refused += expected.hasPrefix("[") ? 0 : 1
          }
        }
      }
      #expect(refused > 0)
    }
  }

  @Test func `Objects of the source are not copied to`() throws {
    try DatabaseQueue().writeWithoutTransaction { db in
      let source = try Self.object(
        db, type: .string, isExternal: false, isSource: true, value: .text("a"))
      #expect(throws: ObjectMigrationError.self) { try source.copyAttributes(from: source) }
    }
  }
}

/// The table of objects in memory, compared with a dictionary.
struct LiveObjectTests {
  private func objects(_ count: Int) throws -> [ManagedObject] {
    try DatabaseQueue().writeWithoutTransaction { db in
      let model = try ManagedObjectModel(entities: [Entity("Thing"), Entity("Other")])
      let context = ObjectContext(of: db, schema: try StoreSchema(model), support: nil)
      let facts = [
        try context.entityFacts(name: "Thing"), try context.entityFacts(name: "Other"),
      ]
      return (0..<count).map { number in
        // Keys near each other, far from each other, and those of two tables.
        let key = Int64(number / 2) * (number % 3 == 0 ? 1 << 48 : 1)
        return ManagedObject(
          context: context, facts: facts[number % 2], key: key, row: nil, isInserted: true)
      }
    }
  }

  @Test func `Objects are found until they are taken out, in whatever order`() throws {
    let objects = try objects(600)
    var live = LiveObjects()
    var expected: [ManagedObject.Key: ManagedObject] = [:]
    var seed: UInt64 = 7
    for _ in 0..<20_000 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let object = objects[Int(seed >> 33) % objects.count]
      if seed >> 20 & 1 == 0 {
        live.insert(object)
        expected[object.key] = object
      } else {
        live.remove(object)
        if expected[object.key] === object { expected[object.key] = nil }
      }
      let other = objects[Int(seed >> 40) % objects.count]
      #expect(live[other.key]?.takeUnretainedValue() === expected[other.key])
    }
    #expect(live.count == expected.count)
    for object in objects {
      #expect(live[object.key]?.takeUnretainedValue() === expected[object.key])
    }
  }
}
