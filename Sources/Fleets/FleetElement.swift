/// An element of an array that shares out a fleet: number `number` of `count`, from 0.
package struct FleetElement: Hashable, Sendable, CustomStringConvertible {
  /// The number of the element, from 0.
  package let number: Int
  /// The number of all elements.
  package let count: Int

  /// The most elements of an array.
  package static let mostElements = 100_000

  /// Creates an element; nil for numbers that are out of range.
  package init?(number: Int, count: Int) {
    guard (1...Self.mostElements).contains(count), (0..<count).contains(number) else { return nil }
    (self.number, self.count) = (number, count)
  }

  /// Reads `3/20`.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = Int(parts[0]), let count = Int(parts[1]) else {
      return nil
    }
    self.init(number: number, count: count)
  }

  package var description: String { "\(number)/\(count)" }
}

/// Cuts a list into elements of equal work, by bytes: each store, in the order of the list, goes to
/// the element with the least work so far.
///
/// The cut depends on the list and the number of elements alone, so every node computes the same.
package struct ElementCut: Sendable {
  /// The work of a store apart from its bytes, as the bytes that take as long.
  package static let bytesPerStore: Int64 = 256 << 10

  /// A heap of elements, the one with the least work first; of equal ones the lowest.
  private var heap: [(work: Int64, element: Int)]

  /// Starts a cut into so many elements.
  package init(count: Int) { heap = (0..<count).map { (0, $0) } }

  /// The element of the next store in the list.
  package mutating func element(ofNext bytes: Int64) -> Int {
    let element = heap[0].element
    let (work, overflow) = heap[0].work.addingReportingOverflow(
      max(0, bytes).addingReportingOverflow(Self.bytesPerStore).partialValue)
    heap[0].work = overflow ? .max : work
    sink()
    return element
  }

  private mutating func sink() {
    var place = 0
    while true {
      let children = (2 * place + 1...2 * place + 2).filter { $0 < heap.count }
      guard let least = children.min(by: { heap[$0] < heap[$1] }), heap[least] < heap[place] else {
        return
      }
      heap.swapAt(place, least)
      place = least
    }
  }
}

/// Numbers as Slurm writes them for `--array`: `3,7-9`.
package enum ArrayRanges {
  /// The text for ascending numbers.
  package static func text(_ numbers: [Int]) -> String {
    var ranges: [ClosedRange<Int>] = []
    for number in numbers {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { range in
      range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
    }.joined(separator: ",")
  }
}
