import Mapping
import Foundation
import MigrationStatus
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
package import SystemPackage

extension StoreSurvey {
  /// Surveys the store of a request.
  package init(
    opening request: MigrationRequest, access: SourceAccess, target: TargetModel
  ) throws {
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    let model = try target.sourceModel(
      metadata.versionHashes, reader: reader, others: request.models)
    try self.init(
      store: request.store, access: access, reader: reader, metadata: metadata, model: model)
  }
}

extension StoreSurvey {
  /// Surveys a store by its own model, which is found in one of the places or in the store.
  package init(store: FilePath, access: SourceAccess, models: [FilePath]) throws {
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    var search = OwnModel(metadata.versionHashes)
    guard let model = try search.find(in: models, reader: reader) else {
      throw MigrationError.sourceModelMissing(
        store: store, searched: models, unreadable: search.unreadable)
    }
    try self.init(
      store: store, access: access, reader: reader, metadata: metadata, model: model)
  }
}

extension MigrationPlan {
  /// Plans a migration; nil where hindrances leave nothing to plan.
  init?(
    _ request: MigrationRequest, _ survey: StoreSurvey, _ assessment: Assessment,
    moves: TreeMoves?
  ) throws {
    guard let program = assessment.program else { return nil }
    var statistics = try StatisticsReader(survey: survey, sliceRows: request.rangeRows)
      .statistics(program)
    for table in statistics.keys where statistics[table]?.slices.isEmpty == false {
      statistics[table]?.isMoved = moves?.tables[table] != nil
      statistics[table]?.movedIndexes = PageIndex.all(of: table, assessment.destination)
        .map(\.name).filter { moves?.indexes[$0] != nil }
    }
    self =
      PartitionPlanner(
        program: program, statistics: statistics,
        granularity: .init(
          workers: request.workers, orderWork: 384 << 20, keepsSlices: request.rangeRows != nil)
      ).plan()
  }
}

extension WorkOrderDocument {
  init(
    _ order: WorkOrder, _ saved: SavedPlan, _ survey: StoreSurvey, _ assessment: Assessment,
    _ paths: MigrationPaths, _ request: MigrationRequest
  ) {
    let wanted = Set(order.pieces.map(\.destinationTable))
    let schema = assessment.destination
    var statements: [String: String] = [:]
    for table in schema.tables where wanted.contains(table.name) {
      statements[table.name] = table.createStatement
    }
    for table in schema.joinTables where wanted.contains(table.name) {
      statements[table.name] = table.createStatement
    }
    self.init(
      order: order, attempt: 1, planID: saved.id, source: survey.access.readable.string,
      support: MigrationPaths.support(of: request.store).string,
      shard: paths.shard(order.number, attempt: 1).string,
      manifest: paths.manifest(order.number).string, status: paths.status.string,
      tables: saved.plan.program.tables.filter { wanted.contains($0.destinationTable) },
      joins: saved.plan.program.joins.filter { wanted.contains($0.destinationTable) },
      createStatements: statements, memory: request.memory / Int64(request.workers + 1),
      logsSQL: request.logsSQL)
    store = survey.store.string
    if let step = assessment.steps.first(where: \.isComputed) {
      calls = RowWork(
        source: step.source.model, destination: step.destination.model, mapping: step.mapping,
        now: saved.now)
    }
    pages = saved.pages?.work(
      order, saved.plan, schema, paths, digestsRows: request.verifiesFully)
  }
}

extension WorkerPool {
  /// Runs the orders of a plan that no earlier run has finished; the results of all.
  func run(
    resuming documents: [WorkOrderDocument], of plan: MigrationPlan, _ telling: Telling
  ) async throws -> [Result] {
    var found: [Result] = []
    var missing: [WorkOrderDocument] = []
    for document in documents {
      if let manifest = try Self.finishedManifest(of: document) {
        found.append(.init(manifest: manifest, attempts: manifest.attempt))
      } else {
        missing.append(document)
      }
    }
    telling.begin(plan, finished: found.map(\.manifest.order), workers: workers)
    let made = try await run(missing) { _ in FaultPoint.reached("coordinator:migrating") }
    return found + made
  }

  /// The manifest of an order that an earlier run has finished, if its shard is still whole.
  static func finishedManifest(of document: WorkOrderDocument) throws -> ShardManifest? {
    guard try Files.fileStatusIfPresent(FilePath(document.manifest)) != nil,
      let manifest = try? manifest(of: document)
    else { return nil }
    let shard = FilePath(document.manifest).removingLastComponent().appending(manifest.shard)
    let size = try Files.fileStatusIfPresent(shard)?.size
    guard size == manifest.bytes, (manifest.pages != nil) == (document.pages != nil) else {
      return nil
    }
    // A full verification needs digests, which an interrupted migration may not have made.
    if document.pages?.digestsRows == true, manifest.pages?.digestsRows == false { return nil }
    return manifest
  }
}

extension MigrationReport.Order {
  init(_ result: WorkerPool.Result, _ plan: MigrationPlan) {
    let order = plan.workOrders.first { $0.number == result.manifest.order }
    self.init(
      number: result.manifest.order, partition: order?.partition ?? 0, attempts: result.attempts,
      rows: result.manifest.pieces.reduce(0) { $0 + $1.rowsWritten },
      bytes: result.manifest.bytes, peakMemory: result.manifest.peakMemory,
      seconds: result.manifest.seconds)
  }
}
