import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct LeafRoomTests {
  @Test(arguments: [
    [10], [900], [1_350], [2_000], [2_040], [3_000], [4_020], [4_100], [8_000], [8_300], [100_000],
    [3_000, 500], [100, 3_990], [2_000, 1_950, 12_000], [1, 70_000, 4_000],
  ]) func `what values take is what SQLite gives them`(sizes: [Int]) throws {
    let path = ScratchFolder.current.appending("Some.sqlite")
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    var room = LeafRoom(rowBytes: 12)
    let rows = 2_000
    try connection.run { db in
      try db.execute(sql: "CREATE TABLE t (Z_PK INTEGER PRIMARY KEY, a, b)")
      for row in 0..<rows {
        try db.execute(
          sql: "INSERT INTO t VALUES (?, 123456, zeroblob(?))",
          arguments: [row + 70_000, sizes[row % sizes.count]])
        room.add(Int64(sizes[row % sizes.count]))
      }
    }
    try connection.queue.close()
    let found = try #require(try Files.fileStatusIfPresent(path)).size
    let told = room.bytesAdded + Int64(rows) * 12
    #expect(Double(told) >= Double(found) * 0.97 - 8192)
    #expect(Double(told) <= Double(found) * 1.03 + 8192)
  }

  @Test func `files of any size are summed up without a trap`() {
    var room = LeafRoom(rowBytes: .max)
    for size in [Int64.max, .max, .min, -1, 0, 1 << 62] { room.add(size) }
    #expect(room.bytesAdded > 1 << 47)
    #expect(LeafRoom(rowBytes: -1).bytesAdded == 0)
  }
}
