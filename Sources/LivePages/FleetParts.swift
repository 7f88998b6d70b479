import Foundation
import Godwit
import GodwitTool
import Pages
import SystemPackage

/// The parts of the page of a fleet, made of its status alone.
struct FleetParts {
  let id: String
  let path: FilePath
  let status: StoreFleet.Status?
  /// Why the status cannot be read; nil if it can.
  let failure: String?

  /// The most stores at work that have a row of their own.
  private static let mostRunning = 64

  private var shortName: String { path.lastComponent?.string ?? path.string }

  /// Such as `52 % Autumn`.
  var windowTitle: String {
    guard let status else { return shortName }
    return status.state == .running
      ? "\(ProgressText.percent(share)) \(shortName)" : "\(shortName): \(status.state.rawValue)"
  }

  /// All parts, in the order of the page.
  var all: [LivePage.Part] {
    [
      LivePage.Part("state", state), LivePage.Part("figures", figures),
      LivePage.Part("versions", versions), LivePage.Part("failures", failures),
      LivePage.Part("running", running), LivePage.Part("slowest", slowest),
    ]
  }

  /// The fleet among others.
  var card: Page.Card {
    let remarks = [path.string, failure ?? status.map { FleetText($0).counts }]
    return Page.Card(
      shortName, at: SiteAddress.fleet(id).path, badge: badge, bar: bar,
      remarks: remarks.compactMap(\.self))
  }

  private var share: Double {
    guard let status else { return 0 }
    return Double(status.stores - status.waiting) / Double(max(1, status.stores))
  }

  private var tone: Page.Tone {
    switch status?.state {
    case .running, .done: .good
    case .incomplete, .rolledBack: .held
    case .failed, nil: .bad
    }
  }

  private var badge: Page.Badge { Page.Badge(status?.state.rawValue ?? "unknown", tone) }

  private var bar: Page.Bar? {
    guard let status, status.waiting > 0 || status.state == .running else { return nil }
    let left = status.secondsRemaining.map { ", about \(DurationText(seconds: $0)) left" } ?? ""
    let stores = "\(GroupedText(status.stores - status.waiting)) of \(GroupedText(status.stores))"
    return Page.Bar(
      share, tone, label: "\(ProgressText.percent(share)), \(stores) stores have a result\(left)")
  }

  private var state: Page.Section {
    var section = Page.Section()
    section.badge = badge
    section.bar = bar
    if let failure { section.lines.append(Markup(failure)) }
    guard let status else { return section }
    section.lines.append(Markup("\(FleetText(status).counts)."))
    if let stopped = status.stopped, status.state == .incomplete {
      section.lines.append(Markup("The last run stopped: \(stopped)."))
    }
    if status.damagedLines > 0 {
      let lines = CountText(status.damagedLines, "line")
      section.lines.append(Markup("\(lines) of the results files cannot be read."))
    }
    section.lines += FleetText(status).notes.map { Markup($0) }
    return section
  }

  private var figures: Page.Section? {
    guard let status else { return nil }
    var section = Page.Section()
    var facts = [("stores", "\(GroupedText(status.stores))")]
    facts += StoreFleet.Outcome.Kind.allCases.map { kind in
      (Self.words(kind), "\(GroupedText(status.count(kind)))")
    }
    facts.append(("waiting", "\(GroupedText(status.waiting))"))
    facts.append(("bytes", "\(ByteText(status.bytesDone)) of \(ByteText(status.bytes))"))
    facts.append(("rows", "\(GroupedText(status.rows))"))
    if let stores = status.storesPerSecond, let bytes = status.bytesPerSecond {
      facts.append(("rate", "\(FleetText.number(stores)) stores/s"))
      facts.append(("data", "\(ByteText(Int64(bytes)))/s"))
    }
    section.facts = facts.map { .init($0.0, $0.1) }
    return section
  }

  static func words(_ kind: StoreFleet.Outcome.Kind) -> String {
    switch kind {
    case .migrated: "migrated"
    case .copied: "copied"
    case .current: "current already"
    case .failed: "failed"
    case .rolledBack: "rolled back"
    }
  }

  private var versions: Page.Section? {
    guard let versions = status?.versions, !versions.isEmpty else { return nil }
    let kinds = StoreFleet.Outcome.Kind.allCases.filter { kind in
      versions.contains { $0.counts[kind] != nil }
    }
    var section = Page.Section("Versions")
    section.table = Page.Table(
      [.init("version")] + kinds.map { .init(Self.words($0), .number) },
      versions.map { version in
        [.init(version.name ?? "not known", version.name == nil ? .quiet : .text)]
          + kinds.map { .init("\(GroupedText(version.counts[$0] ?? 0))", .number) }
      })
    return section
  }

