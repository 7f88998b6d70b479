import ExpressionEvaluation
import GRDB
package import Mapping
import ObjectModel
package import Schema
package import StoreFormat
import SystemCalls
package import SystemPackage
import ValueExpressions

/// Migrates a store object by object, as `NSMigrationManager` does: creates, relates, validates.
///
/// (1) The source is opened as immutable, and the result is a new file.
/// (2) A mapping model ends before the next one of its step begins; all fill the same result.
/// (3) Each pass goes over all mappings, in their order, before the next pass begins.
package struct ObjectMigration {
  /// What is to be done; the source has no `-wal` with anything in it.
  package struct Order {
    package var source: FilePath
    package var sourceSchema: StoreSchema
    package var destinationSchema: StoreSchema
    /// The mapping models of one step, in running order.
    package var mappings: [MappingModel]
    /// The new store; it must not exist.
    package var result: FilePath
    /// A folder for what is needed while the migration runs.
    package var work: FilePath
    /// The folder of the source's external files.
    package var support: FilePath?
    /// What the result says of itself.
    package var metadata: StoreMetadata
    package var modelCache: [UInt8]?
    /// The highest key that each root entity of the source has given.
    package var maxima: [String: Int64] = [:]
    package var validation = ValidationMode.strict
    package var memory: Int64 = 128 << 20
    /// Seconds since 2001, for `now()`.
    package var now: Double
    /// Makes the policy of a class name.
    package var policies: [String: @Sendable () -> any MigrationPolicy] = [:]

    package init(
      source: FilePath, sourceSchema: StoreSchema, destinationSchema: StoreSchema,
      mappings: [MappingModel], result: FilePath, work: FilePath, metadata: StoreMetadata,
      now: Double
    ) {
      self.source = source
      self.sourceSchema = sourceSchema
      self.destinationSchema = destinationSchema
      self.mappings = mappings
      self.result = result
      self.work = work
      self.metadata = metadata
      self.now = now
    }
  }

  /// What was done.
  package struct Report: Hashable, Sendable {
    package var objectsRead: Int64 = 0
    package var objectsWritten: Int64 = 0
    package var violationCount = 0
    /// The first of them.
    package var violations: [Violation] = []
    /// Source entities of which no mapping takes objects, with how many they have.
    package var dropped: [String: Int64] = [:]
  }

  /// The most violations that a report holds; all are counted and told.
  package static let reportedViolations = 10_000

  let order: Order
  private let progress: (Double) -> Void
  private let violation: (Violation) -> Void

  /// `progress` hears numbers from 0 to 1, `violation` every broken rule.
  package init(
    _ order: Order, progress: @escaping (Double) -> Void = { _ in },
    violation: @escaping (Violation) -> Void = { _ in }
  ) {
    self.order = order
    self.progress = progress
    self.violation = violation
  }

  /// Migrates; the result is complete where this returns, and to be thrown away where it throws.
  package func run() throws -> Report {
    try checkPolicies()
    try Files.remove(order.result)
    let links = order.work.appending("associations.sqlite")
    try Files.remove(links)
    let connection = try StoreConnection.scratch(order.result, cacheBytes: order.memory / 4)
    var failure: (any Error)?
    var report = Report()
    // What policies throw passes through unchanged; only what SQLite says becomes a store's error.
    try connection.run { db in
      do {
        report = try migrate(db, links)
      } catch let error as DatabaseError {
        throw error
      } catch {
        failure = error
      }
    }
    do { try connection.queue.close() } catch { throw connection.failure(error) }
    if let failure { throw failure }
    try Files.remove(links)
    try Files.syncFile(order.result)
    return report
  }

  /// Whether a mapping's class asks for Core Data's own behaviour.
  private static func isStandard(_ name: String?) -> Bool {
    name == nil || name == "" || name == StandardPolicy.className
  }

  private func checkPolicies() throws {
    let missing = order.mappings.flatMap(\.entityMappings).compactMap(\.migrationPolicyClassName)
      .filter { !Self.isStandard($0) && order.policies[$0] == nil }
    guard missing.isEmpty else {
      throw ObjectMigrationError(.policiesNotRegistered(Set(missing).sorted()))
    }
  }

  private func migrate(_ db: Database, _ links: FilePath) throws -> Report {
    try db.execute(
      sql: "ATTACH ? AS src",
      arguments: [StoreConnection.uri(order.source) + "?immutable=1"])
    try db.execute(sql: "ATTACH ? AS link", arguments: [StoreConnection.uri(links)])
    for pragma in ["journal_mode = OFF", "synchronous = OFF"] {
      try db.execute(sql: "PRAGMA link.\(pragma)")
    }
    var report = Report()
    try db.inTransaction {
      report = try fill(db)
      return .commit
    }
    return report
  }

  private func fill(_ db: Database) throws -> Report {
    let schema = order.destinationSchema
    try StoreWriter.createTables(schema, in: db)
    // Objects find each other by their keys while they are related; the other indexes come last.
    let early = schema.indexes.filter { !$0.isExplicit }
    for index in early { try db.execute(sql: index.createStatement) }
    let source = ObjectContext(
      order.sourceSchema, db, database: "src", isSource: true, support: order.support)
    let destination = ObjectContext(
      schema, db, database: "main", isSource: false, support: order.support)
    let keys = KeyHolder(
      KeyPlan(
        order.mappings, source: order.sourceSchema, destination: schema, maxima: order.maxima))
    let associations = try Associations(db)
    var report = Report()
    let sink = ViolationSink(violation)
    for (index, model) in order.mappings.enumerated() {
      try associations.reset()
      let manager = ObjectMigrationManager(
        model, source, destination, associations, keys, now: order.now)
      var passes = ThreePasses(manager, policies: try makePolicies(model)) { part in
        progress((Double(index) + part) / Double(order.mappings.count))
      }
      report.objectsRead += try passes.run(sink)
    }
    try finish(db, destination, keys, &report, sink)
    report.dropped = try dropped(source)
    return report
  }

  private func makePolicies(_ model: MappingModel) throws -> [any MigrationPolicy] {
    model.entityMappings.map { mapping in
      guard let name = mapping.migrationPolicyClassName, !Self.isStandard(name),
        let make = order.policies[name]
      else { return StandardPolicy() }
      return make()
    }
  }

  private func finish(
    _ db: Database, _ destination: ObjectContext, _ keys: KeyHolder, _ report: inout Report,
    _ sink: ViolationSink
  ) throws {
    let schema = order.destinationSchema
    try destination.flush()
    try PlaceNumbering(schema: schema, db: db).run()
    try validate(destination, &report, sink)
    for index in schema.indexes where index.isExplicit {
      try db.execute(sql: index.createStatement)
    }
    var maxima: [String: Int64] = [:]
    for table in schema.tables {
      maxima[table.rootName] = keys.plan.maxima[table.name]
      report.objectsWritten +=
        try Int64.fetchOne(db, sql: "SELECT count(*) FROM main.\(SQL.identifier(table.name))") ?? 0
    }
    try StoreWriter.writePrimaryKeys(schema, maxima: maxima, in: db)
    try StoreWriter.writeMetadata(order.metadata, modelCache: order.modelCache, in: db)
  }

  private func validate(
    _ destination: ObjectContext, _ report: inout Report, _ sink: ViolationSink
  ) throws {
    let validation = ModelValidation(context: destination, report: sink.tell)
    // Objects that agree have no place in a unique index, so this is never left out.
    try validation.checkUniqueness()
    let equal = sink.count
    if order.validation != .off { try validation.run() }
    report.violationCount = sink.count
    report.violations = sink.first
    let mode = order.validation
    guard equal > 0 || (mode == .strict && sink.count > 0) else { return }
    let problem: ObjectMigrationError.Problem =
      mode == .strict && sink.count > equal
      ? .invalid(violations: sink.count) : .notUnique(violations: equal)
    var error = ObjectMigrationError(problem)
    if let first = sink.first.first {
      error.entity = first.entity
      error.property = first.property
      error.key = first.key
    }
    throw error
  }

  private func dropped(_ source: ObjectContext) throws -> [String: Int64] {
    let taken = Set(order.mappings.flatMap(\.entityMappings).compactMap(\.sourceEntityName))
    var result: [String: Int64] = [:]
    for entity in source.schema.model.entities where !taken.contains(entity.name) {
      let count = try source.count(entity.name)
      if count > 0 { result[entity.name] = count }
    }
    return result
  }
}

