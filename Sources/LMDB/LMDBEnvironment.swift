import CLMDB
import Synchronization
import SystemCalls
package import SystemPackage

/// An LMDB database in a single file with its tables, opened at most once per process.
///
/// Commits survive the process at once, but a power cut only after `sync`: the file is for data
/// that may be lost. It has to lie on a file system of this machine.
package final class LMDBEnvironment: @unchecked Sendable {
  // @unchecked: threads may share an open environment, and the stored properties never change.

  /// What the environment is opened for.
  package enum Access: Hashable, Sendable {
    /// Creates the file and missing tables.
    ///
    /// The size in bytes is fixed and a limit: the file grows as needed, and a process with another
    /// size would damage it.
    case create(mapSize: Int)
    /// Writes to a file that exists.
    case write
  }

  /// The path of the file; its lock file has the suffix `-lock`.
  package let path: FilePath
  let handle: OpaquePointer
  private let tables: [String: LMDBTable]
  private let identities: Set<OpenFiles.Identity>
  private let writer = Atomic<UInt>(0)
  private let files: FileGuard

  /// Opens the file and its tables, at most 8.
  ///
  /// - Throws: `LMDBError`, with `alreadyOpen` if this process has the file open.
  package init(
    path: FilePath, tables names: [String], access: Access
  ) throws(LMDBError) {
    precondition(names.count <= Self.mostTables)
    if access == .write { try Self.look(at: path) }
    let (handle, identities) = try OpenFiles.opening(path) { () throws(LMDBError) in
      // The library computes with the size of the lock file before it has checked anything.
      if access == .write, FileGuard(path: path) == nil {
        throw LMDBError(operation: .open, path: path, problem: .truncated)
      }
      return try Self.openRetrying(path, access: access)
    }
    do throws(LMDBError) {
      guard let files = FileGuard(path: path) else {
        throw LMDBError(operation: .open, path: path, problem: .truncated)
      }
      self.files = files
      tables = try Self.openTables(names, handle: handle, path: path, access: access)
    } catch {
      OpenFiles.close(error.problem == .truncated ? nil : handle, identities: identities)
      throw error
    }
    self.path = path
    self.handle = handle
    self.identities = identities
  }

  deinit {
    // Closing reads the lock file; an environment with a changed lock file stays open until the
    // process ends.
    OpenFiles.close(files.isSound ? handle : nil, identities: identities)
  }

  private static let mostTables = 8
  private static let mostReaders: UInt32 = 1024

  /// A table that was named when the file was opened.
  package func table(name: String) -> LMDBTable {
    guard let table = tables[name] else { preconditionFailure("\(name) was not opened") }
    return table
  }

  /// Runs `body` in a write transaction and commits it; if `body` throws, nothing has changed.
  ///
  /// All other writers wait for it without a limit, so `body` should do nothing but read and write
  /// tables.
  ///
  /// The corresponding C functions are `mdb_txn_begin` and `mdb_txn_commit`.
  package func write<Result>(
    _ body: (borrowing WriteTransaction) throws(LMDBError) -> Result
  ) throws(LMDBError) -> Result {
    precondition(
      writer.load(ordering: .relaxed) != Processes.currentThread,
      "a write inside a write would wait for itself")
    let transaction = WriteTransaction(handle: try begin(), path: path)
    writer.store(Processes.currentThread, ordering: .relaxed)
    defer { writer.store(0, ordering: .relaxed) }
    let result: Result
    do throws(LMDBError) {
      result = try body(transaction)
    } catch {
      mdb_txn_abort(transaction.handle)
      throw error
    }
    // Ends the transaction whether or not that succeeds.
    try check(mdb_txn_commit(transaction.handle), operation: .commit, path: path)
    return result
  }

  /// Whether the library may still read the files.
  package var isSound: Bool { files.isSound }

  private func begin() throws(LMDBError) -> OpaquePointer {
    guard files.isSound else {
      throw LMDBError(operation: .begin, path: path, problem: .truncated)
    }
    var begun: OpaquePointer?
    try check(mdb_txn_begin(handle, nil, 0, &begun), operation: .begin, path: path)
    guard let begun else { throw LMDBError(operation: .begin, path: path, code: MDB_PANIC) }
    return begun
  }

  /// Writes all commits through to the disk.
  ///
  /// The corresponding C function is `mdb_env_sync`.
  package func sync() throws(LMDBError) {
    try check(mdb_env_sync(handle, 1), operation: .synchronize, path: path)
  }

  /// Clears the slots of killed readers, which let the file grow, and returns their number.
  ///
  /// The corresponding C function is `mdb_reader_check`.
  @discardableResult
  package func clearDeadReaders() throws(LMDBError) -> Int {
    guard files.isSound else {
      throw LMDBError(operation: .clearDeadReaders, path: path, problem: .truncated)
    }
    var dead: Int32 = 0
    try check(mdb_reader_check(handle, &dead), operation: .clearDeadReaders, path: path)
    return Int(dead)
  }
}

