package import GRDB
package import ObjectMigration
package import StoreFormat

/// Finds by pages of a store which rows filters take.
package struct FilterCursors: FilterPages {
  private let file: SourceFile

  /// Takes the file that the connections read; nil where its texts are not in UTF-8.
  package init?(_ file: SourceFile, textEncoding: UInt32) {
    guard textEncoding == 1 else { return nil }
    self.file = file
  }

  /// A cursor of its own over the table; nil where that or a column is not as Core Data makes it.
  package func scan(
    table: String, number: Int64, tests: [FilterTest], columns: [String], db: Database
  ) throws -> (any FilterScan)? {
    var names = ["Z_ENT"]
    for column in tests.flatMap({ $0.columns.sorted() }) + columns where !names.contains(column) {
      names.append(column)
    }
    guard let source = try SourceTable(name: table, file: file, schema: "main", db: db),
      !source.hasCollations,
      let cursor = try source.heads(names, file: file)
    else { return nil }
    let places = Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, $0) })
    guard let made = FieldTests(tests, places: places) else { return nil }
    return FilterCursor(
      cursor, number: number, tests: made, isOnly: tests.count == 1,
      places: columns.compactMap { places[$0] })
  }
}

/// Reads the rows of a table and tests them.
private final class FilterCursor: FilterScan {
  private let cursor: TableCursor
  private let number: Int64
  private let tests: FieldTests
  /// Whether there is one test.
  private let isOnly: Bool
  private let places: [Int]

  init(_ cursor: TableCursor, number: Int64, tests: FieldTests, isOnly: Bool, places: [Int]) {
    (self.cursor, self.number, self.tests) = (cursor, number, tests)
    (self.isOnly, self.places) = (isOnly, places)
  }

  /// Evaluates all tests for the row, and adds it if a result is needed.
  @inline(__always)
  private func test(_ key: Int64, into rows: FilterRows) {
    let said = rows.nextSaid
    tests.say(of: cursor.fields, into: said)
    var isWanted = !isOnly || said[0] != 1
    if !places.isEmpty {
      let set = rows.nextSet
      for (place, field) in places.enumerated() {
        set[place] = !cursor.fields[field].isNothing
        if set[place] { isWanted = true }
      }
    }
    if isWanted { rows.add(key: key) }
  }

  func look(
    at keys: ClosedRange<Int64>, into rows: FilterRows, body: () throws -> Void
  ) throws -> Int64? {
    let rest = try rest(of: keys, into: rows, body: body)
    if rows.count > 0 { try body() }
    return rest
  }

  private func rest(
    of keys: ClosedRange<Int64>, into rows: FilterRows, body: () throws -> Void
  ) throws -> Int64? {
    var next = keys.lowerBound
    do {
      try cursor.seek(next)
    } catch {
      return next
    }
    while true {
      do {
        guard try cursor.step(), cursor.key <= keys.upperBound else { return nil }
      } catch {
        // SQLite reports the damage.
        return next
      }
      let key = cursor.key
      let entity = cursor.fields[0]
      if cursor.isCut {
        rows.nextSaid[0] = FilterRows.unread
        rows.add(key: key)
      } else if entity.isInteger {
        if entity.integer == number { test(key, into: rows) }
      } else if !entity.isNull {
        // What is no whole number may equal one for SQLite.
        return key
      }
      if rows.isFull { try body() }
      guard key < keys.upperBound else { return nil }
      next = key + 1
    }
  }
}
