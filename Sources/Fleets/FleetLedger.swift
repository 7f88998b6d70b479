import SystemCalls
import SystemPackage

/// The result of every store of a fleet, merged from the state of this machine and all results
/// files.
package struct FleetLedger {
  /// The counts of the merged results.
  package private(set) var tally = FleetTally()
  /// The number of lines in results files that are damaged.
  package private(set) var damagedLines = 0
  /// The number of array elements that the latest results file is about, nil where there is none.
  package private(set) var elementCount: Int?
  /// The times of the first and the last result, in seconds since 1970.
  package private(set) var times: (first: Double, last: Double)?

  private let folder: FleetFolder
  private let stores: Int
  private let files: [FilePath]
  private let hasState: Bool
  /// For each store the file and the offset of its result: -1 where there is none.
  private var places: [Int64]

  private static let offsetBits: Int64 = 44
  private static let fileOfState: Int64 = (1 << 19) - 1

  /// Reads the results of a fleet.
  ///
  /// - Throws: `FleetError`, `SystemCallError`.
  package init(_ folder: FleetFolder, of manifest: FleetManifest) throws {
    self.folder = folder
    stores = manifest.stores
    files = try ResultsFile.all(in: folder)
    hasState = try FleetState.readRun(folder)?.fleet == manifest.created
    places = [Int64](repeating: -1, count: stores)
    var latest = [(outcome: StoreResult.Outcome, time: Double)?](repeating: nil, count: stores)
    func take(_ result: StoreResult, at place: Int64) {
      guard latest.indices.contains(result.number) else { return }
      if let old = latest[result.number],
        !result.replaces(outcome: old.outcome, at: old.time)
      {
        return
      }
      latest[result.number] = (result.outcome, result.time)
      places[result.number] = place
    }
    for (index, file) in files.enumerated() {
      damagedLines += try ResultsFile.forEach(in: file) { offset, result in
        take(result, at: Int64(index) << Self.offsetBits | offset)
      }
    }
    if hasState {
      try FleetState.readResults(folder) {
        take($0, at: Self.fileOfState << Self.offsetBits | Int64($0.number))
      }
    }
    elementCount =
      files.compactMap { path in
        ResultsFile.element(of: path).map { ($0.count, Self.time(of: path)) }
      }.max { $0.1 < $1.1 }?.0
    try countResults()
  }

  private static func time(of file: FilePath) -> Int64 {
    (try? Files.fileStatusIfPresent(file)?.modified) ?? 0
  }

  private mutating func countResults() throws {
    var tally = FleetTally()
    var times: (first: Double, last: Double)?
    try read { result in
      tally.add(result)
      let (first, last) = times ?? (result.time, result.time)
      times = (min(first, result.time - result.seconds), max(last, result.time))
    }
    (self.tally, self.times) = (tally, times)
  }

  /// Calls `body` with the result of each store that has one: those in files by file, then those of
  /// the state.
  package func read(_ body: (StoreResult) throws -> Void) throws {
    for (index, file) in files.enumerated() {
      try ResultsFile.forEach(in: file) { offset, result in
        let place = Int64(index) << Self.offsetBits | offset
        guard places.indices.contains(result.number), places[result.number] == place else { return }
        try body(result)
      }
    }
    guard hasState else { return }
    try FleetState.readResults(folder) { result in
      let place = Self.fileOfState << Self.offsetBits | Int64(result.number)
      guard places.indices.contains(result.number), places[result.number] == place else { return }
      try body(result)
    }
  }

  /// Whether a store has a result.
  package func hasResult(_ number: Int) -> Bool {
    places.indices.contains(number) && places[number] >= 0
  }
}
