import GRDB
import MigrationEngine
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Reads the tables of the source for what other rows will look up.
struct SourceRows {
  let file: SourceFile
  let db: Database
  let untaken: RowKeyReader?
  let encoding: TextEncoding
  /// The folder of the source with values in files of their own.
  let support: FilePath
  /// The folder for what does not fit in memory.
  let folder: FilePath

  // MARK: Owners

  /// Gives the owner and the key of each row that a numbering counts, in the order of the keys;
  /// false where an owner is no integer.
  func forEachOwner(
    _ table: TableProgram, of fill: OrderFill, body: (_ owner: Int64, _ key: Int64) throws -> Void
  ) throws -> Bool {
    let names = ["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name)
    guard let owner = names.firstIndex(of: fill.ownerColumn), owner > 2 else { return false }
    let list = names.dropFirst().map { ", \(SQL.identifier(name: $0)) INTEGER" }.joined()
    let fallback = FallbackRows(
      definition: "(Z_PK INTEGER PRIMARY KEY\(list))"[...],
      columns: [("Z_PK", .integer), ("Z_ENT", .integer), ("Z_OPT", .integer)]
        + table.columns.map { ($0.name, $0.type.affinity) }, program: table, encoding: encoding,
      db: db)
    let compiled = try CompiledProgram(
      program: table, untaken: untaken, encoding: encoding, support: support,
      stored: fallback.stored)
    let rows = compiled.rows
    func add(_ row: UnsafePointer<Field>, key: Int64) throws -> Bool {
      let field = row[owner]
      if field.isInteger { try body(field.integer, key) }
      return field.isInteger || field.isNull
    }
    let columns = compiled.columns.compactMap(\.self)
    let cursor =
      columns.count < compiled.columns.count
      ? nil
      : try SourceTable(name: table.sourceTable, file: file, db: db)?.cursor(
        columns, asKept: compiled.onlyReal, file: file, from: .min, scratch: folder)
    let reader =
      cursor == nil
      ? try RowReader(
        sql: table.query(of: compiled.expressions, in: .all, schema: "src"), in: db) : nil
    guard let fields = cursor?.fields ?? reader?.fields else { return false }
    while try cursor?.next() ?? reader?.next() ?? false {
      let key = fields[0].integer
      switch rows.make(fields) {
      case .made: guard try add(rows.output, key: key) else { return false }
      case .leftBehind: continue
      case .unknown:
        guard let row = try fallback.row(key: key) else { continue }
        guard try add(row, key: key) else { return false }
      }
    }
    return true
  }

  /// Gives the second key of each pair, in the order of the pairs; false where one is no integer.
  func forEachPair(
    _ join: JoinProgram, in range: KeyRange, body: (Int64) throws -> Void
  ) throws -> Bool {
    let reader = try RowReader(sql: join.query(in: range, schema: "src"), in: db)
    while try reader.next() {
      guard reader.fields[1].isInteger else { return false }
      try body(reader.fields[1].integer)
    }
    return true
  }

  /// Gives the key of each row that leads to another, and before it the key of that; false where
  /// one is no integer, or the table is not of the usual form.
  func forEachReference(
    _ operation: ColumnOperation, body: (_ to: Int64, _ key: Int64) throws -> Void
  ) throws -> Bool {
    guard case .ownerKey(let table, let column, let entities, let others) = operation,
      let cursor = try SourceTable(name: table, file: file, db: db)?.cursor(
        ["Z_PK", "Z_ENT", column], asKept: [false, false, false], file: file, from: .min,
        scratch: folder)
    else { return false }
    let tables = others.flatMap { rows in untaken?.table(rows.name) }
    while try cursor.next() {
      let (number, value) = (cursor.fields[1], cursor.fields[2])
      if value.isNull || number.isNull { continue }
      guard number.isInteger, value.isInteger else { return false }
      guard entities.contains(number.integer) else { continue }
      if others != nil {
        guard let isUntaken = tables?.contains(cursor.key) else { return false }
        if isUntaken { continue }
      }
      try body(value.integer, cursor.key)
    }
    return true
  }

  // MARK: Entities

  /// The keys of one thread.
  private static let keysOfThread: Int64 = 1 << 20

  /// A map of the entities of a table's rows; nil where its keys lie far apart, or it is not of the
  /// usual form.
  func entities(
    of name: String, numbers: [Int64], rows: Int64, in descriptor: FileDescriptor,
    _ list: RunFile
  ) throws -> EntityMap? {
    let ends = try Row.fetchOne(
      db,
      sql: """
        SELECT (SELECT min(Z_PK) FROM src.\(SQL.identifier(name: name))), \
        (SELECT max(Z_PK) FROM src.\(SQL.identifier(name: name)))
        """)
    guard let table = try SourceTable(name: name, file: file, db: db),
      let first = Int64.fromDatabaseValue(ends?[0] ?? .null),
      let last = Int64.fromDatabaseValue(ends?[1] ?? .null), last >= first
    else { return nil }
    let (distance, overflow) = last.subtractingReportingOverflow(first)
    guard !overflow, distance < max(1 << 20, 16 * max(0, min(rows, 1 << 40))) else { return nil }
    let map = EntityMap(first: first, section: try list.reserve(distance + 1), numbers: numbers)
    let parts = Int64(ThreadPool.most(of: Int(distance / Self.keysOfThread) + 1))
    let size = distance / parts + 1
    let (file, folder) = (file, folder)
    try ThreadPool.perform(Int(parts)) { part in
      let begin = first + Int64(part) * size
      let end = part == Int(parts) - 1 ? last : begin + size - 1
      guard
        let cursor = try table.cursor(
          ["Z_PK", "Z_ENT"], asKept: [false, false], file: file, from: begin, scratch: folder)
      else { throw PageError(.endOfFile) }
      try map.write(cursor, to: end, in: descriptor)
    }
    return map
  }
}
