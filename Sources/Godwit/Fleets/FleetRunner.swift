import Fleets
import Foundation
import Logging
import MigrationCoordinator
import Synchronization
import SystemCalls
import SystemPackage

// (1) A run is a few phases: giants, all others, stores whose worker crashed, and stores whose
// failure may pass. Each ends before the next begins.
// (2) A worker that ends before it has answered an order has crashed. Its orders are tried again,
// each alone in a worker, so the one at fault is known.

/// Runs the migrations of a fleet by worker processes.
final class FleetRunner: Sendable {
  /// The limits of a run.
  struct Limits: Sendable {
    var jobs: Int
    var memory: Int64
    var retries: Int
    /// The most stores that may fail before the run stops; nil for any number.
    var failures: Int?
  }

  private let setup: FleetSetup
  private let limits: Limits
  private let executable: FilePath?
  private let logger: Logger
  let recorder: FleetRecorder
  private let state = Mutex(State())

  private struct State {
    var isStopping = false
    /// Whether migrations that run are to stop as well.
    var cancels = false
    var reason: String?
    var processes: [ObjectIdentifier: FleetProcess] = [:]
    /// Orders whose worker crashed.
    var suspects: [FleetOrder] = []
    /// Orders whose failure may pass.
    var again: [FleetOrder] = []
    /// Workers that ended before they took orders, one after the other.
    var deadStarts = 0
  }

  /// Crashes of a worker with one store alone, after which the store counts as failed.
  private static let mostCrashes = 2
  /// Workers that end before they take orders, after which the executable is at fault.
  private static let mostDeadStarts = 8

  init(
    _ setup: FleetSetup, limits: Limits, executable: FilePath?, logger: Logger,
    recorder: FleetRecorder
  ) {
    self.setup = setup
    self.limits = limits
    self.executable = executable
    self.logger = logger
    self.recorder = recorder
  }

  /// The stores that a worker may migrate at a time.
  static func threads(jobs: Int, memory: Int64) -> Int {
    let each = memory / Int64(max(1, jobs)) / OrderSource.memory(for: 0)
    return Int(min(8, max(1, each)))
  }

  /// Why the run stopped before the end of the list, nil if it did not.
  var stopReason: String? { state.withLock { $0.reason } }
  /// Whether the run stopped before the end of the list.
  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Stops all migrations at a safe point, and begins no others.
  func stop(because reason: String, cancels: Bool) {
    let processes = state.withLock { state in
      state.isStopping = true
      state.cancels = state.cancels || cancels
      state.reason = state.reason ?? reason
      return Array(state.processes.values)
    }
    guard cancels else { return }
    for process in processes { try? process.send(.cancel) }  // one that has gone needs no telling
  }

  /// Runs all orders of a source.
  func executeOrders(of source: sending OrderSource) async throws {
    let source = Mutex(source)
    try await phase(jobs: 1, memory: nil) { _ in try source.withLock { try $0.nextGiant() } }
    try await phase(jobs: limits.jobs, memory: limits.memory / Int64(limits.jobs)) { left in
      try source.withLock { try $0.nextOrder(within: left) }
    }
    try await runSuspects()
    for round in 0..<limits.retries {
      let orders = state.withLock { state in
        defer { state.again = [] }
        return state.again
      }
      guard !orders.isEmpty, !isStopping else { return }
      try await pause(seconds: min(1 << round, 30))
      let waiting = Mutex(orders[...])
      try await phase(jobs: limits.jobs, memory: limits.memory / Int64(limits.jobs)) { _ in
        waiting.withLock { $0.popFirst() }
      }
      try await runSuspects()
    }
  }

  private func pause(seconds: Int) async throws {
    for _ in 0..<(seconds * 10) where !isStopping { try await Task.sleep(for: .milliseconds(100)) }
  }

  /// Tries the stores again whose worker crashed, each alone in a worker.
  private func runSuspects() async throws {
    while state.withLock({ !$0.suspects.isEmpty && !$0.isStopping }) {
      try await phase(jobs: limits.jobs, memory: nil) { [self] _ in
        state.withLock { $0.suspects.popLast() }
      }
    }
  }

  // MARK: Workers

