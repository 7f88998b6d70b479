import GRDB
import SQLEngine
import Schema
import StoreFormat
import SystemPackage

@testable import Planning
@testable import RowPrograms

/// A source of two tables and the work order that migrates it, without a model.
struct GivenOrder {
  let document: WorkOrderDocument

  /// Renames `ZA` to `ZB`, in two pieces, and copies a join table.
  init(in folder: FilePath, rows: Int, pairs: Int) throws {
    let source = folder.appending("source.sqlite")
    try Self.make(
      source,
      [
        "CREATE TABLE ZA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZOLD VARCHAR)",
        "CREATE TABLE Z_1BS (Z_1AS INTEGER, Z_2BS INTEGER, PRIMARY KEY (Z_1AS, Z_2BS))",
        Self.numbers("INSERT INTO ZA SELECT i, 1, 1, 'name ' || i FROM n WHERE i <= \(rows)"),
        Self.numbers("INSERT INTO Z_1BS SELECT i % 5, i FROM n WHERE i <= \(pairs)"),
      ])
    let table = TableProgram(
      sourceTable: "ZA", destinationTable: "ZB", entities: [.init(source: 1, destination: 2)],
      columns: [
        ColumnProgram(
          name: "ZNAME", type: .varchar, operations: [.copy(column: "ZOLD", replacingNull: .null)])
      ])
    let join = JoinProgram(
      sourceTable: "Z_1BS", destinationTable: "Z_2CS", columns: ["Z_2AS", "Z_3CS"],
      sources: ["Z_1AS", "Z_2BS"], filters: [])
    document = Self.document(
      folder,
      [
        Piece(
          number: 5, destinationTable: "ZB", keys: KeyRange(first: .min, last: 30), rows: 30,
          bytes: 300),
        Piece(
          number: 6, destinationTable: "ZB", keys: KeyRange(first: 31, last: .max), rows: 70,
          bytes: 700),
        Piece(number: 9, destinationTable: "Z_2CS", keys: .all, rows: 40, bytes: 400),
      ], [table], [join],
      [
        "ZB":
          "CREATE TABLE ZB ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )",
        "Z_2CS":
          "CREATE TABLE Z_2CS ( Z_2AS INTEGER, Z_3CS INTEGER, PRIMARY KEY (Z_2AS, Z_3CS) )",
      ])
  }

  /// One row whose external value goes back into the table.
  init(in folder: FilePath, externalValue: String) throws {
    let statement =
      "CREATE TABLE ZA ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZX BLOB )"
    try Self.make(
      folder.appending("source.sqlite"),
      [statement, "INSERT INTO ZA VALUES (1, 1, 1, \(externalValue))"])
    let table = TableProgram(
      sourceTable: "ZA", destinationTable: "ZA", entities: [.init(source: 1, destination: 1)],
      columns: [
        ColumnProgram(
          name: "ZX", type: .blob,
          operations: [.removeExternalTag(column: "ZX", replacingNull: .null)])
      ])
    document = Self.document(
      folder, [Piece(number: 1, destinationTable: "ZA", keys: .all, rows: 1, bytes: 10)], [table],
      [], ["ZA": statement])
  }

  /// Changes the source.
  func change(_ statement: String) throws {
    try Self.make(FilePath(document.source), [statement])
  }

  private static func numbers(_ statement: String) -> String {
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \(statement)"
  }

  private static func make(_ path: FilePath, _ statements: [String]) throws {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      for statement in statements { try db.execute(sql: statement) }
    }
    try connection.queue.close()
  }

  private static func document(
    _ folder: FilePath, _ pieces: [Piece], _ tables: [TableProgram], _ joins: [JoinProgram],
    _ statements: [String: String]
  ) -> WorkOrderDocument {
    WorkOrderDocument(
      order: WorkOrder(number: 2, partition: 1, pieces: pieces), attempt: 1,
      engine: SQLEngine.name, planID: "plan",
      source: folder.appending("source.sqlite").string,
      support: folder.appending(".source_SUPPORT").string,
      shard: folder.appending("shard-2.1.sqlite").string,
      manifest: folder.appending("shard-2.json").string, tables: tables,
      joins: joins, createStatements: statements, memory: 16 << 20, logsSQL: false)
  }
}
