import Synchronization

/// The pages of a store under assembly that nobody uses yet: holes first, then those past its end.
package final class PagePool: ExtentSource, Sendable {
  private struct State {
    var holes: [Extent]
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

  /// The holes, and the first page past the end.
  package func rest() -> (holes: [Extent], end: UInt32) {
    state.withLock { ($0.holes, $0.end) }
  }
}
