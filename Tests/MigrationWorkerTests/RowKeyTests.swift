import GRDB
import MigrationEngine
import RowPrograms
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct RowKeyTests {
  private static let keys: [Int64] =
    [.min, -4097, -4096, -1, 0, 1, 4095, 4096, 1 << 40, .max] + Array(10_000..<11_000)

  @Test func `keys that lie close and far apart are found, and their neighbours are not`() throws {
    let rows = UntakenRows(table: "ZITEM", mappings: [2, 0])
    let dropped = try RowKeys()
    let writer = RowKeyWriter(dropped)
    for key in Self.keys.sorted() { try writer.add(key, table: rows.name) }
    // Objects of another entity of the table come after them, from the lowest key on.
    for key in [Int64(-2), 2, 10_500, 12_000] { try writer.add(key, table: rows.name) }
    try writer.add(3, table: "ZOTHER")
    try writer.finish()
    let path = ScratchFolder.current.appending("dropped.sqlite")
    try dropped.write(to: path)
    for set in [dropped, try RowKeys(file: path)] {
      let reader = RowKeyReader(set)
      let table = reader.table(rows.name)
      let all = Set(Self.keys + [-2, 2, 10_500, 12_000])
      for key in all { #expect(table.contains(key) == true, "\(key)") }
      for key in all {
        for near in [key &- 1, key &+ 1] { #expect(table.contains(near) == all.contains(near)) }
      }
      #expect(table.contains(3) == false)
      #expect(reader.table("ZOTHER").contains(3) == true)
      #expect(reader.table("ZNONE").contains(3) == false)
      let queue = try DatabaseQueue()
      try queue.writeWithoutTransaction { db in
        reader.install(in: db)
        let sql = "SELECT \(rows.exclusion(key: "column1")) FROM (VALUES "
        let found = try Bool.fetchAll(db, sql: sql + "(1), (3), (NULL), ('1'), (4096))")
        #expect(found == [false, true, true, true, false])
      }
    }
  }

  @Test func `more chunks than are held are looked up again`() throws {
    let dropped = try RowKeys()
    let writer = RowKeyWriter(dropped)
    for place in Int64(0)..<20_000 { try writer.add(place * 5000, table: "ZITEM") }
    try writer.finish()
    let table = RowKeyReader(dropped)
    let keys = table.table("ZITEM")
    for _ in 0..<2 {
      for place in Int64(0)..<20_000 {
        #expect(keys.contains(place * 5000) == true)
        #expect(keys.contains(place * 5000 + 1) == false)
      }
    }
  }
}
