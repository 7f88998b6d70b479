import GRDB
import MigrationEngine
import Schema
import StoreFormat
import Synchronization
import SystemPackage

/// A store in memory in which SQLite has made the tables and indexes of a schema, without a row.
///
/// Making them takes longer than copying the rows of a small store, so a process keeps some for
/// other stores of the same schema.
struct EmptyStore: Sendable {
  private let connection: StoreConnection
  /// The root pages of the tables and indexes.
  private let roots: [String: UInt32]
  /// All statements that made it, and the encoding of its texts.
  private let key: [UInt8]

  private static let idle = Mutex<[EmptyStore]>([])
  /// As many as the stores that a fleet's worker migrates at a time.
  private static let capacity = 8
  /// The bytes of a store that is worth its memory.
  private static let mostBytes = 1 << 20

  /// The bytes of a store without objects, and the root pages of its tables and indexes.
  static func contents(
    schema: StoreSchema, encoding: TextEncoding, frame: StoreFrame
  ) throws -> (roots: [String: UInt32], bytes: [UInt8]) {
    let key = key(of: schema, encoding: encoding)
    let known = idle.withLock { idle in
      idle.lastIndex { $0.key == key }.map { idle.remove(at: $0) }
    }
    let store = try known ?? EmptyStore(schema, encoding: encoding, key: key)
    let bytes = try store.bytes(schema, frame: frame)
    if bytes.count <= mostBytes {
      idle.withLock { idle in
        if idle.count >= capacity { idle.removeFirst() }
        idle.append(store)
      }
    }
    return (store.roots, bytes)
  }

  private static func key(of schema: StoreSchema, encoding: TextEncoding) -> [UInt8] {
    var key = [UInt8(truncatingIfNeeded: encoding.rawValue)]
    let statements =
      schema.keyedTables.map(\.createStatement) + schema.joinTables.map(\.createStatement)
      + schema.allIndexes.map(\.createStatement)
    for statement in statements {
      key += statement.utf8
      key.append(0)
    }
    return key
  }

  private init(_ schema: StoreSchema, encoding: TextEncoding, key: [UInt8]) throws {
    connection = try StoreConnection.scratch(
      FilePath(":memory:"), cacheBytes: 2 << 20, textEncoding: encoding.rawValue)
    roots = try connection.run { db in
      try StoreWriter.together(in: db) {
        try StoreWriter.createTables(schema, in: db)
        try StoreWriter.createIndexes(schema, in: db)
      }
      // Without a journal the rows of a store would stay.
      try db.execute(sql: "PRAGMA journal_mode = MEMORY")
      return try StoreWriter.roots(in: db)
    }
    self.key = key
  }

  /// The bytes of the store with Core Data's own rows, which it has only meanwhile.
  private func bytes(_ schema: StoreSchema, frame: StoreFrame) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try connection.run { db in
      try db.inSavepoint {
        try StoreWriter.writePrimaryKeys(schema, maxima: frame.maxima, in: db)
        try StoreWriter.writeMetadata(frame.metadata, modelCache: frame.modelCache, in: db)
        try StoreWriter.write(frame.appNumbers, in: db)
        bytes = try StoreConnection.bytes(of: db)
        return .rollback
      }
    }
    return bytes
  }
}
