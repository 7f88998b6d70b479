public import Foundation
public import Logging
public import SystemPackage

/// A migration of a Core Data SQLite store to another version of its model.
///
/// ```swift
/// GodwitWorker.runIfRequested()  // the first call of `main`
/// var migration = StoreMigration(store: "Shop.sqlite", to: "Shop.momd")
/// migration.allowedLoss = .some(["Book.isbn"])
/// let preparation = try await migration.prepare()  // writes nothing
/// guard preparation.isPossible else { return }
/// let result = try await migration.run()
/// ```
///
/// It runs in worker processes of the calling executable, so `GodwitWorker.runIfRequested()` has to
/// be the first call of its `main`, unless `workerExecutable` names another one.
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
  /// By which mapping models and over which versions the store gets to the target.
  public var routing = MigrationRouting()
  /// The policies that the mapping models name; workers get theirs from
  /// `GodwitWorker.runIfRequested(policies:)`, which has to register the same.
  public var policies = MigrationPolicies()
  /// What violations of the model's rules do after a migration by mapping models.
  public var validation = Validation.strict
  /// How many workers run at a time; at least 1.
  public var workers = 2
  /// Bytes of memory for all processes together; at least 64 MiB.
  public var memory: Int64 = 256 << 20
  /// Rows of the ranges that every table is cut into, or nil for a number that suits the store.
  public var rowsPerRange: Int64?
  /// The folder below which the work folder is made, or nil for the one of the result.
  public var workFolder: FilePath?
  /// How the new store keeps its journal, or nil for the way of the old one.
  public var journalMode: JournalMode?
  /// How the result is verified before it takes its place.
  public var verification = Verification.quick
  /// Whether nothing may be lost but what `allowedLoss` names, not even what goes with the model.
  public var failsOnLoss = false
  /// What may be lost besides what the model itself removes.
  public var allowedLoss = AllowedLoss.none
  /// Whether the old store is removed once the new one has taken its place.
  public var discardsOld = false
  /// Whether a record of the outcome stays beside the store and the output, where
  /// ``MigrationMonitor`` finds it.
  public var keepsRecord = false
  /// Whether a store that has the model already is copied to the output, which else stays away.
  public var copiesIfCurrent = false
  /// Whether the result names the versions on the way, which takes a look at all of them.
  public var namesVersions = false
  /// What writes the rows of the new store.
  public var engine = Engine.automatic
  /// Whether every SQL statement is printed with its plan and its time on standard error.
  public var logsSQL = false
  /// Where warnings go, such as of a work order that is started again.
  public var logger = Logger(label: "godwit")
  /// The executable that workers are processes of, or nil for the running one; it has to call
  /// `GodwitWorker.runIfRequested(policies:)` first, as `godwit` itself does.
  public var workerExecutable: FilePath?

  /// Creates a migration of a store to the current version of a model.
  public init(store: FilePath, to target: FilePath) {
    self.store = store
    self.target = [target]
  }

  /// Creates a migration of a store to the current version of a model.
  public init(store: URL, to target: URL) {
    self.init(store: FilePath(store), to: FilePath(target))
  }

  /// Creates a migration of a store to several models, which are merged.
  public init(store: FilePath, toMerged targets: [FilePath]) {
    self.store = store
    target = targets
  }

  /// Creates a migration of a store to several models, which are merged.
  public init(store: URL, toMerged targets: [URL]) {
    self.init(store: FilePath(store), toMerged: targets.map { FilePath($0) })
  }

  /// What violations of the model's rules do.
  public enum Validation: String, Hashable, Sendable, CaseIterable {
    /// They end the migration.
    case strict
    /// They are reported, and the migration succeeds.
    case report
    /// Nothing is checked.
    case off
  }

  /// How a result is verified.
  public enum Verification: String, Hashable, Sendable, CaseIterable {
    /// Sums over all rows, and SQLite's quick check.
    case quick
    /// Every index as well.
    case full
  }

  /// What writes the rows of a result.
  public enum Engine: String, Hashable, Sendable, CaseIterable {
    /// Pages where that is known to work and pays, else SQL.
    case automatic = "auto"
    /// SQL always.
    case sql
    /// Pages wherever that is known to work.
    case pages
    /// Mapping models object by object, even where rows would do.
    case objects
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
}

extension FilePath {
  /// The path that a file URL names; any other URL is taken as a path that nobody has.
  init(_ url: URL) {
    self.init(url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString)
  }
}