  /// Takes the next order: with the memory that is left, nil for the first one of a worker.
  private typealias Next = @Sendable (_ memory: Int64?) throws -> FleetOrder?

  /// Runs orders until there are no more of them.
  ///
  /// - Parameter memory: is that of a worker's stores together; nil gives it one store at a time.
  private func phase(jobs: Int, memory: Int64?, next: @escaping Next) async throws {
    let taking: Next = { [self] left in isStopping ? nil : try next(left) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<jobs {
        group.addTask { [self] in
          while let first = try taking(nil) {
            try await work(first, memory: memory, next: taking)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Runs a worker process until it has no more orders, or crashes.
  private func work(_ first: FleetOrder, memory: Int64?, next: Next) async throws {
    var orders: [Int: FleetOrder] = [:]
    var isReady = false
    let ending = try await FleetProcess.start(executable) { process in
      let id = ObjectIdentifier(process)
      state.withLock { $0.processes[id] = process }
      defer { state.withLock { $0.processes[id] = nil } }
      try process.send(.setUp(setup))
      func give(_ order: FleetOrder) throws {
        orders[order.number] = order
        recorder.begin(order)
        try process.send(.migrate(order))
      }
      func fill() throws {
        while let memory, orders.count < setup.threads {
          let used = orders.values.reduce(0) { $0 + OrderSource.memory(for: $1.store.bytes) }
          guard let order = try next(orders.isEmpty ? nil : memory - used) else { return }
          try give(order)
        }
      }
      try give(first)
      try fill()
      // It may have been requested before the process was known.
      if state.withLock({ $0.cancels }) { try process.send(.cancel) }
      for await answer in process.answers {
        isReady = true
        take(answer, orders: &orders)
        try fill()
        if orders.isEmpty { process.finish() }
      }
    }
    if orders.isEmpty { return state.withLock { $0.deadStarts = 0 } }
    try takeCrash(ending, orders: Array(orders.values), isReady: isReady)
  }

  private func take(_ answer: FleetAnswer, orders: inout [Int: FleetOrder]) {
    switch answer {
    case .ready: break
    case .cancelled(let number):
      orders[number] = nil
      recorder.forget(number)
    case .ended(let result):
      guard let order = orders.removeValue(forKey: result.number) else { return }
      let isTriedAgain =
        result.outcome == .failed && result.isRetryable == true && order.attempt <= limits.retries
      if isTriedAgain {
        var next = order
        next.attempt += 1
        state.withLock { $0.again.append(next) }
      }
      recorder.end(result, isFinal: !isTriedAgain)
      if let most = limits.failures, recorder.failures > most {
        stop(
          because: "more than \(CountText(most, "store")) failed, which is the limit",
          cancels: false)
      }
    }
  }

  /// Has the orders of a worker that crashed tried again.
  private func takeCrash(
    _ ending: FleetProcess.Ending, orders: [FleetOrder], isReady: Bool
  ) throws {
    for order in orders { recorder.forget(order.number) }
    let deadStarts = state.withLock { state in
      state.deadStarts = isReady ? 0 : state.deadStarts + 1
      return state.deadStarts
    }
    guard deadStarts <= Self.mostDeadStarts else {
      throw MigrationFailure(
        .bug,
        "worker processes end before they take orders (\(ending)): the last had "
          + "\(orders.first?.store.store ?? "no store").")
    }
    if isStopping { return }
    logger.warning(
      "a worker process crashed; its stores are retried one by one",
      metadata: ["ending": "\(ending)", "stores": "\(orders.count)"])
    for order in orders {
      var next = order
      next.crashes += orders.count == 1 ? 1 : 0
      guard next.crashes < Self.mostCrashes else {
        var result = StoreResult(
          number: order.number, store: order.store.store, outcome: .failed,
          bytes: order.store.bytes)
        result.reason = "workerCrashed"
        result.exitStatus = ExitStatus.bug.rawValue
        result.sentences = [
          "\(order.store.store): the worker process crashed with it \(next.crashes) times "
            + "(\(ending)). The store is unchanged; please report it."
        ]
        result.attempts = order.attempt
        result.time = Double(WallClock.now()) / 1e9
        result.node = Processes.node
        recorder.end(result, isFinal: true)
        continue
      }
      state.withLock { $0.suspects.append(next) }
    }
  }
}
