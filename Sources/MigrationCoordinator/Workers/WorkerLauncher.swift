import Foundation
package import Planning
import Subprocess
import SystemCalls
package import SystemPackage

/// Starts a worker on a work order and waits until it has ended.
package protocol WorkerLauncher: Sendable {
  func run(_ document: WorkOrderDocument) async throws -> WorkerEnding
}

/// How a worker ended, as its launcher saw it.
package enum WorkerEnding: Hashable, Sendable {
  case done
  case exited(Int32, message: String)
  case killed(signal: Int32)
}

/// What a worker process is started with and ends with; both sides agree on it here.
package enum WorkerProtocol {
  /// The first argument of a worker; the second is the coordinator's process number.
  package static let argument = "godwit-worker"
  /// Ends a worker that could not carry out its order; its message is a `WorkerFailure` in JSON.
  package static let failed: Int32 = 65
  /// Ends a worker that a mapping or a policy failed; its message is an `ObjectMigrationError`
  /// in JSON.
  package static let objectsFailed: Int32 = 66
}

/// Starts workers as processes of this executable, or of another one that knows their work.
package struct ProcessLauncher: WorkerLauncher {
  private let executable: FilePath

  package init(executable: FilePath? = nil) { self.executable = executable ?? "/proc/self/exe" }

  package func run(_ document: WorkOrderDocument) async throws -> WorkerEnding {
    let order = try Files.anonymousFile(containing: document.encoded())
    var options = PlatformOptions()
    options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(2))]
    // The order goes as a file: a worker that dies with unread input in a pipe would take the
    // coordinator with it.
    let result = try await starting {
      try await Subprocess.run(
        .path(executable),
        arguments: [WorkerProtocol.argument, "\(Processes.own)"],
        environment: .inherit.updating(["SWIFT_BACKTRACE": "enable=no"]), platformOptions: options,
        input: .fileDescriptor(order, closeAfterSpawningProcess: true),
        output: .string(limit: 4 << 20), error: .currentStandardError)
    }
    switch result.terminationStatus {
    case .exited(0): return .done
    case .exited(let code): return .exited(code, message: result.standardOutput)
    case .signaled(let number): return .killed(signal: number)
    }
  }
  /// Runs what starts a process; the system may have none left.
  private func starting<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as SubprocessError {
      throw MigrationError.workerNotStarted(cause: error.underlyingError ?? error)
    }
  }
}
