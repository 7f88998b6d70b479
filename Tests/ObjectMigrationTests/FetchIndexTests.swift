import Expressions
import GRDB
import ObjectModel
import Schema
import StoreFormat
import TestSupport
import Testing

@testable import ObjectMigration

/// What an index finds, compared with what the evaluator says of every object.
struct FetchIndexTests {
  private static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .boolean, .double, .float, .decimal, .date, .string, .uri,
    .uuid, .binary,
  ]

  private static func model() throws -> ManagedObjectModel {
    var thing = Entity("Thing")
    thing.attributes = types.map { Herds.attribute("\($0)", $0) }
    var special = Entity("Special")
    special.superentityName = "Thing"
    return try ManagedObjectModel(entities: [thing, special])
  }

  private static let uuid = [UInt8](0..<16)

  private static let integers: [Int64] = [0, 1, 2, 3, -1, 1 << 53, (1 << 53) + 1, .max, .min]
  private static let reals = [0.5, 1, 3, -0.0, 1e300, 0x1p53, 0x1p63]
  private static let texts = [
    "", "a", "A", "é", "e\u{301}", "3", "3.0", "1e0", "a\u{FFFD}", "a\0", "x b", "12abc",
  ]

  /// Values of every class, alike and all but alike, at the borders of what types tell apart.
  private static let values: [StoredValue] = {
    var values: [StoredValue] = [.null, .blob([]), .blob(uuid), .blob(uuid.reversed())]
    values.append(.rawText([0x61, 0xFF], isUTF16: false))
    values += integers.map { .integer($0) }
    values += reals.map { .real($0) }
    values += texts.map { .text($0) }
    return values
  }()

  private static let constants: [AttributeValue] = {
    var values: [AttributeValue] = [.null, .boolean(true), .boolean(false), .uuid(uuid)]
    values += [.data(uuid), .uri("a"), .uri("")]
    values += integers.map { .integer($0) }
    values += reals.map { .real($0) }
    values += reals.map { .date($0) }
    values += texts.map { .string($0) }
    values += ["3", "0.5", "9007199254740993"].map { .decimal($0) }
    return values
  }()

  private static func comparison(
    _ name: String, _ comparison: ValuePredicate.Comparison, _ value: AttributeValue,
    folds: Bool = false
  ) -> ValuePredicate {
    .comparison(
      .keyPath(operand: nil, name), comparison, .constant(value), modifier: .direct,
      caseInsensitive: folds, diacriticInsensitive: false)
  }

  /// A comparison for equality, alone or with others around it.
  private static func predicate(_ random: inout SeededRandom) -> ValuePredicate {
    func name() -> String { "\(types.random(&random))" }
    let value = constants.random(&random)
    let equal = comparison(name(), .equal, value, folds: Int.random(in: 0..<6, using: &random) == 0)
    switch Int.random(in: 0..<8, using: &random) {
    case 0:
      return .comparison(
        .constant(value), .equal, .keyPath(operand: .evaluatedObject, name()), modifier: .direct,
        caseInsensitive: false, diacriticInsensitive: false)
    case 1: return .and([equal, comparison(name(), .equal, value)])
    case 2: return .and([comparison(name(), .notEqual, value), .and([equal, .always(true)])])
    case 3: return .or([equal, comparison(name(), .equal, value)])
    case 4: return .not(equal)
    case 5: return .and([.always(true), equal])
    default: return equal
    }
  }

  private static func insert(
    _ count: Int64, into schema: StoreSchema, db: Database, random: inout SeededRandom
  ) throws {
    let facts = try #require(EntityFacts(entity: schema.model.entities[0], schema: schema))
    let columns = facts.columns
    for key in 1...count {
      let values = columns.map { _ in Self.values.random(&random).sql }
      try db.execute(
        sql: """
          INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, \(columns.joined(separator: ", ")))
          VALUES (\(key), \(Int.random(in: 1...2, using: &random)), 1,
          \(values.joined(separator: ", ")))
          """)
    }
  }

  private func keys(
    _ context: ObjectContext, where predicate: ValuePredicate, isEvaluated: Bool
  ) throws -> [Int64] {
    var found: [Int64] = []
    try context.forEach(
      "Thing", where: isEvaluated ? nil : predicate, includesSubentities: true, now: 0
    ) { object in
      let scope = EvaluationScope(object: .object(object), now: 0)
      if try !isEvaluated || ExpressionEvaluator(scope).isTrue(predicate) {
        found.append(object.primaryKey)
      }
      return true
    }
    return found
  }

  private func withContext(
    isSource: Bool, _ body: (ObjectContext, Database, inout SeededRandom) throws -> Void
  ) throws {
    let schema = try StoreSchema(Self.model())
    var random = SeededRandom(seed: 7)
    try DatabaseQueue().writeWithoutTransaction { db in
      try db.execute(sql: "ATTACH ':memory:' AS link")
      try StoreWriter.createTables(schema, in: db)
      try Self.insert(600, into: schema, db: db, random: &random)
      let context = ObjectContext(of: db, schema: schema, isSource: isSource, support: nil)
      context.scratch = "link"
      defer { context.statements.close() }
      try body(context, db, &random)
      try context.fetchIndexes.drop()
      let names = try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_master")
      #expect(!names.contains { $0.hasPrefix("fetch_") })
    }
  }

  @Test(arguments: [true, false])
  func `an index finds what the evaluator takes, whatever the values`(isSource: Bool) throws {
    try withContext(isSource: isSource) { context, db, random in
      var found = 0
      func compare(_ predicate: ValuePredicate) throws {
        let indexed = try keys(context, where: predicate, isEvaluated: false)
        #expect(indexed == (try keys(context, where: predicate, isEvaluated: true)), "\(predicate)")
        found += indexed.count
      }
      // What an index finds, in two entities.
      let indexed: [(AttributeType, AttributeValue)] = [
        (.integer16, .integer(3)), (.integer32, .real(1)), (.integer64, .integer(.max)),
        (.double, .integer(3)), (.float, .real(0.5)), (.date, .date(3)), (.string, .string("é")),
        (.uri, .uri("a")), (.uuid, .uuid(Self.uuid)),
      ]
      for (type, value) in indexed {
        for _ in 0..<10 { try compare(Self.comparison("\(type)", .equal, value)) }
      }
      #expect(context.fetchIndexes.count == 2 * indexed.count)
      for _ in 0..<400 { try compare(Self.predicate(&random)) }
      #expect(found > 1000)
    }
  }

  @Test func `a subquery of all objects is answered by an index, whatever the values`() throws {
    try withContext(isSource: true) { context, _, _ in
      var found = 0
      for type in Self.types {
        for value in Self.constants {
          let left = ValueExpression.keyPath(operand: .variable("x"), "\(type)")
          let equal = ValuePredicate.comparison(
            left, .equal, .variable("wanted"), modifier: .direct, caseInsensitive: false,
            diacriticInsensitive: false)
          let request = FetchRequestValue(entityName: "Thing", predicate: .always(true))
          var scope = EvaluationScope(now: 0)
          scope.variables = [
            "context": .object(context), "request": .object(request), "wanted": .scalar(value),
            "all": .objects(try context.fetch(request)),
          ]
          func keys(_ collection: ValueExpression) throws -> [Int64] {
            let taken = ValueExpression.subquery(
              collection: collection, variable: "x", predicate: .and([equal, .always(true)]))
            return try ExpressionEvaluator(scope).value(of: taken).objects
              .compactMap { ($0 as? ManagedObject)?.primaryKey }
          }
          let fetched = ValueExpression.fetch(
            request: .variable("request"), context: .variable("context"), countOnly: false)
          let few = try keys(fetched)
          #expect(few == (try keys(.variable("all"))), "\(type) \(value)")
          found += few.count
        }
      }
      #expect(found > 100)
      #expect(context.fetchIndexes.count > 0)
    }
  }

  @Test func `what changes in the destination is found at once`() throws {
    try withContext(isSource: false) { context, _, random in
      let predicate = Self.comparison("integer32", .equal, .integer(77))
      for _ in 0..<12 { #expect(try keys(context, where: predicate, isEvaluated: false) == []) }
      let facts = try context.entityFacts(name: "Thing")
      let new = try context.insert(facts, key: 5000)
      try new.set("integer32", value: .integer(77))
      var first: ManagedObject?
      try context.forEach("Thing", where: nil, includesSubentities: false, now: 0) { object in
        first = object
        return false
      }
      try first?.set("integer32", value: .integer(77))
      let both = try keys(context, where: predicate, isEvaluated: false)
      #expect(both == [first?.primaryKey, 5000])
      try new.set("integer32", value: .null)
      #expect(try keys(context, where: predicate, isEvaluated: false) == [first?.primaryKey])
      #expect(context.fetchIndexes.count > 0)
    }
  }

  @Test func `what fails for an object fails with an index too`() throws {
    try withContext(isSource: true) { context, _, _ in
      // The comparison in front cannot be made of a text and a number.
      let ordered = Self.comparison("string", .lessThan, .integer(3))
      let predicate = ValuePredicate.and([
        ordered, Self.comparison("integer32", .equal, .integer(99)),
      ])
      for _ in 0..<12 {
        #expect(throws: EvaluationError.self) {
          try keys(context, where: predicate, isEvaluated: false)
        }
      }
      #expect(context.fetchIndexes.count == 0)
    }
  }

  @Test func `more objects than a batch holds come by an index in their order`() throws {
    try withContext(isSource: true) { context, db, _ in
      try db.execute(sql: "UPDATE ZTHING SET ZINTEGER32 = 8, Z_ENT = 2")
      let predicate = Self.comparison("integer32", .equal, .integer(8))
      for _ in 0..<12 {
        #expect(try keys(context, where: predicate, isEvaluated: false) == Array(1...600))
      }
      #expect(context.fetchIndexes.count > 0)
    }
  }
}

extension Array {
  fileprivate func random(_ random: inout SeededRandom) -> Element {
    self[Int.random(in: indices, using: &random)]
  }
}
