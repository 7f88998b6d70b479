import GRDB
import KeyedArchives
package import ObjectModel
import Schema
package import StoreFormat
import SystemCalls
package import SystemPackage

/// Generates a store of any managed object model, with as many objects of each concrete entity.
///
/// Every value is a function of seed, entity, key and property, so one seed gives the same bytes on
/// every run, and memory does not grow with the number of objects.
package struct StoreGenerator: Sendable {
  /// The model of the store.
  package let model: ManagedObjectModel
  /// The number of objects, of all entities together.
  package let rows: Int64
  private let seed: UInt64
  private let schema: StoreSchema
  private let allocation: KeyAllocation
  private let metadata: StoreMetadata
  private let tables: [TablePlan]
  private let joins: [JoinPlan]
  /// The size of the history; nil for a store without one.
  private let history: HistoryPlan?
  private let notes: [GenerationReport.Note]
  private let isMirrored: Bool
  private let configuration: String?

  /// The framework version of generated stores: among those of real stores that have a checksum
  /// (from 1333 on) and none of the later additions (docs/reference/store-format.md, "Metadata").
  private static let frameworkVersion: Int64 = 1345
  private static let cacheBytes: Int64 = 32 << 20

  /// Plans a store of `rows` objects of the entities of a configuration, nil for all entities, if
  /// need be with the tables of CloudKit mirroring.
  ///
  /// - Parameter history: how much persistent history the store has; nil for none.
  /// - Throws: `GenerationError`, for a model or a number of objects or changes that is not
  ///   supported.
  package init(
    model: ManagedObjectModel, rows: Int64, seed: UInt64, configuration: String? = nil,
    isMirrored: Bool = false, history: HistorySize? = nil
  ) throws(GenerationError) {
    guard (0...KeyAllocation.maximumRows).contains(rows) else {
      throw GenerationError(.rowsOutOfRange(rows))
    }
    if let history, !history.isPossible { throw GenerationError(.historyOutOfRange(history)) }
    if let configuration, model.configurations[configuration] == nil {
      throw GenerationError(.configurationUnknown(configuration))
    }
    if let (entity, property, part) = model.unreadParts.first(where: { $0.part.part.isHashed }) {
      throw GenerationError(.unread(entity: entity, property: property, part))
    }
    self.model = model
    self.rows = rows
    self.seed = seed
    self.isMirrored = isMirrored
    self.configuration = configuration
    do throws(SchemaError) {
      var schema = try StoreSchema(model)
      if isMirrored || history != nil {
        schema.history = HistoryTables(tombstones: 0).grown(for: model)
      }
      self.schema = schema
    } catch {
      throw GenerationError(.schemaNotSupported(error), cause: error)
    }
    metadata = try Self.metadata(
      of: model, configuration: configuration, seed: seed,
      size: "\(rows) \(history.map { "\($0.transactions) \($0.changes)" } ?? "") \(isMirrored)")
    let names = Set(model.entities(ofConfiguration: configuration).map(\.name))
    allocation = KeyAllocation(schema: schema, names: names, rows: rows, seed: seed)
    guard rows == 0 && history?.changes ?? 0 == 0 || !allocation.concretes.isEmpty else {
      throw GenerationError(names.isEmpty ? .noEntity : .noConcreteEntity)
    }
    self.history = history.map { [allocation] in
      HistoryPlan(size: $0, allocation: allocation, seed: seed)
    }
    var planner = TablePlanner(schema: schema, allocation: allocation, seed: seed)
    tables = try planner.plans()
    joins = planner.joinPlans()
    notes = planner.notes
  }

  private static func metadata(
    of model: ManagedObjectModel, configuration: String?, seed: UInt64, size: String
  ) throws(GenerationError) -> StoreMetadata {
    let hashes: [String: VersionHash]
    do throws(UnknownVersionHash) {
      hashes = try model.versionHashes(configuration: configuration)
    } catch {
      throw GenerationError(.hashUnknown(error), cause: error)
    }
    // Stores of other versions or sizes are others to a coordinator, which knows them by UUID.
    var draw = Draw(
      Mixing.salt(seed, parts: "store", hashes.checksum, configuration ?? "", size))
    let blank = StoreMetadata(
      uuid: UUIDBits.text(bits: UUIDBits.random(&draw, digit: nil)),
      plist: [StoreMetadata.Key.frameworkVersion: .integer(frameworkVersion)])
    // A model without identifiers has one empty one in the metadata of real stores.
    let identifiers = model.versionIdentifiers.isEmpty ? [""] : model.versionIdentifiers
    return blank.restated(hashes: hashes, versionIdentifiers: identifiers)
  }

  /// Writes the store, which appears with its external files once it is complete.
  ///
  /// - Parameters:
  ///   - modelCache: the archived model for `Z_MODELCACHE`, not compressed; nil leaves it empty.
  ///   - progress: receives the objects written so far and in all, and may throw to stop.
  /// - Throws: `GenerationError`.
  package func generate(
    to output: FilePath, journalMode: JournalMode = .delete, modelCache: [UInt8]? = nil,
    progress: (_ done: Int64, _ total: Int64) throws -> Void = { _, _ in }
  ) throws(GenerationError) -> GenerationReport {
    try requireRoom(for: output)
    let output = try GenerationOutput(output)
    do throws(GenerationError) {
      var report = GenerationReport()
      report.entities = allocation.concretes.map { .init(name: $0.name, rows: $0.count) }
      report.notes = notes
      var files = GeneratedFiles(folder: output.partialSupport)
      try write(output, modelCache: modelCache, files: &files, report: &report, progress: progress)
      try setJournalMode(journalMode, of: output.partialStore)
      report.externalFiles = files.count
      report.externalBytes = files.bytes
      report.storeBytes = try Self.size(of: output.partialStore)
      try output.publish(files)
      return report
    } catch {
      output.discard()
      throw error
    }
  }

  /// A store of the same kind with another number of objects, and without history.
  func resized(to rows: Int64) throws(GenerationError) -> StoreGenerator {
    try StoreGenerator(
      model: model, rows: rows, seed: seed, configuration: configuration, isMirrored: isMirrored)
  }

  /// The changes of the history.
  var changes: Int64 { history?.size.changes ?? 0 }

  private func write(
    _ output: GenerationOutput, modelCache: [UInt8]?, files: inout GeneratedFiles,
    report: inout GenerationReport, progress: (Int64, Int64) throws -> Void
  ) throws(GenerationError) {
    do throws(StoreError) {
      let connection = try StoreConnection.scratch(
        output.partialStore, cacheBytes: Self.cacheBytes)
      try connection.run { db in
        // Freed parts of pages would otherwise have bytes that do not depend on the seed.
        try db.execute(sql: "PRAGMA secure_delete = ON")
        try db.inTransaction(.immediate) {
          try StoreWriter.createTables(schema, in: db)
          try writeRows(in: db, files: &files, progress: progress)
          try writePairs(in: db, report: &report, progress: progress)
          let maxima = try writeHistory(in: db, progress: progress)
          try StoreWriter.createIndexes(schema, in: db) { _ in try publish(rows, progress: progress)
          }
          for update in tables.flatMap(\.updates) { try db.execute(sql: update) }
          for tree in schema.spatialIndexes { try StoreWriter.create(tree, in: db) }
          for trigger in schema.triggers { try db.execute(sql: trigger.statement) }
          try writeFrame(in: db, modelCache: modelCache, history: maxima)
          if isMirrored {
            try MirroringWriter(
              tables: tables, allocation: allocation, seed: seed,
              transactions: history?.transactionKeys
            ).write(in: db)
          }
          return .commit
        }
      }
      try connection.close()
    } catch {
      if let cause = error.cause as? GenerationError { throw cause }
      throw GenerationError(.writeFailed, at: output.store, cause: error.cause ?? error)
    }
  }

  private func writeRows(
    in db: Database, files: inout GeneratedFiles, progress: (Int64, Int64) throws -> Void
  ) throws {
    let pool = ValuePool(seed: seed)
    var done: Int64 = 0
    for table in tables where table.keys.rows > 0 {
      var writer = try RowWriter(plan: table, pool: pool, in: db)
      for position in 0..<table.keys.rows {
        try writer.write(position: position, files: &files)
        done += 1
        if done % 4096 == 0 { try publish(done, progress: progress) }
      }
    }
    try publish(done, progress: progress)
  }

  private func writePairs(
    in db: Database, report: inout GenerationReport, progress: (Int64, Int64) throws -> Void
  ) throws {
    for join in joins {
      var writer = try PairWriter(plan: join, in: db)
      for object in 0..<join.first.count {
        try writer.writePairs(of: object)
        if object % 4096 == 0 { try publish(rows, progress: progress) }
      }
      report.joinTables.append(.init(name: join.table.name, rows: writer.count))
    }
  }

  /// Writes the history, and returns the highest keys of its tables.
  private func writeHistory(
    in db: Database, progress: (Int64, Int64) throws -> Void
  ) throws -> [String: Int64] {
    guard let history else { return [:] }
    var writer = try HistoryWriter(
      plan: history, schema: schema, allocation: allocation, tables: tables,
      pool: ValuePool(seed: seed), in: db)
    return try writer.write(in: db) { try publish(rows, progress: progress) }
  }

  /// Writes `Z_PRIMARYKEY`, `Z_METADATA` and `Z_MODELCACHE`.
  private func writeFrame(
    in db: Database, modelCache: [UInt8]?, history maxima: [String: Int64]
  ) throws {
    let own = tables.enumerated().map { index, table in
      (table.table.rootName, history?.maximumKey(ofTable: index) ?? table.keys.maximumKey)
    }
    try StoreWriter.writePrimaryKeys(schema, maxima: Dictionary(uniqueKeysWithValues: own), in: db)
    try HistoryRecord(maxima: maxima, entry: nil).write(in: db)
    try StoreWriter.writeMetadata(
      metadata, modelCache: modelCache.map { try Deflate.deflate($0) }, in: db)
  }

  private func publish(_ done: Int64, progress: (Int64, Int64) throws -> Void) throws {
    do { try progress(done, rows) } catch { throw GenerationError(.interrupted, cause: error) }
  }

  /// Sets the read and write versions in the header, without creating a log.
  private func setJournalMode(
    _ mode: JournalMode, of store: FilePath
  ) throws(GenerationError) {
    guard mode == .wal else { return }
    do {
      let descriptor = try FileDescriptor.open(store, .writeOnly, options: .closeOnExec)
      try descriptor.closeAfter {
        _ = try descriptor.writeAll(toAbsoluteOffset: 18, [2, 2])
      }
    } catch {
      throw GenerationError(.writeFailed, at: store, cause: error)
    }
  }

  private static func size(of store: FilePath) throws(GenerationError) -> Int64 {
    do throws(SystemCallError) {
      return Int64(try Files.fileStatus(store).size)
    } catch {
      throw GenerationError(.writeFailed, at: store, cause: error)
    }
  }
}
