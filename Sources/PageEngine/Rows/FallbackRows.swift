import GRDB
import MigrationEngine
import Planning
import RowPrograms
import Schema

/// Has SQLite make what no fast path covers, in a table of the destination's own form.
final class FallbackRows {
  private let db: Database
  private let columns: [(name: String, affinity: Affinity)]
  private let scratch: UnsafeMutableRawPointer
  private let fields: UnsafeMutablePointer<Field>
  private var reader: RowReader?
  private var insert: RowReader?

  /// Takes the statement that makes the destination table, from its first bracket on.
  init(definition: Substring, columns: [(name: String, affinity: Affinity)], db: Database)
    throws
  {
    self.db = db
    self.columns = columns
    scratch = .allocate(byteCount: max(1, columns.count) * 8, alignment: 8)
    fields = .allocate(capacity: max(1, columns.count))
    fields.initialize(repeating: .null, count: max(1, columns.count))
    try db.execute(sql: "DROP TABLE IF EXISTS temp.fallback")
    try db.execute(sql: "CREATE TEMP TABLE fallback \(definition)")
  }

  deinit {
    scratch.deallocate()
    fields.deallocate()
  }

  /// The form in which a column keeps a value.
  func stored(_ column: String, value: StoredValue) throws -> RowReader {
    let name = SQL.identifier(name: column)
    try db.execute(sql: "DELETE FROM temp.fallback")
    try db.execute(sql: "INSERT INTO temp.fallback (\(name)) VALUES (\(value.sql))")
    let reader = try RowReader(sql: "SELECT \(name) FROM temp.fallback", in: db)
    guard try reader.next() else { throw ShardError(.orderIncomplete) }
    return reader
  }

  /// The row that a query makes, if it makes one; valid until the next one.
  func row(of query: String) throws -> UnsafePointer<Field>? {
    reader?.reset()
    try db.execute(sql: "DELETE FROM temp.fallback")
    try db.execute(sql: "INSERT INTO temp.fallback \(query)")
    return try read()
  }

  /// The row that the values of another row make, from one of its columns on.
  func row(of values: RowReader, from first: Int = 0) throws -> UnsafePointer<Field>? {
    reader?.reset()
    try db.execute(sql: "DELETE FROM temp.fallback")
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
    if reader == nil { reader = try RowReader(sql: "SELECT * FROM temp.fallback", in: db) }
    guard let reader, try reader.next() else { return nil }
    for (index, column) in columns.enumerated() {
      let field = reader.fields[index]
      // Text that its column's affinity left alone is no number.
      fields[index] = column.affinity.applied(to: field, scratch: scratch + index * 8) ?? field
    }
    return UnsafePointer(fields)
  }
}
