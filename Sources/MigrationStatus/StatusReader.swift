import LMDB
import Synchronization
import SystemCalls
package import SystemPackage

/// A status file of another process, open for reading.
///
/// The migrating process itself reads through its `StatusFile`, because LMDB forbids to open a file
/// twice in one process.
package final class StatusReader: Sendable {
  /// The path under which the file was opened; it may name another file since, see `isReplaced`.
  package let path: FilePath
  private let environment: LMDBEnvironment
  private let opened: FileStatus
  private let highest = Mutex<(run: Identifier, fraction: Double)>((.none, 0))

  private init(_ environment: LMDBEnvironment) throws {
    self.environment = environment
    path = environment.path
    opened = try Files.fileStatus(path)
  }

  /// Opens the file and clears reader slots of killed processes.
  ///
  /// A file without tables is being created right now, and is tried again for 80 ms.
  ///
  /// - Throws: `StatusError`, or `SystemCallError` if the file is gone.
  package static func open(_ path: FilePath) throws -> StatusReader {
    var attempts = 0
    while true {
      do {
        let environment = try StatusError.converting { () throws(LMDBError) in
          try LMDBEnvironment(path: path, tables: StatusFile.tables, access: .readOnly)
        }
        let reader = try StatusReader(environment)
        // Readers left behind harm writers, not this one.
        _ = try? environment.clearDeadReaders()
        return reader
      } catch let error as StatusError {
        // The file has just been created, and its tables are not there yet.
        attempts += 1
        guard attempts < 5, case .database(.missingTable, _) = error.problem else { throw error }
        Processes.sleep(microseconds: 20_000)
      }
    }
  }

  /// The present state of the run; within one run the fraction never falls from call to call.
  package func snapshot() throws(StatusError) -> StatusSnapshot { try read().snapshot }

  /// The present run record, and the snapshot computed from all records.
  package func read() throws(StatusError) -> (run: RunRecord, snapshot: StatusSnapshot) {
    let contents = try StatusContents(environment)
    var snapshot = StatusSnapshot(contents: contents, surroundings: .now())
    highest.withLock { highest in
      if highest.run != snapshot.run { highest = (snapshot.run, 0) }
      highest.fraction = max(highest.fraction, snapshot.fraction)
      snapshot.fraction = highest.fraction
    }
    return (contents.run, snapshot)
  }

  /// The number of LMDB's last commit, which grows with each update: unchanged, nothing needs to be
  /// read.
  package var lastUpdate: UInt64 { environment.lastTransaction }

  /// Whether the path now names another file or none, so that it has to be opened again.
  package var isReplaced: Bool {
    guard let named = try? Files.fileStatusIfPresent(path) else { return true }
    return !named.isSameFile(as: opened)
  }
}
