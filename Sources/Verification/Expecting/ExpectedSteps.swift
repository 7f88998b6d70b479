import Mapping
import ObjectMigration
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Executes the steps of a route one by one, each into a file of its own, to find the expected
/// contents of the new store.
///
/// Inferred steps are applied row by row, steps with mapping models object by object. Neither uses
/// the programs by which a migration makes rows or pages.
final class ExpectedSteps {
  private let order: VerificationOrder
  private let affinity: Affinity
  /// The store with which the next step begins.
  private(set) var store: RawStore
  private(set) var schema: StoreSchema
  private(set) var maxima: [String: Int64]
  private(set) var notJudged: [String] = []
  /// The identifier of the old store, which the stores between have not.
  private let identifier: String?
  /// What each step began with, in their order.
  private(set) var history: [StepStart] = []

  /// The store with which a step began, and the origins of its entities.
  struct StepStart {
    var store: RawStore
    var schema: StoreSchema
    var destination: StoreSchema
    var origins: Origins
  }

  init(
    order: VerificationOrder, old: RawStore, schema: StoreSchema, affinity: Affinity
  ) throws {
    self.order = order
    self.affinity = affinity
    self.schema = schema
    store = old
    let identifiers = try old.rows(sql: "SELECT Z_UUID FROM Z_METADATA LIMIT 1")
    if case .text(let bytes)? = identifiers.first?.first {
      identifier = String(decoding: bytes, as: UTF8.self)
    } else {
      identifier = nil
    }
    maxima = try Self.maxima(store: old, schema: schema)
  }

  /// The larger of `Z_MAX` and the highest key in use: primary keys are never assigned twice.
  private static func maxima(
    store: RawStore, schema: StoreSchema
  ) throws -> [String: Int64] {
    var stated: [Int64: Int64] = [:]
    for row in try store.rows(sql: "SELECT Z_ENT, Z_MAX FROM Z_PRIMARYKEY") {
      if let number = row[0].integer, let maximum = row[1].integer { stated[number] = maximum }
    }
    var result: [String: Int64] = [:]
    for table in schema.tables {
      let used = try store.number(sql: "SELECT max(Z_PK) FROM \(SQL.identifier(name: table.name))")
      let number = schema.numbers[table.rootName]?.rawValue
      result[table.rootName] = max(used, number.flatMap { stated[$0] } ?? 0)
    }
    return result
  }

  func reading(_ step: VerificationOrder.Step) throws -> StepReading {
    let inference = MappingInference(from: step.source, to: step.destination)
    guard inference.refusals.isEmpty else {
      throw VerificationError.notInferable(
        inference.refusals.map { ($0.entity, $0.property) }.map { entity, property in
          property.map { "\(entity).\($0)" } ?? entity
        })
    }
    return StepReading(
      source: schema, destination: try StoreSchema(step.destination), match: StepMatch(inference))
  }

  /// The highest primary keys ever assigned, by root entity of the destination.
  func maxima(after reading: StepReading) -> [String: Int64] {
    var result: [String: Int64] = [:]
    for table in reading.destination.tables {
      let sources = table.entityNames.compactMap { reading.match.entities[$0] }
      guard let first = sources.lazy.compactMap({ reading.source.model.entity(name: $0) }).first
      else {
        continue
      }
      result[table.rootName] = maxima[reading.source.model.root(of: first).name]
    }
    return result
  }

  /// Executes a step; `inspect` receives the reading of an inferred one while its source is still
  /// there.
  func carryOut(
    _ step: VerificationOrder.Step, inspect: (StepReading) throws -> Void
  ) throws {
    let path = order.scratch.appending("expected-\(history.count + 1).sqlite")
    try Files.remove(path)
    try repair(before: history.count)
    let before = StepStart(
      store: store, schema: schema, destination: try StoreSchema(step.destination),
      origins: Origins(step))
    if step.mappings.isEmpty {
      let reading = try reading(step)
      try inspect(reading)
      let made = try RawStore(making: path, encoding: "UTF-8")
      let files = ExternalFolders(order.oldFolders)
      try Materialization(
        reading: reading, source: store, made: made,
        evaluator: CellEvaluator(source: store, affinity: affinity, files: files)
      ).write()
      maxima = maxima(after: reading)
      store = made
    } else {
      maxima = try byObjects(step, into: path)
      let made = try RawStore(making: path, encoding: "UTF-8")
      try PlainCopies(
        step: step, source: store, sourceSchema: schema, made: made,
        destination: before.destination
      ).apply()
      let highest = try PlainNewObjects(
        step: step, sourceSchema: schema, made: made, destination: before.destination
      ).apply(reading: store)
      maxima.merge(highest) { $1 }
      store = made
    }
    schema = before.destination
    history.append(before)
  }

