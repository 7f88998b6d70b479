import GRDB
import RowPrograms
import Schema
import StoreFormat
import SystemPackage

/// A table of the source whose pages may be read without SQLite.
///
/// Whatever is not as Core Data makes it is left to SQLite: a default, a generated column, a table
/// without row numbers.
struct SourceTable {
  private let description: Description
  private let pageSize: Int
  private let pageCount: UInt32
  /// Whether some of its texts are compared in another way than by their bytes.
  var hasCollations: Bool { description.hasCollations }

  /// The table as the schema describes it.
  private struct Description: Sendable {
    var columns: [(name: String, isReal: Bool)]
    var root: UInt32
    var hasCollations: Bool
  }

  /// Looks a table up in the source, which is attached under a name; nil where it is not of the
  /// usual form.
  ///
  /// - Parameter facts: of the attached schema, where they are known.
  init?(
    name: String, file: SourceFile, schema: String = "src", facts: SchemaFacts? = nil, db: Database
  ) throws {
    var header = [UInt8](repeating: 0, count: 100)
    let count = try header.withUnsafeMutableBytes {
      try file.read($0, at: 0)
    }
    func number(offset: Int, bytes: Int) -> UInt32 {
      header[offset..<offset + bytes].reduce(0) { $0 << 8 | UInt32($1) }
    }
    let size = number(offset: 16, bytes: 2) == 1 ? 65_536 : Int(number(offset: 16, bytes: 2))
    guard count == 100, size >= 512, size & (size - 1) == 0, header[20] == 0,
      number(offset: 44, bytes: 4) == 4
    else { return nil }
    let pages = file.byteCount / Int64(size)
    guard pages > 0, let pageCount = UInt32(exactly: pages) else { return nil }
    pageSize = size
    self.pageCount = pageCount
    func describe() throws -> Description? {
      try Self.description(of: name, schema: schema, db: db)
    }
    let found =
      if let facts { try facts.answer("cells of \(name)", find: describe) } else { try describe() }
    guard let found else { return nil }
    description = found
  }

  private static func description(
    of name: String, schema: String, db: Database
  ) throws -> Description? {
    let row = try Row.fetchOne(
      db,
      sql: "SELECT rootpage, sql FROM \(schema).sqlite_schema WHERE type = 'table' AND name = ?",
      arguments: [name])
    guard let row, let root = Int64.fromDatabaseValue(row[0]), let found = UInt32(exactly: root),
      let statement = String.fromDatabaseValue(row[1]).map({ TableStatement($0) }),
      !statement.isWithoutRowNumbers,
      let columns = try columns(of: name, schema: schema, db: db)
    else { return nil }
    return Description(
      columns: columns, root: found, hasCollations: statement.hasCollations)
  }

  /// The columns in the order of the records; nil where one of them is unusual.
  private static func columns(
    of name: String, schema: String, db: Database
  ) throws -> [(name: String, isReal: Bool)]? {
    let rows = try Row.fetchAll(
      db, sql: "SELECT name, type, dflt_value, pk, hidden FROM pragma_table_xinfo(?, ?)",
      arguments: [name, schema])
    var result: [(name: String, isReal: Bool)] = []
    for row in rows {
      guard let name = String.fromDatabaseValue(row[0]),
        let type = String.fromDatabaseValue(row[1])?.uppercased(),
        (row[2] as DatabaseValue).isNull, Int64.fromDatabaseValue(row[4]) == 0
      else { return nil }
      let isKey = Int64.fromDatabaseValue(row[3]) == 1
      guard isKey == (name == "Z_PK"), !isKey || type == "INTEGER" else { return nil }
      result.append((name, isReal(type)))
    }
    return result.contains { $0.name == "Z_PK" } ? result : nil
  }

  /// Whether SQLite gives whole numbers of such a column as reals.
  private static func isReal(_ type: String) -> Bool {
    if let usual = DeclaredType(rawValue: type) { return usual == .float }
    for other in ["INT", "CHAR", "CLOB", "TEXT", "BLOB"] where type.contains(other) {
      return false
    }
    return ["REAL", "FLOA", "DOUB"].contains { type.contains($0) }
  }

  /// A cursor that gives these columns, at its first row in a range; nil where one is unknown.
  ///
  /// Of columns in `asKept`, whole reals come as the integers that records keep for them.
  func cursor(
    _ wanted: [String], asKept: [Bool], file: SourceFile, from first: Int64,
    scratch folder: FilePath
  ) throws -> TableCursor? {
    guard
      let cursor = try cursor(wanted, asKept: asKept, readsHeads: false, file: file, folder: folder)
    else { return nil }
    try cursor.seek(first)
    return cursor
  }

  /// A cursor that gives these columns as far as leaves have them.
  func heads(_ wanted: [String], file: SourceFile) throws -> TableCursor? {
    try cursor(
      wanted, asKept: wanted.map { _ in false }, readsHeads: true, file: file, folder: nil)
  }

  private func cursor(
    _ wanted: [String], asKept: [Bool], readsHeads: Bool, file: SourceFile, folder: FilePath?
  ) throws -> TableCursor? {
    let columns = description.columns
    var isReal = columns.map(\.isReal)
    var places = Array(repeating: -1, count: columns.count)
    var keyPlace = -1
    for (place, name) in wanted.enumerated() {
      guard let column = columns.firstIndex(where: { $0.name == name }) else { return nil }
      if name == "Z_PK" {
        guard keyPlace < 0 else { return nil }
        keyPlace = place
      } else {
        guard places[column] < 0 else { return nil }
        places[column] = place
        if asKept[place] { isReal[column] = false }
      }
    }
    var form = TableForm(
      pageSize: pageSize, pageCount: pageCount, root: description.root, places: places,
      isReal: isReal, keyPlace: keyPlace)
    form.readsHeads = readsHeads
    return TableCursor(file: PageFile(file), form: form, width: wanted.count, scratch: folder)
  }
}
