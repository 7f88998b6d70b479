import Foundation
import GRDB
package import Mapping
import MigrationEngine
import ObjectModel
import Planning
package import RowPrograms
package import Schema
import StoreFormat
import Survey

/// Whether and how a surveyed store can be migrated by row programs, in one step or several at
/// once.
package struct RowAssessment: Sendable {
  /// The steps, at least one, each from the destination of the one before.
  package let steps: [RowStep]
  /// The composed program of all steps, nil if there are refusals.
  package let program: MigrationProgram?
  /// Why the migration is impossible: those of the first step that has any.
  package let refusals: [Refusal]
  /// The step of the refusals, nil if there are none.
  package let refusedStep: RowStep?
  /// The losses of all steps, except those that depend on what a policy reads.
  package private(set) var losses: [Loss]
  /// The defects of rows of the store, which stay as they are; nil unless they were requested.
  let defects: [Defect]?
  /// References that nothing in the result leads back to, although their new inverse is to-one.
  let oneSided: [Defect]
  /// What becomes of the references of each step, of relationships that may lose some.
  let references: [ReferenceCounts]
  /// Whether references with unknown entity numbers are among the losses; else workers search for
  /// them.
  let knowsStrayReferences: Bool
  /// Whether constraints are left to the indexes that keep them.
  let leavesConstraints: Bool
  /// The keys of rows by the mappings that take them; nil where mappings take all.
  let untakenKeys: RowKeys?
  /// How many objects each mapping does not take that chooses among those of its entity.
  let left: [String: Int64]
  /// How many keys are in each set of `untakenKeys`, by its name.
  let untakenCounts: [String: Int64]
  /// The tables of the last step's destination.
  package let schema: StoreSchema

  /// Counts the conditions of each step in the rows that it would start from; writes nothing.
  ///
  /// `repaired` has the defects that the choices repaired in the store.
  ///
  /// - Precondition: the steps compose, or there is one without a program.
  /// - Parameter defects: tests for defects of rows, which the same passes evaluate.
  init(
    survey: StoreSurvey, steps: [RowStep], rules: AssessmentRules = AssessmentRules(),
    defects: DefectSearch.Open? = nil, repaired: [Defect] = []
  ) throws {
    self.steps = steps
    var schema = steps[steps.count - 1].destination.withHistory(of: survey.schema)
    let strays = StrayRows(survey: survey, scansAll: rules.scansAll)
    var before: MigrationProgram?
    var open: [OpenStep] = []
    let (untakenKeeper, untakenLosses) = try Self.filtered(steps, survey: survey)
    let untakenKeys = untakenKeeper?.keys
    self.untakenKeys = untakenKeys
    left = untakenKeeper?.left ?? [:]
    untakenCounts = untakenKeeper?.counts ?? [:]
    let emptied = try EmptiedReferences(repaired)
    let prepare = Self.preparation(untakenKeys: untakenKeys, emptied: emptied, defects: defects)
    try survey.reader.connection.run(prepare)
    var counter = RowCounter(survey.reader, prepare: prepare)
    var rules = rules
    rules.scansAll = strays.scans
    for step in steps {
      let after = RowStep.composed(before, then: step)
      open.append(
        OpenStep(
          step: step, before: before, after: after, survey: survey, emptied: emptied, rules: rules,
          isOnly: steps.count == 1, counter: &counter))
      before = after
    }
    leavesConstraints = open.contains(where: \.leavesConstraints)
    let strayRows = strays.ask(&counter)
    let references = before.flatMap {
      strays.scans ? StrayReferences(survey: survey, program: $0) : nil
    }
    let strayReferences = references?.ask(&counter) ?? []
    defects?.ask(&counter)
    try counter.count()
    self.defects = try defects?.defects(counter: counter)
    var losses = untakenLosses
    var found: (refusals: [Refusal], step: RowStep)?
    var counts: [ReferenceCounts] = []
    for step in open {
      let own = try step.refusals(counter: counter)
      if found == nil && !own.isEmpty { found = (own, step.step) }
      losses += try step.losses(counter: counter)
      counts.append(
        try ReferenceCounts(step.step.fates, view: step.view, reader: survey.reader))
    }
    losses += counts.flatMap(\.losses)
    if found == nil, let tables = before?.tables {
      let own = try schema.takeTriggers(
        of: survey.schema, by: tables, obstacles: open.map { $0.derivations(survey.reader) })
      if !own.isEmpty { found = (own, steps[steps.count - 1]) }
    }
    (refusals, refusedStep) = (found?.refusals ?? [], found?.step)
    program =
      refusals.isEmpty
      ? before.map {
        Self.completed(
          $0, from: survey.schema, to: schema, by: steps.map(\.mapping),
          keepsHistory: rules.keepsHistory)
      } : nil
    (self.references, self.schema) = (counts, schema)
    oneSided = try SharedReferences(survey: survey, destination: schema).defects(of: program)
    self.losses = try losses + strays.losses(strayRows, counter: counter)
    if let loss = try program.flatMap({ try strays.historyLoss(of: $0) }) {
      self.losses.append(loss)
    }
    knowsStrayReferences = strays.scans
    self.losses += try references?.losses(strayReferences, counter: counter) ?? []
  }

  /// Makes the functions that questions call known to a connection.
  private static func preparation(
    untakenKeys: RowKeys?, emptied: EmptiedReferences?, defects: DefectSearch.Open?
  ) -> (Database) throws -> Void {
    { db in
      RowView.prepare(db)
      emptied?.install(in: db)
      defects?.install(in: db)
      if let untakenKeys { RowKeyReader(untakenKeys).install(in: db) }
    }
  }

  /// Adds what is derived from the tables that a program makes, and history.
  private static func completed(
    _ program: MigrationProgram, from source: StoreSchema, to destination: StoreSchema,
    by mappings: [MappingModel], keepsHistory: Bool
  ) -> MigrationProgram {
    var result = program
    result.derived = DerivedCompiler(source: source, destination: destination)
      .recomputed(tables: program.tables)
    if keepsHistory {
      let compiler = HistoryCompiler(
        source: source, destination: destination, mappings: mappings)
      result.tables += compiler.programs(tables: program.tables)
    }
    return result
  }

  /// Evaluates the filters of a step, which is the only one where it has any: the keys of what they
  /// take, and the losses.
  ///
  /// - Throws: `RowFallback` where two mappings take an object and would put it into one table.
  static func filtered(
    _ steps: [RowStep], survey: StoreSurvey
  ) throws -> (untakenKeeper: UntakenRowKeeper?, losses: [Loss]) {
    guard let step = steps.first(where: \.isFiltered) else { return (nil, []) }
    let untakenKeeper = try UntakenRowKeeper(step, counts: survey.rowCounts)
    let losses = try CountedLosses(
      survey: survey, mappings: [step.mapping], to: step.destination
    ).divided(now: Date().timeIntervalSinceReferenceDate, untakenKeeper: untakenKeeper)
    try untakenKeeper.finish()
    return (untakenKeeper, losses)
  }

  /// The highest primary keys ever assigned, by root entity of the destination.
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

extension StoreSchema {
  /// The schema with the tables of history that a store has, tombstones for this model among them.
  func withHistory(of source: StoreSchema) -> StoreSchema {
    var result = self
    result.history = source.history?.grown(for: model)
    return result
  }

  /// Why triggers of open derivations cannot be kept: rows that their values were computed of are
  /// others now.
  func refusals(of triggers: [Trigger]) -> [Refusal] {
    triggers.compactMap { trigger in
      openDerivations.first { $0.isKept(by: trigger) }.map {
        Refusal(
          reason: .triggerCannotBeKept(trigger.name), entity: $0.entity, property: $0.attribute)
      }
    }
  }
}

/// A step whose conditions are being counted.
private struct OpenStep {
  let step: RowStep
  private let checker: ConditionChecker
  /// The rows with which the step begins.
  var view: RowView { checker.view }
  private let conditions: [(Condition, ConditionChecker.Question)]
  private let possibleLosses: [(PossibleLoss, ConditionChecker.LossQuestion)]
  /// Whether some condition is left to an index.
  let leavesConstraints: Bool

  init(
    step: RowStep, before: MigrationProgram?, after: MigrationProgram?, survey: StoreSurvey,
    emptied: EmptiedReferences?, rules: AssessmentRules, isOnly: Bool, counter: inout RowCounter
  ) {
    self.step = step
    let view = RowView(
      model: step.source.model, schema: step.source, program: before, counts: survey.rowCounts)
    let checker = ConditionChecker(
      view: view, destination: step.destination, mapping: step.mapping, reader: survey.reader,
      excludesUntaken: step.isFiltered, made: after,
      emptied: emptied.map { emptied in { emptied.test(entity: $0, relationship: $1) } })
    self.checker = checker
    let isInferred = step.calls == nil
    let asked = checker.questions(
      step.conditions + (isInferred || rules.requiresRules ? step.mandatoryReferences : []))
    let counted = asked.filter { condition, question in
      !(rules.leavesConstraints && isOnly)
        || !checker.isKeptByIndex(condition, question: question)
    }
    conditions = counted + (rules.scansAll ? checker.questions(step.keptConstraints) : [])
    self.leavesConstraints = counted.count < asked.count
    // Workers come across what is odd, in the rows of the store and not of a version between.
    let losses = step.possibleLosses.filter {
      rules.scansAll || !isOnly || !$0.isOfOddValues
    }
    possibleLosses = losses.compactMap { possible in
      checker.question(possible: possible).map { (possible, $0) }
    }
    for case (_, .rows(let question)) in conditions { counter.ask(question) }
    for case (_, .rows(let question)) in possibleLosses { counter.ask(question) }
  }

  /// Why derived attributes that only Core Data computes do not keep their values.
  func derivations(_ reader: StoreReader) -> (OpenDerivation) throws -> Refusal? {
    let kept = KeptDerivations(
      [step.mapping], from: step.source.model, to: step.destination.model)
    return view.derivations(kept, reader: reader)
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
