package import ObjectModel
import Synchronization

/// Results that depend only on two models, kept for the most recently requested pairs.
///
/// A check, the migration that follows it and the comparison of its result request the same,
/// several times each.
package final class RecentPairs<Value: Sendable>: Sendable {
  private struct Known: Sendable {
    var source: ManagedObjectModel
    var destination: ManagedObjectModel
    var value: Value
  }

  private struct State {
    /// The last one is the most recently requested one.
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
      // Models that were read once are distinguished by identity; only the last ones are compared
      // with newly read models.
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
    // No caller waits for another; concurrent callers compute the same.
    let value = compute()
    state.withLock { state in
      let capacity = state.keepers > 0 ? Self.largestCapacity : Self.capacity
      if state.known.count >= capacity { state.known.removeFirst() }
      state.known.append(Known(source: source, destination: destination, value: value))
    }
    return value
  }

  /// Keeps more pairs while a body runs, as many as the steps of a long route, since each step is
  /// requested several times, one step after the other.
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
