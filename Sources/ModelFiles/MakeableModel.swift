import ObjectModel

// The model compiler makes none of these models, so Core Data shows no behaviour for them.
extension ManagedObjectModel {
  /// Checks that no entity declares a property of an entity above it again, and that inverse
  /// relationships name each other.
  ///
  /// - Parameter declared: the entities as their source declares them, with relationships that the
  ///   model lacks.
  /// - Throws: `ModelFileError` with `notAModel`.
  func requireMakeable(_ declared: [Entity]) throws(ModelFileError) {
    let byName = Dictionary(declared.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for entity in entities {
      try requireNewNames(of: entity)
      for relationship in byName[entity.name]?.relationships ?? [] {
        guard let name = relationship.inverseName else { continue }
        try requireInverse(name, of: relationship, in: entity, declared: byName)
      }
    }
  }

  private func requireNewNames(of entity: Entity) throws(ModelFileError) {
    for ancestor in lineage(of: entity).dropFirst() {
      let names = Set(ancestor.propertyNames)
      if let name = entity.propertyNames.first(where: names.contains) {
        throw fault(.propertyDeclaredAbove(ancestor.name), entity.name, name)
      }
    }
  }

  private func requireInverse(
    _ name: String, of relationship: Relationship, in entity: Entity,
    declared: [String: Entity]
  ) throws(ModelFileError) {
    // A destination that is not there is a part that cannot be read.
    guard let destination = self.entity(name: relationship.destinationEntityName) else { return }
    let found = lineage(of: destination).lazy.compactMap { level in
      declared[level.name]?.relationships.first { $0.name == name }
    }.first
    // The element of the inverse itself may be one that cannot be read.
    guard let found else {
      if lineage(of: destination).contains(where: { !$0.unread.isEmpty }) { return }
      throw fault(.inverseMissing(name), entity.name, relationship.name)
    }
    guard found.inverseName == relationship.name,
      inherit(found.destinationEntityName, entity.name)
    else {
      throw fault(
        .inverseDiffers("\(destination.name).\(name)"), entity.name, relationship.name)
    }
  }

  /// Whether two entities are one, or one inherits from the other.
  private func inherit(_ first: String, _ second: String) -> Bool {
    isKind(first, of: second) || isKind(second, of: first)
  }

  private func fault(
    _ problem: ModelError.Problem, _ entity: String, _ property: String
  ) -> ModelFileError {
    let error = ModelError(problem: problem, entity: entity, property: property)
    return ModelFileError(.notAModel(error), entity: entity, property: property)
  }
}

extension Entity {
  /// The names of all properties that the entity declares.
  fileprivate var propertyNames: [String] {
    attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
  }
}
