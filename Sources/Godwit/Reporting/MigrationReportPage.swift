import Foundation
import Mapping
import MigrationCoordinator
import Pages
import Planning

extension MigrationReport {
  /// The report as a page of HTML that needs no other file.
  var page: String {
    let isGood = failure == nil
    return Page(
      generator: godwit, title: "\(store)", outcome: outcome.words, isGood: isGood,
      subtitle: subtitle,
      sections: [
        resultSection, routeSection, timeSection, objectSection, lossSection, noteSection,
        modelSection,
        tableSection,
      ].compactMap(\.self)
    ).html
  }

  /// The name of the fact that a page has only where there is a result.
  static let newStoreFact = "new store"

  private var subtitle: String {
    let ends = [steps.first?.from, steps.last?.to].compactMap(\.self).filter { !$0.isEmpty }
    let route = ends.count == 2 ? "\(VersionText(ends[0])) to \(VersionText(ends[1]))" : nil
    let time = timeline.map { timeline in
      let start = Date(timeIntervalSince1970: timeline.startedAt)
      return start.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt))
    }
    return [route, time, "Godwit \(godwit)"].compactMap(\.self).joined(separator: " · ")
  }

  private var resultSection: Page.Section {
    var section = Page.Section(failure == nil ? "Result" : "Why there is no new store")
    if let failure {
      let reasons = Set(failure.reasons.map(\.sentence))
      let lines = failure.sentences.filter { !reasons.contains($0) }
      section.lines = lines.map { Markup($0) }
      if !failure.reasons.isEmpty {
        // The status stands between the sentence and its reasons, and advice follows them.
        let first = lines.first.map { $0.hasSuffix(":") ? "\($0.dropLast())." : $0 }
        section.lines = [first].compactMap(\.self).map { Markup($0) }
        section.table = failure.table
        section.closing = lines.dropFirst().map { Markup($0) }
      }
      section.facts.append(.init("exit status", "\(failure.exitStatus)"))
      if let code = failure.coreDataCode {
        section.facts.append(.init("Core Data's code", "\(code)"))
      }
      return section
    }
    section.facts = MigrationSummary(self).facts.map { .init($0.name, $0.value) }
    section.facts.append(.init(Self.newStoreFact, destination))
    if let oldStore { section.facts.append(.init("old store", oldStore)) }
    if let engineDeclined { section.lines.append(Markup("Another engine: \(engineDeclined).")) }
    if wasVerifiedFully != nil { section.lines.append(Markup(verificationSentence)) }
    return section
  }

  /// The steps, nil where there is one that is inferred.
  var routeSection: Page.Section? {
    guard steps.count > 1 || steps.contains(where: { !$0.mappings.isEmpty }) else { return nil }
    var section = Page.Section("Route")
    let isStaged = steps.contains { $0.stage > 1 }
    section.table = Page.Table(
      (isStaged ? [Page.Cell("stage")] : []) + [
        .init("from"), .init("to"), .init("by", .sentence),
      ],
      steps.map { step in
        (isStaged ? [Page.Cell("\(step.stage)")] : [])
          + [
            .init("\(VersionText(step.from))"), .init("\(VersionText(step.to))"),
            .init(
              step.mappings.isEmpty ? "inference" : step.mappings.joined(separator: ", then "),
              .sentence),
          ]
      })
    return section
  }

  /// What was verified before the result took its place.
  var verificationSentence: String {
    let accounts = "The numbers of rows in and out agree, with the exceptions below."
    return switch (wasVerifiedFully, engine) {
    case (nil, _): "The new store is a copy of the old one."
    case (true?, .clone?), (true?, .edit?):
      "\(accounts) In the changed tables, the digests of the rows that workers wrote and of the "
        + "rows in the result are equal. SQLite's integrity_check read the whole store and found "
        + "nothing."
    case (true?, _):
      "\(accounts) The finished store was read again through SQLite: the digests of all rows are "
        + "equal to those of the rows that workers read, and SQLite's integrity_check found "
        + "nothing."
    case (false?, .pages?):
      "\(accounts) Every leaf page was read again after writing. Keys ascend throughout each "
        + "table, and the numbers of rows and index entries agree."
    case (false?, .clone?), (false?, .edit?):
      "\(accounts) In the changed tables, the digests of the rows that workers wrote and of the "
        + "rows in the result are equal, and SQLite's quick_check found nothing. The other tables "
        + "were not changed, and not read."
    case (false?, _):
      "\(accounts) The digests of the rows that workers wrote and of the rows in the result are "
        + "equal, and SQLite's quick_check found nothing."
    }
  }

  var objectSection: Page.Section? {
    let summary = MigrationSummary(self)
    let made = summary.made
    guard !summary.entities.isEmpty || !made.isEmpty else { return nil }
    var section = Page.Section("Objects")
    let isStaged = accounts.count > 1
    let stage = isStaged ? [Page.Cell("stage")] : []
    section.table = Page.Table(
      stage + [
        .init("entity"), .init("in", .number), .init("out", .number), .init("dropped, and why"),
      ],
      summary.entities.map { entity in
        (isStaged ? [Page.Cell("\(entity.stage)")] : [])
          + [
            .init(
              entity.isEstimated ? "\(entity.name) (estimated: its table stayed)" : entity.name),
            .init("\(GroupedText(entity.rowsIn))", .number),
            .init("\(GroupedText(entity.rowsOut))", .number),
            .init(entity.drops, entity.drops.isEmpty ? .text : .sentence),
          ]
      }
        + made.map { entity in
          (isStaged ? [Page.Cell("\(entity.stage)")] : [])
            + [
              .init("\(entity.name) (made by mapping models)"), .init("", .number),
              .init("\(GroupedText(entity.objects))", .number), .init(""),
            ]
        })
    return section
  }

  private var lossSection: Page.Section? {
    guard !losses.isEmpty else { return nil }
    var section = Page.Section("Lost")
    section.lines = losses.map { Markup($0.sentence) }
    return section
  }

  private var noteSection: Page.Section? {
    let told = Set(losses.map(\.sentence))
    let notes = notes.filter { !told.contains($0) }
    guard !notes.isEmpty else { return nil }
    var section = Page.Section("Notes")
    section.lines = notes.map { Markup($0) }
    return section
  }

  /// The most entities in a picture.
  private static let mostEntities = 120

  private var modelSection: Page.Section? {
    guard let models = models?.comparison else { return nil }
    var section = Page.Section("Models")
    let entities = models.entities.map { ModelDiff.Entity($0) }
    var pairs = entities.map { entity in
      PairsPicture.Pair(
        old: entity.fate == "new" ? nil : entity.oldName ?? entity.name,
        new: entity.fate == "lost" ? nil : entity.name,
        fate: .init(rawValue: entity.fate) ?? .changed,
        note: entity.counts)
    }
    let same = models.same.prefix(max(0, Self.mostEntities - pairs.count))
    pairs += same.map { PairsPicture.Pair(old: $0, new: $0, fate: .same) }
    section.pictures = [
      PairsPicture(
        "before", "after", Array(pairs.prefix(Self.mostEntities))
      ).svg
    ]
    let left = models.same.count + entities.count - min(Self.mostEntities, pairs.count)
    if left > 0 {
      section.lines = [Markup("\(CountText(left, "entity", "entities")) more than are shown.")]
    }
    section.legend = PairsPicture.Fate.allCases.map { .init($0.rawValue, $0.rawValue) }
    if !entities.isEmpty {
      section.details = .init("All that differs", entities.flatMap(\.lines))
    }
    return section
  }

  private var tableSection: Page.Section? {
    guard let graph, !graph.tables.isEmpty else { return nil }
    var section = Page.Section("Tables and partitions")
    guard let picture = graph.picture else {
      section.lines = [Markup("\(CountText(graph.tables.count, "table")): too many for a picture.")]
      return section
    }
    section.pictures = [picture.svg]
    section.picturesAreWide = true
    section.lines = [
      Markup(
        "A box for each partition. Lines are references; those between rows of several work orders are "
          + "dashed.")
    ]
    return section
  }
}