  /// Applies the choices for defects to the store with which a step begins.
  private func repair(before step: Int) throws {
    guard let repair = order.repairs[step] else { return }
    let path = store.path
    // Objects are made into a store that has the tables by which one is known.
    let stated = try store.rows(sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
    let lacking = ["Z_METADATA", "Z_PRIMARYKEY"].filter { name in
      !stated.contains { $0[0] == .text(Array(name.utf8)) }
    }
    if lacking.contains("Z_PRIMARYKEY") { try stateKeys() }
    if lacking.contains("Z_METADATA") {
      try store.execute(
        "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), "
          + "Z_PLIST BLOB)")
    }
    // It is opened elsewhere meanwhile.
    store = try RawStore(inMemory: path)
    try repair(path)
    store = try RawStore(making: path, encoding: "UTF-8")
    for name in lacking { try store.execute("DROP TABLE \(name)") }
  }

  /// Writes the table with the highest keys of a store's entities.
  private func stateKeys() throws {
    try store.execute(
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, "
        + "Z_MAX INTEGER)")
    let insert = try store.prepare("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, 0, ?)")
    for entity in schema.model.entities {
      guard let number = schema.numbers[entity.name]?.rawValue else { continue }
      try insert.execute([.integer(number), .text(entity.name), .integer(maxima[entity.name] ?? 0)])
    }
  }

  private func byObjects(
    _ step: VerificationOrder.Step, into path: FilePath
  ) throws -> [String: Int64] {
    let metadata = StoreMetadata(uuid: "", plist: [:])
    var work = ObjectMigration.Order(
      source: store.path, sourceSchema: schema,
      destinationSchema: try StoreSchema(step.destination),
      mappings: step.mappings, result: path, links: FilePath("\(path).links"),
      metadata: metadata, now: order.now)
    work.support = ExternalFolders.support(of: order.old.path)
    // SQLite cannot attach a file of another encoding.
    work.textEncoding = try StoreHeader(ofSource: store.path).textEncoding
    work.maxima = maxima
    work.storeIdentifier = identifier
    // The migration has validated the objects already.
    work.validation = .off
    work.memory = order.memory
    work.policies = order.policies
    while true {
      do {
        return try ObjectMigration(work).migrate().maxima
      } catch let error as StoreError {
        // Whatever the migration has copied can be verified, by as much memory as it takes.
        guard case .rowTooLong = error.problem,
          let row = LongRow.first(in: store.path, memory: work.memory)
        else { throw error }
        work.memory = 2 * row.memoryNeeded
      }
    }
  }
}

/// The source entities and properties of destination entities, by any mapping.
struct Origins {
  /// By destination entity.
  private var entities: [String: [Origin]] = [:]

  struct Origin {
    var entity: String
    /// Source properties by destination property, as far as they are copied.
    var properties: [String: String]
  }

  init(_ step: VerificationOrder.Step) {
    let mappings =
      step.mappings.isEmpty
      ? [MappingInference(from: step.source, to: step.destination).mapping] : step.mappings
    for mapping in mappings.flatMap(\.entityMappings) where mapping.newObjects == nil {
      guard let old = mapping.sourceEntityName, let new = mapping.destinationEntityName else {
        continue
      }
      var properties: [String: String] = [:]
      for property in mapping.attributeMappings + mapping.relationshipMappings {
        switch property.origin {
        case .attribute(let name, _): properties[property.name] = name
        case .relationship(let name, _): properties[property.name] = name
        default: break
        }
      }
      entities[new, default: []].append(Origin(entity: old, properties: properties))
    }
  }

  subscript(_ entity: String) -> [Origin] { entities[entity] ?? [] }

