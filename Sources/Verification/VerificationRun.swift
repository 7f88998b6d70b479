import Mapping
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// The state of one verification.
final class VerificationRun {
  let order: VerificationOrder
  let old: RawStore
  let new: RawStore
  let affinity: Affinity
  /// The order of rows in both stores.
  let sorting: RawOrder
  /// The entries of the old store.
  let before: RawCatalog
  /// The entries of the new store.
  let catalog: RawCatalog
  /// The schema of the old store under the names that it has there; nil where copies are compared.
  let source: StoreSchema?
  /// Tables that neither model knows of, and that the new store has just as the old one.
  let keptTables: Set<String>
  var report: VerificationReport
  private let progress: (VerificationProgress) -> Void
  /// The check of the new store's pages, which runs in parallel to the comparison.
  var pages: IntegrityCheck?
  /// Whether long values are left out of rows, and compared in parts.
  let leavesLong: Bool
  private var rowsExpected: Int64 = 0
  private var reported = 0.0

  init(
    order: VerificationOrder, progress: @escaping (VerificationProgress) -> Void
  ) throws {
    self.order = order
    self.progress = progress
    let sizes = try [order.old.path, order.new.path].map {
      try Files.fileStatusIfPresent($0)?.size ?? 0
    }
    leavesLong = sizes.contains { $0 >= LongValues.leastStoreBytes }
    old = try RawStore(reading: order.old.readable)
    new = try RawStore(reading: order.new.readable)
    affinity = try Affinity()
    sorting = try RawOrder(of: new)
    report = VerificationReport(limit: order.limit)
    before = try RawCatalog(old)
    catalog = try RawCatalog(new)
    guard let first = order.steps.first, let last = order.steps.last else {
      (source, keptTables) = (nil, [])
      return
    }
    let (source, differences) = try StoreSchema(first.source).resolved(in: before.names)
    let extra = try StoreSchema(last.destination).resolved(in: catalog.names).1
    self.source = source
    try NumberColumns(of: source).read(in: old, catalog: before)
    // A table of a removed entity is none of them: the old store's model knows it.
    keptTables = Set(differences.unmodelledTables).intersection(extra.unmodelledTables).filter {
      [before, catalog] in
      before.statement(ofTable: $0) == catalog.statement(ofTable: $0)
    }
  }

  deinit { pages?.stop() }

  /// Runs a part that reads the new store; a failure to read it is a difference.
  func judge(_ table: String?, body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as StoreError
      where error.store == new.path && !error.disposition.contains(.workReusable)
    {
      note(
        Difference(
          .page, table: table, actual: error.cause.map { "\($0)" } ?? "it cannot be read"))
    }
  }

  func note(_ difference: Difference) { report.note(difference) }

  // MARK: Progress

  func expect(rows: Int64) { rowsExpected = max(1, rows) }

  func count(table: String) {
    report.rows += 1
    if report.rows & 1023 == 0 {
      publish(
        "comparing \(table)", fraction: 0.9 * min(1, Double(report.rows) / Double(rowsExpected)))
    }
  }

  func publish(_ what: String, fraction: Double) {
    reported = max(reported, fraction)
    progress(VerificationProgress(what: what, fraction: reported))
  }

  // MARK: A migrated store

  func compareMigrated() throws {
    guard let last = order.steps.last, let source else { return }
    beginPages()
    for feature in order.unsupported { report.cannotJudge(feature) }
    publish("reading the schema", fraction: 0)
    var schema = try StoreSchema(last.destination)
    schema.history = source.history?.grown(for: last.destination)
    let found = schema.found(in: catalog)
    let expected = try ExpectedSteps(order: order, old: old, schema: source, affinity: affinity)
    var single: ShownRows?
    if order.steps.count == 1, order.steps[0].mappings.isEmpty {
      single = try show(
        found, reading: try expected.reading(order.steps[0]), in: old, isCopy: false)
    }
    try noteLostRows(source, sound: single?.sound ?? [])
    try judge("sqlite_schema") { try compareSchema(found, from: source) }
    let maxima = try compareObjects(found, expected: expected, single: single)
    try compareDerived(schema, from: source)
    try compareTrees(schema)
    if let tables = schema.history {
      try judge(HistoryTables.changes) {
        try compareHistory(tables, from: source, to: schema)
      }
    }
    try judge(MirroringTables.records) { try compareMirroring(from: source, to: schema) }
    try compareKeptTables()
    publish("comparing metadata", fraction: 0.9)
    try judge("Z_PRIMARYKEY") { try comparePrimaryKeys(schema, maxima: maxima) }
    try judge("Z_METADATA") { try compareMetadata() }
    try judge("Z_MODELCACHE") { try compareModelCache(last.destination) }
    try compareFiles(found)
    publish("checking pages and indexes", fraction: 0.95)
    try checkPages()
    for omission in schema.omissions {
      report.remark(
        "index \(omission.index) of \(omission.entity) is left out: \(omission.reason)")
    }
  }

  /// Compares all rows, and returns the highest primary keys that the new store should record.
  private func compareObjects(
    _ found: FoundSchema, expected: ExpectedSteps, single: ShownRows?
  ) throws -> [String: Int64] {
    expect(rows: rowCount(found: found))
    if let single {
      try compareRows(found, shown: single, in: old, isCopy: false, tolerance: nil)
      try noteRemovals(single.reading, in: old)
      return expected.maxima(after: single.reading)
    }
    for (number, step) in order.steps.enumerated() {
      publish("carrying step \(number + 1) of \(order.steps.count) out", fraction: 0)
      try expected.carryOut(step) { try noteRemovals($0, in: expected.store) }
    }
    for what in expected.notJudged { report.cannotJudge(what) }
    let reading = StepReading(
      source: expected.schema, destination: expected.schema,
      match: StepMatch(identityOf: expected.schema.model))
    let shown = try show(found, reading: reading, in: expected.store, isCopy: true)
    try compareRows(
      found, shown: shown, in: expected.store, isCopy: true, tolerance: Tolerance(expected.history))
    return expected.maxima
  }

  private func compareRows(
    _ found: FoundSchema, shown: ShownRows, in source: RawStore, isCopy: Bool, tolerance: Tolerance?
  ) throws {
    let reading = shown.reading
    let files = ExternalFolders(order.oldFolders)
    let evaluator = CellEvaluator(source: source, affinity: affinity, files: files)
    for table in found.tables {
      try judge(table.name) {
        try compareTable(
          table, reading: reading, source: source, evaluator: evaluator, isCopy: isCopy,
          tolerance: tolerance, derived: found.derivedColumns(of: table),
          shown: shown.results[table.name] ?? .none)
      }
    }
    for (canonical, join) in found.joins {
      try judge(join.name) {
        try compareJoin(
          canonical, join: join, reading: reading, source: source, evaluator: evaluator,
          isCopy: isCopy, tolerance: tolerance, shown: shown.results[join.name] ?? .none)
      }
    }
    if evaluator.missingFiles > 0 {
      report.cannotJudge(
        "\(evaluator.missingFiles) values whose external file is missing in the old store")
    }
  }

  /// The rows of all tables that can be counted; other tables are differences already.
  private func rowCount(found: FoundSchema) -> Int64 {
    (found.tables.map(\.name) + found.joins.map(\.found.name)).reduce(0) { sum, name in
      sum + ((try? new.number(sql: "SELECT count(*) FROM \(SQL.identifier(name: name))")) ?? 0)
    }
  }
}
