import Foundation
package import Planning
import Subprocess
import SystemCalls
package import SystemPackage

/// The messages between the coordinator and one worker process: the work order and the pace one
/// way, progress, claims and the outcome the other way.
struct WorkerConversation: Sendable {
  /// The answer of a worker.
  struct Answer: Sendable {
    /// The machine that it runs on, nil if it has not started.
    var host: String?
    /// How its order ended.
    var last: WorkerMessage?
  }

  private let document: WorkOrderDocument
  private let link: OrderLink
  private let input: MessagePipe
  /// The program that a worker has to be, nil where no other can be started.
  private let program: WorkerProgram?

  init(
    _ document: WorkOrderDocument, link: OrderLink, input: MessagePipe, program: WorkerProgram?
  ) {
    (self.document, self.link, self.input, self.program) = (document, link, input, program)
  }

  /// Passes the order, answers the worker, and returns at the end of its output.
  ///
  /// - Throws: `WorkError.workerForeign`, `workersDoubled` or `outputEndless`; the failure to
  ///   reserve an extent.
  func hold(_ output: SubprocessOutputSequence, process: Int32) async throws -> Answer {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (messages, outbox) = AsyncStream.makeStream(of: [UInt8].self)
      defer {
        outbox.finish()
        group.cancelAll()
      }
      group.addTask { for await bytes in messages { try await pass(bytes) } }
      outbox.yield(try document.encoded() + [UInt8(ascii: "\n")])
      var (answer, lines) = (Answer(), LineBuffer())
      for try await chunk in output {
        chunk.withUnsafeBytes { lines.append($0) }
        guard lines.count <= Self.mostBytes else { throw WorkError.outputEndless }
        while let line = lines.next() {
          guard let message = MessageLine.decoded(line, as: WorkerMessage.self) else {
            Self.show(line)
            continue
          }
          switch message {
          case .started(let found):
            // They would write to the same files.
            guard answer.host == nil else { throw WorkError.workersDoubled }
            try requireSame(found)
            answer.host = found.host
            link.begin(process: process)
            group.addTask { try await keepPace(outbox) }
          case .progress(let progress): link.report(progress)
          case .claim:
            let extent = CoordinatorMessage.extent(try link.claimExtent())
            outbox.yield(try MessageLine.encoded(extent))
          case .made: answer.last = message
          case .failed(_, _, let text):
            answer.last = message
            link.fail(text)
          }
        }
      }
      return answer
    }
  }

  /// The most bytes of a line, and so of a manifest.
  static let mostBytes = 128 << 20

  /// Sends the pace: at once, when it changes, and every second.
  private func keepPace(_ outbox: AsyncStream<[UInt8]>.Continuation) async throws {
    var (last, age) = (nil as WorkPace?, 0)
    while true {
      let pace = link.pace
      (last, age) = pace == last && age < 10 ? (last, age + 1) : (pace, 0)
      if age == 0 { outbox.yield(try MessageLine.encoded(CoordinatorMessage.pace(pace))) }
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Writes into the pipe as the worker empties it.
  private func pass(_ bytes: [UInt8]) async throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = try input.write(rest)
      rest = rest.dropFirst(count)
      if count == 0 { try await Task.sleep(for: .milliseconds(2)) }
    }
  }

  private func requireSame(_ found: WorkerProgram) throws {
    guard let program, !found.isSame(as: program) else { return }
    throw WorkError.workerForeign(host: found.host, version: found.version)
  }

  /// Shows a line that is not the worker's, but its launcher's.
  private static func show(_ line: [UInt8]) {
    _ = try? FileDescriptor.standardError.writeAll(line + [UInt8(ascii: "\n")])
  }
}

extension WorkerProgram {
  /// The program of an executable on this machine.
  ///
  /// - Throws: `SystemCallError`.
  package static func own(_ executable: FilePath) throws -> WorkerProgram {
    let node = ProcessInfo.processInfo.environment["SLURMD_NODENAME"]
    return WorkerProgram(
      commit: Processes.commit, bytes: try Files.fileStatus(executable).size,
      host: node ?? Processes.host)
  }
}
