import MigrationStatus
import Foundation
import Logging
import Mapping
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// One step of a migration by mapping models: object by object, in workers.
///
/// Mappings that nothing joins are different work orders, so that workers share them; what comes
/// out does not depend on how many workers there are.
struct MappedMigration {
  let request: MigrationRequest
  let survey: StoreSurvey
  let target: TargetModel
  let destination: StoreSchema
  /// In running order.
  let models: [RouteMapping]
  let workspace: Workspace
  let launcher: any WorkerLauncher
  let logger: Logger

  private var paths: MigrationPaths { workspace.paths }
  private var mappings: [MappingModel] { models.map(\.mapping) }

  /// Makes the result; nothing has its final name yet.
  func run(_ telling: Telling) async throws -> MigrationReport {
    telling.enter(.planning)
    let schema = destination
    let counted = CountedLosses(survey, mappings, to: schema)
    let beforehand = try self.beforehand(counted)
    _ = try request.lossDecision.require(beforehand, of: survey, store: request.store)
    let (saved, results) = try await migrate(schema, telling)
    var objects = ObjectAccounts()
    for result in results { if let own = result.manifest.objects { objects.add(own.accounts) } }
    let accounts = try MappedAccounts(counted, beforehand: beforehand, objects)
    // What policies made nothing of is known only now.
    let losses = try request.lossDecision.require(
      accounts.losses, of: survey, store: request.store)
    var report = try finish(saved, results, schema, telling)
    report.engine = .objects
    report.losses = losses
    report.accounts = [accounts.accounts]
    report.omittedIndexes = schema.omissions
    report.extraTables = survey.differences.extraTables
    report.workOrders = results.map { .init($0, saved.plan) }.sorted { $0.number < $1.number }
    report.resumed = saved.isTakenUp
    return report
  }

  // MARK: Before the first object is read

  /// What is lost whatever policies do.
  private func beforehand(_ counted: CountedLosses) throws -> [Loss] {
    try counted.beforehand(now: Date().timeIntervalSinceReferenceDate)
      + StrayRows(survey: survey, scansAll: false).losses()
  }

  private func plan(_ schema: StoreSchema, undivided: Bool) throws -> SavedPlan {
    var inputs = PlanInputs(
      fingerprint: survey.access.fingerprint,
      sourceModel: survey.metadata.versionHashes.checksum,
      destinationModel: target.hashes.checksum, rangeRows: nil, engine: request.engine,
      objects: .init(mappings: mappings, validates: request.validation != .off))
    inputs.joinTables = request.joinTables
    if let saved = try workspace.savedPlan(inputs), saved.objects != nil,
      !undivided || saved.plan.partitions.count == 1
    {
      logger.notice("taking up an interrupted migration")
      return saved
    }
    try workspace.clear(keeping: [paths.snapshot, paths.status, paths.statusLock])
    let groups =
      undivided
      ? MappingGroups(undivided: mappings, destination: target.model)
      : MappingGroups(mappings, source: survey.model, destination: target.model)
    let planner = ObjectPlanner(survey: survey, destination: schema, mappings: mappings)
    let saved = SavedPlan(
      id: UUID().uuidString, inputs: inputs, plan: planner.plan(groups), pages: nil,
      now: Date().timeIntervalSinceReferenceDate, objects: .init(groups: groups))
    try workspace.save(saved)
    return saved
  }

  // MARK: Workers

  /// Groups that turn out to be related after all are migrated as one.
  private func migrate(
    _ schema: StoreSchema, _ telling: Telling
  ) async throws -> (SavedPlan, [WorkerPool.Result]) {
    let saved = try plan(schema, undivided: false)
    do {
      return (saved, try await migrate(saved, telling))
    } catch let error as ObjectMigrationError {
      guard case .beyondGroup(let name) = error.problem else { throw error }
      logger.notice(
        "a policy or an expression asks for what other mappings make: all are migrated as one",
        metadata: ["asks for": "\(name)"])
      let whole = try plan(schema, undivided: true)
      return (whole, try await migrate(whole, telling))
    }
  }

  private func migrate(
    _ saved: SavedPlan, _ telling: Telling
  ) async throws -> [WorkerPool.Result] {
    guard let objects = saved.objects else { preconditionFailure("planned without objects") }
    let documents = saved.plan.workOrders.map { document($0, saved, objects) }
    let pool = WorkerPool(
      launcher: launcher, workers: request.workers, status: telling.status, logger: logger)
    return try await pool.run(resuming: documents, of: saved.plan, telling)
  }

