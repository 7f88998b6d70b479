import Foundation
import Godwit
import Pages
import SystemPackage

/// The page of all migrations, whose parts are made once for all visitors.
actor MigrationList {
  /// What the page shows at a moment.
  struct View: Sendable {
    var version: Int
    var windowTitle: String
    var parts: [LivePage.Part]
  }

  /// How long it stands at least; a long list is more to write for one change of one migration.
  private var interval: Duration { max(.milliseconds(100), .microseconds(2_500 * count)) }

  private let board: MigrationBoard
  /// The folders by their full paths: a visitor does not know where the server was started.
  private let places: String
  private var count = 0
  private var shown: (moment: ContinuousClock.Instant, view: View)?

  init(_ board: MigrationBoard, folders: [FilePath]) {
    self.board = board
    let here = FilePath(FileManager.default.currentDirectoryPath)
    places = folders.map { here.pushing($0).lexicallyNormalized().string }.joined(separator: ", ")
  }

  func view(at now: ContinuousClock.Instant = .now) async -> View {
    if let shown, now - shown.moment < interval { return shown.view }
    var cards: [(isOpen: Bool, ended: Date, card: Page.Card)] = []
    for migration in await board.all { cards.append(await migration.card) }
    var fleets: [(isRunning: Bool, card: Page.Card)] = []
    for fleet in await board.fleets { fleets.append(await fleet.card(at: now)) }
    let (gaps, hasLooked) = (await board.gaps, await board.searches > 0)
    // From here on there is no other thread: a version has one content. Those at work first, then
    // the latest.
    cards.sort { ($0.isOpen ? 1 : 0, $0.ended) > ($1.isOpen ? 1 : 0, $1.ended) }
    count = cards.count
    let open = cards.count(where: \.isOpen)
    var section = Page.Section()
    section.cards = cards.map(\.card)
    section.lines = lines(open: open, of: cards.count, hasLooked: hasLooked)
    let parts = [
      LivePage.Part("fleets", fleetSection(fleets)), LivePage.Part("list", section),
      LivePage.Part("gaps", missed(gaps)),
    ]
    let title = "Godwit: \(CountText(open, "migration")) at work"
    let isSame = shown?.view.parts == parts && shown?.view.windowTitle == title
    let version = (shown?.view.version ?? 0) + (isSame ? 0 : 1)
    let view = View(version: version, windowTitle: title, parts: parts)
    shown = (now, view)
    return view
  }

  private func fleetSection(_ fleets: [(isRunning: Bool, card: Page.Card)]) -> Page.Section? {
    guard !fleets.isEmpty else { return nil }
    var section = Page.Section("Fleets")
    section.cards = (fleets.filter(\.isRunning) + fleets.filter { !$0.isRunning }).map(\.card)
    return section
  }

  private func lines(open: Int, of all: Int, hasLooked: Bool) -> [Markup] {
    if !hasLooked { return [Markup("Looking through \(places).")] }
    if all == 0 {
      return [
        Markup("No migration is known in \(places). A new one appears here automatically.")
      ]
    }
    return [Markup("\(CountText(all, "migration")) in \(places), \(open) at work.")]
  }

  private func missed(_ gaps: [String]) -> Page.Section? {
    guard !gaps.isEmpty else { return nil }
    var section = Page.Section("Not searched")
    section.lines = gaps.map { Markup($0) }
    return section
  }
}
