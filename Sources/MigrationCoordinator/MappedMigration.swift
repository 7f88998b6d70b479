import Foundation
import GRDB
import Mapping
import MappingFiles
import MigrationStatus
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// A migration by mapping models that people made: object by object, in this process.
struct MappedMigration {
  let request: MigrationRequest
  let survey: StoreSurvey
  let target: TargetModel
  let paths: MigrationPaths

  /// Makes the result; nothing has its final name yet.
  func run(_ telling: Telling) throws -> MigrationReport {
    let mappings = try self.mappings()
    let schema = try StoreSchema(target.model)
    var report = MigrationReport(
      outcome: .migrated, store: request.store.string, destination: request.destination.string)
    var order = ObjectMigration.Order(
      source: survey.access.readable, sourceSchema: survey.schema, destinationSchema: schema,
      mappings: mappings, result: paths.result, work: paths.work,
      metadata: survey.metadata.restated(
        hashes: target.hashes, versionIdentifiers: target.model.versionIdentifiers),
      now: Date().timeIntervalSinceReferenceDate)
    do {
      order.modelCache = try ModelArchive.encode(target.model)
    } catch {
      report.modelCacheOmitted = "\(error)"
    }
    order.support = MigrationPaths.support(of: request.store)
    order.maxima = survey.maxima
    order.validation = request.validation
    order.memory = request.memory
    order.policies = request.policies
    telling.beginObjects()
    let made = try ObjectMigration(order, progress: telling.objects).run()
    if (request.journalMode.map { $0 == .wal } ?? survey.header.usesWAL) {
      try StoreConnection.setWAL(paths.result)
    }
    telling.enter(.verifying)
    try check()
    try Files.syncFile(paths.result)
    report.rows = made.objectsWritten
    report.violations = made.violationCount
    report.losses = made.dropped.sorted { $0.key < $1.key }.filter { $0.value > 0 }.map {
      Loss(kind: .entity, entity: $0.key, property: nil, count: $0.value)
    }
    report.omittedIndexes = schema.omissions
    report.extraTables = survey.differences.extraTables
    if request.failsOnLoss && !report.losses.isEmpty {
      throw MigrationError.losses(store: request.store, report.losses)
    }
    return report
  }

  private func check() throws {
    let pragma = request.verifiesFully ? "integrity_check" : "quick_check"
    let answers = try StoreConnection.immutable(paths.result).run { db in
      try String.fetchAll(db, sql: "PRAGMA \(pragma)(5)")
    }
    guard answers == ["ok"] else { throw MigrationError.resultDamaged(answers) }
  }

  /// The mapping models of the request, each of which must be made for these two versions.
  private func mappings() throws -> [MappingModel] {
    let before = survey.metadata.versionHashes
    return try request.mappings.map { path in
      let mapping = try MappingFile.read(path).mapping
      guard mapping.fits(source: before, destination: target.hashes) else {
        throw MigrationError.mappingMismatch(
          path,
          try mapping.mismatches(.source, model: survey.model)
            + mapping.mismatches(.destination, model: target.model))
      }
      return mapping
    }
  }
}
