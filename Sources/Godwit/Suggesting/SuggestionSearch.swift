import Inspection
import Mapping
import MigrationCoordinator
import ObjectModel
import Planning
import Survey
import SystemCalls
import SystemPackage

extension StoreMigration {
  /// Finds what would make the migration possible, or keep what it loses, and tries it.
  ///
  /// Renaming identifiers are tried first, since they lose nothing; then versions between, values
  /// for what is mandatory, choices about objects, and what may be lost. Stores of up to 256 MiB
  /// are migrated to a temporary folder for that; of larger ones the conditions are checked.
  ///
  /// - Parameter progress: is called with the number of each trial and what is tried.
  /// - Throws: `MigrationFailure`, if the store or a model cannot be read, or the task was
  ///   cancelled.
  public func suggestion(
    progress: (_ trial: Int, _ what: String) -> Void = { _, _ in }
  ) async throws(MigrationFailure) -> MigrationSuggestion {
    try await MigrationFailure.awaiting {
      let folder = try TemporaryFolder()
      defer { withExtendedLifetime(folder) {} }
      var search = try SuggestionSearch(self, in: folder)
      let found = try await search.search(progress)
      guard search.patch != nil, !found.trial.isPossible else { return found }
      var plain = try SuggestionSearch(withoutPatch: search)
      let other = try await plain.search(progress)
      let isBetter = other.trial.reasons.count < found.trial.reasons.count
      return other.trial.isPossible || isBetter ? other : found
    }
  }
}

/// Collects what is suggested, until the migration is possible or nothing more is known.
struct SuggestionSearch {
  private let original: StoreMigration
  private let folder: TemporaryFolder
  private let old: ManagedObjectModel
  private let proposals: [SuggestedRenaming]
  /// Names that could be paired in several ways.
  private let unclear: [MigrationSuggestion.Unclear]
  /// The patch that the trials assume.
  private(set) var patch: ModelPatch?
  private var state: StoreMigration
  private var new: ManagedObjectModel
  private var choices: [MigrationSuggestion.Choice] = []
  private var trials = 0
  /// What was found before the versions between were tried; nil where they were not.
  private var beforeVersions:
    (
      state: StoreMigration, choices: [MigrationSuggestion.Choice], trial: MigrationSuggestion.Trial
    )?

  /// The most trials of one search.
  private static let mostTrials = 12

  init(_ migration: StoreMigration, in folder: TemporaryFolder) throws {
    (original, state, self.folder) = (migration, migration, folder)
    let held = try HeldStore(migration.store, models: migration.target + migration.models)
    old = held.model
    new = try Self.model(migration)
    let contents = try held.contents()
    proposals = try RenamingProposal.all(from: old, to: new).compactMap { proposal in
      guard let entity = held.model.entity(name: proposal.oldEntity) else { return nil }
      let objects = try contents.count(of: entity)
      let values =
        proposal.kind == .entity
        ? nil : try contents.valueCount(of: proposal.oldName, declaredBy: entity)
      return objects > 0 && values != 0
        ? SuggestedRenaming(proposal: proposal, values: values, objects: objects) : nil
    }
    unclear = RenamingProposal.unclear(from: old, to: new).map { .init($0) }
    try held.access.requireUnchanged()
    guard migration.target.count == 1,
      let found = try ModelPatch(proposals.map(\.proposal), of: migration.target[0])
    else { return }
    patch = found
    state.target = [try found.apply(in: folder.path)]
    new = try Self.model(state)
  }

  /// The same search, without a patch of the model.
  init(withoutPatch search: SuggestionSearch) throws {
    (original, state, folder) = (search.original, search.original, search.folder)
    (old, proposals, unclear) = (search.old, search.proposals, search.unclear)
    new = try Self.model(search.original)
  }

  private static func model(_ migration: StoreMigration) throws -> ManagedObjectModel {
    try TargetModel(paths: migration.target, configuration: migration.configuration).model
  }

  mutating func search(
    _ progress: (Int, String) -> Void
  ) async throws -> MigrationSuggestion {
    while true {
      trials += 1
      progress(trials, choices.last.map { $0.words.joined(separator: " ") } ?? "renamings")
      let trial = try await SuggestionTrial(of: state, for: original, patch: patch).outcome()
      if trial.found.isPossible { return try await suggestion(trial.found) }
      if trials < Self.mostTrials, answer(trial) { continue }
      // Versions between that do not help are not suggested.
      guard let before = beforeVersions else { return try await suggestion(trial.found) }
      (state, choices) = (before.state, before.choices)
      return try await suggestion(before.trial)
    }
  }

