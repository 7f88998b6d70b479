import Dispatch
import Foundation
import Godwit
import Pages
import SystemPackage

/// A fleet whose status is read while its page is open, and the contents of its pages.
///
/// All visitors see the same parts, which are made once for all of them.
actor WatchedFleet {
  /// The contents of a page at a moment.
  struct View: Sendable {
    /// Rises with every change on the page.
    var version: Int
    /// What `godwit fleet status --json` prints, or an entry of `fleet list --json`, on one line;
    /// empty where there is none.
    var json: String
    var windowTitle, heading: String
    var parts: [LivePage.Part]
    /// Why the page does not change any more; nil while it may.
    var end: String?
  }

  /// The shortest time between two reads of the status.
  private static let pause = Duration.milliseconds(500)
  /// The share of the time in which results are read at most: one part in so many.
  private static let readShare = 10
  /// The most pages of stores that are kept.
  private static let mostStores = 64

  /// The identifier of the fleet in addresses.
  nonisolated let id: String
  private let path: FilePath
  private var known: StoreFleet.Status?
  private var failure: String?
  private var isGone = false
  private var version = 1
  private var shown: View?
  private var stores: [Int: (moment: ContinuousClock.Instant, view: View)] = [:]
  private var nextRead: ContinuousClock.Instant?
  private var isReading = false

  /// Names a fleet; nothing is read yet.
  init(id: String, path: FilePath) { (self.id, self.path) = (id, path) }

  /// Nothing is known of the fleet any more.
  func vanish() {
    isGone = true
    version += 1
  }

  /// The status at a moment; nil where it cannot be read.
  func status(at now: ContinuousClock.Instant = .now) async -> StoreFleet.Status? {
    await read(at: now)
    return known
  }

  /// Whether the fleet has a store at this place in its list.
  func hasStore(_ number: Int) async -> Bool {
    await read(at: .now)
    return known.map { number < $0.stores } ?? false
  }

  private func read(at now: ContinuousClock.Instant) async {
    // While one visitor waits for the disk, the others see what was read before.
    guard !isGone, !isReading, nextRead.map({ now >= $0 }) ?? true else { return }
    isReading = true
    defer { isReading = false }
    let path = path
    let began = ContinuousClock.now
    let found = await Self.onThread { Result { try StoreFleet(path).status() } }
    nextRead = now + max(Self.pause, (ContinuousClock.now - began) * Self.readShare)
    switch found {
    case .success(let status):
      if failure != nil || known != status || status.state == .running { version += 1 }
      (known, failure) = (status, nil)
    case .failure(let error):
      let sentence = MigrationFailure(error).sentences.joined(separator: " ")
      if failure != sentence { version += 1 }
      failure = sentence
    }
  }

  private static func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () -> Value
  ) async -> Value {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
  }

  private var end: String? { isGone ? "this fleet is no longer known" : nil }

  /// The page of the fleet at a moment.
  func view(at now: ContinuousClock.Instant = .now) async -> View {
    await read(at: now)
    if let shown, shown.version == version { return shown }
    let parts = FleetParts(id: id, path: path, status: known, failure: failure)
    let view = View(
      version: version, json: known.map { Self.json($0) } ?? "", windowTitle: parts.windowTitle,
      heading: path.string, parts: parts.all, end: end)
    shown = view
    return view
  }

  /// The page of one store at a moment.
  func view(ofStore number: Int, at now: ContinuousClock.Instant = .now) async -> View {
    let last = stores[number]
    if let last, now - last.moment < Self.pause, !isGone { return last.view }
    await read(at: now)
    let path = path
    let found = await Self.onThread {
      Result {
        let fleet = try StoreFleet(path)
        return (member: try fleet.member(number), outcome: try fleet.outcome(of: number))
      }
    }
    let parts = FleetStoreParts(
      fleet: path, id: id, number: number,
      running: known?.running.first { $0.number == number }, found: found)
    let made = parts.all
    let isSame = last?.view.parts == made && last?.view.end == end
    let view = View(
      version: (last?.view.version ?? 0) + (isSame ? 0 : 1),
      json: parts.outcome.map { Self.json($0) } ?? "", windowTitle: parts.windowTitle,
      heading: parts.heading, parts: made, end: end)
    if stores.count >= Self.mostStores, last == nil { stores = [:] }
    stores[number] = (now, view)
    return view
  }

  private static func json(_ value: some Encodable) -> String {
    do {
      return try JSONOutput.line(value: value).text
    } catch {
      preconditionFailure("a status that is no JSON: \(error)")
    }
  }

  /// The fleet on the page of all migrations.
  func card(at now: ContinuousClock.Instant = .now) async -> (isRunning: Bool, card: Page.Card) {
    await read(at: now)
    let parts = FleetParts(id: id, path: path, status: known, failure: failure)
    return (known?.state == .running, parts.card)
  }
}
