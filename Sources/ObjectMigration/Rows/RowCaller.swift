package import Expressions
package import GRDB
package import Mapping
import ObjectModel
package import Schema
package import SystemPackage

// What a caller knows of the row that passes, from state to state. All of it is on one thread.
//
//   none      `current` is nil: no row has been requested.
//   [enter]   A value of another row than the last is requested, by key or by mapping; `make`
//             enters for each of its rows. `current` becomes the row's source object, and what is
//             known of its predecessor is gone.
//   plain     The mapping has no policy. `made` stays nil: values are what the mapping makes of
//             `current`, each when it is requested.
//   creating  The policy's `createDestinations` runs, after `begin` where the row is its mapping's
//             first. It ends with one object: by `createDestination`, which associates it too, or
//             by `insert`, which leaves it with default values (`isFilled` is false), and
//             `associate`.
//             A second object, or none, or one that is not associated ends the migration.
//   created   `made` is that object. A value is what was set last; otherwise what the mapping
//             makes, or the default where it is not filled. No store has the object itself: its
//             values go into the row.
//   failed    `enter` threw. What is known then looks like `plain`, so nothing may be requested
//             any more: both engines end their worker with the error.
//
// Both `plain` and `created` continue with the next row by `enter`.

/// Makes the values that a row program calls for, one object at a time.
///
/// It reads the source through a connection that has it attached as `src`, so expressions and
/// policies may follow relationships to other source objects. Of the destination there is only the
/// object in the making, and that only while its row passes.
package final class RowCaller {
  /// The mapping model whose expressions and policies are called.
  package let mappingModel: MappingModel
  /// Whatever policies want to share, in this worker.
  package var userInfo: [String: Any] = [:]
  /// The mapping of the last row that a policy was called for; nil before the first.
  package private(set) var currentMapping: EntityMapping?
  private let statements: PreparedStatements
  private let source: ObjectContext
  private let destination: ObjectContext
  private let now: Double
  private let patterns = PatternCache()
  private let parts: [Part?]
  private var cancellation: (any Error)?

  /// The source object whose row passes, and what became of it.
  private var current: ManagedObject?
  private var currentPart: Part?
  private var made: ManagedObject?
  private var isAssociated = false
  /// Whether the mapping fills the attributes of the object, which was not just inserted.
  private var isFilled = true

  /// What ended a call that SQLite made, as a fact; SQLite itself can hand on a text only.
  package internal(set) var failure: (any Error)?

  /// One entity mapping with all that its objects need.
  fileprivate final class Part {
    let mapping: EntityMapping
    let source: EntityFacts
    let destination: EntityFacts
    let policy: (any MigrationPolicy)?
    let object: MappingObject
    /// By the place of the destination's column.
    var properties: [Int: (property: PropertyMapping, object: MappingObject)] = [:]
    var hasBegun = false

    init(
      mapping: EntityMapping, source: EntityFacts, destination: EntityFacts,
      policy: (any MigrationPolicy)?
    ) {
      self.mapping = mapping
      self.source = source
      self.destination = destination
      self.policy = policy
      object = MappingObject(mapping)
      for property in mapping.attributeMappings {
        guard let attribute = destination.attributes[property.name] else { continue }
        properties[attribute.index] = (property, MappingObject(property))
      }
    }
  }

  /// Takes a connection with the source attached, and the policies of the class names that the
  /// mapping model holds.
  package init(
    mappingModel: MappingModel, source: StoreSchema, destination: StoreSchema, db: Database,
    support: FilePath?, now: Double,
    policies: [String: @Sendable () -> any MigrationPolicy] = [:]
  ) throws {
    self.mappingModel = mappingModel
    statements = PreparedStatements(db)
    let source = ObjectContext(
      schema: source, statements: statements, database: "src", isSource: true, support: support)
    let destination = ObjectContext(
      schema: destination, statements: statements, database: "none", isSource: false,
      support: support)
    self.source = source
    self.destination = destination
    self.now = now
    parts = try mappingModel.entityMappings.map { mapping in
      guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else {
        return nil
      }
      var policy: (any MigrationPolicy)?
      if let name = mapping.ownPolicyClassName {
        guard let make = policies[name] else {
          throw ObjectMigrationError(.policiesNotInWorker([name]))
        }
        policy = make()
      }
      return Part(
        mapping: mapping, source: try source.entityFacts(name: from),
        destination: try destination.entityFacts(name: to), policy: policy)
    }
    destination.newObjects = self
  }

  /// Ends what would keep the connection from closing; no value may be requested afterwards.
  package func close() { statements.close() }

  /// The source properties that were read from objects.
  package var propertiesRead: PropertiesRead { source.propertiesRead }

  // MARK: Values

  /// The value of a destination attribute, as the store keeps it.
  package func value(mapping index: Int, property: String, key: Int64) throws -> StoredValue {
    guard let part = parts[index], let attribute = part.destination.attributes[property] else {
      return .null
    }
    do {
      if current?.primaryKey != key || currentPart !== part { try enter(part, key: key) }
      guard part.policy != nil, let made else {
        return try mapped(part, index: attribute.index)
      }
      return try made.storedValue(property).1
    } catch let error as ObjectMigrationError {
      throw placed(error, part: part, property: property, key: key)
    }
  }

  private func enter(_ part: Part, key: Int64, row: (any PassingRow)? = nil) throws {
    let object = ManagedObject(
      context: source, facts: part.source, key: key, row: nil, isInserted: true)
    object.passing = row
    current = object
    currentPart = part
    made = nil
    isAssociated = false
    isFilled = true
    guard let policy = part.policy, let current else { return }
    currentMapping = part.mapping
    if !part.hasBegun {
      part.hasBegun = true
      try hook("begin") { try policy.begin(part.mapping, core: self) }
    }
    try hook("createDestinationInstances") {
      try policy.createDestinations(of: current, mapping: part.mapping, core: self)
    }
    guard made != nil else { throw ObjectMigrationError(.notIndependent("make no object")) }
    guard isAssociated else { throw ObjectMigrationError(.notAssociated) }
  }

  private func hook(_ name: String, body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as ObjectMigrationError {
      throw currentMapping.map { error.under($0, hook: name) } ?? error
    } catch {
      throw ObjectMigrationError(.policyFailed(hook: name), cause: error)
    }
    if let cancellation { throw ObjectMigrationError(.cancelled, cause: cancellation) }
  }

  private func placed(
    _ error: ObjectMigrationError, part: Part, property: String?, key: Int64
  ) -> ObjectMigrationError {
    var error = error.at(mapping: part.mapping.name, property: property, key: key)
    error.entity = error.entity ?? part.destination.name
    return error
  }

  /// What the mapping alone makes of the current object.
  private func mapped(_ part: Part, index: Int) throws -> StoredValue {
    guard let attribute = part.destination.attribute(at: index) else { return .null }
    guard let (property, object) = part.properties[index],
      let expression = property.valueExpression
    else { return StoredValue(value: attribute.defaultValue, of: attribute) }
    if case .attribute(let name, let replacement) = property.origin, let current,
      part.source.attributes[name] != nil
    {
      do {
        return try current.converted(
          name, replacingNull: replacement, to: AttributeForm(attribute))
      } catch let error as ObjectMigrationError {
        throw error.at(property: property.name)
      }
    }
    let value: ObjectValue
    do {
      value = try ExpressionEvaluator(scope(part: part, property: object)).value(of: expression)
    } catch let error as ObjectMigrationError {
      throw error
    } catch {
      throw ObjectMigrationError(.expressionFailed, property: property.name, cause: error)
    }
    guard case .scalar(let scalar) = value else {
      throw ObjectMigrationError(
        .valueRefused(type: attribute.type, found: value.kindName), property: property.name)
    }
    return try stored(scalar, in: property, for: attribute)
  }

  private func stored(
    _ value: AttributeValue, in property: PropertyMapping, for attribute: Attribute
  ) throws -> StoredValue {
    do {
      return try AttributeConversion.stored(value, for: AttributeForm(attribute))
    } catch let error as ObjectMigrationError {
      throw error.at(property: property.name)
    }
  }

  private func scope(part: Part, property: MappingObject) -> EvaluationScope {
    var variables: [String: ObjectValue] = [
      "entityMapping": .object(part.object), "propertyMapping": .object(property),
    ]
    variables["source"] = current.map { .object($0) } ?? .null
    if let policy = part.policy {
      variables["entityPolicy"] = .object(PolicyObject(policy: policy, manager: self))
    }
    return EvaluationScope(variables: variables, now: now, patterns: patterns)
  }

  // MARK: Rows that pass

  /// Some attributes that one mapping computes.
  package struct Attributes {
    fileprivate let part: Part
    fileprivate let members: [(name: String, index: Int, isComputed: Bool)]
  }

  /// The columns that source objects of a mapping have, in the order in which a row returns them.
  package func sourceColumns(mapping index: Int) -> [String] {
    parts[index]?.source.columns ?? []
  }

  /// Prepares for destination attributes of a mapping; nil where it has no objects or attributes.
  package func attributes(mapping index: Int, names: [String]) -> Attributes? {
    guard let part = parts[index] else { return nil }
    let members = names.compactMap { name -> (String, Int, Bool)? in
      guard let index = part.destination.attributes[name]?.index else { return nil }
      let property = part.properties[index]?.property
      return (name, index, property?.isComputed ?? false)
    }
    return members.count == names.count ? Attributes(part: part, members: members) : nil
  }

  /// Computes attributes of a row's object; `set` is called with their places among the names.
  ///
  /// Of what a policy leaves alone, it is called only with what expressions compute.
  package func make(
    _ attributes: Attributes, key: Int64, row: any PassingRow,
    set: (_ place: Int, StoredValue) -> Void
  ) throws {
    let part = attributes.part
    do {
      try enter(part, key: key, row: row)
      defer { current?.passing = nil }
      for (place, member) in attributes.members.enumerated() {
        guard let made else {
          set(place, try mapped(part, index: member.index))
          continue
        }
        if let found = made.settings.last(where: { $0.index == member.index }) {
          set(place, found.value)
        } else if member.isComputed || !isFilled {
          set(place, try initialValue(of: made, at: member.index))
        }
      }
    } catch let error as ObjectMigrationError {
      throw placed(error, part: part, property: nil, key: key)
    }
  }
}

