import GRDB
import MigrationWorker
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// What workers make of a source whose pages are damaged.
@Suite(.scratchFolder) struct DamagedSourceTests {
  private var folder: FilePath { ScratchFolder.current }

  private func order(pages: Bool) throws -> WorkOrderDocument {
    var document = try GivenOrder(in: folder, rows: 1000, pairs: 400).document
    if pages {
      let (result, claims) = (folder.appending("result.sqlite"), folder.appending("claims"))
      for path in [result, claims] { try Files.writeFileAtomically([], to: path) }
      document.engine = PageEngine.name
      document.task = EnginePayload(
        PageWork(
          file: result.string, claims: claims.string, firstPage: 20, indexes: [:],
          rowsBefore: [9: 0], syncs: false, isDirect: false))
    }
    return document
  }

  @Test(arguments: [false, true])
  func `a page that is written over ends the worker, or changes nothing`(pages: Bool) throws {
    let document = try order(pages: pages)
    let source = FilePath(document.source)
    let whole = try Files.readFile(source, limit: 1 << 24)
    let expected = try Worker(document: document, link: GivenLink()).makeShard().pieces.map(
      \.rowsWritten)
    #expect(expected == [30, 970, 400])
    var refused = 0
    for page in 1..<whole.count / 4096 {
      for filling in [0xff, 0, 13] as [UInt8] {
        var bytes = whole
        for at in page * 4096..<page * 4096 + 4096 { bytes[at] = filling }
        try Files.writeFileAtomically(bytes, to: source)
        do {
          let found = try Worker(document: document, link: GivenLink()).makeShard().pieces.map(
            \.rowsWritten)
          #expect(found == expected, "page \(page + 1) of \(filling)")
        } catch {
          refused += 1
        }
      }
    }
    #expect(refused > 10, "\(refused) refused")
  }

  @Test(arguments: [false, true])
  func `a source that is cut ends the worker`(pages: Bool) throws {
    let document = try order(pages: pages)
    let source = FilePath(document.source)
    let whole = try Files.readFile(source, limit: 1 << 24)
    for count in [0, 50, 100, 4096, 8192, whole.count / 2] {
      try Files.writeFileAtomically(Array(whole[..<count]), to: source)
      #expect(throws: (any Error).self, "\(count) bytes") {
        try Worker(document: document, link: GivenLink()).makeShard()
      }
    }
  }

  @Test func `rows that SQLite cannot read are an error, and no end of the rows`() throws {
    let source = FilePath(try order(pages: false).source)
    var bytes = try Files.readFile(source, limit: 1 << 24)
    let connection = try StoreConnection.immutable(source)
    let root = try connection.run { db in
      try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'ZA'") ?? 0
    }
    let rows = try connection.run { db in
      let reader = try RowReader(sql: "SELECT * FROM ZA", in: db)
      var rows: Int64 = 0
      while try reader.next() {
        rows += 1
        #expect(reader.fields[0].integer == rows && reader.fields[3].isText)
      }
      return rows
    }
    #expect(rows == 1000)
    // The last leaf is lost, after rows that can be read.
    let pointer = (root - 1) * 4096 + 8
    let leaf = bytes[pointer..<pointer + 4].reduce(0) { $0 << 8 | Int($1) }
    for at in (leaf - 1) * 4096..<leaf * 4096 { bytes[at] = 0xff }
    try Files.writeFileAtomically(bytes, to: source)
    var read = 0
    #expect(throws: (any Error).self) {
      try StoreConnection.immutable(source).run { db in
        let reader = try RowReader(sql: "SELECT * FROM ZA", in: db)
        while try reader.next() { read += 1 }
      }
    }
    #expect(read > 0 && read < 1000)
  }
}
