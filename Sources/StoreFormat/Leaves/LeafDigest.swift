package import GRDB
import Schema
import SystemCalls
package import SystemPackage

/// Digests the rows of a table as `RowDigest` does, by a reading of the b-tree instead of a query.
package struct LeafDigest: Sendable {
  private let file: SourceFile
  private let sizes: PageSizes
  private let form: CheckedTable

  /// Reads a table of an unchanging file; nil if only SQLite can read its rows.
  ///
  /// - Throws: `DatabaseError` or `SystemCallError`, if schema or file cannot be read.
  package init?(_ table: String, of path: FilePath, in db: Database) throws {
    let root = try Int64.fetchOne(
      db, sql: "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = ?",
      arguments: [table])
    let file = try SourceFile(path)
    guard let root, let page = UInt32(exactly: root), page > 0,
      let form = try CheckedTable(table, root: page, db: db), let sizes = try PageSizes(of: file)
    else { return nil }
    (self.file, self.sizes, self.form) = (file, sizes, form)
  }

  /// The digest of the rows between two row numbers; nil where something is not as it is in a sound
  /// table, or longer than is put together.
  package func digest(from first: Int64, to last: Int64) -> RowDigest? {
    try? digest(TableLeaves(file, sizes: sizes), from: first, to: last)
  }

  private func digest(
    _ leaves: TableLeaves, from first: Int64, to last: Int64
  ) throws(UnsoundPage) -> RowDigest {
    var digest = RowDigest()
    let fields = RecordFields(columns: form.columns.count)
    // Objects of the form would be counted for each value.
    let columns = form.columns.count
    let reals = form.columns.map(\.isReal)
    let rowNumber = form.rowNumber ?? -1
    try leaves.open(root: form.root, from: first, to: last)
    while true {
      let rows = try leaves.next()
      if rows == 0 { return digest }
      for row in 0..<rows {
        let record = if let there = leaves.records[row] { there } else { try leaves.record(row) }
        let total = leaves.totals[row]
        let count = fields.read(record, held: total, total: total)
        guard count >= 0, count <= columns else { throw UnsoundPage() }
        var hash = RowDigest.firstHash
        for place in 0..<columns {
          let value: UInt64
          if place == rowNumber {
            value = RowDigest.integer(value: leaves.keys[row])
          } else if place < count {
            value = Self.value(
              fields.types[place], at: record + Int(fields.places[place]), isReal: reals[place])
          } else {
            value = RowDigest.null
          }
          RowDigest.mix(&hash, value: value)
        }
        digest.add(hash: hash)
      }
    }
  }

  @inline(__always)
  private static func value(_ type: UInt32, at start: UnsafeRawPointer, isReal: Bool) -> UInt64 {
    if RecordFields.isInteger(type) {
      let number = RecordFields.number(type: type, at: start)
      // A whole number hashes the same where it is exact.
      return isReal && number.magnitude > 1 << 53
        ? RowDigest.real(number: Double(number)) : RowDigest.integer(value: number)
    }
    if type == 0 { return RowDigest.null }
    if type == RecordFields.real {
      let bits = UInt64(bitPattern: RecordFields.number(type: type, at: start))
      let number = Double(bitPattern: bits)
      return number.isNaN ? RowDigest.null : RowDigest.real(number: number)
    }
    let size = Int32(RecordFields.size(type: type))
    if type & 1 == 1 { return RowDigest.text(start: start, count: size) }
    return RowDigest.blob(start: size > 0 ? start : nil, count: size)
  }
}

extension RowDigest {
  /// The fewest row numbers that are worth a reading of the b-tree.
  private static let fewestNumbers: Int64 = 4000

  /// Digests a table of the connection that is completely written to the file.
  ///
  /// Several threads each read some leaves of a large one.
  ///
  /// - Throws: `DatabaseError`, or `SystemCallError` where the file cannot be opened.
  package init(
    ofTable table: String, of path: FilePath, in db: Database,
    threads: Int = ThreadPool.mostThreads
  ) throws {
    let name = SQL.identifier(name: table)
    let ends = try Row.fetchOne(
      db, sql: "SELECT (SELECT min(rowid) FROM main.\(name)), (SELECT max(rowid) FROM main.\(name))"
    )
    if let first = ends.flatMap({ Int64.fromDatabaseValue($0[0]) }),
      let last = ends.flatMap({ Int64.fromDatabaseValue($0[1]) }),
      Double(last) - Double(first) >= Double(Self.fewestNumbers),
      let digest = try LeafDigest(table, of: path, in: db)?.digest(readers: threads)
    {
      self = digest
    } else {
      try self.init(of: "SELECT * FROM main.\(name)", in: db)
    }
  }
}

extension LeafDigest {
  /// The digest of all rows, by so many threads.
  fileprivate func digest(readers: Int) -> RowDigest? {
    let pages = file.byteCount / Int64(sizes.page)
    let outline = TableOutline(
      file: file, pageSize: sizes.page, root: form.root,
      leavesOfRun: max(64, pages / Int64(4 * readers)))
    let scan = SharedScan(outline.runs, readers: readers)
    var sum = RowDigest()
    do {
      try scan.read(with: Array(repeating: (), count: scan.readers)) { _, keys, found in
        try found(
          digest(TableLeaves(file, sizes: sizes), from: keys.lowerBound, to: keys.upperBound))
      } take: {
        sum.merge($0)
      }
    } catch {
      // A page that is not as it is in a sound table is SQLite's to read.
      return nil
    }
    return sum
  }
}