extension PartitionGraph {
  /// The most tables in a picture.
  private static let mostTables = 300

  /// The graph as a picture, nil if it is too large for one.
  var picture: GraphPicture? {
    if tables.count > Self.mostTables { return nil }
    return GraphPicture(groups, edges: edges)
  }

  /// The graph in the language of Graphviz.
  var dot: String { GraphPicture(groups, edges: edges).dot }

  private var groups: [GraphPicture.Group] {
    Dictionary(grouping: tables, by: \.partition).sorted { $0.key < $1.key }.map { number, tables in
      let orders = Set(tables.flatMap(\.workOrders)).count
      return .init(
        "partition \(number): \(CountText(tables.reduce(0) { $0 + $1.rows }, "row")), "
          + "\(CountText(orders, "work order"))",
        tables.map { .init($0.name, note: "\(CountText($0.rows, "row")), \(ByteText($0.bytes))") })
    }
  }

  private var edges: [GraphPicture.Edge] {
    joins.map {
      .init(
        from: $0.table, to: $0.destinationTable, label: "\($0.table).\($0.column)", isCut: $0.isCut)
    }
  }
}

extension ModelDiff.Entity {
  /// How many of its parts differ, such as `2 new, 1 lost`.
  fileprivate var counts: String {
    if fate == "new" || fate == "lost" { return fate }
    let fates = ["renamed", "changed", "new", "lost"]
    let counts = fates.map { fate in (fate, parts.count { $0.fate == fate }) }
    let texts = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    return texts.isEmpty ? fate : texts.joined(separator: ", ")
  }
}

extension MigrationReport.Failure {
  /// The reasons one by one, each with its place.
  fileprivate var table: Page.Table {
    Page.Table(
      [
        .init("reason, and what to do", .sentence), .init("place"), .init("objects", .number),
        .init("keys"), .init("code", .number), .init("cause"),
      ],
      reasons.map { reason in
        [
          .init(reason.sentence, .sentence),
          .init([reason.entity, reason.property].compactMap(\.self).joined(separator: ".")),
          .init(reason.count.map { "\($0)" } ?? "", .number),
          .init(reason.keys.map { "\($0)" }.joined(separator: ", ")),
          .init(reason.coreDataCode.map { "\($0)" } ?? "", .number), .init(reason.cause),
        ]
      }, isStacked: true)
  }
}

extension MigrationReport.Outcome {
  /// How a migration ended, in words.
  fileprivate var words: String {
    switch self {
    case .migrated: "migrated"
    case .alreadyCurrent: "already has this model"
    case .finishedEarlier: "completed by an earlier run"
    case .alreadyThere: "there already"
    case .copied: "copied"
    case .refused: "refused"
    case .failed: "failed"
    case .interrupted: "interrupted"
    }
  }
}
