/// Where a run is, in the order in which phases follow each other.
package enum Phase: UInt32, CaseIterable, Sendable {
  case surveying = 1
  case planning
  /// Copying the source.
  case reading
  case migrating
  case merging
  case relinking
  case indexing
  case verifying
  case swapping
  case done
  case failed

  /// Whether work goes on in the phase, which `done` and `failed` end.
  package var isWorking: Bool { self < .done }

  /// The share of the phase in the whole run, in thousandths; those of all phases make 1000.
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

  /// The share of all phases before.
  package var weightBefore: Int {
    Self.allCases.prefix { $0 < self }.reduce(0) { $0 + $1.weight }
  }
}

extension Phase: Comparable {
  package static func < (first: Phase, second: Phase) -> Bool { first.rawValue < second.rawValue }
}

// In JSON the phase has a name: its number is the file's.
extension Phase: Codable {
  private var name: String { String(describing: self) }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let name = try container.decode(String.self)
    guard let phase = Self.allCases.first(where: { $0.name == name }) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no phase \(name)")
    }
    self = phase
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}
