import Expressions
import ObjectModel

/// Finds names of new objects and of sorted relationships that do not exist.
struct NewObjectCheck {
  let model: MappingModel
  let source: ManagedObjectModel
  let destination: ManagedObjectModel

  /// All problems, in the order of the mappings.
  var problems: [MappingProblem] { model.entityMappings.flatMap(problems(of:)) }

  private func problems(of mapping: EntityMapping) -> [MappingProblem] {
    guard let new = mapping.destinationEntityName.flatMap({ destination.entity(name: $0) }) else {
      return []
    }
    let old = mapping.sourceEntityName.flatMap { source.entity(name: $0) }
    var found: [MappingProblem] = []
    func note(_ reason: MappingProblem.Reason, _ property: String?) {
      found.append(MappingProblem(mapping: mapping.name, property: property, reason: reason))
    }
    if let objects = mapping.newObjects {
      let member = member(of: objects, from: old) { note($0, objects.pairRelationship) }
      if let name = objects.attribute { checkAttribute(name, mapping, of: new, note: note) }
      for (name, owner) in [
        (objects.sourceRelationship, old), (objects.memberRelationship, member),
      ] {
        if let name { check(name, of: new, holds: owner, mapping: mapping, note: note) }
      }
      if let old, old.isAbstract {
        let concrete = source.family(of: old.name).filter { !$0.isAbstract }.map(\.name)
        note(.abstractSource(old.name, concrete: concrete.sorted()), nil)
      }
      if new.isAbstract { note(.abstractDestination(new.name), nil) }
      checkMember(mapping, member: member, isPair: objects.pairRelationship != nil, note: note)
    } else {
      checkMember(mapping, member: nil, isPair: false, note: note)
    }
    for property in mapping.relationshipMappings where !property.sortedBy.isEmpty {
      check(sorted: property, of: new, note: note)
    }
    return found
  }

  /// The entity at the other end of the pairs.
  private func member(
    of objects: NewObjects, from old: Entity?, note: (MappingProblem.Reason) -> Void
  ) -> Entity? {
    guard let name = objects.pairRelationship, let old else { return nil }
    guard let relationship = source.relationship(named: name, of: old)
    else {
      note(.sourcePropertyMissing(entity: old.name, property: name))
      return nil
    }
    return source.entity(name: relationship.destinationEntityName)
  }

  private func checkAttribute(
    _ name: String, _ mapping: EntityMapping, of new: Entity,
    note: (MappingProblem.Reason, String?) -> Void
  ) {
    let found = destination.leafAttribute(named: name, of: new)
    if found == nil || found?.isTransient == true || found?.derivation != nil {
      note(.propertyMissing(entity: new.name), name)
    }
    if mapping.attributeMappings.contains(where: { $0.name == name }) { note(.filledTwice, name) }
  }

  private func check(
    _ name: String, of new: Entity, holds owner: Entity?, mapping: EntityMapping,
    note: (MappingProblem.Reason, String?) -> Void
  ) {
    guard let relationship = destination.relationship(named: name, of: new)
    else { return note(.propertyMissing(entity: new.name), name) }
    let isListed = mapping.relationshipMappings.contains {
      $0.name == name && $0.valueExpression != nil
    }
    if isListed { note(.filledTwice, name) }
    guard let owner else { return }
    let makes = model.makers(heldBy: relationship, in: destination).contains {
      $0.newObjects == nil && source.isKind($0.sourceEntityName, of: owner.name)
    }
    if !makes {
      note(.notMadeFrom(owner.name, holding: relationship.destinationEntityName), name)
    }
  }

  /// The uses of `$member`, which only pairs have.
  private func checkMember(
    _ mapping: EntityMapping, member: Entity?, isPair: Bool,
    note: (MappingProblem.Reason, String?) -> Void
  ) {
    for property in mapping.attributeMappings + mapping.relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      checkMember(expression, member: member, isPair: isPair) { note($0, property.name) }
    }
    if let expression = mapping.newObjects?.valueExpression {
      checkMember(expression, member: nil, isPair: false) { note($0, nil) }
    }
  }

  private func checkMember(
    _ expression: ValueExpression, member: Entity?, isPair: Bool,
    note: (MappingProblem.Reason) -> Void
  ) {
    switch expression {
    case .variable(NewObjects.memberVariable) where !isPair: note(.memberOutsidePair)
    case .keyPath(.variable(NewObjects.memberVariable)?, let path):
      guard isPair else { return note(.memberOutsidePair) }
      if let member, let (owner, key) = source.missingKey(path: path, of: member) {
        note(.sourcePropertyMissing(entity: owner, property: key))
      }
    default:
      for part in expression.parts {
        checkMember(part, member: member, isPair: isPair, note: note)
      }
    }
  }

  private func check(
    sorted property: PropertyMapping, of new: Entity,
    note: (MappingProblem.Reason, String?) -> Void
  ) {
    guard
      let relationship = destination.relationship(named: property.name, of: new)
    else { return }
    guard relationship.isToMany, relationship.isOrdered else {
      return note(.notOrdered(entity: new.name), property.name)
    }
    for maker in model.makers(heldBy: relationship, in: destination) {
      let entity =
        maker.newObjects == nil
        ? maker.sourceEntityName.flatMap { source.entity(name: $0) }
        : maker.destinationEntityName.flatMap { destination.entity(name: $0) }
      guard let entity else { continue }
      let owner = maker.newObjects == nil ? source : destination
      for key in property.sortedBy where !owner.isSortKey(key.path, of: entity) {
        note(.sortKeyMissing(entity: entity.name, key: key.path), property.name)
      }
    }
  }
}

extension ManagedObjectModel {
  /// Whether to-one relationships lead to an attribute with values that have an order.
  fileprivate func isSortKey(_ path: String, of entity: Entity) -> Bool {
    if let attribute = leafAttribute(named: path, of: entity) {
      return !attribute.isTransient && attribute.type != .transformable
        && attribute.type != .composite
    }
    guard let dot = path.firstIndex(of: "."),
      let relationship = allRelationships(of: entity).first(where: { $0.name == path[..<dot] }),
      !relationship.isToMany, let next = self.entity(name: relationship.destinationEntityName)
    else { return false }
    return isSortKey(String(path[path.index(after: dot)...]), of: next)
  }
}
