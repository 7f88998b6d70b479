import LMDB
import Synchronization
import SystemCalls
package import SystemPackage

/// The status file of a migration of another process, open for reading.
///
/// Within the process of the migration ask its `StatusFile`: no file is opened twice.
package final class StatusReader: Sendable {
  package let path: FilePath
  private let environment: LMDBEnvironment
  private let opened: FileStatus
  private let highest = Mutex<(run: Identifier, fraction: Double)>((.none, 0))

  private init(_ environment: LMDBEnvironment) throws {
    self.environment = environment
    path = environment.path
    opened = try Files.fileStatus(path)
  }

  /// Opens the file, and frees what killed readers hold.
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
        // The file has been made this moment, and its tables follow.
        attempts += 1
        guard attempts < 5, case .database(.missingTable, _) = error.problem else { throw error }
        Processes.sleep(microseconds: 20_000)
      }
    }
  }

  /// What the file tells now; the fraction is never less than one told before of the same run.
  package func snapshot() throws(StatusError) -> StatusSnapshot { try read().snapshot }

  /// The record of the run itself, and what it comes to.
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

  /// Grows with every update, so that who polls can skip what has not changed.
  package var lastUpdate: UInt64 { environment.lastTransaction }

  /// Whether the name now belongs to another file or to none: open again.
  package var isReplaced: Bool {
    guard let named = try? Files.fileStatusIfPresent(path) else { return true }
    return !named.isSameFile(as: opened)
  }
}
