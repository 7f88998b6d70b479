import Expressions
package import Mapping
import ObjectModel
import Schema

/// What a mapping does with the objects of one source entity, worked out once.
final class MappingPlan {
  /// A column that is copied.
  struct Copy {
    let from: Int
    let to: Int
    let replacingNull: StoredValue
  }

  enum AttributeStep {
    /// Takes stored values as they are, files by their names included.
    case copy([Copy])
    /// Takes the value of an attribute of another type, or that of a constant.
    case convert(from: String, to: String, replacingNull: AttributeValue)
    case constant(StoredValue, to: Int)
    case evaluate(PropertyMapping, ValueExpression, MappingObject)
  }

  /// What another mapping, or any, made of the objects of a source relationship.
  struct LookUp {
    let source: RelationshipFacts
    let mapping: Int64?
    let destination: RelationshipFacts
  }

  struct RelationshipStep {
    let property: PropertyMapping
    let expression: ValueExpression
    let object: MappingObject
    /// The same without evaluation, where the expression is one that Xcode writes.
    let lookUp: LookUp?
  }

  let mapping: EntityMapping
  let number: Int64
  /// The entity of the source objects; nil where there are none.
  let source: EntityFacts?
  let destination: EntityFacts
  let attributes: [AttributeStep]
  let relationships: [RelationshipStep]
  /// The other object of the pair that the object at hand is made of.
  var member: ManagedObject?
  private unowned let manager: ObjectMigrationManager
  private lazy var scope = manager.scope(of: mapping)

  init(
    mapping: EntityMapping, source: EntityFacts?, destination: EntityFacts,
    manager: ObjectMigrationManager
  ) {
    self.mapping = mapping
    self.source = source
    self.destination = destination
    self.manager = manager
    number = (try? manager.number(of: mapping.name)) ?? -1
    attributes = Self.joined(
      mapping.attributeMappings.compactMap { property in
        guard let expression = property.valueExpression else { return nil }
        return Self.plain(property, source: source, destination: destination)
          ?? .evaluate(property, expression, MappingObject(property))
      })
    relationships = mapping.relationshipMappings.compactMap { property in
      guard let expression = property.valueExpression else { return nil }
      return RelationshipStep(
        property: property, expression: expression, object: MappingObject(property),
        lookUp: Self.lookUp(
          property.name, expression: expression, source: source, destination: destination,
          manager: manager))
    }
  }

  /// The same steps, with copies that follow each other as one.
  private static func joined(_ steps: [AttributeStep]) -> [AttributeStep] {
    var result: [AttributeStep] = []
    for step in steps {
      if case .copy(let more) = step, case .copy(let copies)? = result.last {
        result[result.count - 1] = .copy(copies + more)
      } else {
        result.append(step)
      }
    }
    return result
  }

  /// The shortcut that replaces the expression; nil if only its evaluation reports, for example,
  /// why it fails.
  private static func plain(
    _ property: PropertyMapping, source: EntityFacts?, destination: EntityFacts
  ) -> AttributeStep? {
    guard let new = destination.attributes[property.name] else { return nil }
    switch property.origin {
    case .constant(let value):
      return (try? AttributeConversion.stored(value, for: new.form)).map {
        .constant($0, to: new.index)
      }
    case .attribute(let name, let replacement):
      guard let old = source?.attributes[name] else { return nil }
      guard old.form == new.form else {
        return .convert(from: name, to: property.name, replacingNull: replacement)
      }
      // The expression reports why the replacement is refused, at the first object that needs it.
      guard let value = try? AttributeConversion.stored(replacement, for: new.form) else {
        return nil
      }
      return .copy([Copy(from: old.index, to: new.index, replacingNull: value)])
    case .standard, .relationship, .computed: return nil
    }
  }