  // MARK: Answers

  /// Adds what answers the reasons; false if nothing new does.
  private mutating func answer(_ trial: SuggestionTrial.Outcome) -> Bool {
    let reasons = trial.refusals
    let before = choices
    for reason in reasons { answerByValue(reason) }
    for reason in reasons { answerByChoice(reason) }
    let extras = reasons.first { $0.cause == .unsupported(.extraTables) }
    if let extras, answerByTables(extras) { return true }
    guard choices == before, !state.routing.isProgressive,
      reasons.contains(where: \.cause.isLiftedByVersions)
    else { return choices != before }
    beforeVersions = (state, choices, trial.found)
    state.routing.isProgressive = true
    add(.progressive, for: reasons[0])
    return true
  }

  private mutating func answerByValue(_ reason: MigrationFailure.Reason) {
    guard let entity = reason.entity.flatMap({ new.entity(name: $0) }), let name = reason.property,
      let attribute = new.leafAttribute(named: name, of: entity)
    else { return }
    let isUnique = new.lineage(of: entity).flatMap(\.uniquenessConstraints).contains([name])
    let value = SuggestedValue(attribute, isUnique: isUnique)
    let before = sourceAttribute(of: attribute, in: entity)
    let expression: String? =
      switch reason.cause {
      case .mandatoryWithoutDefault, .defaultNotStorable: value.constant
      case .valuesMissing: before.flatMap { value.filling(from: $0.attribute.name) }
      case .incompatibleTypes: before.flatMap { conversion(of: $0, to: value) }
      default: nil
      }
    guard let expression else { return }
    let setting = "\(entity.name).\(name)=\(expression)"
    // A value that was tried already does not answer the reason.
    guard !state.routing.settings.contains(where: { $0.hasPrefix("\(entity.name).\(name)=") })
    else { return }
    state.routing.settings.append(setting)
    add(.set, setting, for: reason)
  }

  /// An expression for values of another type, if it keeps every value.
  private func conversion(
    of before: (attribute: Attribute, entity: Entity), to value: SuggestedValue
  ) -> String? {
    let (attribute, entity) = before
    guard attribute.type == .string else {
      return value.converting(attribute.name, of: attribute.type)
    }
    let converts = try? HeldStore(original.store, models: original.target + original.models)
      .contents().hasOnlyTexts(of: attribute.name, declaredBy: entity, where: value.takes)
    return converts == true ? value.converting(attribute.name, of: attribute.type) : nil
  }

  /// The attribute of the store's model that one of the new model continues, and its entity.
  private func sourceAttribute(
    of attribute: Attribute, in entity: Entity
  ) -> (attribute: Attribute, entity: Entity)? {
    let identifier = attribute.renamingIdentifier ?? attribute.name
    let entityIdentifier = entity.renamingIdentifier ?? entity.name
    // Identifiers are compared before names, as where the models are mapped.
    let entities = [
      old.entities.first { ($0.renamingIdentifier ?? $0.name) == entityIdentifier },
      old.entity(name: entityIdentifier), old.entity(name: entity.name),
    ].compactMap(\.self)
    return entities.lazy.flatMap { entity in
      old.lineage(of: entity).flatMap { level in
        [
          level.leafAttributes.first { ($0.renamingIdentifier ?? $0.name) == identifier },
          level.leafAttributes.first { $0.name == identifier },
          level.leafAttributes.first { $0.name == attribute.name },
        ].compactMap(\.self).map { ($0, level) }
      }
    }.first
  }

