import Foundation
package import GRDB
import GRDBSQLite
package import SystemCalls
package import SystemPackage

/// An open SQLite database.
package struct StoreConnection: Sendable {
  /// The path of the file.
  package let path: FilePath
  /// GRDB's queue, on which all access to the connection is serial.
  package let queue: DatabaseQueue

  /// Opens a store with `immutable=1`: no locks are taken, and no file is created next to it.
  ///
  /// A `-wal` is ignored, so there must be none with contents.
  package static func immutable(_ path: FilePath) throws(StoreError) -> StoreConnection {
    var configuration = Configuration()
    configuration.readonly = true
    let uri: String
    do throws(SystemCallError) {
      uri = try self.uri(reading: path)
    } catch {
      throw StoreError(reading: path, cause: error)
    }
    return try open(path, uri: uri, base: configuration)
  }

  /// Opens a store for reading and writing, in its own journal mode.
  package static func writable(_ path: FilePath) throws(StoreError) -> StoreConnection {
    try open(path, uri: uri(path: path), base: Configuration())
  }

  /// Opens a store that this process has locked against all others, in whatever journal mode it is.
  package static func sole(_ path: FilePath) throws(StoreError) -> StoreConnection {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      // A log without the locks of its index needs no index.
      try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
    }
    return try open(path, uri: uri(path: path) + "?vfs=unix-none", base: configuration)
  }

  /// Opens or creates a file without a journal, which is deleted if anything fails.
  ///
  /// - Parameters:
  ///   - cacheBytes: the size of SQLite's page cache, at least 512 KiB.
  ///   - textEncoding: as in the header of an SQLite file; attached files have to agree in it.
  ///   - pageSize: the bytes of a page.
  ///   - vacuum: as `PRAGMA auto_vacuum` has it; 2 is incremental.
  ///   - memory: what the process may occupy, in bytes; longer rows than fit are refused, with
  ///     `StoreError.Problem.rowTooLong`.
  package static func scratch(
    _ path: FilePath, cacheBytes: Int64, textEncoding: UInt32 = 1, pageSize: Int = 4096,
    vacuum: Int = 2, memory: Int64? = nil
  ) throws(StoreError) -> StoreConnection {
    let isFile = !path.isEmpty && path != ":memory:"
    if isFile { try makeFile(at: path) }
    let uri = isFile ? try uri(editing: path) : uri(path: path)
    let connection = try open(path, uri: uri, base: Configuration())
    try connection.run { db in
      if let memory { limitRows(of: db, memory: memory) }
      // The first ones trade safety for speed, since a file without a manifest needs no safety.
      // Incremental vacuum must be set before the first table. It writes the first page, which
      // would be journaled and synced without the earlier pragmas.
      let pragmas = [
        "journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE",
        "encoding = '\(encodingName(number: textEncoding))'", "page_size = \(pageSize)",
        "auto_vacuum = \(vacuum)", "secure_delete = OFF", "temp_store = FILE",
        "cache_size = -\(max(512, cacheBytes / 1024))",
      ]
      // At once: GRDB takes longer for each than SQLite.
      let code = sqlite3_exec(
        db.sqliteConnection, pragmas.map { "PRAGMA \($0);" }.joined(), nil, nil, nil)
      guard code == SQLITE_OK else {
        throw DatabaseError(
          resultCode: ResultCode(rawValue: code),
          message: String(cString: sqlite3_errmsg(db.sqliteConnection)))
      }
    }
    return connection
  }

  /// Makes the empty file of a database if there is none.
  ///
  /// The system reports why a file cannot be made; SQLite only reports that it cannot be opened.
  package static func makeFile(at path: FilePath) throws(StoreError) {
    do {
      let file = try Files.open(
        path, mode: .readWrite, options: [.create],
        permissions: [.ownerReadWrite, .groupRead, .otherRead])
      try file.close()
    } catch {
      let errno = (error as? SystemCallError)?.errno ?? error as? Errno
      throw StoreError(problem: problem(errno: errno), store: path, cause: errno)
    }
  }

  private static func problem(errno: Errno?) -> StoreError.Problem {
    switch errno {
    case let errno? where errno.isOfFullDisk: .diskFull
    case .ioError: .cannotWrite
    case .noMemory, .tooManyOpenFiles, .tooManyOpenFilesInSystem: .outOfMemory
    default: .notPermitted
    }
  }

  /// Has longer rows refused than fit into a process that may occupy so many bytes.
  package static func limitRows(of db: Database, memory: Int64) {
    let limit = Int32(clamping: LongRow.limit(memory: memory))
    sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, limit)
  }

  /// The bytes that the file of a database would have.
  ///
  /// - Throws: `DatabaseError`, for a lack of memory.
  package static func bytes(of db: Database) throws -> [UInt8] {
    var count: sqlite3_int64 = 0
    guard let bytes = sqlite3_serialize(db.sqliteConnection, "main", &count, 0) else {
      throw DatabaseError(resultCode: .SQLITE_NOMEM)
    }
    defer { sqlite3_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }

  private static func encodingName(number: UInt32) -> String {
    switch number {
    case 2: "UTF-16le"
    case 3: "UTF-16be"
    default: "UTF-8"
    }
  }

  /// Runs a block outside a transaction, and turns all its errors into those of this store.
  package func run<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
    do {
      return try queue.writeWithoutTransaction(body)
    } catch {
      throw failure(error: error)
    }
  }

  /// Runs a block outside a transaction, and turns SQLite's errors into those of this store; others
  /// pass unchanged.
  package func perform<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try queue.writeWithoutTransaction(body)
    } catch let error as DatabaseError {
      throw failure(error: error)
    }
  }

  /// Closes the file; the connection may not be used after that.
  ///
  /// - Throws: `StoreError`.
  package func close() throws(StoreError) {
    do { try queue.close() } catch { throw failure(error: error) }
  }

  /// The error as one of this store; the cause keeps the original.
  package func failure(error: any Error) -> StoreError {
    if let error = error as? StoreError { return error }
    if error is SystemCallError || error is Errno {
      return StoreError(reading: store, cause: error)
    }
    guard let error = error as? DatabaseError else {
      return StoreError(problem: .damaged, store: store, cause: error)
    }
    return StoreError(problem: Self.problem(error: error), store: store, cause: error)
  }

  /// The store that is read, where the path is that of the pages of its log.
  package var store: FilePath { (try? SourceFile.main(of: path)) ?? path }

  fileprivate static func problem(error: DatabaseError) -> StoreError.Problem {
    switch error.resultCode {
    case .SQLITE_BUSY, .SQLITE_LOCKED: .inUse
    case .SQLITE_FULL: .diskFull
    case .SQLITE_IOERR: problem(ofIO: error.extendedResultCode)
    case .SQLITE_CANTOPEN where DatabaseCalls.openError?.isOfDevice == true: .deviceFailed
    case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH: .notPermitted
    case .SQLITE_NOMEM: .outOfMemory
    case .SQLITE_TOOBIG: .rowTooLong(nil)
    case .SQLITE_NOTADB: .unrecognized
    default: .damaged
    }
  }

  /// What kind of device error SQLite reports.
  private static func problem(ofIO code: ResultCode) -> StoreError.Problem {
    switch code {
    case .SQLITE_IOERR_NOMEM: .outOfMemory
    case .SQLITE_IOERR_WRITE, .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC,
      .SQLITE_IOERR_TRUNCATE, .SQLITE_IOERR_DELETE:
      .cannotWrite
    default: .deviceFailed
    }
  }

  private static func open(
    _ path: FilePath, uri: String, base: Configuration
  ) throws(StoreError) -> StoreConnection {
    DatabaseCalls.install()
    DatabaseCalls.openError = nil
    var configuration = base
    configuration.foreignKeysEnabled = false
    configuration.observesSuspensionNotifications = false
    configuration.prepareDatabase { db in
      // GRDB's authorizer collects what each statement reads and writes, for observers of changes.
      // There are none here, and it takes a twelfth of a small migration. It also observes changes
      // of the schema, but nothing here requests a schema from GRDB before it has changed it.
      sqlite3_set_authorizer(db.sqliteConnection, nil, nil)
    }
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
    case .SQLITE_IOERR:
      return StoreError(
        problem: problem(ofIO: error.extendedResultCode), store: path, cause: error)
    case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY:
      return cannotOpen(path, cause: error)
    default: return StoreError(problem: .cannotRead, store: path, cause: error)
    }
  }

  /// The error of a file that SQLite could not open, by the error that the system gave it.
  private static func cannotOpen(_ path: FilePath, cause: DatabaseError) -> StoreError {
    guard let errno = DatabaseCalls.openError else {
      return StoreError(problem: .notPermitted, store: path, cause: cause)
    }
    let problem = problem(errno: errno)
    let known: any Error = problem == .notPermitted ? cause : errno
    return StoreError(
      problem: errno.isOfDevice ? .deviceFailed : problem, store: path, cause: known)
  }

  /// The URI by which SQLite reads an unchanging file, or a store with the pages of its log
  /// (`SourceFile`), under no locks.
  package static func uri(reading path: FilePath) throws(SystemCallError) -> String {
    let plain = uri(path: path) + "?immutable=1"
    guard try SourceFile.hasPages(path), let system = WALPagesSystem.name else { return plain }
    return plain + "&vfs=\(system)"
  }

  /// The URI by which SQLite writes a file that no other process has open, or its pages
  /// (`PageEdit`).
  private static func uri(editing path: FilePath) throws(StoreError) -> String {
    let plain = uri(path: path)
    do throws(SystemCallError) {
      guard try SourceFile.hasPages(path), let system = WALPagesSystem.name else { return plain }
      return plain + "?vfs=\(system)"
    } catch {
      throw StoreError(reading: path, cause: error)
    }
  }

  /// The path as an SQLite URI, with `%`, `?` and `#` escaped.
  package static func uri(path: FilePath) -> String {
    var result = "file:".unicodeScalars
    for scalar in path.string.unicodeScalars {
      switch scalar {
      case "%": result += "%25".unicodeScalars
      case "?": result += "%3f".unicodeScalars
      case "#": result += "%23".unicodeScalars
      default: result.append(scalar)
      }
    }
    return String(result)
  }
}

extension StoreError {
  /// Converts an SQLite error that no connection of this module has converted; nil for any other
  /// error.
  package init?(ofSQLite error: any Error) {
    guard let error = error as? DatabaseError else { return nil }
    self.init(problem: StoreConnection.problem(error: error), store: "the database", cause: error)
  }
}

extension StoreConnection {
  /// Gives a finished store an identifier of its own.
  package static func setNewUUID(_ path: FilePath) throws(StoreError) {
    let connection = try writable(path)
    try connection.run { db in
      try db.execute(
        sql: "UPDATE Z_METADATA SET Z_UUID = ?", arguments: [UUID().uuidString])
    }
    try connection.close()
  }

  /// Sets the header of a finished store to WAL mode, and leaves no log next to it.
  package static func setWAL(_ path: FilePath) throws(StoreError) {
    do {
      if try SourceFile.hasPages(path) {
        // The pages go over those of a store whose log is empty.
        return try SourceFile.setHeader([(HeaderField.writeVersion, [2, 2])], of: path)
      }
    } catch {
      throw StoreError(reading: path, cause: error)
    }
    let connection = try writable(path)
    try connection.run { db in
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
    }
    try connection.close()
  }
}
