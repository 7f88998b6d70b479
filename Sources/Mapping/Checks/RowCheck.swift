import Expressions
import ObjectModel

extension EntityMapping {
  /// Whether it takes every object of its source entity.
  package var takesAll: Bool {
    sourceExpression == nil || filter == ValueExpression.everything
  }
}

/// Finds what prevents a mapping model from running row by row.
struct RowCheck {
  let mapping: MappingModel
  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  let independentPolicies: Set<String>
  /// Whether an object without a mandatory value ends the migration.
  var validates = true

  /// What a mapping demands of its objects; throws what keeps them together.
  func conditions(
    of entityMapping: EntityMapping
  ) throws(RowFallback) -> [Condition] {
    func fail(
      _ reason: RowFallback.Reason, property: String? = nil
    ) -> RowFallback {
      .init(reason: reason, mapping: entityMapping.name, property: property)
    }
    if entityMapping.newObjects != nil { throw fail(.newObjects) }
    if let sorted = entityMapping.relationshipMappings.first(where: { !$0.sortedBy.isEmpty }) {
      throw fail(.sorted, property: sorted.name)
    }
    if let policy = entityMapping.ownPolicyClassName, !independentPolicies.contains(policy) {
      throw fail(.policy(policy))
    }
    guard let (old, new) = ends(of: entityMapping) else {
      // A policy may make objects where there is no source object.
      if let policy = entityMapping.ownPolicyClassName { throw fail(.policy(policy)) }
      return []
    }
    // Without a policy the mapping is refused; a policy may make objects of subentities.
    if new.isAbstract, !old.isAbstract, let policy = entityMapping.ownPolicyClassName {
      throw fail(.policy(policy))
    }
    guard let predicate = entityMapping.predicate else { throw fail(.selection) }
    if mayRead(time: predicate) { throw fail(.moment) }
    if let other = mapping.entityMappings.first(where: {
      clashes($0, with: entityMapping, old: old, new: new)
    }) {
      throw fail(.shared(by: other.name))
    }
    for property in entityMapping.attributeMappings {
      if let reason = fallback(property: property, entityMapping: entityMapping, old: old, new: new)
      {
        throw fail(reason, property: property.name)
      }
    }
    for property in entityMapping.relationshipMappings
    where !continues(property, of: old, as: new) {
      throw fail(.relationship, property: property.name)
    }
    for relationship in destination.allRelationships(of: new)
    where isLeftByBothEnds(relationship, of: entityMapping) {
      throw fail(.relationship, property: relationship.name)
    }
    for relationship in destination.allRelationships(of: new)
    where relationship.isOrdered && destination.inverse(of: relationship) != nil {
      // Filled from its other end alone, it has the order in which the objects come.
      if !reads(relationship.name, entityMapping), isFilledFromOtherEnd(relationship) {
        throw fail(.relationship, property: relationship.name)
      }
    }
    return try narrowings(entityMapping, old: old, new: new)
      + constraints(mapping: entityMapping, old: old, new: new)
      + valuesLeftOut(by: entityMapping, old: old, new: new)
  }

  /// The condition that there are no objects, for each attribute that would have no value in them,
  /// or a value other than the model's default.
  private func valuesLeftOut(
    by mapping: EntityMapping, old: Entity, new: Entity
  ) -> [Condition] {
    func condition(_ demand: Condition.Demand, _ property: String) -> Condition {
      Condition(
        demand: demand, sourceEntity: old.name, destinationEntity: new.name, property: property)
    }
    let missing = validates ? destination.attributesWithoutValue(in: mapping, of: new) : []
    let unread = destination.allLeafAttributes(of: new).filter { attribute in
      mapping.ownPolicyClassName == nil && attribute.derivation == nil
        && mapping.attributeMappings.first { $0.name == attribute.name }?.valueExpression == nil
    }
    return missing.map { condition(.noObjectsLeftNil(attribute: $0.name), $0.name) }
      + unread.compactMap { attribute in
        attribute.unreadDefault.map { condition(.noObjectsForDefault($0), attribute.name) }
      }
  }

