import Foundation
import GRDB
import SystemPackage
import Testing

/// The bytes of a copy of a sound store without its free pages.
func vacuumed(_ store: FilePath) throws -> Data {
  let copy = "\(store).vacuumed"
  try? FileManager.default.removeItem(atPath: copy)
  try DatabaseQueue(path: "file:\(store)?immutable=1").writeWithoutTransaction { db in
    #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
    try db.execute(sql: "VACUUM INTO ?", arguments: [copy])
  }
  return try Data(contentsOf: URL(filePath: copy))
}
