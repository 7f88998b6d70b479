import EngineList
public import Foundation
public import Logging
import MigrationCoordinator
import Planning
public import SystemPackage

/// A migration of a Core Data SQLite store to another version of its model.
///
/// ```swift
/// GodwitWorker.runIfRequested()  // the first call of `main`
/// var migration = StoreMigration(store: "Shop.sqlite", to: "Shop.momd")
/// migration.choices.allowedLoss = ["Book.isbn"]
/// let preparation = try await migration.prepare()  // writes nothing
/// guard preparation.isPossible else { return }
/// let result = try await migration.run()
/// ```
///
/// It runs in worker processes of the calling executable, whose `main` has to begin with
/// `GodwitWorker.runIfRequested()`.
public struct StoreMigration: Sendable {
  /// The SQLite store to migrate, which is not changed before the migration is complete.
  public var store: FilePath
  /// Model bundles, single versions, folders or stores with the model to migrate to, merged.
  ///
  /// A bundle stands for its current version; name the `.xcdatamodel` or `.mom` in it for another.
  public var target: [FilePath]
  /// The configuration of the model to migrate to, nil for all entities.
  public var configuration: String?
  /// Where the new store is written, nil to replace the old one.
  public var output: FilePath?
  /// More places to search for the store's own model.
  public var models: [FilePath] = []
  /// The mapping models and the versions by which the store gets to the target.
  public var routing = MigrationRouting()
  /// The policies that mapping models name.
  ///
  /// Workers create theirs from `GodwitWorker.runIfRequested(policies:)`, which has to register the
  /// same.
  public var policies = MigrationPolicies()
  /// The losses to accept, and the treatment of objects, values and tables that do not fit.
  public var choices = Choices()
  /// What is checked before and after.
  public var checks = Checks()
  /// The processes, the memory, the pace and the places of the work.
  public var resources = Resources()
  /// What becomes of the new store, and of the old one once the new one has replaced it.
  public var handover = Handover()
  /// The engine that makes the rows of the new store.
  public var engine = Engine.automatic
  /// While there is a file of this name, the migration is paused.
  public var pauseFile: FilePath?
  /// Whether what an interrupted run has done is removed instead of taken up.
  public var restarts = false
  /// Whether the result names the versions on the way, which takes reading all of them.
  public var namesVersions = false
  /// Whether SQL statements are printed to standard error, with their plans and times.
  public var logsSQL = false
  /// Receives warnings, for example about a work order that starts again.
  public var logger = Logger(label: "godwit")
  /// Whether small plans are executed in this process even where an executable of workers is named:
  /// where the result is thrown away, or where many stores are migrated.
  var executesSmallOrders = false
  /// Whether the result is thrown away.
  var isTrial = false
  /// Whether short runs write no status file, and start over after an interruption.
  package var skipsStatusOfShortRuns = false
  /// The work that this migration shares with others of the same options.
  var shared: SharedWork?
  /// What the last run did, for the report of a failure.
  var lastRun = LastRun()

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

  /// The engines that make the rows of a result.
  public struct Engine: RawRepresentable, Hashable, Sendable, CaseIterable,
    CustomStringConvertible
  {
    /// A clone where little of a large store changes and its file system shares blocks; else pages
    /// if they cover the migration, SQL otherwise.
    public static let automatic = Self(name: nil)
    /// Always SQL.
    public static let sql = Self(name: .sql)
    /// Pages wherever they cover the migration.
    public static let pages = Self(name: .pages)
    /// A clone of the store in which only what changes is made, wherever some of it stays as it is.
    public static let clone = Self(name: .clone)
    /// An edit of the store itself, in place, wherever some of it stays as it is.
    public static let edit = Self(name: .edit)
    /// Mapping models object by object, even if rows would do.
    public static let objects = Self(name: .objects)

    /// `automatic`, and all engines that there are.
    public static var allCases: [Self] { [automatic] + EngineList.names.map { Self(name: $0) } }

    /// The name of the engine in requests, nil for `automatic`.
    let name: EngineName?

    init(name: EngineName?) { self.name = name }

    /// Finds the engine by the name that `--engine` takes; nil if no engine has it.
    public init?(rawValue: String) {
      guard let engine = Self.allCases.first(where: { $0.rawValue == rawValue }) else {
        return nil
      }
      self = engine
    }

    /// The name that `--engine` takes.
    public var rawValue: String { name?.rawValue ?? "auto" }
    /// The name that `--engine` takes.
    public var description: String { rawValue }
  }
}

extension FilePath {
  /// The path of a file URL; for any other URL a path that cannot exist.
  ///
  /// It makes every initializer of Godwit usable with a `URL`: `StoreDiff(of: FilePath(old), and:
  /// FilePath(new))`.
  public init(_ url: URL) {
    self.init(url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString)
  }
}