  /// Whether a predicate reads the current time; an unreadable one is refused when it is evaluated.
  private func mayRead(time predicate: String) -> Bool {
    guard let predicate = try? ValuePredicate(format: predicate) else { return false }
    return predicate.expressions.contains(where: \.readsTime)
  }

  func ends(of entityMapping: EntityMapping) -> (old: Entity, new: Entity)? {
    guard let old = entityMapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
      let new = entityMapping.destinationEntityName.flatMap({ destination.entity(name: $0) })
    else { return nil }
    return (old, new)
  }

  /// Whether a mapping makes an object of each that it takes, without a policy, so that the rows of
  /// the store show what it makes of each.
  func makesOneOfEach(_ entityMapping: EntityMapping) -> Bool {
    // Of several mapping models two mappings may have one name.
    ends(of: entityMapping) != nil && entityMapping.ownPolicyClassName == nil
      && entityMapping.predicate != nil && entityMapping.newObjects == nil
      && mapping.entityMappings.count(where: { $0.name == entityMapping.name }) == 1
  }

  /// Whether it takes all objects of its entity, and no other mapping takes them either or makes
  /// objects of its table of others.
  private func isAlone(_ entityMapping: EntityMapping) -> Bool {
    guard makesOneOfEach(entityMapping), entityMapping.takesAll,
      let (old, new) = ends(of: entityMapping)
    else { return false }
    return !mapping.entityMappings.contains {
      shares($0, old: old, new: new, name: entityMapping.name)
    }
  }

  /// The conditions on the objects that such a mapping takes, as far as rows show them.
  func plainConditions(of entityMapping: EntityMapping) -> [Condition] {
    guard let (old, new) = ends(of: entityMapping) else { return [] }
    // A constraint compares all objects of a table.
    let others = mapping.makers(ofKind: destination.root(of: new).name, in: destination)
    func origins(_ mapping: EntityMapping, _ names: [String]) -> [PropertyOrigin?] {
      names.map { name in mapping.attributeMappings.first { $0.name == name }?.origin }
    }
    let unique = destination.lineage(of: new).flatMap(\.uniquenessConstraints).filter { names in
      let own = origins(entityMapping, names)
      let isComputed = own.contains { if case .computed? = $0 { true } else { false } }
      return !isComputed && others.allSatisfy { isAlone($0) && origins($0, names) == own }
    }
    return narrowings(entityMapping, old: old, new: new)
      + valuesLeftOut(by: entityMapping, old: old, new: new)
      + unique.map {
        Condition(
          demand: .unique(properties: $0), sourceEntity: old.name, destinationEntity: new.name)
      }
  }

  /// Numbers that may have no place in the type that they are to have.
  func narrowings(_ mapping: EntityMapping, old: Entity, new: Entity) -> [Condition] {
    mapping.attributeMappings.compactMap { property in
      guard case .attribute(let name, _) = property.origin,
        let type = source.leafAttribute(named: name, of: old)?.type,
        let wanted = destination.leafAttribute(named: property.name, of: new)?.type, type != wanted,
        type.canOverflow(as: wanted)
      else { return nil }
      return Condition(
        demand: .valuesFit(attribute: name, type: wanted.name), sourceEntity: old.name,
        destinationEntity: new.name, property: property.name)
    }
  }