/// Counts violations and keeps the first.
final class ViolationSink {
  private let told: (Violation) -> Void
  private(set) var count = 0
  private(set) var first: [Violation] = []

  init(_ told: @escaping (Violation) -> Void) { self.told = told }

  func tell(_ violation: Violation) {
    count += 1
    if first.count < ObjectMigration.reportedViolations { first.append(violation) }
    told(violation)
  }
}

/// Gives places in ordered relationships the numbers that Core Data gives them.
struct PlaceNumbering {
  let schema: StoreSchema
  let db: Database

  func run() throws {
    for table in schema.tables {
      for (owner, order) in pairs(table) { try number(table.name, owner, order, "Z_PK") }
    }
    for join in schema.joinTables {
      if let order = join.second.orderColumn {
        try number(join.name, join.first.keyColumn, order, SQL.identifier(join.second.keyColumn))
      }
      if let order = join.first.orderColumn {
        try number(join.name, join.second.keyColumn, order, SQL.identifier(join.first.keyColumn))
      }
    }
  }

  private func pairs(_ table: EntityTable) -> [(String, String)] {
    table.columns.compactMap { column in
      switch column.role {
      case .toOneOrder(let entity, let name):
        table.column(.toOne(entity: entity, name: name)).map { ($0.name, column.name) }
      case .ownerOrder(let entity, let name):
        table.column(.owner(entity: entity, name: name)).map { ($0.name, column.name) }
      default: nil
      }
    }
  }

  /// From 2048 in steps of 1024, per owner (docs/store-format.md, "Entity tables").
  private func number(
    _ table: String, _ owner: String, _ order: String, _ key: String
  ) throws {
    let table = "main.\(SQL.identifier(table))"
    let (owner, order) = (SQL.identifier(owner), SQL.identifier(order))
    let bare = table.dropFirst("main.".count)
    try db.execute(
      sql: """
        UPDATE \(table) SET \(order) = n.place FROM (
          SELECT rowid AS row, 1024 + 1024 * row_number() OVER (
            PARTITION BY \(owner) ORDER BY \(order), \(key)) AS place
          FROM \(table) WHERE \(owner) IS NOT NULL
        ) AS n WHERE n.row = \(bare).rowid
        """)
  }
}
