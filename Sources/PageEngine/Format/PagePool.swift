import Synchronization

/// The unused pages of a store under assembly: holes first, then those past its end.
package final class PagePool: ExtentSource, Sendable {
  private struct State {
    var holes: [Extent]
    var retired: [Extent] = []
    var end: UInt32
  }

  private let state: Mutex<State>
  /// The pages of each extent past the end, and the most of a hole.
  package let extentLength: UInt32
  private let keepsRetired: Bool

  /// Takes the holes, in any order, and the first page past all that was ever handed out.
  ///
  /// - Parameter keepsRetired: whether retired pages stay as they are; if not, they are holes.
  package init(
    holes: [Extent], end: UInt32, extentLength: UInt32 = Extent.length, keepsRetired: Bool = true
  ) {
    self.extentLength = extentLength
    self.keepsRetired = keepsRetired
    let pieces = holes.flatMap { Self.split($0, by: extentLength) }
    state = Mutex(State(holes: pieces.sorted { $0.first > $1.first }, end: end))
  }

  private static func split(_ extent: Extent, by length: UInt32) -> [Extent] {
    stride(from: 0, to: extent.count, by: Int(length)).map {
      Extent(first: extent.first + $0, count: min(length, extent.count - $0))
    }
  }

  /// Hands out a hole while there is one, then pages past the end.
  package func nextExtent() throws(PageError) -> Extent {
    let extent = state.withLock { state -> Extent? in
      if let hole = state.holes.popLast() { return hole }
      guard state.end < UInt32.max - 2 * Extent.length else { return nil }
      defer { state.end += extentLength }
      return Extent(first: state.end, count: extentLength)
    }
    guard let extent else { throw PageError(.fileFull) }
    return extent
  }

  /// Takes pages back.
  package func giveBack(_ extents: [Extent]) {
    state.withLock { $0.holes += extents.flatMap { Self.split($0, by: extentLength) } }
  }

  /// Retires a page that only an assembly that starts over needs: it is free in the end, and stays
  /// unchanged as long as an assembly may start over.
  package func retire(_ page: UInt32) {
    guard keepsRetired else { return giveBack([Extent(first: page, count: 1)]) }
    state.withLock { state in
      if let last = state.retired.last, last.first + last.count == page {
        state.retired[state.retired.count - 1].count += 1
      } else {
        state.retired.append(Extent(first: page, count: 1))
      }
    }
  }

  /// Whether there are pages that are to stay as they are.
  package var hasRetired: Bool { state.withLock { !$0.retired.isEmpty } }

  /// The free pages, after the last page was taken.
  package func freePages() -> FreePages {
    state.withLock { FreePages(holes: $0.holes, retired: $0.retired, end: $0.end) }
  }
}
