package import ObjectModel

extension ManagedObjectModel {
  /// Merges models, as an application does with those of its frameworks.
  ///
  /// - Throws: `ModelFileError` with `conflictingEntity`, if two define an entity differently.
  package static func merged(
    _ models: [ManagedObjectModel]
  ) throws(ModelFileError) -> ManagedObjectModel {
    var entities: [String: Entity] = [:]
    for entity in models.flatMap(\.entities) {
      if let known = entities.updateValue(entity, forKey: entity.name), known != entity {
        throw ModelFileError(.conflictingEntity, entity: entity.name)
      }
    }
    var result = try sound(Array(entities.values))
    result.versionIdentifiers = Set(models.flatMap(\.versionIdentifiers)).sorted()
    for model in models {
      for (name, members) in model.configurations {
        let all = Set(members).union(result.configurations[name] ?? [])
        result.configurations[name] = all.sorted()
      }
      result.fetchRequestTemplates.merge(model.fetchRequestTemplates) { first, _ in first }
      result.unread += model.unread
    }
    return result
  }

  /// The entities of one configuration, which a store of that configuration has.
  ///
  /// Superentities and destinations outside of the configuration are included, because version
  /// hashes depend on them. Whether Core Data numbers the entities within the configuration or
  /// within the whole model is not shown by any known file, so numbers are left open here.
  ///
  /// - Throws: `ModelFileError` with `configurationMissing`.
  package func restricted(
    toConfiguration name: String
  ) throws(ModelFileError) -> ManagedObjectModel {
    guard let members = configurations[name] else {
      throw ModelFileError(.configurationMissing(name))
    }
    var needed: Set<String> = []
    var open = members
    while let next = open.popLast() {
      guard needed.insert(next).inserted, let entity = entity(name: next) else { continue }
      open += entity.relationships.map(\.destinationEntityName)
      if let parent = entity.superentityName { open.append(parent) }
    }
    var result = try Self.sound(entities.filter { needed.contains($0.name) })
    result.versionIdentifiers = versionIdentifiers
    result.configurations = [name: members]
    result.unread = unread
    return result
  }

  /// The names and renaming identifiers of the entities that a restricted model lacks.
  package func names(leftOutOf restricted: ManagedObjectModel) -> Set<String> {
    let missing = entities.filter { restricted.entity(name: $0.name) == nil }
    return Set(missing.map(\.name) + missing.compactMap(\.renamingIdentifier))
  }

  private static func sound(_ entities: [Entity]) throws(ModelFileError) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(entities: entities)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
  }
}