extension RowCaller: NewObjectValues {
  func initialValue(of object: ManagedObject, at index: Int) throws -> StoredValue {
    guard isFilled, let currentPart else {
      return object.facts.attribute(at: index).map { StoredValue(value: $0.defaultValue, of: $0) }
        ?? .null
    }
    return try mapped(currentPart, index: index)
  }
}

extension RowCaller: PolicyManager {
  /// Rows pass in many workers, so none knows how far the whole is.
  package var progress: Double { 0 }

  /// Makes and associates the object of the row; the mapping fills it.
  ///
  /// - Throws: `ObjectMigrationError` for another source object, or a second one.
  package func createDestination(
    of source: ManagedObject, mapping: EntityMapping
  ) throws -> ManagedObject {
    guard source === current else { throw notIndependent("make the object of another one") }
    let object = try makeObject()
    isAssociated = true
    return object
  }

  /// Makes the object of the row with default values; the policy has to associate it.
  ///
  /// - Throws: `ObjectMigrationError` for another entity than the mapping's, or a second object.
  package func insert(_ entityName: String) throws -> ManagedObject {
    guard entityName == currentPart?.destination.name else {
      throw notIndependent("make an object of \(entityName)")
    }
    isFilled = false
    return try makeObject()
  }

  private func makeObject() throws -> ManagedObject {
    guard made == nil, let currentPart, let current else {
      throw notIndependent("make a second object")
    }
    let object = ManagedObject(
      context: destination, facts: currentPart.destination, key: current.primaryKey, row: nil,
      isInserted: false)
    made = object
    return object
  }

