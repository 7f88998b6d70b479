import Foundation
import GRDB
import SystemCalls
import SystemPackage
import TestSupport

@testable import StoreFormat

/// A store with trees of two levels whose bytes a test may change, and what is salvaged of it.
struct SalvageStore {
  let pageSize: Int
  var bytes: [UInt8]
  /// The root pages, by the names of tables and indexes.
  let roots: [String: UInt32]
  let path: FilePath

  /// A table with an index and one without, some of whose rows go on in chains; a table of pairs,
  /// each of which is there once, where `pairs` are given.
  init(
    pageSize: Int = 1024, encoding: String = "UTF-8", vacuum: Int = 2, rows: Int = 300,
    pairs: Int = 0
  ) throws {
    self.pageSize = pageSize
    path = ScratchFolder.current.appending("salvage-\(UUID().uuidString).sqlite")
    let queue = try DatabaseQueue(path: path.string)
    roots = try queue.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(vacuum);
          PRAGMA encoding = '\(encoding)'; PRAGMA user_version = 7;
          CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER,
            Z_MAX INTEGER);
          CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
          CREATE TABLE ZA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZN INTEGER, ZR FLOAT,
            ZS VARCHAR, ZB BLOB);
          CREATE TABLE ZC (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZN INTEGER, ZR FLOAT,
            ZS VARCHAR, ZB BLOB);
          CREATE INDEX ZA_ZN ON ZA (ZN);
          CREATE TRIGGER ZX AFTER INSERT ON Z_METADATA BEGIN DELETE FROM ZA; END;
          INSERT INTO Z_PRIMARYKEY VALUES (1, 'A', 0, \(rows * 2)), (2, 'C', 0, \(rows * 2));
          DROP TRIGGER ZX;
          INSERT INTO Z_METADATA VALUES (1, 'U', x'00');
          CREATE VIEW ZV AS SELECT * FROM ZA;
          BEGIN
          """)
      for row in 1...rows {
        for table in ["ZA", "ZC"] {
          try db.execute(
            sql: "INSERT INTO \(table) VALUES (?, 1, ?, ?, ?, ?)",
            arguments: [
              row * 2, row % 5 == 0 ? nil : row, Double(row) / 4,
              String(repeating: "é", count: row % 20),
              Data(repeating: UInt8(row % 250), count: row % 40 == 9 ? pageSize * 3 : row % 7),
            ])
        }
      }
      if pairs > 0 { try Self.make(pairs: pairs, in: db) }
      try db.execute(sql: "COMMIT")
      return Dictionary(
        uniqueKeysWithValues: try Row.fetchAll(
          db, sql: "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0"
        ).map { ($0[0] as String, $0[1] as UInt32) })
    }
    try queue.close()
    bytes = Array(try Data(contentsOf: URL(filePath: path.string)))
  }

  private static func make(pairs: Int, in db: Database) throws {
    try db.execute(sql: "CREATE TABLE Z_1P (A INTEGER, B INTEGER, C, PRIMARY KEY (A, B))")
    for pair in 0..<pairs {
      try db.execute(sql: "INSERT INTO Z_1P VALUES (100, ?, 'c')", arguments: [1000 + pair])
    }
  }

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

  mutating func clear(_ page: UInt32) {
    bytes.replaceSubrange(
      offset(page)..<offset(page) + pageSize, with: [UInt8](repeating: 0, count: pageSize))
  }

  /// Where the numbers of the pages below a root stand.
  func children(_ name: String) -> [Int] {
    let start = offset(roots[name] ?? 1)
    return (0..<number(start + 3, 2)).map { start + number(start + 12 + 2 * $0, 2) } + [start + 8]
  }

  /// The leaves of a tree of two levels.
  func leaves(_ name: String) -> [UInt32] { children(name).map { UInt32(number($0, 4)) } }

  /// Where the pointers to the cells of a leaf stand.
  func pointers(_ leaf: UInt32) -> [Int] {
    (0..<number(offset(leaf) + 3, 2)).map { offset(leaf) + 8 + 2 * $0 }
  }

  /// The keys of a leaf.
  func keys(_ leaf: UInt32) -> [Int64] {
    pointers(leaf).map { key(at: offset(leaf) + number($0, 2)) }
  }

  /// The key of a leaf's cell that begins there.
  private func key(at cell: Int) -> Int64 {
    guard let size = Varint(bytes, at: cell, limit: bytes.count),
      let key = Varint(bytes, at: size.end, limit: bytes.count)
    else { return 0 }
    return Int64(key.value)
  }

  // MARK: Salvage

  typealias Salvaged = (told: SalvagedStore, rows: [String: [[DatabaseValue]]])

  /// What is salvaged, and the rows of the copy, which SQLite has to find sound.
  func salvaged() throws -> Salvaged {
    try Files.writeFileAtomically(bytes, to: path)
    let copy = FilePath("\(path).copy")
    let told = try StoreSalvage(of: path).copy(to: copy)
    return (told, try Self.rows(copy))
  }

  /// The rows of the store before anything was damaged.
  static func rows(_ path: FilePath) throws -> [String: [[DatabaseValue]]] {
    let queue = try DatabaseQueue(path: path.string)
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction { db in
      let answer = try String.fetchAll(db, sql: "PRAGMA integrity_check")
      guard answer == ["ok"] else { throw DatabaseError(message: "\(answer)") }
      return try Dictionary(
        uniqueKeysWithValues: ["ZA", "ZC", "Z_1P"].filter { try db.tableExists($0) }.map { table in
          (
            table,
            try Row.fetchAll(db, sql: "SELECT * FROM \(table) ORDER BY 1").map {
              Array($0.databaseValues)
            }
          )
        })
    }
  }

  /// What a copy of the store says of itself.
  func header(_ pragma: String) throws -> String {
    let queue = try DatabaseQueue(path: "\(path).copy")
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction {
      try String.fetchOne($0, sql: "PRAGMA \(pragma)") ?? ""
    }
  }
}
