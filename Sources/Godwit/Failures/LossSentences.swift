import Mapping
package import MigrationCoordinator
import ObjectModel
import SystemPackage

extension MigrationFailure {
  /// Describes the losses that prevent a migration, and how to accept them.
  init(store: FilePath, refusal: LossRefusal) {
    let refused = Set(refusal.refused)
    let what =
      refusal.isForbidden
      ? "would lose data, which \(option: .failOnLoss) forbids:"
      : "would lose data without consent:"
    var sentences: [String] = []
    if refusal.directRefusals.isEmpty {
      sentences.append("\(store) \(what)")
    } else {
      sentences.append("\(store) cannot be migrated in one step:")
      sentences += refusal.directRefusals.map { "  \($0.sentence)" }
      sentences.append("The route through other versions \(what)")
    }
    sentences += refusal.losses.map { loss in
      guard refused.contains(loss) else { return "\(loss.sentence) (This is allowed.)" }
      return loss.cause == .dangling ? loss.refusalSentence : loss.sentence
    }
    if !refusal.mappings.isEmpty {
      sentences.append(
        "The route uses \(ListText(refusal.mappings)); \(option: .inferOnly) uses no mapping "
          + "models.")
    }
    if refusal.versionsBetweenKeep {
      sentences.append(
        "Intermediate versions keep the data under other names: \(option: .progressive) migrates "
          + "through them.")
    }
    if !refusal.mappings.isEmpty,
      refusal.refused.contains(where: { $0.cause == .unmappedProperty })
    {
      sentences.append(
        "In a mapping file, \"type\": \"copy\" copies the properties that an entity mapping does not "
          + "list.")
    }
    let names = Set(refusal.refused.map(\.name)).sorted()
    let some = names.prefix(5).map { "\(option: .allowLoss, $0)" }.joined(separator: " ")
    let whole =
      refusal.isForbidden
      ? refusal.isImplied
        ? "leave out \(option: .failOnLoss)"
        : "use \(option: .allowLoss) instead of \(option: .failOnLoss)"
      : "use \(option: .allowLoss)"
    sentences.append(
      "To migrate anyway, \(whole), or name the data that may be lost: "
        + "\(some)\(names.count > 5 ? " …" : "").")
    self.init(
      .impossible, kind: .lossRefused, at: store, sentences,
      reasons: refusal.refused.map { Reason(StoreMigration.Loss($0)) })
  }

  /// Describes a consent that names what does not exist.
  init(unknown names: [String], known: [String]) {
    self.init(
      .usage,
      "\(option: .allowLoss) names \(names.joined(separator: ", ")), which no version on the route "
        + "has; there \(known.count == 1 ? "is" : "are") \(ListText(known, most: 40)).")
  }

  /// Describes accounts that do not add up.
  init(_ mismatches: [AccountMismatch]) {
    self.init(
      .bug,
      ["rows that were read were neither written nor recorded as lost: nothing was replaced."]
        + mismatches.map(\.sentence))
  }

  /// Describes models without a common entity, with the version hashes of both, one per line as
  /// Core Data prints them.
  init(
    store: FilePath, hashes: [String: VersionHash], target: [FilePath],
    others: [String: VersionHash]
  ) {
    func lines(hashes: [String: VersionHash]) -> [String] {
      hashes.sorted { $0.key < $1.key }.map { "  \($0.key) = \($0.value.hexadecimal)" }
    }
    let code = CoreDataCode.persistentStoreIncompatibleVersionHash.rawValue
    self.init(
      .impossible, kind: .modelsUnrelated, at: store,
      [
        "\(store) has no entity in common with \(target.map(\.string).joined(separator: ", ")), "
          + "apparently of another app [\(code)]: name another model, or use \(option: .allowLoss) "
          + "to drop everything.",
        "the store has:",
      ] + lines(hashes: hashes) + ["the model has:"] + lines(hashes: others), code: code)
  }
}

extension Loss {
  /// The loss, its cause and how it is allowed, as a sentence.
  var refusalSentence: String {
    if cause == .dangling {
      return "\(sentence.dropLast()): use \(choice: .onDangling(.keep)) to keep them, or "
        + "\(value: StoreMigration.DanglingChoice.nullify) to set them to nil."
    }
    let other = cause == .conversion ? "\(choice: .onValue(.convert)) or " : ""
    return "\(sentence.dropLast()); to migrate anyway, use \(other)\(option: .allowLoss, name)."
  }

  /// The loss and how it is allowed, with Core Data's code, as a sentence among refusals.
  var codedSentence: String { "\(refusalSentence) [\(CoreDataCode.migration.rawValue)]" }

  /// The loss and its cause, as a sentence.
  package var sentence: String {
    let some = keys.isEmpty ? "" : " (Z_PK \(keyList))"
    switch kind {
    case .entity:
      return "\(entity): \(CountText(count, "object"))\(some) \(ofObjects)."
    case .row:
      return "\(name): \(CountText(count, "row"))\(some) \(ofRows)."
    case .index:
      return "\(name): the index is left out, \(reason ?? "which only Core Data can make")."
    case .relationship where cause == .order:
      return "\(name): the order of \(CountText(count, "object")) dropped, since no mapping reads "
        + "it: map \(property ?? name), not only its inverse."
    case .order:
      return "\(name): the order of \(CountText(count, "object")) dropped\(more), since the "
        + "relationship is not ordered."
    case .relationship where cause.isOfObjects:
      return "\(name): \(CountText(count, "reference"))\(some) dropped, \(ofReferences)."
    case .attribute:
      return "\(name): \(CountText(count, "value"))\(some) \(ofValues)."
    case .relationship:
      return "\(name): \(CountText(count, "reference"))\(some) \(ofValues)."
    }
  }

