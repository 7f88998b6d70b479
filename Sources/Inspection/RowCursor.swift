import Digests
import GRDB
import ObjectMigration
import Schema

/// The rows of a table in the order of their keys.
///
/// Of a row with a long text or blob the other columns are read. SQLite stops at such a row without
/// reading the value, and the query begins again behind it.
final class RowCursor {
  /// The column of the entity number in `row`.
  static let entityColumn = 1
  /// The column of `row` with which those of the table begin.
  static let firstColumn = 2
  /// Texts and blobs of more bytes are compared in parts.
  private static let longBytes = 1 << 18

  /// The statement, at the present row; of a row with a long value, NULL in all columns that may
  /// have one.
  private(set) var row: PreparedStatement
  /// Whether some value of the row has to be compared in parts.
  private(set) var hasLong = false
  let cells: CellReader
  let reader: ObjectReader
  private let table: EntityTable
  private let rows: PreparedStatement
  private let shortRow: PreparedStatement
  private let leavesLong: Bool
  /// The key from which on rows are read next; nil after the last.
  private var start: Int64? = .min

  /// Takes the rows of a table.
  ///
  /// - Parameter leavesLong: whether long values are left to `cells`.
  init(_ table: EntityTable, reader: ObjectReader, leavesLong: Bool) throws {
    self.table = table
    self.reader = reader
    cells = CellReader(
      table: table.name, columns: table.columns.map(\.name), statements: reader.statements,
      isUTF16: reader.isUTF16)
    let columns = table.columns.map { (name: SQL.identifier(name: $0.name), $0.mayBeLong) }
    func sql(_ values: [String]) -> String {
      "SELECT \((["Z_PK", "Z_ENT"] + values).joined(separator: ", ")) "
        + "FROM main.\(SQL.identifier(name: table.name)) NOT INDEXED WHERE Z_PK >= ?1 ORDER BY Z_PK"
    }
    rows = try reader.statements.statement(sql: sql(columns.map(\.name)))
    shortRow = try reader.statements.statement(
      sql: sql(columns.map { $1 ? "NULL" : $0 }) + " LIMIT 1")
    row = rows
    // Rows that are sorted by another key than SQLite's are read in any order.
    self.leavesLong = try leavesLong && !reader.sorts(sql(["NULL"]))
    rows.bind(.min, at: 1)
  }

  /// The key of the next row; nil after the last.
  func next() throws -> Int64? {
    guard let start else { return nil }
    if hasLong {
      rows.bind(start, at: 1)
      (row, hasLong) = (rows, false)
    }
    let step = leavesLong ? try rows.step(longest: Self.longBytes) : try rows.step() ? .row : .end
    switch step {
    case .row: break
    case .end:
      self.start = nil
      return nil
    case .tooLong:
      shortRow.reset()
      shortRow.bind(start, at: 1)
      guard try shortRow.step() else { return nil }
      (row, hasLong) = (shortRow, true)
    }
    let key = row.integer(column: 0)
    self.start = key < .max ? key + 1 : nil
    return key
  }

  /// The entity of the row; the table with the number where the model has none.
  var entity: String {
    let number = row.key(column: Self.entityColumn)
    if let number, let name = reader.schema.numbers[EntityNumber(rawValue: number)] { return name }
    return "\(table.name) (Z_ENT \(number.map { "\($0)" } ?? "no number"))"
  }

  /// A value of the row as people read it.
  func words(of property: TableMerge.Property, key: Int64) throws -> String {
    if let found = try reader.property(named: property.name, of: entity, key: key) {
      return found.words
    }
    // The keys of owners, and what is in columns of other entities.
    return switch try cells.cell(column: property.columns[0], key: key, head: 64) {
    case nil, .null?: "nil"
    case .integer(let number)?: "\(number)"
    case .real(let number)?: "\(number)"
    case .text(let head, let bytes)?:
      "\"\(TextHead(head, isUTF16: reader.isUTF16, isWhole: Int64(head.count) == bytes).text)\""
    case .blob(let head, let bytes)?:
      "\(head.prefix(ValueExtent.beginning.bytes).hexadecimal) (\(bytes) \(bytes == 1 ? "byte" : "bytes"))"
    }
  }
}

extension Schema.Column {
  /// Whether its texts and blobs are compared in parts where they are long: those of numbers are
  /// not meant to be there.
  var mayBeLong: Bool { type == .blob || type == .varchar }
}

extension ObjectReader {
  /// How texts of the store are encoded.
  var encoding: String? { try? String.fetchOne(statements.db, sql: "PRAGMA encoding") }

  /// Whether SQLite sorts the rows of a query.
  fileprivate func sorts(_ query: String) throws -> Bool {
    try Row.fetchAll(statements.db, sql: "EXPLAIN QUERY PLAN \(query)", arguments: [0])
      .contains { "\($0)".contains("TEMP B-TREE") }
  }
}
