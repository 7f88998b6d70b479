package import ObjectModel

extension ManagedObjectModel {
  /// One model of several, as an application merges those of its frameworks.
  ///
  /// An entity that several define alike counts once; one that they define differently is an error.
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

  /// The entities of one configuration, by which a store of that configuration is stamped.
  ///
  /// A superentity or a destination outside of the configuration comes along: without it the
  /// entities would not be what their hashes say. Whether Core Data numbers the entities of such a
  /// store within the configuration or within the whole model is not settled by any known file, so
  /// nothing here says which numbers they get.
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

  private static func sound(_ entities: [Entity]) throws(ModelFileError) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(entities: entities)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
  }
}
