package import Schema

/// How the bits of a change's `ZCOLUMNS` are put where the destination's entity has them.
///
/// Properties are matched by their very names, as Core Data does: one that is gone or renamed loses
/// its bit. Where a bit may stand for several properties, all of them are set: whoever reads the
/// history learns too much rather than too little.
package struct MaskChange: Hashable, Codable, Sendable {
  /// For each bit of the source, the bits of the destination that it sets.
  package var targets: [[Int]]
  /// The bytes of a mask of the destination.
  package var bytes: Int
  /// The bits of the source that set more than the properties they are known to stand for.
  package var uncertain: [Int]
  /// Whether the layouts are the same, so that masks stay as they are.
  package let isIdentity: Bool

  /// Compares the layouts of an entity before and after.
  package init(from source: HistoryLayout, to destination: HistoryLayout) {
    isIdentity = source == destination
    bytes = destination.bytes
    targets = []
    uncertain = []
    // Of a composite nobody knows how many bits it takes, and with it all after it.
    if !isIdentity, source.hasComposites || destination.hasComposites {
      targets = source.slots.map { _ in Array(destination.slots.indices) }
      uncertain = Array(source.slots.indices)
      return
    }
    var places: [HistoryLayout.Slot: [Int]] = [:]
    for (place, slot) in destination.slots.enumerated() {
      places[slot, default: []].append(place)
      // A reference and the place that it is given to are updated together.
      if case .order(let name) = slot { places[.property(name), default: []].append(place) }
    }
    for place in source.slots.indices {
      let own = source.clusters.first { $0.contains(place) } ?? [place]
      var found: Set<Int> = []
      for slot in own.map({ source.slots[$0] }) {
        let exact = Self.places(of: slot, in: places)
        found.formUnion(exact)
        for cluster in destination.clusters where !cluster.isDisjoint(with: exact) {
          found.formUnion(cluster)
        }
      }
      targets.append(found.sorted())
      if found != Set(Self.places(of: source.slots[place], in: places)) || own.count > 1 {
        uncertain.append(place)
      }
    }
  }

  private static func places(
    of slot: HistoryLayout.Slot, in places: [HistoryLayout.Slot: [Int]]
  ) -> [Int] {
    if case .order(let name) = slot { return places[.property(name)] ?? places[slot] ?? [] }
    return places[slot] ?? []
  }

  /// Puts the bits of a mask where the destination has them.
  package func applied(to mask: some Collection<UInt8>) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: bytes)
    for (index, byte) in mask.enumerated() where byte != 0 {
      for bit in 0..<8 where byte & (0x80 >> UInt8(bit)) != 0 {
        let place = index * 8 + bit
        guard place < targets.count else { continue }
        for target in targets[place] { result[target / 8] |= 0x80 >> UInt8(target % 8) }
      }
    }
    return result
  }

  // MARK: In SQL

  /// The SQL function that puts the bits of its first argument as the text of its second one says;
  /// whatever is no blob it gives back as it is.
  package static let function = "godwit_mask"

  /// The bytes of a mask, and the bits that each bit sets: `2:0,8;;3`.
  package var text: String {
    let lists = targets.map { $0.map(String.init).joined(separator: ",") }
    return "\(bytes):\(lists.joined(separator: ";"))"
  }

  /// Reads what `text` gives; nil for any other text.
  package init?(text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let bytes = Int(parts[0]), (0...8192).contains(bytes) else {
      return nil
    }
    var targets: [[Int]] = []
    for list in parts[1].split(separator: ";", omittingEmptySubsequences: false) {
      let bits = list.split(separator: ",").map { Int($0) }
      guard bits.allSatisfy({ $0.map { $0 >= 0 && $0 < bytes * 8 } ?? false }) else { return nil }
      targets.append(bits.compactMap(\.self))
    }
    (self.bytes, self.targets, uncertain, isIdentity) = (bytes, targets, [], false)
  }
}
