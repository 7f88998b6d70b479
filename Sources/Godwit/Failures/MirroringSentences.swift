import Mapping
import MigrationCoordinator

extension MirroringObstacle {
  /// What stands against carrying CloudKit mirroring over, and what to do.
  package var sentence: String {
    switch self {
    case .changed(let change): change.sentence
    case .valuesChanged:
      "a mapping model changes its values, and CloudKit learns of changes only from the history: "
        + "migrate by inference, and change values in the app."
    case .objectsLeftOut:
      "no mapping migrates its objects, so their records in iCloud would lead nowhere: migrate all "
        + "objects."
    case .historyEmptied:
      "makes objects one by one, which empties the history that CloudKit mirroring relies on: "
        + "migrate by inference, and change values in the app."
    case .unknownForm:
      "a table of CloudKit's record metadata in an unknown form (docs/how-to/cloudkit.md): it "
        + "cannot be migrated."
    case .notCopied:
      "an unknown view, trigger or virtual table of CloudKit mirroring: remove it in a copy of the "
        + "store."
    case .mayHoldNumbers(let count):
      "\(CountText(count, "value")) that may be entity numbers, which would change "
        + "(docs/how-to/cloudkit.md): give new entities names that sort after the old ones."
    case .leadsToRecords(let count):
      "\(CountText(count, "value")) that lead\(count == 1 ? "s" : "") to record metadata of "
        + "removed entities, and the right treatment is not known: keep the entities."
    case .option(let option):
      "\(choice: option) removes data that CloudKit mirroring relies on: leave out one of the two."
    }
  }
}

extension [StageAccounts.OfTable] {
  /// The carried over parts of CloudKit mirroring, and what is untested.
  var mirroringNote: String {
    let (before, after) = (reduce(0) { $0 + $1.rowsIn }, reduce(0) { $0 + $1.rowsOut })
    return "CloudKit mirroring: \(CountText(count, "table")) with \(GroupedText(after)) "
      + (before == after ? "" : "of \(GroupedText(before)) ")
      + "rows to carry over, which is untested on real stores (docs/how-to/cloudkit.md): keep the "
      + "old store."
  }
}

extension MirroringObstacle.Change {
  /// What iCloud's schema does not follow, and what to do.
  fileprivate var sentence: String {
    switch self {
    case .entityRenamed(let name):
      "mirrored with CloudKit, and renamed to \(name): iCloud keeps the records of the old name; "
        + "keep the name."
    case .superentityChanged:
      "mirrored with CloudKit, and its superentity changes: keep it."
    case .entityBecameAbstract:
      "mirrored with CloudKit, and abstract now: keep it as it is."
    case .propertyRemoved:
      "mirrored with CloudKit, and removed: iCloud never removes a field; keep it, even if unused."
    case .propertyRenamed(let name):
      "mirrored with CloudKit, and renamed to \(name): iCloud keeps the field of the old name; keep "
        + "it, and add the other as a new one."
    case .typeChanged(let source, let destination):
      "mirrored with CloudKit, and its type changes (\(source), \(destination)): iCloud never "
        + "changes a field; keep it, and add another attribute."
    case .relationshipChanged:
      "mirrored with CloudKit, and leads to other objects: keep it, and add another relationship."
    case .ordered:
      "ordered, which CloudKit does not mirror: leave out the order."
    case .constraint(let properties):
      "a uniqueness constraint over \(properties.joined(separator: ", ")), which CloudKit does not "
        + "keep: leave it out."
    case .mandatory:
      "mandatory without a default value, which CloudKit does not keep: make it optional, or give it "
        + "a default value."
    case .encryption:
      "mirrored with CloudKit, and its encryption changes, which iCloud does not allow: keep it as "
        + "it is."
    }
  }
}
