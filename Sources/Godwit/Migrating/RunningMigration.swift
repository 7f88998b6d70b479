/// A migration that runs in a task of its own.
public final class RunningMigration: Sendable {
  /// The progress of the migration, always the latest; it ends with the migration.
  ///
  /// Only one consumer may iterate it at a time.
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
  /// Cancelling the waiting task cancels the migration.
  ///
  /// - Throws: as ``StoreMigration/run(for:progress:)``.
  public var result: StoreMigration.Result {
    get async throws(MigrationFailure) {
      try await MigrationFailure.awaiting {
        try await withTaskCancellationHandler {
          try await task.value
        } onCancel: {
          task.cancel()
        }
      }
    }
  }

  /// Interrupts the migration: `result` throws a failure of the kind `interrupted`, and a later run
  /// resumes.
  public func cancel() { task.cancel() }
}
