import Synchronization

/// The pages of a store under assembly that nobody uses yet: holes first, then those past its end.
package final class PagePool: ExtentSource, Sendable {
  private struct State {
    var holes: [Extent]
    var retired: [Extent] = []
    var end: UInt32
  }

  private let state: Mutex<State>

  /// Takes the holes, in any order, and the first page past all that was ever handed out.
  package init(holes: [Extent], end: UInt32) {
    let pieces = holes.flatMap(Self.split).sorted { $0.first > $1.first }
    state = Mutex(State(holes: pieces, end: end))
  }

  private static func split(_ extent: Extent) -> [Extent] {
    stride(from: 0, to: extent.count, by: Int(Extent.length)).map {
      Extent(first: extent.first + $0, count: min(Extent.length, extent.count - $0))
    }
  }

  /// Hands out a hole while there is one, then pages past the end.
  package func nextExtent() throws(PageError) -> Extent {
    let extent = state.withLock { state -> Extent? in
      if let hole = state.holes.popLast() { return hole }
      guard state.end < UInt32.max - 2 * Extent.length else { return nil }
      defer { state.end += Extent.length }
      return Extent(first: state.end)
    }
    guard let extent else { throw PageError(.fileFull) }
    return extent
  }

  /// Takes pages back.
  package func giveBack(_ extents: [Extent]) {
    state.withLock { $0.holes += extents.flatMap(Self.split) }
  }

  /// Takes a page that only an assembly that begins anew needs: it is free in the end, and stays as
  /// it is.
  package func retire(_ page: UInt32) {
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

  /// What is free once nobody takes pages any more.
  package func freePages() -> FreePages {
    state.withLock { FreePages(holes: $0.holes, retired: $0.retired, end: $0.end) }
  }
}
