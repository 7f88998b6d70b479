package import ObjectModel
import ValueExpressions

/// What of a mapping model expressions and policies compute object by object, each by itself, so
/// that any range of rows can be migrated without the others.
package struct RowCalls: Hashable, Sendable {
  /// Why objects cannot be migrated each by itself.
  package struct Obstacle: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
      /// The mapping chooses among the objects of its source entity.
      case selection
      /// The policy does not declare that its objects are independent.
      case policy(String)
      /// Another mapping takes objects of the same source entity, or makes some of the same entity.
      case shared(by: String)
      /// The value needs more than the source object.
      case expression
      /// The relationship does not continue one of the source with all its objects.
      case relationship
      /// The attributes hold values of kinds that do not become each other.
      case type
    }

    package var reason: Reason
    package var mapping: String
    package var property: String?
  }

  private let mapping: MappingModel

  /// Throws the first obstacle; policies are independent where they declare it.
  package init(
    _ mapping: MappingModel, source: ManagedObjectModel, destination: ManagedObjectModel,
    independentPolicies: Set<String>
  ) throws(Obstacle) {
    self.mapping = mapping
    let check = RowCheck(
      mapping: mapping, source: source, destination: destination,
      independentPolicies: independentPolicies)
    for entityMapping in mapping.entityMappings { try check.check(entityMapping) }
  }

  /// Whether nothing is computed: values are copied, converted or constant.
  package var isEmpty: Bool {
    mapping.entityMappings.allSatisfy { entityMapping in
      entityMapping.ownPolicyClassName == nil
        && entityMapping.attributeMappings.allSatisfy { !$0.isComputed }
    }
  }

  /// The place of the entity mapping if it computes the attribute.
  package func mapping(of attribute: String, in entityMapping: EntityMapping) -> Int? {
    let isComputed = entityMapping.attributeMappings.contains {
      $0.name == attribute && $0.isComputed
    }
    guard isComputed || entityMapping.ownPolicyClassName != nil else { return nil }
    return mapping.entityMappings.firstIndex { $0.name == entityMapping.name }
  }
}

extension PropertyMapping {
  var isComputed: Bool { if case .computed = origin { true } else { false } }
}

/// Looks for what keeps the objects of a mapping model together.
private struct RowCheck {
  let mapping: MappingModel
  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  let independentPolicies: Set<String>

  func check(_ entityMapping: EntityMapping) throws(RowCalls.Obstacle) {
    func fail(
      _ reason: RowCalls.Obstacle.Reason, _ property: String? = nil
    ) -> RowCalls.Obstacle {
      .init(reason: reason, mapping: entityMapping.name, property: property)
    }
    if let policy = entityMapping.ownPolicyClassName, !independentPolicies.contains(policy) {
      throw fail(.policy(policy))
    }
    guard let old = entityMapping.sourceEntityName.flatMap({ source.entity($0) }),
      let new = entityMapping.destinationEntityName.flatMap({ destination.entity($0) })
    else {
      // A policy may make objects where there is no source object.
      if let policy = entityMapping.ownPolicyClassName { throw fail(.policy(policy)) }
      return
    }
    guard
      entityMapping.sourceExpression == nil
        || entityMapping.filter == ValueExpression.everything
    else { throw fail(.selection) }
    if let other = mapping.entityMappings.first(where: { shares($0, old, new, entityMapping.name) })
    {
      throw fail(.shared(by: other.name))
    }
    for property in entityMapping.attributeMappings {
      if let reason = obstacle(property, entityMapping, old, new) {
        throw fail(reason, property.name)
      }
    }
    for property in entityMapping.relationshipMappings
    where !continues(property, of: old, as: new) {
      throw fail(.relationship, property.name)
    }
  }

  /// Whether another mapping takes or makes the same objects, or fills the same table from another.
  private func shares(
    _ other: EntityMapping, _ old: Entity, _ new: Entity, _ name: String
  ) -> Bool {
    guard other.name != name, let from = other.sourceEntityName.flatMap({ source.entity($0) }),
      let to = other.destinationEntityName.flatMap({ destination.entity($0) })
    else { return false }
    if from.name == old.name || to.name == new.name { return true }
    return destination.root(of: to).name == destination.root(of: new).name
      && source.root(of: from).name != source.root(of: old).name
  }

