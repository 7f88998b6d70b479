import GRDB
import StoreFormat
import SystemPackage
import TestSupport
import Testing

/// What is asked of many tables at once.
@Suite(.scratchFolder) struct StoreReaderTests {
  private let path = ScratchFolder.current.appending("Store.sqlite")

  private func reader(_ statements: [String]) throws -> StoreReader {
    do {
      let queue = try DatabaseQueue(path: path.string)
      try queue.write { db in
        for statement in [
          "CREATE TABLE Z_METADATA (Z_VERSION)", "CREATE TABLE Z_PRIMARYKEY (Z_ENT)",
        ] + statements {
          try db.execute(sql: statement)
        }
      }
      try queue.close()
    }
    return try StoreReader(immutable: path)
  }

  @Test(arguments: [0, 1, 99, 100, 101, 250])
  func `numbers come in the order of their queries, and 0 where there is none`(count: Int) throws {
    let reader = try reader([])
    let queries = (0..<count).map { $0 % 7 == 3 ? "SELECT 1 WHERE 0" : "SELECT \($0)" }
    let expected = (0..<count).map { $0 % 7 == 3 ? 0 : Int64($0) }
    #expect(try reader.numbers(sql: queries) == expected)
  }

  @Test func `many tables are counted and looked up at once`() throws {
    let names = (0..<120).map { "ZT\($0)" }
    let reader = try reader(
      names.indices.flatMap { place in
        let ones = Array(repeating: "1", count: place % 5).joined(separator: ",")
        return [
          "CREATE TABLE \(names[place]) (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER)",
          "INSERT INTO \(names[place]) (Z_ENT) SELECT 1 FROM json_each('[\(ones)]')",
          "CREATE INDEX \(names[place])_BY ON \(names[place]) (Z_ENT) WHERE Z_PK < 0",
        ]
      })
    let expected = names.indices.map { Int64($0 % 5) }
    #expect(try reader.rowCounts(ofTables: names, by: .rows) == expected)
    #expect(try reader.rowCounts(ofTables: names, by: .index) == expected)
    let entries = try reader.tableEntries()
    #expect(Set(entries.keys) == Set(names + ["Z_METADATA", "Z_PRIMARYKEY"]))
    for name in names {
      let root = try reader.number(
        sql: "SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'")
      #expect(entries[name]?.root == root)
      #expect(entries[name]?.statement.hasPrefix("CREATE TABLE \(name) ") == true)
    }
  }
}
