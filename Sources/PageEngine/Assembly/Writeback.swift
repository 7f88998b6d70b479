import Foundation
import MigrationEngine
import Synchronization
import SystemCalls
import SystemPackage

/// Has the system write a growing file to the disk while workers fill it, so that the last sync
/// finds little to do.
///
/// It is a hint: where the system does not take it, the last sync does all.
final class Writeback: Accompaniment {
  /// What lies so near the end of the file may not be filled yet.
  private static let distance: Int64 = 16 << 20
  private static let step: Int64 = 8 << 20

  private let file: FileDescriptor
  private let isStopped = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  init(_ path: FilePath) throws {
    file = try Files.open(path, mode: .readOnly)
    Thread { self.follow() }.start()
  }

  private func follow() {
    var done: Int64 = 0
    while !isStopped.load(ordering: .relaxed) {
      let size = (try? Files.fileStatus(of: file).size) ?? 0
      if size - Self.distance - done >= Self.step {
        let count = size - Self.distance - done
        guard (try? Files.beginWriteback(file, from: done, count: count)) != nil else { break }
        done += count
      } else {
        Thread.sleep(forTimeInterval: 0.02)
      }
    }
    ended.signal()
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    ended.wait()
    try? file.close()
  }
}
