package import Mapping
import ObjectModel
package import Planning

/// The differences of the first and the last model of a route, computed on request.
package struct ComparedModels: Codable, Sendable {
  private enum Content: Sendable {
    /// The steps of each stage.
    case stages([[ComparedStep]])
    case comparison(ModelComparison)
  }

  private let content: Content

  /// Takes the stages of a route, which are not compared yet; nil without stages.
  init?(along stages: [Stage]) {
    guard !stages.isEmpty else { return nil }
    content = .stages(stages.map { $0.steps.map(\.compared) })
  }

  /// Their differences, paired along the route.
  package var comparison: ModelComparison {
    switch content {
    case .stages(let stages): ModelComparison(along: stages.flatMap(\.self))
    case .comparison(let found): found
    }
  }

  /// What entities of a stage's first model are called after it, as far as they have one name then;
  /// empty where that is not known any more.
  package func names(afterStage number: Int) -> [String: String] {
    guard case .stages(let stages) = content, stages.indices.contains(number - 1) else {
      return [:]
    }
    let pairs = RoutePairs.entities(along: stages[number - 1])
    return Dictionary(grouping: pairs.keys) { pairs[$0] ?? $0 }.compactMapValues {
      $0.count == 1 ? $0[0] : nil
    }
  }

  /// Decodes a comparison.
  package init(from decoder: any Decoder) throws {
    content = .comparison(try ModelComparison(from: decoder))
  }

  /// Encodes the comparison.
  package func encode(to encoder: any Encoder) throws { try comparison.encode(to: encoder) }
}

extension MigrationRoute.Step {
  /// The step as models are compared along it.
  package var compared: ComparedStep {
    ComparedStep(from: source.model, to: destination.model, by: mappings.map(\.mapping))
  }
}
