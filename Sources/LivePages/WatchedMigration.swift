import Foundation
import Godwit
import Pages
import SystemPackage

/// A migration that is watched, and what its page shows.
///
/// All visitors see the same parts, which are made once for all of them, and only if there are any.
actor WatchedMigration {
  /// What a page of it shows at a moment.
  struct View: Sendable {
    /// Rises with everything that changes on the page.
    var version: Int
    /// Rises with every change that `godwit status --follow` would print.
    var news: Int
    /// The output of `godwit status --follow`.
    var json: String
    var windowTitle, heading: String
    var parts: [LivePage.Part]
    /// Why no more updates follow; nil while they may.
    var end: String?
  }

  /// Seconds between two pictures of one migration: drawing them takes longer than all else.
  private static let pictureInterval = Duration.seconds(1)

  /// What stands for it in addresses.
  nonisolated let id: String
  /// The path by which a monitor knows it.
  private(set) var path: FilePath
  private(set) var status: MigrationMonitor.Status
  private var rates = MigrationRates()
  private var timeline = WatchedTimeline()
  private var version = 1
  private var news = 1
  private var isGone = false
  private var failure: String?
  private var moment: ContinuousClock.Instant
  private var shown: View?
  private var picture: (moment: ContinuousClock.Instant, part: LivePage.Part)?
  private let key: String?

  /// Takes what is known first.
  ///
  /// - Parameter key: the key in forms for requests; nil if requests are not allowed.
  init(
    id: String, path: FilePath, status: MigrationMonitor.Status, key: String?,
    at moment: ContinuousClock.Instant = .now
  ) {
    (self.id, self.path, self.status, self.key, self.moment) = (id, path, status, key, moment)
    timeline.observe(status, at: Date())
    if let progress = status.progress { rates.observe(progress, at: moment) }
  }

  /// Takes what is known at a moment.
  func observe(
    _ status: MigrationMonitor.Status, by path: FilePath? = nil,
    at moment: ContinuousClock.Instant = .now
  ) {
    let isNew = status.isNews(after: self.status)
    // Without news, speeds fall and time goes by all the same.
    let isDue = status.state.isOpen && moment - self.moment >= .seconds(1)
    if isNew { news += 1 }
    if isNew || isDue || isGone {
      version += 1
      self.moment = moment
    }
    if status.progress?.started != self.status.progress?.started { rates = MigrationRates() }
    (self.status, isGone, failure) = (status, false, nil)
    if let path { self.path = path }
    if let progress = status.progress { rates.observe(progress, at: moment) }
    timeline.observe(status, at: Date())
  }

  /// Nothing is known of it any more.
  func vanish() {
    guard !isGone else { return }
    isGone = true
    version += 1
  }

  /// It cannot be watched any more.
  func fail(_ sentence: String) {
    guard failure != sentence else { return }
    failure = sentence
    version += 1
  }

  private var end: String? {
    if let failure { return failure }
    if isGone { return "this migration is no longer known" }
    return status.state.isOpen ? nil : "this migration has ended"
  }

  /// What is shown at a moment.
  func view(at now: ContinuousClock.Instant = .now) -> View {
    if let shown, shown.version == version { return shown }
    let parts = MigrationParts(path: path, status: status, rates: rates)
    var json = shown?.news == news ? shown?.json ?? "" : ""
    if json.isEmpty {
      do {
        json = try JSONOutput.line(value: status).text
      } catch {
        // Every field of a status can be written.
        preconditionFailure("a status that is no JSON: \(error)")
      }
    }
    let view = View(
      version: version, news: news, json: json, windowTitle: parts.windowTitle,
      heading: parts.heading,
      parts: [
        LivePage.Part("state", parts.state), LivePage.Part("figures", parts.figures),
        LivePage.Part("control", key.flatMap { parts.control(id: id, key: $0) }),
        pictures(at: now), LivePage.Part("workers", parts.workers),
      ], end: end)
    shown = view
    return view
  }

  private func pictures(at now: ContinuousClock.Instant) -> LivePage.Part {
    if let picture, now - picture.moment < Self.pictureInterval, end == nil { return picture.part }
    let part = LivePage.Part("time", timeline.section)
    picture = (now, part)
    return part
  }

  /// Its entry in the list, with the sort key.
  var card: (isOpen: Bool, ended: Date, card: Page.Card) {
    let parts = MigrationParts(path: path, status: status, rates: rates)
    return (
      status.state.isOpen && !isGone, status.ended ?? .distantPast,
      parts.card(at: SiteAddress.migration(id).path)
    )
  }

  /// Rises with everything that changes.
  var age: Int { version }
}
