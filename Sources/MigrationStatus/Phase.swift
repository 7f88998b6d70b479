/// The phases of a run in their order, with the numbers that the file stores.
package enum Phase: UInt32, CaseIterable, Sendable {
  /// Reads models, tables and statistics of the source.
  case surveying = 1
  /// Cuts the tables into pieces and work orders.
  case planning
  /// Copies the source, whose `-wal` or `-journal` holds changes.
  case reading
  /// Workers write their shards.
  case migrating
  /// Appends the rows of the shards to the tables of the result.
  case merging
  /// Checks and completes references between rows.
  case relinking
  /// Builds the indexes of the result.
  case indexing
  /// Checks the finished store.
  case verifying
  /// Puts the result in place of the destination.
  case swapping
  /// The run has ended with a result.
  case done
  /// The run has ended without one; `RunRecord.failedPhase` is the phase.
  case failed

  /// Whether the run has not ended.
  package var isWorking: Bool { self < .done }

  /// The phase's share of the run's progress, in thousandths; all phases make 1000.
  package var weight: Int {
    switch self {
    case .surveying, .planning, .swapping: 10
    case .reading: 70
    case .migrating: 700
    case .merging: 80
    case .relinking, .verifying: 30
    case .indexing: 60
    case .done, .failed: 0
    }
  }

  /// The shares of all earlier phases, in thousandths.
  package var weightBefore: Int {
    Self.allCases.prefix { $0 < self }.reduce(0) { $0 + $1.weight }
  }
}

extension Phase: Comparable {
  /// Orders phases as a run goes through them.
  package static func < (first: Phase, second: Phase) -> Bool { first.rawValue < second.rawValue }
}

extension Phase: CustomStringConvertible {
  /// The name of the phase: reflection would look through all types of the executable for it.
  package var description: String {
    switch self {
    case .surveying: "surveying"
    case .planning: "planning"
    case .reading: "reading"
    case .migrating: "migrating"
    case .merging: "merging"
    case .relinking: "relinking"
    case .indexing: "indexing"
    case .verifying: "verifying"
    case .swapping: "swapping"
    case .done: "done"
    case .failed: "failed"
    }
  }
}

// JSON has the name of a phase; only the status file has its number.
extension Phase: Codable {
  /// Reads the phase by its name.
  ///
  /// - Throws: `DecodingError`, for a name that no phase has.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let name = try container.decode(String.self)
    guard let phase = Self.allCases.first(where: { $0.description == name }) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no phase \(name)")
    }
    self = phase
  }

  /// Writes the phase by its name.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
