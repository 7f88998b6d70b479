import LMDB
import Synchronization
import SystemCalls
package import SystemPackage

/// A status file, open for reading.
package final class StatusReader: Sendable {
  /// The path under which the file was opened; it may name another file since, see `isReplaced`.
  package var path: FilePath { reader.path }
  private let reader: LMDBReader
  private let highest = Mutex<(run: Identifier, fraction: Double)>((.none, 0))

  private init(_ reader: LMDBReader) { self.reader = reader }

  /// Opens the file.
  ///
  /// A file without tables is being created right now, and is tried again for 80 ms.
  ///
  /// - Throws: `StatusError`, also if the file is gone.
  package static func open(_ path: FilePath) throws(StatusError) -> StatusReader {
    var attempts = 0
    while true {
      do throws(StatusError) {
        let reader = try StatusError.converting { () throws(LMDBError) in
          let reader = try LMDBReader(path: path)
          _ = try reader.entries(of: StatusFile.tables)
          return reader
        }
        return StatusReader(reader)
      } catch {
        // The file has just been created, and its tables are not there yet.
        attempts += 1
        guard attempts < 5, error.mayPass else { throw error }
        Processes.sleep(microseconds: 20_000)
      }
    }
  }

  /// The present state of the run; within one run the fraction never falls from call to call.
  package func snapshot() throws(StatusError) -> StatusSnapshot { try read().snapshot }

  /// The present run record, and the snapshot computed from all records.
  package func read() throws(StatusError) -> (run: RunRecord, snapshot: StatusSnapshot) {
    let contents = try StatusContents(reader)
    var snapshot = StatusSnapshot(contents: contents, surroundings: .now())
    highest.withLock { highest in
      if highest.run != snapshot.run { highest = (snapshot.run, 0) }
      highest.fraction = max(highest.fraction, snapshot.fraction)
      snapshot.fraction = highest.fraction
    }
    return (contents.run, snapshot)
  }

  /// Whether the path now names another file or none, so that it has to be opened again.
  package var isReplaced: Bool { reader.isReplaced }
}

extension StatusError {
  /// Whether the file may just be in the making.
  fileprivate var mayPass: Bool {
    switch problem {
    case .database(.missingTable, _), .database(.truncated, _): true
    default: false
    }
  }
}
