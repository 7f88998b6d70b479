import Foundation
package import Planning
import Synchronization
import SystemCalls
package import SystemPackage

// (1) The process ends when standard input does: without a coordinator the work is useless.
// (2) Old messages of the coordinator hold no worker on the coordinator's own machine, where
//     a worker sees a coordinator that is stopped. Elsewhere silence holds the worker: the
//     coordinator may be unable to reach it.
// (3) An extent is requested after the result is open. A worker that the coordinator has given up
//     gets none, and a result that has been replaced meanwhile is another file.

/// The coordinator, as a worker process reaches it: by standard input and standard output.
package final class ProcessLink: WorkerLink {
  private struct State {
    var pace: WorkPace?
    var pacedAt: Int64 = 0
    var extents: [Int64] = []
  }

  private let input: FileDescriptor
  private let output: FileDescriptor
  /// The coordinator's process, if it is the parent of this one.
  private let parent: (process: Int32, start: UInt64)?
  private let lines = Mutex(LineBuffer())
  private let state = Mutex(State())
  private let changed = NSCondition()
  private let writing = Mutex(())

  /// The seconds to wait for the first answer of a coordinator that a launcher connects.
  private let patience: Double
  /// Messages of this age, in nanoseconds, are old.
  private static let trustedAge: Int64 = 5_000_000_000

  /// Takes the descriptors of both streams, and the coordinator's process if that is the parent;
  /// otherwise the seconds to wait for its first answer.
  package init(
    input: FileDescriptor, output: FileDescriptor, parent: Int32?, patience: Double = 15
  ) {
    (self.input, self.output, self.patience) = (input, output, patience)
    self.parent = parent.map { ($0, Processes.startTime(of: $0) ?? 0) }
  }

  /// Reads the line of the work order; nil where the input ends before it does.
  ///
  /// - Throws: `ShardError`, and the failure to read.
  package func readOrder() throws -> WorkOrderDocument? {
    while true {
      if let line = lines.withLock({ $0.next() }) { return try Worker.decode(line) }
      guard try receive() else { return nil }
    }
  }

  /// Announces this worker, and waits until the coordinator has answered; false where no answer
  /// comes.
  ///
  /// A coordinator that has started this process itself may be busy or stopped, but not out of
  /// reach.
  ///
  /// - Throws: the failure to write.
  package func begin(_ program: WorkerProgram) throws -> Bool {
    try send(.started(program))
    guard BackgroundThread({ [self] in listen() }) != nil else { return false }
    let deadline = Date(timeIntervalSinceNow: patience)
    changed.lock()
    defer { changed.unlock() }
    while state.withLock({ $0.pace == nil }) {
      if parent != nil {
        changed.wait()
      } else if !changed.wait(until: deadline) {
        return false
      }
    }
    return true
  }

  /// Writes a message for the coordinator.
  ///
  /// - Throws: the failure to write, such as after the coordinator's end.
  package func send(_ message: WorkerMessage) throws {
    let line = try MessageLine.encoded(message)
    try writing.withLock { _ in _ = try output.writeAll(line) }
  }

  /// Writes the progress.
  package func report(_ progress: WorkProgress) {
    // If the coordinator has ended, `listen` ends this process.
    try? send(.progress(progress))
  }

  /// The last message of the coordinator, as far as it still counts.
  package var pace: WorkPace {
    let (known, at) = state.withLock { ($0.pace ?? WorkPace(), $0.pacedAt) }
    var pace = known
    let isOld = MonotonicClock.now() - at > Self.trustedAge
    if let parent {
      let presence = Processes.presence(parent.process, startTime: parent.start)
      pace.isHeld = presence == .stopped || (pace.isHeld && !isOld)
    } else if isOld {
      pace.isHeld = true
    }
    return pace
  }

  /// Requests an extent and waits for it.
  ///
  /// - Throws: the failure to write.
  package func claimExtent() throws -> Int64 {
    try send(.claim)
    changed.lock()
    defer { changed.unlock() }
    while true {
      if let extent = state.withLock({ $0.extents.popFirst() }) { return extent }
      changed.wait()
    }
  }

  // MARK: Listening

  private func listen() {
    repeat {
      while let line = lines.withLock({ $0.next() }) { take(line) }
    } while (try? receive()) ?? false
    Processes.end(status: 75)
  }

  private func take(_ line: [UInt8]) {
    guard let message = MessageLine.decoded(line, as: CoordinatorMessage.self) else { return }
    changed.lock()
    state.withLock { state in
      switch message {
      case .pace(let pace): (state.pace, state.pacedAt) = (pace, MonotonicClock.now())
      case .extent(let number): state.extents.append(number)
      }
    }
    changed.broadcast()
    changed.unlock()
  }

  /// Waits for more input; false at its end.
  private func receive() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = try bytes.withUnsafeMutableBytes { try input.read(into: $0) }
    lines.withLock { $0.append(bytes[..<count]) }
    return count > 0
  }
}

extension [Int64] {
  fileprivate mutating func popFirst() -> Int64? { isEmpty ? nil : removeFirst() }
}
