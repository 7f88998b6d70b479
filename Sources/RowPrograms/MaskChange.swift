package import Schema

/// How the bits of a change's `ZCOLUMNS` are put where the destination's entity has them.
///
/// Properties are matched by their very names, as Core Data does: one that is gone or renamed loses
/// its bit. Where a bit may stand for several properties, all of them are set: a reader of the
/// history gets too many properties rather than too few.
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
    // The number of bits of a composite is unknown, and so are all bits after it.
    if !isIdentity, source.hasComposites || destination.hasComposites {
      targets = source.slots.map { _ in Array(destination.slots.indices) }
      uncertain = destination.slots.isEmpty ? [] : Array(source.slots.indices)
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
      let exact = Set(Self.places(of: source.slots[place], in: places))
      if !found.isEmpty, found != exact || own.count > 1 { uncertain.append(place) }
    }
  }

  private static func places(
    of slot: HistoryLayout.Slot, in places: [HistoryLayout.Slot: [Int]]
  ) -> [Int] {
    if case .order(let name) = slot { return places[.property(name)] ?? places[slot] ?? [] }
    return places[slot] ?? []
  }

  /// The bits of the source that set more than is known, as a mask.
  package var uncertainMask: [UInt8] {
    var result = [UInt8](repeating: 0, count: (targets.count + 7) / 8)
    for place in uncertain { result[place / 8] |= 0x80 >> UInt8(place % 8) }
    return result
  }

  /// Whether two masks have a bit in common.
  package static func meet(_ mask: UnsafeRawBufferPointer, _ other: [UInt8]) -> Bool {
    for index in 0..<min(mask.count, other.count) where mask[index] & other[index] != 0 {
      return true
    }
    return false
  }

  /// Puts the bits of a mask where the destination has them, into room for `bytes` bytes.
  package func apply(_ mask: UnsafeRawBufferPointer, into result: UnsafeMutableRawBufferPointer) {
    for index in 0..<bytes { result[index] = 0 }
    for (index, byte) in mask.enumerated() where byte != 0 {
      var left = byte
      while left != 0 {
        let bit = left.leadingZeroBitCount
        left &= ~(0x80 >> UInt8(bit))
        let place = index * 8 + bit
        guard place < targets.count else { continue }
        for target in targets[place] { result[target / 8] |= 0x80 >> UInt8(target % 8) }
      }
    }
  }

  /// The mask of the destination.
  package func applied(to mask: UnsafeRawBufferPointer) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: bytes)
    result.withUnsafeMutableBytes { apply(mask, into: $0) }
    return result
  }

  // MARK: In SQL

  /// The SQL function that rearranges the bits of its first argument as described by the text of
  /// its second one; it returns values other than blobs unchanged.
  package static let function = "godwit_mask"
  /// The SQL function that returns whether two masks have a bit in common.
  package static let meetFunction = "godwit_masks_meet"

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
