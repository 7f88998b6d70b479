import Foundation
import Godwit
import GodwitTool
import Pages
import SystemPackage

/// What is shown of a migration, made of what is known and nothing else.
struct MigrationParts {
  let path: FilePath
  let status: MigrationMonitor.Status
  let rates: MigrationRates

  /// The most workers that have a row of their own.
  private static let mostWorkers = 64

  private var text: StatusText { StatusText(path: path, status: status) }
  private var name: FilePath { status.destination ?? path }

  /// The name of what is made, for the bar of a window.
  var shortName: String { name.lastComponent?.string ?? name.string }
  /// The path of what is made.
  var heading: String { name.string }

  /// Such as `52 % Shop.sqlite`.
  var windowTitle: String {
    guard status.state.isOpen, let progress = status.progress else {
      return "\(shortName): \(status.state.rawValue)"
    }
    return "\(ProgressText.percent(progress.fraction)) \(shortName)"
  }

  private var tone: Page.Tone {
    switch status.state {
    case .running, .ready, .done: .good
    case .paused: .held
    case .interrupted, .dead, .failed, .refused: .bad
    }
  }

  private var bar: Page.Bar? {
    guard status.state.isOpen, let progress = status.progress else { return nil }
    return Page.Bar(
      progress.fraction, tone,
      label: "\(ProgressText.percent(progress.fraction)), \(ProgressText.words(progress))")
  }

  /// Where the objects come from, where that is another store.
  private var origin: String? {
    guard let source = status.source, source != name else { return nil }
    return "from \(source)"
  }

  private var times: [String] {
    [
      status.progress.map { "begun \(Self.moment($0.started))" },
      status.ended.map { "until \(Self.moment($0))" },
    ].compactMap(\.self)
  }

  private static func moment(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt))
  }

  /// Its entry in the list.
  func card(at address: String) -> Page.Card {
    let hasReason = status.reason != nil && status.state.isOpen
    let sentence = status.sentences.first.map { $0.count > 200 ? $0.prefix(200) + "…" : $0 }
    let remarks = [heading, origin, hasReason ? text.reason : nil, sentence]
    return Page.Card(
      shortName, at: address,
      badge: Page.Badge(
        status.state.rawValue, tone, note: status.ended.map { Self.moment($0) } ?? ""),
      bar: bar, remarks: remarks.compactMap(\.self))
  }

  /// The state and its description.
  var state: Page.Section {
    var section = Page.Section()
    let note = ([origin].compactMap(\.self) + times).joined(separator: " · ")
    section.badge = Page.Badge(status.state.rawValue, tone, note: note)
    section.bar = bar
    let headline = text.headline
    if headline != status.state.rawValue { section.lines.append(Markup(headline)) }
    section.lines += text.furtherSentences.map { Markup($0) }
    section.lines += status.losses.map { Markup("loses \($0)") }
    return section
  }

  /// Rows, speed, memory and the like, while it runs.
  var figures: Page.Section? {
    guard status.state.isOpen, let progress = status.progress else { return nil }
    var section = Page.Section()
    section.facts = StatusFigures(status, progress, rates: rates).lines.map {
      .init($0.name, $0.text)
    }
    return section
  }

  /// The workers at work, a row each.
  var workers: Page.Section? {
    guard status.state.isOpen, let orders = status.progress?.workOrdersAtWork, !orders.isEmpty
    else { return nil }
    var section = Page.Section("Workers")
    section.table = Page.Table(
      [
        .init("order", .number), .init("table"), .init("done", .number), .init("speed", .number),
        .init("memory", .number), .init("last key", .number), .init("attempt", .number),
        .init("process", .number),
      ],
      orders.prefix(Self.mostWorkers).map { order in
        [
          .init("\(order.number)", .number), .init(order.table),
          .init(ProgressText.percent(order.share), .number),
          .init(speed(order), .number),
          .init(AmountText.memory(order.peakMemory, of: order.memoryLimit), .number),
          .init("\(GroupedText(order.lastKey))", .number), .init("\(order.attempt)", .number),
          .init("\(order.process)", .number),
        ]
      }, isStacked: true)
    let more = orders.count - Self.mostWorkers
    if more > 0 { section.lines = [Markup("and \(more) more")] }
    return section
  }

  private func speed(_ order: MigrationProgress.WorkOrder) -> String {
    if order.isPaused || status.state == .paused { return "paused" }
    return rates.ofWorkOrder(order.number).map { AmountText.rows($0) } ?? ""
  }

  /// The requests that visitors may send, as forms with this key.
  func control(id: String, key: String) -> Page.Section? {
    guard status.state.isOpen, let progress = status.progress else { return nil }
    func form(
      _ button: String, _ request: ControlRequest, _ field: Page.Form.Field? = nil
    ) -> Page.Form {
      Page.Form(button, to: SiteAddress.request(id, request).path, key: key, field: field)
    }
    var section = Page.Section("Control")
    let isHeld = status.state == .paused || status.reason != nil && status.state == .running
    section.forms = [
      isHeld ? form("Resume", .resume) : form("Pause", .pause),
      form("Set", .workers, .init("workers", "Workers", value: "\(progress.workers)")),
      form(
        "Set", .rate,
        .init(
          "rate", "Bytes a second, 0 for no limit",
          value: (progress.bytesPerSecond.map { .bytesPerSecond($0) }
            ?? MigrationControl.Rate.unlimited)
            .description)),
      form("Cancel", .cancel),
    ]
    return section
  }
}
