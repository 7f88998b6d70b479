import Logging
import Mapping
import MigrationCoordinator
import MigrationStatus
import ObjectMigration
public import SystemPackage

/// A migration of a Core Data SQLite store to another version of its model.
///
/// It runs in worker processes of the calling executable, so `GodwitWorker.runIfRequested()` has to
/// be the first call of its `main`.
public struct StoreMigration: Sendable {
  /// The SQLite store to migrate; it is not written before the migration is complete.
  public var store: FilePath
  /// Model bundles, single versions, folders or stores with the model to migrate to, merged.
  public var target: [FilePath]
  /// The configuration of the model that the store is to have, or nil for all of it.
  public var configuration: String?
  /// Where the migrated store goes, or nil for the place of the store itself.
  public var output: FilePath?
  /// Where else the store's own model may be found.
  public var models: [FilePath] = []
  /// Mapping models (`.xcmappingmodel`, `.cdm`, `.json`) to migrate by, of one step or several;
  /// those for one pair of versions run in this order.
  public var mappings: [FilePath] = []
  /// Folders with mapping models, each of which is used where it fits; the folders of the models
  /// are looked through as well.
  public var mappingFolders: [FilePath] = []
  /// Whether to go version by version.
  public var isProgressive = false
  /// Whether to use no mapping models and infer what becomes of the data.
  public var infersOnly = false
  /// Whether a step without a mapping model may be inferred.
  public var infers = true
  /// The names of the model's versions in the order in which they followed each other; empty where
  /// their identifiers or names tell it.
  public var versionOrder: [String] = []
  /// The policies that the mapping models name; workers get theirs from
  /// `GodwitWorker.runIfRequested(policies:)`, which has to register the same.
  public var policies = MigrationPolicies()
  /// What violations of the model's rules do after a migration by mapping models.
  public var validation = Validation.strict
  /// How many workers run at a time; at least 1.
  public var workers = 2
  /// Bytes of memory for all processes together; at least 64 MiB.
  public var memory: Int64 = 256 << 20
  /// Whether nothing may be lost but what `allowedLoss` names, not even what goes with the model.
  public var failsOnLoss = false
  /// What may be lost besides what the model itself removes.
  public var allowedLoss = AllowedLoss.none
  /// Whether the old store is removed once the new one has taken its place.
  public var discardsOld = false
  /// Whether a record of the outcome stays beside the store and the output, where `godwit status`
  /// finds it.
  public var keepsRecord = false

  /// A migration of a store to the current version of a model.
  public init(store: FilePath, to target: FilePath) {
    self.store = store
    self.target = [target]
  }

  /// What violations of the model's rules do.
  public enum Validation: String, Sendable, CaseIterable {
    /// They end the migration.
    case strict
    /// They are told, and the migration succeeds.
    case report
    /// Nothing is checked.
    case off
  }

  /// What may be lost.
  public enum AllowedLoss: Hashable, Sendable {
    /// Nothing.
    case none
    /// Anything.
    case all
    /// Whatever is lost of these entities (`Entity`) and properties (`Entity.property`).
    case some(Set<String>)
  }

  /// How far a running migration is.
  public struct Progress: Sendable {
    /// From 0 to 1; it never falls.
    public var fraction: Double
    /// What is being done, such as `migrating` or `merging`.
    public var phase: String
    /// Seconds left, or nil while too little is done to tell.
    public var secondsRemaining: Double?
  }

  /// Where the objects of one source entity went; those in are those out and those dropped.
  public struct Account: Hashable, Sendable {
    /// The entity, by the name that it has in the store.
    public var entity: String
    /// Objects that the store had.
    public var objectsIn: Int64
    /// Of those, the ones of which something was made.
    public var objectsOut: Int64
    /// Objects dropped, by cause: `removed`, `filter`, `policy`, `unmappedEntity` and the like.
    public var dropped: [String: Int64]
    /// Which part of the migration it is of, from 1, where the store goes over others.
    public var stage: Int
  }

  /// What a migration did.
  public struct Result: Sendable {
    /// False where the store had the model already, and nothing was written.
    public var wasNeeded: Bool
    /// Rows of the new store, those of join tables included.
    public var rows: Int64
    /// How many violations of the model's rules were found and let pass.
    public var violations: Int
    /// Where all objects went.
    public var accounts: [Account]
    /// What was lost, one sentence each.
    public var losses: [String]
    /// Where the old store is kept, if it is.
    public var oldStore: FilePath?
  }

  /// Migrates the store.
  ///
  /// - Throws: `MigrationFailure`. The store is as it was then.
  public func run(
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Result {
    var request = MigrationRequest(
      store: store, target: target, workers: max(1, workers), memory: max(64 << 20, memory))
    request.configuration = configuration
    request.output = output
    request.mappings = mappings
    request.mappingFolders = mappingFolders
    request.isProgressive = isProgressive
    request.infersOnly = infersOnly
    request.infers = infers
    request.versionOrder = versionOrder
    request.policies = policies.factories
    request.validation = ValidationMode(rawValue: validation.rawValue) ?? .strict
    request.models = models
    request.failsOnLoss = failsOnLoss
    request.discardsOld = discardsOld
    request.lossConsent = allowedLoss.consent
    request.keepsRecord = keepsRecord
    do {
      let migration = Migration(request, logger: Logger(label: "godwit"), words: .sentences)
      let report = try await migration.run {
        progress(
          Progress(
            fraction: $0.fraction, phase: "\($0.phase)", secondsRemaining: $0.secondsRemaining))
      }
      return Result(
        wasNeeded: report.outcome != .alreadyCurrent, rows: report.rows,
        violations: report.violations, accounts: report.accounts.flatMap(Self.accounts),
        losses: report.losses.map(\.sentence), oldStore: report.oldStore.map { FilePath($0) })
    } catch {
      throw MigrationFailure(error)
    }
  }

  private static func accounts(of stage: StageAccounts) -> [Account] {
    stage.entities.map { entity in
      Account(
        entity: entity.entity, objectsIn: entity.rowsIn, objectsOut: entity.rowsOut,
        dropped: Dictionary(
          entity.dropped.map { ($0.cause.rawValue, $0.objects) }, uniquingKeysWith: +),
        stage: stage.stage)
    }
  }
}

extension StoreMigration.AllowedLoss {
  fileprivate var consent: LossConsent {
    switch self {
    case .none: .none
    case .all: .all
    case .some(let names): .some(names)
    }
  }
}
