import Mapping
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
package import StoreFormat
package import Survey
import SystemCalls
import SystemPackage

/// A migration whose route is decided, as `check`, `plan` and `migrate` share it.
package struct PreparedMigration: Sendable {
  /// The resolved request, with the consent that follows from the models on the route.
  package private(set) var request: MigrationRequest
  /// The contents of the store.
  package let survey: StoreSurvey
  /// Whether the store's model differs from the target's.
  package let isNeeded: Bool
  /// The route to the target, nil if none is needed.
  package let route: FoundRoute?
  /// The stages of the route, empty if none is needed.
  package private(set) var stages: [Stage]

  /// The defects that are repaired in the copy that the survey reads.
  private(set) var repaired: [Defect] = []
  /// The references of the store that are not in that copy.
  private(set) var repairedReferences: [RepairedReferences.Counted] = []
  /// The external files that the store names, where the survey reads that copy and they may go.
  private(set) var oldNames: Set<String>?
  private let targetNames: [String]
  /// What was taken of a damaged store, where the survey reads that.
  package var salvage: SalvagedStore?

  /// A copy of the store that is read instead of it.
  enum Copy {
    /// The readable rows of a damaged store.
    case salvaged
    /// The store with its defects repaired by choices.
    case repaired
  }

  /// Takes what can be read of a damaged store and repairs defects, as the resolved request wants
  /// it, and prepares the migration of the result; only copies are written.
  ///
  /// - Parameters:
  ///   - surveyed: is called with the survey before anything else reads the store.
  ///   - place: where a copy goes, and the folder that goes with it.
  init(
    opening access: SourceAccess, of request: MigrationRequest, target: TargetModel,
    surveyed: (StoreSurvey) throws -> Void = { _ in },
    place: (Copy) throws -> (path: FilePath, folder: TemporaryFolder?)
  ) throws {
    let salvage = try SourceSalvage(request: request, access: access) { try place(.salvaged) }
    let survey = try salvage.completed(
      StoreSurvey(opening: request, access: salvage.access, target: target))
    try salvage.requireDerivable(survey)
    try surveyed(survey)
    self = try survey.diagnosing {
      try Self.repair(request, target: target, survey: survey) { try place(.repaired) }
    }
    self.salvage = salvage.found
  }

  /// Prepares a resolved request, from a repaired copy if it requires that and there are defects;
  /// only the copy is written.
  private static func repair(
    _ request: MigrationRequest, target: TargetModel, survey: StoreSurvey,
    snapshot: () throws -> (path: FilePath, folder: TemporaryFolder?)
  ) throws -> PreparedMigration {
    let found = try PreparedMigration(request: request, target: target, survey: survey)
    guard request.defectChoices.repairsDefects, let first = found.stages.first else { return found }
    let repair = DefectRepair(
      survey: survey, choices: request.defectChoices, stage: first, number: 1)
    let repairs = try repair.repairs()
    guard !repairs.isEmpty else { return found }
    let oldNames = request.discardsOld ? try OldExternalFiles.named(in: survey) : nil
    let access = try survey.access.copied(snapshot)
    let outcome = try repair.apply(repairs, to: access.readable)
    var result = try PreparedMigration(
      request: request, target: target, survey: survey.reading(access))
    result.oldNames = oldNames
    result.repaired = outcome.defects
    result.repairedReferences = outcome.references
    if !result.stages.isEmpty {
      result.stages[0].repaired = outcome.defects
      result.stages[0].lostByChoice = outcome.losses
    }
    return result
  }

  /// Finds the route of a resolved request, and checks that everything it names exists; writes
  /// nothing.
  init(request: MigrationRequest, target: TargetModel, survey: StoreSurvey) throws {
    self.request = request
    self.survey = survey
    targetNames = target.names
    isNeeded = survey.metadata.versionHashes != target.hashes
    guard isNeeded else {
      (route, stages) = (nil, [])
      return
    }
    try request.requireSupported(survey)
    let allowsFilters = request.allowsFilters(of: survey)
    func find() throws -> Plan {
      try Self.plan(request, target: target, survey: survey, allowsFilters: allowsFilters)
    }
    let plan = try request.shared?.plan(for: survey, allowsFilters: allowsFilters, find: find)
    let (found, planned) = try plan ?? find()
    route = found
    stages = try planned.enumerated().map { try $0 == 0 ? $1.decided(in: survey) : $1 }
    let rules = LossRules(request: request, survey: survey, stages: stages)
    try rules.check()
    self.request.inheritedConsent = rules.inheritedConsent
    try requireMirrored()
    try requireFreeNames()
  }

  /// A route with its stages, as they are for every store of a version.
  typealias Plan = (route: FoundRoute, stages: [Stage])

  /// Finds the route, and compiles its stages.
  private static func plan(
    _ request: MigrationRequest, target: TargetModel, survey: StoreSurvey, allowsFilters: Bool
  ) throws -> Plan {
    // A long route and its stages infer every step, one after the other.
    try MappingInference.keeping {
      let found = try RouteFinder(request: request, target: target, survey: survey).find(
        namesVersions: request.namesVersions)
      let mappings = found.route.steps.flatMap(\.mappings).map(\.mapping)
      try ObjectMigration.checkPolicies(mappings, registered: request.policies.keys)
      for step in found.route.steps { try check(step) }
      let planner = try StagePlanner(
        route: found.route, source: survey.schema, isStepwise: request.isStepwise,
        independentPolicies: request.independentPolicies, allowsFilters: allowsFilters,
        validates: request.validation == .strict, choices: request.defectChoices,
        joins: try JoinChoices(request: request, target: target.model))
      return (found, planner.stages)
    }
  }

  /// Checks that CloudKit mirroring survives all stages: the stores of later ones are not there
  /// yet, and the models are.
  private func requireMirrored() throws {
    guard request.cloudKit == .carry, survey.mirroring != nil, stages.count > 1 else { return }
    let found = request.mirroringRefusals + stages.flatMap(\.mirroringRefusals)
    guard found.isEmpty else { throw MigrationError.impossible(store: request.store, found) }
  }

  /// Checks that no stage makes a table or an index with the name of a copied table, or of one of
  /// its indexes.
  private func requireFreeNames() throws {
    guard request.extraTables == .keep, survey.extras.contains(where: \.isCopied) else { return }
    var needs: [FoldedName: String] = [:]
    for stage in stages {
      let names = try StoreSchema(stage.destination.model).entitiesByName
      needs.merge(names) { first, _ in first }
    }
    let found = try ExtraEntry.conflicting(survey.extras, with: needs, reader: survey.reader)
    guard found.isEmpty else {
      throw MigrationError.unsupported(store: request.store, [], extras: found)
    }
  }

  /// Checks that the mapping models of a step refer to what exists, and do not contradict each
  /// other.
  private static func check(_ step: MigrationRoute.Step) throws {
    guard !step.mappings.isEmpty else { return }
    let (source, destination) = (step.source.model, step.destination.model)
    var problems = MappingCheck(
      models: step.mappings.map(\.mapping), source: source, destination: destination
    ).problems
    if let inferred = step.inferred {
      // Other errors are reported as in an inferred step.
      let names = Set(inferred.settings.map(\.property))
      problems.removeAll { problem in
        if case .abstractDestination = problem.reason { return true }
        return problem.property.map { !names.contains($0) } ?? false
      }
    }
    guard problems.isEmpty else {
      throw MigrationError.mappingProblems(step.mappings.map { FilePath($0.name) }, problems)
    }
    guard step.mappings.count > 1 else { return }
    let set = MappingSet(
      pieces: step.mappings.map { .init(name: $0.name, mapping: $0.mapping) }, source: source,
      destination: destination)
    // Entities without a mapping stay empty; objects in them are losses.
    let conflicts = set.problems.filter {
      if case .notCovered = $0.reason { false } else { true }
    }
    guard conflicts.isEmpty else { throw MigrationError.mappingSet(conflicts) }
  }

  /// The defects in rows of the store: those that are repaired, and, if every row may be read,
  /// those that are carried over.
  ///
  /// - Parameter known: the defects in rows, where an assessment has searched for them.
  func defects(scansAll: Bool, known: [Defect]? = nil) throws -> [Defect] {
    guard let first = stages.first else { return repaired }
    let isByObjects = if case .objects = first.method { true } else { false }
    // Reading every row costs little, compared to making objects.
    guard scansAll || isByObjects || StrayRows(survey: survey, scansAll: false).scans
    else { return repaired }
    let found =
      try known
      ?? DefectSearch(survey: survey).defects { isByObjects ? $0.fateOfObjects : .kept }
    return repaired + found + (try ExternalFileSearch(survey: survey, stage: first).carried())
  }

  /// Adds to losses the mapping models of the way, and on a detour why the direct way is not
  /// possible; returns other errors unchanged.
  func explained(_ error: any Error) -> any Error {
    guard case MigrationError.losses(let store, var refusal) = error else { return error }
    let steps = (route?.route.steps ?? []).filter { $0.inferred == nil }
    refusal.mappings = steps.flatMap(\.mappings).map(\.name)
    let kept = Set(steps.flatMap(\.keptByVersions).map(\.name))
    refusal.versionsBetweenKeep = refusal.refused.contains { kept.contains($0.name) }
    if refusal.refused.contains(where: { $0.cause == .detour }) {
      refusal.directRefusals = route?.route.directRefusals ?? []
    }
    return MigrationError.losses(store: store, refusal)
  }

  /// The fetch indexes of the target's model that the model in a store of its version lacks, as
  /// `Entity.index`; no version hash covers indexes, so Core Data adds none of them.
  package var missingIndexes: [String] {
    // Frameworks before this one keep no fetch indexes in their models.
    guard !isNeeded, survey.metadata.frameworkVersion ?? 0 >= 847,
      let cached = try? StoreReader(immutable: survey.access.readable).cachedModel()
    else { return [] }
    return survey.model.entities.flatMap { entity in
      let known = Set((cached.entity(name: entity.name)?.fetchIndexes ?? []).map(\.name))
      return entity.fetchIndexes.filter { !known.contains($0.name) }
        .map { "\(entity.name).\($0.name)" }
    }
  }

  /// The names of the versions that the store has and gets: of one that has the target's model,
  /// the target's; nil where none is known.
  package var versions: (from: [String], to: [String])? {
    guard isNeeded else { return (targetNames, targetNames) }
    guard let first = route?.route.steps.first, let last = route?.route.steps.last else {
      return nil
    }
    return (first.source.labels, last.destination.labels)
  }
}

extension MigrationRequest {
  /// Whether filters may leave rows behind: history would have their objects, CloudKit would not
  /// learn that they are gone, and a choice between duplicates would count them.
  fileprivate func allowsFilters(of survey: StoreSurvey) -> Bool {
    survey.mirroring == nil && !rules.defectChoices.repairsDefects
      && (survey.history?.isEmpty ?? true || rules.history == .drop)
  }
}

extension Defect.Kind {
  /// What becomes of it where objects are made one by one, as with Core Data's own objects.
  fileprivate var fateOfObjects: Defect.Fate {
    switch self {
    // A lookup of the object finds none.
    case .dangling: .nullified
    case .oneSided: .aligned
    case .order: .renumbered
    case .duplicate, .missingReference, .severalObjects, .removedTarget, .unknownReference,
      .missingValue,
      .brokenRule, .value,
      .missingFile:
      .kept
    }
  }
}
