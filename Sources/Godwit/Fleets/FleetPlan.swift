import Fleets
import MigrationCoordinator
import SystemCalls
import SystemPackage

extension StoreFleet {
  /// What a run of a fleet would do, found without writing anything.
  public struct Plan: Sendable, Encodable {
    /// Stores of one version that are migrated alike.
    public struct Group: Hashable, Sendable, Encodable {
      /// The names of the version that the stores have.
      public var from: [String]
      /// The names of the version that they get.
      public var to: [String]
      /// The number of stores.
      public var stores = 0
      /// The bytes of these stores.
      public var bytes: Int64 = 0
      /// The number of stores that lose something, by `Entity.property: CAUSE`.
      public var losses: [String: Int] = [:]
    }

    /// Stores that cannot be migrated for one reason.
    public struct Refusal: Hashable, Sendable, Encodable {
      /// The first sentence about the first of these stores, with the first reason.
      public var sentence: String
      /// The number of stores.
      public var stores: Int
      /// One of these stores.
      public var store: String
      /// The exit status of their migrations.
      public var exitStatus: Int32
    }

    /// A disk that has less room than new stores take.
    public struct DiskShortage: Hashable, Sendable, Encodable {
      /// A folder on it, with one of the stores.
      public var folder: String
      /// The bytes of the new stores; about.
      public var needed: Int64
      /// The bytes that are free.
      public var available: Int64
    }

    private var version = 1
    /// The folder of the fleet.
    public let fleet: String
    /// The number of stores.
    public var stores = 0
    /// The bytes of all stores.
    public var bytes: Int64 = 0
    /// The number of stores that have the model already.
    public var current = 0
    /// The stores that would be migrated, the largest group first.
    public var groups: [Group] = []
    /// The stores that would fail, by reason.
    public var refusals: [Refusal] = []
    /// The room that new stores take next to the old ones, which are kept; about, in bytes.
    public var diskNeeded: Int64 = 0
    /// The number of stores to migrate that have journal mode WAL and no `-wal` file.
    public var storesLackingLog = 0
    /// The disks that have too little room.
    public var diskShortages: [DiskShortage] = []
    /// The estimated time of a run in seconds, from trials with copies of some stores; nil where
    /// none could be tried.
    public var seconds: Double?
    /// The number of stores whose copies were migrated.
    public var trials = 0

    init(of fleet: StoreFleet) { self.fleet = fleet.path.string }

    /// The exit status of `godwit fleet plan`: the highest of a store that would fail.
    public var exitStatus: Int32 { refusals.map(\.exitStatus).max() ?? 0 }
  }

  /// The stores whose copies are migrated for an estimate of the time.
  private static let mostTrials = 8