  /// Constraints that the source did not have on the same values.
  private func constraints(
    mapping: EntityMapping, old: Entity, new: Entity
  ) throws(RowFallback) -> [Condition] {
    let before = Set(source.lineage(of: old).flatMap(\.uniquenessConstraints).map(Set.init))
    var result: [Condition] = []
    for constraint in destination.lineage(of: new).flatMap(\.uniquenessConstraints) {
      let origins = mapping.attributeMappings.filter { constraint.contains($0.name) }.map(\.origin)
      // No two objects get one, so whatever else is compared they differ.
      if mapping.ownPolicyClassName == nil, origins.contains(.identifier) { continue }
      if isMixed(new), !isKept(constraint, in: new) {
        throw .init(reason: .constraint, mapping: mapping.name, property: constraint.first)
      }
      let isComputed = origins.contains { if case .computed = $0 { true } else { false } }
      guard !isComputed, mapping.ownPolicyClassName == nil else {
        throw .init(reason: .constraint, mapping: mapping.name, property: constraint.first)
      }
      let sources = Set(
        origins.compactMap { if case .attribute(let name, .null) = $0 { name } else { nil } })
      if !before.contains(sources) || sources.count < constraint.count
        || !narrowings(mapping, old: old, new: new).isEmpty
      {
        result.append(
          Condition(
            demand: .unique(properties: constraint), sourceEntity: old.name,
            destinationEntity: new.name))
      }
    }
    return result
  }

  /// Whether another mapping takes or makes the same objects, or fills the same table from another.
  func shares(
    _ other: EntityMapping, old: Entity, new: Entity, name: String
  ) -> Bool {
    guard other.name != name,
      let from = other.sourceEntityName.flatMap({ source.entity(name: $0) }),
      let to = other.destinationEntityName.flatMap({ destination.entity(name: $0) })
    else { return false }
    if from.name == old.name || to.name == new.name { return true }
    return destination.root(of: to).name == destination.root(of: new).name
      && source.root(of: from).name != source.root(of: old).name
  }

  private func fallback(
    property: PropertyMapping, entityMapping: EntityMapping, old: Entity, new: Entity
  ) -> RowFallback.Reason? {
    guard let attribute = destination.leafAttribute(named: property.name, of: new) else {
      return .expression
    }
    switch property.origin {
    case .standard: return nil
    // What cannot be converted is refused where objects are made one by one.
    case .constant(let value):
      return (try? attribute.type.fitted(value)) == nil ? .expression : nil
    case .relationship: return .expression
    case .computed(let expression):
      var allowed: Set = ["source", "entityMapping", "propertyMapping"]
      if entityMapping.ownPolicyClassName != nil { allowed.insert("entityPolicy") }
      return expression.freeVariables.isSubset(of: allowed) ? nil : .expression
    case .attribute(let name, let replacement):
      guard let before = source.leafAttribute(named: name, of: old),
        (try? attribute.type.fitted(replacement)) != nil
      else { return .expression }
      let isAlike =
        before.type == attribute.type || (before.type.isNumeric && attribute.type.isNumeric)
      return isAlike ? nil : .type
    }
  }

  /// Whether a relationship holds what all objects of a source relationship became, and its
  /// inverse agrees.
  private func continues(_ property: PropertyMapping, of old: Entity, as new: Entity) -> Bool {
    let name: String
    let mappingName: String?
    switch property.origin {
    case .standard, .constant(.null): return true
    case .relationship(let found, let maker): (name, mappingName) = (found, maker)
    default: return false
    }
    guard
      let relationship = source.relationship(named: name, of: old),
      let made = destination.relationship(named: property.name, of: new),
      hasSameForm(relationship, as: made),
      mappingName.map({ takesAll(relationship, new: made, name: $0) })
        ?? staysWithin(relationship, new: made)
    else { return false }
    guard let (owner, inverse) = destination.inverseWithOwner(of: made) else { return true }
    // Where the other end is mapped as well, it must continue the other end of the same one.
    let others = mapping.makers(ofKind: owner.name, in: destination)
      .flatMap(\.relationshipMappings).filter { $0.name == inverse.name }
    return others.allSatisfy {
      switch $0.origin {
      case .standard, .constant(.null): true
      case .relationship(let back, _): back == relationship.inverseName
      default: false
      }
    }
  }

