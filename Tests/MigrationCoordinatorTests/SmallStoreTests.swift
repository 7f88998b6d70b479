import GRDB
import Planning
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What pages make of a small store is as good as what SQL makes of it.
@Suite(.scratchFolder) struct SmallStoreTests {
  private struct Facts {
    var pages: Int
    var freePages: Int
    var integrity: [String]

    init(_ store: FilePath) throws {
      let connection = try StoreConnection.writable(store)
      (pages, freePages, integrity) = try connection.run { db in
        (
          try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
          try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? -1,
          try String.fetchAll(db, sql: "PRAGMA integrity_check")
        )
      }
      try connection.queue.close()
    }
  }

  private func facts(
    _ given: GivenMigration, _ engine: EngineName, rangeRows: Int64? = nil
  ) async throws -> Facts {
    let output = given.folder.appending("\(engine.rawValue).sqlite")
    var request = given.request(workers: 2, rangeRows: rangeRows, output: output)
    request.engine = engine
    let report = try await given.run(request)
    #expect(report.engine == engine)
    return try Facts(output)
  }

  @Test(arguments: [(12, nil), (240, nil), (240, 30), (9_000, nil), (9_000, 700)])
  func `no page is free, and no more are taken than by SQL`(
    rows: Int64, rangeRows: Int64?
  ) async throws {
    let given = try GivenMigration(rows: rows)
    // Made-up numbers may have no place in an integer.
    try given.change("UPDATE ZBOOK SET ZPAGES = Z_PK")
    let bySQL = try await facts(given, .sql)
    let byPages = try await facts(given, .pages, rangeRows: rangeRows)
    #expect(byPages.freePages == 0)
    #expect(byPages.integrity == ["ok"])
    // A range ends its last leaf, which then is not full.
    let ranges = rangeRows.map { Int(rows / $0) * 2 } ?? 0
    #expect(byPages.pages <= bySQL.pages + 2 + ranges)
  }
}
