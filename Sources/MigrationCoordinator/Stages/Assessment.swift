import GRDB
package import Mapping
package import ObjectModel
import Planning
package import RowPrograms
package import Schema
import StoreFormat
package import Survey
import SystemCalls
import SystemPackage

/// Whether and how a surveyed store can become one of the destination model, in one step or in
/// several at once.
package struct Assessment: Sendable {
  package let steps: [RowStep]
  /// Of all steps together; nil where refusals keep it from being made.
  package let program: MigrationProgram?
  package let refusals: [Refusal]
  /// The step that the refusals are those of.
  package let refusedStep: RowStep?
  /// Those of a policy's leaving are not among them.
  package let losses: [Loss]
  package var destination: StoreSchema { steps[steps.count - 1].destination }

  /// Infers the mapping and holds its demands against the store; writes nothing.
  package init(survey: StoreSurvey, to model: ManagedObjectModel) throws {
    let step = MigrationRoute.Step(
      from: RouteVersion(names: [], model: survey.model, hashes: survey.metadata.versionHashes),
      to: RouteVersion(names: [], model: model, hashes: [:]))
    try self.init(survey: survey, steps: [try RowStep(step: step, source: survey.schema)])
  }

  /// Holds the demands of each step against the rows that it would begin with; writes nothing.
  ///
  /// The steps are known to compose; a step that has no program is alone.
  init(survey: StoreSurvey, steps: [RowStep], scansAll: Bool = false) throws {
    self.steps = steps
    var counter = RowCounter(survey.reader)
    var before: MigrationProgram?
    var open: [OpenStep] = []
    try OpenStep.prepare(survey.reader)
    for step in steps {
      open.append(OpenStep(step: step, before: before, survey: survey, counter: &counter))
      before = step.program.flatMap { next in
        guard let before else { return next }
        return ProgramComposer(first: before, then: next, destination: step.destination).compose()
      }
    }
    try counter.run()
    var losses: [Loss] = []
    var found: (refusals: [Refusal], step: RowStep)?
    for step in open {
      let own = try step.refusals(counter: counter)
      if found == nil && !own.isEmpty { found = (own, step.step) }
      losses += try step.losses(counter: counter)
    }
    if let before, found == nil, let last = steps.last {
      let missing = try MissingExternalFiles(reader: survey.reader, store: survey.store)
        .refusals(program: before)
      if !missing.isEmpty { found = (missing, last) }
    }
    refusals = found?.refusals ?? []
    refusedStep = found?.step
    program = refusals.isEmpty ? before : nil
    self.losses = losses + (try StrayRows(survey: survey, scansAll: scansAll).losses())
  }

  /// The highest keys ever given, by root entity of the destination.
  func maxima(survey: StoreSurvey) -> [String: Int64] {
    steps.reduce(survey.maxima) { maxima, step in
      var result: [String: Int64] = [:]
      let model = step.source.model
      for table in step.destination.tables {
        let sources = table.entityNames.compactMap {
          step.mapping.mapping(toDestination: $0)?.sourceEntityName
        }.compactMap { model.entity(name: $0) }
        guard let first = sources.first else { continue }
        result[table.rootName] = maxima[model.root(of: first).name]
      }
      return result
    }
  }
}

/// A step whose questions are asked and not yet answered.
private struct OpenStep {
  let step: RowStep
  private let checker: ConditionChecker
  private let conditions: [(Condition, ConditionChecker.Question)]
  private let possibleLosses: [(PossibleLoss, ConditionChecker.LossQuestion)]

  /// Lets the store's connection read expressions that a worker reads: only whether there is a
  /// value matters here, not what stands in its file.
  static func prepare(_ reader: StoreReader) throws {
    try reader.connection.run { db in
      db.add(
        function: DatabaseFunction("godwit_external", argumentCount: 1, pure: true) { $0[0] })
    }
  }

  init(
    step: RowStep, before: MigrationProgram?, survey: StoreSurvey,
    counter: inout RowCounter
  ) {
    self.step = step
    let view = RowView(
      model: step.source.model, schema: step.source, program: before, counts: survey.rowCounts)
    let checker = ConditionChecker(
      view: view, destination: step.destination, mapping: step.mapping, reader: survey.reader)
    self.checker = checker
    conditions = step.conditions.compactMap { condition in
      checker.question(condition: condition).map { (condition, $0) }
    }
    possibleLosses = step.possibleLosses.compactMap { possible in
      checker.question(possible: possible).map { (possible, $0) }
    }
    for case (_, .rows(let question)) in conditions { counter.ask(question) }
    for case (_, .rows(let question)) in possibleLosses { counter.ask(question) }
  }

  func refusals(counter: RowCounter) throws -> [Refusal] {
    let forms = step.unmakeable.map {
      Refusal(reason: .relationshipForm, entity: $0.entity, property: $0.property)
    }
    return try step.refusals + forms
      + conditions.compactMap {
        try checker.refusal(condition: $0, question: $1, counter: counter)
      }
  }

  func losses(counter: RowCounter) throws -> [Loss] {
    try possibleLosses.compactMap { try checker.loss(possible: $0, question: $1, counter: counter) }
  }
}