  private static func lookUp(
    _ property: String, expression: ValueExpression, source: EntityFacts?,
    destination: EntityFacts, manager: ObjectMigrationManager
  ) -> LookUp? {
    guard case .function(.variable("manager"), let selector, let arguments) = expression,
      arguments.count == 2, case .constant(.string(let name)) = arguments[0],
      case .keyPath(.variable("source")?, let path) = arguments[1],
      let from = source?.relationships[path], let to = destination.relationships[property]
    else { return nil }
    switch selector {
    case MappingSelector.byMapping:
      guard let number = try? manager.number(of: name) else { return nil }
      return LookUp(source: from, mapping: number, destination: to)
    case MappingSelector.byRelationship where manager.foreignSources.isEmpty:
      return LookUp(source: from, mapping: nil, destination: to)
    default: return nil
    }
  }

  // MARK: Carrying out

  /// The entity of the source objects, which a source expression may take from anywhere.
  private var sourceName: String? { source?.name ?? mapping.sourceEntityName }

  /// Names the property and the source object of an error that does not know them.
  private func placed(
    _ error: ObjectMigrationError, property: String, key: Int64?
  ) -> ObjectMigrationError {
    error.at(mapping: mapping.name, property: property, entity: sourceName, key: key)
  }

  /// Sets the attributes; those that are copied stay as they are where there is no source object.
  func fill(object: ManagedObject, from source: ManagedObject?) throws {
    for step in attributes {
      switch step {
      case .copy(let copies):
        if let source { try take(copies, from: source, to: object) }
      case .constant(let value, let place): try object.store(value, at: place)
      case .convert(let from, let name, let replacement):
        guard let source, let new = destination.attributes[name] else { continue }
        do {
          let value = try source.converted(from, replacingNull: replacement, to: new.form)
          try object.store(value, at: new.index)
        } catch let error as ObjectMigrationError {
          throw placed(
            object.placed(error, property: name), property: name, key: source.primaryKey)
        }
      case .evaluate(let property, let expression, let mappingObject):
        let value = try evaluate(
          expression, property: property, object: mappingObject, source: source, destination: object
        )
        do {
          guard case .scalar(let scalar) = value else {
            throw ObjectMigrationError(
              .valueRefused(
                type: destination.attributes[property.name]?.attribute.type ?? .undefined,
                found: value.kindName))
          }
          try object.set(property.name, value: scalar)
        } catch let error as ObjectMigrationError {
          throw placed(error, property: property.name, key: source?.primaryKey)
        }
      }
    }
  }

