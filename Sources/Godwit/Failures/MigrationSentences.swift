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
        .impossible,
        (features.map(\.sentence) + extras.map(\.sentence)).map { "\(store) \($0)" })
    case .impossible(let store, let refusals):
      self.init(what: "\(store) cannot be migrated", refusals: refusals)
    case .stepImpossible(let store, let from, let to, let refusals):
      self.init(
        what:
          "\(store) cannot be migrated\(VersionSpan(from, to)), one of the steps on its way,",
        refusals: refusals)
    case .routeMissing(let store, let gaps, let unknown, let infers):
      self.init(store: store, gaps: gaps, unknown: unknown, infers: infers)
    case .mappingsUnreadable(let files):
      self.init(unreadable: files)
    case .versionNameUnknown(let name, let available):
      self.init(
        .usage,
        "\(option: .order) names \(name), and the versions that are known are "
          + "\(ListText(available, most: 40)).")
    case .versionOrderUnknown(let versions):
      self.init(
        .usage,
        "neither the identifiers nor the names of the versions tell in which order they followed "
          + "each other (\(versions.map { "\(VersionText($0))" }.joined(separator: ", "))): name "
          + "them in their order with \(option: .order).")
    case .noMappingFits(let folders, let unused):
      self.init(
        mapping: "no mapping model in \(ListText(folders)) fits any two versions that are known",
        sentences: unused.map { "\($0.name): \($0.reason.sentence)." })
    case .mappingMismatch(let path, let mismatches):
      self.init(
        mapping: "\(path) was not made for these versions", sentences: mismatches.map(\.sentence))
    case .mappingElsewhere(let path, let from, let to):
      self.init(mapping: path, madeFor: VersionSpan(from, to))
    case .mappingProblems(let files, let problems):
      self.init(
        .impossible,
        ["\(ListText(files)) cannot be carried out:"]
          + problems.map(\.sentence))
    case .mappingSet(let problems):
      self.init(
        mapping: "the mapping models do not make one migration", sentences: problems.map(\.sentence)
      )
    case .losses(let store, let refusal): self.init(store: store, refusal: refusal)
    case .consentUnknown(let names, let known): self.init(unknown: names, known: known)
    case .foreignModel(let store, let hashes, let target, let others):
      self.init(store: store, hashes: hashes, target: target, others: others)
    case .accountsDiffer(let mismatches): self.init(mismatches)
    case .alreadyRunning, .outputExists, .folderNotWritable, .workFolderForeign, .diskFull,
      .nameTooLong, .keptListUnreadable, .otherRun, .nothingKept, .keptChanged:
      self.init(place: error)
    case .workOrderFailed, .workerNotStarted, .workerForeign, .workersDoubled, .outputEndless,
      .shardUnseen, .manifestForeign, .manifestUnreadable, .verificationFailed, .resultDamaged:
      self.init(work: error)
    case .interrupted:
      self.init(.interrupted, "interrupted: \(Self.goesOn).")
    }
  }
}

extension MigrationFailure {
  /// Describes the reasons that rule out a migration or a step.
  fileprivate init(what: String, refusals: [Refusal]) {
    let count = refusals.count == 1 ? "one reason" : "\(refusals.count) reasons"
    let start =
      refusals.contains(where: \.reason.isLiftedByMapping)
      ? [
        "\(command: .draftMapping) writes a mapping model to start from."
      ]
      : []
    self.init(
      .impossible, ["\(what) for \(count):"] + refusals.map(\.sentence) + start,
      code: refusals.first?.code.rawValue)
  }

  /// Describes what is wrong with mapping models.
  fileprivate init(mapping what: String, sentences: [String]) {
    self.init(
      .impossible, ["\(what):"] + sentences,
      code: CoreDataCode.migrationMissingMappingModel.rawValue)
  }

  /// Describes mapping models that cannot be read.
  fileprivate init(unreadable files: [UnreadableMapping]) {
    self.init(
      mapping: "mapping models that may be meant for this migration cannot be read",
      sentences: files.map { "\($0.path): \(MigrationFailure($0.error).description)" } + [
        "Mend them, move them away, or use no mapping models at all with \(option: .inferOnly)."
      ])
  }

  /// Describes a mapping model of other versions than those on the way.
  fileprivate init(mapping path: FilePath, madeFor span: VersionSpan) {
    let versions = "\(span)"
    self.init(
      mapping: "\(path) fits no step of this migration",
      sentences: [
        "It is for the migration\(versions.isEmpty ? " between other versions" : versions): "
          + "leave it out, or name these versions with \(option: .target) and \(option: .models)."
      ])
  }

