import Expressions
import GRDB
package import Mapping
package import ObjectModel
package import Schema
package import StoreFormat
import SystemCalls
package import SystemPackage

/// Migrates a store object by object, as `NSMigrationManager` does: creates, relates, validates.
///
/// (1) The source is opened as immutable, and the result is a new file.
/// (2) A mapping model ends before the next one of its step begins; all fill the same result.
/// (3) Each pass goes over all mappings, in their order, before the next pass begins.
package struct ObjectMigration {
  /// What is to be done; the source has no `-wal` with anything in it.
  package struct Order {
    /// The store to read.
    package var source: FilePath
    /// The schema of the source, with the names that the store really uses.
    package var sourceSchema: StoreSchema
    /// The schema of the result.
    package var destinationSchema: StoreSchema
    /// The mapping models of one step, in running order.
    package var mappings: [MappingModel]
    /// The mappings to carry out, and the tables that they fill; nil takes all of them.
    package var group: MappingGroups.Group?
    /// The file to write, which must not exist.
    package var result: FilePath
    /// The file to write references to while the migration runs.
    package var links: FilePath
    /// The folder of the source's external files.
    package var support: FilePath?
    /// The metadata of the result; nil writes only the tables of objects, as in a shard.
    package var metadata: StoreMetadata?
    /// The highest key that each root entity of the source has given.
    package var maxima: [String: Int64] = [:]
    /// What becomes of violations.
    package var validation = ValidationMode.strict
    /// Bytes of memory that the migration may use; a quarter of it is SQLite's cache.
    package var memory: Int64 = 128 << 20
    /// As a header names it: what is attached to each other must agree in it.
    package var textEncoding: UInt32 = 1
    /// The identifier of the store, where the source is one that only stands for it; else its own.
    package var storeIdentifier: String?
    /// Seconds since 2001, for `now()`.
    package var now: Double
    /// Makes the policy of a class name.
    package var policies: [String: @Sendable () -> any MigrationPolicy] = [:]

    /// Makes an order for all mappings, without policies, that ends at a violation.
    package init(
      source: FilePath, sourceSchema: StoreSchema, destinationSchema: StoreSchema,
      mappings: [MappingModel], result: FilePath, links: FilePath, metadata: StoreMetadata?,
      now: Double
    ) {
      self.source = source
      self.sourceSchema = sourceSchema
      self.destinationSchema = destinationSchema
      self.mappings = mappings
      self.result = result
      self.links = links
      self.metadata = metadata
      self.now = now
    }

    var scope: MappingScope {
      MappingScope(models: mappings, group: group, destination: destinationSchema)
    }
  }

  /// The rows that a table of the result has.
  package struct WrittenTable: Hashable, Sendable {
    /// The name of the table.
    package var name: String
    /// Rows in the table.
    package var rows: Int64
    /// A sum over all rows, in any order (docs/explanation/architecture.md, "Verification").
    package var digest: UInt64
  }

  /// What was done.
  package struct Report: Hashable, Sendable {
    /// Source objects that mappings took, each as often as one did.
    package var objectsRead: Int64 = 0
    /// The tables that were filled, those of pairs included.
    package var tables: [WrittenTable] = []
    /// The highest key that each root entity has given.
    package var maxima: [String: Int64] = [:]
    /// The rules of the destination model that objects break.
    package var violations = ViolationList()
    /// What became of each source entity, and of each mapping.
    package var accounts = ObjectAccounts()
  }

  let order: Order
  private let progress: (Double, EntityMapping) throws -> Void

  /// `progress` is called with numbers from 0 to 1, and the mapping that is being processed.
  package init(
    _ order: Order, progress: @escaping (Double, EntityMapping) throws -> Void = { _, _ in }
  ) {
    self.order = order
    self.progress = progress
  }

  /// Migrates; the result is complete where this returns, and to be thrown away where it throws.
  ///
  /// Violations of a shard are only reported, since those of other shards come along with them.
  package func migrate() throws -> Report {
    try Self.checkPolicies(
      order.mappings, registered: order.policies.keys, problem: { .policiesNotInWorker($0) })
    try Files.remove(order.result)
    try Files.remove(order.links)
    let connection = try StoreConnection.scratch(
      order.result, cacheBytes: order.memory / 4, textEncoding: order.textEncoding,
      memory: order.memory)
    var failure: (any Error)?
    var report = Report()
    // Errors of policies pass through unchanged; only errors of SQLite become errors of the store.
    try connection.run { db in
      do {
        report = try migrate(db)
      } catch let error as DatabaseError {
        throw error
      } catch {
        failure = error
      }
    }
    try connection.close()
    try Files.remove(order.links)
    if let failure { throw failure }
    try Files.syncFile(order.result)
    return report
  }

  /// Throws where mapping models name policies of their authors that are not registered.
  package static func checkPolicies(
    _ models: [MappingModel], registered: some Collection<String>,
    problem: ([String]) -> ObjectMigrationError.Problem = { .policiesNotRegistered($0) }
  ) throws(ObjectMigrationError) {
    var missing: Set<String> = []
    for model in models {
      for mapping in model.entityMappings {
        guard let name = mapping.ownPolicyClassName, !registered.contains(name) else { continue }
        missing.insert(name)
      }
    }
    guard missing.isEmpty else {
      throw ObjectMigrationError(problem(missing.sorted()))
    }
  }

  private func migrate(_ db: Database) throws -> Report {
    try db.execute(
      sql: "ATTACH ? AS src",
      arguments: [StoreConnection.uri(reading: order.source)])
    try StoreConnection.makeFile(at: order.links)
    try db.execute(sql: "ATTACH ? AS link", arguments: [StoreConnection.uri(path: order.links)])
    for pragma in [
      "link.journal_mode = OFF", "link.synchronous = OFF",
      "link.cache_size = -\(max(512, order.memory / 16 / 1024))",
      "src.cache_size = -\(max(2048, order.memory / 8 / 1024))",
    ] {
      try db.execute(sql: "PRAGMA \(pragma)")
    }
    let statements = PreparedStatements(db)
    defer { statements.close() }
    let source = ObjectContext(
      schema: order.sourceSchema, statements: statements, database: "src", isSource: true,
      support: order.support)
    source.knownIdentifier = order.storeIdentifier
    source.scratch = "link"
    source.file = (order.source, order.memory)
    let scope = order.scope
    let tally = ObjectTally(source: source, models: order.mappings, scope: scope, now: order.now)
    var report = Report()
    try db.inTransaction {
      try StoreWriter.createTables(order.destinationSchema, in: db)
      report = try fill(from: source, scope: scope, tally: tally)
      return .commit
    }
    // What is committed is in the file.
    for table in scope.tables {
      let digest = try RowDigest(ofTable: table, of: order.result, in: db)
      report.tables.append(WrittenTable(name: table, rows: digest.rows, digest: digest.sum))
    }
    report.accounts = try tally.finish(report.tables, schema: order.destinationSchema)
    return report
  }

  private func fill(
    from source: ObjectContext, scope: MappingScope, tally: ObjectTally
  ) throws -> Report {
    let (schema, statements) = (order.destinationSchema, source.statements)
    // Whatever ends it, the connection is free for the end of the transaction.
    defer { statements.inserts.finish() }
    let destination = ObjectContext(
      schema: schema, statements: statements, database: "main", isSource: false,
      support: order.support)
    destination.foreignTables = scope.foreignTables
    // Objects find each other by their keys while they are related; the other indexes come last.
    destination.lateIndexes = schema.indexes.filter { !$0.isExplicit }.map(\.createStatement)
    let keys = KeyHolder(
      KeyPlan(
        mappings: scope.own.flatMap(\.self), source: order.sourceSchema, destination: schema,
        maxima: order.maxima))
    let associations = try Associations(statements: statements)
    var report = Report()
    for (index, model) in order.mappings.enumerated() where !scope.own[index].isEmpty {
      try associations.reset()
      let manager = ObjectMigrationManager(
        model: model, foreign: scope.foreign(index), sourceContext: source,
        destinationContext: destination, associations: associations, keys: keys, now: order.now)
      var passes = ThreePasses(
        manager: manager, tally: tally, mappings: withPolicies(scope.own[index])
      ) { part, mapping in
        try progress(
          ThreePasses.share * (Double(index) + part) / Double(order.mappings.count), mapping)
      }
      report.objectsRead += try passes.migrate()
      // Of several mapping models each knows only what it made.
      if order.mappings.count == 1 {
        tally.add(
          try ReferenceTally(
            fates: fates, source: source, destination: destination, associations: associations,
            tally: tally, own: scope.places(0)
          ).observe())
      }
      try tally.close(
        model: index, associations: associations, numbers: manager.mappingNumbers,
        made: manager.newObjectCounts)
    }
    try finish(destination, source: source, keys: keys, scope: scope, report: &report)
    return report
  }

  private var fates: ReferenceFates {
    ReferenceFates(
      models: order.mappings, source: order.sourceSchema.model,
      destination: order.destinationSchema.model, isByRows: false, isInferred: false)
  }

  private func withPolicies(
    _ mappings: [EntityMapping]
  ) -> [(EntityMapping, any MigrationPolicy)] {
    mappings.map { mapping in
      let make = mapping.ownPolicyClassName.flatMap { order.policies[$0] }
      return (mapping, make?() ?? StandardPolicy())
    }
  }

  private func finish(
    _ destination: ObjectContext, source: ObjectContext, keys: KeyHolder, scope: MappingScope,
    report: inout Report
  ) throws {
    let schema = order.destinationSchema
    let db = try destination.flushed()
    try destination.fetchIndexes.drop()
    try destination.makeIndexes()
    try PlaceNumbering(schema: schema, db: db).number()
    try validate(destination, since: source, keys: keys, scope: scope, report: &report)
    for (index, table) in schema.tables.enumerated()
    where !scope.foreignTables.contains(table.name) {
      report.maxima[table.rootName] = keys.plan.maximum(table: index)
    }
    guard let metadata = order.metadata else { return }
    if let failure = ObjectMigrationError(violations: report.violations, mode: order.validation) {
      throw failure
    }
    for index in schema.indexes where index.isExplicit {
      try db.execute(sql: index.createStatement)
    }
    try StoreWriter.writePrimaryKeys(schema, maxima: report.maxima, in: db)
    try StoreWriter.writeMetadata(metadata, modelCache: nil, in: db)
  }

  private func validate(
    _ destination: ObjectContext, since source: ObjectContext, keys: KeyHolder,
    scope: MappingScope, report: inout Report
  ) throws {
    var found = ViolationList()
    let entities = order.destinationSchema.model.entities.filter { scope.isOwn($0.name) }
    let validation = ModelValidation(context: destination, entities: entities) { found.add($0) }
    // Objects that agree have no place in a unique index, so this is never left out.
    try validation.checkUniqueness()
    if order.validation != .off {
      let schema = order.destinationSchema
      let mappings = MappingModel(entityMappings: order.mappings.flatMap(\.entityMappings))
      let broken = try ModelValidation.violations(
        in: destination, of: entities, since: source, mappings: [mappings]
      ) { name in
        guard let table = schema.model.entity(name: name).flatMap({ schema.table(of: $0) }) else {
          return false
        }
        return schema.tables.firstIndex { $0.name == table.name }.map(keys.plan.keepsKeys) ?? false
      }
      found.add(broken)
    }
    report.violations = found
  }
}

