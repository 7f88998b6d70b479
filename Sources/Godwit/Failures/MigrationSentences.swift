import Mapping
import MigrationCoordinator
import ObjectModel
import Planning
import Survey
import SystemPackage

extension MigrationFailure {
  init(_ error: MigrationError) {
    switch error {
    case .sourceModelMissing(let store, let searched, let unreadable):
      self.init(sourceModelOf: store, searched: searched, unreadable: unreadable)
    case .joinTableUnknown(let text): self.init(joinTable: text)
    case .settingUnreadable(let text, let problem): self.init(setting: text, problem)
    case .settingUnknown(let names, let model): self.init(unknownSettings: names, target: model)
    case .unsupported(let store, let features, let extras):
      self.init(
        .impossible, kind: .storeUnsupported, at: store,
        (features.map(\.sentence) + extras.map(\.sentence)).map { "\(store) \($0)" },
        reasons: features.map { Reason($0) } + extras.map { Reason($0) })
    case .extrasForbidden(let store, let extras):
      let dropping = "\(choice: .extraTables(.drop)) leaves it out."
      self.init(
        .impossible, kind: .lossRefused, at: store,
        ["\(store) would lose data, which \(option: .failOnLoss) forbids:"]
          + extras.map { "It \($0.explanation.fact): \(dropping)" },
        reasons: extras.map { Reason($0) })
    case .impossible(let store, let refusals, let losses):
      self.init(
        what: "\(store) cannot be migrated", store: store, refusals: refusals, losses: losses)
    case .stepImpossible(let store, let from, let to, let refusals, let losses):
      self.init(
        what: "\(store) cannot be migrated\(VersionSpan(from, to)), a step of its route,",
        store: store, refusals: refusals, losses: losses)
    case .routeMissing(let store, let gaps, let unknown, let infers):
      self.init(store: store, gaps: gaps, unknown: unknown, infers: infers)
    case .versionNameUnknown(let name, let available):
      self.init(unknownVersion: name, available: available)
    case .versionOrderUnknown(let versions): self.init(unorderedVersions: versions)
    case .mappingsUnreadable(let files): self.init(unreadable: files)
    case .noMappingFits(let folders, let unused):
      self.init(
        mapping: "no mapping model in \(ListText(folders)) fits two known versions",
        unused.map { "\($0.name): \($0.reason.sentence)." })
    case .mappingMismatch(let path, let mismatches):
      self.init(
        mapping: "\(path) was not made for these versions", at: path, mismatches.map(\.sentence),
        reasons: mismatches.map { Reason(mapping: $0.sentence, entity: $0.entity) })
    case .mappingElsewhere(let path, let from, let to):
      self.init(mapping: path, madeFor: VersionSpan(from, to))
    case .mappingProblems(let files, let problems):
      self.init(
        .impossible, kind: .mappingModelUnusable, at: files.first,
        ["\(ListText(files)) cannot be used:"] + problems.map(\.sentence),
        reasons: problems.map { Reason(mapping: $0.sentence, property: $0.property) })
    case .mappingSet(let problems):
      self.init(
        mapping: "the mapping models do not make one migration", problems.map(\.sentence),
        reasons: problems.map { Reason(mapping: $0.sentence) })
    case .losses(let store, let refusal): self.init(store: store, refusal: refusal)
    case .consentUnknown(let names, let known): self.init(unknown: names, known: known)
    case .foreignModel(let store, let hashes, let target, let others):
      self.init(store: store, hashes: hashes, target: target, others: others)
    case .accountsDiffer(let mismatches): self.init(mismatches)
    case .interrupted: self.init(.interrupted, "interrupted: \(Self.goesOn).")
    }
  }
}

extension MigrationFailure {
  /// Describes the reasons that rule out a migration or a step.
  fileprivate init(what: String, store: FilePath, refusals: [Refusal], losses: [Loss]) {
    let reasons = refusals.map { Reason($0) } + losses.map { Reason(refused: $0) }
    let count = reasons.count == 1 ? "one reason" : "\(reasons.count) reasons"
    let start =
      refusals.contains(where: \.reason.isLiftedByMapping)
      ? [
        "\(command: .draftMapping) writes a mapping model to start from."
      ]
      : []
    self.init(
      .impossible, at: store, ["\(what) for \(count):"] + reasons.map(\.description) + start,
      reasons: reasons, code: reasons.first?.coreDataCode)
  }

