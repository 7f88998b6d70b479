package import ExpressionEvaluation
import GRDB
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import ValueExpressions

/// The objects of one of the two stores.
///
/// (1) An object that something still refers to is never read into a second one.
/// (2) Attributes wait in their object for the next flush; relationships are written at once, so
/// what a
///     query says of them is true.
/// (3) Only objects with waiting values are held, so memory does not grow with the store.
package final class ObjectContext: EvaluatedContext {
  let isSource: Bool
  let schema: StoreSchema
  let db: Database
  /// The name under which the store is attached.
  let database: String
  private let support: FilePath?
  private var facts: [String: EntityFacts] = [:]
  private var factsByNumber: [Int64: EntityFacts] = [:]
  private var known: [ManagedObject.Key: Reference] = [:]
  private var waiting: [ObjectIdentifier: ManagedObject] = [:]
  private var waitingInOrder: [ManagedObject] = []
  private var sweepAt = 10_000
  /// Tables that others fill: what stands in them is not known here.
  var foreignTables: Set<String> = []
  private(set) var reachedBeyond: ObjectMigrationError?
  /// The values of an object that no store has, where this context makes one at a time.
  weak var newObjects: (any NewObjectValues)?
  /// The last place given in an ordered relationship; only the order of places matters.
  var lastPlace: Int64 = 0

  private struct Reference { weak var object: ManagedObject? }

  init(_ schema: StoreSchema, _ db: Database, database: String, isSource: Bool, support: FilePath?)
  {
    self.schema = schema
    self.db = db
    self.database = database
    self.isSource = isSource
    self.support = support
    for entity in schema.model.entities {
      guard let found = EntityFacts(entity, schema) else { continue }
      facts[entity.name] = found
      factsByNumber[found.number] = found
    }
  }

  package var identity: AnyHashable { ObjectIdentifier(self) }
  package var typeName: String { isSource ? "the source context" : "the destination context" }

  package func value(forKey key: String) throws -> ObjectValue {
    throw EvaluationError(.unknownKey(key, of: typeName))
  }

  func entityFacts(_ name: String) throws -> EntityFacts {
    guard let found = facts[name] else { throw ObjectMigrationError(.unknownEntity(name)) }
    if !foreignTables.isEmpty, foreignTables.contains(found.tableName) {
      throw beyond(name)
    }
    return found
  }

  /// What to throw where somebody asks for what others make; a policy cannot keep it to itself.
  func beyond(_ name: String) -> ObjectMigrationError {
    let error = reachedBeyond ?? ObjectMigrationError(.beyondGroup(name))
    reachedBeyond = error
    return error
  }

  func sqlTable(_ name: String) -> String { "\(database).\(SQL.identifier(name))" }

  // MARK: Objects

  /// The object of that key and entity number; nil where the number is none.
  func object(key: Int64, number: Int64, table: String) -> ManagedObject? {
    let place = ManagedObject.Key(table: table, key: key)
    if let object = known[place]?.object { return object }
    guard let facts = factsByNumber[number], facts.tableName == table else { return nil }
    return remember(ManagedObject(self, facts, key: key, row: nil, isInserted: true))
  }

  private func remember(_ object: ManagedObject) -> ManagedObject {
    known[object.key] = Reference(object: object)
    if known.count >= sweepAt {
      known = known.filter { $0.value.object != nil }
      sweepAt = max(10_000, known.count * 2)
    }
    return object
  }

  /// A new object with the default values of its entity, under a key that nothing has.
  func insert(_ facts: EntityFacts, key: Int64) throws -> ManagedObject {
    guard !facts.entity.isAbstract else {
      throw ObjectMigrationError(.abstractEntity(facts.name), entity: facts.name)
    }
    var row = [StoredValue](repeating: .null, count: facts.columns.count)
    for attribute in facts.attributes.values {
      row[attribute.index] = StoredValue(
        attribute.attribute.defaultValue, of: attribute.attribute)
    }
    let object = remember(ManagedObject(self, facts, key: key, row: row, isInserted: false))
    noteChange(of: object)
    return object
  }

  func readRow(of object: ManagedObject) throws -> [StoredValue] {
    let facts = object.facts
    let list = (["Z_PK"] + facts.columns.map(SQL.identifier)).joined(separator: ", ")
    let statement = try db.cachedStatement(
      sql: "SELECT \(list) FROM \(sqlTable(facts.tableName)) WHERE Z_PK = ?")
    guard let row = try Row.fetchOne(statement, arguments: [object.primaryKey]) else {
      return [StoredValue](repeating: .null, count: facts.columns.count)
    }
    return (0..<facts.columns.count).map { StoredValue(row[$0 + 1] as DatabaseValue) }
  }

  /// The attribute's value, read from its file where it is kept outside of the store.
  func value(_ stored: StoredValue, of attribute: Attribute) throws -> AttributeValue {
    guard attribute.storesBinaryDataExternally, case .blob(let bytes) = stored,
      bytes.first == ExternalTag.file
    else { return AttributeConversion.value(stored, of: attribute) }
    let name = String(decoding: bytes.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
    guard let component = FilePath.Component(name), component.kind == .regular, let support else {
      throw ObjectMigrationError(.externalFileUnreadable(name), property: attribute.name)
    }
    do {
      let file = support.appending("_EXTERNAL_DATA").appending(component)
      return .data(try Files.readFile(file, limit: 1 << 30))
    } catch {
      throw ObjectMigrationError(
        .externalFileUnreadable(name), property: attribute.name, cause: error)
    }
  }

  // MARK: Waiting values

  var waitingCount: Int { waiting.count }

  func noteChange(of object: ManagedObject) {
    if newObjects != nil { return }
    if waiting.updateValue(object, forKey: ObjectIdentifier(object)) == nil {
      waitingInOrder.append(object)
    }
  }

  /// Writes what waits, in the order in which it came.
  func flush() throws {
    let objects = waitingInOrder
    waitingInOrder = []
    waiting = [:]
    for object in objects { try write(object) }
  }

  /// Puts the row of a new object into the store, so that others may refer to it.
  func ensureInserted(_ object: ManagedObject) throws {
    if !object.isInserted { try write(object) }
  }

  private func write(_ object: ManagedObject) throws {
    let facts = object.facts
    let row = try object.loadedRow()
    if !object.isInserted {
      let names = ["Z_PK", "Z_ENT", "Z_OPT"] + facts.columns.map(SQL.identifier)
      let marks = names.map { _ in "?" }.joined(separator: ", ")
      let statement = try db.cachedStatement(
        sql: """
          INSERT INTO \(sqlTable(facts.tableName)) (\(names.joined(separator: ", ")))
          VALUES (\(marks))
          """)
      // A new object has been saved once (docs/store-format.md).
      let head: [DatabaseValue] = [
        object.primaryKey.databaseValue, facts.number.databaseValue, Int64(1).databaseValue,
      ]
      try statement.execute(arguments: StatementArguments(head + row.map(\.databaseValue)))
      object.isInserted = true
    } else if !object.changed.isEmpty {
      let indexes = object.changed.sorted()
      let list = indexes.map { "\(SQL.identifier(facts.columns[$0])) = ?" }
      let statement = try db.cachedStatement(
        sql: """
          UPDATE \(sqlTable(facts.tableName)) SET \(list.joined(separator: ", ")) WHERE Z_PK = ?
          """)
      let values = indexes.map { row[$0].databaseValue } + [object.primaryKey.databaseValue]
      try statement.execute(arguments: StatementArguments(values))
    }
    object.changed = []
  }

  // MARK: Fetching

  /// The objects of an entity in the order of their keys, some at a time.
  func batch(
    of facts: EntityFacts, after key: Int64, limit: Int, equal: Equality? = nil
  ) throws -> [ManagedObject] {
    let condition = equal.map { "AND \(SQL.identifier($0.column)) = ?" } ?? ""
    let list = (["Z_PK"] + facts.columns.map(SQL.identifier)).joined(separator: ", ")
    let statement = try db.cachedStatement(
      sql: """
        SELECT \(list) FROM \(sqlTable(facts.tableName))
        WHERE Z_PK > ? AND Z_ENT = ? \(condition) ORDER BY Z_PK LIMIT ?
        """)
    var arguments: StatementArguments = [key, facts.number]
    if let equal { arguments += [equal.value.databaseValue] }
    arguments += [limit]
    return try Row.fetchAll(statement, arguments: arguments).map { row in
      let place = ManagedObject.Key(table: facts.tableName, key: row[0])
      if let object = known[place]?.object { return object }
      let values = (0..<facts.columns.count).map { StoredValue(row[$0 + 1] as DatabaseValue) }
      return remember(
        ManagedObject(self, facts, key: place.key, row: values, isInserted: true))
    }
  }

  /// Every object of an entity that satisfies a predicate, one after the other.
  func forEach(
    _ entityName: String, where predicate: ValuePredicate?, includesSubentities: Bool,
    now: Double, _ body: (ManagedObject) throws -> Bool
  ) throws {
    if !isSource { try flush() }
    let names =
      includesSubentities ? schema.model.family(of: entityName).map(\.name) : [entityName]
    let patterns = PatternCache()
    for name in names {
      let facts = try entityFacts(name)
      guard tableExists(facts) else { continue }
      let equal = predicate.flatMap { Equality($0, facts) }
      var last = Int64.min
      while true {
        let objects = try batch(of: facts, after: last, limit: 500, equal: equal)
        guard let end = objects.last else { break }
        last = end.primaryKey
        for object in objects {
          if let predicate, predicate != .always(true) {
            let scope = EvaluationScope(object: .object(object), now: now, patterns: patterns)
            guard try ExpressionEvaluator(scope).isTrue(predicate) else { continue }
          }
          guard try body(object) else { return }
        }
      }
    }
  }

  /// A store may lack tables after an unfinished clean-up.
  private func tableExists(_ facts: EntityFacts) -> Bool {
    schema.tables.contains { $0.name == facts.tableName }
  }

  /// Answers FETCH: objects of subentities have mappings of their own, so they are left out.
  package func fetch(_ request: FetchRequestValue) throws -> [any EvaluatedObject] {
    var result: [ManagedObject] = []
    try forEach(
      request.entityName, where: request.predicate, includesSubentities: false, now: 0
    ) { object in
      result.append(object)
      return true
    }
    return result
  }
}

extension ObjectContext {
  /// The object of a key, whatever entity of the table it is of.
  func anyObject(key: Int64, table: String) throws -> ManagedObject? {
    let statement = try db.cachedStatement(
      sql: "SELECT Z_ENT FROM \(sqlTable(table)) WHERE Z_PK = ?")
    guard let number = try Int64.fetchOne(statement, arguments: [key]) else { return nil }
    return object(key: key, number: number, table: table)
  }
}

extension ObjectContext {
  /// How many objects an entity has, without those of its subentities.
  func count(_ entityName: String) throws -> Int64 {
    let facts = try entityFacts(entityName)
    guard schema.tables.contains(where: { $0.name == facts.tableName }) else { return 0 }
    return try Int64.fetchOne(
      db,
      sql: "SELECT count(*) FROM \(sqlTable(facts.tableName)) WHERE Z_ENT = \(facts.number)") ?? 0
  }
}

/// Knows the values of objects that are made one at a time and never seen again.
protocol NewObjectValues: AnyObject {
  /// The value that a column has before anything sets it.
  func initialValue(of object: ManagedObject, at index: Int) throws -> StoredValue
}

/// A predicate that SQLite can answer: an attribute of exact values equals a constant.
struct Equality {
  let column: String
  let value: StoredValue

  init?(_ predicate: ValuePredicate, _ facts: EntityFacts) {
    guard
      case .comparison(
        .keyPath(let operand, let name), .equal, .constant(let constant), .direct, false, false) =
        predicate, operand == nil || operand == .evaluatedObject,
      let attribute = facts.attributes[name]
    else { return nil }
    switch (attribute.attribute.type, constant) {
    case (.string, .string), (.uuid, .uuid), (.uri, .uri), (.integer16, .integer),
      (.integer32, .integer), (.integer64, .integer):
      column = facts.columns[attribute.index]
      value = StoredValue(constant, of: attribute.attribute)
    default: return nil
    }
  }
}
