import Fleets
import Foundation
public import Logging
import Synchronization
import SystemCalls
public import SystemPackage

/// Many stores that are migrated to one model, in one run or by an array of jobs.
///
/// ```swift
/// GodwitWorker.runIfRequested()  // the first call of `main`
/// let migration = StoreMigration(store: "", to: "Shop.momd")
/// let fleet = try StoreFleet.create(at: "Autumn", of: ["/data/users"], by: migration)
/// for try await outcome in fleet.run() where outcome.kind == .failed {
///   print(outcome.store, outcome.sentences)
/// }
/// ```
///
/// A fleet is a folder with a list and the results, so the next run continues a run that was
/// stopped in any way.
public struct StoreFleet: Sendable {
  /// The folder of the fleet.
  public let path: FilePath
  /// The number of worker processes, at least 1.
  public var jobs = ThreadPool.processors
  /// The memory for all processes together in bytes, at least 64 MiB.
  public var memory: Int64 = 512 << 20
  /// The number of times that a store is tried again whose failure may pass.
  public var retries = 2
  /// The number of stores that are migrated first, over all versions and sizes, and verified fully.
  ///
  /// The others follow if none of them fails.
  public var canary = 0
  /// The most stores that may fail before the run stops.
  public var failureLimit = FailureLimit.none
  /// The element of an array that this process runs, with results of its own; nil runs all stores.
  public var element: Element?
  /// The policies that mapping models name; workers create theirs from
  /// `GodwitWorker.runIfRequested(policies:)`.
  public var policies = MigrationPolicies()
  /// Receives warnings, such as those of a worker that crashed.
  public var logger = Logger(label: "godwit")
  /// The executable of the workers, nil for the running one.
  public var workerExecutable: FilePath?

  let folder: FleetFolder
  let manifest: FleetManifest

  /// The number of stores.
  public var storeCount: Int { manifest.stores }
  /// The bytes of all stores when the fleet was created.
  public var bytes: Int64 { manifest.bytes }

  /// Opens a fleet.
  ///
  /// - Throws: `MigrationFailure`, if there is none, or it is damaged.
  public init(_ path: FilePath) throws(MigrationFailure) {
    self.path = path
    folder = FleetFolder(path.absolute)
    manifest = try MigrationFailure.catching { [folder] in try folder.readManifest() }
  }

  /// A number of failed stores, or a share of all.
  public enum FailureLimit: Hashable, Sendable {
    /// Any number of stores may fail.
    case none
    /// This number of stores may fail.
    case stores(Int)
    /// This share of all stores may fail, 0...1.
    case share(Double)
  }

  /// Which stores a run migrates.
  public enum Selection: Hashable, Sendable {
    /// Stores without a result.
    case waiting
    /// Stores that failed.
    case failed
    /// Stores that were rolled back.
    case rolledBack
  }

  /// One of the elements that share out a fleet, by bytes.
  public struct Element: Hashable, Sendable, CustomStringConvertible {
    let core: FleetElement

    /// Creates element `number`, from 0, of `count`; nil for numbers out of range.
    public init?(number: Int, count: Int) {
      guard let core = FleetElement(number: number, count: count) else { return nil }
      self.core = core
    }

    /// Reads `3/20`; nil for anything else.
    public init?(_ text: String) {
      guard let core = FleetElement(text) else { return nil }
      self.core = core
    }

    /// The number of the element, from 0.
    public var number: Int { core.number }
    /// The number of all elements.
    public var count: Int { core.count }
    /// The element as `3/20`.
    public var description: String { core.description }
  }

  /// What became of one store.
  public struct Outcome: Sendable, Encodable {
    /// How the migration of a store ended.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
      /// The store was migrated.
      case migrated
      /// The store had the model, and was copied to its output.
      case copied
      /// The store had the model.
      case current
      /// The store was not migrated, and is unchanged.
      case failed
      /// The old store is back in its place.
      case rolledBack
    }

    let core: StoreResult

    /// The path of the store.
    public var store: FilePath { FilePath(core.store) }
    /// The place of the store in the list, from 0.
    public var number: Int { core.number }
    /// How it ended.
    public var kind: Kind { Kind(rawValue: core.outcome.rawValue) ?? .failed }
    /// Whether an earlier run had done it, and was stopped before it recorded that.
    public var wasFound: Bool { core.wasFound ?? false }
    /// The kind of a failure: that of ``MigrationFailure``, or `workerCrashed`.
    public var reason: String? { core.reason }
    /// The sentences of a failure.
    public var sentences: [String] { core.sentences }
    /// The exit status of a failure, 0 otherwise.
    public var exitStatus: Int32 { core.exitStatus }
    /// The rows of the new store, nil where none was made.
    public var rows: Int64? { core.rows }
    /// The size of the store before, in bytes.
    public var bytes: Int64 { core.bytes }
    /// The name or the checksum of the version that the store had; nil where it is not known.
    public var version: String? { core.version }
    /// Whether the store had journal mode WAL and no `-wal` file: if it was copied without that
    /// file, data is missing.
    public var lacksLog: Bool { core.lacksLog ?? false }
    /// The path under which the old store is kept; nil where it is not.
    public var oldStore: FilePath? { core.oldStore.map { FilePath($0) } }
    /// The name of the machine; nil where it is not known.
    public var node: String? { core.node }
    /// The time of the result, in seconds since 1970.
    public var time: Double { core.time }
    /// The time of the last attempt, in seconds.
    public var seconds: Double { core.seconds }
    /// The number of attempts.
    public var attempts: Int { core.attempts }

    /// Encodes an entry of `godwit fleet list --json` (docs/schemas/fleet-list.schema.json).
    public func encode(to encoder: any Encoder) throws { try core.encode(to: encoder) }
  }

  /// News of a run that is no outcome.
  public enum Notice: Hashable, Sendable {
    /// A store takes much longer than others of its size; seconds so far.
    case slow(FilePath, seconds: Double)
    /// The canary is done, and all of its stores are.
    case canaryPassed(stores: Int)
  }
}

extension MigrationFailure {
  /// Describes why a fleet's folder cannot be used.
  init(_ error: FleetError) {
    switch error.problem {
    case .noFleet:
      self.init(
        .notFound, "\(error.path) is not a fleet: \(command: .createFleet) creates one.")
    case .exists:
      self.init(
        .cannotCreate, kind: .fileExists,
        "\(error.path) is already a fleet: name another folder, or remove this one.")
    case .damaged:
      self.init(
        .damaged,
        "\(error.path) is damaged or was changed by hand: create the fleet again. No store depends "
          + "on it.")
    case .listChanged:
      self.init(
        .damaged,
        "\(error.path) was changed or removed, and results refer to its lines. Create another "
          + "fleet; it recognizes stores that are already migrated.")
    case .stateDamaged:
      self.init(
        .damaged,
        "\(error.path) is damaged: \(command: .runFleet(nil)) removes it and determines from the "
          + "stores what is done.")
    case .damagedLine(let line):
      self.init(
        .damaged,
        "\(error.path): line \(line) is not a store of a fleet: create the fleet again.")
    case .otherFormat(let found):
      self.init(
        .damaged,
        "\(error.path) was written by another version of Godwit (format \(found ?? 0)): use that "
          + "one, or create the fleet again.")
    case .running:
      self.init(
        .inUse,
        "\(error.path) is held by another process that runs this fleet: wait for it, or "
          + "stop it.")
    }
  }
}
