import GRDB
package import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey

/// The bytes that the parts of a result take, estimated from its plan and from the source.
///
/// What SQLite's file format needs beside the values is counted, but for the room that pages leave
/// over; lengths of texts and blobs that come, go or are sorted are means of some rows.
package struct ResultSizes: Hashable, Sendable {
  /// The rows that workers make.
  package private(set) var rows: Int64 = 0
  /// The indexes that are made of sorted keys.
  package private(set) var builtIndexes: Int64 = 0
  /// The largest of them.
  package private(set) var largestIndex: Int64 = 0
  /// The indexes that go over as they are.
  package private(set) var movedIndexes: Int64 = 0
  /// Places of rows in relationships that had no order.
  package private(set) var places: Int64 = 0
  /// The schema, the metadata and the archive of the model.
  package private(set) var others: Int64

  /// All that the finished store takes.
  package var result: Int64 { rows + builtIndexes + movedIndexes + others }

  /// Estimates the sizes for a plan of a stage that goes by rows; tables that stay take nothing.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  package init(of plan: MigrationPlan, stage: StageInput) throws {
    let schema = stage.destination
    others = Int64(stage.survey.metadata.encoded.count) + 64 << 10
    var counts: [String: (rows: Int64, bytes: Int64)] = [:]
    var moved: Set<String> = []
    for piece in plan.workOrders.flatMap(\.pieces) {
      let count = counts[piece.destinationTable] ?? (0, 0)
      counts[piece.destinationTable] = (count.rows + piece.rows, count.bytes + piece.bytes)
      moved.formUnion(piece.movedIndexes)
    }
    let source = try SourceFile(stage.survey.access.readable)
    let indexes = Dictionary(grouping: schema.allIndexes, by: \.table)
    let roots = moved.isEmpty ? [:] : try stage.survey.reader.roots()
    for (table, count) in counts.sorted(by: { $0.key < $1.key }) {
      let change = try RowChange(of: table, program: plan.program, survey: stage.survey)
      rows += max(count.rows * 4, count.bytes + Int64(Double(count.rows) * change.growth))
      for index in indexes[table] ?? [] {
        let names = index.parts.map(\.column)
        let built = count.rows * change.entryBytes(of: names)
        guard moved.contains(index.name) else {
          builtIndexes += built
          largestIndex = max(largestIndex, built)
          continue
        }
        // Its pages are as full as they were; some samples may be of the fullest.
        let size = TreeSize(
          file: source, pageSize: stage.survey.header.pageSize, root: roots[index.name] ?? 0)
        movedIndexes += max(
          built, size.pages.map { $0 * Int64(stage.survey.header.pageSize) } ?? 0)
      }
    }
    for fill in plan.program.orderFills { places += 24 * (counts[fill.table]?.rows ?? 0) }
  }
}

/// How the rows of a table change in size, and how long its values are.
private struct RowChange {
  /// Bytes by which a row grows; shrinks, if negative.
  private(set) var growth = 0.0
  /// The mean length of values by destination column.
  private var lengths: [String: Double] = [:]

  init(of name: String, program: MigrationProgram, survey: StoreSurvey) throws {
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
      return column.type.hasAnyLength && (used[column.name] != nil || !mayCall)
        || used[column.name] == nil && !mayCall
    }
    let means = try Self.means(of: measured.map(\.name), in: table.sourceTable, survey: survey)
    for (column, mean) in zip(measured, means) {
      let length = column.type.hasAnyLength ? mean : min(mean, column.type.usualLength)
      for user in used[column.name] ?? [] { lengths[user] = length }
      if used[column.name] == nil { growth -= length + 1 }
    }
  }

  /// The bytes that an operation adds to a row of the source.
  private static func growth(by operation: ColumnOperation) -> Double {
    switch operation.undropped {
    case .constant(let value): 1 + value.length
    case .addExternalTag: 1
    case .lookUpNumber: 2
    case .ownerKey, .place: 5
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

  /// The mean length of the values of columns, taken from rows at four places of the table.
  private static func means(
    of columns: [String], in table: String, survey: StoreSurvey
  ) throws -> [Double] {
    if columns.isEmpty { return [] }
    let name = SQL.identifier(name: table)
    let names = columns.map { SQL.identifier(name: $0) }
    // SQLite tells the length of a blob without reading it, where it is asked for nothing else;
    // that of a text it tells in characters.
    let lengths = zip(names.indices, names).map { place, name in
      """
      ifnull(CASE typeof(\(name)) WHEN 'text' THEN length(CAST(\(name) AS BLOB))
      ELSE length(\(name)) END, 0) AS l\(place)
      """
    }.joined(separator: ", ")
    let mean = names.indices.map { "avg(l\($0))" }.joined(separator: ", ")
    let (first, last) = (
      try survey.reader.number(sql: "SELECT min(Z_PK) FROM \(name)"),
      try survey.reader.number(sql: "SELECT max(Z_PK) FROM \(name)")
    )
    let (width, overflow) = last.subtractingReportingOverflow(first)
    var sums = [Double](repeating: 0, count: columns.count)
    let places = overflow || width < 1_000 ? [first] : (0..<4).map { first + width / 4 * $0 }
    for place in places {
      let row = try survey.reader.connection.run { db in
        try Row.fetchOne(
          db,
          sql: """
            SELECT \(mean) FROM (SELECT \(lengths) FROM \(name) WHERE Z_PK >= ? LIMIT 100)
            """, arguments: [place])
      }
      for column in columns.indices {
        sums[column] += row.flatMap { Double.fromDatabaseValue($0[column]) } ?? 0
      }
    }
    return sums.map { $0 / Double(places.count) }
  }
}

extension DeclaredType {
  /// Whether its values are as long as they happen to be.
  fileprivate var hasAnyLength: Bool { self == .varchar || self == .blob }

  /// The bytes of a value, as far as the type tells them.
  fileprivate var usualLength: Double {
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
