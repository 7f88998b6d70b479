import Foundation
import GRDB
import GRDBSQLite
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// A store made by SQLite whose bytes a test may change, and what is read of it then.
struct DamagedStore {
  let pageSize: Int
  private(set) var bytes: [UInt8]
  /// The root pages of the table and of its index.
  private(set) var table: UInt32
  private(set) var index: UInt32
  let path: FilePath
  let indexed: Indexed

  /// What the index is of.
  struct Indexed: Sendable {
    /// The places of columns in the table's records.
    var columns = [3]
    var descending = [false]
    var isUnique = false

    static let names = ["Z_PK", "Z_ENT", "Z_OPT", "ZN", "ZR", "ZS", "ZB"]
    private static let affinities: [Affinity] = [
      .integer, .integer, .integer, .integer, .real, .text, .none,
    ]

    var affinities: [Affinity] { columns.map { Self.affinities[$0] } }

    fileprivate var sql: String {
      let parts = zip(columns, descending).map { "\(Self.names[$0])\($1 ? " DESC" : "")" }
      return "INDEX ZI ON ZT (\(parts.joined(separator: ", ")))"
    }
  }

  /// Rows that fill two levels of pages, some of them with overflow chains.
  init(pageSize: Int = 4096, rows: Int = 600, indexed: Indexed = Indexed()) throws {
    self.pageSize = pageSize
    self.indexed = indexed
    path = ScratchFolder.current.appending("damaged-\(pageSize).sqlite")
    if FileManager.default.fileExists(atPath: path.string) {
      try FileManager.default.removeItem(atPath: path.string)
    }
    let queue = try DatabaseQueue(path: path.string)
    let roots = try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = 2")
      try db.execute(
        sql: """
          CREATE TABLE ZT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZN INTEGER,
            ZR FLOAT, ZS VARCHAR, ZB BLOB );
          CREATE \(indexed.sql);
          BEGIN
          """)
      for row in 1...rows {
        // The values fill pages of any size, and the long ones go on in chains.
        let blob = row % 50 == 7 ? pageSize * 3 : row % 9 * 8
        try db.execute(
          sql: "INSERT INTO ZT VALUES (?, 1, ?, ?, ?, ?, ?)",
          arguments: [
            row * 2, row % 3, row % 7 == 0 ? nil : row * 40_000, Double(row) / 4,
            String(repeating: "é", count: row % 30),
            Data((0..<blob).map { UInt8(truncatingIfNeeded: $0 * 7 + row) }),
          ])
      }
      try db.execute(sql: "COMMIT")
      return try Row.fetchAll(db, sql: "SELECT rootpage FROM sqlite_schema ORDER BY name DESC")
        .map { $0[0] as UInt32 }
    }
    try queue.close()
    (table, index) = (roots[0], roots[1])
    bytes = Array(try Data(contentsOf: URL(filePath: path.string)))
  }

  var pageCount: UInt32 { UInt32(bytes.count / pageSize) }

  // MARK: Places

  func offset(_ page: UInt32) -> Int { (Int(page) - 1) * pageSize }

  func number(_ at: Int, _ count: Int) -> Int {
    bytes[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
  }

  mutating func put(_ value: Int, _ count: Int, at: Int) {
    for index in 0..<count {
      bytes[at + index] = UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - index)))
    }
  }

  mutating func put(_ values: [UInt8], at: Int) {
    bytes.replaceSubrange(at..<at + values.count, with: values)
  }

  /// Damages the index as if it were the table.
  mutating func damageIndex(_ damage: (inout DamagedStore) throws -> Void) rethrows {
    swap(&table, &index)
    defer { swap(&table, &index) }
    try damage(&self)
  }

  /// Has the index of another store stand in the place of this one's, without its pages.
  mutating func take(_ other: DamagedStore) {
    bytes = other.bytes
    index = other.index
    table = other.table
  }

  /// Leaves so many pages of the file.
  mutating func cut(to pages: UInt32) { bytes.removeLast(bytes.count - Int(pages) * pageSize) }

  func cells(_ page: UInt32) -> Int { number(offset(page) + 3, 2) }

  /// Where a cell of a page begins; interior pages have a longer head.
  func cell(_ index: Int, of page: UInt32) -> Int {
    let head = bytes[offset(page)] < 8 ? 12 : 8
    return offset(page) + number(offset(page) + head + 2 * index, 2)
  }

  /// The leaves of a tree of two levels.
  func leaves(of root: UInt32) -> [UInt32] {
    (0..<cells(root)).map { UInt32(number(cell($0, of: root), 4)) }
      + [UInt32(number(offset(root) + 8, 4))]
  }

  /// A leaf and a cell of it whose record goes on in a chain, and where its first page is named.
  func chain() throws -> (leaf: UInt32, pointer: Int) {
    for leaf in leaves(of: table) {
      for index in 0..<cells(leaf) {
        let start = cell(index, of: leaf) - offset(leaf)
        let found = bytes.withUnsafeBytes { raw -> Int? in
          guard let base = raw.baseAddress.map({ $0 + offset(leaf) }),
            let size = Bytes.varint(base, offset: start, limit: pageSize),
            let key = Bytes.varint(base, offset: size.end, limit: pageSize),
            Int(size.value) > pageSize - 35
          else { return nil }
          let least = (pageSize - 12) * 32 / 255 - 23
          let rest = least + (Int(size.value) - least) % (pageSize - 4)
          return key.end + (rest <= pageSize - 35 ? rest : least)
        }
        if let found { return (leaf, offset(leaf) + found) }
      }
    }
    throw PageError(.endOfFile)
  }

  // MARK: Reading

  /// Has a file hold the bytes, as far as they go.
  private func opened<Result>(_ body: (FileDescriptor) throws -> Result) throws -> Result {
    let file = try FileDescriptor.open(
      path, .readWrite, options: [.create, .truncate], permissions: .ownerReadWrite)
    return try file.closeAfter {
      try file.writeAll(toAbsoluteOffset: 0, bytes)
      return try body(file)
    }
  }

  /// The rows as the cursor reads them; a file may be said to be longer than it is.
  func rows(pageCount: UInt32? = nil) throws -> [[Value]] {
    let form = TableForm(
      pageSize: pageSize, pageCount: pageCount ?? self.pageCount, root: table,
      places: [-1, 1, 2, 3, 4, 5, 6], isReal: [false, false, false, false, true, false, false],
      keyPlace: 0)
    return try opened { file in
      let cursor = TableCursor(file: PageFile(file), form: form, width: 7)
      try cursor.seek(.min)
      var result: [[Value]] = []
      while try cursor.next() {
        result.append((0..<7).map { Value(cursor.fields[$0]) })
      }
      return result
    }
  }

  /// The rows as SQLite reads them; nil where it finds the file damaged.
  func rowsOfSQLite() throws -> [[Value]]? {
    try opened { _ in
      var configuration = Configuration()
      configuration.readonly = true
      do {
        let queue = try DatabaseQueue(path: path.string, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { db in
          let statement = try db.makeStatement(sql: "SELECT * FROM ZT")
          let handle = statement.sqliteStatement
          var result: [[Value]] = []
          while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: result.append((0..<7).map { Value(handle, $0) })
            case SQLITE_DONE: return result
            default: return nil
            }
          }
        }
      } catch is DatabaseError {
        return nil
      }
    }
  }

  /// Moves the table and its index as they are, or with patched rows; the rows and entries that
  /// went over, and whether they belong together.
  func move(
    descending: [Bool]? = nil, isUnique: Bool = false, patch: RowPatch? = nil
  ) throws -> (rows: Int64, entries: Int64, isWhole: Bool) {
    let folder = ScratchFolder.current
    func make(_ name: String) throws -> FileDescriptor {
      try FileDescriptor.open(
        folder.appending(name), .readWrite, options: [.create, .truncate],
        permissions: .ownerReadWrite)
    }
    let (result, runs) = (try make("moved"), try make("moved-runs"))
    return try result.closeAfter {
      try runs.closeAfter {
        let list = RunFile(runs)
        let writer = ExtentWriter(
          file: PageFile(result), source: PagePool(holes: [], end: 3),
          pointers: PointerMap(PageFile(result)))
        return try opened { file in
          let mover = LeafMover(file: PageFile(file), pageCount: pageCount, writer: writer)
          let rows = try mover.moveTable(
            MovedTable(
              root: table, rule: RowRule(columns: 7, entities: [1]),
              indexes: [
                SummedIndex(
                  name: "ZI", columns: indexed.columns, affinities: indexed.affinities)
              ], patch: patch),
            first: .min, last: .max,
            leaves: EntryCollector(file: list, entrySize: MemoryLayout<LeafEntry>.stride),
            spans: EntryCollector(file: list, entrySize: MemoryLayout<KeySpan>.stride), names: nil
          ) { _, _ in }
          let moved = try mover.moveIndex(
            IndexMove(
              name: "ZI", root: index, affinities: indexed.affinities,
              descending: descending ?? indexed.descending, isUnique: isUnique),
            file: list)
          _ = try writer.finish()
          return (rows.rows, moved.entries, rows.sums["ZI"] == moved.sum)
        }
      }
    }
  }
}

extension Value {
  init(_ field: Field) {
    if field.isNull || field.isReal && field.real.isNaN {
      // SQLite takes what is no number for NULL.
      self = .null
    } else if field.isInteger {
      self = .integer(field.integer)
    } else if field.isReal {
      self = .real(field.real)
    } else {
      let bytes = Array(UnsafeRawBufferPointer(start: field.body, count: field.size))
      self = field.isText ? .text(String(decoding: bytes, as: UTF8.self)) : .blob(bytes)
    }
  }

  fileprivate init(_ row: OpaquePointer, _ column: Int32) {
    switch sqlite3_column_type(row, column) {
    case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(row, column))
    case SQLITE_FLOAT: self = .real(sqlite3_column_double(row, column))
    case SQLITE_NULL: self = .null
    case let type:
      let start = sqlite3_column_blob(row, column)
      let bytes = Array(
        UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column))))
      self =
        type == SQLITE_TEXT ? .text(String(decoding: bytes, as: UTF8.self)) : .blob(bytes)
    }
  }
}
