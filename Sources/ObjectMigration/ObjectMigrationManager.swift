import ExpressionEvaluation
package import Mapping
import ObjectModel
import Schema
package import ValueExpressions

/// What policies and value expressions ask of a running migration, as of `NSMigrationManager`.
package final class ObjectMigrationManager {
  package let mappingModel: MappingModel
  package let sourceContext: ObjectContext
  package let destinationContext: ObjectContext
  /// Whatever policies want to share.
  package var userInfo: [String: Any] = [:]
  /// The mapping that is being processed.
  package private(set) var currentMapping: EntityMapping?
  /// From 0 to 1 over the three passes of this mapping model.
  package internal(set) var progress: Double = 0

  let associations: Associations
  let keys: KeyHolder
  let now: Double
  private var cancellation: (any Error)?
  private let mappingNumbers: [String: Int64]
  /// The mappings whose objects others make, and the source entities that those take.
  private let foreignNames: Set<String>
  let foreignSources: Set<String>
  private var policies: [String: any MigrationPolicy] = [:]
  private(set) var mappingObjects: [String: MappingObject] = [:]
  private var propertyObjects: [String: MappingObject] = [:]
  let sourceTables: TableNumbers
  let destinationTables: TableNumbers
  private let patterns = PatternCache()
  private(set) var managerObject: ManagerObject?
  /// The object for which the hook of relation is running, and what it was made of.
  var relating: (destination: ManagedObject, source: Associations.Place)?
  /// The object for which the hook of creation is running.
  var currentSource: ManagedObject?
  /// What the running hook made of the mapping's own entity and has not yet associated.
  private var unassociated: Set<ObjectIdentifier> = []
  private var created: [ManagedObject] = []

  init(
    _ model: MappingModel, _ foreign: [EntityMapping], _ sourceContext: ObjectContext,
    _ destinationContext: ObjectContext, _ associations: Associations, _ keys: KeyHolder,
    now: Double
  ) {
    mappingModel = model
    foreignNames = Set(foreign.map(\.name))
    foreignSources = Set(foreign.compactMap(\.sourceEntityName))
    self.sourceContext = sourceContext
    self.destinationContext = destinationContext
    self.associations = associations
    self.keys = keys
    self.now = now
    mappingNumbers = Dictionary(
      model.entityMappings.enumerated().map { ($1.name, Int64($0)) },
      uniquingKeysWith: { first, _ in first })
    sourceTables = TableNumbers(sourceContext.schema)
    destinationTables = TableNumbers(destinationContext.schema)
    managerObject = ManagerObject(self)
  }

  // MARK: What policies may call

  /// Says that the destination object was made of the source object.
  package func associate(
    _ source: ManagedObject, with destination: ManagedObject, for mapping: EntityMapping
  ) throws {
    guard source.isSource, !destination.isSource else {
      throw ObjectMigrationError(
        .wrongObject(
          expected: "a source and a destination object",
          found: "\(source.entityName) and \(destination.entityName)"), mapping: mapping.name)
    }
    unassociated.remove(ObjectIdentifier(destination))
    try associations.add(
      mapping: try number(of: mapping.name), source: sourceTables.place(of: source),
      destination: destinationTables.place(of: destination), number: destination.facts.number)
  }

  /// A new object of the destination, which no mapping looks up unless it is associated.
  package func insert(_ entityName: String) throws -> ManagedObject {
    let facts = try destinationContext.entityFacts(entityName)
    let isOfMapping = entityName == currentMapping?.destinationEntityName
    // The first object that a hook makes of its mapping's entity is the one that the default would.
    let key =
      if isOfMapping, created.isEmpty, let currentSource {
        try keyOfCopy(of: currentSource, facts)
      } else {
        keys.plan.newKey(facts.tableName)
      }
    let object = try destinationContext.insert(facts, key: key)
    if isOfMapping {
      unassociated.insert(ObjectIdentifier(object))
      created.append(object)
    }
    return object
  }

  /// The objects of one of the stores that satisfy a predicate, in the order of their keys.
  package func fetch(
    _ entityName: String, where predicate: ValuePredicate?, inSource: Bool,
    includesSubentities: Bool, limit: Int
  ) throws -> [ManagedObject] {
    let context = inSource ? sourceContext : destinationContext
    var result: [ManagedObject] = []
    try context.forEach(
      entityName, where: predicate, includesSubentities: includesSubentities, now: now
    ) { object in
      result.append(object)
      return result.count < limit
    }
    return result
  }

  /// Ends the migration with that error as soon as the running hook returns.
  package func cancel(_ error: any Error) { cancellation = error }

  func checkCancellation() throws {
    if let cancellation { throw ObjectMigrationError(.cancelled, cause: cancellation) }
  }

  // MARK: The default behaviour

  /// Makes, fills and associates the object that a mapping asks for.
  package func createDestination(
    of source: ManagedObject, _ mapping: EntityMapping
  ) throws -> ManagedObject {
    guard let name = mapping.destinationEntityName else {
      throw ObjectMigrationError(.unknownEntity("nil"), mapping: mapping.name)
    }
    let facts = try destinationContext.entityFacts(name)
    let key = created.isEmpty ? try keyOfCopy(of: source, facts) : keys.plan.newKey(facts.tableName)
    let object = try destinationContext.insert(facts, key: key)
    created.append(object)
    for property in mapping.attributeMappings {
      try fill(property, of: object, from: source, mapping)
    }
    try associate(source, with: object, for: mapping)
    return object
  }

  private func keyOfCopy(of source: ManagedObject, _ facts: EntityFacts) throws -> Int64 {
    let table = facts.tableName
    guard keys.plan.keepsKeys(table) else { return keys.plan.newKey(table) }
    guard keys.plan.isAmbiguous(table) else {
      keys.plan.note(source.primaryKey, in: table)
      return source.primaryKey
    }
    let place = Associations.Place(table: destinationTables.number(table), key: source.primaryKey)
    // A source object of several mappings, or made twice by a policy, keeps its key once.
    let before = try associations.destinations(of: sourceTables.place(of: source), mapping: nil)
    if before.contains(where: { $0.place == place }) { return keys.plan.newKey(table) }
    keys.plan.note(source.primaryKey, in: table)
    return source.primaryKey
  }

  private func fill(
    _ property: PropertyMapping, of object: ManagedObject, from source: ManagedObject,
    _ mapping: EntityMapping
  ) throws {
    guard let expression = property.valueExpression else { return }
    if case .attribute(let name, .null) = property.origin,
      try copy(name, of: source, to: property.name, of: object)
    {
      return
    }
    let value = try evaluate(expression, property, mapping, source: source, destination: object)
    do {
      guard case .scalar(let scalar) = value else {
        throw ObjectMigrationError(
          .valueRefused(
            type: object.facts.attributes[property.name]?.attribute.type ?? .undefined,
            found: value.kindName))
      }
      try object.set(property.name, scalar)
    } catch let error as ObjectMigrationError {
      throw error.at(mapping: mapping.name, property: property.name, key: source.primaryKey)
    }
  }

  /// Takes a stored value as it is where both sides keep it alike, files by their names included.
  private func copy(
    _ name: String, of source: ManagedObject, to other: String, of object: ManagedObject
  ) throws -> Bool {
    guard let old = source.facts.attributes[name]?.attribute,
      let new = object.facts.attributes[other], old.type == new.attribute.type,
      old.storesBinaryDataExternally == new.attribute.storesBinaryDataExternally
    else { return false }
    try object.store(try source.storedValue(name).1, at: new.index)
    return true
  }

  /// Relates an object as its mapping says; the source is the first that it was made of.
  package func createRelationships(
    of destination: ManagedObject, _ mapping: EntityMapping
  ) throws {
    let source = try source(of: destination, mapping)
    for property in mapping.relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      let value = try evaluate(
        expression, property, mapping, source: source, destination: destination)
      do {
        try destination.set(property.name, objects: try Self.managed(value))
      } catch let error as ObjectMigrationError {
        throw error.at(mapping: mapping.name, property: property.name, key: source?.primaryKey)
      }
    }
  }

  private func source(
    of destination: ManagedObject, _ mapping: EntityMapping
  ) throws -> ManagedObject? {
    if let relating, relating.destination === destination { return try source(relating.source) }
    return try sources(mapping: mapping.name, of: [destination]).first as? ManagedObject
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
    _ expression: ValueExpression, _ property: PropertyMapping, _ mapping: EntityMapping,
    source: ManagedObject?, destination: ManagedObject
  ) throws -> ObjectValue {
    let key = "\(mapping.name) \(property.name)"
    let propertyObject = propertyObjects[key] ?? MappingObject(property)
    propertyObjects[key] = propertyObject
    var scope = scope(of: mapping)
    scope.variables["source"] = source.map { .object($0) } ?? .null
    scope.variables["destination"] = .object(destination)
    scope.variables["propertyMapping"] = .object(propertyObject)
    do {
      return try ExpressionEvaluator(scope).value(of: expression)
    } catch let error as ObjectMigrationError {
      throw error.at(mapping: mapping.name, property: property.name, key: source?.primaryKey)
    } catch {
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping.name, entity: mapping.destinationEntityName,
        property: property.name, key: source?.primaryKey, cause: error)
    }
  }

  func scope(of mapping: EntityMapping) -> EvaluationScope {
    var variables: [String: ObjectValue] = [:]
    if let managerObject { variables["manager"] = .object(managerObject) }
    let mappingObject = mappingObjects[mapping.name] ?? MappingObject(mapping)
    mappingObjects[mapping.name] = mappingObject
    variables["entityMapping"] = .object(mappingObject)
    if let policy = policies[mapping.name] {
      variables["entityPolicy"] = .object(PolicyObject(policy, self))
    }
    return EvaluationScope(variables: variables, now: now, patterns: patterns)
  }

  // MARK: The run

  func enter(_ mapping: EntityMapping, _ policy: any MigrationPolicy) {
    currentMapping = mapping
    policies[mapping.name] = policy
  }

  func leaveMapping() { currentMapping = nil }

  /// Throws where a hook left an object of its mapping's entity without a source.
  func checkAssociations(_ mapping: EntityMapping, of source: ManagedObject) throws {
    defer { forgetCreated() }
    guard let object = created.first(where: { unassociated.contains(ObjectIdentifier($0)) }) else {
      return
    }
    throw ObjectMigrationError(
      .notAssociated, mapping: mapping.name, entity: object.entityName, key: source.primaryKey)
  }

  func forgetCreated() {
    currentSource = nil
    created = []
    unassociated = []
  }

  func number(of mapping: String) throws -> Int64 {
    if foreignNames.contains(mapping) { throw destinationContext.beyond(mapping) }
    guard let number = mappingNumbers[mapping] else {
      throw ObjectMigrationError(.unknownEntityMapping(mapping))
    }
    return number
  }

  func destination(_ found: Associations.Destination) -> ManagedObject? {
    destinationContext.object(
      key: found.place.key, number: found.number,
      table: destinationTables.name(found.place.table))
  }
}