  private var keyList: String {
    keys.map { "\($0)" }.joined(separator: ", ") + (Int64(keys.count) < count ? ", …" : "")
  }

  private var ofObjects: String {
    switch cause {
    case .filter: "dropped, not selected by the filter of any mapping"
    case .policy: "dropped by a policy"
    case .unmappedEntity: "dropped, since no mapping migrates the entity, which the model has"
    case .missingReference: "dropped for lack of a mandatory reference"
    case .duplicate: "dropped as a duplicate of another one"
    case .outsideConfiguration:
      "dropped, since the configuration does not have the entity"
    default: "dropped with the entity\(more)"
    }
  }

  private var ofReferences: String {
    switch cause {
    case .filter: "to objects not selected by the filter of any mapping"
    case .policy: "to objects that a policy drops"
    case .unmappedEntity: "to objects of an entity that no mapping migrates"
    case .elsewhere: "to objects whose new entity the relationship cannot hold"
    case .collision: "since one end of the relationship is to-one and holds another object"
    case .duplicate: "to objects that were removed as duplicates"
    default: "with the objects that they lead to\(more)"
    }
  }

  private var ofRows: String {
    switch cause {
    case .missingKey: "dropped, since one of their two keys is missing"
    case .outsideModel: "dropped, since the model does not have the table"
    case .cloudKit:
      "of CloudKit's record metadata dropped, since the new model lacks the entity: iCloud keeps "
        + "the records, and the new store does not know them"
    case .history:
      "dropped, which invalidates the tokens of widgets, extensions and other readers of the "
        + "history"
    case .unknownEntity where entity != Loss.historyName:
      "dropped, since their entity number (Z_ENT) is of no entity in that table"
    default: "dropped, since the model does not have their entity"
    }
  }

  private var ofValues: String {
    if let reason { return reason }
    return switch cause {
    case .unmappedProperty:
      "dropped, since no mapping reads the property, which the model has"
    case .unmappedPair:
      "dropped, since mappings with onePer make objects of other pairs of the relationship, and of "
        + "none of these"
    case .outsideModel: "dropped, since the model does not have the column"
    case .unknownReference:
      "kept without the entity number next to the key, since the relationship cannot lead to that "
        + "entity"
    case .dangling:
      "to objects that do not exist"
    case .severalObjects: "dropped after the first one of an object"
    case .conversion: "changed, since the new type cannot hold \(count == 1 ? "it" : "them")"
    default: "dropped\(more)"
    }
  }

  private var more: String {
    switch cause {
    case .allObjects: ", and with them all data of the store"
    case .detour: ", since a version on the route lacks it"
    case .downgrade: ", since the older version lacks it"
    case .lastCopy: ", and \(option: .discardOld) removes the last copy"
    default: ""
    }
  }
}

extension AccountMismatch {
  /// The two counts, as a sentence.
  package var sentence: String {
    switch side {
    case .table: "\(name): \(CountText(expected, "row")) in the store, \(GroupedText(found)) read."
    case .source:
      "\(name): \(CountText(expected, "object")) in, \(GroupedText(found)) out or dropped."
    case .mapping: "\(name): \(CountText(expected, "object")) taken, \(GroupedText(found)) made."
    case .destination:
      "\(name): \(CountText(expected, "object")) made, \(CountText(found, "row")) written."
    case .reference:
      "\(name): \(CountText(expected, "reference")) kept, \(GroupedText(found)) in the result."
    }
  }
}

extension StageAccounts.OfEntity {
  /// The objects of the entity, those migrated and those dropped, as a sentence.
  package var sentence: String {
    "\(entity): \(CountText(rowsIn, "object")) in, \(GroupedText(rowsOut)) kept"
      + drops.map { ", \($0)" }.joined() + "."
  }

  /// How many objects were dropped, and why, such as `10 taken by no filter`.
  var drops: [String] { dropped.map { "\(GroupedText($0.objects)) \($0.cause.words($0.objects))" } }
}

extension LossCause {
  /// Whether references go for what becomes of their objects, and not of the relationship.
  fileprivate var isOfObjects: Bool {
    switch self {
    case .filter, .policy, .unmappedEntity, .elsewhere, .collision, .duplicate: true
    default: false
    }
  }

  /// What happened to objects, to follow their number.
  fileprivate func words(_ count: Int64) -> String {
    switch self {
    case .filter: "selected by no filter"
    case .policy: "dropped by a policy"
    case .unmappedEntity: "of no mapping"
    case .outsideConfiguration: "outside the configuration"
    case .duplicate: count == 1 ? "removed as a duplicate" : "removed as duplicates"
    case .missingReference: "without a mandatory reference"
    default: "dropped with the entity"
    }
  }
}
