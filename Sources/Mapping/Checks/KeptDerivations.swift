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

  /// An attribute and the entity that declares it.
  package struct Place: Hashable {
    package var entity, attribute: String
  }

  /// Why the values of an attribute that an entity declares do not stay as they are; nil where they
  /// do, and where the models do not derive it in the same way.
  package func obstacle(entity: String, attribute: String, lacks: Lacks) rethrows -> Refusal? {
    guard let origins = origins(of: attribute, in: entity),
      let after = derivation(of: attribute, in: entity, model: destination),
      origins.allSatisfy({ origin in
        after.isSame(as: derivation(of: origin.attribute, in: origin.entity, model: source))
      })
    else { return nil }
    func refusal(_ changed: String?) -> Refusal {
      Refusal(
        reason: .derivedValueNotKept(changed: changed), entity: entity, property: attribute)
    }
    guard try copies(attribute, of: entity, lacks: lacks) else { return refusal(nil) }
    return try destination.inputs(of: after, in: entity).first {
      try $0.target == nil ? !keepsValues($0, lacks: lacks) : !keepsPairs($0)
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

  /// The attributes of the source that one of a destination entity continues, or would continue by
  /// its name; nil where some mapping of the entity continues none.
  package func origins(of attribute: String, in entity: String) -> Set<Place>? {
    let makers = makers(of: entity)
    guard !makers.isEmpty else { return place(of: attribute, in: entity).map { [$0] } }
    var result: Set<Place> = []
    for mapping in makers {
      guard let taken = mapping.sourceEntityName,
        let found = copied(attribute, by: mapping).flatMap({ place(of: $0.name, in: taken) })
          ?? place(of: attribute, in: taken)
      else { return nil }
      result.insert(found)
    }
    return result
  }

  private func place(of attribute: String, in entity: String) -> Place? {
    source.declarer(of: attribute, in: entity).map { Place(entity: $0, attribute: attribute) }
  }

  /// The attribute whose values a mapping copies, and what takes the place of missing ones.
  private func copied(
    _ attribute: String, by mapping: EntityMapping
  ) -> (name: String, replacement: AttributeValue)? {
    guard let stated = mapping.attributeMappings.first(where: { $0.name == attribute }),
      case .attribute(let name, let replacement) = stated.origin
    else { return nil }
    return (name, replacement)
  }

  private func keepsValues(_ input: DerivationInput, lacks: Lacks) rethrows -> Bool {
    guard let origins = origins(of: input.property, in: input.entity),
      origins.allSatisfy({ $0.attribute == input.property })
    else { return false }
    return try copies(input.property, of: input.entity, lacks: lacks)
  }

  /// Whether all objects of an entity have the values that they had, and no policy makes them.
  private func copies(_ attribute: String, of entity: String, lacks: Lacks) rethrows -> Bool {
    let type = type(of: attribute, in: entity, model: destination)
    return try makers(of: entity).allSatisfy { mapping in
      guard mapping.newObjects == nil, mapping.ownPolicyClassName == nil,
        let taken = mapping.sourceEntityName, let copied = copied(attribute, by: mapping),
        self.type(of: copied.name, in: taken, model: source) == type
      else { return false }
      return try copied.replacement == .null || !lacks(copied.name, taken)
    }
  }

  private func type(
    of attribute: String, in entity: String, model: ManagedObjectModel
  ) -> AttributeType? {
    model.entity(name: entity).flatMap { model.leafAttribute(named: attribute, of: $0)?.type }
  }

  /// Whether all objects of a relationship's destination stay, and all references with them.
  private func keepsPairs(_ input: DerivationInput) -> Bool {
    guard let target = input.target,
      let old = origin(of: input),
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

  /// The relationship of that name which all mappings of its entity take their objects from.
  private func origin(of input: DerivationInput) -> Relationship? {
    let makers = makers(of: input.entity)
    let taken = makers.isEmpty ? [input.entity] : makers.map(\.sourceEntityName)
    let found = Set(
      taken.map { name in
        name.flatMap { relationship(input.property, of: $0, in: source) }
      })
    return found.count == 1 ? found.first ?? nil : nil
  }

  /// Whether a mapping carries over all of a relationship, nothing of it, or something else.
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
      model.relationship(named: name, of: owner)
    }
  }
}
