import Foundation
package import MigrationStatus
package import Planning
import Subprocess
import SystemCalls
package import SystemPackage

/// Starts workers; replaced in tests.
package protocol WorkerLauncher: Sendable {
  /// Starts a worker on a work order and waits until it has ended.
  ///
  /// - Parameter status: the status file that the document names, as this process has it open; nil
  ///   where it names none.
  /// - Throws: `MigrationError.workerNotStarted`, if no process can be started.
  func run(_ document: WorkOrderDocument, status: StatusFile?) async throws -> WorkerEnding
}

/// How a worker process ended.
package enum WorkerEnding: Hashable, Sendable {
  /// It made its shard and its manifest, which is in a file.
  case done
  /// It made its shard, in this process, and this is the manifest.
  case made(ShardManifest)
  /// It ended with another exit status than 0, and wrote this to standard output.
  case exited(Int32, message: String)
  /// A signal ended it.
  case killed(signal: Int32)
}

/// The command line and the exit statuses of workers, as both sides use them.
package enum WorkerProtocol {
  /// The first argument of a worker; the second is the process identifier of the coordinator.
  package static let argument = "godwit-worker"
  /// The exit status of a worker that could not execute its order; standard output has a
  /// `WorkerFailure` in JSON.
  package static let failed: Int32 = 65
  /// The exit status of a worker that failed in a mapping or a policy; standard output has an
  /// `ObjectMigrationError` in JSON.
  package static let objectsFailed: Int32 = 66
}

/// Starts workers as processes of this executable, or of another one that implements them.
package struct ProcessLauncher: WorkerLauncher {
  private let executable: FilePath

  /// Takes the executable of the workers, nil for that of this process.
  package init(executable: FilePath? = nil) { self.executable = executable ?? "/proc/self/exe" }

  /// Starts a process with the work order on standard input and waits until it has ended.
  package func run(
    _ document: WorkOrderDocument, status: StatusFile?
  ) async throws -> WorkerEnding {
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
  /// Runs the body, and throws `MigrationError.workerNotStarted` if it could not start a process.
  private func starting<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as SubprocessError {
      throw MigrationError.workerNotStarted(cause: error.underlyingError ?? error)
    }
  }
}
