import Dispatch
import Foundation
import Godwit
import SystemPackage

/// All migrations and fleets in some folders, brought up to date while it runs.
///
/// It reads status files and records, and writes nothing.
actor MigrationBoard {
  /// How long a migration that left nothing behind is still shown.
  private static let grace = Duration.seconds(60)
  /// The longest and the shortest wait between two searches of the folders.
  private static let pause = (least: Duration.seconds(1), most: Duration.seconds(60))
  /// The share of the time in which folders are looked through at most: one part in so many.
  private static let searchShare = 20

  private struct Entry {
    let migration: WatchedMigration
    var watch: Task<Void, Never>?
    var missing: ContinuousClock.Instant?
  }

  private let folders: [FilePath]
  private let key: String?
  private var entries: [String: Entry] = [:]
  private var watchedFleets: [String: WatchedFleet] = [:]
  /// The errors of searching and reading, a sentence each.
  private(set) var gaps: [String] = []
  /// How often the folders were looked through.
  private(set) var searches = 0

  /// Takes folders, and the key in forms for requests; nil if requests are not allowed.
  init(_ folders: [FilePath], key: String?) { (self.folders, self.key) = (folders, key) }

  /// Looks through the folders again and again, until it is cancelled.
  func refreshUntilCancelled() async {
    while !Task.isCancelled {
      let start = ContinuousClock.now
      await refresh()
      let taken = ContinuousClock.now - start
      let wait = min(max(taken * Self.searchShare, Self.pause.least), Self.pause.most)
      try? await Task.sleep(for: wait)  // cancelled, the loop ends
    }
    for entry in entries.values { entry.watch?.cancel() }
  }

  /// The migration with an identifier.
  func migration(_ id: String) -> WatchedMigration? { entries[id]?.migration }

  /// All migrations by their identifiers.
  var all: [WatchedMigration] {
    entries.values.map(\.migration).sorted { $0.id < $1.id }
  }

  /// The fleet with an identifier.
  func fleet(_ id: String) -> WatchedFleet? { watchedFleets[id] }

  /// All fleets by their identifiers.
  var fleets: [WatchedFleet] { watchedFleets.values.sorted { $0.id < $1.id } }

  /// Looks through the folders once.
  func refresh(at now: ContinuousClock.Instant = .now) async {
    let folders = folders
    // It waits for disks, and those who wait for news shall not.
    let search = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: MigrationSearch(folders)) }
    }
    var found: [FoundMigration] = []
    var gaps = search.gaps
    for path in search.paths {
      do {
        if let status = try await MigrationMonitor(path).status() {
          found.append(FoundMigration(path: path, status: status))
        }
      } catch {
        guard error.kind != .interrupted else { return }
        if gaps.count < 40 { gaps += error.sentences }
      }
    }
    self.gaps = gaps
    searches += 1
    await take(fleets: search.fleets)
    await take(FoundMigration.distinct(found), at: now)
  }

  private func take(fleets paths: [FilePath]) async {
    let found = Dictionary(
      paths.map { (MigrationIdentifier.of($0), $0) }, uniquingKeysWith: { first, _ in first })
    for (id, fleet) in watchedFleets where found[id] == nil {
      watchedFleets[id] = nil
      await fleet.vanish()
    }
    for (id, path) in found where watchedFleets[id] == nil {
      watchedFleets[id] = WatchedFleet(id: id, path: path)
    }
  }

  private func take(_ found: [FoundMigration], at now: ContinuousClock.Instant) async {
    var present: Set<String> = []
    for one in found {
      let id = MigrationIdentifier.of(one.destination)
      present.insert(id)
      if let entry = entries[id] {
        // Each watcher reports in order.
        if entry.watch == nil { await entry.migration.observe(one.status, by: one.path) }
        entries[id]?.missing = nil
      } else {
        entries[id] = Entry(
          migration: WatchedMigration(id: id, path: one.path, status: one.status, key: key))
      }
      if one.status.state.isOpen { watch(id) }
    }
    for (id, entry) in entries where !present.contains(id) {
      let since = entry.missing ?? now
      entries[id]?.missing = since
      let isOpen = await entry.migration.status.state.isOpen
      if isOpen, entry.watch == nil { await entry.migration.vanish() }
      if now - since >= Self.grace {
        entry.watch?.cancel()
        entries[id] = nil
        await entry.migration.vanish()
      }
    }
  }

  /// Follows a migration until it ends.
  private func watch(_ id: String) {
    guard let entry = entries[id], entry.watch == nil else { return }
    let migration = entry.migration
    // Many that run at a time are read less often.
    let interval = Duration.milliseconds(max(100, 10 * entries.count))
    entries[id]?.watch = Task {
      do throws(MigrationFailure) {
        let updates = MigrationMonitor(await migration.path).updates(
          every: interval, waitingToBegin: .zero)
        for try await status in updates { await migration.observe(status) }
      } catch {
        guard error.kind != .interrupted else { return }
        await migration.fail(error.sentences.joined(separator: " "))
      }
      self.hasEnded(id)
    }
  }

  private func hasEnded(_ id: String) { entries[id]?.watch = nil }
}

/// A migration as it was found, by one of the paths that lead to it.
struct FoundMigration {
  let path: FilePath
  let status: MigrationMonitor.Status

  /// The destination of the new store, which identifies a migration.
  var destination: FilePath { status.destination ?? path }

  /// Each migration once: by the path of what it makes where that was found, not by its source.
  static func distinct(_ all: [FoundMigration]) -> [FoundMigration] {
    var best: [FilePath: FoundMigration] = [:]
    for one in all {
      let known = best[one.destination]
      if known == nil || one.path == one.destination { best[one.destination] = one }
    }
    return best.values.sorted { $0.destination.string < $1.destination.string }
  }
}