  /// The attribute of a source entity that one of a destination entity continues.
  ///
  /// One that is set or computed continues that of its name, unless another one does.
  func attribute(_ name: String, of destination: String, from source: String) -> String? {
    guard let found = self[destination].first(where: { $0.entity == source }) else { return nil }
    return found.properties[name] ?? (found.properties.values.contains(name) ? nil : name)
  }
}

/// Writes the store that an inferred step makes of another one.
struct Materialization {
  let reading: StepReading
  let source: RawStore
  let made: RawStore
  let evaluator: CellEvaluator

  func write() throws {
    try made.execute("BEGIN")
    var newOrders: [TableRules.NewOrder] = []
    let affinity = try Affinity()
    for table in reading.destination.tables {
      try made.execute(table.createStatement)
      guard let rules = try TableRules(table: table, reading: reading, affinity: affinity) else {
        continue
      }
      newOrders += rules.newOrders
      try fill(table: table, rules: rules)
    }
    for join in reading.destination.joinTables {
      try made.execute(join.createStatement)
      try fill(join: join, newOrders: &newOrders)
    }
    // The next step searches for rows that refer to another one.
    for index in reading.destination.indexes where !index.isExplicit {
      try made.execute(index.createStatement)
    }
    for order in newOrders { try number(order: order) }
    try made.execute("COMMIT")
  }

  private func fill(table: EntityTable, rules: TableRules) throws {
    let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
    let insert = try made.prepare(
      "INSERT INTO \(SQL.identifier(name: table.name)) VALUES (\(marks))")
    var rows = try ExpectedRows(rules: rules, in: source)
    while try rows.next() {
      try insert.execute(
        table.columns.indices.map { place in
          let cell = try rows.cell(place: place, evaluator: evaluator)
          // A cell of another entity's property may keep its value.
          if case .null? = cell.value, case .stray = rows.entity.cells[place] {
            return cell.alternative ?? .null
          }
          return cell.value ?? .null
        })
    }
  }

  private func fill(join: JoinTable, newOrders: inout [TableRules.NewOrder]) throws {
    guard let pairs = try ExpectedPairs(table: join, reading: reading, in: source) else { return }
    let marks = join.columnNames.map { _ in "?" }.joined(separator: ", ")
    let insert = try made.prepare(
      "INSERT OR IGNORE INTO \(SQL.identifier(name: join.name)) VALUES (\(marks))")
    while let pair = try pairs.next(evaluator) {
      var values: [RawValue] = [pair.first, pair.second]
      if join.first.orderColumn != nil { values.append(pair.firstOrder ?? .null) }
      if join.second.orderColumn != nil { values.append(pair.secondOrder ?? .null) }
      try insert.execute(values)
    }
    for (end, owner, isThere) in [
      (join.first, join.second, pairs.hasFirstOrder),
      (join.second, join.first, pairs.hasSecondOrder),
    ] {
      guard let column = end.orderColumn, !isThere else { continue }
      newOrders.append(
        .init(
          table: join.name, ownerColumn: owner.keyColumn, keyColumn: end.keyColumn,
          orderColumn: column))
    }
  }

  /// Assigns positions by primary key among the rows of each owner.
  private func number(order: TableRules.NewOrder) throws {
    let table = SQL.identifier(name: order.table)
    let owner = SQL.identifier(name: order.ownerColumn)
    try made.execute("CREATE TEMP TABLE places (row INTEGER PRIMARY KEY, place INTEGER)")
    let insert = try made.prepare("INSERT INTO places VALUES (?, ?)")
    let rows = try made.prepare(
      "SELECT rowid, \(owner) FROM \(table) WHERE \(owner) IS NOT NULL "
        + "ORDER BY \(owner), \(SQL.identifier(name: order.keyColumn))")
    var (last, place): (RawValue, Int64) = (.null, 0)
    while try rows.step() {
      place = rows.value(column: 1) == last ? place + 1 : 1
      last = rows.value(column: 1)
      try insert.execute([rows.value(column: 0), .integer(place)])
    }
    try made.execute(
      "UPDATE \(table) SET \(SQL.identifier(name: order.orderColumn)) = "
        + "(SELECT place FROM places WHERE row = \(table).rowid)")
    rows.reset()
    try made.execute("DROP TABLE places")
  }
}

/// Why stores cannot be compared at all.
package enum VerificationError: Error, Sendable {
  /// A step without mapping models cannot be inferred; the entities and properties of the refusals.
  case notInferable([String])
}