  /// What an expression amounts to that fills no property of its own.
  func value(of expression: ValueExpression, from source: ManagedObject) throws -> ObjectValue {
    scope.variables["source"] = .object(source)
    defer { scope.variables["source"] = .null }
    do {
      return try ExpressionEvaluator(scope).value(of: expression)
    } catch let error as ObjectMigrationError {
      throw error.at(mapping: mapping.name, entity: sourceName, key: source.primaryKey)
    } catch {
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping.name, entity: sourceName, key: source.primaryKey,
        cause: error)
    }
  }

  private func take(
    _ copies: [Copy], from source: ManagedObject, to object: ManagedObject
  ) throws {
    let values = try source.loadedRow()
    guard !object.context.makesOneAtATime, !object.isInserted else {
      for copy in copies { try object.store(copy.value(in: values), at: copy.to) }
      return
    }
    try object.changeRow { row in
      for copy in copies { row[copy.to] = copy.value(in: values) }
    }
  }

  func relate(_ object: ObjectPlace, from source: ObjectPlace) throws {
    // A split entity requests the objects of one relationship several times.
    var known: (facts: RelationshipFacts, places: [ObjectPlace])?
    for step in relationships {
      if let lookUp = step.lookUp, object.facts === destination {
        do {
          if known?.facts !== lookUp.source {
            known = (
              lookUp.source, try manager.sourceContext.places(of: source, facts: lookUp.source)
            )
          }
          try relate(object, to: known?.places ?? [], lookUp: lookUp)
        } catch let error as ObjectMigrationError {
          throw placed(error, property: step.property.name, key: source.key)
        }
        continue
      }
      let (context, sources) = (manager.destinationContext, manager.sourceContext)
      try evaluate(step, object: context.object(at: object), source: sources.object(at: source))
    }
  }

  private func relate(
    _ object: ObjectPlace, to sources: [ObjectPlace], lookUp: LookUp
  ) throws {
    var targets: [ObjectPlace] = []
    for place in sources {
      let key = Associations.Place(table: Int64(place.facts.tableIndex), key: place.key)
      let skipped = lookUp.mapping == nil ? manager.newObjectNumbers : []
      try manager.associations.forEachDestination(
        of: key, mapping: lookUp.mapping, skipping: skipped
      ) { found in
        guard let target = manager.place(found: found) else { return }
        guard lookUp.destination.targetNames.contains(target.facts.name) else {
          throw lookUp.destination.refusal(of: target.facts.name, owner: object)
        }
        targets.append(target)
      }
    }
    try manager.destinationContext.set(targets, of: object, facts: lookUp.destination)
  }

  /// Relates an object of no source object, or of one that is at hand.
  func evaluate(
    _ step: RelationshipStep, object: ManagedObject, source: ManagedObject?
  ) throws {
    let value = try evaluate(
      step.expression, property: step.property, object: step.object, source: source,
      destination: object)
    do {
      try object.set(step.property.name, objects: try Self.managed(value))
    } catch let error as ObjectMigrationError {
      throw placed(error, property: step.property.name, key: source?.primaryKey)
    }
  }

  private static func managed(_ value: ObjectValue) throws -> [ManagedObject] {
    switch value {
    case .scalar(.null): return []
    case .object(let object as ManagedObject): return [object]
    case .collection(let collection): return try collection.members.flatMap(managed)
    default:
      throw ObjectMigrationError(.wrongObject(expected: "an object", found: value.kindName))
    }
  }

  private func evaluate(
    _ expression: ValueExpression, property: PropertyMapping, object: MappingObject,
    source: ManagedObject?, destination: ManagedObject
  ) throws -> ObjectValue {
    scope.variables["source"] = source.map { .object($0) } ?? .null
    scope.variables["destination"] = .object(destination)
    scope.variables["propertyMapping"] = .object(object)
    if let member { scope.variables[NewObjects.memberVariable] = .object(member) }
    defer {
      if member != nil { scope.variables[NewObjects.memberVariable] = nil }
      // Objects in memory are those that something else keeps.
      scope.variables["source"] = .null
      scope.variables["destination"] = .null
    }
    do {
      return try ExpressionEvaluator(scope).value(of: expression)
    } catch let error as ObjectMigrationError {
      throw placed(error, property: property.name, key: source?.primaryKey)
    } catch {
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping.name, entity: sourceName, property: property.name,
        key: source?.primaryKey, cause: error)
    }
  }
}

extension MappingPlan.Copy {
  fileprivate func value(in row: [StoredValue]) -> StoredValue {
    if case .null = row[from] { replacingNull } else { row[from] }
  }
}

extension ObjectMigrationManager {
  // MARK: The default behaviour

  /// Makes, fills and associates the object of a mapping.
  package func createDestination(
    of source: ManagedObject, mapping: EntityMapping
  ) throws -> ManagedObject {
    let plan = try plan(mapping: mapping, source: source.facts)
    let object = try insertCopy(of: source, plan: plan)
    try plan.fill(object: object, from: source)
    try associateCopy(source, object: object, plan: plan)
    return object
  }

  /// Relates an object by its mapping; the source is the first that it was made from.
  package func createRelationships(
    of destination: ManagedObject, mapping: EntityMapping
  ) throws {
    // Most mappings with a policy relate nothing by themselves: no row has to be read for them.
    guard
      mapping.destinationEntityName == nil
        || mapping.relationshipMappings.contains(where: { $0.valueExpression != nil })
    else { return }
    let place = Associations.Place(destination)
    var source: Associations.Place?
    if let relating, relating.destination == place {
      source = relating.source
    } else {
      source = try associations.sources(of: place, mapping: try number(of: mapping.name)).first
    }
    if let source, let object = try sourceContext.anyObject(key: source.key, table: source.table) {
      return try plan(mapping: mapping, source: object.facts).relate(
        destination.place, from: object.place)
    }
    guard let facts = try mapping.sourceEntityName.map({ try sourceContext.entityFacts(name: $0) })
    else {
      return
    }
    let plan = try plan(mapping: mapping, source: facts)
    for step in plan.relationships { try plan.evaluate(step, object: destination, source: nil) }
  }
}