  private func cell(store: FilePath, number: Int?) -> Page.Cell {
    .init(store.string, at: number.map { SiteAddress.store(id, $0).path })
  }

  private var failures: Page.Section? {
    guard let failures = status?.failures, !failures.isEmpty else { return nil }
    var section = Page.Section("Failures")
    section.table = Page.Table(
      [.init("reason"), .init("stores", .number), .init("such as"), .init("because", .sentence)],
      failures.map { group in
        [
          .init(group.reason, .bad), .init("\(GroupedText(group.stores))", .number),
          cell(store: group.store, number: group.number), .init(group.sentence, .sentence),
        ]
      })
    return section
  }

  private var running: Page.Section? {
    guard let stores = status?.running, !stores.isEmpty else { return nil }
    let all = stores.sorted { $0.seconds > $1.seconds }
    var section = Page.Section("At work")
    section.table = table(all.prefix(Self.mostRunning))
    let more = all.count - Self.mostRunning
    if more > 0 { section.lines = [Markup("and \(more) more")] }
    return section
  }

  private var slowest: Page.Section? {
    guard let stores = status?.slowest.filter({ $0.seconds >= 1 }), !stores.isEmpty else {
      return nil
    }
    var section = Page.Section("Slowest")
    section.table = table(stores[...])
    return section
  }

  private func table(_ stores: ArraySlice<StoreFleet.Status.Timed>) -> Page.Table {
    Page.Table(
      [.init("store"), .init("size", .number), .init("time", .number), .init("")],
      stores.map { store in
        [
          cell(store: store.store, number: store.number),
          .init("\(ByteText(store.bytes))", .number),
          .init("\(DurationText(seconds: store.seconds))", .number),
          .init(store.isSlow ? "much longer than others of its size" : "", .bad),
        ]
      })
  }
}

/// The parts of the page of one store of a fleet.
struct FleetStoreParts {
  let fleet: FilePath
  let id: String
  let number: Int
  /// The store while it is being migrated.
  let running: StoreFleet.Status.Timed?
  let found: Result<(member: StoreFleet.Member?, outcome: StoreFleet.Outcome?), any Error>

  private var member: StoreFleet.Member? { (try? found.get())?.member }
  /// What became of the store; nil if it has no result, or that cannot be read.
  var outcome: StoreFleet.Outcome? { (try? found.get())?.outcome }

  private var store: FilePath? { outcome?.store ?? member?.store }
  /// The path of the store.
  var heading: String { store?.string ?? "store \(number)" }
  var windowTitle: String {
    "\(store?.lastComponent?.string ?? "store \(number)"): \(word)"
  }

  private var word: String {
    if running != nil { return "at work" }
    return outcome.map { FleetParts.words($0.kind) } ?? "waiting"
  }

  /// All parts, in the order of the page.
  var all: [LivePage.Part] {
    [LivePage.Part("state", state), LivePage.Part("facts", facts)]
  }

  private var tone: Page.Tone {
    if running != nil { return .good }
    return switch outcome?.kind {
    case .migrated, .copied, .current: .good
    case .failed: .bad
    case .rolledBack, nil: .held
    }
  }

  private var state: Page.Section {
    var section = Page.Section()
    section.badge = Page.Badge(word, tone, note: outcome?.reason ?? "")
    if case .failure(let error) = found {
      section.lines += MigrationFailure(error).sentences.map { Markup($0) }
    }
    if running?.isSlow == true {
      section.lines.append(Markup("The store takes much longer than others of its size."))
    }
    section.lines += outcome?.sentences.map { Markup($0) } ?? []
    return section
  }

  private var facts: Page.Section {
    var section = Page.Section()
    section.table = Page.Table([.init(""), .init("")], rows)
    return section
  }

  private var rows: [[Page.Cell]] {
    var rows: [[Page.Cell]] = [
      [.init("fleet"), .init(fleet.string, at: SiteAddress.fleet(id).path)],
      [.init("place in the list"), .init("\(number)")],
    ]
    func add(_ name: String, _ value: String?) {
      if let value { rows.append([.init(name), .init(value)]) }
    }
    add("new store", member?.output?.string)
    add("size before", (outcome?.bytes ?? running?.bytes).map { "\(ByteText($0))" })
    add("version before", outcome?.version)
    add("rows", outcome?.rows.map { "\(GroupedText($0))" })
    add("old store", outcome?.oldStore?.string)
    add(
      "time", (running?.seconds ?? outcome?.seconds).map { "\(DurationText(seconds: $0))" })
    guard let outcome else { return rows }
    add("attempts", "\(outcome.attempts)")
    if outcome.exitStatus != 0 { add("exit status", "\(outcome.exitStatus)") }
    add("machine", outcome.node)
    let format = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
    add("ended", Date(timeIntervalSince1970: outcome.time).formatted(format))
    return rows
  }
}
