import MigrationCoordinator

extension StoreMigration {
  /// Migrates the store; goes on where an interrupted run of the same migration was.
  ///
  /// Cancelling the task interrupts the migration. It stops within seconds and the store is as it
  /// was; what is done so far stays in the work folder, and the next `run()` takes it up
  /// (``hasInterruptedRun``, ``Result/resumed``).
  ///
  /// - Parameter progress: is called a few times a second, on any thread.
  /// - Throws: `MigrationFailure`, or `CancellationError` where the task was cancelled. The store
  ///   is as it was then.
  @discardableResult
  public func run(
    progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
  ) async throws -> Result {
    try WorkerDispatch.requireCoordinator(workers: workerExecutable)
    do {
      let migration = Migration(
        request: request, launcher: ProcessLauncher(executable: workerExecutable), logger: logger,
        words: .sentences)
      return Result(try await migration.run { progress(MigrationProgress($0)) })
    } catch is CancellationError {
      throw CancellationError()
    } catch MigrationError.interrupted {
      throw CancellationError()
    } catch {
      throw MigrationFailure(error)
    }
  }

  /// Begins to migrate the store, and reports progress as a sequence.
  ///
  /// ```swift
  /// let running = migration.start()
  /// for await progress in running.progress { bar.value = progress.fraction }
  /// let result = try await running.result
  /// ```
  public func start() -> RunningMigration { RunningMigration(self) }

  /// Whether an interrupted run of this migration left a work folder from which the next one goes
  /// on; true as well while one runs.
  public var hasInterruptedRun: Bool { request.hasInterruptedRun }
}

/// A migration that has begun, in a task of its own.
public final class RunningMigration: Sendable {
  /// How far the migration is, the latest news first; it ends when the migration does.
  ///
  /// One consumer at a time may iterate it.
  public let progress: AsyncStream<MigrationProgress>
  private let task: Task<StoreMigration.Result, any Error>

  init(_ migration: StoreMigration) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: MigrationProgress.self, bufferingPolicy: .bufferingNewest(1))
    progress = stream
    task = Task {
      defer { continuation.finish() }
      return try await migration.run { continuation.yield($0) }
    }
  }

  /// What the migration did, once it has ended.
  ///
  /// Cancelling the task that waits cancels the migration.
  ///
  /// - Throws: what ``StoreMigration/run(progress:)`` throws.
  public var result: StoreMigration.Result {
    get async throws {
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  /// Interrupts the migration; `result` throws `CancellationError` then, and a later run goes on.
  public func cancel() { task.cancel() }
}
