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
    /// The columns in which no two rows agree, of each such rule of the table itself.
    let unique: [[String]]
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
      hasRowNumbers: Int64.fromDatabaseValue(kinds[0][1]) == 0,
      unique: try unique(of: name).filter { $0.allSatisfy(columns.contains) })
  }

  private func unique(of table: String) throws -> [[String]] {
    try String.fetchAll(
      db, sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\"", arguments: [table]
    ).map { index in
      try Row.fetchAll(db, sql: "SELECT name FROM pragma_index_info(?)", arguments: [index])
        .map { String.fromDatabaseValue($0[0]) ?? "" }
    }
  }

  /// Begins with the rows of a table.
  func begin(_ table: Table) throws {
    self.table = table
    statements = [:]
    try db.execute(sql: "DROP TABLE IF EXISTS temp.taken")
    if !keepsRows { try db.execute(sql: "CREATE TEMP TABLE taken (key INTEGER PRIMARY KEY)") }
    try db.execute(sql: "DROP TABLE IF EXISTS temp.unsure")
    try db.execute(sql: "CREATE TEMP TABLE unsure (key INTEGER PRIMARY KEY, displaced)")
  }

  /// The query of the keys that were taken of the table.
  var keysTaken: String {
    guard keepsRows, let table, let rowName = table.rowName else {
      return keepsRows ? "SELECT NULL WHERE 0" : "SELECT key FROM temp.taken"
    }
    return "SELECT \(rowName) FROM main.\(SQL.quoted(name: table.name))"
  }

  /// Inserts a row; nil where a rule of the table forbids it, else the keys of those that it
  /// displaces.
  ///
  /// Of two rows that may not both be there, one of a sound page stays and one of a damaged page
  /// goes; of others the first stays.
  func insert(key: Int64, values: [SalvagedValue], isSound: Bool) throws -> [Int64]? {
    guard let table else { return nil }
    let mayConflict = keepsRows && !table.unique.isEmpty && table.rowName != nil
    var displaced: [Int64] = []
    if try !insert(key: key, values: values, into: table) {
      guard mayConflict, isSound, let unsure = try displaceable(by: values, in: table) else {
        return nil
      }
      try displace(keys: unsure, of: table)
      displaced = unsure
      guard try insert(key: key, values: values, into: table) else {
        throw DatabaseError(
          resultCode: .SQLITE_CONSTRAINT, message: "a row of \(table.name) does not fit")
      }
    }
    if mayConflict, !isSound {
      try db.execute(sql: "INSERT INTO temp.unsure VALUES (?, 0)", arguments: [key])
    }
    return displaced
  }

  private func insert(
    key: Int64, values: [SalvagedValue], into table: Table
  ) throws -> Bool {
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

  // MARK: Contradictions

  /// The keys of the rows that keep one from being inserted, all of damaged pages; nil where others
  /// do, or something else does.
  private func displaceable(by values: [SalvagedValue], in table: Table) throws -> [Int64]? {
    let code = ResultCode(rawValue: sqlite3_extended_errcode(db.sqliteConnection))
    guard [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY].contains(code) else {
      return nil
    }
    var found: Set<Int64> = []
    for columns in table.unique {
      if let key = try key(of: values, in: columns, of: table) { found.insert(key) }
    }
    let areUnsure = try found.allSatisfy { key in
      try Bool.fetchOne(db, sql: "SELECT 1 FROM temp.unsure WHERE key = ?", arguments: [key])
        ?? false
    }
    return found.isEmpty || !areUnsure ? nil : found.sorted()
  }

  /// The key of the row that has the same values in some columns.
  private func key(
    of values: [SalvagedValue], in columns: [String], of table: Table
  ) throws -> Int64? {
    let wanted = columns.map { "\(SQL.quoted(name: $0)) = ?" }.joined(separator: " AND ")
    let statement = try db.cachedStatement(
      sql: "SELECT \(table.rowName ?? "rowid") FROM main.\(SQL.quoted(name: table.name)) "
        + "WHERE \(wanted)")
    let handle = statement.sqliteStatement
    sqlite3_reset(handle)
    defer { sqlite3_reset(handle) }
    for (place, column) in zip(Int32(1)..., columns) {
      // A record may end before the last columns.
      let index = table.columns.firstIndex(of: column) ?? values.count
      bind(value: index < values.count ? values[index] : .null, to: handle, at: place)
    }
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return sqlite3_column_int64(handle, 0) }
    if code == SQLITE_DONE { return nil }
    throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
  }

  private func displace(keys: [Int64], of table: Table) throws {
    for key in keys {
      try db.execute(
        sql: "DELETE FROM main.\(SQL.quoted(name: table.name)) "
          + "WHERE \(table.rowName ?? "rowid") = ?", arguments: [key])
      try db.execute(
        sql: "UPDATE temp.unsure SET displaced = 1 WHERE key = ?", arguments: [key])
    }
  }

  /// Adds the keys of rows that were displaced to a table.
  func addDisplaced(to name: String) throws {
    try db.execute(
      sql: "INSERT OR IGNORE INTO \(name) SELECT key FROM temp.unsure WHERE displaced")
  }

  // MARK: Statements

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
    let copied = RawStatement.copiesBytes
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
