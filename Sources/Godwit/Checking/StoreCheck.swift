import MigrationCoordinator
import StoreNames
import SystemCalls
public import SystemPackage

/// A check whether stores can be migrated to a model, on request by migrating each of them.
///
/// ```swift
/// var check = try StoreCheck(of: StoreMigration(store: "Shop.sqlite", to: "Shop.momd"))
/// check.migratesCopies = true
/// for finding in await check.run(StoreSearch(["Fixtures"]).entries) {
///   print(finding.store, finding.reasons)
/// }
/// ```
///
/// No store is written, and no file is created next to it.
public struct StoreCheck: Sendable {
  /// The migration to check, with any store instead of its own; its output is not made.
  public var migration: StoreMigration
  /// Whether each store that needs it is migrated into a temporary folder, which goes again, and
  /// the result read as a whole.
  public var migratesCopies = false
  /// Whether each result is compared with its store, as ``StoreVerification`` does.
  public var comparesResults = true
  /// Stores that were generated for the check; copies of them are also migrated in place and rolled
  /// back.
  ///
  /// nil if there are none.
  public var made: MadeStores?
  /// Whether losses of results include what choices remove, which is otherwise among the defects.
  var listsChosenLosses = false
  private let target: MigrationTarget

  /// Reads the model to migrate to, once for all stores, and its versions as they are needed.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be read.
  public init(of migration: StoreMigration) throws(MigrationFailure) {
    self.migration = migration
    target = try MigrationTarget(migration.target, configuration: migration.configuration)
  }

  /// Finds out what becomes of a store.
  ///
  /// Whatever is wrong with the store is in the finding.
  ///
  /// - Parameters:
  ///   - entry: the store, or what was found in its place.
  ///   - progress: called with the completed share of a migration, 0...1, on any thread.
  /// - Throws: `MigrationFailure` of the kind `interrupted`, if the task was cancelled.
  public func run(
    _ entry: StoreSearch.Entry, progress: @escaping @Sendable (Double) -> Void = { _ in }
  ) async throws(MigrationFailure) -> Finding {
    try await checked(entry, progress: progress).get()
  }

  /// Finds out what becomes of each of several stores, in their order.
  ///
  /// Several small stores are checked at a time, since each keeps about one processor busy. Stores
  /// of 64 MiB and more follow, one at a time. Stores that are not done when the
  /// task is cancelled are reported as interrupted.
  ///
  /// - Parameters:
  ///   - entries: the stores.
  ///   - progress: called with the completed share of all stores, 0...1, which never falls, a
  ///     store, and the number of finished stores, on any thread, one call at a time.
  public func run(
    _ entries: [StoreSearch.Entry],
    progress: @escaping @Sendable (Double, FilePath, Int) -> Void = { _, _, _ in }
  ) async -> [Finding] {
    let paths = entries.map(\.path)
    let shares = StoreShares(paths, progress: progress)
    return await StoreQueue(paths).answers { index, _ in
      let finding = await finding(of: entries[index]) { shares.reach($0, of: index) }
      shares.end(index)
      return finding
    }
  }

  private func finding(
    of entry: StoreSearch.Entry, progress: @escaping @Sendable (Double) -> Void
  ) async -> Finding {
    guard !Task.isCancelled else { return .interrupted(entry) }
    progress(0)
    guard case .success(let finding) = await checked(entry, progress: progress) else {
      return .interrupted(entry)
    }
    return finding
  }

  /// The finding on a store; a failure only if the task was cancelled.
  private func checked(
    _ entry: StoreSearch.Entry, progress: @escaping @Sendable (Double) -> Void
  ) async -> Result<Finding, MigrationFailure> {
    let clock = ContinuousClock()
    let start = clock.now
    var finding = Finding(store: entry.path)
    do {
      if let failure = entry.failure { throw failure }
      try await look(at: entry.path, finding: &finding, progress: progress)
    } catch {
      let failure = MigrationFailure(error)
      guard failure.kind != .interrupted else { return .failure(failure) }
      finding.note(failure)
      if failure.kind == .sourceModelMissing {
        finding.missingVersion = .init(
          of: entry.path, target: migration.target, library: target.core.library)
      }
    }
    finding.seconds = (clock.now - start) / .seconds(1)
    return .success(finding)
  }

  private func look(
    at store: FilePath, finding: inout Finding, progress: @escaping @Sendable (Double) -> Void
  ) async throws {
    var migration = migration
    migration.store = store
    let objects = migratesCopies ? 0 : StoreMigration.triedObjects
    let found = try await migration.prepare(trying: objects, for: target)
    finding.note(found)
    if let refusal = found.refusal { throw refusal }
    guard migratesCopies, found.isNeeded else {
      finding.isPossible = true
      return
    }
    try await tryOut(migration, finding: &finding, progress: progress)
    finding.isPossible = true
  }

