public import Foundation
import Mapping
import MigrationCoordinator
import StoreFormat
import Synchronization
import SystemCalls
public import SystemPackage

extension StoreMigration {
  /// Migrates the store, and resumes an interrupted run of the same migration.
  ///
  /// Cancelling the task interrupts the migration. It stops within seconds and leaves the store
  /// unchanged; the work done so far remains in the work folder, and the next `run()` takes it over
  /// (``hasInterruptedRun``, ``Result/resumed``).
  ///
  /// - Parameters:
  ///   - target: the model to migrate to, if it was read before; nil reads it.
  ///   - progress: is called about ten times a second, on any thread.
  /// - Throws: `MigrationFailure`, of the kind `interrupted` if the task was cancelled. The store
  ///   is unchanged then.
  @discardableResult
  public func run(
    for target: MigrationTarget? = nil,
    progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
  ) async throws(MigrationFailure) -> Result {
    try WorkerDispatch.requireCoordinator(workers: resources.executable)
    try requirePossibleResources()
    try requireDistinctFiles()
    try requireFreeHolds()
    return try await migrate(
      for: target, telemetry: RunTelemetry(of: "\(store)"), progress: progress)
  }

  func migrate(
    for target: MigrationTarget?, telemetry: RunTelemetry,
    progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
  ) async throws(MigrationFailure) -> Result {
    do {
      let last = Mutex<MigrationProgress?>(nil)
      let result = Result(
        try await MigrationRun.migrate(
          request(for: target), launcher: OrderLauncher(resources), logger: logger,
          words: .sentences, recorder: lastRun.begin(observer: telemetry)
        ) { snapshot in
          let now = MigrationProgress(snapshot)
          last.withLock { $0 = now }
          progress(now)
        })
      telemetry.end(result)
      // The last progress may have come before the end.
      if let seen = last.withLock({ $0 }), seen.phase != .done { progress(seen.ended) }
      return result
    } catch {
      let failure = MigrationFailure(error)
      telemetry.end(failure)
      throw failure
    }
  }

  /// Checks that the resources are within their ranges.
  ///
  /// - Throws: `MigrationFailure`.
  func requirePossibleResources() throws(MigrationFailure) {
    let (range, least) = (Resources.workerRange, Resources.leastMemory)
    var problems: [String] = []
    if !range.contains(resources.workers) {
      problems.append(
        "\(option: .workers) is \(resources.workers): use \(range.lowerBound) to "
          + "\(range.upperBound).")
    }
    if resources.memory < least {
      problems.append(
        "\(option: .memory) is \(ByteText(resources.memory)): use at least \(ByteText(least)).")
    }
    if let rate = resources.bytesPerSecond, rate < 1 {
      problems.append("\(option: .rate) is \(rate): use at least 1, or leave it out.")
    }
    if let rows = resources.rowsPerRange, rows < 1 {
      problems.append("\(option: .rangeRows) is \(rows): use at least 1, or leave it out.")
    }
    guard problems.isEmpty else { throw MigrationFailure(.usage, problems) }
  }

  /// Checks that no pause file has a name of a store's own files: the user would remove it to
  /// resume.
  ///
  /// - Throws: `MigrationFailure`.
  private func requireFreeHolds() throws(MigrationFailure) {
    for hold in [pauseFile, handover.swapFile].compactMap(\.self) {
      try MigrationFailure.catching {
        try CompanionName.requireFree(hold, besides: [store, output].compactMap(\.self))
      }
    }
  }

  /// Starts to migrate the store, and returns the progress as a sequence.
  ///
  /// ```swift
  /// let running = migration.start()
  /// for await progress in running.progress { bar.value = progress.fraction }
  /// let result = try await running.result
  /// ```
  public func start() -> RunningMigration { RunningMigration(self) }

  /// Migrates the store while a closure watches it, and waits for both.
  ///
  /// ```swift
  /// let result = try await migration.withRunning { running in
  ///   for await progress in running.progress { bar.value = progress.fraction }
  ///   return try await running.result
  /// }
  /// ```
  ///
  /// An error that the closure throws interrupts the migration, as does cancelling the task.
  ///
  /// - Throws: what the closure throws; as ``run(for:progress:)`` where the migration fails.
  /// - Returns: What the closure returns.
  public func withRunning<Value: Sendable>(
    _ body: (RunningMigration) async throws -> Value
  ) async throws -> Value {
    let running = start()
    return try await withTaskCancellationHandler {
      do {
        let value = try await body(running)
        _ = try await running.result
        return value
      } catch {
        running.cancel()
        _ = try? await running.result
        throw error
      }
    } onCancel: {
      running.cancel()
    }
  }

  /// Migrates a store to the current version of a model: two workers, nothing that would be lost
  /// without consent, and the old store stays.
  ///
  /// `GodwitWorker.runIfRequested()` has to be the first call of `main`.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - model: the model, in any form that ``target`` takes.
  ///   - output: where the new store is written, nil to replace the old one.
  /// - Throws: as ``run(for:progress:)``.
  @discardableResult
  public static func migrate(
    _ store: FilePath, to model: FilePath, output: FilePath? = nil
  ) async throws(MigrationFailure) -> Result {
    var migration = StoreMigration(store: store, to: model)
    migration.output = output
    return try await migration.run()
  }

  /// Migrates a store to the current version of a model: two workers, nothing that would be lost
  /// without consent, and the old store stays.
  ///
  /// `GodwitWorker.runIfRequested()` has to be the first call of `main`.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - model: the model, in any form that ``target`` takes.
  ///   - output: where the new store is written, nil to replace the old one.
  /// - Throws: as ``run(for:progress:)``.
  @discardableResult
  public static func migrate(_ store: URL, to model: URL, output: URL? = nil)
    async throws(MigrationFailure) -> Result
  {
    try await migrate(FilePath(store), to: FilePath(model), output: output.map { FilePath($0) })
  }

  /// Whether a run that migrates the store to this place left its work folder behind, or runs.
  ///
  /// ``run(for:progress:)`` resumes the work of the same migration. Where the models, the
  /// mapping models or the options are others, it throws a failure of the kind `otherRun`.
  public var hasInterruptedRun: Bool { request.hasInterruptedRun }
}
