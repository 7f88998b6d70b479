import Mapping
package import Planning
import RowPrograms
import Schema

/// Steps of a route that run over the data at once: from one store that is real to the next one.
package struct Stage: Sendable {
  package enum Work: Sendable {
    /// By one program, which is that of all steps together.
    case rows([RowStep])
    /// Object by object, by the mapping models of one step.
    case objects(MigrationRoute.Step)
  }

  /// Why the stage begins with a store of its own.
  package enum Cut: String, Codable, Sendable {
    /// A mapping model computes values, splits or joins entities or names a policy.
    case mappingModel
    /// What the step reads cannot be told from the store before.
    case notComposable
    /// It was asked for.
    case stepwise
  }

  package let work: Work
  /// nil for the first stage, which begins with the store itself.
  package let cut: Cut?

  package var steps: [MigrationRoute.Step] {
    switch work {
    case .rows(let steps): steps.map(\.step)
    case .objects(let step): [step]
    }
  }

  /// The mapping models that users gave for its steps.
  var mappings: [MappingModel] { steps.flatMap(\.mappings).map(\.mapping) }

  package var source: RouteVersion { steps[0].source }
  package var destination: RouteVersion { steps[steps.count - 1].destination }
}

extension MigrationRoute.Step {
  /// The step with all that its mappings of kind `copy` leave unsaid.
  fileprivate func completingCopies() -> Self {
    var result = self
    for index in mappings.indices {
      result.mappings[index].mapping = mappings[index].mapping.completingCopies(
        from: source.model, to: destination.model)
    }
    return result
  }
}

/// Cuts routes into stages.
struct StagePlanner {
  private(set) var stages: [Stage] = []
  private var open: [RowStep] = []
  private var composed: MigrationProgram?
  private var cut: Stage.Cut?

  /// - Parameters:
  ///   - source: the tables of the store under the names that it really uses.
  ///   - isStepwise: makes each step a stage.
  ///   - independentPolicies: those that declare it; nil has mapping models carried out object by
  ///     object whatever they say.
  ///   - joins: what is known of the names of join tables.
  init(
    route: MigrationRoute, source: StoreSchema, isStepwise: Bool,
    independentPolicies: Set<String>?, joins: JoinChoices
  ) throws {
    var schema = source
    for given in route.steps {
      let step = given.completingCopies()
      if step.mappings.isEmpty {
        let next = try RowStep(step: step, source: schema, joins: joins)
        schema = next.destination
        add(next, isStepwise: isStepwise)
      } else if let independentPolicies,
        let next = try RowStep(
          step: step, source: schema, independentPolicies: independentPolicies, joins: joins)
      {
        schema = next.destination
        add(next, isStepwise: isStepwise)
      } else {
        schema = try joins.destination(of: step, by: step.mappings.map(\.mapping), from: schema)
          .schema
        close(before: .mappingModel)
        if stages.isEmpty { cut = nil }
        stages.append(Stage(work: .objects(step), cut: cut))
        cut = .mappingModel
      }
    }
    close(before: nil)
  }

  private mutating func add(_ next: RowStep, isStepwise: Bool) {
    if !open.isEmpty {
      if isStepwise {
        close(before: .stepwise)
      } else if next.isComputed || open.contains(where: \.isComputed) {
        close(before: .mappingModel)
      } else if let before = composed, let program = next.program,
        let both = ProgramComposer(first: before, then: program, destination: next.destination)
          .compose()
      {
        open.append(next)
        composed = both
        return
      } else {
        close(before: .notComposable)
      }
    }
    open = [next]
    composed = next.program
  }

  private mutating func close(before next: Stage.Cut?) {
    if !open.isEmpty {
      stages.append(Stage(work: .rows(open), cut: cut))
      cut = next
    }
    (open, composed) = ([], nil)
  }
}