  /// Finds out what a run would do.
  ///
  /// - Parameter progress: called with the number of stores read.
  /// - Throws: `MigrationFailure`, of the kind `interrupted` if the task was cancelled.
  public func plan(
    progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws(MigrationFailure) -> Plan {
    try await MigrationFailure.awaiting { try await found(progress) }
  }

  private func found(_ progress: @Sendable (Int) -> Void) async throws -> Plan {
    try folder.requireList(of: manifest)
    var plan = Plan(of: self)
    var groups: [[[String]]: Plan.Group] = [:]
    var refusals: [String: Plan.Refusal] = [:]
    var checks: [FleetSettings: StoreCheck] = [:]
    var trials: [FleetStore] = []
    var disks: [UInt64: (folder: FilePath, bytes: Int64)] = [:]
    var list = try FleetListReader(folder)
    while let chunk = try list.next(1000) {
      for (options, stores) in Dictionary(grouping: chunk, by: { $0.options ?? FleetSettings() }) {
        let check = try checks[options] ?? check(by: options)
        checks[options] = check
        let findings = await check.run(stores.map { .init(path: FilePath($0.store), failure: nil) })
        try Task.checkCancellation()
        for (store, finding) in zip(stores, findings) {
          plan.bytes += store.bytes
          if finding.isPossible, finding.isNeeded == true {
            let isFirst = groups[[finding.from, finding.to]] == nil
            groups[[finding.from, finding.to], default: .init(from: finding.from, to: finding.to)]
              .add(finding, bytes: store.bytes)
            plan.diskNeeded += store.bytes
            if let (device, folder) = Self.disk(of: store) {
              disks[device, default: (folder, 0)].bytes += store.bytes
            }
            if finding.lacksLog { plan.storesLackingLog += 1 }
            if isFirst || trials.count < 2, trials.count < Self.mostTrials { trials.append(store) }
          } else if finding.isPossible {
            plan.current += 1
          } else {
            let sentence = StoreResult.summary(of: finding.reasons)
            let reason = sentence.replacing(finding.store, with: "STORE")
            refusals[
              reason,
              default: .init(
                sentence: sentence, stores: 0, store: store.store, exitStatus: finding.exitStatus)
            ].stores += 1
          }
        }
      }
      plan.stores += chunk.count
      progress(plan.stores)
    }
    plan.groups = groups.values.sorted {
      ($1.stores, $0.from.joined()) < ($0.stores, $1.from.joined())
    }
    plan.refusals = refusals.values.sorted { ($1.stores, $0.store) < ($0.stores, $1.store) }
    let shortages = try DiskShortage.find(
      wanted: disks.values.map { ($0.folder, $0.bytes, "new stores") })
    plan.diskShortages = shortages.map {
      .init(folder: $0.path.string, needed: $0.needed, available: $0.available)
    }
    try await tryOut(trials, in: &plan)
    return plan
  }

  /// The disk that a new store is written to, with a folder on it; nil where none can be read.
  private static func disk(of store: FleetStore) -> (device: UInt64, folder: FilePath)? {
    var folder = Files.parent(of: FilePath(store.output ?? store.store))
    while true {
      if let status = try? Files.fileStatusIfPresent(folder) { return (status.device, folder) }
      let parent = Files.parent(of: folder)
      if parent == folder { return nil }
      folder = parent
    }
  }

  private func check(by options: FleetSettings) throws -> StoreCheck {
    var migration = try StoreMigration(
      store: "", by: manifest.settings.overridden(by: options))
    migration.policies = policies
    migration.namesVersions = true
    migration.resources.executable = workerExecutable
    return try StoreCheck(of: migration)
  }

  /// Migrates copies of some stores, and estimates the time of a run by them.
  private func tryOut(_ stores: [FleetStore], in plan: inout Plan) async throws {
    var work = 0.0
    var seconds = 0.0
    for store in stores where store.bytes < OrderSource.giantBytes {
      var check = try check(by: store.options ?? FleetSettings())
      check.migratesCopies = true
      check.comparesResults = false
      let finding = try await check.run(.init(path: FilePath(store.store), failure: nil))
      guard finding.trial != nil else { continue }
      plan.trials += 1
      seconds += finding.seconds
      work += Double(store.bytes + ElementCut.bytesPerStore)
    }
    guard work > 0 else { return }
    let needed = plan.groups.reduce(0) { $0 + $1.stores }
    let all = Double(plan.diskNeeded) + Double(needed) * Double(ElementCut.bytesPerStore)
    plan.seconds = seconds * all / work / Double(max(1, jobs))
  }
}

extension StoreFleet.Plan.Group {
  fileprivate mutating func add(_ finding: StoreCheck.Finding, bytes: Int64) {
    stores += 1
    self.bytes += bytes
    for loss in Set(finding.losses.map { "\($0.name): \($0.cause.rawValue)" }) {
      losses[loss, default: 0] += 1
    }
  }
}

extension FleetListReader {
  /// The next stores, at most so many; nil at the end.
  fileprivate mutating func next(_ most: Int) throws -> [FleetStore]? {
    var stores: [FleetStore] = []
    while stores.count < most, let next = try next() { stores.append(next.store) }
    return stores.isEmpty ? nil : stores
  }
}
