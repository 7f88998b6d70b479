import Foundation
import MigrationCoordinator
import ObjectModel
import StoreFormat
import Survey
import SystemCalls
public import SystemPackage

// (1) The store that is migrated is only read. Handlers get a store of the stage's own.
// (2) A step from one version to the next is done once `stages.json` counts it, which has all that
// it was made for; the stores of an unfinished step are made again, so that no handler meets its
// own changes.
// (3) The output appears when all stages are done, at once. A run that is killed before it has
// removed its folder is complete: the next one finds the output by its record, and then by
// `stages.json`.

/// A migration in stages with code between them, like `NSStagedMigrationManager`.
///
/// Each stage is a migration into a store of its own, in a folder next to the output; a run that
/// was interrupted resumes with the first stage that is not done.
///
/// ```swift
/// var migration = StoreMigration(store: "Shop.sqlite", to: "Shop 4.mom")
/// migration.output = "New.sqlite"
/// let staged = StagedMigration(
///   of: migration,
///   stages: [
///     .lightweight(["Shop 1.mom", "Shop 2.mom"]),
///     .custom(from: "Shop 2.mom", to: "Shop 3.mom", willMigrate: removeDuplicates),
///     .lightweight(["Shop 4.mom"]),
///   ])
/// try await staged.run()
/// ```
public struct StagedMigration: Sendable {
  /// The store, the output and the settings of each stage.
  ///
  /// Its target, routing and accepted losses are ignored, since each stage has its own.
  public var migration: StoreMigration
  /// The stages in their order; the store starts after the version that it has.
  public var stages: [MigrationStage]

  /// Creates a migration of a store in stages, into an output.
  public init(of migration: StoreMigration, stages: [MigrationStage]) {
    self.migration = migration
    self.stages = stages
  }

  /// The progress of a staged migration.
  public struct Progress: Hashable, Sendable {
    /// The number of the running migration, from 1; a lightweight stage of several versions has
    /// several.
    public var step: Int
    /// The number of migrations.
    public var stepCount: Int
    /// The progress of the running migration.
    public var migration: MigrationProgress
  }

  /// What a staged migration did.
  public struct Result: Sendable {
    /// The results of the migrations of this run, in their order, without those of earlier runs.
    public let steps: [StoreMigration.Result]
    /// The path of the new store; the store itself if it had the last version.
    public let destination: FilePath
    /// Whether an earlier run had completed some of the stages.
    public let resumed: Bool
  }

  /// Migrates the store through all stages.
  ///
  /// - Throws: `MigrationFailure`, `CancellationError` if the task was cancelled, or the error of a
  ///   handler. The store is unchanged then, there is no output, and the next run resumes with the
  ///   first stage that is not done. `Kind.otherRun` where an interrupted run did stages in another
  ///   way, or of another state of the store: `migration.restarts` starts over.
  @discardableResult
  public func run(
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Result {
    try WorkerDispatch.requireCoordinator(workers: migration.resources.executable)
    guard let output = migration.output else {
      throw MigrationFailure(stagedOutputMissing: migration.store)
    }
    let route = try StagedRoute(
      stages: stages, store: migration.store, configuration: migration.configuration)
    guard !route.steps.isEmpty else {
      return Result(steps: [], destination: migration.store, resumed: false)
    }
    let work = try MigrationFailure.catching {
      if try Files.fileStatusIfPresent(output, followLinks: false) != nil,
        try migration.restarts || !StagedWork.isComplete(output, route: route)
      {
        throw PlaceError.outputExists(output)
      }
      return try StagedWork(.init(migration, route), output: output)
    }
    let resumed = work.done > 0
    var results: [StoreMigration.Result] = []
    for (number, step) in zip(1..., route.steps) where number > work.done {
      let result = try await migrate(step, number: number, work: work) {
        progress(Progress(step: number, stepCount: route.steps.count, migration: $0))
      }
      let losses = MadeLosses(result.core, consent: step.stage.allowedLoss.consent)
      try MigrationFailure.catching { try work.finish(number, losing: losses) }
      results.append(result)
    }
    if try MigrationFailure.catching({ try !work.hasOutput }) {
      try await publish(work, version: route.last, count: route.steps.count, output: output)
    }
    try MigrationFailure.catching { try work.remove() }
    return Result(steps: results, destination: output, resumed: resumed)
  }

  private func migrate(
    _ step: StagedStep, number: Int, work: StagedWork,
    progress: @escaping @Sendable (MigrationProgress) -> Void
  ) async throws -> StoreMigration.Result {
    let (before, made) = (work.before(number), work.made(number))
    var source = number == 1 ? migration.store : work.made(number - 1)
    if let willMigrate = step.stage.willMigrate {
      try MigrationFailure.catching { try work.removeStore(before) }
      try await copy(source, of: step.from, to: before)
      try await willMigrate(before)
      source = before
    }
    try Task.checkCancellation()
    try MigrationFailure.catching { try work.removeStore(made) }
    var single = self.single(source, to: step.to, output: made)
    single.routing.infersOnly = true
    single.choices.allowedLoss = step.stage.allowedLoss
    let result = try await single.run(progress: progress)
    try await step.stage.didMigrate?(made)
    try Task.checkCancellation()
    return result
  }

  /// The migration of one stage.
  private func single(
    _ source: FilePath, to version: FilePath, output: FilePath
  ) -> StoreMigration {
    var single = migration
    (single.store, single.target, single.output) = (source, [version], output)
    single.routing = MigrationRouting()
    single.models = []
    (single.handover.keepsRecord, single.handover.discardsOld, single.handover.copiesIfCurrent) = (
      false, false, false
    )
    single.resources.workFolder = nil
    return single
  }

  /// Copies a store with its external files and with the changes in its `-wal`.
  func copy(
    _ store: FilePath, of version: FilePath, to output: FilePath, keepsRecord: Bool = false
  ) async throws {
    var copying = single(store, to: version, output: output)
    copying.handover.copiesIfCurrent = true
    copying.handover.keepsRecord = keepsRecord
    try await copying.run()
  }

  /// Copies the last store to the output, unless the source has changed since.
  ///
  /// - Throws: `MigrationFailure`.
  func publish(
    _ work: StagedWork, version: FilePath, count: Int, output: FilePath
  ) async throws {
    try MigrationFailure.catching {
      guard try work.isSourceUnchanged else {
        throw StoreError(problem: .changedDuringMigration, store: migration.store)
      }
    }
    try await copy(work.made(count), of: version, to: output, keepsRecord: true)
    try MigrationFailure.catching { try work.noteOutput() }
  }
}
