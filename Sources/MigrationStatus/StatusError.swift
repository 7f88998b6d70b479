package import LMDB
package import SystemPackage

/// Why a status file could not be made or read.
package struct StatusError: Error, Hashable, Sendable {
  package enum Problem: Hashable, Sendable {
    /// Memory shared with another machine does not work.
    case networkFileSystem
    case database(LMDBError.Problem, during: LMDBError.Operation)
    /// The migration has not written its first record yet.
    case empty
    case unsupportedVersion(UInt32)
    /// A record of another size, or with a state that this version does not know.
    case damagedRecord(Record)
  }

  package enum Record: Hashable, Sendable {
    case run
    case part(UInt32)
  }

  package var problem: Problem
  package var path: FilePath
}
