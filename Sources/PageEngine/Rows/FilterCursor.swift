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
    let made = tests.compactMap { FieldTest($0, places: places) }
    guard made.count == tests.count else { return nil }
    return FilterCursor(
      cursor, number: number, tests: made, places: columns.compactMap { places[$0] })
  }
}

/// Reads the rows of a table and tests them.
private final class FilterCursor: FilterScan {
  private let cursor: TableCursor
  private let number: Int64
  private let tests: [FieldTest]
  private let places: [Int]
  private let said: UnsafeMutablePointer<Int8>

  init(_ cursor: TableCursor, number: Int64, tests: [FieldTest], places: [Int]) {
    (self.cursor, self.number, self.tests, self.places) = (cursor, number, tests, places)
    said = .allocate(capacity: max(1, tests.count))
    said.initialize(repeating: 0, count: max(1, tests.count))
  }

  deinit { said.deallocate() }

  func says(filter: Int) -> Int8 { said[filter] }

  func isSet(column: Int) -> Bool { !cursor.fields[places[column]].isNothing }

  /// Asks all tests about the row; whether somebody wants to know what they say.
  @inline(__always)
  private func isWanted(_ only: FieldTest?) -> Bool {
    guard let only else {
      for (place, test) in tests.enumerated() { said[place] = test.says(of: cursor.fields) }
      return true
    }
    said[0] = only.says(of: cursor.fields)
    return said[0] != 1 || places.contains { !cursor.fields[$0].isNothing }
  }

  func look(
    at keys: ClosedRange<Int64>, body: (_ key: Int64, _ isRead: Bool) throws -> Void
  ) throws -> Int64? {
    var next = keys.lowerBound
    do {
      try cursor.seek(next)
    } catch {
      return next
    }
    let only = tests.count == 1 ? tests[0] : nil
    while true {
      do {
        guard try cursor.step(), cursor.key <= keys.upperBound else { return nil }
      } catch {
        // What is damaged, SQLite tells.
        return next
      }
      let key = cursor.key
      let entity = cursor.fields[0]
      if cursor.isCut {
        try body(key, false)
      } else if entity.isInteger {
        if entity.integer == number, isWanted(only) { try body(key, true) }
      } else if !entity.isNull {
        // What is no whole number may equal one for SQLite.
        return key
      }
      guard key < keys.upperBound else { return nil }
      next = key + 1
    }
  }
}
