import CLMDB
import Synchronization
import SystemCalls
import SystemPackage

/// The database files that this process has open.
///
/// LMDB uses fcntl locks, which a process loses when it closes any descriptor of the file; lmdb.h:
/// "Do not have open an LMDB database twice in the same process at the same time." LMDB itself does
/// not notice.
enum OpenFiles {
  typealias Identity = FileStatus.Identity

  /// The identity of a file, nil if it does not exist; opening it for that would itself break the
  /// locks.
  static func identity(of path: FilePath) -> Identity? {
    try? Files.fileStatus(path).identity
  }

  private static let open = Mutex<Set<Identity>>([])

  /// Runs `body`, which opens the file, unless this process has the file or its lock file open.
  static func opening(
    _ path: FilePath, body: () throws(LMDBError) -> OpaquePointer
  ) throws(LMDBError) -> (OpaquePointer, Set<Identity>) {
    let result = open.withLock { open -> Result<(OpaquePointer, Set<Identity>), LMDBError> in
      guard open.isDisjoint(with: identities(of: path)) else {
        return .failure(LMDBError(operation: .open, path: path, problem: .alreadyOpen))
      }
      do throws(LMDBError) {
        let handle = try body()
        let identities = identities(of: path)
        open.formUnion(identities)
        return .success((handle, identities))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Closes an environment and allows its files to be opened again.
  ///
  /// - Parameter handle: nil leaves it open, so that LMDB reads its files no more.
  static func close(_ handle: OpaquePointer?, identities: Set<Identity>) {
    open.withLock { open in
      if let handle { mdb_env_close(handle) }
      open.subtract(identities)
    }
  }

  private static func identities(of path: FilePath) -> Set<Identity> {
    Set([path, FilePath("\(path)-lock")].compactMap(identity))
  }
}