  private mutating func answerByChoice(_ reason: MigrationFailure.Reason) {
    switch reason.cause {
    case .valuesDoNotFit where state.choices.unfitValues == .fail:
      state.choices.unfitValues = .null
      add(.onValue, state.choices.unfitValues.rawValue, for: reason)
    case .loss(let loss) where loss.cause == .conversion && state.choices.unfitValues == .fail:
      state.choices.unfitValues = .convert
      add(.onValue, state.choices.unfitValues.rawValue, for: reason)
    case .loss(let loss) where loss.cause == .dangling:
      guard state.choices.danglingReferences != .nullify else { return }
      state.choices.danglingReferences = .nullify
      add(.onDangling, state.choices.danglingReferences.rawValue, for: reason)
    case .loss(let loss): allow(loss.name, for: reason)
    case .notUnique where state.choices.duplicates == .fail:
      state.choices.duplicates = .merge
      add(.onDuplicate, state.choices.duplicates.rawValue, for: reason)
    case .notUnique where state.choices.duplicates == .merge:
      replaceMerging(for: reason)
    case .referencesMissing where state.choices.missingReferences == .fail:
      state.choices.missingReferences = .drop
      add(.onMissing, state.choices.missingReferences.rawValue, for: reason)
    case .toManyBecameToOne where state.choices.severalObjects == .fail:
      state.choices.severalObjects = .first
      add(.onMany, state.choices.severalObjects.rawValue, for: reason)
    case .toManyBecameToOne where state.choices.duplicates == .merge:
      replaceMerging(for: reason)
    default: return
    }
  }

  /// Keeps the first of several duplicates where merging them does not help.
  private mutating func replaceMerging(for reason: MigrationFailure.Reason) {
    let merging = MigrationOption.onDuplicate.words(state.choices.duplicates.rawValue)
    guard let index = choices.firstIndex(where: { $0.words == merging }) else { return }
    state.choices.duplicates = .keepFirst
    let answers = choices.remove(at: index).answers
    let words = MigrationOption.onDuplicate.words(state.choices.duplicates.rawValue)
    choices.append(.init(words: words, answers: answers))
  }

  /// Keeps what the model knows nothing of, or leaves behind what cannot be kept, such as triggers.
  private mutating func answerByTables(_ reason: MigrationFailure.Reason) -> Bool {
    guard state.choices.extraTables != .drop else { return false }
    state.choices.extraTables = state.choices.extraTables == .refuse ? .keep : .drop
    choices.removeAll { $0.words.first == MigrationOption.extraTables.flag }
    add(.extraTables, state.choices.extraTables.rawValue, for: reason)
    return true
  }

  private mutating func allow(_ name: String, for reason: MigrationFailure.Reason) {
    let allowed = state.choices.allowedLoss
    guard !allowed.isAnything, !allowed.names.contains(name) else { return }
    state.choices.allowedLoss = .init(of: allowed.names.union([name]))
    add(.allowLoss, name, for: reason)
  }

  private mutating func add(
    _ option: MigrationOption, _ value: String? = nil, for reason: MigrationFailure.Reason
  ) {
    let place = [reason.entity, reason.property].compactMap(\.self).joined(separator: ".")
    let answers = place.isEmpty ? reason.cause.words : "\(place): \(reason.cause.words)"
    choices.append(.init(words: option.words(value), answers: answers))
  }

  // MARK: The suggestion

  private func suggestion(_ trial: MigrationSuggestion.Trial) async throws -> MigrationSuggestion {
    let words = choices.flatMap(\.words)
    return MigrationSuggestion(
      store: original.store.string, patch: patch?.text, renamings: renamings, unclear: unclear,
      choices: choices,
      mapping: trial.isPossible ? try await mapping() : nil,
      command: ["godwit", "migrate"] + original.placeWords + original.choiceWords(besides: words)
        + words, trial: trial)
  }

  private var renamings: [MigrationSuggestion.Renaming] {
    let patched = Set(patch?.renamings ?? [])
    return proposals.filter { patched.contains($0.proposal) }.map(\.described)
  }

  /// The inferred mapping model with the values that are set, if a migration by it is possible.
  private func mapping() async throws -> String? {
    guard !state.routing.settings.isEmpty, !state.routing.isProgressive else { return nil }
    let file = try MappingModelFile(inferredFrom: old, to: new, setting: state.routing.settings)
    let text = try file.text()
    let path = folder.path.appending("mapping.json")
    try MigrationFailure.catching { try Files.writeFileAtomically(Array(text.utf8), to: path) }
    var trial = state
    trial.routing.settings = []
    trial.routing.mappings = original.routing.mappings + [path]
    let found = try? await trial.prepare(trying: StoreMigration.triedObjects)
    return found?.isPossible == true ? text : nil
  }
}

extension MigrationOption {
  /// The option with its value, as the command line takes it.
  fileprivate func words(_ value: String?) -> [String] { [flag] + [value].compactMap(\.self) }

  /// The option, as the command line takes it.
  package var flag: String { "--\(rawValue)" }
}
