import Mapping
import MigrationCoordinator
import Pages

extension MigrationReceipt {
  /// The receipt as a page of HTML that needs no other file.
  func page(of report: MigrationReport) -> String {
    Page(
      generator: godwit, title: "Receipt: \(result.path)", outcome: outcome, isGood: true,
      subtitle: "\(made) · Godwit \(godwit)",
      sections: [
        storeSection("Old store", source), storeSection("New store", result),
        verificationSection, report.routeSection, valueSection, report.objectSection,
        referenceSection, lossSection, noteSection,
      ].compactMap(\.self)
    ).html
  }

  private func storeSection(_ title: String, _ store: Store) -> Page.Section {
    var section = Page.Section(title)
    let facts: [(String, String?)] = [
      ("path", store.path), ("kept as", store.keptAs),
      ("version", "\(VersionText(store.versions))"),
      ("bytes", "\(GroupedText(store.bytes))"),
      ("objects", store.objects.map { "\(GroupedText($0.values.reduce(0, +)))" }),
      ("references", store.references.map { "\(GroupedText($0.reduce(0) { $0 + $1.count }))" }),
      ("SHA-256", store.sha256), ("external files", store.externalFiles?.words),
      ("UUID", store.uuid), ("version checksum", store.versionChecksum),
    ]
    section.facts = facts.compactMap { name, value in value.map { .init(name, $0) } }
    return section
  }

  private var valueSection: Page.Section? {
    guard !values.isEmpty else { return nil }
    var section = Page.Section("Values that were set")
    section.lines = values.map { Markup($0) }
    return section
  }

  private var verificationSection: Page.Section {
    var section = Page.Section("Verification")
    section.lines = [
      Markup(verification.sentence),
      Markup(
        "\(command: .verifyReceipt) with the receipt in JSON compares a store with these hashes."),
    ]
    return section
  }

  private var referenceSection: Page.Section? {
    guard !references.isEmpty else { return nil }
    var section = Page.Section("References that went")
    section.table = Page.Table(
      [
        .init("relationship"), .init("in", .number), .init("out", .number),
        .init("dropped, and why", .sentence),
      ],
      references.map { account in
        [
          .init("\(account.entity).\(account.relationship ?? "")"),
          .init("\(GroupedText(account.in))", .number),
          .init("\(GroupedText(account.out))", .number),
          .init(
            account.dropped.map { "\(GroupedText($0.count)) \($0.cause)" }.joined(separator: ", "),
            .sentence),
        ]
      })
    return section
  }

  private var lossSection: Page.Section? {
    guard !losses.isEmpty else { return nil }
    var section = Page.Section("Lost")
    section.table = Page.Table(
      [.init("loss", .sentence), .init("allowed by", .sentence)],
      losses.map { [.init($0.sentence, .sentence), .init($0.consentWords, .sentence)] })
    return section
  }

  private var noteSection: Page.Section? {
    guard !notes.isEmpty else { return nil }
    var section = Page.Section("Notes")
    section.lines = notes.map { Markup($0) }
    return section
  }
}

extension MigrationReceipt.Files {
  fileprivate var words: String {
    "\(CountText(Int64(count), "file")), \(ByteText(bytes)), SHA-256 \(sha256)"
  }
}

extension MigrationReceipt.Loss {
  /// What allowed the loss, in words.
  fileprivate var consentWords: String {
    switch consent {
    case .named: "\(option: .allowLoss, property.map { "\(entity).\($0)" } ?? entity)"
    case .anything: "\(option: .allowLoss), of anything"
    case .choice: "the user's choice for such objects or values"
    case .model: "the new model, which lacks it"
    }
  }
}
