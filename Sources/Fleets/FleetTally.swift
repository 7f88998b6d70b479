/// Counts of the results of a fleet, which change result by result.
package struct FleetTally: Codable, Hashable, Sendable {
  /// Failures of one reason.
  package struct Group: Codable, Hashable, Sendable {
    /// The number of stores.
    package var stores: Int
    /// The place of the first of these stores in the list; nil where an earlier version wrote it.
    package var number: Int?
    /// The first of these stores.
    package var store: String
    /// The first sentence about it, with the first reason that it announces.
    package var sentence: String
    /// The exit status of the failure.
    package var exitStatus: Int32
  }

  /// A store that took long.
  package struct Slow: Codable, Hashable, Sendable {
    /// The place of the store in the list; nil where an earlier version wrote it.
    package var number: Int?
    /// The path of the store.
    package var store: String
    /// The time that it took, in seconds.
    package var seconds: Double
    /// The size of the store, in bytes.
    package var bytes: Int64
  }

  /// A loss over several stores.
  package struct LossSum: Codable, Hashable, Sendable {
    /// The loss, with the sum of all stores.
    package var loss: FleetLoss
    /// The number of stores with this loss.
    package var stores: Int
  }

  /// The numbers of stores by outcome.
  private var counts: [String: Int] = [:]
  /// The same by the version that the stores had; nil where an earlier version wrote it.
  private var versions: [String: [String: Int]]?
  /// The bytes of stores that are done.
  package private(set) var bytes: Int64 = 0
  /// The rows of new stores.
  package private(set) var rows: Int64 = 0
  /// The time that the stores took together, in seconds.
  package private(set) var seconds: Double = 0
  /// The number of stores that an earlier run had done before it was stopped.
  package private(set) var found = 0
  /// The failures by their reason.
  package private(set) var failures: [String: Group] = [:]
  /// The slowest stores, the slowest first.
  package private(set) var slowest: [Slow] = []

  /// The stores in WAL mode without a log; nil where an earlier version wrote it.
  private var lackingLogs: Int?
  /// The losses by kind, cause and name; nil where an earlier version wrote it.
  private var lossSums: [String: LossSum]?

  private static let mostSlow = 5
  /// The most losses that are summed: their names come from models.
  private static let mostLosses = 500
  /// The most versions that are counted apart: their names come from stores.
  private static let mostVersions = 200

  /// Creates a tally of nothing.
  package init() {}

  /// The number of stores with an outcome.
  package func count(_ outcome: StoreResult.Outcome) -> Int { counts[outcome.rawValue] ?? 0 }

  /// The numbers of stores by outcome, for each version that stores had; the version is nil if it
  /// is unknown.
  package var versionCounts: [(version: String?, counts: [StoreResult.Outcome: Int])] {
    (versions ?? [:]).sorted { $0.key < $1.key }.map { version, counts in
      let known = counts.compactMap { name, count in
        StoreResult.Outcome(rawValue: name).map { ($0, count) }
      }
      return (
        version.isEmpty ? nil : version, Dictionary(known, uniquingKeysWith: { first, _ in first })
      )
    }
  }

  /// The number of stores with a result.
  package var stores: Int { counts.values.reduce(0, +) }

  /// The number of stores that need nothing more.
  package var done: Int {
    StoreResult.Outcome.allCases.filter(\.isDone).map { count($0) }.reduce(0, +)
  }

  /// The highest exit status of a failed store, 0 where none failed.
  package var exitStatus: Int32 { failures.values.map(\.exitStatus).max() ?? 0 }

  /// The number of stores in WAL mode that had no `-wal`.
  package var storesLackingLog: Int { lackingLogs ?? 0 }

  /// The losses over all stores, those of the most stores first.
  package var losses: [LossSum] {
    (lossSums ?? [:]).sorted { ($1.value.stores, $0.key) < ($0.value.stores, $1.key) }
      .map(\.value)
  }

  /// Adds a result.
  package mutating func add(_ result: StoreResult) {
    change(result, by: 1)
    if let reason = result.reason, result.outcome == .failed {
      var group =
        failures[reason]
        ?? Group(
          stores: 0, number: result.number, store: result.store,
          sentence: result.summary,
          exitStatus: result.exitStatus)
      group.stores += 1
      failures[reason] = group
    }
    guard slowest.count < Self.mostSlow || result.seconds > slowest[slowest.count - 1].seconds
    else { return }
    let place = slowest.firstIndex { $0.seconds < result.seconds } ?? slowest.count
    slowest.insert(
      Slow(
        number: result.number, store: result.store, seconds: result.seconds, bytes: result.bytes),
      at: place)
    if slowest.count > Self.mostSlow { slowest.removeLast() }
  }

  /// Takes a result back that was added.
  package mutating func remove(_ result: StoreResult) {
    change(result, by: -1)
    slowest.removeAll { $0.store == result.store }
    guard result.outcome == .failed, let reason = result.reason, var group = failures[reason] else {
      return
    }
    group.stores -= 1
    failures[reason] = group.stores > 0 ? group : nil
  }

  private mutating func change(_ result: StoreResult, by sign: Int) {
    counts[result.outcome.rawValue, default: 0] += sign
    change(version: result.version ?? "", result.outcome, by: sign)
    if result.wasFound == true { found += sign }
    if result.lacksLog == true { lackingLogs = storesLackingLog + sign }
    seconds += Double(sign) * result.seconds
    rows += Int64(sign) * (result.rows ?? 0)
    if result.outcome.isDone { bytes += Int64(sign) * result.bytes }
    for loss in result.lost ?? [] { change(loss, by: sign) }
  }

  private mutating func change(_ loss: FleetLoss, by sign: Int) {
    var sums = lossSums ?? [:]
    if var sum = sums[loss.key] {
      sum.loss.count += Int64(sign) * loss.count
      sum.stores += sign
      sums[loss.key] = sum.stores > 0 ? sum : nil
    } else if sign > 0, sums.count < Self.mostLosses {
      sums[loss.key] = LossSum(loss: loss, stores: 1)
    }
    lossSums = sums
  }

  private mutating func change(version: String, _ outcome: StoreResult.Outcome, by sign: Int) {
    let name = versions?[version] == nil && versions?.count == Self.mostVersions ? "" : version
    var counts = versions?[name] ?? [:]
    counts[outcome.rawValue, default: 0] += sign
    if counts[outcome.rawValue] == 0 { counts[outcome.rawValue] = nil }
    versions = versions ?? [:]
    versions?[name] = counts.isEmpty ? nil : counts
  }
}
