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

  /// The last one is the one that was asked for last.
  private let known = Mutex<[Known]>([])
  private static var capacity: Int { 4 }

  /// Keeps nothing yet.
  package init() {}

  /// The value of a pair, which is computed where it is not among the last ones.
  package func value(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, compute: () -> Value
  ) -> Value {
    let found = known.withLock { known -> Value? in
      guard
        let place = known.lastIndex(where: {
          $0.source == source && $0.destination == destination
        })
      else { return nil }
      let entry = known.remove(at: place)
      known.append(entry)
      return entry.value
    }
    if let found { return found }
    // Nobody waits for another one's computing; whoever computes at the same time gets the same.
    let value = compute()
    known.withLock { known in
      if known.count == Self.capacity { known.removeFirst() }
      known.append(Known(source: source, destination: destination, value: value))
    }
    return value
  }
}
