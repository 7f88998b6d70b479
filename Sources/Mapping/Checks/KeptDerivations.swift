import Expressions
package import ObjectModel

/// Decides whether mappings keep the values of derived attributes that only Core Data can compute.
///
/// They do where they copy the values, and everything that these are computed from
/// (docs/reference/store-format.md, "Derived attributes").
package struct KeptDerivations: Sendable {
  private let mappings: [EntityMapping]
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel

  /// Takes the mapping models of one step.
  package init(
    _ models: [MappingModel], from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) {
    mappings = models.flatMap(\.entityMappings).filter(\.makesObjects)
    self.source = source
    self.destination = destination
  }

  /// Whether some object of an entity, or of one below it, lacks a value of an attribute.
  package typealias Lacks = (_ attribute: String, _ entity: String) throws -> Bool

  /// Why the values of an attribute that an entity declares do not stay as they are; nil where they
  /// do, and where the models do not derive it in the same way.
  package func obstacle(entity: String, attribute: String, lacks: Lacks) rethrows -> Refusal? {
    guard let before = derivation(of: attribute, in: entity, model: source),
      let after = derivation(of: attribute, in: entity, model: destination),
      after.isSame(as: before)
    else { return nil }
    func refusal(_ changed: String?) -> Refusal {
      Refusal(
        reason: .derivedValueNotKept(changed: changed), entity: entity, property: attribute)
    }
    guard try copies(attribute, of: entity, lacks: lacks) else { return refusal(nil) }
    return try destination.inputs(of: after, in: entity).first {
      try $0.target == nil
        ? !copies($0.property, of: $0.entity, lacks: lacks) : !keepsPairs($0)
    }.map {
      refusal("\($0.entity).\($0.property)")
    }
  }

  private func derivation(
    of attribute: String, in entity: String, model: ManagedObjectModel
  ) -> Attribute.Derivation? {
    model.entity(name: entity)?.attributes.first { $0.name == attribute }?.derivation
  }

  /// The mappings that make objects of a destination entity or of one below it.
  private func makers(of entity: String) -> [EntityMapping] {
    mappings.filter { destination.isKind($0.destinationEntityName, of: entity) }
  }

  /// Whether all objects of an entity have the values that they had.
  private func copies(_ attribute: String, of entity: String, lacks: Lacks) rethrows -> Bool {
    guard let old = source.entity(name: entity), let new = destination.entity(name: entity),
      let type = destination.leafAttribute(named: attribute, of: new)?.type,
      source.leafAttribute(named: attribute, of: old)?.type == type
    else { return false }
    return try makers(of: entity).allSatisfy { mapping in
      guard let taken = mapping.sourceEntityName, continues(mapping, entity),
        let stated = mapping.attributeMappings.first(where: { $0.name == attribute }),
        case .attribute(attribute, let replacement) = stated.origin
      else { return false }
      return try replacement == .null || !lacks(attribute, taken)
    }
  }

  /// Whether the objects of a mapping are those of the entity before, and only expressions make
  /// them.
  private func continues(_ mapping: EntityMapping, _ entity: String) -> Bool {
    mapping.newObjects == nil && mapping.ownPolicyClassName == nil
      && source.isKind(mapping.sourceEntityName, of: entity)
  }

  /// Whether all objects of a relationship's destination stay, and all references with them.
  private func keepsPairs(_ input: DerivationInput) -> Bool {
    guard let target = input.target,
      let old = relationship(input.property, of: input.entity, in: source),
      let new = relationship(input.property, of: input.entity, in: destination),
      old.isToMany == new.isToMany
    else { return false }
    let (back, other) = (source.inverse(of: old), destination.inverse(of: new))
    guard back?.isToMany == other?.isToMany, takesAll(of: old.destinationEntityName, as: target)
    else { return false }
    let owners = makers(of: input.entity)
    let members = makers(of: target)
    let names = Set([new.name, other?.name].compactMap(\.self))
    guard
      !(owners + members).contains(where: { mapping in
        mapping.newObjects.map { !names.isDisjoint(with: $0.relationships) } == true
          || mapping.ownPolicyClassName != nil
      })
    else { return false }
    let isWhole = owners.map { carries(old, as: new, by: $0, members: members) }
    let isWholeBack = back.flatMap { back in
      other.map { other in members.map { carries(back, as: other, by: $0, members: owners) } }
    }
    let found = (isWhole + (isWholeBack ?? []))
    return !found.contains(.changed)
      && (!isWhole.contains(.absent) || isWholeBack?.contains(.absent) == false)
  }

  /// What a mapping states about a relationship.
  private enum Statement { case whole, absent, changed }

  private func carries(
    _ old: Relationship, as new: Relationship, by mapping: EntityMapping, members: [EntityMapping]
  ) -> Statement {
    guard let stated = mapping.relationshipMappings.first(where: { $0.name == new.name }),
      stated.valueExpression != nil
    else { return .absent }
    guard case .relationship(old.name, let by) = stated.origin else {
      return .changed
    }
    return by == nil || members.map(\.name) == [by] ? .whole : .changed
  }

  /// Whether every object of a source entity and of those below it becomes one object of a
  /// destination entity.
  private func takesAll(of entity: String, as target: String) -> Bool {
    let members = makers(of: target)
    return source.family(of: entity).filter { !$0.isAbstract }.allSatisfy { member in
      let makers = members.filter { $0.sourceEntityName == member.name && $0.newObjects == nil }
      return makers.count == 1 && makers[0].predicate == ValueExpression.everything
    }
  }

  private func relationship(
    _ name: String, of entity: String, in model: ManagedObjectModel
  ) -> Relationship? {
    model.entity(name: entity).flatMap { owner in
      model.allRelationships(of: owner).first { $0.name == name }
    }
  }
}
