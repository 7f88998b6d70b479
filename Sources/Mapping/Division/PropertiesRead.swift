import Expressions
package import ObjectModel

/// Properties of source entities that something reads.
package struct PropertiesRead: Hashable, Codable, Sendable {
  private var names: [String: Set<String>] = [:]
  /// Entities whose objects are handed to something that may read anything of them.
  private var whole: Set<String> = []

  /// Makes an empty set.
  package init() {}

  /// Records a property, with the entity of the object that it was read from.
  package mutating func add(_ property: String, of entity: String) {
    names[entity, default: []].insert(property)
  }

  /// Adds what something else reads.
  package mutating func add(_ other: Self) {
    names.merge(other.names) { $0.union($1) }
    whole.formUnion(other.whole)
  }

  /// Whether the property is read from objects of that entity, by its name or because all are.
  package func contains(_ property: String, of entity: String) -> Bool {
    whole.contains(entity) || names[entity]?.contains(property) == true
  }

  /// What the property mappings of an entity mapping, or some of them, read of its source objects,
  /// and of those that their relationships lead to.
  package init(
    mapping: EntityMapping, source: ManagedObjectModel,
    where isWanted: (PropertyMapping) -> Bool = { _ in true }
  ) {
    guard let name = mapping.sourceEntityName, let entity = source.entity(name: name) else {
      return
    }
    if let objects = mapping.newObjects { add(objects, of: entity, model: source) }
    for property in mapping.attributeMappings + mapping.relationshipMappings
    where isWanted(property) {
      if let expression = property.valueExpression {
        walk(expression, entity: entity, model: source)
        if let pairs = mapping.newObjects?.pairRelationship {
          walkMember(expression, pairs: pairs, entity: entity, model: source)
        }
      }
    }
  }

  /// What new objects are made of.
  private mutating func add(_ objects: NewObjects, of entity: Entity, model: ManagedObjectModel) {
    // What leads to one end alone does not keep the pairs.
    if let name = objects.pairRelationship, objects.keepsPairs {
      follow(name, from: [entity], model: model)
    }
    if let expression = objects.valueExpression {
      walk(expression, entity: entity, model: model)
    }
  }

  /// Adds the properties that the filter of a mapping reads from objects related to new ones.
  mutating func addFilter(of mapping: EntityMapping, source: ManagedObjectModel) {
    guard let objects = mapping.newObjects, !objects.relationships.isEmpty else { return }
    add(Self(filterOf: mapping, source: source))
  }

  /// The properties that the filter of a mapping reads, whether or not it chooses the object.
  package init(filterOf mapping: EntityMapping, source: ManagedObjectModel) {
    guard let entity = mapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
      let predicate = mapping.filter.flatMap({ try? ValuePredicate(format: $0) })
    else { return }
    for expression in predicate.expressions {
      walkFilter(expression, entity: entity, model: source)
    }
  }

  private mutating func walkFilter(
    _ expression: ValueExpression, entity: Entity, model: ManagedObjectModel
  ) {
    switch expression {
    case .keyPath(nil, let path), .keyPath(.evaluatedObject?, let path):
      follow(path, from: [entity], model: model)
    // Within a subquery a key is that of another object.
    case .subquery: break
    default: for part in expression.parts { walkFilter(part, entity: entity, model: model) }
    }
  }

  /// What an expression reads of the other object of a pair.
  private mutating func walkMember(
    _ expression: ValueExpression, pairs: String, entity: Entity, model: ManagedObjectModel
  ) {
    if case .keyPath(.variable(NewObjects.memberVariable)?, let path) = expression {
      let relationship = model.relationship(named: pairs, of: entity)
      follow(
        path, from: relationship.map { model.family(of: $0.destinationEntityName) } ?? [],
        model: model)
    }
    for part in expression.parts {
      walkMember(part, pairs: pairs, entity: entity, model: model)
    }
  }

  private mutating func walk(
    _ expression: ValueExpression, entity: Entity, model: ManagedObjectModel
  ) {
    switch expression {
    case .keyPath(.variable("source")?, let path): follow(path, from: [entity], model: model)
    case .function(.variable("source"), let getter, []):
      follow(getter, from: [entity], model: model)
    case .function(.variable("source"), _, _): whole.insert(entity.name)
    default: break
    }
    for part in expression.parts { walk(part, entity: entity, model: model) }
  }

  /// Follows a path through the families of its relationships.
  ///
  /// At each key an entity counts once, over however many ways it is reached: the cost is the
  /// product of keys and entities, not a power of it.
  mutating func follow(
    _ path: String, from entities: [Entity], model: ManagedObjectModel
  ) {
    var entities = entities
    let keys = path.split(separator: ".").map(String.init)
    var known: [Step: Found] = [:]
    for (place, key) in keys.enumerated() {
      // Of a composite attribute the element that the next key names is read, or all of them.
      let element = keys.dropFirst(place + 1).first.map { "\(key).\($0)" }
      var reached: [Entity] = []
      var names: Set<String> = []
      for entity in entities {
        let step = Step(entity: entity.name, key: key)
        let found = known[step] ?? Found(key: key, of: entity, model: model)
        known[step] = found
        add(key, of: entity.name)
        for name in found.elements where element == nil || element == name {
          add(name, of: entity.name)
        }
        reached += found.entities.filter { names.insert($0.name).inserted }
      }
      if reached.isEmpty { return }
      entities = reached
    }
  }

  private struct Step: Hashable {
    var entity: String
    var key: String
  }

  /// What an entity has under a key.
  private struct Found {
    /// The possible entities of a relationship's objects.
    var entities: [Entity]
    /// The names of the elements of a composite attribute.
    var elements: [String]

    init(key: String, of entity: Entity, model: ManagedObjectModel) {
      entities =
        model.relationship(named: key, of: entity)
        .map { model.family(of: $0.destinationEntityName) } ?? []
      elements =
        model.allAttributes(of: entity).first { $0.name == key && $0.type == .composite }?
        .leaves.map(\.name) ?? []
    }
  }
}
