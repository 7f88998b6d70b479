package import ObjectModel

/// Which of the two models of a mapping is meant.
package enum MappingSide: String, Hashable, Sendable, Codable {
  /// The model of the store as it is, or the one that it is to have.
  case source, destination
}

/// Why a mapping does not belong to a model: an entity that is not the one it was made for.
package struct MappingMismatch: Error, Hashable, Sendable {
  /// In what the entity differs.
  package enum Reason: Hashable, Sendable {
    /// The model has no entity of that name.
    case entityMissing
    /// Nothing but the hashes is known of the version that the mapping was made for.
    case hashDiffers(expected: VersionHash, found: VersionHash)
    /// What changed since the mapping was made.
    case entityChanged([EntityDifference])
    /// The mapping lists a property that the entity does not have.
    case propertyMissing(String)
  }

  /// The name of the entity mapping.
  package var mapping: String
  /// The model to which the entity belongs.
  package var side: MappingSide
  /// The entity that the mapping names.
  package var entity: String
  /// In what it differs from the one that the mapping was made for.
  package var reason: Reason

  /// Takes the names as the mapping has them.
  package init(mapping: String, side: MappingSide, entity: String, reason: Reason) {
    self.mapping = mapping
    self.side = side
    self.entity = entity
    self.reason = reason
  }
}

extension MappingModel {
  /// Whether every mapping was made for these versions of the entities, as Core Data matches them.
  ///
  /// Entities that the mapping model does not mention may be of any version: several mapping models
  /// may share one step. A mapping model without mappings fits nothing.
  package func fits(
    source: [String: VersionHash], destination: [String: VersionHash]
  ) -> Bool {
    fits(.source, hashes: source) && fits(.destination, hashes: destination)
  }

  /// Whether every mapping was made for these versions of the entities of one side.
  package func fits(_ side: MappingSide, hashes: [String: VersionHash]) -> Bool {
    !entityMappings.isEmpty
      && entityMappings.allSatisfy { mapping in
        guard let entity = mapping.entityName(side: side) else { return true }
        guard let found = hashes[entity] else { return false }
        return mapping.versionHash(side: side).map { $0 == found } ?? true
      }
  }

  /// Every entity that is not of the version that the mappings were made for, and how it differs.
  ///
  /// `original` is the model that they were made for, where the file brings it along.
  package func mismatches(
    _ side: MappingSide, model: ManagedObjectModel, original: ManagedObjectModel? = nil
  ) -> [MappingMismatch] {
    let hashes = model.knownVersionHashes()
    var result: [MappingMismatch] = []
    for mapping in entityMappings {
      guard let name = mapping.entityName(side: side) else { continue }
      guard let entity = model.entity(name: name) else {
        result.append(
          .init(mapping: mapping.name, side: side, entity: name, reason: .entityMissing))
        continue
      }
      // A hash that is not known contradicts nothing.
      if let expected = mapping.versionHash(side: side), let found = hashes[name], expected != found
      {
        var differences: [EntityDifference] = []
        if let original, let old = original.entity(name: name) {
          differences = EntityDifference.differences(
            between: old, in: original, and: entity, in: model)
        }
        result.append(
          .init(
            mapping: mapping.name, side: side, entity: name,
            reason: differences.isEmpty
              ? .hashDiffers(expected: expected, found: found) : .entityChanged(differences)))
      } else if side == .destination {
        result += missingProperties(mapping, entity: entity, model: model)
      }
    }
    return result
  }

  private func missingProperties(
    _ mapping: EntityMapping, entity: Entity, model: ManagedObjectModel
  ) -> [MappingMismatch] {
    let attributes = Set(
      (model.allAttributes(of: entity) + model.allLeafAttributes(of: entity)).map(\.name))
    let relationships = Set(model.allRelationships(of: entity).map(\.name))
    let missing =
      mapping.attributeMappings.map(\.name).filter { !attributes.contains($0) }
      + mapping.relationshipMappings.map(\.name).filter { !relationships.contains($0) }
    return missing.map {
      .init(
        mapping: mapping.name, side: .destination, entity: entity.name, reason: .propertyMissing($0)
      )
    }
  }

  /// The mapping model with the hashes of these models' entities in every mapping, where known.
  package func stamped(
    source: ManagedObjectModel, destination: ManagedObjectModel
  ) -> MappingModel {
    let (old, new) = (source.knownVersionHashes(), destination.knownVersionHashes())
    var result = self
    for index in result.entityMappings.indices {
      let mapping = entityMappings[index]
      result.entityMappings[index].sourceVersionHash = mapping.sourceEntityName.flatMap { old[$0] }
      result.entityMappings[index].destinationVersionHash =
        mapping.destinationEntityName.flatMap { new[$0] }
    }
    return result
  }

  /// An inferred mapping model as Core Data names it: with hashes, and `IEM_Copy_` for entities
  /// that stay the same.
  package static func inferred(
    _ inference: MappingInference, source: ManagedObjectModel, destination: ManagedObjectModel
  ) -> MappingModel {
    var result = inference.mapping.stamped(source: source, destination: destination)
    for index in result.entityMappings.indices {
      let mapping = result.entityMappings[index]
      guard mapping.kind == .transform, let hash = mapping.sourceVersionHash,
        hash == mapping.destinationVersionHash, let name = mapping.destinationEntityName
      else { continue }
      result.entityMappings[index].kind = .copy
      result.entityMappings[index].name = "IEM_Copy_\(name)"
    }
    return result
  }
}

extension EntityMapping {
  /// The entity that the mapping names on a side; nil where it adds or removes one.
  package func entityName(side: MappingSide) -> String? {
    side == .source ? sourceEntityName : destinationEntityName
  }

  /// The version that the mapping was made for on a side; nil accepts any.
  package func versionHash(side: MappingSide) -> VersionHash? {
    side == .source ? sourceVersionHash : destinationVersionHash
  }
}
