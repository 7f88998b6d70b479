package import Subprocess

/// The command line and the exit statuses of workers, as both sides use them.
package enum WorkerProtocol {
  /// The first argument of a worker; the second is the process identifier of the coordinator, 0 if
  /// the coordinator is not the parent.
  package static let argument = "godwit-worker"
  /// The first argument of a worker of a fleet; the second is as of other workers.
  package static let fleetArgument = "godwit-fleet-worker"
  /// The exit status of a worker that could not execute its order; its facts are a `WorkerFailure`
  /// in JSON.
  package static let failed: Int32 = 65
  /// The exit status of a worker that failed in a mapping or a policy; its facts are an
  /// `ObjectMigrationError` in JSON.
  package static let objectsFailed: Int32 = 66
  /// The environment of workers.
  package static let environment = Environment.inherit.updating(["SWIFT_BACKTRACE": "enable=no"])

  /// Runs the body, and throws `WorkError.workerNotStarted` if it could not start a process.
  package static func starting<Result>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch let error as SubprocessError {
      throw WorkError.workerNotStarted(cause: error.underlyingError ?? error)
    }
  }
}
