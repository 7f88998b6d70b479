import Mapping
import ObjectModel
import Planning
import RowPrograms
import Schema
import Survey

/// The conditions of a step on the rows of a store, and the queries that check them.
struct StageDemands {
  /// What the rows have to satisfy, the store's own constraints included.
  var conditions: [Condition]
  /// What the rows lose if they have it.
  var possibleLosses: [PossibleLoss]
  var checker: ConditionChecker
  /// The conditions that mandatory to-one relationships have an object.
  var mandatoryReferences: [Condition] = []

  /// The demands of each step of a stage; for objects that are made one by one, as far as rows
  /// show them.
  ///
  /// - Parameter validates: whether an object without a mandatory value ends the migration.
  static func all(
    of stage: Stage, in survey: StoreSurvey, validates: Bool
  ) throws -> [StageDemands] {
    switch stage.method {
    case .rows(let steps):
      return steps.indices.map { index in
        let step = steps[index]
        return StageDemands(
          conditions: step.conditions + step.keptConstraints,
          possibleLosses: step.possibleLosses,
          checker: ConditionChecker(
            view: RowView(
              model: step.source.model, schema: step.source,
              program: RowStep.composed(Array(steps[..<index])), counts: survey.rowCounts),
            destination: step.destination, mapping: step.mapping, reader: survey.reader,
            made: RowStep.composed(Array(steps[...index]))),
          mandatoryReferences: step.mandatoryReferences)
      }
    case .objects(let step, _):
      let demands = PlainDemands(
        models: step.mappings.map(\.mapping), source: survey.model,
        destination: step.destination.model, validates: validates)
      let view = RowView(of: survey)
      return [
        StageDemands(
          conditions: step.conditions(besides: demands.conditions),
          possibleLosses: demands.conversions,
          checker: ConditionChecker(
            view: view, destination: try StoreSchema(step.destination.model),
            mapping: demands.mapping, reader: survey.reader))
      ]
    }
  }

  /// The conditions that rows of the store break.
  func refusals(in survey: StoreSurvey) throws -> [Refusal] {
    let questions = checker.questions(conditions)
    var counter = RowCounter(survey.reader, prepare: RowView.prepare)
    for case (_, .rows(let rows)) in questions { counter.ask(rows) }
    try counter.count()
    return try questions.compactMap {
      try checker.refusal(condition: $0, question: $1, counter: counter)
    }
  }
}