  /// Describes a missing route to the target.
  fileprivate init(
    store: FilePath, gaps: [RouteError.Gap], unknown: [MigrationRoute.Unused], infers: Bool
  ) {
    var sentences = ["\(store): no way leads from its version to the target's:"]
    for gap in gaps {
      sentences.append(
        "\(VersionSpan(gap.source, gap.destination).words) there is no mapping model, and "
          + "\(infers ? "none can be inferred" : "\(option: .noInfer) forbids to infer one") "
          + "[\(CoreDataCode.migrationMissingMappingModel.rawValue)]\(infers ? ":" : ".")"
      )
      sentences += gap.refusals.map { "  \($0.sentence)" }
    }
    for mapping in unknown {
      sentences.append("\(mapping.name) was left aside: \(mapping.reason.sentence).")
    }
    self.init(
      .impossible, sentences, code: CoreDataCode.migrationMissingMappingModel.rawValue)
  }
}

extension WorkFolderFault {
  /// The rest of a sentence that begins with the folder.
  var sentence: String {
    let advice = "move it away, or name another folder to work in with \(option: .work)"
    return switch self {
    case .noFolder: "is no folder, and a work folder of that name is needed; \(advice)"
    case .link: "is a link, and a work folder of that name is needed; \(advice)"
    case .otherOwner: "belongs to another user, who may have made it for us; \(advice)"
    case .unmarked(let name):
      "is not a work folder that Godwit made (it holds \(name)); \(advice)"
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

  /// The versions with a space before them; nothing where neither has a name.
  package var description: String {
    switch (from.isEmpty, to.isEmpty) {
    case (true, true): ""
    case (true, false): " to \(VersionText(to))"
    case (false, true): " from \(VersionText(from))"
    case (false, false): " from \(VersionText(from)) to \(VersionText(to))"
    }
  }

  /// The versions at the beginning of a sentence; "between the two versions" where neither has a
  /// name.
  var words: String {
    let text = description
    return text.isEmpty ? "between the two versions" : String(text.dropFirst())
  }
}

extension UnsupportedFeature {
  /// The rest of a sentence that begins with the store.
  package var sentence: String {
    switch self {
    case .persistentHistory:
      "has persistent history, which this version cannot carry over: it is refused, not dropped."
    case .deferredMigration:
      "has a lightweight migration that Core Data has put off in part: open it once with the app, "
        + "and have it finish the migration (finishDeferredLightweightMigration)."
    case .historyOfOtherModel:
      "has persistent history, and carries another model than its version hashes say, so that what "
        + "the changes name is uncertain: open it once with the app, or use "
        + "\(choice: .history(.drop))."
    case .cloudKitMirroring:
      "is mirrored with CloudKit, and no real store was available to prove what a migration has to "
        + "do with its tables; were its record metadata dropped, every object would be uploaded "
        + "again as a duplicate: use \(choice: .cloudKit(.carry)) to carry them over by what is "
        + "documented "
        + "(docs/how-to/cloudkit.md), and keep the old store."
    }
  }
}

/// What is so, and what to do about it, of which a sentence is made.
struct Explanation: Hashable {
  var fact: String
  /// nil where the fact says it, or where nothing can be done.
  var advice: String?

  /// Takes both parts, without the full stop of a sentence.
  init(_ fact: String, advice: String? = nil) { (self.fact, self.advice) = (fact, advice) }

  /// Both parts, with a mark between them and a full stop.
  func sentence(joinedBy mark: String) -> String {
    fact + (advice.map { "\(mark) \($0)" } ?? "") + "."
  }
}

extension ExtraEntry {
  /// The rest of a sentence that begins with the store.
  package var sentence: String { explanation.sentence(joinedBy: ":") }

  var explanation: Explanation {
    let leaving = "use \(choice: .extraTables(.drop)) to leave it behind"
    return switch kind {
    case .table:
      if let numberColumn {
        Explanation(
          "has the table \(name) with \(CountText(rows, "row")), which is none of the model's and "
            + "may hold entity numbers in \(numberColumn)",
          advice: leaving)
      } else {
        Explanation(
          "has the table \(name) with \(CountText(rows, "row")), which is none of the model's",
          advice: "use \(choice: .extraTables(.keep)) to copy it "
            + "as it is, or \(value: StoreMigration.ExtraTableChoice.drop) to leave it behind")
      }
    case .virtualTable:
      Explanation(
        "has the virtual table \(name), which cannot be carried over",
        advice: leaving)
    case .column:
      Explanation(
        "has the column \(name) with \(CountText(rows, "value")), which is none of the model's",
        advice: leaving)
    case .view:
      Explanation(
        "has the view \(name), which is none of the model's",
        advice: leaving)
    case .trigger:
      Explanation(
        "has the trigger \(name), of a kind that is not known",
        advice: leaving)
    }
  }
}

extension Refusal {
  /// The place, the reason and what to do, and Core Data's code, as a sentence.
  package var sentence: String {
    if let loss = Loss(self) { return "\(loss.refusalSentence) [\(code.rawValue)]" }
    var place = [entity, property].compactMap(\.self).joined(separator: ".")
    let text: String
    if case .mirroring(let obstacle) = reason {
      if case .option = obstacle {
        place = "\(choice: .cloudKit(.carry))"
      }
      text = obstacle.sentence
    } else {
      text = explanation.sentence(joinedBy: ";")
    }
    return "\(place): \(text) [\(code.rawValue)]"
  }

  /// The reason and what to do; of CloudKit and of losses, whose sentences are their own, nothing.
  var explanation: Explanation {
    switch reason {
    case .incompatibleTypes(let source, let destination):
      Explanation(
        "source and destination attribute types are incompatible (\(source), \(destination))",
        advice: "use a mapping model, \(textReading(source, destination))or give the attribute a "
          + "new name")
    case .attributeBecameRelationship:
      Explanation(
        "an attribute became a relationship",
        advice: "use a mapping model, or give one a new name")
    case .relationshipBecameAttribute:
      Explanation(
        "a relationship became an attribute",
        advice: "use a mapping model, or give one a new name")
    case .destinationEntityChanged(let source, let destination) where source == destination:
      Explanation(
        "the entity \(destination), to which it leads, does not continue the one of that name before",
        advice: "use a mapping model")
    case .destinationEntityChanged(let source, let destination):
      Explanation(
        "its destination changed from \(source) to \(destination)", advice: "use a mapping model")
    case .hierarchiesMerged(let roots):
      Explanation(
        "\(roots.joined(separator: " and ")) would share one table and their keys would clash",
        advice: "use a mapping model")
    case .derivationCannotBeComputed:
      Explanation(
        "it is new, or derived otherwise than before, in a form that only Core Data can compute",
        advice: "leave it out for now")
    case .triggerCannotBeKept(let name):
      Explanation(
        "the trigger \(name) keeps it in a form that only Core Data knows, and something that the "
          + "trigger names changes",
        advice: "leave the attribute or the change out for now")
    case .renamingAmbiguous(let identifier, let sources, let destinations):
      Explanation(
        "the renaming identifier \(identifier) joins \(sources.joined(separator: " and ")) with "
          + "\(destinations.joined(separator: " and ")), and nothing tells which becomes which",
        advice: "give each an identifier of its own, or use a mapping model")
    case .storedFormUnknown(let form):
      Explanation("\(form) has no known stored form", advice: "leave it out for now")
    case .condition(let demand, let count, let keys):
      explanation(of: demand, count: count, keys: keys)
    case .externalFiles(let fault, let count, let keys, let names):
      Self.explanation(
        of: fault, values: Self.objects(count: count, keys: keys), names: names, count: count)
    case .relationshipForm:
      Explanation(
        "its objects are kept in a form from which this one cannot be made",
        advice: "use a mapping model")
    case .mirroring, .loss: Explanation("")
    }
  }

  /// So many objects, with their first keys.
  private static func objects(count: Int64, keys: [Int64]) -> String {
    let list = keys.map { "\($0)" }.joined(separator: ", ")
    return "\(CountText(count, "object")) "
      + "(Z_PK \(list)\(Int64(keys.count) < count ? ", …" : ""))"
  }

  /// The option that reads a value out of a text, where there is a function for it.
  private func textReading(_ source: String, _ destination: String) -> String {
    guard source == "String" else { return "" }
    let value = "$source.\(property ?? "ATTRIBUTE")"
    let name = "\(entity).\(property ?? "")"
    return switch destination {
    case "Date":
      "\(option: .set, "\(name)=date(\(value), \"yyyy-MM-dd\")") with the format of the "
        + "texts, "
    case "Binary": "\(option: .set, "\(name)=data(\(value), \"base64\")"), "
    default: ""
    }
  }

  /// An expression that leaves values alone and gives others where there are none.
  private static func keepingOthers(_ attribute: String, _ source: String) -> String {
    "\(attribute)=TERNARY($source.\(source) == nil, EXPRESSION, $source.\(source))"
  }

  /// The option that gives objects a value.
  private func setting(_ property: String?) -> String {
    "use \(option: .set, "\(entity).\(property ?? "ATTRIBUTE")=EXPRESSION")"
  }

  /// How the model gives objects a value, or what else it may say.
  private func remedy(orElse other: String) -> String {
    // An element has no default but that of its composite, which the app's code gives.
    property.map { Attribute.isElement(name: $0) } == true
      ? "use a mapping model, or make its composite attribute optional"
      : "give it a default value or \(other)"
  }

  /// The option that gives objects without a value in a source attribute one of their own.
  private func setting(_ property: String?, inPlaceOfNilOf source: String) -> String {
    let expression = Self.keepingOthers("\(entity).\(property ?? "ATTRIBUTE")", source)
    return "give each a value of its own and leave the others theirs: use "
      + "\(option: .set, expression), \(Self.identifiers)"
  }

  /// The expressions that are different for each object.
  private static let identifiers =
    "such as uuid() for a UUID and CAST(uuid(), \"NSString\") for a text"

  private static func explanation(
    of fault: ExternalFileFault, values: String, names: [String], count: Int64
  ) -> Explanation {
    let some = names.joined(separator: ", ") + (Int64(names.count) < count ? ", …" : "")
    return switch fault {
    case .missing:
      Explanation(
        "\(values) whose external files are missing (\(some))",
        advice: "put them back, or use \(choice: .onValue(.null))")
    case .foreign:
      Explanation(
        "\(values) of whose external files each is a link or no regular file (\(some)), and nothing "
          + "is read from elsewhere", advice: "put the files themselves there")
    case .unreadable:
      Explanation(
        "\(values) whose external files cannot be read (\(some))",
        advice: "permit reading them, or put back files that can be read")
    }
  }

  private func explanation(
    of demand: Condition.Demand, count: Int64, keys: [Int64]
  ) -> Explanation {
    let objects = "\(CountText(count, "object"))"
    let some = Self.objects(count: count, keys: keys)
    return switch demand {
    case .noObjects(_, isUnique: true):
      Explanation(
        "mandatory, without a default, and new: \(objects) would lack it, and it has to be unique",
        advice: "make it optional, or give each a value of its own: \(setting(property)), "
          + Self.identifiers)
    case .noObjects:
      Explanation(
        "mandatory, without a default, and new: \(objects) would lack it",
        advice: "\(remedy(orElse: "make it optional")), or \(setting(property))")
    case .noObjectsLeftNil:
      Explanation(
        "mandatory, without a default, and the mapping model gives \(objects) no value",
        advice: "fill in an expression, or \(setting(property))")
    case .noObjectsForDefault(let form):
      Explanation(
        "new, and its default value (\(form)) cannot be put into \(objects)",
        advice: "remove the default, or \(setting(property))")
    case .noObjectsOfAbstract:
      Explanation(
        "abstract now, and the store has \(some) of it", advice: "use a mapping model")
    case .noMissingValues(let source, isUnique: true):
      Explanation(
        "mandatory now, without a default, and missing in \(some), and it has to be unique",
        advice: "keep it optional, or \(setting(property, inPlaceOfNilOf: source))")
    case .noMissingValues:
      Explanation(
        "mandatory now, without a default, and missing in \(some)",
        advice: "\(remedy(orElse: "keep it optional")), or \(setting(property))")
    case .noMissingReferences:
      Explanation(
        "mandatory, and \(some) would have no object there",
        advice: "make it optional, fill it by a mapping model, or use \(choice: .onMissing(.drop))")
    case .valuesFit(_, let type):
      Explanation(
        "\(some) with values that do not fit \(type)",
        advice: "choose a wider type, or use \(choice: .onValue(.null))")
    case .unique(let properties):
      Explanation(
        "\(some) break its uniqueness constraint (\(properties.joined(separator: ", ")))",
        advice: "remove the duplicates first, or use "
          + "\(choice: .onDuplicate(.keepFirst)), "
          + "\(value: StoreMigration.DuplicateChoice.keepLast) "
          + "or \(value: StoreMigration.DuplicateChoice.merge)")
    case .defaultsDiffer(let properties, let source?):
      Explanation(
        "\(objects) would get the same default value of \(properties.joined(separator: ", ")) in the "
          + "place of nil, and it has to be unique",
        advice: setting(properties[0], inPlaceOfNilOf: source))
    case .defaultsDiffer(let properties, nil):
      Explanation(
        "\(objects) would get the same default value of \(properties.joined(separator: ", ")), and "
          + "it has to be unique",
        advice: "give each a value of its own: \(setting(properties.first)), \(Self.identifiers)")
    case .singleObject:
      Explanation(
        "to-one now, and \(some) would keep one of several objects",
        advice: "use \(choice: .onMany(.first)) to keep the first "
          + "one, or use a mapping model")
    case .singleOwner:
      Explanation(
        "\(some) share an object, and each may have one owner now",
        advice: "use a mapping model")
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
