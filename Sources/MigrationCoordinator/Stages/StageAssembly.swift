import MigrationEngine
import MigrationStatus
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// The last part of a stage: from the shards of its workers to a verified result with accounts.
struct StageAssembly {
  let request: MigrationRequest
  let survey: StoreSurvey
  let stage: Stage
  let paths: MigrationPaths
  let input: StageInput
  let assessment: StageAssessment
  let saved: SavedPlan
  let frame: StageFrame

  /// Assembles the shards, verifies the result, and accounts for every row.
  ///
  /// - Throws: `WorkError`, `MigrationError`, or `ObjectMigrationError` for violations that are not
  ///   tolerated.
  func assemble(
    _ results: [WorkerPool.Result], engine: any MigrationEngine, reporter: ProgressReporter
  ) throws -> StageRun.Outcome {
    do {
      return try outcome(results, engine: engine, reporter: reporter)
    } catch let error as AssemblyError {
      throw WorkError(error, in: paths.work)
    }
  }

  private func outcome(
    _ results: [WorkerPool.Result], engine: any MigrationEngine, reporter: ProgressReporter
  ) throws -> StageRun.Outcome {
    let manifests = results.map(\.manifest)
    reporter.expect(
      counted: StageWork(
        saved.plan.counted(by: manifests), schema: input.schema, for: request),
      of: type(of: engine))
    var report = MigrationReport(
      outcome: .migrated, store: request.store.string, destination: request.destination.string)
    let summary = try type(of: engine).summary(of: manifests)
    // Objects are validated and accounted before assembly; for rows, assembly may still reject the
    // plan, so accounts come after it.
    if let summary {
      try account(&report, manifests: manifests, summary: summary)
      try judge(summary.violations, report: &report)
    }
    let order = try assemblyOrder(manifests, summary: summary, report: &report)
    let assembled = try engine.assemble(order, in: paths) { step in
      try reporter.desk.pass()
      reporter.enter(step)
      if step == .verifying { beginWriteback() }
    }
    if summary == nil {
      try account(&report, manifests: manifests, summary: nil, moved: assembled.movedTables)
    }
    try accountReferences(&report, summary: summary)
    FaultPoint.coordinatorAssembled.reached()
    try Task.checkCancellation()
    if summary == nil, !stage.mappings.isEmpty, request.validation != .off {
      let mappings =
        if case .rows(let steps) = stage.method { steps.map(\.mapping) } else { stage.mappings }
      let violations = try ViolationList(
        inStore: paths.result, of: assessment.schema, since: survey.reader.connection,
        of: survey.schema, mappings: mappings)
      try judge(violations, report: &report)
    }
    report.defects += assessment.rows?.oneSided ?? []
    report.engine = saved.engineName
    report.wasVerifiedFully = request.verifiesFully
    report.graph = PartitionGraph(saved.plan)
    report.movedTables = assembled.movedTables
    report.rows = assembled.rows
    report.stayingRows =
      saved.plan.staying.isEmpty ? nil : saved.plan.untouched.reduce(0) { $0 + $1.rows }
    report.danglingReferences = assembled.danglingReferences
    // Without the choice to keep dangling references, all tables were searched for them.
    if request.defectChoices.dangling == .keep, !assembled.uncheckedReferences.isEmpty {
      report.uncheckedReferences = assembled.uncheckedReferences.map {
        .init(table: $0.table, column: $0.column)
      }
    }
    report.omittedIndexes = assessment.schema.omissions
    report.keptTables = keptTables
    report.noteExtras(of: survey)
    report.workOrders = results.map { .init(result: $0, plan: saved.plan) }.sorted {
      $0.number < $1.number
    }
    report.resumed = saved.wasResumed
    report.now = saved.now
    return StageRun.Outcome(report: report, externalNames: assembled.externalNames)
  }

  /// Has the system write a small result to the disk while it is verified; where it does not, the
  /// sync at the end does.
  private func beginWriteback() {
    guard !request.isTrial, survey.isQuicklyMigrated,
      let file = try? Files.open(paths.result, mode: .readOnly)
    else { return }
    _ = try? file.closeAfter { try Files.beginWriteback(file, from: 0, count: 0) }
  }

  /// Adds accounts and losses to the report.
  ///
  /// - Throws: `MigrationError.accountsDiffer`, or `losses` if some are not accepted.
  private func account(
    _ report: inout MigrationReport, manifests: [ShardManifest], summary: ObjectSummary?,
    moved: [String] = []
  ) throws {
    let (accounts, losses) = try assessment.accounts(
      saved.plan, manifests: manifests, summary: summary, moved: moved)
    report.accounts = [accounts]
    report.losses = try request.lossDecision.require(losses, of: survey, store: request.store)
  }

  /// Adds the accounts of references, once all of them are in the result.
  ///
  /// - Throws: `MigrationError.accountsDiffer`.
  private func accountReferences(
    _ report: inout MigrationReport, summary: ObjectSummary?
  ) throws {
    let references = assessment.referenceAccounts(summary)
    try references.requireAgreement(in: paths.result, schema: assessment.schema)
    let lost = references.accounts.filter { !$0.dropped.isEmpty }
    if !lost.isEmpty { report.accounts[0].references = lost }
  }