  /// Describes what is wrong with mapping models.
  fileprivate init(
    mapping what: String, at file: FilePath? = nil, _ sentences: [String], reasons: [Reason] = []
  ) {
    self.init(
      .impossible, kind: .mappingModelUnusable, at: file, ["\(what):"] + sentences,
      reasons: reasons, code: CoreDataCode.migrationMissingMappingModel.rawValue)
  }

  /// Describes mapping models that cannot be read.
  fileprivate init(unreadable files: [UnreadableMapping]) {
    self.init(
      mapping: "mapping models that may be meant for this migration cannot be read",
      at: files.first?.path,
      files.map { "\($0.path): \(MigrationFailure($0.error).description)" } + [
        "Repair or remove them, or use no mapping models with \(option: .inferOnly)."
      ])
  }

  /// Describes a mapping model of other versions than those on the way.
  fileprivate init(mapping path: FilePath, madeFor span: VersionSpan) {
    let versions = "\(span)"
    self.init(
      mapping: "\(path) fits no step of this migration", at: path,
      [
        "It was made for the migration\(versions.isEmpty ? " between other versions" : versions): "
          + "leave it out, or name these versions with \(option: .target) and \(option: .models)."
      ])
  }

  /// Describes a name that no version has.
  fileprivate init(unknownVersion name: String, available: [String]) {
    self.init(
      .usage,
      "\(option: .order) names \(name), which is not one of the known versions: "
        + "\(ListText(available, most: 40)).")
  }

  /// Describes versions without a known order.
  fileprivate init(unorderedVersions versions: [[String]]) {
    self.init(
      .usage,
      "neither identifiers nor names show the order of the versions "
        + "(\(versions.map { "\(VersionText($0))" }.joined(separator: ", "))): list them, oldest "
        + "first, with \(option: .order).")
  }

  /// Describes a missing route to the target.
  fileprivate init(
    store: FilePath, gaps: [RouteError.Gap], unknown: [MigrationRoute.Unused], infers: Bool
  ) {
    var sentences = ["\(store): there is no route from its version to the target version:"]
    for gap in gaps {
      sentences.append(
        "\(VersionSpan(gap.source, gap.destination).words) there is no mapping model, and "
          + "\(infers ? "none can be inferred" : "\(option: .noInfer) forbids inference") "
          + "[\(CoreDataCode.migrationMissingMappingModel.rawValue)]\(infers ? ":" : ".")"
      )
      sentences += gap.refusals.map { "  \($0.sentence)" }
    }
    for mapping in unknown {
      sentences.append("\(mapping.name) was not used: \(mapping.reason.sentence).")
    }
    self.init(
      .impossible, kind: .mappingModelMissing, at: store, sentences,
      reasons: gaps.flatMap(\.refusals).map { Reason($0) },
      code: CoreDataCode.migrationMissingMappingModel.rawValue)
  }
}

extension WorkFolderFault {
  /// The rest of a sentence that begins with the folder.
  var sentence: String {
    let advice = "move it, or name another work folder with \(option: .work)"
    return switch self {
    case .noFolder: "is not a folder, and a work folder of that name is needed; \(advice)"
    case .link: "is a link, and a work folder of that name is needed; \(advice)"
    case .otherOwner: "belongs to another user, and is not trusted; \(advice)"
    case .unmarked(let name):
      "is not a work folder of Godwit (it contains \(name)); \(advice)"
    case .otherFormat(let format):
      "is a work folder of another version of Godwit (format \(format)); finish with that version, "
        + "or \(advice)"
    case .otherDestination(let destination):
      "is the work folder of another migration, to \(destination); \(advice)"
    }
  }
}

/// A version by all its names.
package struct VersionText: CustomStringConvertible {
  private let names: [String]

  /// Takes the names; there may be none.
  package init(_ names: [String]) { self.names = names }

  /// The names with equals signs between them.
  package var description: String {
    names.isEmpty ? "a version without a name" : names.joined(separator: " = ")
  }
}

