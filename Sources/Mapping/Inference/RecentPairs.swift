package import ObjectModel
import Synchronization

/// What was computed of two models alone, kept for the pairs that were asked for last.
///
/// A check, the migration that follows it and the comparison of its result ask for the same,
/// several times each.
package final class RecentPairs<Value: Sendable>: Sendable {
  private struct Known: Sendable {
    var source: ManagedObjectModel
    var destination: ManagedObjectModel
    var value: Value
  }

  private struct State {
    /// The last one is the one that was asked for last.
    var known: [Known] = []
    /// How many want all pairs to be kept.
    var keepers = 0
  }

  private let state = Mutex(State())
  private static var capacity: Int { 4 }
  private static var largestCapacity: Int { 160 }

  /// Keeps nothing yet.
  package init() {}

  /// The value of a pair, which is computed where it is not among the last ones.
  package func value(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, compute: () -> Value
  ) -> Value {
    let found = state.withLock { state -> Value? in
      // Models that were read once are told apart without a look at their entities; only the last
      // ones are compared with what was read anew.
      func isWanted(_ known: Known) -> Bool {
        known.source == source && known.destination == destination
      }
      guard
        let place = state.known.lastIndex(where: {
          $0.source.sharesEntities(with: source)
            && $0.destination.sharesEntities(with: destination) && isWanted($0)
        }) ?? state.known.suffix(Self.capacity).lastIndex(where: isWanted)
      else { return nil }
      let entry = state.known.remove(at: place)
      state.known.append(entry)
      return entry.value
    }
    if let found { return found }
    // Nobody waits for another one's computing; whoever computes at the same time gets the same.
    let value = compute()
    state.withLock { state in
      let capacity = state.keepers > 0 ? Self.largestCapacity : Self.capacity
      if state.known.count >= capacity { state.known.removeFirst() }
      state.known.append(Known(source: source, destination: destination, value: value))
    }
    return value
  }

  /// Keeps more pairs while a body runs, as many as the steps of a long route: whoever follows it
  /// asks for each step several times, one step after the other.
  package func keeping<Result>(_ body: () throws -> Result) rethrows -> Result {
    state.withLock { $0.keepers += 1 }
    defer {
      state.withLock { state in
        state.keepers -= 1
        if state.keepers == 0 { state.known.removeFirst(max(0, state.known.count - Self.capacity)) }
      }
    }
    return try body()
  }
}
