import MigrationEngine
import Planning
import RowPrograms
import Schema
import StoreNames
import Survey
import SystemPackage

extension WorkOrderDocument {
  init(
    order: WorkOrder, saved: SavedPlan, input: StageInput, assessment: StageAssessment,
    paths: MigrationPaths, request: MigrationRequest
  ) {
    let wanted = Set(order.pieces.map(\.destinationTable))
    let program = saved.plan.program
    var statements: [String: String] = [:]
    if case .rows = input.work {
      for table in input.schema.keyedTables where wanted.contains(table.name) {
        statements[table.name] = table.createStatement
      }
      for table in input.schema.joinTables where wanted.contains(table.name) {
        statements[table.name] = table.createStatement
      }
    }
    self.init(
      order: order, attempt: 1, engine: saved.engineName, planID: saved.id,
      source: input.survey.access.readable.string,
      support: SupportFolder.path(of: request.store).string,
      shard: paths.shard(order: order.number, attempt: 1).string,
      manifest: paths.manifest(order.number).string,
      tables: program.tables.filter { wanted.contains($0.destinationTable) },
      joins: program.joins.filter { wanted.contains($0.destinationTable) },
      createStatements: statements,
      memory: WaitingOrders.share(of: request.memory, among: request.workersWithRoom),
      logsSQL: request.logsSQL)
    store = input.survey.store.string
    sourceIdentity = input.survey.access.identity
    digestsRows = request.verifiesFully
    untakenKeys = input.untakenKeys == nil ? nil : paths.untakenRows.string
    if let step = assessment.rows?.steps.first(where: \.isComputed) {
      calls = RowWork(
        source: step.source.model, destination: step.destination.model, mapping: step.mapping,
        now: saved.now)
    }
  }
}

extension MigrationReport.Order {
  init(result: WorkerPool.Result, plan: MigrationPlan) {
    let order = plan.workOrders.first { $0.number == result.manifest.order }
    self.init(
      number: result.manifest.order, partition: order?.partition ?? 0, attempts: result.attempts,
      rows: result.manifest.pieces.reduce(0) { $0 + $1.rowsWritten },
      bytes: result.manifest.bytes, peakMemory: result.manifest.peakMemory,
      seconds: result.manifest.seconds, wasResumed: result.wasResumed)
  }
}
