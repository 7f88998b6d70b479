import GRDB
package import Planning
package import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Estimates how rows and bytes of the source are distributed over the keys of each destination
/// table.
package struct StatisticsReader {
  /// The contents of the store.
  package let survey: StoreSurvey
  /// Rows of each slice, which are then counted exactly; nil for estimates.
  package let sliceRows: Int64?
  /// How many rows mappings leave to others or behind, by the names of the sets of their keys.
  package let untaken: [String: Int64]

  /// Takes the survey, the requested number of rows per slice, and how many rows are in the sets of
  /// `UntakenRows`.
  package init(survey: StoreSurvey, sliceRows: Int64?, untaken: [String: Int64] = [:]) {
    self.survey = survey
    self.sliceRows = sliceRows
    self.untaken = untaken
  }

  /// The bytes of a pair: in the table, and in each of its two indexes.
  private static let joinBytes: Int64 = 75

  /// The statistics of every table that a program fills, by destination table; empty tables are
  /// left out.
  ///
  /// Rows are those that become rows of the table, so that two tables which share the rows of one
  /// count each of them once. Bytes are those that are read for them: each of the two reads all.
  package func statistics(program: MigrationProgram) throws -> [String: TableStatistics] {
    var result: [String: TableStatistics] = [:]
    let trees = sliceRows == nil ? try Trees(survey) : nil
    for table in program.tables {
      let rows = survey.estimatedRows(of: table)
      guard rows > 0 else { continue }
      let statistics =
        if let trees {
          try outlined(table.sourceTable, in: trees, rows: rows)
        } else {
          try counted(table.sourceTable, key: "Z_PK", bytesPerRow: 100)
        }
      let left = table.entities.compactMap { $0.others.flatMap { untaken[$0.name] } }
      result[table.destinationTable] = statistics.taking(rows - left.reduce(0, +))
    }
    for join in program.joins {
      let (table, key) = (join.sourceTable, join.rangeColumn)
      let statistics =
        if let trees, join.keepsRowNumbers {
          try outlined(
            table, in: trees, rows: survey.reader.estimatedRowCount(of: table), key: key)
        } else if trees != nil {
          try spread(table, key: key, bytesPerRow: Self.joinBytes)
        } else {
          try counted(table, key: key, bytesPerRow: Self.joinBytes)
        }
      guard statistics.rows > 0 else { continue }
      // Owners that are left have about as many pairs as others.
      let share = join.drops.reduce(1.0) { share, drop in
        let owners = Double(max(1, survey.estimatedRows(ofTable: drop.rows.table)))
        return share * (1 - min(1, Double(untaken[drop.rows.name] ?? 0) / owners))
      }
      let rows = Int64((Double(statistics.rows) * share).rounded())
      result[join.destinationTable] = statistics.taking(rows)
    }
    return result
  }

  /// The b-trees of the store, looked up once.
  private struct Trees {
    let file: SourceFile
    let entries: [String: StoreReader.TableEntry]

    init(_ survey: StoreSurvey) throws {
      file = try SourceFile(survey.access.readable)
      entries = try survey.reader.tableEntries()
    }
  }

  /// Slices from the upper pages of the table's b-tree, scaled to the counted rows.
  private func outlined(
    _ table: String, in trees: Trees, rows: Int64, key: String = "Z_PK"
  ) throws -> TableStatistics {
    if rows == 0 { return TableStatistics(slices: []) }
    let outline = survey.outline(
      root: UInt32(clamping: trees.entries[table]?.root ?? 0), of: trees.file)
    let estimated = outline.rows
    guard estimated > 0 else {
      return try counted(table, key: key, bytesPerRow: 100)
    }
    let scale = Double(rows) / Double(estimated)
    var left = rows
    return TableStatistics(
      slices: outline.runs.enumerated().map { index, run in
        let isLast = index == outline.runs.count - 1
        let share = Int64(Double(run.leaves * run.sampleRows) * scale)
        let rows = isLast ? left : min(left, share)
        left -= rows
        return .init(lastKey: run.lastKey, rows: rows, bytes: run.leaves * run.sampleBytes)
      })
  }

  /// Slices as if rows were distributed evenly between the smallest and the largest key.
  private func spread(
    _ table: String, key: String, bytesPerRow: Int64
  ) throws -> TableStatistics {
    let name = SQL.identifier(name: table)
    let column = SQL.identifier(name: key)
    let reader = survey.reader
    let rows = try reader.estimatedRowCount(of: table)
    let first = try reader.number(sql: "SELECT min(\(column)) FROM \(name)")
    let last = try reader.number(sql: "SELECT max(\(column)) FROM \(name)")
    guard rows > 0 else { return TableStatistics(slices: []) }
    let (width, overflow) = last.subtractingReportingOverflow(first)
    let count = overflow ? 1 : max(1, min(10_000, rows / 50_000, width))
    return TableStatistics(
      slices: (1...count).map { part in
        .init(
          lastKey: part == count ? last : first + width / count * part,
          rows: rows * part / count - rows * (part - 1) / count,
          bytes: (rows * part / count - rows * (part - 1) / count) * bytesPerRow)
      })
  }

  /// Slices from a pass over the keys, in an index if there is one.
  private func counted(
    _ table: String, key: String, bytesPerRow: Int64
  ) throws -> TableStatistics {
    let size = sliceRows ?? 20_000
    return try survey.reader.connection.run { db in
      let column = SQL.identifier(name: key)
      let groups = try Row.fetchCursor(
        db,
        sql: """
          SELECT \(column), count(*) FROM \(SQL.identifier(name: table)) NOT INDEXED
          WHERE \(column) IS NOT NULL GROUP BY 1 ORDER BY 1
          """)
      var slices: [TableStatistics.Slice] = []
      var rows: Int64 = 0
      var last = Int64.min
      func close() {
        if rows > 0 { slices.append(.init(lastKey: last, rows: rows, bytes: rows * bytesPerRow)) }
        rows = 0
      }
      while let group = try groups.next() {
        rows += Int64.fromDatabaseValue(group[1]) ?? 0
        // Keys that are no integers lie in the range of those before them; behind the highest one
        // begins none.
        guard case .int64(let key) = (group[0] as DatabaseValue).storage else { continue }
        last = key
        if rows >= size, key < .max { close() }
      }
      close()
      return TableStatistics(slices: slices)
    }
  }
}
