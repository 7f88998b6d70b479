import MigrationCoordinator
import Synchronization
import SystemCalls
public import SystemPackage

/// Migrations of several stores to one model, which is read once.
///
/// ```swift
/// let series = try MigrationSeries(of: StoreMigration(store: "A.sqlite", to: "Shop.momd"))
/// let ends = try await series.run(["A.sqlite", "B.sqlite"])
/// print(ends.filter { $0.failure != nil })
/// ```
///
/// Each store is migrated as by itself, with a work folder, a record and an old store of its own:
/// what is done of one does not depend on any other. Small stores are migrated several at a time
/// and, as far as SQL makes their rows, without worker processes.
public struct MigrationSeries: Sendable {
  /// How the migration of one store ended.
  public struct End: Sendable {
    /// The store.
    public let store: FilePath
    /// What was done; nil where it failed, or was interrupted.
    public let result: StoreMigration.Result?
    /// Why nothing was done, or not all; nil where it was.
    public let failure: MigrationFailure?
  }

  /// The migration, of whatever store; its output is not made.
  public var migration: StoreMigration
  /// The folder that gets the new stores, under the names of the old ones; nil replaces these.
  public var outputFolder: FilePath?
  private let target: MigrationTarget

  /// Reads the model to migrate to, once for all stores.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be read.
  public init(of migration: StoreMigration, outputFolder: FilePath? = nil) throws {
    self.migration = migration
    self.outputFolder = outputFolder
    target = try MigrationTarget(migration.target, configuration: migration.configuration)
  }

  /// Migrates the stores; after a cancellation, the same run continues with the stores that were
  /// interrupted or not begun.
  ///
  /// - Parameters:
  ///   - stores: the stores, each once.
  ///   - progress: is called with the completed share of all stores, 0...1, which never falls, with
  ///     the store that it is about and how many are done, on any thread, but by one at a time.
  ///   - ended: is called with each end in the order of the stores, as soon as those before it have
  ///     ended too, by one at a time.
  /// - Throws: `MigrationFailure`, before anything is migrated, if a store was named twice, or two
  ///   new stores would have one name.
  /// - Returns: How each migration ended, in the order of the stores.
  @discardableResult
  public func run(
    _ stores: [FilePath],
    progress: @escaping @Sendable (Double, FilePath, Int) -> Void = { _, _, _ in },
    ended: @escaping @Sendable (End) -> Void = { _ in }
  ) async throws(MigrationFailure) -> [End] {
    try requireApart(stores)
    let queue = StoreQueue(
      stores,
      atMost: Int(clamping: migration.resources.memory / StoreMigration.Resources.leastMemory))
    let shares = StoreShares(stores, progress: progress)
    let shared = SharedWork(target: target.core)
    let waiting = Mutex<(ends: [Int: End], next: Int)>(([:], 0))
    return await queue.answers { index, isSmall in
      let end = await migrate(stores[index], isSmall: isSmall, queue: queue, shared: shared) {
        shares.reach($0, of: index)
      }
      shares.end(index)
      waiting.withLock { waiting in
        waiting.ends[index] = end
        while let end = waiting.ends.removeValue(forKey: waiting.next) {
          ended(end)
          waiting.next += 1
        }
      }
      return end
    }
  }

  private func migrate(
    _ store: FilePath, isSmall: Bool, queue: StoreQueue, shared: SharedWork,
    progress: @escaping @Sendable (Double) -> Void
  ) async -> End {
    var own = migration
    own.store = store
    own.output = outputFolder.map { $0.appending(store.lastComponent?.string ?? "") }
    own.lastRun = LastRun()
    own.shared = shared
    if isSmall {
      own.executesSmallOrders = true
      own.resources.workers = 1
      own.resources.memory = max(
        StoreMigration.Resources.leastMemory, own.resources.memory / Int64(queue.atOnce))
    }
    do {
      try Task.checkCancellation()
      progress(0)
      let result = try await own.run(for: target) { progress($0.fraction) }
      return End(store: store, result: result, failure: nil)
    } catch {
      let failure = MigrationFailure(error)
      guard failure.kind == .interrupted else {
        return End(store: store, result: nil, failure: failure)
      }
      let sentence = "\(store): interrupted: \(MigrationFailure.goesOn)."
      return End(store: store, result: nil, failure: MigrationFailure(.interrupted, sentence))
    }
  }

  /// Checks that no two migrations are about one file.
  private func requireApart(_ stores: [FilePath]) throws(MigrationFailure) {
    if let outputFolder {
      guard
        try MigrationFailure.catching({ try Files.fileStatusIfPresent(outputFolder) })?
          .isDirectory == true
      else {
        throw MigrationFailure(
          .usage, "\(outputFolder) is not a folder: name an existing folder for the new stores."
        )
      }
    }
    var files: [FileStatus.Identity: FilePath] = [:]
    // Strings would be one name where only their bytes differ, as é has two forms.
    var names: [FilePath.Component: FilePath] = [:]
    for store in stores {
      let status = try? Files.fileStatusIfPresent(store)
      if let status, let other = files.updateValue(store, forKey: status.identity) {
        throw MigrationFailure(
          .usage, "\(store) and \(other) are the same file: name it once.")
      }
      guard outputFolder != nil, let name = store.lastComponent else { continue }
      if let other = names.updateValue(store, forKey: name) {
        throw MigrationFailure(
          .usage, "\(store) and \(other) have the same name: migrate them to different folders.")
      }
    }
  }
}
