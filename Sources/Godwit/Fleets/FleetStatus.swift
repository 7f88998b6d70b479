import Fleets
import Foundation
import Mapping
import SystemCalls
public import SystemPackage

extension StoreFleet {
  /// How far a fleet is.
  public struct Status: Hashable, Sendable, Encodable {
    /// The states of a fleet.
    public enum State: String, Hashable, Sendable, CaseIterable {
      /// A process on this machine runs it.
      case running
      /// Stores have no result, and no process on this machine runs it.
      case incomplete
      /// All stores have results, and some failed.
      case failed
      /// All stores have results, none failed, and old stores were put back.
      case rolledBack
      /// All stores are done.
      case done
    }

    /// Failures of one reason.
    public struct Failures: Hashable, Sendable {
      /// The reason: the kind of a ``MigrationFailure``, or `workerCrashed`.
      public var reason: String
      /// The number of stores.
      public var stores: Int
      /// The place of one of these stores in the list, from 0; nil where it is not known.
      public var number: Int?
      /// The path of that store.
      public var store: FilePath
      /// The first sentence about it, with the first reason that it announces.
      public var sentence: String
    }

    /// A store, and the time that it takes or took.
    public struct Timed: Hashable, Sendable {
      /// The place of the store in the list, from 0; nil where it is not known.
      public var number: Int?
      /// The path of the store.
      public var store: FilePath
      /// The size of the store, in bytes.
      public var bytes: Int64
      /// The time so far, or in all, in seconds.
      public var seconds: Double
      /// Whether it takes much longer than stores of its size.
      public var isSlow = false
    }

    /// Stores of one version with a result.
    public struct Version: Hashable, Sendable {
      /// The name of the version that the stores had; nil for stores whose version is unknown.
      public var name: String?
      /// The numbers of stores by outcome, those that are not 0.
      public var counts: [Outcome.Kind: Int]
    }

    /// The results of a rollback.
    public struct Rollback: Hashable, Sendable, Encodable {
      /// A store that could not be put back.
      public struct Failure: Hashable, Sendable, Encodable {
        /// The place of the store in the list, from 0.
        public var number: Int
        /// The path of the store.
        public var store: String
        /// The kind of the ``MigrationFailure``.
        public var reason: String?
        /// Its exit status.
        public var exitStatus: Int32
        /// Its sentences.
        public var sentences: [String]
      }

      /// The number of old stores that are back in their places.
      public private(set) var restored = 0
      /// The number of stores that could not be put back.
      public private(set) var failed = 0
      /// The first of these stores.
      public private(set) var failures: [Failure] = []
      /// The highest exit status of these stores, else 0.
      public private(set) var exitStatus: Int32 = 0

      private enum CodingKeys: CodingKey { case restored, failed, failures }
      private static let mostFailures = 100

      /// Starts without results.
      public init() {}

      /// Adds the outcome of a store.
      public mutating func add(_ outcome: Outcome) {
        guard outcome.kind == .failed else {
          restored += 1
          return
        }
        failed += 1
        exitStatus = max(exitStatus, outcome.exitStatus)
        if failures.count == Self.mostFailures { return }
        failures.append(
          Failure(
            number: outcome.number, store: outcome.store.string, reason: outcome.reason,
            exitStatus: outcome.exitStatus, sentences: outcome.sentences))
      }
    }

    /// The folder of the fleet.
    public var path: FilePath
    /// The number of stores.
    public var stores: Int
    /// The bytes of all stores when the fleet was created.
    public var bytes: Int64
    /// The bytes of stores that are done.
    public var bytesDone: Int64
    /// The rows of all new stores.
    public var rows: Int64
    /// The stores that are being migrated.
    public var running: [Timed] = []
    /// The slowest stores.
    public var slowest: [Timed]
    /// The failures, the most frequent first.
    public var failures: [Failures]
    /// Stores per second, nil where it is not known.
    public var storesPerSecond: Double?
    /// Bytes per second, nil where it is not known.
    public var bytesPerSecond: Double?
    /// The estimated time until all stores have a result, in seconds; nil unless it runs.
    public var secondsRemaining: Double?
    /// Why the last run on this machine stopped before the end, nil if it did not.
    public var stopped: String?
    /// The number of lines of results files that are damaged; their stores have no result.
    public var damagedLines = 0
    /// The rollback that has just ended, whose exit status counts; nil otherwise.
    public var rollback: Rollback?
    let tally: FleetTally
    private let isRunning: Bool

    /// The number of stores with an outcome.
    public func count(_ kind: Outcome.Kind) -> Int {
      StoreResult.Outcome(rawValue: kind.rawValue).map { tally.count($0) } ?? 0
    }

    /// The stores with a result by the versions that they had.
    public var versions: [Version] {
      tally.versionCounts.map { version, counts in
        let kinds = counts.compactMap { outcome, count in
          Outcome.Kind(rawValue: outcome.rawValue).map { ($0, count) }
        }
        return Version(
          name: version, counts: Dictionary(kinds, uniquingKeysWith: { first, _ in first }))
      }
    }

