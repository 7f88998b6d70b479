package import LMDB
package import SystemPackage

/// Why a status file could not be created, opened or read.
package struct StatusError: Error, Hashable, Sendable {
  /// What was wrong with the file.
  package enum Problem: Hashable, Sendable {
    /// The file would lie on a network file system, across which LMDB's shared memory does not
    /// work.
    case networkFileSystem
    /// LMDB failed in this operation.
    case database(LMDBError.Problem, during: LMDBError.Operation)
    /// The run's record has not been written yet.
    case empty
    /// The records have another version, possibly of a later release.
    case unsupportedVersion(UInt32)
    /// A record has another size, or a field has an unknown value.
    case damagedRecord(Record)
  }

  /// Which record is damaged.
  package enum Record: Hashable, Sendable {
    /// The record of the run.
    case run
    /// The requests to the run.
    case control
    /// The record of the work order with this number.
    case part(UInt32)
  }

  /// What was wrong.
  package var problem: Problem
  /// The path of the status file.
  package var path: FilePath

  /// The error of the system that was the cause; nil for any other cause.
  package var errno: Errno? {
    if case .database(.system(let errno), _) = problem { errno } else { nil }
  }
}
