import Mapping
import MigrationCoordinator
import SystemPackage

/// A renaming that the values of a store speak for.
struct SuggestedRenaming {
  let proposal: RenamingProposal
  /// How many objects have a value there; nil where that is not counted.
  let values: Int64?
  /// How many objects there are.
  let objects: Int64

  /// The renaming with its evidence in words.
  var described: MigrationSuggestion.Renaming {
    let isEntity = proposal.kind == .entity
    return .init(
      kind: proposal.kind.rawValue,
      name: isEntity ? proposal.name : "\(proposal.entity).\(proposal.name)",
      oldName: isEntity ? proposal.oldName : "\(proposal.oldEntity).\(proposal.oldName)",
      values: values, objects: objects, evidence: evidence)
  }

  private var evidence: String {
    let like = proposal.isSole ? "no other one matches" : "the names are most similar"
    guard proposal.kind != .entity else {
      return "\(proposal.words) are the same, \(like), and there \(objects == 1 ? "is" : "are") "
        + "\(CountText(objects, "object"))."
    }
    let counts = values.map {
      "\(GroupedText($0)) of \(CountText(objects, "object")) \(objects == 1 ? "has" : "have") a value"
    }
    return "both are \(proposal.words), \(like)" + (counts.map { ", and \($0)." } ?? ".")
  }
}

extension MigrationSuggestion.Unclear {
  init(_ unclear: RenamingProposal.Unclear) {
    func place(_ entity: String?, _ name: String) -> String {
      entity.map { "\($0).\(name)" } ?? name
    }
    self.init(
      kind: unclear.kind.rawValue, names: unclear.names.map { place(unclear.entity, $0) },
      oldNames: unclear.oldNames.map { place(unclear.oldEntity, $0) },
      identifiers: unclear.identifiers, type: unclear.words)
  }

  /// What has to be chosen, and how.
  var sentence: String {
    "\(Self.list(names)) new and \(Self.list(oldNames)) gone, all \(type), and the names are "
      + "ambiguous: set the renaming identifier of the one that does, such as "
      + "elementID=\"\(identifiers[0])\"."
  }

  private static func list(_ names: [String]) -> String {
    guard names.count > 1 else { return "\(names[0]) is" }
    return "\(names.dropLast().joined(separator: ", ")) and \(names[names.count - 1]) are"
  }
}

extension StoreMigration {
  /// The store, the models and the way, as a command takes them.
  var placeWords: [String] {
    var words = [store.string]
    for path in target { words += ["--to", path.string] }
    if let configuration { words += ["--configuration", configuration] }
    for path in models { words += ["--models", path.string] }
    for path in routing.mappings { words += ["--mapping", path.string] }
    for path in routing.mappingFolders { words += ["--mappings", path.string] }
    for setting in routing.settings { words += ["--set", setting] }
    for table in routing.joinTables { words += ["--join-table", table] }
    if routing.isProgressive { words.append("--progressive") }
    if routing.infersOnly { words.append("--infer-only") }
    return words
  }

  /// The choices as words of a command, without the options that other words replace.
  func choiceWords(besides words: [String]) -> [String] {
    request.choicesAsTyped.flatMap { choice -> [String] in
      let parts = choice.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts[0] == "--allow-loss" else { return words.contains(parts[0]) ? [] : parts }
      let names = choices.allowedLoss.names.sorted()
      return names.isEmpty ? parts : names.flatMap { [parts[0], $0] }
    }
  }
}

extension MigrationFailure.Reason.Cause {
  /// Whether an intermediate version may decide what two versions leave open.
  var isLiftedByVersions: Bool {
    switch self {
    case .attributeBecameRelationship, .relationshipBecameAttribute, .destinationEntityChanged,
      .hierarchiesMerged, .renamingAmbiguous, .relationshipForm, .ownerShared,
      .entityBecameAbstract, .incompatibleTypes, .toManyBecameToOne, .mandatoryWithoutDefault:
      true
    default: false
    }
  }

  /// What stands in the way, as a part of a sentence.
  var words: String {
    switch self {
    case .incompatibleTypes(let before, let after): "\(before) does not convert to \(after)"
    case .attributeBecameRelationship: "an attribute became a relationship"
    case .relationshipBecameAttribute: "a relationship became an attribute"
    case .toManyBecameToOne: "a to-many relationship became to-one"
    case .destinationEntityChanged: "the relationship leads to another entity"
    case .hierarchiesMerged: "hierarchies became one"
    case .derivationNotComputed: "only Core Data computes the derivation"
    case .triggerNotKept: "a trigger cannot be kept"
    case .renamingAmbiguous: "a renaming identifier is ambiguous"
    case .storedFormUnknown: "the stored form is not known"
    case .tableTooWide: "its table has too many columns"
    case .tableNameTaken: "the name of its table is taken"
    case .relationshipForm: "the stored form of the relationship changed"
    case .mandatoryWithoutDefault: "it is mandatory and has no default value"
    case .defaultNotStorable: "the default value cannot be stored"
    case .entityBecameAbstract: "the entity became abstract"
    case .valuesMissing: "objects have no value"
    case .referencesMissing: "objects have no destination"
    case .valuesDoNotFit(let type): "values do not fit \(type)"
    case .notUnique: "objects have equal values"
    case .ownerShared: "objects share an owner"
    case .externalFilesMissing: "external files are missing"
    case .externalFilesUnreadable: "external files cannot be read"
    case .externalFilesShared: "two values would name one external file"
    case .unsupported(.extraTables): "the model does not know a table, view, trigger or index"
    case .unsupported: "the store has a feature that is not supported"
    case .loss: "data would be lost"
    case .violation: "an object breaks a rule"
    case .diskShortage: "the disk has too little space"
    case .cloudKit: "mirroring could not continue"
    case .mapping: "the mapping model does not fit"
    }
  }
}
