import Mapping
import MigrationCoordinator
import MigrationEngine
import Schema
import StoreFormat
import Survey

extension HandoverNote {
  /// What is left to do, and what it means.
  package var sentence: String {
    switch kind {
    case .notSynced:
      "\(path) could not be synchronized (\(cause)): everything is in place, but a power cut may "
        + "restore the previous state."
    case .notRemoved:
      "\(path) could not be removed (\(cause)): everything else is done; \(command: .discard) "
        + "tries again."
    case .foreign: "\(path) was not changed, since Godwit did not make it."
    case .otherNames:
      "\(path) has other names (hard links), which still lead to the store before the migration."
    case .notRecorded:
      "\(path) could not be written (\(cause)): everything else is done, but \(command: .status) "
        + "does not show it."
    }
  }
}

extension MigrationReport.Step {
  /// The mapping models of the step and its versions; nil where the step is inferred.
  var mappingSentence: String? {
    mappings.isEmpty ? nil : "migrated\(VersionSpan(from, to)) by \(ListText(mappings))."
  }
}

extension SourceAccess {
  /// The note on a missing log; nil if none is missing.
  var logSentence: String? { lacksLog ? Self.missingLog(of: "It") : nil }

  /// The note on a store in WAL mode without a `-wal` file.
  static func missingLog(of store: String) -> String {
    "\(store) has journal mode WAL, but no -wal file is next to it: if the store was copied without "
      + "that file, data is missing."
  }
}

extension StageAccounts {
  /// The mappings that make several objects of an entity of one object, a sentence for each of
  /// their source entities.
  fileprivate var doublings: [String] {
    entities.flatMap { entity in
      let own = mappings.filter { $0.source == entity.entity && $0.destination != nil }
      return Dictionary(grouping: own) { $0.destination ?? "" }.sorted { $0.key < $1.key }
        .compactMap { destination, several -> String? in
          let made = several.reduce(0) { $0 + $1.made }
          guard several.count > 1, made > entity.rowsOut else { return nil }
          return "\(entity.entity): \(ListText(several.map(\.mapping))) made "
            + "\(CountText(made, "object")) of \(destination) from \(GroupedText(entity.rowsOut)): if "
            + "each is to be made once, give these mappings filters that exclude each other."
        }
    }
  }
}

extension [MigrationReport.Step] {
  /// The relationships whose objects get a default order, one sentence each.
  ///
  /// - Parameter hasObjects: whether the store has objects of an entity of its own version.
  func newOrderSentences(hasObjects: (String) -> Bool) -> [String] {
    var names: [String] = []
    for (index, step) in enumerated() {
      for order in step.newOrders ?? [] where index > 0 || hasObjects(order.source) {
        let name = "\(order.entity).\(order.property)"
        if !names.contains(name) { names.append(name) }
      }
    }
    return names.map {
      "\($0) is ordered now and was not before: the order is that of the objects' keys. For "
        + "another order, name attributes in sortedBy of a mapping file (godwit map writes one)."
    }
  }
}

extension NotedMapping {
  /// The file, and the part of it that its mapping model does not show.
  var sentence: String { "\(path): \(note.sentence)" }
}

extension MigrationReport {
  /// The most sentences on missing files, and on violations.
  private static let (mostFiles, mostViolations) = (5, 100)

  /// Everything notable about a result, one sentence each.
  var notes: [String] {
    var notes = mappingSentences
    if lacksLog == true { notes.append(SourceAccess.missingLog(of: store)) }
    notes += salvage.map { StoreMigration.Salvage($0).notes } ?? []
    notes += losses.map(\.sentence)
    for account in accounts.flatMap(\.entities)
    // If no object is kept, the loss already reports it.
    where account.rowsOut > 0 && account.rowsIn != account.rowsOut {
      notes.append(account.sentence)
    }
    notes += accounts.flatMap(\.doublings)
    notes += accounts.compactMap { account in
      account.history.flatMap { CountText.wideMasks($0.wideMasks) }.map { "\($0)." }
    }
    let entities = Set(accounts.first?.entities.filter { $0.rowsIn > 0 }.map(\.entity) ?? [])
    notes += steps.newOrderSentences { entities.contains($0) }
    notes += defects.map { StoreMigration.Defect($0).description }
    // The defects already report those that they name, with keys.
    let isTold =
      defects.filter { $0.kind == .dangling }.reduce(0) { $0 + $1.count }
      >= danglingReferences.reduce(0) { $0 + $1.count }
    notes += (isTold ? [] : danglingReferences).map {
      "\(CountText($0.count, "reference")) in \($0.table).\($0.column) "
        + "\($0.count == 1 ? "leads" : "lead") to objects that do not exist."
    }
    if let unchecked = uncheckedReferences {
      notes.append(
        "the references of \(CountText(unchecked.count, "column")) in unchanged tables were not "
          + "checked: \(choice: .verify(.full)) counts those that lead to objects that do not "
          + "exist."
      )
    }
    notes += missingFileNotes
    // Of several stages the last one has what is left.
    notes += accounts.last?.mirroring.map { [$0.mirroringNote] } ?? []
    notes += keptTables.map { "table \($0) is not part of the model and was copied unchanged." }
    notes += extraTables.map { "table \($0) is not part of the model and was left out." }
    notes += (extraColumns ?? []).map {
      "column \($0.name) is not part of the model: \(CountText($0.values, "value")) left out."
    }
    notes += (extraViews ?? []).map { "view \($0) is not part of the model and was left out." }
    notes += (extraTriggers ?? []).map {
      "trigger \($0) is not part of the model and was left out."
    }
    notes += (extraIndexes ?? []).map { "index \($0) is not Core Data's and was left out." }
    notes += (extraGeneratedColumns ?? []).map {
      "generated column \($0) is not part of the model and was left out."
    }
    if violations > 0 {
      notes.append("\(CountText(violations, "violation")) of the model:")
      notes += firstViolations.prefix(Self.mostViolations).map(\.sentence)
    }
    notes += joinTables.map(\.sentence) + modelCacheLeftOut.map(\.sentence)
    if let reason = modelCacheOmitted {
      notes.append("the new store has no embedded model: \(reason).")
    }
    return notes + handoverNotes.map(\.sentence)
  }

  /// The mapping models that were used and those that were expected to be, one sentence each.
  private var mappingSentences: [String] {
    steps.compactMap(\.mappingSentence)
      + unusedMappings.filter(\.isExpected).map { "\($0.path) was not used: \($0.reason)." }
      + (mappingNotes ?? []).map(\.sentence)
  }

  private var missingFileNotes: [String] {
    // If every row was read, they are listed with their keys.
    if defects.contains(where: { $0.kind == .missingFile && $0.fate == .kept }) { return [] }
    let missing = missingExternalFiles
    var notes = missing.prefix(Self.mostFiles).map {
      "external file \($0) is missing; its reference was carried over."
    }
    if missing.count > Self.mostFiles {
      let more = missing.count - Self.mostFiles
      notes.append(
        "\(CountText(more, "more external file is", "more external files are")) missing.")
    }
    return notes
  }
}