extension ObjectMigrationError {
  /// The violations as an error, where the mode makes them one or no store can hold them.
  package init?(violations: ViolationList, mode: ValidationMode) {
    let equal = violations.notUniqueCount
    guard equal > 0 || (mode == .strict && violations.count > 0) else { return nil }
    self.init(
      mode == .strict && violations.count > equal
        ? .invalid(violations: violations.count) : .notUnique(violations: equal))
    self.violations = violations.first
    if let first = violations.first.first {
      (entity, property, key) = (first.entity, first.property, first.key)
    }
  }
}

/// The part of a step's mappings that one run carries out.
struct MappingScope {
  /// For each mapping model, the mappings to carry out.
  let own: [[EntityMapping]]
  /// The tables to fill, in the order of the schema.
  let tables: [String]
  let foreignTables: Set<String>
  private let ownEntities: Set<String>
  private let models: [MappingModel]
  private let group: MappingGroups.Group?

  init(models: [MappingModel], group: MappingGroups.Group?, destination: StoreSchema) {
    self.models = models
    self.group = group
    own = models.indices.map { index in
      let all = models[index].entityMappings
      return group.map { $0.members[index].map { all[$0] } } ?? all
    }
    let roots = group.map { Set($0.roots) }
    func isOwn(_ root: String) -> Bool { roots?.contains(root) ?? true }
    let model = destination.model
    func root(of entity: String) -> String {
      model.entity(name: entity).map { model.root(of: $0).name } ?? ""
    }
    tables =
      destination.tables.filter { isOwn($0.rootName) }.map(\.name)
      + destination.joinTables.filter { isOwn(root(of: $0.first.entityName)) }.map(\.name)
    foreignTables = Set(destination.tables.filter { !isOwn($0.rootName) }.map(\.name))
    ownEntities = Set(model.entities.map(\.name).filter { isOwn(root(of: $0)) })
  }

  func isOwn(_ entity: String) -> Bool { ownEntities.contains(entity) }

  /// The places of the mappings of a mapping model that this run carries out.
  func places(_ index: Int) -> Set<Int> {
    Set(group?.members[index] ?? Array(models[index].entityMappings.indices))
  }

  /// The mappings of a mapping model that other runs carry out.
  func foreign(_ index: Int) -> [EntityMapping] {
    guard let mine = group.map({ Set($0.members[index]) }) else { return [] }
    let all = models[index].entityMappings
    return all.indices.filter { !mine.contains($0) }.map { all[$0] }
  }
}
