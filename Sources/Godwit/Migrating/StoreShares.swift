import Synchronization
import SystemPackage

/// How far the work on each of several stores is, and on all of them together.
final class StoreShares: Sendable {
  private let stores: [FilePath]
  private let state: Mutex<(parts: [Double], done: Int)>
  private let progress: @Sendable (Double, FilePath, Int) -> Void

  init(
    _ stores: [FilePath],
    progress: @escaping @Sendable (Double, FilePath, Int) -> Void
  ) {
    self.stores = stores
    self.progress = progress
    state = Mutex((Array(repeating: 0, count: stores.count), 0))
  }

  /// Reports the progress of a store.
  func reach(_ part: Double, of index: Int) { report(part, of: index, isDone: false) }

  /// Reports that a store is done.
  func end(_ index: Int) { report(1, of: index, isDone: true) }

  /// Reports one at a time, so that the reported share never falls.
  private func report(_ part: Double, of index: Int, isDone: Bool) {
    state.withLock { state in
      state.parts[index] = max(state.parts[index], min(1, part))
      if isDone { state.done += 1 }
      progress(state.parts.reduce(0, +) / Double(stores.count), stores[index], state.done)
    }
  }
}
