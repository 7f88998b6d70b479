package import Expressions
import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// The objects of one of the two stores.
///
/// (1) An object that something still refers to is never read into a second one.
/// (2) Attributes wait in their object for the next flush; relationships are written at once, so
/// queries of them are right.
/// (3) Only objects with waiting values are held, so memory does not grow with the store.
package final class ObjectContext: EvaluatedContext {
  let isSource: Bool
  /// Whether reads of properties are recorded: not while a filter selects objects.
  private(set) var isWatched: Bool
  let schema: StoreSchema
  let statements: PreparedStatements
  var db: Database { statements.db }
  /// The name under which the store is attached.
  let database: String
  private let support: FilePath?
  private(set) var facts: [String: EntityFacts] = [:]
  /// By entity number.
  private var factsByNumber: [EntityFacts?] = []
  // Unmanaged, or no object would ever go. Safe: the deinitializer of an object removes its entry,
  // and all of it is on one thread, so no entry is read after its object has gone.
  /// The objects in memory; each removes itself when it is deinitialized.
  private var known = LiveObjects()
  private var waiting: [ManagedObject] = []
  /// The bytes of values that were set since the last flush.
  var waitingBytes: Int64 = 0
  /// Indexes that were not requested yet: most are built faster from many rows at once.
  var lateIndexes: [String] = []
  /// Tables that other workers fill: what is in them is not known here.
  var foreignTables: Set<String> = []
  private(set) var reachedBeyond: ObjectMigrationError?
  /// The identifier of the store, once it is requested, or another one that replaces it.
  var knownIdentifier: String?
  /// The values of an object that no store has, where this context makes one at a time.
  weak var newObjects: (any NewObjectValues)? {
    didSet { makesOneAtATime = newObjects != nil }
  }
  /// Whether there are such values; read for each value of each object.
  private(set) var makesOneAtATime = false
  /// The last place given in an ordered relationship; only the order of places matters.
  var lastPlace: Int64 = 0
  /// The name under which a file is attached for tables of the context's own; nil without one.
  var scratch: String?
  private(set) lazy var fetchIndexes = FetchIndexes(self)
  /// The entities of a family, by the name of the one at its top.
  var families: [String: [EntityFacts]] = [:]
  /// What fetches found that no index answers, by their requests: a source does not change.
  var answers: [ObjectIdentifier: (request: FetchRequestValue, found: [ObjectPlace])] = [:]
  /// How many answers are kept, and how many objects each may have.
  static let mostAnswers = 200
  /// How many rows are read at once.
  static let batchSize = 500
  /// The store itself, where its rows may be read ahead, and the bytes that the process may occupy.
  var file: (path: FilePath, memory: Int64)?
  /// The bytes of all rows that were read one after the other.
  var bytesRead: Int64 = 0

  /// The objects of the only store of a connection; its maker closes `statements`.
  convenience init(
    of db: Database, schema: StoreSchema, isSource: Bool = true, support: FilePath?
  ) {
    self.init(
      schema: schema, statements: PreparedStatements(db), database: "main", isSource: isSource,
      support: support)
  }

  init(
    schema: StoreSchema, statements: PreparedStatements, database: String, isSource: Bool,
    support: FilePath?
  ) {
    self.schema = schema
    self.statements = statements
    self.database = database
    self.isSource = isSource
    isWatched = isSource
    self.support = support
    for entity in schema.model.entities {
      guard let found = EntityFacts(entity: entity, schema: schema) else { continue }
      facts[entity.name] = found
      let number = Int(found.number)
      while factsByNumber.count <= number { factsByNumber.append(nil) }
      factsByNumber[number] = found
    }
  }

  /// Itself: each store has one.
  package var identity: AnyHashable { ObjectIdentifier(self) }
  /// What messages call it.
  package var typeName: String { isSource ? "the source context" : "the destination context" }

  /// Always throws: a context answers FETCH, and has no properties.
  package func value(forKey key: String) throws -> ObjectValue {
    throw EvaluationError(.unknownKey(key, of: typeName))
  }

  func entityFacts(name: String) throws -> EntityFacts {
    guard let found = facts[name] else { throw ObjectMigrationError(.unknownEntity(name)) }
    if !foreignTables.isEmpty, foreignTables.contains(found.tableName) {
      throw beyond(name)
    }
    return found
  }

  /// The error for a request of another group's objects; a policy that catches it does not hide it.
  func beyond(_ name: String) -> ObjectMigrationError {
    let error = reachedBeyond ?? ObjectMigrationError(.beyondGroup(name))
    reachedBeyond = error
    return error
  }

  func sqlTable(name: String) -> String { "\(database).\(SQL.identifier(name: name))" }

  // MARK: Objects

  /// The entity of a number; nil where the number is none.
  func facts(number: Int64) -> EntityFacts? {
    guard number > 0, number < factsByNumber.count else { return nil }
    return factsByNumber[Int(number)]
  }

  /// The object at a place; the same one as long as something refers to it.
  func object(at place: ObjectPlace) -> ManagedObject {
    live(place)
      ?? remember(
        ManagedObject(context: self, facts: place.facts, key: place.key, row: nil, isInserted: true)
      )
  }

  /// The object at a place, if it is in memory.
  func live(_ place: ObjectPlace) -> ManagedObject? {
    known[ManagedObject.Key(table: place.facts.tableIndex, key: place.key)]?.takeUnretainedValue()
  }

  func remember(_ object: ManagedObject) -> ManagedObject {
    known.insert(object)
    return object
  }

  /// Takes an object out whose memory goes; it may be one that was never put in.
  func forget(_ object: ManagedObject) { known.remove(object) }

  /// A new object with the default values of its entity, under a key that nothing has.
  func insert(_ facts: EntityFacts, key: Int64) throws -> ManagedObject {
    guard !facts.entity.isAbstract else {
      throw ObjectMigrationError(.abstractEntity(facts.name), entity: facts.name)
    }
    let object = remember(
      ManagedObject(context: self, facts: facts, key: key, row: facts.newRow, isInserted: false))
    noteChange(of: object)
    return object
  }

  func readRow(of object: ManagedObject) throws -> [StoredValue] {
    let facts = object.facts
    let statement = try rowStatements(facts: facts).read
    statement.bind(object.primaryKey, at: 1)
    guard try statement.step() else {
      return [StoredValue](repeating: .null, count: facts.columns.count)
    }
    defer { statement.reset() }
    return statement.values(from: 1, count: facts.columns.count)
  }

  /// The attribute's value, read from its file where it is kept outside of the store.
  func value(stored: StoredValue, of facts: AttributeFacts) throws -> AttributeValue {
    guard facts.form.isExternal, case .blob(let bytes) = stored, bytes.first == ExternalTag.file
    else { return AttributeConversion.value(stored: stored, of: facts.form) }
    let name = String(decoding: bytes.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
    guard let component = FilePath.Component(name), component.kind == .regular, let support else {
      throw ObjectMigrationError(.externalFileUnreadable(name), property: facts.attribute.name)
    }
    do {
      return .data(try ExternalDataFolder.read(component, support: support, limit: 1 << 30))
    } catch {
      throw ObjectMigrationError(
        .externalFileUnreadable(name), property: facts.attribute.name, cause: error)
    }
  }

  // MARK: Waiting values

  var waitingCount: Int { waiting.count }

  func noteChange(of object: ManagedObject) {
    if makesOneAtATime { return }
    guard !object.isWaiting else { return }
    object.isWaiting = true
    waiting.append(object)
  }

  /// Writes what waits, in the order in which it came; new objects, if there are many, by another
  /// thread, which may continue after the return.
  ///
  /// - Throws: what stopped this writing or an earlier one.
  func flush() throws {
    try statements.inserts.check()
    let objects = waiting
    (waiting, waitingBytes) = ([], 0)
    for object in objects { object.isWaiting = false }
    if objects.count >= RowInserts.fewest, objects.allSatisfy({ !$0.isInserted && $0.row != nil }) {
      try statements.inserts.insert(
        objects.compactMap { object in
          let statement = try rowStatements(facts: object.facts)
            .insert(facts: object.facts, context: self)
          (object.isInserted, object.changed) = (true, [])
          return object.row.map { row in
            RowInserts.Row(statement: statement, key: object.primaryKey, values: row)
          }
        })
    } else {
      for object in objects { try write(object) }
    }
  }

  /// The connection, once all that waited is written.
  func flushed() throws -> Database {
    try flush()
    let connection = db
    try statements.inserts.check()
    return connection
  }

  /// Puts the row of a new object into the store, so that others may refer to it.
  func ensureInserted(_ place: ObjectPlace) throws {
    // Every object that is not in the store yet waits for it.
    guard !waiting.isEmpty, let object = live(place), !object.isInserted else { return }
    try write(object)
  }

  private func write(_ object: ManagedObject) throws {
    let facts = object.facts
    let row = try object.loadedRow()
    if !object.isInserted {
      let statement = try rowStatements(facts: facts).insert(facts: facts, context: self)
      statements.inserts.finish()
      try statement.insert(object.primaryKey, row)
      object.isInserted = true
    } else if !object.changed.isEmpty {
      let indexes = object.changed.sorted()
      let statement = try rowStatements(facts: facts).update(indexes, facts: facts, context: self)
      for (place, index) in indexes.enumerated() { statement.bind(row[index], at: place + 1) }
      statement.bind(object.primaryKey, at: indexes.count + 1)
      try statement.execute()
    }
    object.changed = []
  }

  func rowStatements(facts: EntityFacts) throws -> EntityStatements {
    if let known = facts.statements { return known }
    let made = try EntityStatements(facts: facts, context: self)
    facts.statements = made
    return made
  }

  /// Makes the indexes by which objects find each other.
  func makeIndexes() throws {
    let late = lateIndexes
    lateIndexes = []
    for sql in late { try db.execute(sql: sql) }
  }

  // MARK: What was read

  /// Evaluates what chooses among objects, and makes nothing of what it reads.
  func choosing(_ body: () throws -> Bool) rethrows -> Bool {
    let wasWatched = isWatched
    isWatched = false
    defer { isWatched = wasWatched }
    return try body()
  }

  /// The properties that were read from objects.
  var propertiesRead: PropertiesRead {
    var result = PropertiesRead()
    for facts in facts.values {
      for (name, attribute) in facts.attributes where facts.isRead[attribute.index] {
        result.add(name, of: facts.name)
      }
      for (name, relationship) in facts.relationships where relationship.isRead {
        result.add(name, of: facts.name)
      }
    }
    return result
  }
}

/// Knows the values of objects that are made one at a time and never seen again.
protocol NewObjectValues: AnyObject {
  /// The value that a column has before anything sets it.
  func initialValue(of object: ManagedObject, at index: Int) throws -> StoredValue
}
