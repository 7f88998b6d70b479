import GRDB
import MigrationEngine
import Planning
import RowPrograms
import Schema
import Synchronization

/// Has SQLite make what no fast path covers, in a table of the destination's own form.
final class FallbackRows {
  private let db: Database
  private let columns: [(name: String, affinity: Affinity)]
  private let encoding: TextEncoding
  private let scratch: UnsafeMutableRawPointer
  private let fields: UnsafeMutablePointer<Field>
  /// The columns and constraints of the destination table, as its statement has them.
  private let definition: Substring
  /// The table, which is made when it is first needed; few rows ever need it.
  private var table: (clear: RowReader, reader: RowReader)?
  /// Inserts a row of given values; the row that the program makes of a key.
  private var insert: RowReader?
  private var make: RowReader?
  /// Finds the entity of a change whose mask names more properties than are known, by its key.
  private var wideMask: RowReader?
  private let program: TableProgram?

  /// Uses the statement that creates the destination table, from its first bracket on, and the
  /// program whose rows are requested by key.
  init(
    definition: Substring, columns: [(name: String, affinity: Affinity)],
    program: TableProgram? = nil, encoding: TextEncoding, db: Database
  ) {
    (self.db, self.definition) = (db, definition)
    self.program = program
    self.columns = columns
    self.encoding = encoding
    scratch = .allocate(byteCount: max(1, columns.count) * 8, alignment: 8)
    fields = .allocate(capacity: max(1, columns.count))
    fields.initialize(repeating: .null, count: max(1, columns.count))
  }

  deinit {
    scratch.deallocate()
    fields.deallocate()
  }

  private func made() throws -> (clear: RowReader, reader: RowReader) {
    if let table { return table }
    try db.execute(sql: "DROP TABLE IF EXISTS temp.fallback")
    try db.execute(sql: "CREATE TEMP TABLE fallback \(definition)")
    let made = (
      clear: try RowReader(sql: "DELETE FROM temp.fallback", in: db),
      reader: try RowReader(sql: "SELECT * FROM temp.fallback", in: db)
    )
    table = made
    return made
  }

  /// The form in which a column keeps a value, the same in all tables of one definition.
  func stored(_ column: String, value: StoredValue) throws -> KeptValue {
    let sql = value.sql
    // Bytes, since strings are equal that have other ones.
    var key = [UInt8(truncatingIfNeeded: encoding.rawValue)]
    for part in [definition, column[...], sql[...]] {
      key += part.utf8
      key.append(0)
    }
    if let known = KeptValue.known.withLock({ $0[key] }) { return known }
    let found = try find(column, sql: sql)
    if found.isShort {
      KeptValue.known.withLock { known in
        if known.count >= KeptValue.capacity { known = [:] }
        known[key] = found
      }
    }
    return found
  }

  private func find(_ column: String, sql: String) throws -> KeptValue {
    let name = SQL.identifier(name: column)
    _ = try made()
    try db.execute(sql: "DELETE FROM temp.fallback")
    try db.execute(sql: "INSERT INTO temp.fallback (\(name)) VALUES (\(sql))")
    let reader = try RowReader(sql: "SELECT \(name) FROM temp.fallback", in: db)
    guard try reader.next() else { throw ShardError(.orderIncomplete) }
    return KeptValue(reader.fields[0])
  }

  /// The row that the program makes of a source row, if it makes one; valid until the next one.
  func row(key: Int64) throws -> UnsafePointer<Field>? {
    try empty()
    let make = try make ?? prepared()
    make.bind(key, parameter: 1)
    _ = try make.next()
    make.reset()
    return try read()
  }

  private func prepared() throws -> RowReader {
    guard let program else { throw ShardError(.orderIncomplete) }
    let made = try RowReader(
      sql: "INSERT INTO temp.fallback \(program.queryByKey(schema: "src"))", in: db)
    make = made
    wideMask = try program.wideMaskCountByKey(schema: "src").map {
      try RowReader(sql: $0, in: db)
    }
    return made
  }

  private func empty() throws {
    let table = try made()
    table.reader.reset()
    _ = try table.clear.next()
    table.clear.reset()
  }

  /// Whether the source row that was made last is a change whose mask names more properties than
  /// are known.
  func hasWideMask(key: Int64) throws -> Bool {
    guard let wideMask else { return false }
    wideMask.bind(key, parameter: 1)
    defer { wideMask.reset() }
    return try wideMask.next()
  }

  /// The row that the values of another row make, from one of its columns on.
  func row(of values: RowReader, from first: Int = 0) throws -> UnsafePointer<Field>? {
    try empty()
    if insert == nil {
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      insert = try RowReader(sql: "INSERT INTO temp.fallback VALUES (\(marks))", in: db)
    }
    insert?.bind(row: values, from: Int32(first))
    _ = try insert?.next()
    insert?.reset()
    return try read()
  }

  private func read() throws -> UnsafePointer<Field>? {
    let reader = try made().reader
    guard try reader.next() else { return nil }
    for (index, column) in columns.enumerated() {
      let field = reader.fields[index]
      // Text that its column's affinity left alone is no number.
      fields[index] =
        column.affinity.applied(to: field, scratch: scratch + index * 8, encoding: encoding)
        ?? field
    }
    return UnsafePointer(fields)
  }
}

/// A value in the form in which a column keeps it.
struct KeptValue: Sendable {
  private let type: UInt64
  private let bytes: [UInt8]

  /// Values that were found, by all that decides on them.
  fileprivate static let known = Mutex<[[UInt8]: KeptValue]>([:])
  /// The values that are kept for other tables of the same definition.
  fileprivate static let capacity = 512

  /// Copies a field.
  init(_ field: Field) {
    type = field.type
    let count = field.body == nil ? 0 : field.size
    bytes = Array(UnsafeRawBufferPointer(start: field.body, count: count))
  }

  /// Whether the value is worth its memory.
  fileprivate var isShort: Bool { bytes.count <= 4096 }

  /// Calls `body` with the value as a field, which is valid meanwhile.
  func withField<Result>(_ body: (Field) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { buffer in
      try body(Field(type: type, body: bytes.isEmpty ? nil : buffer.baseAddress))
    }
  }
}
