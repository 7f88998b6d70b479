import ObjectModel

/// What attributes, relationships and fetched properties have in common in an archive.
struct PropertyFacts {
  var isOptional: Bool
  var isTransient: Bool
  var isReadOnly = false
  var isOrdered = false
  var isIndexedBySpotlight = false
  var allowsCloudEncryption = false
  var versionHashModifier: String?
  var renamingIdentifier: String?
  var userInfo: [String: String]
  var opaqueUserInfo: [String: [UInt8]] = [:]

  var hasUserInfo: Bool { !userInfo.isEmpty || !opaqueUserInfo.isEmpty }

  /// The bit field `_P`; the upper four bits of its low byte are set for what a property lacks.
  var bits: Int64 {
    1 | (isOptional ? 0x02 : 0) | (isReadOnly ? 0x04 : 0) | (isTransient ? 0x08 : 0) | 0x30
      | (hasUserInfo ? 0 : 0x40) | (versionHashModifier == nil ? 0x80 : 0)
      | (isIndexedBySpotlight ? 0x100 : 0) | (isOrdered ? 0x400 : 0)
      | (allowsCloudEncryption ? 0x800 : 0)
  }
}

extension ManagedObjectModel {
  func allFetchedProperties(of entity: Entity) -> [FetchedProperty] {
    var seen: Set<String> = []
    return lineage(of: entity).flatMap(\.fetchedProperties).filter { seen.insert($0.name).inserted }
  }

  /// All indexes that the entity declares: of indexed attributes, compound ones and fetch indexes.
  func archivedIndexes(of entity: Entity) -> [FetchIndex] {
    let attributes = entity.attributes.filter(\.isIndexed).map(\.name).sorted()
    let derived = (attributes.map { [$0] } + entity.compoundIndexes).map { names in
      FetchIndex(name: names.joined(separator: "_"), elements: names.map { .init(property: $0) })
    }
    let taken = Set(entity.fetchIndexes.map(\.name))
    return derived.filter { !taken.contains($0.name) } + entity.fetchIndexes
  }

  /// The property names of each index of several attributes; indexes with a relationship are left
  /// out.
  func archivedCompounds(of entity: Entity, indexes: [FetchIndex]) -> [[String]] {
    let attributes = Set(allAttributes(of: entity).map(\.name))
    return indexes.map { $0.elements.compactMap(\.propertyName) }.filter {
      $0.count > 1 && attributes.isSuperset(of: $0)
    }
  }
}
