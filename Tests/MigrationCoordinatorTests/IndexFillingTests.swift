import GRDB
import ObjectModel
import PageEngine
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

/// Indexes that are filled beside SQLite are those that SQLite would have made.
@Suite(.scratchFolder) struct IndexFillingTests {
  private static func model(_ indexes: [FetchIndex], unique: [[String]] = []) throws
    -> ManagedObjectModel
  {
    var thing = Entity(
      "Thing",
      [
        .optional("name"), .optional("count", .integer64), .optional("when", .date),
        .optional("note"),
      ], unique: unique)
    thing.fetchIndexes = indexes
    return try ManagedObjectModel(thing)
  }

  private static let indexes = [
    FetchIndex(name: "byCount", elements: [.init(property: "count")]),
    FetchIndex(
      name: "byName",
      elements: [.init(property: "name"), .init(property: "when", isAscending: false)]),
    FetchIndex(name: "byNote", elements: [.init(property: "note", isAscending: false)]),
  ]

  /// A store without the indexes, in which they are then listed, empty.
  private func given(_ change: String = "", unique: [[String]] = []) throws -> (
    given: GivenMigration, schema: StoreSchema
  ) {
    let model = try Self.model(Self.indexes, unique: unique)
    let given = try GivenMigration(from: Self.model([]), to: model, rows: 20_000)
    try given.change(change)
    return (given, try StoreSchema(model))
  }

  private func list(_ indexes: [Index], in path: FilePath) throws {
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    try connection.run { db in
      for index in indexes { try StoreWriter.createEmpty(index, in: db) }
      try db.execute(sql: "PRAGMA writable_schema = ON")
      for index in indexes {
        try db.execute(
          sql: "UPDATE sqlite_schema SET tbl_name = ?, sql = ? WHERE name = ?",
          arguments: [index.table, index.createStatement, index.name])
      }
    }
    try connection.queue.close()
  }

  private func fill(
    _ indexes: [Index], of schema: StoreSchema, in path: FilePath
  ) throws -> [Index] {
    try list(indexes, in: path)
    return try IndexFilling(
      path, scratch: ScratchFolder.current.appending("keys"), memory: 8 << 20
    ).fill(indexes, of: schema) { _ in }
  }

  @Test(arguments: [
    "", "UPDATE ZTHING SET ZCOUNT = NULL, ZNAME = NULL",
    "UPDATE ZTHING SET ZNOTE = hex(randomblob(900)) WHERE Z_PK % 7 = 0",
    "DELETE FROM ZTHING WHERE Z_PK > 3 AND Z_PK < 15000", "DELETE FROM ZTHING WHERE Z_PK < 15000",
    "ALTER TABLE ZTHING ADD COLUMN ZMORE INTEGER",
  ])
  func `indexes are filled in a store, and in a file of its pages`(change: String) throws {
    let (given, schema) = try given(change)
    let pages = ScratchFolder.current.appending("pages")
    try PageEdit.make(of: given.store, at: pages)
    for path in [pages, given.store] {
      let left = try fill(schema.allIndexes, of: schema, in: path)
      #expect(left.isEmpty)
      let found = try StoreConnection.immutable(path).run { db in
        #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
        return try Int64.fetchAll(
          db,
          sql: """
            SELECT count(*) FROM ZTHING NOT INDEXED UNION ALL
            SELECT count(*) FROM ZTHING INDEXED BY Z_Thing_byCount WHERE ZCOUNT > 5 UNION ALL
            SELECT count(*) FROM ZTHING NOT INDEXED WHERE ZCOUNT > 5
            """)
      }
      #expect(found[1] == found[2])
    }
    let keys = try Files.fileStatusIfPresent(ScratchFolder.current.appending("keys"))
    #expect(keys == nil)
    // SQLite goes on in it.
    try given.change(
      "DELETE FROM ZTHING WHERE Z_PK % 2 = 0; INSERT INTO ZTHING (Z_ENT, ZNOTE) VALUES (1, 'x')")
    let lines = try StoreConnection.immutable(given.store).run { db in
      try String.fetchAll(db, sql: "PRAGMA integrity_check")
    }
    #expect(lines == ["ok"])
  }

  @Test func `what cannot be sorted as bytes is left to SQLite`() throws {
    let (given, schema) = try given(
      "UPDATE ZTHING SET ZCOUNT = 'x', ZNAME = hex(zeroblob(200000)) WHERE Z_PK = 9")
    let left = try fill(schema.allIndexes, of: schema, in: given.store)
    #expect(Set(left.map(\.name)) == ["Z_Thing_byCount", "Z_Thing_byName"])
  }

  @Test func `values that agree in a unique index are left to SQLite to find`() throws {
    let (given, schema) = try given("UPDATE ZTHING SET ZCOUNT = 7", unique: [["count"]])
    let left = try fill(schema.allIndexes, of: schema, in: given.store)
    #expect(left.contains { $0.isUnique })
  }
}
