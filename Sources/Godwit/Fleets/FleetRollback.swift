import Fleets
import Foundation
import MigrationCoordinator
import SystemCalls
public import SystemPackage

extension StoreFleet {
  /// Puts the old stores back in their places, of every store that the fleet has migrated in place,
  /// and returns the outcomes as they become durable.
  ///
  /// New stores at outputs stay, since the old ones are where they were. A store that was rolled
  /// back outside of the fleet counts as rolled back.
  ///
  /// - Parameter stores: the stores to put back; nil puts back all.
  /// - Returns: a sequence that throws `MigrationFailure`. A `failed` outcome has the reason why a
  ///   store could not be put back; it keeps the new store.
  public func rollBack(_ stores: [FilePath]? = nil) -> Outcomes {
    Outcomes { try await rollBack(stores, body: $0) }
  }

  private func rollBack(
    _ stores: [FilePath]?, body: @Sendable (StoreResult) -> Void
  ) async throws {
    guard let lock = try FileLock.acquire(folder.lock) else {
      throw FleetError(problem: .running, path: folder.lock)
    }
    defer { withExtendedLifetime(lock) {} }
    try folder.requireList(of: manifest)
    var wanted = stores.map { Set($0.map(\.absolute.string)) }
    var migrated: [StoreResult] = []
    try FleetLedger(folder, of: manifest).read { result in
      guard result.outcome == .migrated else { return }
      if stores == nil || wanted?.remove(result.store) != nil { migrated.append(result) }
    }
    if let unknown = wanted?.min() {
      throw MigrationFailure(
        .notFound, "\(unknown) is not a store that \(path) has migrated: `fleet list` names them.")
    }
    let (recorder, _) = try openResults()
    defer { withExtendedLifetime(recorder) {} }
    let outputs = try outputs(of: Set(migrated.map(\.number)))
    for chunk in migrated.chunks(of: 256) {
      try Task.checkCancellation()
      let results = await Self.results(of: chunk.filter { !outputs.contains($0.number) })
      let olds = Dictionary(chunk.map { ($0.number, $0) }, uniquingKeysWith: { $1 })
      for (result, isBack) in results where isBack {
        recorder.end(result, isFinal: true, replacing: olds[result.number])
      }
      _ = try recorder.flush()
      for (result, _) in results { body(result) }
    }
    _ = try recorder.flush(isOver: true)
  }

  /// The numbers of stores whose new store is an output.
  private func outputs(of numbers: Set<Int>) throws -> Set<Int> {
    var list = try FleetListReader(folder)
    var outputs: Set<Int> = []
    while let next = try list.next() {
      if next.store.output != nil, numbers.contains(next.number) { outputs.insert(next.number) }
    }
    return outputs
  }

  private static func results(
    of chunk: some Sequence<StoreResult> & Sendable
  ) async -> [(result: StoreResult, isBack: Bool)] {
    await withTaskGroup(of: (StoreResult, Bool).self) { group in
      for old in chunk { group.addTask { rolledBack(old) } }
      var results: [(StoreResult, Bool)] = []
      for await result in group { results.append(result) }
      return results.sorted { $0.0.number < $1.0.number }
    }
  }

  private static func rolledBack(_ old: StoreResult) -> (StoreResult, Bool) {
    let began = WallClock.now()
    var result = StoreResult(
      number: old.number, store: old.store, outcome: .rolledBack, bytes: old.bytes)
    do {
      // An old store that another migration kept is not the one before this fleet.
      guard let kept = old.oldStore.map({ FilePath($0) }) else {
        throw MigrationFailure(notKeptByFleet: FilePath(old.store))
      }
      let store = try MigratedStore(FilePath(old.store))
      // A rollback outside of the fleet leaves nothing to do.
      if try !store.isRestored(kept, since: old.time) { _ = try store.rollBack(to: kept) }
    } catch {
      result.take(MigrationFailure(error))
    }
    let now = WallClock.now()
    result.seconds = Double(now - began) / 1e9
    result.time = Double(now) / 1e9
    result.node = Processes.node
    return (result, result.outcome == .rolledBack)
  }
}

extension Array {
  /// The elements in parts of so many.
  fileprivate func chunks(of count: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }
}
