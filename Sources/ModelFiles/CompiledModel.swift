import Expressions
import KeyedArchives
package import ObjectModel

/// Reads archived models: `.mom` files, and the model caches of stores.
package enum CompiledModel {
  /// Reads the model of an archive; entities have only the properties that they declare themselves.
  ///
  /// - Throws: `ModelFileError`, if the archive is damaged or not of a model.
  package static func model(
    decoding bytes: [UInt8]
  ) throws(ModelFileError) -> ManagedObjectModel {
    let archive: KeyedArchive
    do {
      archive = try KeyedArchive(decoding: bytes)
    } catch {
      throw ModelFileError(.damagedArchive(error))
    }
    guard try archive.class(of: archive.root) == "NSManagedObjectModel",
      let entries = try archive.dictionary(key: "NSEntities", of: archive.root)
    else { throw ModelFileError(.notAModelArchive) }
    var reader = ArchivedEntities(archive)
    var entities: [Entity] = []
    for (name, id) in entries { entities.append(try reader.entity(name: name, id: id)) }
    var model: ManagedObjectModel
    do {
      model = try ManagedObjectModel(entities: withoutInherited(entities).withoutLooseEnds)
    } catch {
      throw ModelFileError(.notAModel(error), entity: error.entity, property: error.property)
    }
    model.versionIdentifiers =
      try archive.members(key: "NSVersionIdentifiers", of: archive.root)?
      .compactMap { archive.string(id: $0) }.sorted() ?? []
    try readConfigurations(archive, into: &model)
    let templates = try UnreadPart.attempt(.fetchRequest, noting: &model.unread) {
      () throws(ModelFileError) in
      try archive.dictionary(key: "NSFetchRequestTemplates", of: archive.root) ?? []
    }
    for (name, id) in templates ?? [] {
      var unread: [UnreadPart] = []
      let request = try UnreadPart.attempt(.fetchRequest, name: name, noting: &model.unread) {
        () throws(ModelFileError) in try reader.fetchRequest(id: id, named: name, noting: &unread)
      }
      model.unread += unread
      model.fetchRequestTemplates[name] = request
    }
    return model
  }

  private static func readConfigurations(
    _ archive: KeyedArchive, into model: inout ManagedObjectModel
  ) throws(ModelFileError) {
    let configurations = try UnreadPart.attempt(.configuration, noting: &model.unread) {
      () throws(ModelFileError) in
      try archive.dictionary(key: "NSConfigurations", of: archive.root) ?? []
    }
    for (name, id) in configurations ?? [] {
      let members = try UnreadPart.attempt(.configuration, name: name, noting: &model.unread) {
        () throws(ModelFileError) in
        var members: [String] = []
        for member in try archive.members(of: id) {
          members.append(try archive.requiredText("NSEntityName", of: member))
        }
        return members
      }
      model.configurations[name] = members?.sorted()
    }
  }

  /// Removes inherited properties, which model caches repeat in full in every subentity.
  ///
  /// A repeated property equals that of the superentity, whether that declares or inherits it.
  private static func withoutInherited(_ entities: [Entity]) -> [Entity] {
    let byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    return entities.map { entity in
      guard let parent = entity.superentityName.flatMap({ byName[$0] }), entity.hasProperties
      else { return entity }
      var own = entity
      let inherited = (
        Set(parent.attributes.map(\.bare)), Set(parent.relationships.map(\.bare)),
        Set(parent.fetchedProperties.map(\.bare))
      )
      own.attributes.removeAll { inherited.0.contains($0.bare) }
      own.relationships.removeAll { inherited.1.contains($0.bare) }
      own.fetchedProperties.removeAll { inherited.2.contains($0.bare) }
      return own
    }
  }
}

extension Entity {
  fileprivate var hasProperties: Bool {
    !(attributes.isEmpty && relationships.isEmpty && fetchedProperties.isEmpty)
  }
}

// Two archives of equal objects may differ in the order of members, so archived forms are not
// compared; nor is the index flag, which a subentity may have on a property that it inherits.

extension Attribute {
  fileprivate var bare: Attribute {
    var result = self
    result.opaqueDefault = nil
    result.isIndexed = false
    result.opaqueUserInfo = [:]
    return result
  }
}

extension Relationship {
  fileprivate var bare: Relationship {
    var result = self
    result.opaqueUserInfo = [:]
    return result
  }
}

extension FetchedProperty {
  fileprivate var bare: FetchedProperty {
    var result = self
    result.opaqueUserInfo = [:]
    result.request.opaquePredicate = nil
    return result
  }
}