  private func obstacle(
    _ property: PropertyMapping, _ entityMapping: EntityMapping, _ old: Entity, _ new: Entity
  ) -> RowCalls.Obstacle.Reason? {
    guard
      let attribute = destination.allAttributes(of: new).first(where: { $0.name == property.name })
    else { return .expression }
    switch property.origin {
    case .standard, .constant: return nil
    case .relationship: return .expression
    case .computed(let expression):
      var allowed: Set = ["source", "entityMapping", "propertyMapping"]
      if entityMapping.ownPolicyClassName != nil { allowed.insert("entityPolicy") }
      return VariableNames(in: expression).names.isSubset(of: allowed) ? nil : .expression
    case .attribute(let name, _):
      guard let before = source.allAttributes(of: old).first(where: { $0.name == name }) else {
        return .expression
      }
      let isAlike =
        before.type == attribute.type || (before.type.isNumeric && attribute.type.isNumeric)
      return isAlike ? nil : .type
    }
  }

  /// Whether a relationship holds what all objects of a source relationship became, and its
  /// inverse agrees.
  private func continues(_ property: PropertyMapping, of old: Entity, as new: Entity) -> Bool {
    let name: String
    switch property.origin {
    case .standard, .constant(.null): return true
    case .relationship(let found, let mappingName):
      name = found
      guard let relationship = source.allRelationships(of: old).first(where: { $0.name == name })
      else { return false }
      if let mappingName, !takesAll(relationship, mappingName) { return false }
    default: return false
    }
    guard
      let relationship = source.allRelationships(of: old).first(where: { $0.name == name }),
      let made = destination.allRelationships(of: new).first(where: { $0.name == property.name }),
      let (owner, inverse) = destination.inverseWithOwner(of: made)
    else { return true }
    // Where the other end is mapped as well, it must continue the other end of the same one.
    let family = Set(destination.family(of: owner.name).map(\.name))
    let others = mapping.entityMappings.filter {
      $0.destinationEntityName.map(family.contains) ?? false
    }.flatMap(\.relationshipMappings).filter { $0.name == inverse.name }
    return others.allSatisfy {
      switch $0.origin {
      case .standard, .constant(.null): true
      case .relationship(let back, _): back == relationship.inverseName
      default: false
      }
    }
  }

  /// Whether a mapping takes every object that the relationship can hold.
  private func takesAll(_ relationship: Relationship, _ name: String) -> Bool {
    let taken = mapping.mapping(named: name)?.sourceEntityName
    return source.family(of: relationship.destinationEntityName).allSatisfy { entity in
      entity.isAbstract || entity.name == taken
        || mapping.destinationName(ofSource: entity.name) == nil
    }
  }
}

/// The variables that an expression names, those that a subquery binds left out.
struct VariableNames {
  private(set) var names: Set<String> = []

  init(in expression: ValueExpression) { walk(expression) }

  private mutating func walk(_ expression: ValueExpression) {
    switch expression {
    case .constant, .evaluatedObject, .keyPath(nil, _): break
    case .variable(let name): names.insert(name)
    case .keyPath(let operand?, _): walk(operand)
    case .builtIn(_, let arguments), .aggregate(let arguments):
      for argument in arguments { walk(argument) }
    case .function(let operand, _, let arguments):
      walk(operand)
      for argument in arguments { walk(argument) }
    case .fetch(let request, let context, _):
      walk(request)
      walk(context)
    case .set(_, let left, let right):
      walk(left)
      walk(right)
    case .subquery(let collection, let variable, let predicate):
      walk(collection)
      var inner = self
      inner.walk(predicate)
      names.formUnion(inner.names.subtracting(names.contains(variable) ? [] : [variable]))
    case .ternary(let predicate, let value, let otherwise):
      walk(predicate)
      walk(value)
      walk(otherwise)
    }
  }

  private mutating func walk(_ predicate: ValuePredicate) {
    switch predicate {
    case .always, .unparsed: break
    case .comparison(let left, _, let right, _, _, _):
      walk(left)
      walk(right)
    case .and(let parts), .or(let parts): for part in parts { walk(part) }
    case .not(let part): walk(part)
    }
  }
}