  private func isFilledFromOtherEnd(_ relationship: Relationship) -> Bool {
    mapping.mappings(ofOtherEnd: relationship, in: destination).contains {
      $0.sourceRelationshipName != nil
    }
  }

  /// Whether mappings read some references of a relationship, and this one and another leave those
  /// between their objects: rows are copied with all references or with none.
  private func isLeftByBothEnds(
    _ relationship: Relationship, of entityMapping: EntityMapping
  ) -> Bool {
    if reads(relationship.name, entityMapping) { return false }
    func makers(_ entity: String) -> [EntityMapping] {
      mapping.makers(ofKind: entity, in: destination).filter(\.makesObjects)
    }
    guard let (owner, inverse) = destination.inverseWithOwner(of: relationship) else {
      // Without an inverse, the rows of the other end have the owners of a whole family.
      return relationship.isToMany
        && makers(declaring(relationship, for: entityMapping)).contains {
          reads(relationship.name, $0)
        }
    }
    let others = makers(relationship.destinationEntityName)
    let isRead =
      makers(inverse.destinationEntityName).contains { reads(relationship.name, $0) }
      || makers(owner.name).contains { reads(inverse.name, $0) }
    return isRead && others.contains { !reads(inverse.name, $0) }
  }

  /// The entity that declares a relationship of the objects that a mapping makes.
  private func declaring(
    _ relationship: Relationship, for entityMapping: EntityMapping
  ) -> String {
    let lineage = ends(of: entityMapping).map { destination.lineage(of: $0.new) } ?? []
    return lineage.first { $0.relationships.contains { $0.name == relationship.name } }?.name ?? ""
  }

  private func reads(_ relationship: String, _ entityMapping: EntityMapping) -> Bool {
    entityMapping.relationshipMappings.contains {
      $0.name == relationship && $0.sourceRelationshipName != nil
    }
  }

  private func hasSameForm(_ old: Relationship, as new: Relationship) -> Bool {
    old.isToMany == new.isToMany
      && source.inverse(of: old)?.isToMany == destination.inverse(of: new)?.isToMany
  }

  /// Whether whatever the objects become, the destination relationship can hold it.
  private func staysWithin(_ old: Relationship, new: Relationship) -> Bool {
    made(of: old).allSatisfy { isHeld($0, by: new) }
  }

  /// Whether a mapping makes all that the destination relationship can hold of what the source
  /// relationship holds; objects that other mappings make are elsewhere, and not searched.
  private func takesAll(_ old: Relationship, new: Relationship, name: String) -> Bool {
    made(of: old).allSatisfy { ($0.name == name) == isHeld($0, by: new) }
  }

  /// The mappings that make objects of those that a source relationship can hold.
  private func made(of relationship: Relationship) -> [EntityMapping] {
    source.family(of: relationship.destinationEntityName).filter { !$0.isAbstract }
      .flatMap { mapping.makers(ofSource: $0.name) }
  }

  private func isHeld(_ maker: EntityMapping, by relationship: Relationship) -> Bool {
    destination.isKind(maker.destinationEntityName, of: relationship.destinationEntityName)
  }
}

extension ValueExpression {
  /// Whether it is, or has in it, the moment of the migration.
  fileprivate var readsTime: Bool {
    if case .builtIn("now", _) = self { return true }
    return parts.contains(where: \.readsTime)
  }

  /// The variables that it names, those that a subquery binds for its predicate left out.
  package var freeVariables: Set<String> {
    switch self {
    case .variable(let name): [name]
    case .subquery(let collection, let variable, let predicate):
      predicate.expressions.reduce(into: Set()) { $0.formUnion($1.freeVariables) }
        .subtracting([variable]).union(collection.freeVariables)
    default: parts.reduce(into: Set()) { $0.formUnion($1.freeVariables) }
    }
  }
}
