package import Mapping
import ObjectModel
package import Planning
package import RowPrograms
package import Schema

/// One step of a route whose rows are made by a program.
package struct RowStep: Sendable {
  /// The versions and the mapping models of the step.
  package let step: MigrationRoute.Step
  /// The tables before the step; for the first step under the names in the store.
  package let source: StoreSchema
  /// The tables after the step.
  package let destination: StoreSchema
  /// The inferred mapping, or that of the step's only mapping model.
  package let mapping: MappingModel
  /// Why the mapping cannot be inferred; empty if it can, and for a mapping model.
  package let refusals: [Refusal]
  /// What the rows have to satisfy for the step to be possible.
  package let conditions: [Condition]
  /// Conditions that the store's own model has too, so they are checked only if all rows are.
  private(set) var keptConstraints: [Condition] = []
  /// The conditions that mandatory to-one relationships of the rows have an object.
  let mandatoryReferences: [Condition]
  /// What the rows lose if they have it, to be counted.
  package let possibleLosses: [PossibleLoss]
  /// Makes the rows of the destination; nil if there are refusals or `unmakeable` relationships.
  package let program: MigrationProgram?
  /// The expressions and policies of the mapping model, nil if the mapping is inferred.
  package let calls: RowCalls?
  /// Relationships whose columns in the source cannot become those of the destination.
  let unmakeable: [CompileError.Place]
  /// What is known of the names of join tables before the step.
  let joins: JoinChoices
  /// The join tables of the destination whose names are assumed.
  let joinChoices: [JoinContinuation.Choice]

  /// Infers the mapping and compiles it.
  ///
  /// - Parameter source: the tables under the names in the store.
  init(
    step: MigrationRoute.Step, source: StoreSchema, joins: JoinChoices = .none
  ) throws {
    let inference = MappingInference(from: step.source.model, to: step.destination.model)
    try self.init(
      step: step, source: source, mapping: inference.mapping, refusals: inference.refusals,
      conditions: inference.conditions,
      possibleLosses: inference.possibleLosses.map { step.marked($0) }, calls: nil, joins: joins)
    keptConstraints = inference.keptConstraints
  }

  /// Compiles the mapping model of the step.
  ///
  /// - Throws: `RowFallback`, if its objects depend on each other, or there are several.
  init(
    step: MigrationRoute.Step, source: StoreSchema, independentPolicies: Set<String>,
    allowsFilters: Bool, validates: Bool, joins: JoinChoices
  ) throws {
    let mapping = step.mappings[0].mapping
    guard step.mappings.count == 1 else {
      throw RowFallback(reason: .several, mapping: mapping.entityMappings.first?.name ?? "")
    }
    let calls = try RowCalls(
      mapping: mapping, source: step.source.model, destination: step.destination.model,
      independentPolicies: independentPolicies, allowsFilters: allowsFilters,
      validates: validates)
    try self.init(
      step: step, source: source, mapping: mapping, refusals: step.mappedRefusals,
      conditions: step.conditions(besides: calls.conditions),
      possibleLosses: calls.losses.possible.map { step.marked($0) },
      calls: calls, joins: joins)
    if program == nil, refusals.isEmpty {
      let place = unmakeable.first
      throw RowFallback(
        reason: .columns, mapping: place?.entity ?? "", property: place?.property)
    }
  }

  private init(
    step: MigrationRoute.Step, source: StoreSchema, mapping: MappingModel,
    refusals: [Refusal], conditions: [Condition], possibleLosses: [PossibleLoss],
    calls: RowCalls?, joins: JoinChoices
  ) throws {
    self.step = step
    self.source = source
    self.joins = joins
    (destination, joinChoices) = try joins.destination(of: step, by: [mapping], from: source)
    self.mapping = mapping
    self.refusals = refusals
    self.conditions = conditions
    mandatoryReferences = mapping.mandatoryReferences(
      from: step.source.model, to: step.destination.model)
    self.possibleLosses = possibleLosses
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

  /// What becomes of references.
  var fates: ReferenceFates {
    ReferenceFates(
      models: [mapping], source: step.source.model, destination: step.destination.model,
      isByRows: true, isInferred: calls == nil || step.inferred != nil
    ) { step.marked($0).cause }
  }

  /// The program of steps that run over the data at once; nil where there is none.
  static func composed(_ steps: [RowStep]) -> MigrationProgram? {
    steps.dropFirst().reduce(steps.first?.program) { before, step in
      before.flatMap { composed($0, then: step) }
    }
  }

  /// The program of what comes before and a step; of the step alone where nothing does.
  static func composed(_ before: MigrationProgram?, then step: RowStep) -> MigrationProgram? {
    step.program.flatMap { next in
      guard let before else { return next }
      return ProgramComposer(first: before, then: next, destination: step.destination).compose()
    }
  }

  /// Whether it takes a store of its own to begin with.
  var needsStore: Bool { isComputed || calls?.isDivided == true || makesOneOfMany }

  /// Whether a to-many relationship becomes a to-one, of whose objects a choice may keep the first.
  private var makesOneOfMany: Bool {
    conditions.contains { if case .singleObject = $0.demand { true } else { false } }
  }

  /// Whether all rows of an entity get the same value, which is not nil.
  var hasConstants: Bool {
    let columns = program?.tables.flatMap(\.columns) ?? []
    return columns.flatMap(\.operations).contains { operation in
      if case .constant(let value) = operation { value != .null } else { false }
    }
  }

  /// Whether mappings choose among the rows of this very step's source.
  var isFiltered: Bool { calls?.isFiltered ?? false }

  /// Whether expressions or policies compute values, which takes source objects of this very step.
  var isComputed: Bool { calls.map { !$0.isEmpty } ?? false }
}

extension MigrationRoute.Step {
  /// What the objects have to satisfy: what its mapping models demand, and what is left of an
  /// inference, which words the same in its own way.
  func conditions(besides others: [Condition]) -> [Condition] {
    guard let inferred else { return others }
    return inferred.conditions
      + others.filter { other in
        !inferred.conditions.contains {
          $0 == other
            || (other.property != nil && $0.property == other.property
              && $0.destinationEntity == other.destinationEntity)
        }
      }
  }
}
