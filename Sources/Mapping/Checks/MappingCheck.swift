package import Expressions
package import ObjectModel

/// Something that a mapping model names and the models or the mapping model itself do not have.
package struct MappingProblem: Hashable, Sendable {
  /// What is missing.
  package enum Reason: Hashable, Sendable {
    /// The model of that side has no entity of that name.
    case entityMissing(MappingSide, String)
    /// The destination entity has no such attribute or relationship.
    case propertyMissing(entity: String)
    /// An expression reads a property that the source entity does not have.
    case sourcePropertyMissing(entity: String, property: String)
    /// An expression refers to objects of a mapping that does not exist.
    case mappingMissing(String)
    /// A relationship holds objects of an entity, and no mapping makes such of those of another.
    case notMadeFrom(String, holding: String)
    /// A property of new objects is filled a second time.
    case filledTwice
    /// An expression names the other object of a pair, and the mapping makes no objects of pairs.
    case memberOutsidePair
    /// A mapping makes objects of an abstract entity, which has none.
    case abstractDestination(String)
    /// No objects are of an abstract entity, so a mapping makes no new objects of it; its concrete
    /// subentities.
    case abstractSource(String, concrete: [String])
    /// A relationship that is not ordered cannot be sorted.
    case notOrdered(entity: String)
    /// A relationship is sorted by what is no attribute of its objects.
    case sortKeyMissing(entity: String, key: String)
    /// A predicate cannot be read.
    case predicateUnreadable(FormatError)
    /// An expression has no value, whatever the objects are.
    case valueless(EvaluationError)
    /// An expression reads a key path from no object, so it is nil, whatever the objects are.
    case pathFromNothing(String)
    /// An expression reads a property that the values of an attribute do not have.
    case valuePropertyMissing(of: AttributeValue, key: String)
    /// A constant, or one of those that an expression yields, has no place in its attribute.
    case constantRefused(AttributeValue, entity: String, type: AttributeType, UnfitValue)
    /// An expression casts values whose kind has no form of the class; an example.
    case castRefused(AttributeValue, to: String)
    /// What an expression yields is of another kind than its attribute; an example of it.
    case kindRefused(AttributeValue, entity: String, type: AttributeType)
    /// An expression yields several values, or objects, where an attribute has one value.
    case notOneValue(String, entity: String, type: AttributeType)
    /// A constant stands where objects of an entity belong.
    case constantForObjects(AttributeValue, destination: String)
    /// A relationship that is its own inverse continues one that is not; that one.
    case ownInverse(String)
  }

  /// The name of the entity mapping.
  package var mapping: String
  /// The destination property.
  package var property: String?
  /// What is missing.
  package var reason: Reason
}

