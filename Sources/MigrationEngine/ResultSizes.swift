import GRDB
package import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey
import Synchronization
import SystemCalls

/// The bytes that the parts of a result take, estimated from its plan and from the source.
///
/// What SQLite's file format needs in addition to the values is counted, except the unused room of
/// pages; lengths of texts and blobs that go or are sorted are means of some rows, on the safe
/// side. Values that come out of files of their own all count, to the byte.
package struct ResultSizes: Hashable, Sendable {
  /// The rows that workers make.
  package private(set) var rows: Int64 = 0
  /// The indexes that are made of sorted keys.
  package private(set) var builtIndexes: Int64 = 0
  /// The largest of them.
  package private(set) var largestIndex: Int64 = 0
  /// The keys of the built indexes as workers sort them.
  package private(set) var sortedKeys: Int64 = 0
  /// The indexes that go over as they are.
  package private(set) var movedIndexes: Int64 = 0
  /// The tables whose rows change in place, with their final size.
  package private(set) var updatedTables: Int64 = 0
  /// Places of rows in relationships that had no order.
  package private(set) var places: Int64 = 0
  /// The schema, the metadata, the archive of the model and the root page of each b-tree.
  package private(set) var others: Int64
  /// The work orders.
  package private(set) var orders: Int64

  /// All that the finished store takes.
  package var result: Int64 { rows + updatedTables + builtIndexes + movedIndexes + others }

  /// Estimates the sizes for a plan of a stage that goes by rows; of tables that stay only what
  /// changes of them takes room.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  package init(of plan: MigrationPlan, stage: StageInput) throws {
    let schema = stage.schema
    others = Self.others(in: schema, of: stage.survey)
    orders = Int64(plan.workOrders.count)
    var counts: [String: (rows: Int64, bytes: Int64)] = [:]
    var moved: Set<String> = []
    for piece in plan.workOrders.flatMap(\.pieces) {
      let count = counts[piece.destinationTable] ?? (0, 0)
      counts[piece.destinationTable] = (count.rows + piece.rows, count.bytes + piece.bytes)
      moved.formUnion(piece.movedIndexes)
    }
    let source = try SourceFile(stage.survey.access.readable)
    let indexes = Dictionary(grouping: schema.allIndexes, by: \.table)
    let roots = try stage.survey.reader.roots()
    let indexBytes = try Self.indexBytes(roots, survey: stage.survey, file: source)
    for (table, count) in counts.sorted(by: { $0.key < $1.key }) {
      let change = try RowChange(
        of: table, program: plan.program, survey: stage.survey,
        indexed: Set((indexes[table] ?? []).flatMap { $0.parts.map(\.column) }))
      rows += max(count.rows * 4, count.bytes + Int64(Double(count.rows) * change.growth))
      for index in indexes[table] ?? [] {
        let names = index.parts.map(\.column)
        let built = count.rows * change.entryBytes(of: names)
        guard moved.contains(index.name) else {
          builtIndexes += built
          largestIndex = max(largestIndex, built)
          sortedKeys += count.rows * change.keyBytes(of: names)
          continue
        }
        // Its pages are as full as they were; some samples may be of the fullest.
        movedIndexes += max(built, indexBytes[index.name] ?? 0)
      }
    }
    for table in plan.staying where !(table.madeIndexes + table.updatedColumns).isEmpty {
      let made = (indexes[table.table] ?? []).filter { table.madeIndexes.contains($0.name) }
      let change = try RowChange(
        of: table.table, program: plan.program, survey: stage.survey,
        indexed: Set(made.flatMap { $0.parts.map(\.column) }))
      for index in made {
        let built = table.rows * change.entryBytes(of: index.parts.map(\.column))
        builtIndexes += built
        largestIndex = max(largestIndex, built)
      }
      if table.updatedColumns.isEmpty { continue }
      // Of a page that a row grows out of, SQLite makes two.
      let growth = Int64(Double(table.rows) * change.growth)
      updatedTables += table.bytes + (growth > 0 ? table.bytes / 2 + growth : 0)
    }
    rows += try Self.unsampled(
      of: plan, roots: roots, indexes: indexBytes, survey: stage.survey, file: source)
    rows += stage.bytesFromFiles
    for fill in plan.program.orderFills { places += 24 * (counts[fill.table]?.rows ?? 0) }
  }
}

