package import Mapping
package import ObjectModel
package import Planning
import Schema
import StoreFormat
package import Survey
import SystemCalls
package import SystemPackage

/// The effect of choices on the stores that stages begin with, for a second computation of the
/// result.
package struct ExpectedMigration: Sendable {
  /// The store, or a repaired copy of it.
  package private(set) var survey: StoreSurvey
  /// What is repaired in the copy; empty if the store itself is read.
  package private(set) var repaired: [Defect] = []
  private let request: MigrationRequest
  private let stages: [Stage]

  /// Repairs a copy of the store if the request requires it and there are defects.
  package init(
    _ request: MigrationRequest, route: MigrationRoute, to target: ManagedObjectModel,
    from survey: StoreSurvey
  ) throws {
    (self.request, self.survey) = (request, survey)
    guard request.defectChoices.repairsDefects else {
      stages = []
      return
    }
    let planned = try StagePlanner(
      route: route, source: survey.schema, isStepwise: request.isStepwise,
      independentPolicies: request.independentPolicies, allowsFilters: false,
      choices: request.defectChoices, joins: try JoinChoices(request: request, target: target)
    ).stages
    stages = try planned.enumerated().map { try $0 == 0 ? $1.decided(in: survey) : $1 }
    guard let first = stages.first else { return }
    let repair = DefectRepair(
      survey: survey, choices: request.defectChoices, stage: first, number: 1)
    let repairs = try repair.repairs()
    guard !repairs.isEmpty else { return }
    let access = try survey.access.copied {
      let folder = try TemporaryFolder()
      return (folder.path.appending("repaired.sqlite"), folder)
    }
    repaired = try repair.apply(repairs, to: access.readable).defects
    self.survey = try StoreSurvey(
      store: survey.store, access: access, reader: StoreReader(immutable: access.readable),
      metadata: survey.metadata, model: survey.model)
  }

  /// The steps, from 0, before which a store is repaired again: those with which later stages
  /// begin.
  package var repairedSteps: [Int] {
    var (places, count): ([Int], Int) = ([], 0)
    for stage in stages.dropLast() {
      count += stage.steps.count
      places.append(count)
    }
    return places
  }

  /// Repairs the store with which a later stage begins, which no other process has open.
  ///
  /// - Parameter step: one of `repairedSteps`.
  package func repair(_ store: FilePath, before step: Int) throws {
    guard let place = repairedSteps.firstIndex(of: step) else { return }
    let stage = stages[place + 1]
    let access = try SourceAccess.open(store) { FilePath("\(store)-\($0)") }
    let survey = try StoreSurvey(
      store: store, access: access, reader: StoreReader(immutable: access.readable),
      metadata: StoreMetadata(uuid: "", plist: [:]), model: stage.source.model)
    let repair = DefectRepair(
      survey: survey, choices: request.defectChoices, stage: stage, number: place + 2)
    let repairs = try repair.repairs()
    survey.access.release()
    if !repairs.isEmpty { _ = try repair.apply(repairs, to: store) }
  }

  /// The choices that the store gives occasion for and that the request does not make.
  package static func occasions(
    _ request: MigrationRequest, route: MigrationRoute, to target: ManagedObjectModel,
    from survey: StoreSurvey
  ) -> [MigrationChoice] {
    let stages = try? StagePlanner(
      route: route, source: survey.schema, isStepwise: false,
      independentPolicies: request.independentPolicies, allowsFilters: false,
      joins: try JoinChoices(request: request, target: target)
    ).stages
    guard let first = stages?.first else { return [] }
    var tries: [(option: MigrationChoice, choices: DefectChoices)] = []
    func note(_ option: MigrationOption, _ value: String, _ change: (inout DefectChoices) -> Void) {
      var choices = DefectChoices()
      change(&choices)
      tries.append((MigrationChoice(option, value), choices))
    }
    note(.onDangling, "nullify") { $0.dangling = .nullify }
    note(.onValue, "null") { $0.values = .null }
    note(.onDuplicate, "CHOICE") { $0.duplicates = .keepFirst }
    note(.onMissing, "drop") { $0.missing = .drop }
    note(.onMany, "first") { $0.many = .first }
    return tries.filter { option, choices in
      let repairs = try? DefectRepair(
        survey: survey, choices: choices, stage: first, number: 1
      ).repairs()
      return repairs?.isEmpty == false
    }.map(\.option)
  }
}