  private func document(
    _ order: WorkOrder, _ saved: SavedPlan, _ objects: SavedPlan.Objects
  ) -> WorkOrderDocument {
    var document = WorkOrderDocument(
      order: order, attempt: 1, planID: saved.id, source: survey.access.readable.string,
      support: MigrationPaths.support(of: request.store).string,
      shard: paths.shard(order.number, attempt: 1).string,
      manifest: paths.manifest(order.number).string, status: paths.status.string, tables: [],
      joins: [], createStatements: [:], memory: request.memory / Int64(request.workers + 1),
      logsSQL: request.logsSQL)
    document.store = survey.store.string
    var work = ObjectWork(
      source: survey.model, destination: target.model, mappings: mappings,
      group: objects.groups.groups[order.partition - 1], maxima: survey.maxima,
      validates: request.validation != .off, now: saved.now)
    work.naming = destination.joinNaming
    document.objects = work
    return document
  }

  // MARK: From shards to the store

  private func finish(
    _ saved: SavedPlan, _ results: [WorkerPool.Result], _ schema: StoreSchema,
    _ telling: Telling
  ) throws -> MigrationReport {
    var report = MigrationReport(
      outcome: .migrated, store: request.store.string, destination: request.destination.string)
    var violations = ViolationList()
    var maxima: [String: Int64] = [:]
    for result in results.sorted(by: { $0.manifest.order < $1.manifest.order }) {
      guard let outcome = result.manifest.objects else {
        throw MigrationError.manifestForeign(paths.manifest(result.manifest.order))
      }
      violations.add(outcome.violations)
      maxima.merge(outcome.maxima, uniquingKeysWith: max)
    }
    if let failure = ObjectMigrationError(violations, request.validation) { throw failure }
    report.violations = violations.count
    report.firstViolations = violations.first
    var cache: [UInt8]?
    do {
      let encoded = try ModelArchive.encode(target.model)
      cache = encoded.bytes
      report.modelCacheLeftOut = encoded.leftOut.map { .init($0) }
    } catch {
      report.modelCacheOmitted = "\(error)"
    }
    var order = AssemblyOrder(
      schema: schema, plan: saved.plan, manifests: results.map(\.manifest), folder: paths.work,
      result: paths.result,
      metadata: survey.metadata.restated(
        hashes: target.hashes, versionIdentifiers: target.model.versionIdentifiers),
      modelCache: cache, maxima: maxima,
      usesWAL: request.journalMode.map { $0 == .wal } ?? survey.access.usesWAL,
      memory: request.memory, verifiesFully: request.verifiesFully, logsSQL: request.logsSQL)
    order.textEncoding = survey.header.textEncoding
    report.rows = try SQLAssembler().assemble(order) { telling.assembly($0) }.rows
    FaultPoint.reached("coordinator:assembled")
    try Task.checkCancellation()
    return report
  }
}

/// Plans the work orders of groups of mappings.
struct ObjectPlanner {
  let survey: StoreSurvey
  let destination: StoreSchema
  let mappings: [MappingModel]

  /// One work order for each group, the largest first; partitions are numbered as groups are.
  func plan(_ groups: MappingGroups) -> MigrationPlan {
    let rows = max(1, survey.rowCounts.values.flatMap(\.values).reduce(0, +))
    let perRow = Double(survey.access.fingerprint.bytes) / Double(rows)
    var next = 1
    var partitions: [Partition] = []
    var orders: [WorkOrder] = []
    for (index, group) in groups.groups.enumerated() {
      let own = zip(group.members, mappings).flatMap { places, model in
        places.map { model.entityMappings[$0] }
      }
      let pieces = tables(group).map { name, root in
        defer { next += 1 }
        let rows = root.map { rowCount(of: own, into: $0) } ?? 0
        return Piece(
          number: next, destinationTable: name, keys: .all, rows: rows,
          bytes: max(1, Int64(Double(rows) * perRow)))
      }
      let order = WorkOrder(number: 0, partition: index + 1, pieces: pieces)
      partitions.append(
        Partition(
          number: index + 1, tables: pieces.map(\.destinationTable), rows: order.rows,
          bytes: order.bytes))
      orders.append(order)
    }
    orders.sort { ($0.bytes, $1.partition) > ($1.bytes, $0.partition) }
    for index in orders.indices { orders[index].number = index + 1 }
    return MigrationPlan(
      partitions: partitions, workOrders: orders, program: .none)
  }

  /// The tables that a group fills; those of pairs have no root.
  private func tables(_ group: MappingGroups.Group) -> [(name: String, root: String?)] {
    let roots = Set(group.roots)
    let model = destination.model
    let joins = destination.joinTables.filter { table in
      model.entity(table.first.entityName).map { roots.contains(model.root(of: $0).name) } ?? false
    }
    return destination.tables.filter { roots.contains($0.rootName) }.map { ($0.name, $0.rootName) }
      + joins.map { ($0.name, nil) }
  }

  /// The source objects that become objects of a table, as far as filters do not drop any.
  private func rowCount(of mappings: [EntityMapping], into root: String) -> Int64 {
    let model = destination.model
    return mappings.reduce(0) { sum, mapping in
      guard let source = mapping.sourceEntityName,
        let entity = mapping.destinationEntityName.flatMap({ model.entity($0) }),
        model.root(of: entity).name == root
      else { return sum }
      return sum + survey.count(of: source)
    }
  }
}
