import GRDB
import GRDBSQLite
import Schema
import SystemPackage

/// The database that rows of a damaged store go to; or one with the tables alone, to find out what
/// would be taken.
final class SalvageTarget {
  /// A table of the database, as its CREATE statement makes it.
  struct Table {
    let name: String
    /// The columns that a record holds, in their order; nil for those that are not inserted.
    let columns: [String?]
    /// A name of the row number that no column has; nil where all are taken.
    let rowName: String?
    /// Whether rows have a number.
    let hasRowNumbers: Bool
  }

  let db: Database
  private let keepsRows: Bool
  private let textEncoding: UInt32
  private var statements: [Int: Statement] = [:]
  private var table: Table?

  init(_ db: Database, keepsRows: Bool, textEncoding: UInt32) {
    (self.db, self.keepsRows, self.textEncoding) = (db, keepsRows, textEncoding)
  }

  /// What a table is like; nil where there is none of the name.
  func layout(of name: String) throws -> Table? {
    let kinds = try Row.fetchAll(
      db, sql: "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND name = ?",
      arguments: [name])
    guard kinds.count == 1, String.fromDatabaseValue(kinds[0][0]) == "table" else { return nil }
    let hasOwnIndex =
      try Bool.fetchOne(
        db, sql: "SELECT count(*) > 0 FROM pragma_index_list(?) WHERE origin = 'pk'",
        arguments: [name]) ?? false
    let infos = try Row.fetchAll(
      db, sql: "SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", arguments: [name])
    var columns: [String?] = []
    var all: Set<String> = []
    for info in infos {
      let column = String.fromDatabaseValue(info[0]) ?? ""
      let type = String.fromDatabaseValue(info[1]) ?? ""
      let hidden = Int64.fromDatabaseValue(info[3]) ?? 0
      all.insert(column.uppercased())
      // What is computed when it is read is in no record.
      if hidden == 2 { continue }
      let isRowNumber =
        Int64.fromDatabaseValue(info[2]) == 1 && type.uppercased() == "INTEGER" && !hasOwnIndex
      columns.append(hidden == 0 && !isRowNumber ? column : nil)
    }
    return Table(
      name: name, columns: columns,
      rowName: ["rowid", "_rowid_", "oid"].first { !all.contains($0.uppercased()) },
      hasRowNumbers: Int64.fromDatabaseValue(kinds[0][1]) == 0)
  }

  /// Begins with the rows of a table.
  func begin(_ table: Table) throws {
    self.table = table
    statements = [:]
    try db.execute(sql: "DROP TABLE IF EXISTS temp.taken")
    if !keepsRows { try db.execute(sql: "CREATE TEMP TABLE taken (key INTEGER PRIMARY KEY)") }
  }

  /// The query of the keys that were taken of the table.
  var keysTaken: String {
    guard keepsRows, let table, let rowName = table.rowName else {
      return keepsRows ? "SELECT NULL WHERE 0" : "SELECT key FROM temp.taken"
    }
    return "SELECT \(rowName) FROM main.\(SQL.quoted(name: table.name))"
  }

  /// Inserts a row; false where a rule of the table forbids it.
  func insert(key: Int64, values: [SalvagedValue]) throws -> Bool {
    guard let table else { return false }
    let statement = try statement(for: table, columns: keepsRows ? values.count : 0)
    let handle = statement.sqliteStatement
    sqlite3_reset(handle)
    var place: Int32 = 1
    if table.rowName != nil || !keepsRows {
      sqlite3_bind_int64(handle, place, key)
      place += 1
    }
    if keepsRows {
      for (value, column) in zip(values, table.columns) where column != nil {
        bind(value: value, to: handle, at: place)
        place += 1
      }
    }
    let code = sqlite3_step(handle)
    sqlite3_reset(handle)
    if code == SQLITE_DONE { return true }
    if code & 0xff == SQLITE_CONSTRAINT || code == SQLITE_TOOBIG { return false }
    throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
  }

  private func statement(for table: Table, columns: Int) throws -> Statement {
    if let found = statements[columns] { return found }
    var names = keepsRows ? table.columns.prefix(columns).compactMap { $0.map(SQL.quoted) } : []
    if !keepsRows { names = ["key"] } else if let name = table.rowName { names.insert(name, at: 0) }
    let target = keepsRows ? "main.\(SQL.quoted(name: table.name))" : "temp.taken"
    let marks = names.map { _ in "?" }.joined(separator: ", ")
    let sql =
      names.isEmpty
      ? "INSERT INTO \(target) DEFAULT VALUES"
      : "INSERT INTO \(target) (\(names.joined(separator: ", "))) VALUES (\(marks))"
    let statement = try db.makeStatement(sql: sql)
    statements[columns] = statement
    return statement
  }

  private func bind(value: SalvagedValue, to statement: OpaquePointer, at place: Int32) {
    // SQLite makes a copy of its own.
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: sqlite3_bind_null(statement, place)
    case .integer(let value): sqlite3_bind_int64(statement, place, value)
    case .real(let value): sqlite3_bind_double(statement, place, value)
    case .blob(let bytes):
      if bytes.isEmpty {
        sqlite3_bind_zeroblob(statement, place, 0)
      } else {
        _ = bytes.withUnsafeBytes {
          sqlite3_bind_blob64(statement, place, $0.baseAddress, UInt64($0.count), copied)
        }
      }
    case .text(let bytes):
      let encoding = [SQLITE_UTF8, SQLITE_UTF16LE, SQLITE_UTF16BE][Int(textEncoding) - 1]
      // An empty text has an address as well, or it would be NULL.
      _ = (bytes + [0, 0]).withUnsafeBytes {
        sqlite3_bind_text64(
          statement, place, $0.bindMemory(to: CChar.self).baseAddress, UInt64(bytes.count), copied,
          UInt8(encoding))
      }
    }
  }
}
