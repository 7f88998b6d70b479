import GRDB
import Schema
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct EntityTallyTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  /// Makes a store of these statements; what its leaves tell of a table, and what SQLite tells.
  private func counts(
    _ sql: String, of table: String = "ZT", pageSize: Int = 4096
  ) throws -> (leaves: [EntityNumber: Int64]?, rows: [EntityNumber: Int64]) {
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20, pageSize: pageSize)
    try connection.run { db in
      try db.execute(
        sql: "CREATE TABLE Z_METADATA (Z_VERSION); CREATE TABLE Z_PRIMARYKEY (Z_ENT);" + sql)
    }
    try connection.queue.close()
    let reader = try StoreReader(immutable: path)
    return (
      try reader.entityCounts(ofTables: [table])[table], try reader.rowCounts(of: table, by: .rows)
    )
  }

  private static let usual =
    "CREATE TABLE ZT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZA BLOB );"

  private func filled(_ rows: Int, bytes: Int, entity: String) -> String {
    Self.usual + """
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO ZT SELECT i, \(entity), 1, zeroblob(\(bytes)) FROM n WHERE i > 0;
      """
  }

  @Test(
    arguments: [(0, 4), (1, 4), (20_000, 4), (900, 700), (40, 90_000)], [512, 4096, 65_536])
  func `rows are counted by entity as SQLite counts them`(
    _ table: (rows: Int, bytes: Int), pageSize: Int
  ) throws {
    for entity in ["7", "i % 3", "1 << (i % 50)", "-i"] {
      let sql = filled(table.rows, bytes: table.bytes, entity: entity)
      let found = try counts("DROP TABLE IF EXISTS ZT; VACUUM;" + sql, pageSize: pageSize)
      #expect(found.leaves == found.rows)
      #expect(found.rows.values.reduce(0, +) == table.rows)
      for name in ["Z_METADATA", "Z_PRIMARYKEY"] { try drop(name) }
    }
  }

  private func drop(_ table: String) throws {
    let connection = try StoreConnection.writable(path)
    try connection.run { try $0.execute(sql: "DROP TABLE \(table)") }
    try connection.queue.close()
  }

  @Test(arguments: [
    "INSERT INTO ZT VALUES (1, 1, 1, NULL), (2, NULL, 1, NULL);",
    "INSERT INTO ZT VALUES (1, 1, 1, NULL), (2, 'one', 1, NULL);",
    "INSERT INTO ZT VALUES (1, 1, 1, NULL), (2, 1.5, 1, NULL);",
    "INSERT INTO ZT VALUES (1, x'01', 1, NULL);",
    // A row that is as long as its table was once.
    "INSERT INTO ZT VALUES (1, 1, 1, NULL); DELETE FROM ZT; ALTER TABLE ZT RENAME TO ZU;"
      + "CREATE TABLE ZT ( Z_OPT INTEGER, Z_ENT INTEGER, Z_PK INTEGER PRIMARY KEY );"
      + "INSERT INTO ZT VALUES (1, 1, 1);",
    "DROP TABLE ZT; CREATE TABLE ZT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZA BLOB )"
      + " WITHOUT ROWID; INSERT INTO ZT VALUES (1, 1, NULL);",
  ])
  func `of a table with other rows than those of objects SQLite tells`(sql: String) throws {
    #expect(try counts(Self.usual + sql).leaves == nil)
  }

  @Test func `a table that got columns later has its rows counted`() throws {
    let found = try counts(
      Self.usual + "INSERT INTO ZT VALUES (1, 4, 1, NULL), (2, 5, 1, NULL);"
        + "ALTER TABLE ZT ADD COLUMN ZB INTEGER; ALTER TABLE ZT RENAME TO ZOLD;"
        + "ALTER TABLE ZOLD RENAME TO ZT;")
    #expect(found.leaves == found.rows)
    #expect(found.rows == [EntityNumber(rawValue: 4): 1, EntityNumber(rawValue: 5): 1])
  }
}
