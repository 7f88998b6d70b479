import Mapping

extension VersionLock.Problem {
  /// The most edits that a sentence names.
  private static let mostEdits = 12

  static func sentence(
    _ kind: Kind, _ version: String, others: [String], edits: [String]
  ) -> String {
    switch kind {
    case .edited:
      "\(version) was edited after its release: \(ListText(edits, most: mostEdits)). Stores of "
        + "this version would find no model: undo the edit, and make it in a new version."
    case .renamingIdentifier:
      "\(version) has other renaming identifiers than at its release: "
        + "\(ListText(edits, most: mostEdits)). No hash covers them, but migrations from and to this "
        + "version may drop values: undo the edit."
    case .renamed:
      "\(version) is named \(ListText(others)) now. Its hashes are the same, so stores still find "
        + "their model. \(command: .lockVersions) locks the new name."
    case .noCurrent where version.isEmpty:
      "The model does not state which version is current, so no store can be migrated to it: select "
        + "one in Xcode (.xccurrentversion)."
    case .noCurrent:
      "\(version) is named as the current version (.xccurrentversion) and does not exist: select "
        + "another one in Xcode."
    case .deleted:
      "\(version) was released and is gone: stores of this version would find no model. Put it "
        + "back."
    case .notCurrent:
      "\(version) is new and not current: \(others[0]) still is, and no store is migrated to "
        + "\(version)."
    case .turnedBack:
      "\(version) is current, and was released before \(others[0]): stores of \(others[0]) would be "
        + "migrated back to it."
    case .alike:
      "\(version) is new and has the hashes of \(others[0]), so Core Data skips its migration: "
        + "give an entity that changed a hash modifier."
    case .severalNew:
      "\(ListText([version] + others)) are new at once: stores skip all but the current one. Merge "
        + "those that were never released."
    }
  }
}

extension LockedVersion.Edit {
  /// What was edited, as a part of a sentence.
  var words: String {
    switch self {
    case .entityGone(let name): "the entity \(name) is gone"
    case .entityNew(let name): "the entity \(name) is new"
    case .entity(let name, old: "", new: ""): "\(name) has another hash"
    case .entity(let name, let old, let new):
      "\(name) was \(old.isEmpty ? "plain" : old) and is \(new.isEmpty ? "plain" : new)"
    case .propertyGone(let entity, let name): "\(entity).\(name) is gone"
    case .propertyNew(let entity, let name, let words): "\(entity).\(name) is new (\(words))"
    case .propertyRenamed(let entity, let name, let other): "\(entity).\(name) became \(other)"
    case .property(let entity, let name, let old, let new):
      "\(entity).\(name) was \(old) and is \(new)"
    case .identifier(let entity, let name, let old, let new):
      "\([entity, name].compactMap(\.self).joined(separator: ".")) had the renaming identifier \(old) "
        + "and has \(new ?? "none")"
    }
  }
}