  private static func folder() throws -> TemporaryFolder {
    do {
      return try TemporaryFolder()
    } catch {
      throw MigrationFailure(
        .cannotCreate,
        "no folder can be created in the system's temporary folder (\(error.errno)): name another "
          + "one with TMPDIR.")
    }
  }

  /// Migrates a store into a folder of its own, and compares the result with it.
  private func tryOut(
    _ migration: StoreMigration, finding: inout Finding,
    progress: @escaping @Sendable (Double) -> Void
  ) async throws {
    let folder = try Self.folder()
    defer { withExtendedLifetime(folder) {} }
    var trial = migration.trial(in: folder)
    trial.checks.result = .full
    let result = try await trial.run(for: target) { progress($0.fraction) }
    finding.note(result)
    if listsChosenLosses {
      finding.losses += result.core.chosenLosses.map { StoreMigration.Loss($0) }
    }
    if comparesResults, result.losses.allSatisfy(\.isKnownToVerify) {
      try Task.checkCancellation()
      let report = try await trial.verification(of: result).run(for: target)
      guard report.isAlike else {
        throw MigrationFailure(
          .damaged, kind: .storesDiffer, report.lines + [report.verdict])
      }
      finding.trial?.isCompared = true
    }
    guard made?.name(of: migration.store) != nil else { return }
    try await takeBack(migration, in: folder)
    finding.trial?.isTakenBack = true
  }
}

extension StoreCheck {
  /// Migrates a copy of a store in its place and takes it back, after which each of its files has
  /// the bytes that it had.
  ///
  /// - Throws: `MigrationFailure`, if it has not.
  private func takeBack(_ migration: StoreMigration, in folder: TemporaryFolder) async throws {
    let name = migration.store.lastComponent ?? "Store.sqlite"
    let place = folder.path.appending("back")
    var own = migration.trial(in: folder)
    (own.store, own.output, own.isTrial) = (place.appending(name), nil, false)
    own.handover.keepsRecord = migration.handover.keepsRecord
    let files = try MigrationFailure.catching {
      _ = try Files.createDirectory(place)
      return try Self.copy(migration.store, to: own.store)
    }
    try await own.run(for: target)
    try MigratedStore(own.store).rollBack()
    let changed = try MigrationFailure.catching {
      try files.filter { try Self.bytes(of: $0.from) != Self.bytes(of: $0.to) }
    }
    guard changed.isEmpty else {
      throw MigrationFailure(
        .damaged, kind: .storesDiffer,
        "\(migration.store): the rollback of its migration does not restore "
          + "\(ListText(changed.map { $0.from.lastComponent?.string ?? "" })), please report it.")
    }
  }

  /// Copies a store and its external files; the places of each file before and after.
  private static func copy(
    _ store: FilePath, to copy: FilePath
  ) throws -> [(from: FilePath, to: FilePath)] {
    var files = [(from: store, to: copy)]
    let (support, other) = (
      SupportFolder.path(of: store), SupportFolder.path(of: copy)
    )
    if try Files.fileStatusIfPresent(support) != nil {
      _ = try Files.createDirectory(other)
      let data = SupportFolder.data
      if try Files.fileStatusIfPresent(support.appending(data)) != nil {
        _ = try Files.createDirectory(other.appending(data))
        files += try Files.listDirectory(support.appending(data)).map {
          (support.appending(data).appending($0), other.appending(data).appending($0))
        }
      }
    }
    for (from, to) in files { try Files.writeFileAtomically(bytes(of: from), to: to) }
    return files
  }

  /// The bytes of a generated file, which fits into memory.
  private static func bytes(of file: FilePath) throws -> [UInt8] {
    try Files.readFile(file, limit: 1 << 30)
  }
}

extension StoreMigration {
  /// The comparison of a result of this migration with its store.
  fileprivate func verification(of result: Result) -> StoreVerification {
    var verification = StoreVerification(of: result.destination, madeBy: self)
    verification.now = result.core.now
    verification.limit = 20
    verification.isOwn = true
    verification.saysAll = true
    return verification
  }
}

extension StoreMigration.Loss {
  /// Whether the models imply this loss, so that a comparison expects it.
  fileprivate var isKnownToVerify: Bool {
    switch cause {
    case .removed, .filter, .policy, .unmappedEntity, .outsideConfiguration, .unmappedProperty,
      .unmappedPair, .order, .elsewhere, .collision, .conversion, .index, .allObjects, .detour,
      .downgrade,
      .lastCopy, .unknownEntity, .outsideModel, .missingKey:
      true
    case .unknownReference, .dangling, .duplicate, .missingReference, .severalObjects, .history,
      .cloudKit:
      false
    }
  }
}