/// The versions at both ends of a migration, as a part of a sentence.
package struct VersionSpan: CustomStringConvertible {
  private let from, to: [String]

  /// Takes the names of both versions; there may be none.
  package init(_ from: [String], _ to: [String]) { (self.from, self.to) = (from, to) }

  /// The versions that have a name; nil where neither has one.
  private var named: String? {
    switch (from.isEmpty, to.isEmpty) {
    case (true, true): nil
    case (true, false): "to \(VersionText(to))"
    case (false, true): "from \(VersionText(from))"
    case (false, false):
      "from \(VersionText(from)) to \(from == to ? "another " : "")\(VersionText(to))"
    }
  }

  /// The versions with a space before them; nothing where neither has a name.
  package var description: String { named.map { " \($0)" } ?? "" }

  /// Both versions, also where one has no name: `from (unnamed version) to Shop 2`.
  package var whole: String {
    if let named, !from.isEmpty, !to.isEmpty { return named }
    func name(_ names: [String]) -> String {
      names.isEmpty ? "(unnamed version)" : "\(VersionText(names))"
    }
    return "from \(name(from)) to \(name(to))"
  }

  /// The versions at the beginning of a sentence; "between the two versions" where neither has a
  /// name.
  var words: String { named ?? "between the two versions" }
}

extension UnsupportedFeature {
  /// The rest of a sentence that begins with the store.
  package var sentence: String {
    switch self {
    case .persistentHistory:
      "has persistent history, which this version cannot migrate."
    case .deferredMigration:
      "has a lightweight migration that Core Data has partly deferred: open it once with an app "
        + "that finishes the migration (finishDeferredLightweightMigration)."
    case .historyOfOtherModel:
      "has persistent history, but its embedded model does not match its version hashes: open it "
        + "once with the app, or use \(choice: .history(.drop))."
    case .cloudKitMirroring:
      "is mirrored with CloudKit, and migrating CloudKit's tables is untested on real stores: use "
        + "\(choice: .cloudKit(.carry)) to carry them over as documented "
        + "(docs/how-to/cloudkit.md), and keep the old store."
    }
  }
}

extension ExtraEntry {
  /// The rest of a sentence that begins with the store.
  package var sentence: String { explanation.sentence(joinedBy: ":") }

  var explanation: Explanation {
    let leaving = "use \(choice: .extraTables(.drop)) to leave it out"
    return switch kind {
    case .table:
      if let conflict {
        Explanation(
          "has the table \(name) with \(CountText(rows, "row"))"
            + "\(conflict.index.map { " and the index \($0)" } ?? ""), a name that the new store "
            + "needs for the entity \(conflict.entity)",
          advice: "rename it, or \(leaving)")
      } else if let numberColumn {
        Explanation(
          "has the table \(name) with \(CountText(rows, "row")), which is not part of the model "
            + "and may hold entity numbers in \(numberColumn)",
          advice: leaving)
      } else {
        Explanation(
          "has the table \(name) with \(CountText(rows, "row")), which is not part of the model",
          advice: "use \(choice: .extraTables(.keep)) to copy it as it is, or "
            + "\(value: StoreMigration.ExtraTableChoice.drop) to leave it out")
      }
    case .virtualTable:
      Explanation(
        "has the virtual table \(name), which cannot be carried over",
        advice: leaving)
    case .column:
      Explanation(
        "has the column \(name) with \(CountText(rows, "value")), which is not part of the model",
        advice: leaving)
    case .generatedColumn:
      Explanation(
        "has the generated column \(name), which is not part of the model",
        advice: leaving)
    case .index:
      Explanation(
        "has the index \(name), which Core Data does not make",
        advice: leaving)
    case .view:
      Explanation(
        "has the view \(name), which is not part of the model",
        advice: leaving)
    case .trigger:
      Explanation(
        "has the trigger \(name), of an unknown kind",
        advice: leaving)
    }
  }
}

/// A number of bytes for people, such as `1.5 GiB`.
package struct ByteText: CustomStringConvertible {
  private let bytes: Int64

  /// Takes a number of bytes.
  package init(_ bytes: Int64) { self.bytes = bytes }

  /// The number with one decimal and its binary unit.
  package var description: String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    var value = Double(bytes)
    var unit = 0
    while value >= 1024 && unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    if unit == 0 { return "\(CountText(bytes, "byte"))" }
    let tenths = Int64((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
