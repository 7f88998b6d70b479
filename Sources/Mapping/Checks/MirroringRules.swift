import Expressions
package import ObjectModel

/// Compares two models as CloudKit does: existing parts stay unchanged, and new parts require
/// nothing of existing objects.
package struct MirroringRules {
  private let mapping: MappingModel
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  /// All obstacles, by entity and property.
  package private(set) var refusals: [Refusal] = []

  /// Compares the models of one step, under its inferred mapping or its mapping model.
  package init(
    _ mapping: MappingModel, from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) {
    (self.mapping, self.source, self.destination) = (mapping, source, destination)
    for entity in source.entities {
      let mappings = mapping.entityMappings.filter {
        $0.sourceEntityName == entity.name && $0.destinationEntityName != nil
      }
      if let other = mappings.first(where: { $0.destinationEntityName != entity.name }) {
        change(.entityRenamed(to: other.destinationEntityName ?? ""), entity.name)
      } else if let new = destination.entity(name: entity.name) {
        if mappings.isEmpty, !entity.isAbstract { note(.objectsLeftOut, entity.name) }
        compare(entity, to: new, mapping: mappings.first)
      }
    }
    for entity in destination.entities where source.entity(name: entity.name) == nil {
      for attribute in entity.leafAttributes where attribute.isStored {
        if attribute.isDemanding { change(.mandatory, entity.name, attribute.name) }
      }
      for relationship in entity.relationships where !relationship.isTransient {
        check(new: relationship, of: entity.name)
      }
      for constraint in entity.uniquenessConstraints {
        change(.constraint(constraint), entity.name)
      }
    }
  }

  private mutating func note(
    _ obstacle: MirroringObstacle, _ entity: String, _ property: String? = nil
  ) {
    let refusal = Refusal(reason: .mirroring(obstacle), entity: entity, property: property)
    if !refusals.contains(refusal) { refusals.append(refusal) }
  }

  private mutating func change(
    _ change: MirroringObstacle.Change, _ entity: String, _ property: String? = nil
  ) {
    note(.changed(change), entity, property)
  }

  // MARK: Entities

  private mutating func compare(_ old: Entity, to new: Entity, mapping: EntityMapping?) {
    if old.superentityName != new.superentityName { change(.superentityChanged, old.name) }
    if !old.isAbstract, new.isAbstract { change(.entityBecameAbstract, old.name) }
    if mapping?.ownPolicyClassName != nil { note(.valuesChanged, old.name) }
    compareAttributes(old, to: new, mapping: mapping)
    compareRelationships(old, to: new, mapping: mapping)
    let before = Set(source.lineage(of: old).flatMap(\.uniquenessConstraints).map(Set.init))
    for constraint in new.uniquenessConstraints where !before.contains(Set(constraint)) {
      change(.constraint(constraint), new.name)
    }
  }

  private mutating func compareAttributes(
    _ old: Entity, to new: Entity, mapping: EntityMapping?
  ) {
    let before = source.allLeafAttributes(of: old).filter(\.isStored)
    let after = destination.allLeafAttributes(of: new).filter(\.isStored)
    let origins = mapping?.attributeMappings.map { ($0.name, $0.origin) } ?? []
    for attribute in old.leafAttributes where attribute.isStored {
      guard let other = after.first(where: { $0.name == attribute.name }) else {
        let heir = origins.first { $0.1.attributeName == attribute.name }
        change(
          heir.map { .propertyRenamed(to: $0.0) } ?? .propertyRemoved, old.name, attribute.name)
        continue
      }
      if attribute.type != other.type {
        change(
          .typeChanged(source: attribute.type.name, destination: other.type.name), old.name,
          attribute.name)
      }
      if attribute.allowsCloudEncryption != other.allowsCloudEncryption {
        change(.encryption, old.name, attribute.name)
      }
      if other.isDemanding, !attribute.isDemanding { change(.mandatory, old.name, attribute.name) }
    }
    for attribute in new.leafAttributes where attribute.isStored {
      guard before.contains(where: { $0.name == attribute.name }) else {
        if attribute.isDemanding { change(.mandatory, new.name, attribute.name) }
        continue
      }
    }
    for (name, origin) in origins where after.contains(where: { $0.name == name }) {
      let isOld = before.contains { $0.name == name }
      switch origin {
      case .attribute(let other, _):
        if isOld, other != name { change(.propertyRenamed(to: name), old.name, other) }
      case .computed: note(.valuesChanged, old.name, name)
      case .standard, .constant, .relationship:
        if isOld { note(.valuesChanged, old.name, name) }
      }
    }
  }

  // MARK: Relationships

  private mutating func compareRelationships(
    _ old: Entity, to new: Entity, mapping: EntityMapping?
  ) {
    let before = source.allRelationships(of: old).filter { !$0.isTransient }
    let after = destination.allRelationships(of: new).filter { !$0.isTransient }
    let origins = mapping?.relationshipMappings.map { ($0.name, $0.sourceRelationshipName) } ?? []
    for relationship in old.relationships where !relationship.isTransient {
      // What leads to an entity that goes, goes with it.
      let target = relationship.destinationEntityName
      let heir = self.mapping.destinationName(ofSource: target)
      if heir == nil, destination.entity(name: target) == nil { continue }
      guard let other = after.first(where: { $0.name == relationship.name }) else {
        let heir = origins.first { $0.1 == relationship.name }
        change(
          heir.map { .propertyRenamed(to: $0.0) } ?? .propertyRemoved, old.name,
          relationship.name)
        continue
      }
      if other.destinationEntityName != heir ?? target || other.isToMany != relationship.isToMany {
        change(.relationshipChanged, old.name, relationship.name)
      }
      if other.isOrdered, !relationship.isOrdered { change(.ordered, old.name, relationship.name) }
      if other.isDemanding, !relationship.isDemanding {
        change(.mandatory, old.name, relationship.name)
      }
    }
    for relationship in new.relationships where !relationship.isTransient {
      if before.contains(where: { $0.name == relationship.name }) { continue }
      check(new: relationship, of: new.name)
    }
    for (name, origin) in origins where before.contains(where: { $0.name == name }) {
      guard after.contains(where: { $0.name == name }) else { continue }
      if origin == nil { note(.valuesChanged, old.name, name) }
      if let origin, origin != name { change(.propertyRenamed(to: name), old.name, origin) }
    }
  }

  private mutating func check(new relationship: Relationship, of entity: String) {
    if relationship.isOrdered { change(.ordered, entity, relationship.name) }
    if relationship.isDemanding { change(.mandatory, entity, relationship.name) }
  }
}

extension Attribute {
  /// Whether iCloud keeps its values.
  fileprivate var isStored: Bool { !isTransient }

  /// Whether an object must have a value, and a new one has none.
  fileprivate var isDemanding: Bool {
    !isOptional && defaultValue == .null && unreadDefault == nil && derivation == nil
  }
}

extension Relationship {
  /// Whether an object must lead to another one.
  fileprivate var isDemanding: Bool { !isOptional }
}
