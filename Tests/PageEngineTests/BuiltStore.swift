import Foundation
import GRDB
import PageEngine
import SystemPackage
import TestSupport
import Testing

/// One value of a test row.
enum Value: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  var database: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.databaseValue
    case .text(let text): text.databaseValue
    case .blob(let bytes): bytes.withUnsafeBytes { Data($0) }.databaseValue
    }
  }
}

/// A table of a test store: its first column is the key of its rows.
struct TestTable {
  var name: String
  var columns: [(name: String, type: String)]
  var indexes: [TestIndex] = []
  var rows: [(key: Int64, values: [Value])] = []

  var createStatement: String {
    let list = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
    return "CREATE TABLE \(name) ( Z_PK INTEGER PRIMARY KEY, \(list) )"
  }

  func affinity(_ column: Int) -> Affinity {
    switch columns[column].type {
    case "INTEGER": .integer
    case "FLOAT": .real
    case "VARCHAR": .text
    case "BLOB": .none
    default: .numeric
    }
  }
}

struct TestIndex {
  var name: String
  /// Columns but the key, from 0.
  var columns: [Int]
  var descending: [Bool]
  var isInteger = false

  func createStatement(_ table: TestTable) -> String {
    let list = zip(columns, descending).map { "\(table.columns[$0].name) \($1 ? "DESC" : "ASC")" }
    return "CREATE INDEX \(name) ON \(table.name) (\(list.joined(separator: ", ")))"
  }
}

/// Makes the same store twice: by SQL, and by pages.
struct BuiltStore {
  let folder: FilePath
  let tables: [TestTable]
  /// Pieces that each table is cut into, dealt to two writers.
  var pieces = 3
  var runBytes = 1 << 14

  var sql: FilePath { folder.appending("sql.sqlite") }
  var pages: FilePath { folder.appending("pages.sqlite") }

  func open(_ path: FilePath) throws -> DatabaseQueue {
    let queue = try DatabaseQueue(path: path.string)
    try queue.writeWithoutTransaction { db in
      for pragma in ["page_size = 4096", "auto_vacuum = 2", "journal_mode = OFF"] {
        try db.execute(sql: "PRAGMA \(pragma)")
      }
    }
    return queue
  }

  private func create(_ db: Database) throws {
    for table in tables { try db.execute(sql: table.createStatement) }
    for table in tables {
      for index in table.indexes { try db.execute(sql: index.createStatement(table)) }
    }
  }

  func makeBySQL() throws {
    let queue = try open(sql)
    try queue.writeWithoutTransaction { db in
      try create(db)
      try db.execute(sql: "BEGIN")
      for table in tables {
        let marks = Array(repeating: "?", count: table.columns.count + 1).joined(separator: ", ")
        let statement = try db.makeStatement(sql: "INSERT INTO \(table.name) VALUES (\(marks))")
        for row in table.rows {
          try statement.execute(
            arguments: StatementArguments(
              [row.key.databaseValue] + row.values.map(\.database)))
        }
      }
      try db.execute(sql: "COMMIT")
    }
    try queue.close()
  }

  func makeByPages() throws {
    let skeletonPath = folder.appending("skeleton.sqlite")
    let queue = try open(skeletonPath)
    var roots: [String: UInt32] = [:]
    try queue.writeWithoutTransaction { db in
      try create(db)
      for row in try Row.fetchAll(db, sql: "SELECT name, rootpage FROM sqlite_schema") {
        roots[row[0]] = row[1]
      }
    }
    try queue.close()
    let skeleton = try #require(
      Skeleton(try [UInt8](Data(contentsOf: URL(filePath: skeletonPath.string)))))
    let builder = try PageBuilder(self, roots: roots, skeleton: skeleton)
    try builder.build()
  }

  /// The bytes of the file's copy by `VACUUM INTO`.
  func vacuumed(_ path: FilePath) throws -> [UInt8] {
    let copy = FilePath(path.string + ".vacuumed")
    let queue = try DatabaseQueue(path: path.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "VACUUM INTO ?", arguments: [copy.string])
    }
    try queue.close()
    let file = try FileDescriptor.open(copy, .readOnly)
    return try file.closeAfter {
      let size = Int(try file.seek(offset: 0, from: .end))
      var bytes = [UInt8](repeating: 0, count: size)
      var done = 0
      while done < size {
        done += try bytes.withUnsafeMutableBytes {
          try file.read(
            fromAbsoluteOffset: Int64(done),
            into: UnsafeMutableRawBufferPointer(rebasing: $0[done...]))
        }
      }
      return bytes
    }
  }

  func integrity(_ path: FilePath) throws -> [String] {
    let queue = try DatabaseQueue(path: path.string)
    defer { try? queue.close() }
    return try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
  }
}
