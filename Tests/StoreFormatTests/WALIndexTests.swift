import TestSupport
import Testing

@testable import StoreFormat

struct WALIndexTests {
  @Test func `of each page the last committed frame is kept`() throws {
    var random = SeededRandom(seed: 8)
    var index = WALIndex()
    var committed: [UInt32: UInt32] = [:]
    var pending: [UInt32: UInt32] = [:]
    var size: UInt32 = 0
    for frame in 0..<UInt32(300_000) {
      let page = UInt32.random(in: 1...9000, using: &random)
      let isCommit = UInt32.random(in: 0..<5000, using: &random) == 0
      pending[page] = frame
      if isCommit {
        size = UInt32.random(in: 5000...9000, using: &random)
        committed.merge(pending) { $1 }
        pending = [:]
      }
      let hasRoom = index.add(page: page, size: isCommit ? size : 0)
      #expect(hasRoom)
    }
    #expect(index.pageCount == size)
    let entries = try #require(index.finished())
    let expected = committed.filter { $0.key <= size }.sorted { $0.key < $1.key }
    #expect(entries == expected.map { UInt64($0.key) << 32 | UInt64($0.value) })
  }

  @Test(arguments: [true, false]) func `a log of too many pages is told from one of many frames`(
    commits: Bool
  ) {
    let most: UInt32 = 100_000
    var index = WALIndex(limit: Int(most))
    for page in 1...most {
      guard index.add(page: page, size: commits && page % 30_000 == 0 ? page : 0) else {
        Issue.record("there is room for \(most) pages")
        return
      }
    }
    var added: UInt32 = 0
    while added < 4 * most, index.add(page: most + added % (2 * most), size: 0) { added += 1 }
    #expect(added < 4 * most)
  }
}
