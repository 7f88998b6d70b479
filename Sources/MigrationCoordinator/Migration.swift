package import Logging
package import MigrationStatus
import SystemCalls

/// One migration of one store, from the survey to the swap.
package struct Migration: Sendable {
  private let request: MigrationRequest
  private let launcher: any WorkerLauncher
  private let logger: Logger
  private let words: OutcomeWords
  private let recorder: RunRecorder

  /// Creates a migration; nothing is read or written before `run`.
  ///
  /// - Parameters:
  ///   - launcher: starts the workers, by default as processes of this executable.
  ///   - words: puts outcomes into the sentences of the status file and the record.
  ///   - recorder: records the one run of this migration.
  package init(
    request: MigrationRequest, launcher: any WorkerLauncher = ProcessLauncher(),
    logger: Logger, words: OutcomeWords = .plain, recorder: RunRecorder = RunRecorder()
  ) {
    self.request = request
    self.launcher = launcher
    self.logger = logger
    self.words = words
    self.recorder = recorder
  }

  /// Migrates, and calls `progress` about ten times a second.
  ///
  /// - Throws: `MigrationError`, `StoreError` and the errors of models and mappings. After
  ///   `interrupted` the same request resumes; after any other the work folder is removed, unless a
  ///   later run can use its work.
  package func run(
    progress: @escaping @Sendable (StatusSnapshot) -> Void = { _ in }
  ) async throws -> MigrationReport {
    let request = try request.resolved()
    let run = MigrationRun(
      request: request, launcher: launcher, logger: logger, recorder: recorder,
      keeper: OutcomeKeeper(request: request, words: words, logger: logger),
      desk: ControlDesk(controls: request.controls, workers: request.workers, logger: logger),
      progress: progress)
    let task = Task(executorPreference: request.shared?.executor) { try await run.run() }
    run.desk.whenCancelled { task.cancel() }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