extension ResultSizes {
  /// What a store has besides rows and entries of indexes.
  static func others(in schema: StoreSchema, of survey: StoreSurvey) -> Int64 {
    let trees =
      schema.keyedTables.count + 2 * schema.joinTables.count + schema.allIndexes.count
    return Int64(survey.metadata.encoded.count) + 64 << 10 + Int64(trees) << 12
  }

  /// The bytes of every b-tree that is none of a table, by its name.
  ///
  /// Pages of several tables are requested from the disk at once.
  private static func indexBytes(
    _ roots: [String: UInt32], survey: StoreSurvey, file: SourceFile
  ) throws -> [String: Int64] {
    let tables = try survey.reader.tableEntries()
    let trees = roots.filter { tables[$0.key] == nil }.map { $0 }
    let found = Mutex<[String: Int64]>([:])
    let pageSize = survey.header.pageSize
    ThreadPool.share(trees.count, threads: file.byteCount < 128 << 20 ? 1 : 8) { number in
      let size = TreeSize(file: file, pageSize: pageSize, root: trees[number].value)
      found.withLock { $0[trees[number].key] = (size.pages ?? 0) * Int64(pageSize) }
    }
    return found.withLock { $0 }
  }

  /// The bytes of the source that samples of its trees missed, such as the overflow pages of a few
  /// long rows, as far as they may be of rows that the plan makes.
  private static func unsampled(
    of plan: MigrationPlan, roots: [String: UInt32], indexes: [String: Int64],
    survey: StoreSurvey, file: SourceFile
  ) throws -> Int64 {
    let pageSize = survey.header.pageSize
    let sources = Set(
      plan.program.tables.map(\.sourceTable) + plan.program.joins.map(\.sourceTable)
    ).subtracting(plan.staying.map(\.source))
    var (made, others) = (Int64(0), indexes.values.reduce(0, +))
    for (name, root) in roots where indexes[name] == nil {
      let bytes = survey.outline(root: root, of: file).runs
        .reduce(0) { $0 + $1.leaves * $1.sampleBytes }
      if sources.contains(name) { made += bytes } else { others += bytes }
    }
    // A damaged header may state any number of free pages, even one below 0.
    let stated = try survey.reader.number(sql: "PRAGMA freelist_count") * Int64(pageSize)
    let free = min(max(0, stated), file.byteCount)
    let missed = Double(max(0, file.byteCount - free - made - others))
    return Int64(missed * Double(made) / Double(max(1, made + others)))
  }
}

/// How the rows of a table change in size, and how long its values are.
private struct RowChange {
  /// Bytes by which a row grows; shrinks, if negative.
  private(set) var growth = 0.0
  /// The mean length of values by destination column.
  private var lengths: [String: Double] = [:]

  /// Samples values of dropped columns, and of columns in indexes of the result.
  init(
    of name: String, program: MigrationProgram, survey: StoreSurvey, indexed: Set<String>
  ) throws {
    guard let table = program.tables.first(where: { $0.destinationTable == name }) else { return }
    let columns = survey.schema.keyedTable(named: table.sourceTable)?.columns ?? []
    var used: [String: [String]] = [:]
    for column in table.columns {
      let sources = Set(column.operations.compactMap { $0.undropped.attributeColumn })
      for source in sources { used[source, default: []].append(column.name) }
      lengths[column.name] = column.type.usualLength
      growth += column.operations.map { Self.growth(by: $0) }.max() ?? 0
    }
    let mayCall = table.hasCalls
    let measured = columns.filter { column in
      guard case .attribute = column.role else { return false }
      guard let users = used[column.name] else { return !mayCall }
      return column.type.hasAnyLength && users.contains { indexed.contains($0) }
    }
    let means = try Self.means(of: measured.map(\.name), in: table.sourceTable, survey: survey)
    for (column, mean) in zip(measured, means) {
      let usual = column.type.hasAnyLength ? .infinity : column.type.usualLength
      for user in used[column.name] ?? [] { lengths[user] = min(mean.most, usual) }
      if used[column.name] == nil { growth -= min(mean.least, usual) + 1 }
    }
  }

