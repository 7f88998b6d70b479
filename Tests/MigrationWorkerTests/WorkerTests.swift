import Foundation
import GRDB
import MigrationEngine
import Schema
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationWorker
@testable import Planning
@testable import RowPrograms
@testable import SQLEngine

@Suite(.scratchFolder) struct WorkerTests {
  private var folder: FilePath { ScratchFolder.current }

  @Test func `a work order becomes a shard, and a manifest that the coordinator may write`() throws
  {
    let given = try GivenOrder(in: folder, rows: 100, pairs: 40)
    let manifest = try Worker(document: given.document, link: GivenLink()).makeShard()
    #expect(manifest.planID == "plan" && manifest.order == 2 && manifest.attempt == 1)
    #expect(manifest.shard == "shard-2.1.sqlite")
    #expect(manifest.bytes == (try Files.fileStatus(FilePath(given.document.shard)).size))
    #expect(manifest.pieces.map(\.piece) == [5, 6, 9])
    #expect(manifest.pieces.map(\.rowsWritten) == [30, 70, 40])
    #expect(manifest.pieces.map(\.rowsRead) == [30, 70, 40])
    try StoreConnection.immutable(FilePath(given.document.shard)).run { db in
      for piece in manifest.pieces {
        let digest = try RowDigest(of: "SELECT * FROM \(piece.table)", in: db)
        #expect(digest.sum == piece.digest && digest.rows == piece.rowsWritten)
      }
      #expect(
        try Row.fetchOne(db, sql: "SELECT Z_PK, Z_ENT, Z_OPT, ZNAME FROM p6 ORDER BY 1")
          == ["Z_PK": 31, "Z_ENT": 2, "Z_OPT": 1, "ZNAME": "name 31"])
    }
  }

  @Test func `a worker that is cancelled makes no manifest`() throws {
    let given = try GivenOrder(in: folder, rows: 10, pairs: 3)
    let worker = Worker(document: given.document, link: GivenLink())
    worker.cancel()
    #expect(throws: CancellationError.self) { try worker.makeShard() }
  }

  @Test func `a worker that waits for a held run ends when it is cancelled`() throws {
    let given = try GivenOrder(in: folder, rows: 10, pairs: 3)
    let link = GivenLink(pace: WorkPace(isHeld: true))
    let worker = Worker(document: given.document, link: link)
    let failure = Mutex<(any Error)?>(nil)
    // Not a task: those of other tests may wait for minutes.
    let thread = try #require(
      BackgroundThread {
        do { try worker.makeShard() } catch { failure.withLock { $0 = error } }
      })
    let deadline = ContinuousClock.now + .seconds(60)
    while link.reports.last?.isPaused != true, ContinuousClock.now < deadline { usleep(5_000) }
    worker.cancel()
    thread.join()
    #expect(failure.withLock { $0 is CancellationError })
    #expect(link.reports.last?.rows == 0)
  }

  @Test func `a worker reports how far it is, and at last all of it`() throws {
    let given = try GivenOrder(in: folder, rows: 100, pairs: 40)
    let link = GivenLink()
    try Worker(document: given.document, link: link).makeShard()
    let last = try #require(link.reports.last)
    #expect(last.rows == 140 && last.bytes == 1400 && !last.isPaused)
    #expect(last.table == "Z_2CS" && last.peakMemory > 0)
    let quiet = GivenLink()
    try Worker(document: given.document, link: quiet, isInCoordinator: true).makeShard()
    #expect(quiet.reports.isEmpty)
  }

  @Test func `nothing but the shard is left, and the source is as it was`() throws {
    let given = try GivenOrder(in: folder, rows: 10, pairs: 3)
    let source = try Files.readFile(FilePath(given.document.source), limit: 1 << 20)
    try Worker(document: given.document, link: GivenLink()).makeShard()
    #expect(try Files.readFile(FilePath(given.document.source), limit: 1 << 20) == source)
    #expect(
      try Files.listDirectory(folder).map(\.string) == ["shard-2.1.sqlite", "source.sqlite"])
  }

  @Test(arguments: [1, 2, 7, 39, 40, 41]) func `batches of any size give the same rows`(
    batch: Int
  ) throws {
    let given = try GivenOrder(in: folder, rows: 100, pairs: 40)
    let whole = try Worker(document: given.document, link: GivenLink()).makeShard()
    var writer = try SQLShardWriter(given.document, batchRows: batch)
    var results: [ShardManifest.PieceResult] = []
    for piece in given.document.order.pieces {
      var heard: Int64 = 0
      var lastKeys: [Int64] = []
      let result = try writer.write(piece) { rows, key in
        heard += rows
        lastKeys.append(key)
      }
      #expect(heard == result.rowsWritten)
      #expect(lastKeys == lastKeys.sorted())
      results.append(result)
    }
    _ = try writer.finish()
    #expect(results == whole.pieces)
  }

  @Test(arguments: [1, 2, 7]) func `keys of pairs that are no integers go over in batches too`(
    batch: Int
  ) throws {
    let given = try GivenOrder(in: folder, rows: 1, pairs: 10)
    try given.change(
      """
      INSERT INTO Z_1BS VALUES ('abc', 1), ('abc', 'd'), (x'FF', 1), (1.5, 2), (1, 'text'),
      (CAST(x'610062' AS TEXT), 1), (CAST(x'FF61' AS TEXT), 1), (9e999, x'')
      """)
    var writer = try SQLShardWriter(given.document, batchRows: batch)
    let piece = try #require(given.document.order.pieces.last)
    let result = try writer.write(piece) { _, _ in }
    _ = try writer.finish()
    #expect(result.rowsRead == 18 && result.rowsWritten == 18)
  }

  @Test func `columns of other types than Core Data's have their values made others of`() throws {
    let given = try GivenOrder(in: folder, rows: 1, pairs: 40)
    try given.change(
      """
      CREATE TABLE odd (Z_1AS VARCHAR, Z_2BS VARCHAR, PRIMARY KEY (Z_1AS, Z_2BS));
      INSERT INTO odd SELECT * FROM Z_1BS;
      INSERT INTO odd VALUES ('x', '007');
      DROP TABLE Z_1BS; ALTER TABLE odd RENAME TO Z_1BS
      """)
    let manifest = try Worker(document: given.document, link: GivenLink()).makeShard()
    #expect(manifest.pieces.last?.rowsWritten == 41)
    let types = try StoreConnection.immutable(FilePath(given.document.shard)).run { db in
      try String.fetchAll(db, sql: "SELECT DISTINCT typeof(Z_3CS) FROM p9")
    }
    #expect(types == ["integer"])
  }

  @Test func `a shard of an earlier attempt is no obstacle`() throws {
    let given = try GivenOrder(in: folder, rows: 10, pairs: 3)
    try Files.writeFileAtomically(Array("half a shard".utf8), to: FilePath(given.document.shard))
    #expect(try Worker(document: given.document, link: GivenLink()).makeShard().pieces.count == 3)
  }

  @Test func `an order without its statement is refused`() throws {
    var document = try GivenOrder(in: folder, rows: 10, pairs: 3).document
    document.createStatements["ZB"] = nil
    #expect(throws: ShardError(.orderIncomplete, table: "ZB")) {
      try Worker(document: document, link: GivenLink()).makeShard()
    }
  }

  @Test func `an order that cannot be read is refused`() throws {
    for text in ["", "{}", "nonsense"] {
      let error = #expect(throws: ShardError.self) { try Worker.decode(Array(text.utf8)) }
      guard case .orderUnreadable? = error?.problem else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
    let document = try GivenOrder(in: folder, rows: 1, pairs: 0).document
    #expect(try Worker.decode(Array(JSONEncoder().encode(document))) == document)
  }

  // MARK: External files

  private func external(_ value: String) throws -> WorkOrderDocument {
    try GivenOrder(in: folder, externalValue: value).document
  }

  @Test func `a value comes out of its external file`() throws {
    let name = "6E2B4C1A-0000-4000-8000-00000000000A"
    let files = folder.appending(".source_SUPPORT").appending("_EXTERNAL_DATA")
    try Files.createDirectory(Files.parent(of: files))
    try Files.createDirectory(files)
    let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
    try Files.writeFileAtomically(bytes, to: files.appending(name))
    let document = try external("CAST(x'02' || '\(name)' || x'00' AS BLOB)")
    try Worker(document: document, link: GivenLink()).makeShard()
    let found = try StoreConnection.immutable(FilePath(document.shard)).run { db in
      try Data.fetchOne(db, sql: "SELECT ZX FROM p1")
    }
    #expect(found.map { [UInt8]($0) } == bytes)
  }

  @Test(arguments: ["CAST(x'02' || '../../etc/passwd' AS BLOB)", "x'02'", "x'0200'", "x'02ff00'"])
  func `a name that leads elsewhere is damage`(value: String) throws {
    let document = try external(value)
    #expect(throws: (any Error).self) {
      try Worker(document: document, link: GivenLink()).makeShard()
    }
  }
}
