package import Mapping
import ObjectModel
package import Planning
package import RowPrograms
package import Schema

/// One step of a route whose rows are made by a program.
package struct RowStep: Sendable {
  package let step: MigrationRoute.Step
  package let source: StoreSchema
  package let destination: StoreSchema
  package let mapping: MappingModel
  package let refusals: [Refusal]
  package let conditions: [Condition]
  package let possibleLosses: [PossibleLoss]
  /// What no expression reads, and an independent policy may read.
  package let openLosses: [PossibleLoss]
  /// nil where refusals or forms of relationships keep it from being made.
  package let program: MigrationProgram?
  /// What expressions and policies of a mapping model compute; nil where the mapping is inferred.
  package let calls: RowCalls?
  /// The relationships whose form in the source cannot become the one in the destination.
  let unmakeable: [CompileError.Place]
  /// Names of join tables that nothing proves.
  let joinChoices: [JoinContinuation.Choice]

  /// Infers and compiles; `source` has the names that the store really uses.
  init(
    step: MigrationRoute.Step, source: StoreSchema, joins: JoinChoices = .none
  ) throws {
    let inference = MappingInference(from: step.source.model, to: step.destination.model)
    try self.init(
      step: step, source: source, mapping: inference.mapping, refusals: inference.refusals,
      conditions: inference.conditions,
      possibleLosses: inference.possibleLosses.map { step.marked($0) }, openLosses: [],
      calls: nil, joins: joins)
  }

  /// Compiles the mapping model of the step; nil where it does not go row by row.
  init?(
    step: MigrationRoute.Step, source: StoreSchema, independentPolicies: Set<String>,
    joins: JoinChoices
  ) throws {
    guard step.mappings.count == 1 else { return nil }
    let mapping = step.mappings[0].mapping
    let calls: RowCalls
    do {
      calls = try RowCalls(
        mapping: mapping, source: step.source.model, destination: step.destination.model,
        independentPolicies: independentPolicies)
    } catch {
      return nil
    }
    try self.init(
      step: step, source: source, mapping: mapping, refusals: [], conditions: calls.conditions,
      possibleLosses: calls.losses.possible, openLosses: calls.losses.open, calls: calls,
      joins: joins)
    if program == nil { return nil }
  }

  private init(
    step: MigrationRoute.Step, source: StoreSchema, mapping: MappingModel,
    refusals: [Refusal], conditions: [Condition], possibleLosses: [PossibleLoss],
    openLosses: [PossibleLoss], calls: RowCalls?, joins: JoinChoices
  ) throws {
    self.step = step
    self.source = source
    (destination, joinChoices) = try joins.destination(of: step, by: [mapping], from: source)
    self.mapping = mapping
    self.refusals = refusals
    self.conditions = conditions
    self.possibleLosses = possibleLosses
    self.openLosses = openLosses
    self.calls = calls
    do {
      program = try ProgramCompiler(
        mapping: mapping, source: source, destination: destination, calls: calls
      ).compile()
      unmakeable = []
    } catch {
      program = nil
      unmakeable = error.places
    }
  }

  /// Whether values are computed, which takes the step's source objects.
  var isComputed: Bool { calls.map { !$0.isEmpty } ?? false }
}