  /// Adds violations to the report.
  ///
  /// - Throws: `ObjectMigrationError`, if the request does not tolerate them.
  private func judge(_ violations: ViolationList, report: inout MigrationReport) throws {
    if let failure = ObjectMigrationError(violations: violations, mode: request.validation) {
      throw failure
    }
    report.violations = violations.count
    report.firstViolations = violations.first
    report.defects += violations.standing.map { Defect($0) }
  }

  /// What the migration leaves in the history of the store, if it keeps any.
  ///
  /// A store between two stages gets no transaction: readers of the history see one migration.
  private func historyRecord(now: Double) -> HistoryRecord? {
    guard let history = survey.history else { return nil }
    let author =
      "\(GodwitVersion.author): migration to model with digest "
      + "{ \(stage.destination.hashes.digest) }"
    let writesTransaction = !request.isIntermediate && !history.isEmpty
    return HistoryRecord(
      maxima: history.maxima,
      entry: writesTransaction ? .init(author: author, program: "godwit", time: now) : nil)
  }

  /// The tables of no model that are copied as they are.
  private var keptTables: [String] {
    request.extraTables == .keep ? survey.extras.filter(\.isCopied).map(\.name) : []
  }

  /// The derived attributes whose values were carried, and count rows that stayed behind.
  private func lateDerived(_ order: AssemblyOrder) throws -> [DerivedAttribute] {
    let program = order.plan.program
    guard !program.tables.isEmpty else { return [] }
    var written: [String: Int64] = [:]
    let tables = Dictionary(
      order.plan.workOrders.flatMap(\.pieces).map { ($0.number, $0.destinationTable) },
      uniquingKeysWith: { first, _ in first })
    for piece in order.manifests.flatMap(\.pieces) {
      if let table = tables[piece.piece] { written[table, default: 0] += piece.rowsWritten }
    }
    let staying = order.plan.stayingTables
    func isWhole(_ table: String) throws -> Bool {
      guard !staying.contains(table),
        let source = program.tables.first(where: { $0.destinationTable == table })
      else {
        return true
      }
      return try survey.reader.rowCount(of: source.sourceTable, by: .index) == written[table] ?? 0
    }
    let compiler = DerivedCompiler(source: survey.schema, destination: order.schema)
    let moved = try order.schema.keptTriggers.filter {
      try !compiler.tables(namedBy: $0).allSatisfy(isWhole)
    }
    guard moved.isEmpty else {
      throw MigrationError.impossible(store: request.store, order.schema.refusals(of: moved))
    }
    let lacking = try compiler.openDerivations { try !isWhole($0) }
    guard lacking.isEmpty else { throw MigrationError.impossible(store: request.store, lacking) }
    return try order.schema.derived.filter { attribute in
      guard !program.derived.contains(attribute) else { return false }
      return try !isWhole(attribute.table) || !isWhole(attribute.source.table)
    }
  }

  private func assemblyOrder(
    _ manifests: [ShardManifest], summary: ObjectSummary?, report: inout MigrationReport
  ) throws -> AssemblyOrder {
    var order = AssemblyOrder(
      stage: input, plan: saved.plan, manifests: manifests, frame: frame.store, paths: paths)
    if let summary { order.frame.maxima = assessment.maxima(summary: summary) }
    report.modelCacheLeftOut = frame.archived.leftOut
    report.modelCacheOmitted = frame.archived.omitted
    order.plan.program.derived += try lateDerived(order)
    order.history = historyRecord(now: saved.now)
    var extras = ExtraTables(of: survey.access.readable, names: keptTables)
    assessment.mirroring?.add(to: &extras)
    order.extras = extras
    order.usesWAL = request.resultUsesWAL(from: survey)
    // The result is synced once more when it has its attributes; what there is to write takes long
    // only where there is much, and belongs to this phase then.
    order.syncs = !survey.isQuicklyMigrated
    return order
  }
}

extension MigrationPlan {
  /// The plan with the rows that workers have written instead of those that were estimated.
  fileprivate func counted(by manifests: [ShardManifest]) -> MigrationPlan {
    let rows = Dictionary(
      manifests.flatMap(\.pieces).map { ($0.piece, $0.rowsWritten) },
      uniquingKeysWith: { first, _ in first })
    var plan = self
    for order in plan.workOrders.indices {
      for piece in plan.workOrders[order].pieces.indices {
        let number = plan.workOrders[order].pieces[piece].number
        if let found = rows[number] { plan.workOrders[order].pieces[piece].rows = found }
      }
    }
    return plan
  }
}

extension WorkError {
  fileprivate init(_ error: AssemblyError, in folder: FilePath) {
    switch error {
    case .manifestForeign(let path): self = .manifestForeign(folder.pushing(path))
    case .rowsDiffer(let table, let expected, let found):
      self = .verificationFailed(table: table, expectedRows: expected, rows: found)
    case .damaged(let answers): self = .resultDamaged(answers)
    }
  }
}
