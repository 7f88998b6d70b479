import GRDB
import Mapping
import MigrationEngine
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
  /// The keys of rows that filtered mappings do not take; nil where the questions read none.
  private var untakenKeys: RowKeys?

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
            mapping: demands.mapping, reader: survey.reader, excludesUntaken: true,
            takers: demands.takers))
      ]
    }
  }

  /// The rows by whose keys the questions find what filtered mappings take.
  var untakenRows: Set<UntakenRows> {
    Set(conditions.flatMap(untakenRows) + possibleLosses.flatMap(untakenRows))
  }

  private func untakenRows(of condition: Condition) -> [UntakenRows] {
    checker.place(name: condition.sourceEntity).map {
      checker.untakenRows(by: checker.makers(of: condition), of: $0)
    } ?? []
  }

  private func untakenRows(of possible: PossibleLoss) -> [UntakenRows] {
    guard case .conversion(let name, let type) = possible.kind,
      let place = checker.place(name: possible.entity)
    else { return [] }
    let makers = checker.converters(of: name, of: place.entity, to: type)
    return checker.untakenRows(by: makers, of: place)
  }

  /// The demands as far as it is known which rows they concern.
  ///
  /// - Parameter keeper: has the keys of `untakenRows`, those of filters that can only be evaluated
  ///   by objects left out; nil if there are none.
  func known(by keeper: UntakenRowKeeper?) -> StageDemands {
    func isKnown(_ rows: [UntakenRows]) -> Bool {
      rows.allSatisfy { keeper?.counts[$0.name] != nil }
    }
    var result = self
    result.conditions.removeAll { !isKnown(untakenRows(of: $0)) }
    result.possibleLosses.removeAll { !isKnown(untakenRows(of: $0)) }
    result.untakenKeys = keeper?.keys
    return result
  }

  /// Makes the functions that the questions call known to a connection.
  func prepare(_ db: Database) {
    RowView.prepare(db)
    if let untakenKeys { RowKeyReader(untakenKeys).install(in: db) }
  }

  /// The conditions that rows of the store break.
  func refusals(in survey: StoreSurvey) throws -> [Refusal] {
    let questions = checker.questions(conditions)
    var counter = RowCounter(survey.reader, prepare: prepare)
    for case (_, .rows(let rows)) in questions { counter.ask(rows) }
    try counter.count()
    return try questions.compactMap {
      try checker.refusal(condition: $0, question: $1, counter: counter)
    }
  }
}
