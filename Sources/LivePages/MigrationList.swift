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

  /// How often it is made anew at most.
  private static let interval = Duration.milliseconds(100)

  private let board: MigrationBoard
  private let folders: [FilePath]
  private var shown: (moment: ContinuousClock.Instant, view: View)?

  init(_ board: MigrationBoard, folders: [FilePath]) {
    (self.board, self.folders) = (board, folders)
  }

  func view(at now: ContinuousClock.Instant = .now) async -> View {
    if let shown, now - shown.moment < Self.interval { return shown.view }
    var cards: [(isOpen: Bool, ended: Date, card: Page.Card)] = []
    for migration in await board.all { cards.append(await migration.card) }
    // Those at work first, then the latest.
    cards.sort { ($0.isOpen ? 1 : 0, $0.ended) > ($1.isOpen ? 1 : 0, $1.ended) }
    let open = cards.count(where: \.isOpen)
    var section = Page.Section()
    section.cards = cards.map(\.card)
    section.lines = await lines(open: open, of: cards.count)
    let parts = [LivePage.Part("list", section), LivePage.Part("gaps", await gaps)]
    let title = "Godwit: \(CountText(open, "migration")) at work"
    let isSame = shown?.view.parts == parts && shown?.view.windowTitle == title
    let version = (shown?.view.version ?? 0) + (isSame ? 0 : 1)
    let view = View(version: version, windowTitle: title, parts: parts)
    shown = (now, view)
    return view
  }

  private func lines(open: Int, of all: Int) async -> [Markup] {
    let places = folders.map(\.string).joined(separator: ", ")
    if await board.searches == 0 { return [Markup("Looking through \(places).")] }
    if all == 0 {
      return [
        Markup("No migration is known in \(places). One that begins there appears here by itself.")
      ]
    }
    return [Markup("\(CountText(all, "migration")) in \(places), \(open) at work.")]
  }

  private var gaps: Page.Section? {
    get async {
      let gaps = await board.gaps
      guard !gaps.isEmpty else { return nil }
      var section = Page.Section("Not looked at")
      section.lines = gaps.map { Markup($0) }
      return section
    }
  }
}
