package import Mapping
package import Planning
import Survey

/// Steps of a route that run over the data at once, from one store to the next.
package struct Stage: Sendable {
  /// How the stage makes its rows.
  package enum Method: Sendable {
    /// By one program, composed from those of all steps.
    case rows([RowStep])
    /// Object by object, by the mapping models of one step; nil if requested.
    case objects(MigrationRoute.Step, because: RowFallback?)
  }

  /// Why a stage does not continue the one before it, but starts from a store of its own.
  package enum Cut: String, Codable, Sendable {
    /// A mapping model computes values, splits or joins entities, or names a policy.
    case mappingModel
    /// The step cannot be expressed in terms of the rows before the previous steps.
    case notComposable
    /// The request requires a store of every version.
    case stepwise
  }

  /// How the stage makes its rows.
  package let method: Method
  /// Why the stage begins here, nil for the first one.
  package let cut: Cut?
  /// What is known of the names of join tables before the stage.
  let joins: JoinChoices
  /// What choices changed in the store with which it begins.
  var repaired: [Defect] = []
  /// The losses of repairing the store with which the stage begins.
  var lostByChoice: [Loss] = []

  /// The steps in their order, at least one.
  package var steps: [MigrationRoute.Step] {
    switch method {
    case .rows(let steps): steps.map(\.step)
    case .objects(let step, _): [step]
    }
  }

  /// The mapping models given for its steps.
  var mappings: [MappingModel] { steps.flatMap(\.mappings).map(\.mapping) }

  /// The stage object by object.
  func falling(back fallback: RowFallback) -> Stage {
    Stage(
      method: .objects(steps[0], because: fallback), cut: cut, joins: joins, repaired: repaired,
      lostByChoice: lostByChoice)
  }

  /// The stage for the objects of its store: only they show whether two filters take one of them.
  func decided(in survey: StoreSurvey) throws -> Stage {
    guard case .rows(let steps) = method, let step = steps.first,
      step.calls?.exclusive.isEmpty == false
    else { return self }
    do {
      _ = try RowAssessment.filtered(steps, survey: survey)
      return self
    } catch let fallback as RowFallback {
      return falling(back: fallback)
    }
  }

  /// The version with which the stage begins.
  package var source: RouteVersion { steps[0].source }
  /// The version with which the stage ends.
  package var destination: RouteVersion { steps[steps.count - 1].destination }
}