    /// The number of stores that need nothing more.
    public var done: Int { tally.done }
    /// The number of stores without a result.
    public var waiting: Int { max(0, stores - tally.stores) }
    /// The number of stores in journal mode WAL that had no `-wal` file.
    public var storesLackingLog: Int { tally.storesLackingLog }
    /// The number of stores that an earlier run had done before it was stopped.
    public var found: Int { tally.found }

    /// The state.
    public var state: State {
      if isRunning { return .running }
      if waiting > 0 { return .incomplete }
      if count(.failed) > 0 { return .failed }
      return count(.rolledBack) > 0 ? .rolledBack : .done
    }

    /// The exit status of `godwit fleet status` and `fleet run`: 0 while it runs or if all is done,
    /// 75 if stores have no result or were rolled back, else the highest status of a failed store.
    public var exitStatus: Int32 {
      if let rollback { return rollback.exitStatus }
      return switch state {
      case .running, .done: 0
      case .incomplete, .rolledBack: ExitStatus.interrupted.rawValue
      case .failed: tally.exitStatus
      }
    }

    init(_ fleet: StoreFleet, tally: FleetTally, run: FleetRun?) {
      path = fleet.path
      (stores, bytes) = (fleet.storeCount, fleet.bytes)
      self.tally = tally
      (bytesDone, rows) = (tally.bytes, tally.rows)
      slowest = tally.slowest.map {
        Timed(
          number: $0.number, store: FilePath($0.store), bytes: $0.bytes, seconds: $0.seconds)
      }
      failures = tally.failures.map { reason, group in
        Failures(
          reason: reason, stores: group.stores, number: group.number,
          store: FilePath(group.store), sentence: group.sentence)
      }.sorted { ($1.stores, $0.reason) < ($0.stores, $1.reason) }
      stopped = run?.stopped
      isRunning = run?.isRunning ?? false
      guard let run, isRunning else { return }
      let now = Double(WallClock.now()) / 1e9
      running = run.running.map {
        Timed(
          number: $0.number, store: FilePath($0.store), bytes: $0.bytes,
          seconds: max(0, now - $0.began), isSlow: $0.isSlow)
      }
      note(stores: run.storesDone, bytes: run.bytesDone, seconds: run.updated - run.started)
    }

    /// Notes how many stores were done in a time, and what is left at this rate.
    mutating func note(stores count: Int, bytes: Int64, seconds: Double) {
      guard seconds > 0, count > 0 else { return }
      storesPerSecond = Double(count) / seconds
      bytesPerSecond = Double(bytes) / seconds
      guard isRunning else { return }
      func work(_ stores: Int, _ bytes: Int64) -> Double {
        Double(max(0, bytes)) + Double(stores) * Double(ElementCut.bytesPerStore)
      }
      secondsRemaining =
        work(waiting, self.bytes - bytesDone) / (work(count, bytes) / seconds)
    }
  }

  /// How far the fleet is, by the results on this machine and those of all array elements.
  ///
  /// - Throws: `MigrationFailure`, if the results cannot be read.
  public func status() throws(MigrationFailure) -> Status {
    try MigrationFailure.catching {
      let run = try FleetState.readRun(folder).flatMap {
        $0.fleet == manifest.created ? $0 : nil
      }
      if let run, try ResultsFile.all(in: folder).isEmpty {
        return Status(self, tally: run.tally, run: run)
      }
      let ledger = try FleetLedger(folder, of: manifest)
      var status = Status(self, tally: ledger.tally, run: run)
      status.damagedLines = ledger.damagedLines
      if let times = ledger.times, status.storesPerSecond == nil {
        status.note(
          stores: ledger.tally.done, bytes: ledger.tally.bytes, seconds: times.last - times.first)
      }
      return status
    }
  }

  /// The outcome of one store; nil if it has none.
  ///
  /// - Parameter number: the place of the store in the list, from 0.
  /// - Throws: `MigrationFailure`, if the results cannot be read.
  public func outcome(of number: Int) throws(MigrationFailure) -> Outcome? {
    try MigrationFailure.catching {
      let isOfThisFleet = try FleetState.readRun(folder)?.fleet == manifest.created
      var found = isOfThisFleet ? try FleetState.result(of: number, in: folder) : nil
      for file in try ResultsFile.all(in: folder) {
        try ResultsFile.forEach(in: file) { _, result in
          guard result.number == number else { return }
          if let old = found, !result.replaces(old) { return }
          found = result
        }
      }
      return found.map { Outcome(core: $0) }
    }
  }

  /// The path and the output of one store; nil if there is no such store.
  ///
  /// - Parameter number: the place of the store in the list, from 0.
  /// - Throws: `MigrationFailure`, if the list cannot be read.
  public func member(_ number: Int) throws(MigrationFailure) -> Member? {
    try MigrationFailure.catching {
      guard (0..<storeCount).contains(number) else { return nil }
      var list = try FleetListReader(folder)
      return try list.store(number).map { store in
        Member(store: FilePath(store.store), output: store.output.map { FilePath($0) })
      }
    }
  }

