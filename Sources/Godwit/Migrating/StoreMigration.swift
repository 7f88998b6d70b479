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
/// migration.allowedLoss = .some(["Book.isbn"])
/// let preparation = try await migration.prepare()  // writes nothing
/// guard preparation.isPossible else { return }
/// let result = try await migration.run()
/// ```
///
/// It runs in worker processes of the calling executable, so `GodwitWorker.runIfRequested()` has to
/// be the first call of its `main`, unless `workerExecutable` names another one.
public struct StoreMigration: Sendable {
  /// The SQLite store to migrate, which is not changed before the migration is complete.
  public var store: FilePath
  /// Model bundles, single versions, folders or stores with the model to migrate to, merged.
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
  /// How a migration by mapping models treats objects that violate validation rules.
  public var validation = Validation.strict
  /// How many workers may run at once: 1 to 256.
  public static let workerRange = MigrationRequest.workerRange
  /// How many workers run at once, at least 1.
  public var workers = 2
  /// The memory for all processes together in bytes, at least 64 MiB.
  public var memory: Int64 = 256 << 20
  /// Cuts every table into ranges of this many rows, nil for a suitable number.
  public var rowsPerRange: Int64?
  /// The folder in which the work folder is created, nil for that of the result.
  public var workFolder: FilePath?
  /// The journal mode of the new store, nil for that of the old one.
  public var journalMode: JournalMode?
  /// How the result is verified before it replaces the store.
  public var verification = Verification.quick
  /// How far the store is checked before anything is made of it.
  public var sourceCheck = SourceCheck.quick
  /// Whether what can be read of a damaged store is taken, and what is lost is listed; otherwise a
  /// damaged store is refused.
  ///
  /// The old store is kept then, whatever ``discardsOld`` says.
  public var salvagesDamaged = false
  /// Whether every loss needs consent in `allowedLoss`, even those that the model implies.
  public var failsOnLoss = false
  /// The losses to accept beyond those that the model implies.
  public var allowedLoss = AllowedLoss.none
  /// What is done about objects that a uniqueness constraint forbids.
  public var duplicates = DuplicateChoice.fail
  /// What is done about references to objects that are not there.
  public var danglingReferences = DanglingChoice.keep
  /// What is done about values that the new type has no equal for.
  public var unfitValues = ValueChoice.fail
  /// What is done about objects that would lack a mandatory to-one relationship.
  public var missingReferences = MissingChoice.fail
  /// What is done about objects that have several objects in a relationship that is to-one now.
  public var severalObjects = ManyChoice.fail
  /// What becomes of tables with rows that the model knows nothing of.
  public var extraTables = ExtraTableChoice.refuse
  /// What becomes of persistent history.
  public var history = HistoryChoice.keep
  /// What becomes of CloudKit mirroring.
  public var cloudKit = CloudKitChoice.refuse
  /// Whether the old store is removed once the new one has replaced it.
  public var discardsOld = false
  /// Whether what an interrupted run has done is removed instead of taken up.
  public var restarts = false
  /// Source bytes per second that all workers together may read, 0 for no limit.
  public var rate: UInt64 = 0
  /// While there is a file of this name, the migration is paused.
  public var pauseFile: FilePath?
  /// While there is a file of this name, the finished result waits for its swap; it is created
  /// empty at the start if it is not there.
  public var swapFile: FilePath?
  /// Whether a record of the outcome stays next to the store that is made, where
  /// ``MigrationMonitor`` finds it; a migration that is refused leaves none.
  public var keepsRecord = false
  /// Whether a store that has the target's model is copied to the output; otherwise there is no
  /// output.
  public var copiesIfCurrent = false
  /// Whether the new store gets an identifier of its own (`NSStoreUUIDKey`), as one of several
  /// stores that are made of one needs.
  ///
  /// Nothing that Core Data wrote about the old store is about it then, such as tokens of history.
  public var givesNewUUID = false
  /// Whether the result names the versions on the way, which takes reading all of them.
  public var namesVersions = false
  /// The engine that makes the rows of the new store.
  public var engine = Engine.automatic
  /// Whether SQL statements are printed to standard error, with their plans and times.
  public var logsSQL = false
  /// Receives warnings, for example about a work order that starts again.
  public var logger = Logger(label: "godwit")
  /// The executable of the workers, nil for the running one.
  ///
  /// It has to call `GodwitWorker.runIfRequested(policies:)` first, as `godwit` itself does.
  public var workerExecutable: FilePath?
  /// The words of a command that starts workers, such as `["srun", "-N1", "-n1"]`; empty to start
  /// them as child processes.
  ///
  /// It is followed by the executable and its arguments, and has to pass standard input and
  /// standard output through. Store, work folder and executable have to be at the same paths
  /// wherever it starts workers (docs/nodes.md).
  public var workerLauncher: [String] = []
  /// Whether small plans are executed in this process even where `workerExecutable` is named: where
  /// the result is thrown away, or where many stores are migrated.
  var executesSmallOrders = false
  /// Whether the result is thrown away.
  var isTrial = false
  /// Whether a store that is migrated within an instant has no status file meanwhile, and is begun
  /// anew where that is cut off.
  package var leavesInstantsUntold = false
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

  /// How objects that violate validation rules of the model are treated.
  public enum Validation: String, Hashable, Sendable, CaseIterable {
    /// They end the migration.
    case strict
    /// They are reported, and the migration succeeds.
    case report
    /// They are not looked for.
    case off
  }

  /// How far a store is checked beforehand.
  public enum SourceCheck: String, Hashable, Sendable, CaseIterable {
    /// Small stores as a whole, others while their rows are read.
    case quick
    /// Every page of every store, by SQLite's `integrity_check`.
    case full
    /// Takes what SQLite reads of the tables, whatever indexes say of it.
    case off
  }

  /// How a result is verified.
  public enum Verification: String, Hashable, Sendable, CaseIterable {
    /// By digests of all rows and SQLite's `quick_check`.
    case quick
    /// By reading the finished store again, and SQLite's `integrity_check` of every index.
    case full
  }

  /// The engines that make the rows of a result.
  public struct Engine: RawRepresentable, Hashable, Sendable, CaseIterable {
    /// A clone where little of a large store changes and its file system shares blocks; else pages
    /// if they cover the migration and the store is large enough, SQL otherwise.
    public static let automatic = Self(name: nil)
    /// Always SQL.
    public static let sql = Self(name: EngineName(rawValue: "sql"))
    /// Pages wherever they cover the migration.
    public static let pages = Self(name: EngineName(rawValue: "pages"))
    /// A clone of the store in which only what changes is made, wherever some of it stays as it is.
    public static let clone = Self(name: EngineName(rawValue: "clone"))
    /// An edit of the store itself, in place, wherever some of it stays as it is.
    public static let edit = Self(name: EngineName(rawValue: "edit"))
    /// Mapping models object by object, even if rows would do.
    public static let objects = Self(name: EngineName(rawValue: "objects"))

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
  }

  /// Which losses are accepted.
  public enum AllowedLoss: Hashable, Sendable {
    /// No loss beyond those that the model implies.
    case none
    /// Any loss.
    case all
    /// Any loss of these entities (`Entity`) and properties (`Entity.property`).
    case some(Set<String>)
  }
}

extension FilePath {
  /// The path of a file URL; for any other URL a path that cannot exist.
  init(_ url: URL) {
    self.init(url.isFileURL ? url.path(percentEncoded: false) : url.absoluteString)
  }
}