/// Looks in mapping models for names that lead nowhere, before anything is migrated by them.
///
/// For a mapping with a policy only the entities are checked, since the policy decides the rest.
package struct MappingCheck {
  /// All problems, in the order of the mappings.
  package private(set) var problems: [MappingProblem] = []
  /// The mandatory attributes that a mapping gives no value, so that it can make no objects; their
  /// mappings and entities.
  package private(set) var valuesLeftOut: [(mapping: String, entity: String, attribute: String)] =
    []

  /// The variables of value expressions; a predicate has none.
  private static let variables: Set = [
    "source", "destination", "manager", "entityMapping", "propertyMapping", "entityPolicy",
    NewObjects.memberVariable,
  ]
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel

  /// Checks the mapping models of one step.
  package init(
    models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    self.source = source
    self.destination = destination
    let mappings = models.flatMap(\.entityMappings)
    for mapping in mappings { check(mapping) }
    for model in models {
      problems +=
        NewObjectCheck(model: model, source: source, destination: destination).problems
    }
    let policies = Set(mappings.filter { $0.ownPolicyClassName != nil }.map(\.name))
    let links = MappingLinks(mappings: mappings, source: source, destination: destination)
    for link in links.missing where !policies.contains(link.mapping) {
      problems.append(
        MappingProblem(
          mapping: link.mapping, property: link.property, reason: .mappingMissing(link.other)))
    }
  }

  /// The objects at both ends of the old relationship would each decide on both ends of the new
  /// one, and the last one would win.
  private mutating func checkInverse(
    of property: PropertyMapping, from old: Entity, to new: Entity, mapping: String
  ) {
    guard case .relationship(let name, _) = property.origin,
      let before = source.relationship(named: name, of: old),
      let after = destination.relationship(named: property.name, of: new),
      destination.isOwnInverse(after, of: new), !source.isOwnInverse(before, of: old)
    else { return }
    problems.append(
      MappingProblem(mapping: mapping, property: property.name, reason: .ownInverse(name)))
  }

  private mutating func check(_ mapping: EntityMapping) {
    func entity(side: MappingSide, model: ManagedObjectModel) -> Entity? {
      guard let name = mapping.entityName(side: side) else { return nil }
      if let found = model.entity(name: name) { return found }
      problems.append(MappingProblem(mapping: mapping.name, reason: .entityMissing(side, name)))
      return nil
    }
    let old = entity(side: .source, model: source)
    let new = entity(side: .destination, model: destination)
    guard mapping.ownPolicyClassName == nil, let new else { return }
    let attributes = Set(destination.allLeafAttributes(of: new).map(\.name))
    let relationships = Set(destination.allRelationships(of: new).map(\.name))
    for (properties, names) in [
      (mapping.attributeMappings, attributes), (mapping.relationshipMappings, relationships),
    ] {
      for property in properties {
        if !names.contains(property.name) {
          problems.append(
            MappingProblem(
              mapping: mapping.name, property: property.name,
              reason: .propertyMissing(entity: new.name)))
        }
        if let old { checkInverse(of: property, from: old, to: new, mapping: mapping.name) }
        guard let expression = property.valueExpression else { continue }
        note(expression, of: old, mapping: mapping.name, property: property.name)
        if let old { check(expression, of: old, mapping: mapping.name, property: property.name) }
      }
    }
    if let expression = mapping.newObjects?.valueExpression {
      note(expression, of: old, mapping: mapping.name, property: nil)
      if let old { check(expression, of: old, mapping: mapping.name, property: nil) }
    }
    if let old, let predicate = mapping.filter { check(predicate, of: old, mapping: mapping.name) }
    if let old, mapping.makesObjects {
      // Objects of an abstract source entity do not exist; new ones are checked elsewhere.
      if !old.isAbstract, new.isAbstract, mapping.newObjects == nil {
        problems.append(
          MappingProblem(mapping: mapping.name, reason: .abstractDestination(new.name)))
      }
      checkValues(of: mapping, old: old, new: new)
    }
  }

  /// Checks the results of property expressions, as far as the models show them.
  private mutating func checkValues(of mapping: EntityMapping, old: Entity, new: Entity) {
    let check = ValueCheck(model: source, entity: old)
    func note(_ found: [MappingProblem.Reason], property: String) {
      // What has no value by its form alone is known already.
      let isKnown = problems.contains {
        guard case .valueless = $0.reason else { return false }
        return $0.mapping == mapping.name && $0.property == property
      }
      for reason in found {
        if isKnown, case .valueless = reason { continue }
        problems.append(
          MappingProblem(mapping: mapping.name, property: property, reason: reason))
      }
    }
    for property in mapping.attributeMappings {
      guard let expression = property.valueExpression,
        let attribute = destination.leafAttribute(named: property.name, of: new)
      else { continue }
      note(check.problems(of: expression, for: attribute, in: new), property: property.name)
    }
    for property in mapping.relationshipMappings {
      guard let expression = property.valueExpression,
        let relationship = destination.relationship(named: property.name, of: new)
      else { continue }
      note(check.problems(of: expression, for: relationship), property: property.name)
    }
    valuesLeftOut += destination.attributesWithoutValue(in: mapping, of: new).map {
      (mapping: mapping.name, entity: new.name, attribute: $0.name)
    }
  }

  /// The predicate by which a mapping chooses its source objects.
  private mutating func check(_ predicate: String, of entity: Entity, mapping: String) {
    do throws(FormatError) {
      let parsed = try ValuePredicate(format: predicate)
      for expression in parsed.expressions {
        checkKeys(expression, of: entity, mapping: mapping)
        note(expression, of: entity, mapping: mapping, property: nil, isPredicate: true)
      }
    } catch {
      problems.append(MappingProblem(mapping: mapping, reason: .predicateUnreadable(error)))
    }
  }

  /// Keys of the evaluated object in a predicate.
  private mutating func checkKeys(
    _ expression: ValueExpression, of entity: Entity, mapping: String
  ) {
    switch expression {
    case .keyPath(nil, let path), .keyPath(.evaluatedObject?, let path):
      note(path, of: entity, mapping: mapping, property: nil)
    // Within a subquery a key is that of another object.
    case .subquery: break
    default: for part in expression.parts { checkKeys(part, of: entity, mapping: mapping) }
    }
  }

  /// Keys of `$source` in a value expression.
  private mutating func check(
    _ expression: ValueExpression, of entity: Entity, mapping: String, property: String?
  ) {
    if case .keyPath(.variable("source")?, let path) = expression {
      note(path, of: entity, mapping: mapping, property: property)
    }
    if case .function(.keyPath(.variable("source")?, let path), let selector, _) = expression,
      !ValueCollection.answers(selector),
      source.allRelationships(of: entity).contains(where: { $0.name == path && $0.isToMany })
    {
      let error = EvaluationError(
        .unknownSelector(selector, of: "a collection"), expression: "\(expression)")
      problems.append(
        MappingProblem(mapping: mapping, property: property, reason: .valueless(error)))
    }
    for part in expression.parts { check(part, of: entity, mapping: mapping, property: property) }
  }

  /// What has no value in an expression, whatever the objects are.
  private mutating func note(
    _ expression: ValueExpression, of entity: Entity?, mapping: String, property: String?,
    isPredicate: Bool = false
  ) {
    let own = entity.map {
      source.allAttributes(of: $0).map(\.name) + source.allRelationships(of: $0).map(\.name)
    }
    let variables: Set = isPredicate ? [] : Self.variables
    let unknown = expression.freeVariables.subtracting(variables).sorted().map {
      EvaluationError(.unknownVariable($0), expression: "$\($0)")
    }
    problems += (unknown + expression.certainErrors(besides: Set(own ?? []))).map {
      MappingProblem(mapping: mapping, property: property, reason: .valueless($0))
    }
  }

  private mutating func note(
    _ path: String, of entity: Entity, mapping: String, property: String?
  ) {
    let reason: MappingProblem.Reason
    switch source.end(ofPath: path, from: entity) {
    case .missing(let owner, let name):
      reason = .sourcePropertyMissing(entity: owner, property: name)
    case .noSuchValue(let value, let key): reason = .valuePropertyMissing(of: value, key: key)
    case .value, .object, .collection, .open: return
    }
    problems.append(MappingProblem(mapping: mapping, property: property, reason: reason))
  }
}
