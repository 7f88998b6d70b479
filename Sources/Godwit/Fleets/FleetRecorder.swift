import Fleets
import Foundation
import Synchronization
import SystemCalls
import SystemPackage

/// Records the results of a run: in `state.mdb` on this machine, or in a results file of its own.
///
/// Results count once `flush` has written them.
final class FleetRecorder: Sendable {
  private let state: Mutex<State>

  /// The place of the results.
  enum Destination {
    case state(FleetState)
    case file(ResultsFile)
  }

  private struct State {
    var destination: Destination
    var run: FleetRun
    /// Results of earlier runs or attempts that a new one replaces.
    var replaced: [Int: StoreResult]
    var waiting: [StoreResult] = []
    var running: [Int: FleetRun.Store] = [:]
    var usual = UsualTimes()
    /// The numbers of stores that have failed in this run for good.
    var failed: Set<Int> = []
  }

  init(_ destination: sending Destination, run: FleetRun, open: [Int: StoreResult]) {
    state = Mutex(State(destination: destination, run: run, replaced: open))
  }

  private static var now: Double { Double(WallClock.now()) / 1e9 }

  /// Records that the migration of a store begins.
  func begin(_ order: FleetOrder) {
    state.withLock {
      $0.running[order.number] = FleetRun.Store(
        number: order.number, store: order.store.store, bytes: order.store.bytes, began: Self.now)
    }
  }

  /// Records that a migration ended without a result: it was cancelled, or its worker crashed.
  func forget(_ number: Int) { state.withLock { $0.running[number] = nil } }

  /// Records a result.
  ///
  /// - Parameters:
  ///   - isFinal: false if another attempt follows in this run.
  ///   - done: the result of a store that was done, which this one replaces.
  func end(_ result: StoreResult, isFinal: Bool, replacing done: StoreResult? = nil) {
    state.withLock { state in
      state.running[result.number] = nil
      let old = state.replaced.removeValue(forKey: result.number) ?? done
      if let old { state.run.tally.remove(old) }
      state.run.tally.add(result)
      if !result.outcome.isDone { state.replaced[result.number] = result }
      if isFinal && result.outcome == .failed { state.failed.insert(result.number) }
      if result.outcome.isDone {
        state.run.storesDone += 1
        state.run.bytesDone += result.bytes
        state.usual.add(bytes: result.bytes, seconds: result.seconds)
      }
      state.waiting.append(result)
    }
  }

  /// The number of stores that have failed in this run for good.
  var failures: Int {
    state.withLock { $0.failed.count }
  }

  /// The record of the run.
  var run: FleetRun { state.withLock { $0.run } }

  /// Writes the results since the last call, and returns them.
  ///
  /// - Parameter stopped: why the run ends, where it does.
  /// - Returns: the results, and stores that turned out to be slow.
  func flush(
    isOver: Bool = false, stopped: String? = nil
  ) throws -> (results: [StoreResult], slow: [FleetRun.Store]) {
    try state.withLock { state in
      let now = Self.now
      var slow: [FleetRun.Store] = []
      for (number, store) in state.running where !store.isSlow {
        if state.usual.isSlow(bytes: store.bytes, seconds: now - store.began) {
          state.running[number]?.isSlow = true
          slow.append(store)
        }
      }
      state.run.updated = now
      state.run.isOver = isOver
      state.run.stopped = stopped ?? state.run.stopped
      state.run.running = state.running.values.sorted { $0.began < $1.began }
      let results = state.waiting
      switch state.destination {
      case .state(let file):
        try file.write(results, run: state.run, syncs: !results.isEmpty || isOver)
      case .file(let file):
        for result in results { try file.add(result) }
        try file.flush()
      }
      state.waiting = []
      return (results, slow)
    }
  }
}