  /// Calls `body` with the outcome of each store that has one, in no particular order.
  ///
  /// - Throws: `MigrationFailure`, or what `body` throws.
  public func forEachOutcome(_ body: (Outcome) throws -> Void) throws {
    try MigrationFailure.catching(around: body) { body in
      try FleetLedger(folder, of: manifest).read { try body(Outcome(core: $0)) }
    }
  }

  /// The elements of an array that have stores without a result or failed stores, as `3,7-9`.
  ///
  /// - Parameter count: the number of elements; nil takes that of the last run.
  /// - Throws: `MigrationFailure`, if no element has run and no number is given.
  public func openElements(of count: Int?) throws(MigrationFailure) -> String {
    try MigrationFailure.catching {
      let ledger = try FleetLedger(folder, of: manifest)
      guard let count = count ?? ledger.elementCount else {
        throw MigrationFailure(
          .usage,
          "\(path): no element has run yet: give the number of elements with \(option: .elements).")
      }
      var failed: Set<Int> = []
      try ledger.read { if !$0.outcome.isDone { failed.insert($0.number) } }
      var cut = ElementCut(count: count)
      var open: Set<Int> = []
      var list = try FleetListReader(folder)
      while let next = try list.next() {
        let element = cut.element(ofNext: next.store.bytes)
        if !ledger.hasResult(next.number) || failed.contains(next.number) { open.insert(element) }
      }
      return ArrayRanges.text(open.sorted())
    }
  }
}

extension StoreFleet.Status {
  private enum CodingKeys: CodingKey {
    case version, fleet, state, exitStatus, stores, bytes, done, waiting, migrated, copied, current
    case failed, rolledBack, found, rows, bytesDone, storesPerSecond, bytesPerSecond
    case secondsRemaining, versions, running, slowest, failures, stopped, damagedLines
    case losses, storesLackingLog, rollback
  }

  /// Encodes the output of `godwit fleet status --json` (docs/schemas/fleet-status.schema.json).
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(1, forKey: .version)
    try container.encode(path.string, forKey: .fleet)
    try container.encode(state.rawValue, forKey: .state)
    try container.encode(exitStatus, forKey: .exitStatus)
    try container.encode(stores, forKey: .stores)
    try container.encode(bytes, forKey: .bytes)
    try container.encode(done, forKey: .done)
    try container.encode(waiting, forKey: .waiting)
    try container.encode(count(.migrated), forKey: .migrated)
    try container.encode(count(.copied), forKey: .copied)
    try container.encode(count(.current), forKey: .current)
    try container.encode(count(.failed), forKey: .failed)
    try container.encode(count(.rolledBack), forKey: .rolledBack)
    try container.encode(found, forKey: .found)
    try container.encode(rows, forKey: .rows)
    try container.encode(bytesDone, forKey: .bytesDone)
    try container.encodeIfPresent(storesPerSecond, forKey: .storesPerSecond)
    try container.encodeIfPresent(bytesPerSecond, forKey: .bytesPerSecond)
    try container.encodeIfPresent(secondsRemaining, forKey: .secondsRemaining)
    try container.encode(versions, forKey: .versions)
    try container.encode(running, forKey: .running)
    try container.encode(slowest, forKey: .slowest)
    try container.encode(failures, forKey: .failures)
    try container.encodeIfPresent(stopped, forKey: .stopped)
    try container.encode(damagedLines, forKey: .damagedLines)
    try container.encode(losses, forKey: .losses)
    try container.encode(storesLackingLog, forKey: .storesLackingLog)
    try container.encodeIfPresent(rollback, forKey: .rollback)
  }
}

extension StoreFleet.Status.Timed: Encodable {
  private enum CodingKeys: CodingKey { case number, store, bytes, seconds, isSlow }

  /// Encodes the store as the status has it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(number, forKey: .number)
    try container.encode(store.string, forKey: .store)
    try container.encode(bytes, forKey: .bytes)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(isSlow, forKey: .isSlow)
  }
}

extension StoreFleet.Status.Failures: Encodable {
  private enum CodingKeys: CodingKey { case reason, stores, number, store, sentence }

  /// Encodes the failures as the status has them.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(reason, forKey: .reason)
    try container.encode(stores, forKey: .stores)
    try container.encodeIfPresent(number, forKey: .number)
    try container.encode(store.string, forKey: .store)
    try container.encode(sentence, forKey: .sentence)
  }
}

extension StoreFleet.Status.Version: Encodable {
  private enum CodingKeys: CodingKey { case version, stores }

  /// Encodes the version as the status has it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(name, forKey: .version)
    let stores = Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
    try container.encode(stores, forKey: .stores)
  }
}
