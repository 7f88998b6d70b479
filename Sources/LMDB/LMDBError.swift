import CLMDB
package import SystemPackage

/// What was asked of a database file, and what went wrong.
package struct LMDBError: Error, Hashable, Sendable {
  package enum Operation: String, Sendable {
    case open, openTable, begin, get, put, delete, iterate, commit, synchronize, clearDeadReaders
  }

  package enum Problem: Hashable, Sendable {
    /// This process has the file open, and a second time would break its locks.
    case alreadyOpen
    /// The file ends before the last page that it counts.
    case truncated
    case missingTable(String)
    case mapFull
    case readersFull
    /// Writers left no moment in which to read without a lock.
    case busy
    case system(Errno)
    /// Another of LMDB's own codes, see `message`.
    case library(code: Int32)
  }

  package var operation: Operation
  package var path: FilePath
  package var problem: Problem

  init(operation: Operation, path: FilePath, problem: Problem) {
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

  /// The library's own words for one of its codes.
  package static func message(of code: Int32) -> String {
    String(cString: mdb_strerror(code))
  }
}
