import Expressions
package import ObjectModel

extension MappingModel {
  /// The mapping model with all that its mappings of kind `copy` leave unsaid: such a mapping
  /// copies every property that both entities have, whether or not its file lists it.
  ///
  /// What is listed stays as it is, a property that is listed without an expression included.
  package func completingCopies(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> MappingModel {
    let completion = CopyCompletion(mapping: self, source: source, destination: destination)
    return MappingModel(entityMappings: entityMappings.map(completion.completed))
  }
}

/// Fills in what mappings of kind `copy` do not list.
private struct CopyCompletion {
  let mapping: MappingModel
  let source: ManagedObjectModel
  let destination: ManagedObjectModel

  func completed(_ entityMapping: EntityMapping) -> EntityMapping {
    guard entityMapping.kind == .copy,
      let old = entityMapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
      let new = entityMapping.destinationEntityName.flatMap({ destination.entity(name: $0) })
    else { return entityMapping }
    var result = entityMapping
    let match = PropertyMatch(
      source: source, old: old, destination: destination, new: new,
      entities: RenamingMatch.entities(from: source, to: destination))
    // What is only sorted is copied too.
    let sorted = entityMapping.relationshipMappings.filter {
      $0.valueExpression == nil && !$0.sortedBy.isEmpty
    }.map(\.name)
    let listed = Set(
      (entityMapping.attributeMappings + entityMapping.relationshipMappings).map(\.name)
    ).subtracting(sorted)
    for attribute in match.newAttributes where !listed.contains(attribute.name) {
      guard let before = match.oldAttribute(for: attribute.name), isCopied(before, new: attribute)
      else { continue }
      let replaces = before.isOptional && !attribute.isOptional
      var property = PropertyMapping(
        name: attribute.name,
        valueExpression: .source(
          name: before.name, replacingNull: replaces ? attribute.defaultValue : .null))
      property.readsElement = before.isElement
      result.attributeMappings.append(property)
    }
    for relationship in match.newRelationships where !listed.contains(relationship.name) {
      guard let before = match.oldRelationship(for: relationship.name),
        before.isToMany == relationship.isToMany,
        !isSaidOtherwise(relationship, continuing: before, by: entityMapping),
        let expression = objects(for: relationship, continuing: before)
      else { continue }
      if let place = result.relationshipMappings.firstIndex(where: {
        $0.name == relationship.name
      }) {
        result.relationshipMappings[place].valueExpression = expression
      } else {
        result.relationshipMappings.append(
          PropertyMapping(name: relationship.name, valueExpression: expression))
      }
    }
    return result
  }

  /// Whether a copy has the values: those that are derived in another way are computed again.
  private func isCopied(_ old: Attribute, new: Attribute) -> Bool {
    new.derivation.map { $0.isSame(as: old.derivation) } != false
      && (old.type == new.type || (old.type.isNumeric && new.type.isNumeric))
  }

  /// The expression for the objects that those of a relationship become, as far as the new one can
  /// hold them; nil if it can hold none.
  private func objects(
    for relationship: Relationship, continuing before: Relationship
  ) -> ValueExpression? {
    let makers = mapping.entityMappings.filter { $0.newObjects == nil }
    let takers = makers.filter {
      $0.makesObjects && source.isKind($0.sourceEntityName, of: before.destinationEntityName)
    }
    let fitting = takers.filter {
      destination.isKind($0.destinationEntityName, of: relationship.destinationEntityName)
    }
    if fitting.isEmpty, !takers.isEmpty { return nil }
    if fitting.count == 1, takers.count > 1 {
      return .destinations(ofRelationship: before.name, mapping: fitting[0].name)
    }
    return ImplicitExpressions(
      mappings: makers.map { ($0.name, $0.sourceEntityName, $0.destinationEntityName) },
      source: source, destination: destination
    ).destinations(of: before, as: relationship)
  }

  /// Whether a mapping of the objects at the other end differs from a copy.
  private func isSaidOtherwise(
    _ relationship: Relationship, continuing before: Relationship, by entityMapping: EntityMapping
  ) -> Bool {
    mapping.mappings(ofOtherEnd: relationship, in: destination).contains { other in
      if other.valueExpression == nil { return false }
      guard case .relationship(let back, let name) = other.origin else { return true }
      return back != before.inverseName || !(name == nil || name == entityMapping.name)
    }
  }
}
