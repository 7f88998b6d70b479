import GRDB
import MigrationEngine
import Planning
import RowPrograms
import StoreFormat
import SystemCalls
import SystemPackage

/// The places of rows in relationships that had no order, made before the rows are written.
struct OrderPlaces {
  let program: MigrationProgram
  let source: FilePath
  let encoding: TextEncoding
  let memory: Int64
  let dropped: DroppedKeys?

  /// Makes the file with them, unless there are none or it is there.
  func write(to path: FilePath) throws {
    guard !program.orderFills.isEmpty, try Files.fileStatusIfPresent(path) == nil else { return }
    let unfinished = FilePath("\(path).making")
    try Files.remove(unfinished)
    let connection = try StoreConnection.scratch(
      unfinished, cacheBytes: memory / 4, textEncoding: encoding.rawValue)
    try connection.perform { db in
      if let dropped { DroppedKeyReader(dropped).install(in: db) }
      try db.execute(
        sql: "ATTACH ? AS src", arguments: [StoreConnection.uri(reading: source)])
      for statement in program.numbering(schema: "src") { try db.execute(sql: statement) }
      try db.execute(sql: "DETACH src")
    }
    do { try connection.queue.close() } catch { throw connection.failure(error: error) }
    try Files.syncFile(unfinished)
    try Files.renameNoReplace(unfinished, to: path)
  }
}
