package import GRDB
package import SystemPackage

/// One open SQLite file.
package struct StoreConnection: Sendable {
  package let path: FilePath
  package let queue: DatabaseQueue

  /// Opens a store that nobody changes: no locks, and nothing is left beside it.
  ///
  /// A `-wal` is ignored, so there must be none with anything in it.
  package static func immutable(_ path: FilePath) throws(StoreError) -> StoreConnection {
    var configuration = Configuration()
    configuration.readonly = true
    return try open(path, uri: uri(path: path) + "?immutable=1", base: configuration)
  }

  /// Opens a store for reading and writing, in whatever journal mode it is.
  package static func writable(_ path: FilePath) throws(StoreError) -> StoreConnection {
    try open(path, uri: uri(path: path), base: Configuration())
  }

  /// Opens or makes a file that is thrown away if anything fails: nothing can be rolled back in it.
  ///
  /// - Parameter textEncoding: as a header names it; only files of one encoding can be attached to
  ///   each other.
  package static func scratch(
    _ path: FilePath, cacheBytes: Int64, textEncoding: UInt32 = 1
  ) throws(StoreError) -> StoreConnection {
    let connection = try open(path, uri: uri(path: path), base: Configuration())
    try connection.run { db in
      // Incremental vacuum must be chosen before the first table; the others trade safety, which
      // a file without a manifest does not need, for speed.
      for pragma in [
        "encoding = '\(encodingName(number: textEncoding))'", "page_size = 4096", "auto_vacuum = 2",
        "journal_mode = OFF", "synchronous = OFF",
        "locking_mode = EXCLUSIVE", "secure_delete = OFF", "temp_store = FILE",
        "cache_size = -\(max(512, cacheBytes / 1024))",
      ] {
        try db.execute(sql: "PRAGMA \(pragma)")
      }
    }
    return connection
  }

  private static func encodingName(number: UInt32) -> String {
    switch number {
    case 2: "UTF-16le"
    case 3: "UTF-16be"
    default: "UTF-8"
    }
  }

  /// Runs a block with the database, without a transaction of its own.
  package func run<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
    do {
      return try queue.writeWithoutTransaction(body)
    } catch {
      throw failure(error: error)
    }
  }

  /// Runs a block whose own errors come out as they are; only those of SQLite become this store's.
  package func perform<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try queue.writeWithoutTransaction(body)
    } catch let error as DatabaseError {
      throw failure(error: error)
    }
  }

  /// The error as a fact about this store.
  package func failure(error: any Error) -> StoreError {
    if let error = error as? StoreError { return error }
    guard let error = error as? DatabaseError else {
      return StoreError(problem: .damaged, store: path, cause: error)
    }
    return StoreError(problem: Self.problem(error: error), store: path, cause: error)
  }

  fileprivate static func problem(error: DatabaseError) -> StoreError.Problem {
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED: .inUse
    case .SQLITE_FULL: .diskFull
    case .SQLITE_IOERR: .cannotWrite
    case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH: .notPermitted
    case .SQLITE_NOMEM: .outOfMemory
    case .SQLITE_NOTADB: .unrecognized
    default: .damaged
    }
  }

  private static func open(
    _ path: FilePath, uri: String, base: Configuration
  ) throws(StoreError) -> StoreConnection {
    var configuration = base
    configuration.foreignKeysEnabled = false
    configuration.observesSuspensionNotifications = false
    do {
      return StoreConnection(
        path: path, queue: try DatabaseQueue(path: uri, configuration: configuration))
    } catch {
      throw StoreConnection.openFailure(error, path: path)
    }
  }

  private static func openFailure(_ error: any Error, path: FilePath) -> StoreError {
    guard let error = error as? DatabaseError else {
      return StoreError(problem: .cannotRead, store: path, cause: error)
    }
    switch error.resultCode {
    case .SQLITE_NOTADB: return StoreError(problem: .unrecognized, store: path, cause: error)
    case .SQLITE_CORRUPT: return StoreError(problem: .damaged, store: path, cause: error)
    case .SQLITE_BUSY: return StoreError(problem: .inUse, store: path, cause: error)
    case .SQLITE_FULL: return StoreError(problem: .diskFull, store: path, cause: error)
    case .SQLITE_NOMEM: return StoreError(problem: .outOfMemory, store: path, cause: error)
    case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY:
      return StoreError(problem: .notPermitted, store: path, cause: error)
    default: return StoreError(problem: .cannotRead, store: path, cause: error)
    }
  }

  /// The path as a URI for SQLite, in which some characters mean something else.
  package static func uri(path: FilePath) -> String {
    var result = "file:"
    for character in path.string {
      switch character {
      case "%": result += "%25"
      case "?": result += "%3f"
      case "#": result += "%23"
      default: result.append(character)
      }
    }
    return result
  }
}

extension StoreError {
  /// An error of SQLite that no connection of this module has put into a fact; nil of any other.
  package init?(ofSQLite error: any Error) {
    guard let error = error as? DatabaseError else { return nil }
    self.init(problem: StoreConnection.problem(error: error), store: "the database", cause: error)
  }
}

extension StoreConnection {
  /// Marks a finished store as one that uses a write-ahead log; nothing stays beside it.
  package static func setWAL(_ path: FilePath) throws(StoreError) {
    let connection = try writable(path)
    try connection.run { db in
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
    }
    do { try connection.queue.close() } catch { throw connection.failure(error: error) }
  }
}
