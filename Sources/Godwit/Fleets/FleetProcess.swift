import Fleets
import Foundation
import MigrationCoordinator
import Subprocess
import Synchronization
import SystemCalls
import SystemPackage

/// A worker process of a fleet, as the process that started it sees it.
final class FleetProcess: Sendable {
  /// The answers of the worker; they end with the process.
  let answers: AsyncStream<FleetAnswer>
  private let line: ProcessLine

  /// How a worker process ended.
  enum Ending: CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    var description: String {
      switch self {
      case .exited(let status): "exit status \(status)"
      case .killed(let signal): "signal \(signal)"
      }
    }
  }

  private init(_ line: ProcessLine) {
    self.line = line
    let (stream, continuation) = AsyncStream.makeStream(of: FleetAnswer.self)
    answers = stream
    // Reading waits for the worker, and would hold a thread that all tasks share.
    let thread = BackgroundThread {
      let lines = LineReader(open: line.descriptor)
      let decoder = JSONDecoder()
      while let read = try? lines.next(), read.isWhole,
        let answer = try? decoder.decode(FleetAnswer.self, from: Data(read.bytes))
      {
        continuation.yield(answer)
      }
      continuation.finish()
    }
    if thread == nil { continuation.finish() }
  }

  /// Starts a worker and lets `body` talk with it; returns when both have ended.
  ///
  /// - Throws: `WorkError.workerNotStarted`, or what `body` throws.
  static func start(
    _ executable: FilePath?, body: (FleetProcess) async throws -> Void
  ) async throws -> Ending {
    let (own, other) = try ProcessLine.make()
    let answers = try other.duplicate()
    let process = FleetProcess(own)
    async let ended = WorkerProtocol.starting {
      try await Subprocess.run(
        .path(executable ?? "/proc/self/exe"),
        arguments: [WorkerProtocol.fleetArgument, "\(Processes.own)"],
        environment: WorkerProtocol.environment,
        input: .fileDescriptor(other, closeAfterSpawningProcess: true),
        output: .fileDescriptor(answers, closeAfterSpawningProcess: true),
        error: .currentStandardError)
    }
    do {
      try await body(process)
    } catch {
      process.finish()
      _ = try? await ended
      throw error
    }
    process.finish()
    switch try await ended.terminationStatus {
    case .exited(let status): return .exited(status)
    case .signaled(let signal): return .killed(signal: signal)
    }
  }

  /// Sends a message; a worker that has gone is noticed by the end of its answers.
  func send(_ message: FleetMessage) throws {
    let bytes = try message.encoded()
    do {
      try line.send(bytes)
    } catch {
      guard [.brokenPipe, .connectionReset].contains(error.errno) else { throw error }
    }
  }

  /// Lets the worker end when it has answered everything.
  func finish() { line.endSending() }
}