// MARK: - Opening

extension LMDBEnvironment {
  /// Fails where the library may not even open the file, since it believes the first pages.
  private static func look(at path: FilePath) throws(LMDBError) {
    let reader = try LMDBReader(path: path)
    _ = try reader.entries(of: [])
  }

  /// Opens an environment, and tries again if another process opens or closes it meanwhile.
  private static func openRetrying(
    _ path: FilePath, access: Access
  ) throws(LMDBError) -> OpaquePointer {
    var attempts = 0
    while true {
      do throws(LMDBError) {
        return try open(path, access: access)
      } catch {
        attempts += 1
        let passing: [LMDBError.Problem] = [
          .system(.noSuchFileOrDirectory), .system(.resourceTemporarilyUnavailable),
        ]
        guard attempts < 5, passing.contains(error.problem),
          OpenFiles.identity(of: path) != nil
        else { throw error }
        Processes.sleep(microseconds: 10_000)
      }
    }
  }

  private static func open(_ path: FilePath, access: Access) throws(LMDBError) -> OpaquePointer {
    // Opening for writing would make a file without tables.
    if access == .write, OpenFiles.identity(of: path) == nil {
      throw LMDBError(operation: .open, path: path, problem: .system(.noSuchFileOrDirectory))
    }
    var created: OpaquePointer?
    try check(mdb_env_create(&created), operation: .open, path: path)
    guard let handle = created else {
      throw LMDBError(operation: .open, path: path, code: MDB_PANIC)
    }
    // NOTLS ties a reader's slot to its transaction, not to a thread. NOSYNC: a commit costs 30 us
    // instead of 60 ms with 16 writers. Never WRITEMAP: a wild pointer damages the file.
    let flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS | MDB_NOSYNC)
    do throws(LMDBError) {
      // Without a size, the one of the file counts.
      if case .create(let size) = access {
        try check(mdb_env_set_mapsize(handle, size), operation: .open, path: path)
      }
      try check(mdb_env_set_maxdbs(handle, MDB_dbi(mostTables)), operation: .open, path: path)
      try check(mdb_env_set_maxreaders(handle, mostReaders), operation: .open, path: path)
      let code = path.withPlatformString { mdb_env_open(handle, $0, flags, 0o644) }
      try check(code, operation: .open, path: path)
      return handle
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// Opens all tables in one transaction, since LMDB forbids opening them in several at once.
  ///
  /// Tables that exist are opened by a reader: a writer waits for all others, without a limit.
  private static func openTables(
    _ names: [String], handle: OpaquePointer, path: FilePath, access: Access
  ) throws(LMDBError) -> [String: LMDBTable] {
    var flags: UInt32 = 0
    if case .create = access { flags = UInt32(MDB_CREATE) }
    var begun: OpaquePointer?
    let kind = UInt32(access == .write ? MDB_RDONLY : 0)
    try check(mdb_txn_begin(handle, nil, kind, &begun), operation: .begin, path: path)
    var tables: [String: LMDBTable] = [:]
    for name in names {
      var table = MDB_dbi()
      let code = mdb_dbi_open(begun, name, flags, &table)
      guard code == MDB_SUCCESS else {
        mdb_txn_abort(begun)
        if code == MDB_NOTFOUND {
          throw LMDBError(operation: .openTable, path: path, problem: .missingTable(name))
        }
        throw LMDBError(operation: .openTable, path: path, code: code)
      }
      tables[name] = LMDBTable(handle: table)
    }
    // A reader commits too: aborting would close the tables again.
    try check(mdb_txn_commit(begun), operation: .commit, path: path)
    return tables
  }
}

func check(
  _ code: Int32, operation: LMDBError.Operation, path: FilePath
) throws(LMDBError) {
  if code != MDB_SUCCESS { throw LMDBError(operation: operation, path: path, code: code) }
}
