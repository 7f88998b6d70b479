import Expressions
import GRDB
import ObjectModel
import Schema

/// `objectID` of a source object in value expressions.
final class ObjectIDValue: EvaluatedObject {
  private let object: ManagedObject

  init(of object: ManagedObject) { self.object = object }

  /// Equal for all IDs of one object.
  var identity: AnyHashable { Identity(object: object.identity) }
  var typeName: String { KnownKeys.objectID.owner }

  /// What `NSManagedObjectID` has under a key.
  ///
  /// - Throws: `EvaluationError` for any other key.
  func value(forKey key: String) throws -> ObjectValue {
    switch key {
    case "entity": .object(EntityValue(object.facts.entity, context: object.context))
    // Whatever a store holds was saved.
    case "isTemporaryID", "temporaryID": .boolean(value: false)
    case "URIRepresentation": .scalar(.uri(try text()))
    default: throw EvaluationError(.unknownKey(key, of: typeName))
    }
  }

  /// Answers what has a key.
  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    try answer(selector)
  }

  /// The object's own entity is named, not the one whose table has it.
  private func text() throws -> String { try object.savedIdentifier() }

  private struct Identity: Hashable { var object: AnyHashable }
}

extension ManagedObject {
  /// The URI of an object that its store has.
  fileprivate func savedIdentifier() throws -> String {
    "x-coredata://\(try context.storeIdentifier())/\(entityName)/p\(primaryKey)"
  }

  /// The URI of an object of the source.
  ///
  /// - Throws: `EvaluationError` for a new object, which has its key once it is saved.
  package func uniformIdentifier() throws -> String? {
    guard context.isSource else { throw EvaluationError(.notYetKnown("objectID", of: facts.name)) }
    return try savedIdentifier()
  }
}

/// `entity` of an object in value expressions.
final class EntityValue: EvaluatedObject {
  private let entity: Entity
  private let context: ObjectContext

  init(_ entity: Entity, context: ObjectContext) {
    self.entity = entity
    self.context = context
  }

  /// Equal for one entity of one model.
  var identity: AnyHashable { Identity(context: context.identity, name: entity.name) }
  var typeName: String { KnownKeys.entity.owner }

  /// What `NSEntityDescription` has under a key.
  ///
  /// - Throws: `EvaluationError` for any other key.
  func value(forKey key: String) throws -> ObjectValue {
    switch key {
    case "name": return .string(value: entity.name)
    case "isAbstract", "abstract": return .boolean(value: entity.isAbstract)
    case "superentity":
      let above = entity.superentityName.flatMap { context.schema.model.entity(name: $0) }
      return above.map { .object(EntityValue($0, context: context)) } ?? .null
    default: throw EvaluationError(.unknownKey(key, of: typeName))
    }
  }

  /// Answers what has a key.
  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    try answer(selector)
  }

  private struct Identity: Hashable {
    var context: AnyHashable
    var name: String
  }
}

extension ObjectContext {
  /// The identifier of the store, by which URIs of its objects name it.
  ///
  /// - Throws: `EvaluationError` where the store has none, or several.
  func storeIdentifier() throws -> String {
    if let knownIdentifier { return knownIdentifier }
    let found = try Row.fetchAll(db, sql: "SELECT Z_UUID FROM \(database).Z_METADATA LIMIT 2")
    guard found.count == 1, let identifier = String.fromDatabaseValue(found[0][0]) else {
      throw EvaluationError(.unknownKey("URIRepresentation", of: KnownKeys.objectID.owner))
    }
    knownIdentifier = identifier
    return identifier
  }
}
