import GRDB
import MigrationEngine
import Planning
import RowPrograms
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// Makes what rows look up, before they are made.
///
/// What it does not cover (values that are no numbers, keys that lie far apart) SQLite does: it
/// makes a table of places, and looks rows up one by one.
struct LookUpMaker {
  private let stage: StageInput
  private let plan: MigrationPlan
  private let paths: MigrationPaths
  private let source: SourceFile
  private let encoding: TextEncoding

  init(
    _ stage: StageInput, plan: MigrationPlan, encoding: TextEncoding, in paths: MigrationPaths
  ) throws {
    self.stage = stage
    self.encoding = encoding
    self.plan = plan
    self.paths = paths
    source = try SourceFile(stage.survey.access.readable)
  }

  /// The memory of all buffers of one list: no worker runs yet.
  private var bytes: Int { Int(max(1 << 20, min(32 << 20, stage.memory / 8))) }

  /// Makes the files; those of an earlier run are made again, except SQLite's.
  func make() throws -> LookUpLists {
    var lists = LookUpLists()
    let program = plan.program
    let wanted = LookUpDemand(program, survey: stage.survey)
    guard !program.orderFills.isEmpty || !wanted.isEmpty else { return lists }
    let file = try Files.open(
      paths.lookUps, mode: .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
    try file.closeAfter {
      let list = RunFile(file)
      try withSource(cacheBytes: 2 << 20) { db in
        let reading = SourceRows(
          file: source, db: db, untaken: stage.untakenKeys.map { RowKeyReader($0) },
          encoding: encoding, support: SupportFolder.path(of: stage.store),
          folder: paths.work)
        for (table, numbers) in wanted.entities {
          lists.entities[table] = try reading.entities(
            of: table, numbers: numbers, rows: stage.survey.rows(ofTable: table), in: file, list)
        }
        for operation in wanted.owners {
          guard let runs = try owners(operation, reading: reading, into: list) else { continue }
          lists.owners.append(.init(operation: operation, runs: runs))
        }
        for (number, fill) in program.orderFills.enumerated() {
          lists.places[MigrationProgram.attachedPlaces(number)] = try places(
            fill, reading: reading, into: list)
        }
      }
    }
    let left = program.orderFills.indices.filter {
      lists.places[MigrationProgram.attachedPlaces($0)] == nil
    }
    lists.hasTables = !left.isEmpty
    try makeTables(left)
    return lists
  }

  private func withSource<Result>(
    cacheBytes: Int64, at path: FilePath = ":memory:", body: (Database) throws -> Result
  ) throws -> Result {
    let connection = try StoreConnection.scratch(
      path, cacheBytes: cacheBytes, textEncoding: encoding.rawValue)
    let result = try connection.perform { db in
      if let untaken = stage.untakenKeys { RowKeyReader(untaken).install(in: db) }
      try db.execute(
        sql: "ATTACH ? AS src",
        arguments: [StoreConnection.uri(reading: stage.survey.access.readable)])
      return try body(db)
    }
    try connection.close()
    return result
  }

  /// Runs a body with an empty file that has no name.
  private func withScratch<Result>(
    _ body: (FileDescriptor) throws -> Result
  ) throws -> Result {
    let path = WorkFile.unfinished(paths.lookUps)
    let file = try Files.open(
      path, mode: .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
    return try file.closeAfter {
      try Files.remove(path)
      return try body(file)
    }
  }

  // MARK: Places

  /// Where the places of a fill come from; nil where SQLite has to make a table of them.
  private func places(
    _ fill: OrderFill, reading: SourceRows, into list: RunFile
  ) throws -> LookUpLists.Places? {
    if let table = plan.program.owners(fill: fill) {
      return try withScratch { file -> LookUpLists.Places? in
        let numbering = OwnerNumbering(scratch: file, list: list, bytes: bytes)
        guard try reading.forEachOwner(table, of: fill, body: numbering.add) else { return nil }
        return .byKey(try numbering.finish(first: OrderFill.first, step: OrderFill.step))
      }
    }
    guard let join = plan.program.pairs(fill: fill), !join.keepsRowNumbers,
      let owner = join.columns.prefix(2).firstIndex(of: fill.ownerColumn),
      join.columns.prefix(2).firstIndex(of: fill.keyColumn) == 1 - owner
    else { return nil }
    if owner == 0 { return .inOrder }
    return try withScratch { file -> LookUpLists.Places? in
      let numbering = OwnerNumbering(scratch: file, list: list, bytes: bytes)
      var before: [Int: Int64] = [:]
      var number: Int64 = 0
      let pieces = plan.workOrders.flatMap(\.pieces).filter { $0.destinationTable == fill.table }
      for piece in pieces.sorted(by: { $0.keys.first < $1.keys.first }) {
        before[piece.number] = number
        let isWhole = try reading.forEachPair(join, in: piece.keys) { owner in
          try numbering.add(owner: owner, key: number)
          number += 1
        }
        guard isWhole else { return nil }
      }
      return .byNumber(
        try numbering.finish(first: OrderFill.first, step: OrderFill.step), before: before)
    }
  }

  /// The keys of the rows that lead to others; nil where SQLite has to look them up.
  private func owners(
    _ operation: ColumnOperation, reading: SourceRows, into list: RunFile
  ) throws -> [Section]? {
    let sorter = IntegerSorter(
      file: list, capacity: IntegerSorter.capacity(bytes), scratch: SortScratch())
    let isWhole = try reading.forEachReference(operation) { owner, key in
      try sorter.add(
        IntegerEntry(high: IntegerEntry.ordered(owner), low: IntegerEntry.ordered(key)))
    }
    try sorter.flush()
    return isWhole ? sorter.runs : nil
  }

  /// Has SQLite make the tables of what is left, unless an earlier run has.
  private func makeTables(_ fills: [Int]) throws {
    guard !fills.isEmpty, try Files.fileStatusIfPresent(paths.places) == nil else { return }
    let unfinished = WorkFile.unfinished(paths.places)
    try Files.remove(unfinished)
    try withSource(cacheBytes: stage.memory / 4, at: unfinished) { db in
      for fill in fills {
        for statement in plan.program.numbering(fill, schema: "src") {
          try db.execute(sql: statement)
        }
      }
    }
    try Files.syncFile(unfinished)
    try Files.renameNoReplace(unfinished, to: paths.places)
  }
}

/// What the programs of a plan look up often enough that reading whole tables for it is less work.
private struct LookUpDemand {
  /// The entity numbers that count, by the table of the source.
  private(set) var entities: [(table: String, numbers: [Int64])] = []
  /// The operations that need rows that lead to others.
  private(set) var owners: [ColumnOperation] = []

  var isEmpty: Bool { entities.isEmpty && owners.isEmpty }

  /// Rows of a table that are read in the time in which SQLite looks one of them up.
  private static let rowsForOne: Int64 = 16

  init(_ program: MigrationProgram, survey: StoreSurvey) {
    var numbers: [String: Set<Int64>] = [:]
    var rows: [String: Int64] = [:]
    var askers: [(operation: ColumnOperation, table: String, rows: Int64)] = []
    for table in program.tables {
      let own = survey.rows(of: table)
      for operation in Set(table.columns.flatMap(\.operations).flatMap(\.choices)) {
        switch operation {
        case .lookUpNumber(_, let target, let map):
          numbers[target, default: []].formUnion(map.map(\.source))
          rows[target, default: 0] += own
        case .reference(_, let filter?):
          guard let target = filter.table else { continue }
          numbers[target, default: []].formUnion(filter.kept)
          rows[target, default: 0] += own
        case .ownerKey(let target, _, _, _): askers.append((operation, target, own))
        default: continue
        }
      }
    }
    func isWorth(_ table: String, _ asking: Int64) -> Bool {
      survey.rows(ofTable: table) / Self.rowsForOne <= asking
    }
    for (table, own) in numbers.sorted(by: { $0.key < $1.key })
    where own.count <= EntityMap.mostEntities && isWorth(table, rows[table] ?? 0) {
      entities.append((table, own.sorted()))
    }
    for asker in askers where isWorth(asker.table, asker.rows) && !owners.contains(asker.operation)
    {
      owners.append(asker.operation)
    }
  }
}
