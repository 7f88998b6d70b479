package import Expressions
package import Mapping
import ObjectModel
import Schema

/// The requests of policies and value expressions to a running migration, as to
/// `NSMigrationManager`.
package final class ObjectMigrationManager {
  /// The mapping model that is carried out, without the others of its step.
  package let mappingModel: MappingModel
  /// The objects of the source store.
  package let sourceContext: ObjectContext
  /// The objects of the result.
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
  let mappingNumbers: [String: Int64]
  /// The mappings whose objects others make, and the source entities that those take.
  let foreignNames: Set<String>
  let foreignSources: Set<String>
  /// The numbers of mappings of new objects: these continue no source object, so look-ups by
  /// relationship skip them.
  let newObjectNumbers: Set<Int64>
  private var policies: [String: any MigrationPolicy] = [:]
  private(set) var mappingObjects: [String: MappingObject] = [:]
  private var plans: [String: MappingPlan] = [:]
  private let patterns = PatternCache()
  private(set) var managerObject: ManagerObject?
  /// The object that the running hook of relation handles, and its source objects.
  var relating: (destination: Associations.Place, source: Associations.Place)?
  /// The source object that the running hook of creation handles.
  var currentSource: ManagedObject?
  /// How many new objects each mapping made that makes such.
  var newObjectCounts: [String: Int64] = [:]
  /// What the running hook made of the mapping's own entity and has not yet associated.
  private var unassociated: [ManagedObject] = []
  private var created: [ManagedObject] = []
  /// The most recently requested mapping, whose objects a policy associates one after the other.
  private var lastNumber: (name: String, number: Int64)?

  init(
    model: MappingModel, foreign: [EntityMapping], sourceContext: ObjectContext,
    destinationContext: ObjectContext, associations: Associations, keys: KeyHolder,
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
    newObjectNumbers = Set(
      model.entityMappings.enumerated().filter { $1.newObjects != nil }.map { Int64($0.offset) })
    managerObject = ManagerObject(self)
  }

  // MARK: What policies may call

  /// Records that the destination object was made from the source object.
  package func associate(
    _ source: ManagedObject, with destination: ManagedObject, for mapping: EntityMapping
  ) throws {
    guard source.isSource, !destination.isSource else {
      throw ObjectMigrationError(
        .wrongObject(
          expected: "a source and a destination object",
          found: "\(source.entityName) and \(destination.entityName)"), mapping: mapping.name)
    }
    let waiting = unassociated.firstIndex { $0 === destination }
    if let waiting { unassociated.remove(at: waiting) }
    try associate(
      source, destination: destination, mapping: try number(of: mapping.name),
      isFirst: waiting != nil)
  }

  private func associate(
    _ source: ManagedObject, destination: ManagedObject, mapping: Int64, isFirst: Bool
  ) throws {
    try associations.add(
      mapping: mapping, source: Associations.Place(source),
      destination: Associations.Place(destination),
      number: destination.facts.number, isFirst: isFirst)
  }

  /// A new object of the destination, which no mapping looks up unless it is associated.
  package func insert(_ entityName: String) throws -> ManagedObject {
    let facts = try destinationContext.entityFacts(name: entityName)
    let isOfMapping = entityName == currentMapping?.destinationEntityName
    // The first object that a hook makes of its mapping's entity is the one that the default would.
    let key =
      if isOfMapping, created.isEmpty, let currentSource {
        try keyOfCopy(of: currentSource, facts: facts)
      } else {
        try keys.plan.newKey(facts.tableIndex)
      }
    let object = try destinationContext.insert(facts, key: key)
    if isOfMapping {
      unassociated.append(object)
      created.append(object)
    }
    return object
  }

  /// The objects of one of the stores that satisfy a predicate, in the order of their keys.
  package func fetch(
    _ entityName: String, where predicate: ValuePredicate?, inSource: Bool,
    includesSubentities: Bool, limit: Int
  ) throws -> [ManagedObject] {
    try (inSource ? sourceContext : destinationContext).fetch(
      entityName, where: predicate, includesSubentities: includesSubentities, limit: limit,
      now: now)
  }

  /// Ends the migration with that error as soon as the running hook returns.
  package func cancel(_ error: any Error) { cancellation = error }

  func checkCancellation() throws {
    if let cancellation { throw ObjectMigrationError(.cancelled, cause: cancellation) }
  }

  func keyOfCopy(of source: ManagedObject, facts: EntityFacts) throws -> Int64 {
    let table = facts.tableIndex
    guard keys.plan.keepsKeys(table) else { return try keys.plan.newKey(table) }
    guard keys.plan.isAmbiguous(table) else {
      keys.plan.note(source.primaryKey, in: table)
      return source.primaryKey
    }
    let place = Associations.Place(table: Int64(table), key: source.primaryKey)
    // A source object of several mappings, or made twice by a policy, keeps its key once.
    let before = try associations.destinations(of: Associations.Place(source), mapping: nil)
    if before.contains(where: { $0.place == place }) { return try keys.plan.newKey(table) }
    keys.plan.note(source.primaryKey, in: table)
    return source.primaryKey
  }

  /// Makes the default object: the hook's first, unless the policy has made one before.
  func insertCopy(of source: ManagedObject, plan: MappingPlan) throws -> ManagedObject {
    let facts = plan.destination
    let key =
      created.isEmpty
      ? try keyOfCopy(of: source, facts: facts) : try keys.plan.newKey(facts.tableIndex)
    let object = try destinationContext.insert(facts, key: key)
    created.append(object)
    return object
  }

  func associateCopy(
    _ source: ManagedObject, object: ManagedObject, plan: MappingPlan
  ) throws {
    try associate(source, destination: object, mapping: plan.number, isFirst: true)
  }

  /// How a mapping makes and relates objects of one source entity.
  func plan(mapping: EntityMapping, source: EntityFacts?) throws -> MappingPlan {
    if let known = plans[mapping.name], known.source === source { return known }
    let name = "\(mapping.name) \(source?.name ?? "")"
    if let known = plans[name] { return known }
    guard let destination = mapping.destinationEntityName else {
      throw ObjectMigrationError(.unknownEntity("nil"), mapping: mapping.name)
    }
    let made = MappingPlan(
      mapping: mapping, source: source,
      destination: try destinationContext.entityFacts(name: destination),
      manager: self)
    plans[plans[mapping.name] == nil ? mapping.name : name] = made
    return made
  }

  func scope(of mapping: EntityMapping) -> EvaluationScope {
    var variables: [String: ObjectValue] = [:]
    if let managerObject { variables["manager"] = .object(managerObject) }
    let mappingObject = mappingObjects[mapping.name] ?? MappingObject(mapping)
    mappingObjects[mapping.name] = mappingObject
    variables["entityMapping"] = .object(mappingObject)
    if let policy = policies[mapping.name] {
      variables["entityPolicy"] = .object(PolicyObject(policy: policy, manager: self))
    }
    return EvaluationScope(variables: variables, now: now, patterns: patterns)
  }

  // MARK: The run

  func enter(_ mapping: EntityMapping, policy: any MigrationPolicy) {
    currentMapping = mapping
    policies[mapping.name] = policy
  }

  func leaveMapping() { currentMapping = nil }

  /// Throws where a hook left an object of its mapping's entity without a source.
  func checkAssociations(_ mapping: EntityMapping, of source: ManagedObject) throws {
    defer { forgetCreated() }
    guard let object = unassociated.first else { return }
    throw ObjectMigrationError(
      .notAssociated, mapping: mapping.name, entity: object.entityName, key: source.primaryKey)
  }

  func forgetCreated() {
    currentSource = nil
    created.removeAll(keepingCapacity: true)
    unassociated.removeAll(keepingCapacity: true)
  }

  func number(of mapping: String) throws -> Int64 {
    if let lastNumber, lastNumber.name == mapping { return lastNumber.number }
    if foreignNames.contains(mapping) { throw destinationContext.beyond(mapping) }
    guard let number = mappingNumbers[mapping] else {
      throw ObjectMigrationError(.unknownEntityMapping(mapping))
    }
    lastNumber = (mapping, number)
    return number
  }

  /// The place of what was found, if the destination has such an entity.
  func place(found: Associations.Destination) -> ObjectPlace? {
    guard let facts = destinationContext.facts(number: found.number),
      Int64(facts.tableIndex) == found.place.table
    else { return nil }
    return ObjectPlace(facts: facts, key: found.place.key)
  }

  func destination(found: Associations.Destination) -> ManagedObject? {
    place(found: found).map { destinationContext.object(at: $0) }
  }
}

extension Associations.Place {
  init(_ object: ManagedObject) {
    self.init(table: Int64(object.facts.tableIndex), key: object.primaryKey)
  }
}
