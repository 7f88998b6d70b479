import Foundation
import GRDB
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct StoreDiagnosisTests {
  @Test(arguments: [0xFFFE, 0x0FFF, 0x0001, 0x0FFA, 0x7000] as [Int])
  func `a cell that lies nowhere is found in its table, wherever it points`(place: Int) throws {
    let path = ScratchFolder.current.appending("Some.sqlite")
    let made = try StoreConnection.writable(path)
    try made.run { db in
      try db.execute(sql: "CREATE TABLE whole (x TEXT); CREATE TABLE hurt (x TEXT)")
      for table in ["whole", "hurt"] {
        try db.execute(
          sql: """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
            INSERT INTO \(table) SELECT 'row ' || i FROM n
            """)
      }
    }
    try made.queue.close()
    let url = URL(filePath: path.string)
    var bytes = try Data(contentsOf: url)
    // The third page is the only leaf of the second table.
    bytes.replaceSubrange(8192 + 8..<8192 + 10, with: [UInt8(place >> 8), UInt8(place & 255)])
    try bytes.write(to: url)
    // The memory behind a page decides how far SQLite gets.
    for _ in 0..<20 {
      let connection = try StoreConnection.immutable(path)
      let findings = try StoreDiagnosis(connection).findings()
      #expect(findings.contains { $0.table == "hurt" })
      #expect(!findings.contains { $0.table == "whole" })
      try connection.queue.close()
    }
  }
}
