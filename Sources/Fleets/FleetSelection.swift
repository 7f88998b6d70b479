/// The stores of a fleet that a run migrates.
package enum FleetSelection: Hashable, Sendable {
  /// Those without a result.
  case waiting
  /// Those that failed.
  case failed
  /// Those that were rolled back.
  case rolledBack
  /// These, as far as they have no result.
  case only(Set<Int>)

  /// Whether a store is one of them.
  package func takes(_ number: Int, past: FleetPast) -> Bool {
    if past.isDone(number) { return false }
    let outcome = past.open[number]?.outcome
    return switch self {
    case .waiting: outcome == nil
    case .failed: outcome == .failed
    case .rolledBack: outcome == .rolledBack
    case .only(let numbers): outcome == nil && numbers.contains(number)
    }
  }
}

/// Hands out the orders of a run in the order of the list, largest first.
package struct OrderSource {
  /// From this size on a store gets all workers and all memory, alone.
  package static let giantBytes: Int64 = 64 << 20
  /// Up to this size a store needs little memory.
  package static let smallBytes: Int64 = 8 << 20

  private var list: FleetListReader
  private let past: FleetPast
  private let selection: FleetSelection
  private var next: (number: Int, store: FleetStore)?
  private let memoryOfAll: Int64
  private let jobs: Int
  /// Whether orders require full verification.
  private let verifiesFully: Bool

  /// Starts with the first store.
  package init(
    _ list: FleetListReader, past: FleetPast, selection: FleetSelection, jobs: Int, memory: Int64,
    verifiesFully: Bool = false
  ) throws {
    self.list = list
    self.past = past
    self.selection = selection
    self.jobs = jobs
    memoryOfAll = memory
    self.verifiesFully = verifiesFully
    try advance()
  }

  private mutating func advance() throws {
    while let found = try list.next() {
      next = found
      if selection.takes(found.number, past: past) { return }
    }
    next = nil
  }

  /// The next order for a store that is given all workers; nil where the next store is smaller.
  package mutating func nextGiant() throws -> FleetOrder? {
    guard let found = next, found.store.bytes >= Self.giantBytes else { return nil }
    try advance()
    var order = FleetOrder(number: found.number, store: found.store, memory: memoryOfAll)
    order.workers = jobs
    order.verifiesFully = verifiesFully
    return order
  }

  /// The next order.
  ///
  /// - Parameter memory: is left; nil takes a store of any size.
  package mutating func nextOrder(within memory: Int64?) throws -> FleetOrder? {
    guard let found = next else { return nil }
    let need = Self.memory(for: found.store.bytes)
    if let memory, need > memory { return nil }
    try advance()
    var order = FleetOrder(number: found.number, store: found.store, memory: 64 << 20)
    order.verifiesFully = verifiesFully
    return order
  }

  /// The memory that the migration of a store takes, in bytes.
  package static func memory(for bytes: Int64) -> Int64 {
    bytes < smallBytes ? 16 << 20 : 64 << 20
  }
}

/// Reports stores that take much longer than others of their size.
package struct UsualTimes: Sendable {
  private var times: [Int: (count: Int, seconds: Double)] = [:]

  /// A store is slow if it takes so many times as long as others.
  package static let factor = 10.0
  /// No store is slow before that, in seconds.
  package static let leastSeconds = 5.0

  /// Knows no times.
  package init() {}

  private static func sizeClass(_ bytes: Int64) -> Int { 64 - max(1, bytes).leadingZeroBitCount }

  /// Adds the time of a store.
  package mutating func add(bytes: Int64, seconds: Double) {
    let before = times[Self.sizeClass(bytes)] ?? (0, 0)
    times[Self.sizeClass(bytes)] = (before.count + 1, before.seconds + seconds)
  }

  /// The usual time of stores of a size, in seconds; nil while fewer than 5 are known.
  package func usual(_ bytes: Int64) -> Double? {
    times[Self.sizeClass(bytes)].flatMap { $0.count < 5 ? nil : $0.seconds / Double($0.count) }
  }

  /// Whether a store that has run so long takes much longer than others of its size.
  package func isSlow(bytes: Int64, seconds: Double) -> Bool {
    guard seconds >= Self.leastSeconds, let usual = usual(bytes) else { return false }
    return seconds > usual * Self.factor
  }
}