  /// Notes that the object of the row was made of its source object.
  ///
  /// - Throws: `ObjectMigrationError` for other objects.
  package func associate(
    _ source: ManagedObject, with destination: ManagedObject, for mapping: EntityMapping
  ) throws {
    guard source === current, destination === made else {
      throw notIndependent("associate other objects than the one in the making")
    }
    isAssociated = true
  }

  /// The objects of the source that satisfy a predicate, in the order of their keys.
  ///
  /// - Throws: `ObjectMigrationError` if the destination's are requested.
  package func fetch(
    _ entityName: String, where predicate: ValuePredicate?, inSource: Bool,
    includesSubentities: Bool, limit: Int
  ) throws -> [ManagedObject] {
    guard inSource else { throw notIndependent("fetch objects of the destination") }
    return try source.fetch(
      entityName, where: predicate, includesSubentities: includesSubentities, limit: limit,
      now: now)
  }

  /// Always throws: relationships of rows follow the mapping model.
  package func createRelationships(
    of destination: ManagedObject, mapping: EntityMapping
  ) throws { throw notIndependent("relate objects") }

  /// The object of the row, if the objects made from its source object are requested.
  ///
  /// - Throws: `ObjectMigrationError` where any other is.
  package func destinations(
    mapping: String, of sources: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject] {
    guard let sources, mapping == currentPart?.mapping.name,
      sources.allSatisfy({ $0 === current })
    else { throw notIndependent("look up what became of other objects") }
    return made.map { [$0] } ?? []
  }

  /// The source object of the row, if the source of its object is requested.
  ///
  /// - Throws: `ObjectMigrationError` where any other is.
  package func sources(
    mapping: String, of destinations: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject] {
    guard let destinations, mapping == currentPart?.mapping.name,
      destinations.allSatisfy({ $0 === made })
    else { throw notIndependent("look up what other objects were made of") }
    return current.map { [$0] } ?? []
  }

  /// Has the running hook end in that error, once it returns.
  package func cancel(_ error: any Error) { cancellation = error }

  private func notIndependent(_ what: String) -> ObjectMigrationError {
    ObjectMigrationError(.notIndependent(what))
  }
}
