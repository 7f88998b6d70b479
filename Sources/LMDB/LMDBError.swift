import CLMDB
package import SystemPackage

/// Which operation on a database file failed, and why.
package struct LMDBError: Error, Hashable, Sendable {
  /// The operations that can fail.
  package enum Operation: String, Sendable {
    /// As the C functions `mdb_env_open`, `mdb_dbi_open`, `mdb_txn_begin`, `mdb_get`, `mdb_put`,
    /// `mdb_del`, `mdb_cursor_get`, `mdb_txn_commit`, `mdb_env_sync` and `mdb_reader_check`.
    case open, openTable, begin, get, put, delete, iterate, commit, synchronize, clearDeadReaders
  }

  /// Why an operation failed.
  package enum Problem: Error, Hashable, Sendable {
    /// This process has the file open; opening it twice would break its locks.
    case alreadyOpen
    /// The file is not a database, or does not match its own header.
    case truncated
    /// The file has no table of this name.
    case missingTable(String)
    /// The file has reached its maximum size (`MDB_MAP_FULL`).
    case mapFull
    /// All reader slots are taken (`MDB_READERS_FULL`).
    case readersFull
    /// Writers committed during every attempt to read, or one holds the others up.
    case busy
    /// A system call failed.
    case system(Errno)
    /// Another of LMDB's own codes, see `message`.
    case library(code: Int32)
  }

  /// The operation that failed.
  package var operation: Operation
  /// The path of the database file.
  package var path: FilePath
  /// Why it failed.
  package var problem: Problem

  /// Describes what failed with a database.
  package init(operation: Operation, path: FilePath, problem: Problem) {
    self.operation = operation
    self.path = path
    self.problem = problem
  }

  init(operation: Operation, path: FilePath, code: Int32) {
    let problem: Problem =
      switch code {
      case MDB_MAP_FULL: .mapFull
      case MDB_READERS_FULL: .readersFull
      case 1...: .system(Errno(rawValue: code))
      default: .library(code: code)
      }
    self.init(operation: operation, path: path, problem: problem)
  }
}
