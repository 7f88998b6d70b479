import Foundation
import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

/// Pages over a store read as the store will be, and SQLite undoes what puts them in their places.
@Suite(.scratchFolder) struct RollbackJournalTests {
  private let store = ScratchFolder.current.appending("Store.sqlite")
  private let pages = ScratchFolder.current.appending("pages")

  private func make(_ statements: String) throws {
    let connection = try StoreConnection.scratch(store, cacheBytes: 1 << 20)
    try connection.run { db in
      try db.execute(
        sql: """
          CREATE TABLE a (k INTEGER PRIMARY KEY, v); CREATE TABLE b (v); \(statements);
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
          INSERT INTO a SELECT i, hex(i * 7919) FROM n
          """)
    }
    try connection.queue.close()
  }

  private func edit(_ statements: String) throws {
    try PageEdit.make(of: store, at: pages)
    let connection = try StoreConnection.scratch(pages, cacheBytes: 1 << 20)
    try connection.run { try $0.execute(sql: statements) }
    try connection.queue.close()
  }

  private func answer(_ path: FilePath, _ sql: String) throws -> [String] {
    try StoreConnection.immutable(path).run { try String.fetchAll($0, sql: sql) }
  }

  private func bytes(_ path: FilePath) throws -> [UInt8] {
    try Files.readFile(path, limit: 1 << 28)
  }

  private static let statements = [
    "UPDATE a SET v = 'x' WHERE k % 100 = 3",
    "DROP TABLE a; CREATE TABLE c (v); INSERT INTO c VALUES (1)",
    "INSERT INTO b SELECT randomblob(5000) FROM a",
    "DELETE FROM a; PRAGMA incremental_vacuum",
    "CREATE INDEX i ON a (v)",
  ]

  @Test(arguments: statements)
  func `an edit leaves the store alone until it is written, and SQLite undoes it`(
    statements: String
  ) throws {
    try make("")
    let before = try bytes(store)
    let schema = "SELECT coalesce(sql, name) || rootpage FROM sqlite_schema ORDER BY 1"
    try edit(statements)
    #expect(try bytes(store) == before)
    #expect(try answer(pages, "PRAGMA integrity_check") == ["ok"])
    let expected = try answer(pages, schema)
    let edit = try StoreEdit(pages)
    try edit.writeJournal(note: Array("note".utf8))
    #expect(try bytes(store) == before)
    try edit.write(modified: 1_700_000_000_123_456_789)
    let status = try Files.fileStatus(store)
    #expect(status.size == edit.bytesAfter && status.modified == 1_700_000_000_123_456_789)
    let journal = RollbackJournal.path(of: store)
    let kept = ScratchFolder.current.appending("kept")
    try Files.rename(journal, to: kept)
    #expect(try answer(store, "PRAGMA integrity_check") == ["ok"])
    #expect(try answer(store, schema) == expected)
    let read = try #require(try RollbackJournal(kept))
    #expect(read.note == Array("note".utf8) && Int64(read.pageCount) * 4096 == edit.bytesBefore)
    #expect(try read.checksum(ofPagesIn: store) == edit.checksumAfter)
    try Files.rename(kept, to: journal)
    try StoreEdit.undo(store)
    let isSame = try bytes(store) == before
    #expect(isSame)
    #expect(try Files.fileStatusIfPresent(journal) == nil)
  }

  @Test func `any SQLite undoes half of an edit`() throws {
    try make("")
    let before = try bytes(store)
    try edit(Self.statements[1])
    let edit = try StoreEdit(pages)
    try edit.writeJournal(note: [])
    let file = try Files.open(store, mode: .readWrite)
    try file.closeAfter {
      _ = try file.writeAll(toAbsoluteOffset: 4096, [UInt8](repeating: 7, count: 9000))
    }
    let connection = try StoreConnection.writable(store)
    #expect(try connection.run { try Int64.fetchOne($0, sql: "SELECT count(*) FROM a") } == 2000)
    try connection.queue.close()
    let isSame = try bytes(store) == before
    #expect(isSame)
  }

  @Test func `pages over the pages of a log are those of both`() throws {
    try make("")
    let copy = ScratchFolder.current.appending("Copy.sqlite")
    let connection = try StoreConnection.writable(store)
    try connection.run { db in
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
      try db.execute(sql: "PRAGMA wal_autocheckpoint = 0; UPDATE a SET v = 'log' WHERE k < 500")
    }
    try Files.cloneOrCopy(from: store, to: copy)
    try Files.cloneOrCopy(from: FilePath("\(store)-wal"), to: FilePath("\(copy)-wal"))
    try connection.queue.close()
    let log = ScratchFolder.current.appending("log.pages")
    #expect(try WALPages.write(of: copy, to: log) == .written)
    try PageEdit.make(of: log, at: pages)
    try SourceFile.setHeader([(HeaderField.writeVersion, [1, 1])], of: pages)
    let edited = try StoreConnection.scratch(pages, cacheBytes: 1 << 20)
    try edited.run { try $0.execute(sql: "UPDATE a SET v = 'edit' WHERE k > 1900") }
    try edited.queue.close()
    #expect(
      try answer(pages, "SELECT v || count(*) FROM a WHERE v IN ('log', 'edit') GROUP BY v")
        == ["edit100", "log499"])
    #expect(try answer(log, "SELECT count(*) || '' FROM a WHERE v = 'edit'") == ["0"])
  }

  @Test(arguments: ["", "SQLite format 3\0", "\u{D9}"])
  func `another file is no journal of an edit`(text: String) throws {
    try Files.writeFileAtomically(Array(text.utf8) + [UInt8](repeating: 0, count: 2000), to: pages)
    #expect(try RollbackJournal(pages) == nil)
  }

  @Test func `a journal that was cut or whose note was changed is none`() throws {
    try make("")
    try edit(Self.statements[0])
    try StoreEdit(pages).writeJournal(note: [1, 2, 3])
    let journal = RollbackJournal.path(of: store)
    let whole = try bytes(journal)
    #expect(try RollbackJournal(journal)?.note == [1, 2, 3])
    for cut in [1, 12, 15, 4096] {
      try Files.writeFileAtomically(Array(whole.dropLast(cut)), to: journal)
      #expect(try RollbackJournal(journal) == nil, "\(cut)")
    }
  }
}
