import SystemCalls
import SystemPackage

/// The results of earlier runs, as far as a run has to know them.
package struct FleetPast {
  /// The counts of all results.
  package private(set) var tally = FleetTally()
  /// The results of stores that are not done, by their numbers.
  package private(set) var open: [Int: StoreResult] = [:]
  private var done: [UInt64]

  /// Creates the past of a fleet without results.
  package init(stores: Int) {
    done = [UInt64](repeating: 0, count: (stores + 63) / 64)
  }

  /// Reads the results of the state of this machine.
  package init(_ state: FleetState, stores: Int) throws {
    self.init(stores: stores)
    var past = self
    try state.forEach(stores: stores) { past.add($0) }
    self = past
  }

  /// Takes the results of this machine and of all elements.
  package init(_ ledger: FleetLedger, stores: Int) throws {
    self.init(stores: stores)
    var past = self
    try ledger.read { past.add($0) }
    self = past
  }

  /// Reads the results of earlier attempts of an element, and those of other cuts of the fleet.
  package init(_ element: FleetElement, in folder: FleetFolder, stores: Int) throws {
    self.init(stores: stores)
    var latest: [Int: (outcome: StoreResult.Outcome, time: Double, file: Int)] = [:]
    let files = try ResultsFile.all(in: folder).filter { file in
      let other = ResultsFile.element(of: file)
      return other?.count != element.count || other?.number == element.number
    }
    for (index, file) in files.enumerated() {
      try ResultsFile.forEach(in: file) { _, result in
        if let old = latest[result.number],
          !result.replaces(outcome: old.outcome, at: old.time)
        {
          return
        }
        latest[result.number] = (result.outcome, result.time, index)
      }
    }
    for (index, file) in files.enumerated() {
      try ResultsFile.forEach(in: file) { _, result in
        guard let last = latest[result.number], last.file == index, last.time == result.time else {
          return
        }
        latest[result.number] = nil
        add(result)
      }
    }
  }

  private mutating func add(_ result: StoreResult) {
    guard result.number >= 0, result.number < done.count * 64 else { return }
    tally.add(result)
    if result.outcome.isDone {
      done[result.number / 64] |= 1 << (result.number % 64)
    } else {
      open[result.number] = result
    }
  }

  /// Notes stores that this run has done.
  package mutating func note(done numbers: Set<Int>) {
    for number in numbers where number < done.count * 64 {
      done[number / 64] |= 1 << (number % 64)
    }
  }

  /// Whether a store is done.
  package func isDone(_ number: Int) -> Bool {
    // A list may have more lines than its manifest states.
    number < done.count * 64 && done[number / 64] >> (number % 64) & 1 == 1
  }
}
