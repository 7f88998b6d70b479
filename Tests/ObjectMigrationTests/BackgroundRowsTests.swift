import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@testable import ObjectMigration

/// What other threads read ahead and insert while objects are made.
@Suite(.scratchFolder) struct BackgroundRowsTests {
  private static let count = 3000

  private func store(_ rows: String, objects: Int = count) throws -> FilePath {
    try Herds.make(
      Herds.together(),
      [
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(objects))
        INSERT INTO ZOBJECT (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZKIND) \(rows)
        """
      ], maxima: ["Object": Int64(objects)])
  }

  private static let rows =
    "SELECT i, 2, 1, 'creature ' || i, i % 90, iif(i % 3 = 0, 'human', 'animal') FROM n"

  private func ahead(
    of store: FilePath, keys: ClosedRange<Int64> = .min ... .max, memory: Int64 = 64 << 20
  ) throws -> RowsAhead {
    try #require(
      RowsAhead(
        .init(
          source: store,
          sql: "SELECT Z_PK, ZNAME FROM ZOBJECT WHERE Z_PK BETWEEN ?1 AND ?2 ORDER BY Z_PK",
          keys: keys, columns: 1, memory: memory)))
  }

  // MARK: Reading ahead

  @Test func `all rows between two keys come, in the order of their keys`() throws {
    let ahead = try ahead(of: store(Self.rows), keys: 100...2099)
    defer { ahead.end() }
    var keys: [Int64] = []
    while let rows = try ahead.next() {
      #expect(rows.allSatisfy { $0.values == [.text("creature \($0.key)")] })
      keys += rows.map(\.key)
    }
    #expect(keys == Array(100...2099))
    #expect(try ahead.next() == nil)
  }

  @Test func `reading ends wherever it is no longer wanted`() throws {
    let store = try store(Self.rows)
    for wanted in 0..<3 {
      let ahead = try ahead(of: store)
      for _ in 0..<wanted { #expect(try ahead.next()?.count == ObjectContext.batchSize) }
      ahead.end()
    }
  }

  @Test func `few large rows are read at a time`() throws {
    let store = try store("SELECT i, 2, 1, printf('%.*c', 500000, 'x'), 1, 'a' FROM n", objects: 40)
    let ahead = try ahead(of: store, memory: 64 << 20)
    defer { ahead.end() }
    var found = 0
    while let rows = try ahead.next() {
      #expect(rows.count <= 3)
      found += rows.count
    }
    #expect(found == 40)
  }

  @Test func `what cannot be read is told where it is reached`() throws {
    let store = try store(Self.rows)
    let root = try #require(
      try Query(store).number("SELECT rootpage FROM sqlite_schema WHERE name = 'ZOBJECT'"))
    let file = try FileHandle(forUpdating: URL(filePath: store.string))
    try file.seek(toOffset: UInt64(root - 1) * 4096)
    try file.write(contentsOf: Data(repeating: 0xFF, count: 4096))
    try file.close()
    let ahead = try ahead(of: store)
    defer { ahead.end() }
    #expect(throws: StoreError.self) { while try ahead.next() != nil {} }
  }

  // MARK: Inserting

  private func inserting(
    _ body: (PreparedStatements, PreparedStatement) throws -> Void
  ) throws -> [Int64] {
    let connection = try StoreConnection.scratch(
      ScratchFolder.current.appending("rows.sqlite"), cacheBytes: 1 << 20, memory: 3 << 20)
    return try connection.perform { db in
      try db.execute(sql: "CREATE TABLE t (a INTEGER PRIMARY KEY, b)")
      let statements = PreparedStatements(db)
      defer { statements.close() }
      try db.inTransaction {
        try body(statements, statements.statement(sql: "INSERT INTO t VALUES (?, ?)"))
        statements.inserts.finish()
        return .commit
      }
      return try Int64.fetchAll(statements.db, sql: "SELECT a FROM t ORDER BY a")
    }
  }

  @Test func `whoever asks for the connection finds all rows in`() throws {
    let keys = try inserting { statements, insert in
      for first in stride(from: Int64(1), through: 5000, by: 100) {
        try statements.inserts.insert(
          (first..<first + 100).map { .init(statement: insert, key: $0, values: [.text("x")]) })
        let found = try Int64.fetchOne(statements.db, sql: "SELECT max(a) FROM t")
        #expect(found == first + 99)
      }
    }
    #expect(keys == Array(1...5000))
  }

  @Test func `after a row that fails nothing is inserted, and it is told each time`() throws {
    let keys = try inserting { statements, insert in
      func give(_ keys: [Int64]) throws {
        try statements.inserts.insert(
          keys.map { .init(statement: insert, key: $0, values: [.null]) })
      }
      // The row may fail before the last one is taken, or after.
      do { try give([1, 2, 2, 3]) } catch is DatabaseError {}
      statements.inserts.finish()
      for _ in 0..<2 {
        #expect(throws: DatabaseError.self) { try statements.inserts.check() }
        #expect(throws: DatabaseError.self) { try give([4, 5]) }
      }
    }
    #expect(keys == [1, 2])
  }

  @Test(arguments: [
    StoredValue.blob([UInt8](repeating: 1, count: 2 << 20)),
    .text(String(repeating: "x", count: 2 << 20)),
    .rawText([UInt8](repeating: 0xFF, count: 2 << 20), isUTF16: false),
  ])
  func `a value that is too long is refused instead of left out`(value: StoredValue) throws {
    let keys = try inserting { _, insert in
      insert.bind(1, at: 1)
      insert.bind(value, at: 2)
      #expect { try insert.execute() } throws: {
        ($0 as? DatabaseError)?.resultCode == .SQLITE_TOOBIG
      }
      insert.bind(2, at: 1)
      insert.bind(.null, at: 2)
      try insert.execute()
    }
    #expect(keys == [2])
  }

  @Test func `values that are set count as long as they wait`() throws {
    let connection = try StoreConnection.scratch(
      ScratchFolder.current.appending("apart.sqlite"), cacheBytes: 1 << 20)
    try connection.perform { db in
      let schema = try StoreSchema(Herds.apart())
      try StoreWriter.createTables(schema, in: db)
      let context = ObjectContext(of: db, schema: schema, isSource: false, support: nil)
      defer { context.statements.close() }
      let object = try context.insert(context.entityFacts(name: "Human"), key: 1)
      try object.set("name", value: .string("twelve bytes"))
      try object.set("age", value: .integer(3))
      #expect(context.waitingBytes == 12)
      try context.flush()
      #expect(context.waitingBytes == 0)
    }
  }

  // MARK: Migrating

  /// Makes an object of another key for each tenth, and asks now and then for what is there.
  private final class AskingPolicy: EntityMigrationPolicy {
    struct Missing: Error, Equatable { var expected, found: Int }
    private var made = 0
    private let failing: Int64?

    init(failing: Int64? = nil) { self.failing = failing }

    override func createDestinationInstances(
      forSource source: MigrationObject, in mapping: Godwit.EntityMapping, manager: MigrationManager
    ) throws {
      if source.primaryKey == failing { throw Missing(expected: -1, found: -1) }
      try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
      made += 1
      guard made % 700 == 0, let name = mapping.destinationEntityName else { return }
      let found = try manager.fetch(name, where: "TRUEPREDICATE").count
      if found != made { throw Missing(expected: made, found: found) }
    }
  }

  private func migrate(_ store: FilePath, failing: Int64? = nil) throws -> FilePath {
    var mapping = try Herds.split()
    for index in [1, 2] {
      mapping.entityMappings[index].migrationPolicyClassName = "Asking"
      mapping.entityMappings[index].relationshipMappings.removeAll { $0.name == "herd" }
    }
    var migration = CorpusMigration()
    migration.policies.register("Asking") { AskingPolicy(failing: failing) }
    return try migration.step(
      store, from: Herds.together(), to: Herds.apart(), by: [mapping]
    ).store
  }

  @Test func `a policy that asks finds every object that it made`() throws {
    let result = try Query(migrate(store(Self.rows)))
    #expect(try result.number("SELECT count(*) FROM ZHUMAN") == 1000)
    #expect(
      try result.number(
        "SELECT count(*) FROM ZANIMAL WHERE ZNAME LIKE 'creature %' AND ZAGE IS NOT NULL") == 2000)
  }

  @Test func `a policy that throws in the middle ends all threads`() throws {
    let store = try store(Self.rows)
    let error = #expect(throws: ObjectMigrationError.self) {
      _ = try migrate(store, failing: 2000)
    }
    #expect(error?.key == 2000)
    #expect(error?.cause is AskingPolicy.Missing)
  }
}
