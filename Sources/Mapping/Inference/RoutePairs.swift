package import ObjectModel

/// One step of a way from one model to another.
package struct ComparedStep: Sendable {
  /// The model before the step.
  package var source: ManagedObjectModel
  /// The model after it.
  package var destination: ManagedObjectModel
  /// The mapping models of the step; none where it is inferred.
  package var mappings: [MappingModel]

  /// Takes the models and the mapping models of a step.
  package init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel,
    by mappings: [MappingModel] = []
  ) {
    (self.source, self.destination, self.mappings) = (source, destination, mappings)
  }
}

/// Which entities and stored properties of a last model continue those of a first one, over all
/// steps of a way.
package struct RoutePairs: Hashable, Sendable {
  /// The entity of the first model by that of the last one.
  package private(set) var entities: [String: String] = [:]
  /// The property of the first model by that of the last one, in each entity of the last one.
  private(set) var properties: [String: [String: String]] = [:]

  /// Follows the steps of a way.
  ///
  /// - Precondition: there is one step at least.
  package init(along steps: [ComparedStep]) {
    precondition(!steps.isEmpty, "a way has a step")
    for (number, step) in steps.enumerated() {
      let next = Self(step)
      if number == 0 { self = next } else { self = following(next) }
    }
  }

  /// The entity of the first model by that of the last one.
  ///
  /// - Precondition: there is one step at least.
  package static func entities(along steps: [ComparedStep]) -> [String: String] {
    let pairs = steps.map { step in
      step.mappings.isEmpty
        ? RenamingMatch.entities(from: step.source, to: step.destination).sourceByDestination
        : Self(step).entities
    }
    return pairs.dropFirst().reduce(pairs[0]) { before, next in
      next.compactMapValues { before[$0] }
    }
  }

  private init(_ step: ComparedStep) {
    take(step.mappings)
    let matched = RenamingMatch.entities(from: step.source, to: step.destination)
    for (name, former) in matched.sourceByDestination where entities[name] == nil {
      guard let old = step.source.entity(name: former),
        let new = step.destination.entity(name: name),
        // Mapping models are silent on entities without objects.
        step.mappings.isEmpty || old.isAbstract && new.isAbstract
      else { continue }
      entities[name] = former
      properties[name] =
        PropertyMatch(
          source: step.source, old: old, destination: step.destination, new: new, entities: matched
        ).sourceByDestination
    }
  }

  private mutating func take(_ mappings: [MappingModel]) {
    for mapping in mappings.flatMap(\.entityMappings) {
      guard let old = mapping.sourceEntityName, let new = mapping.destinationEntityName else {
        continue
      }
      // Of several that make objects of one entity the one that keeps the name counts, or the
      // first.
      if let taken = entities[new], taken == new || old != new { continue }
      entities[new] = old
      var found: [String: String] = [:]
      for property in mapping.attributeMappings + mapping.relationshipMappings {
        switch property.origin {
        case .attribute(let name, _), .relationship(let name, _): found[property.name] = name
        case .standard, .constant, .computed: continue
        }
      }
      properties[new] = found
    }
  }

  private func following(_ next: Self) -> Self {
    var result = next
    result.entities = next.entities.compactMapValues { entities[$0] }
    result.properties = [:]
    for (name, between) in next.entities where entities[between] != nil {
      result.properties[name] = next.properties[name]?.compactMapValues {
        properties[between]?[$0]
      }
    }
    return result
  }
}