  /// The bytes that an operation adds to a row of the source.
  private static func growth(by operation: ColumnOperation) -> Double {
    switch operation.undropped {
    case .constant(let value): 1 + value.length
    case .addExternalTag: 1
    case .lookUpNumber: 2
    case .ownerKey, .paired, .place: 5
    case .call: 9
    default: 0
    }
  }

  /// Bytes of an index entry of these columns: its cell and pointer, the header of its record and
  /// its key of the row.
  func entryBytes(of columns: [String]) -> Int64 {
    // What pages have for themselves and leave over was measured with indexes of texts.
    Int64((columns.reduce(0) { $0 + 1 + (lengths[$1] ?? 4) } + 9) * 1.2)
  }

  /// Bytes of a key of these columns in a sorted run: its length, and behind each tag and value,
  /// numbers at their longest, the key of the row and the types.
  func keyBytes(of columns: [String]) -> Int64 {
    Int64(columns.reduce(0) { $0 + max(11, 3 + (lengths[$1] ?? 4)) } + 4 + 8 + 1)
  }

  /// The most places of a table from which rows are taken, and the rows at each.
  private static let (mostPlaces, rowsAtPlace): (Int64, Int64) = (32, 100)

  /// The mean length of the values of columns, taken from rows all over the table: between which
  /// lengths it lies, two standard errors away from that of these rows.
  private static func means(
    of columns: [String], in table: String, survey: StoreSurvey
  ) throws -> [(least: Double, most: Double)] {
    if columns.isEmpty { return [] }
    let name = SQL.identifier(name: table)
    let names = columns.map { SQL.identifier(name: $0) }
    // SQLite returns the length of a blob without reading it if nothing else is requested; that of
    // a text is in characters.
    let lengths = zip(names.indices, names).map { place, name in
      """
      ifnull(CASE typeof(\(name)) WHEN 'text' THEN length(CAST(\(name) AS BLOB))
      ELSE length(\(name)) END, 0.0) AS l\(place)
      """
    }.joined(separator: ", ")
    let sums = names.indices.map { "total(l\($0)), total(1.0 * l\($0) * l\($0))" }
      .joined(separator: ", ")
    let (first, last) = (
      try survey.reader.number(sql: "SELECT min(Z_PK) FROM \(name)"),
      try survey.reader.number(sql: "SELECT max(Z_PK) FROM \(name)")
    )
    let (width, overflow) = last.subtractingReportingOverflow(first)
    let places = overflow ? 1 : max(1, min(mostPlaces, width / (4 * rowsAtPlace)))
    var found = [Double](repeating: 0, count: 2 * columns.count + 1)
    try survey.reader.connection.run { db in
      let statement = try db.makeStatement(
        sql: """
          SELECT \(sums), count(*) FROM
          (SELECT \(lengths) FROM \(name) WHERE Z_PK >= ? LIMIT \(rowsAtPlace))
          """)
      for place in 0..<places {
        let key = first + (overflow ? 0 : width / places * place)
        let row = try Row.fetchOne(statement, arguments: [key])
        for column in found.indices {
          found[column] += row.flatMap { Double.fromDatabaseValue($0[column]) } ?? 0
        }
      }
    }
    let rows = max(1, found[found.count - 1])
    return columns.indices.map { column in
      let mean = found[2 * column] / rows
      let variance = max(0, found[2 * column + 1] / rows - mean * mean)
      let doubt = 2 * (variance / rows).squareRoot()
      return (max(0, mean - doubt), mean + doubt)
    }
  }
}

extension DeclaredType {
  /// Whether its values are as long as they happen to be.
  fileprivate var hasAnyLength: Bool { self == .varchar || self == .blob }

  /// The bytes of a value, as far as the type determines them.
  var usualLength: Double {
    switch self {
    case .integer: 4
    case .float, .timestamp, .decimal: 8
    case .varchar, .blob: 16
    }
  }
}

extension StoredValue {
  /// The bytes that a record has of it besides its type.
  fileprivate var length: Double {
    switch self {
    case .null, .integer(0), .integer(1): 0
    case .integer(let value): abs(Double(value)) < 32768 ? 2 : 6
    case .real: 8
    case .text(let text): Double(text.utf8.count)
    case .rawText(let bytes, _), .blob(let bytes): Double(bytes.count)
    }
  }
}
