import Foundation
import RowPrograms
import StoreNames
import SystemPackage
import TestSupport
import Testing

@testable import Planning

struct PlanDocumentTests {
  private let order = WorkOrder(
    number: 3, partition: 1,
    pieces: [
      Piece(number: 9, destinationTable: "ZA", keys: .all, rows: 5, bytes: 50),
      Piece(
        number: 10, destinationTable: "ZB", keys: KeyRange(first: 1, last: 4), rows: 2, bytes: 7),
    ])

  @Test func `a work order survives its way to a worker`() throws {
    let document = WorkOrderDocument(
      order: order, attempt: 1, engine: .sql, planID: "p", source: "/s",
      support: "/.s_SUPPORT",
      shard: "/w/shard-3.1.sqlite", manifest: "/w/shard-3.json",
      tables: MigrationProgram.made(tables: ["ZA"], references: []).tables, joins: [],
      createStatements: ["ZA": "CREATE TABLE ZA ( Z_PK INTEGER )"], memory: 1, logsSQL: false)
    let bytes = try JSONEncoder().encode(document)
    #expect(try JSONDecoder().decode(WorkOrderDocument.self, from: bytes) == document)
    #expect(document.shard(attempt: 2) == "/w/shard-3.2.sqlite")
    #expect(order.rows == 7 && order.bytes == 57)
  }

  @Test func `every path of a migration lies in its work folder`() {
    let paths = MigrationPaths(destination: "/data/Shop.sqlite")
    #expect(paths.work == "/data/Shop.sqlite.godwit")
    for path in [
      paths.lock, paths.plan, paths.status, paths.statusLock, paths.sourceCopy, paths.result,
      paths.walPages,
      paths.manifest(7), paths.shard(order: 7, attempt: 2),
    ] {
      #expect(path.removingLastComponent() == paths.work)
    }
    #expect(paths.shard(order: 7, attempt: 2).lastComponent?.string == "shard-7.2.sqlite")
    #expect(MigrationPaths(destination: "/a", below: "/b").work == "/b/a.godwit-70d2182d")
  }

  @Test func `the folder of external files is named after the store's stem`() {
    #expect(SupportFolder.path(of: "/data/Shop.sqlite") == "/data/.Shop_SUPPORT")
    #expect(SupportFolder.path(of: "Shop") == ".Shop_SUPPORT")
  }
}
