/// A fetch request that an expression made.
package final class FetchRequestValue: EvaluatedObject {
  /// The entity whose objects it fetches, without those of subentities.
  package let entityName: String
  /// Which of them it fetches.
  package let predicate: ValuePredicate

  /// Takes any entity: whether the model has it shows when objects are fetched.
  package init(entityName: String, predicate: ValuePredicate) {
    self.entityName = entityName
    self.predicate = predicate
  }

  /// Itself: two requests are never one.
  package var identity: AnyHashable { ObjectIdentifier(self) }
  /// What messages call it.
  package var typeName: String { "a fetch request" }

  /// The name of the entity, under the key `entityName`.
  ///
  /// - Throws: `EvaluationError` for any other key.
  package func value(forKey key: String) throws -> ObjectValue {
    switch key {
    case "entityName": .string(value: entityName)
    default: throw EvaluationError(.unknownKey(key, of: typeName))
    }
  }
}

/// What `$manager.sourceContext` is: it fetches objects.
package protocol EvaluatedContext: EvaluatedObject {
  /// The objects of a request, in key order.
  func fetch(_ request: FetchRequestValue) throws -> [any EvaluatedObject]
  /// The objects of an entity that may have a value under a key, in key order; nil if each has to
  /// be evaluated.
  func fetch(
    _ entityName: String, having key: String, of value: AttributeValue
  ) throws -> [any EvaluatedObject]?
}

/// What a migration answers to the functions of mapping models.
package protocol MigrationLookups: AnyObject {
  /// The destination objects that a mapping made of the source objects; of nil, all that it made.
  func destinations(
    mapping: String, of sources: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject]
  /// The source objects from which a mapping made the destination objects; of nil, all.
  func sources(
    mapping: String, of destinations: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject]
  /// The destination objects that any mapping made of the source objects.
  func destinations(of sources: [any EvaluatedObject]) throws -> [any EvaluatedObject]
  /// The value of `$manager` under a key: a context, `userInfo`, the current mapping.
  func managerValue(forKey key: String) throws -> ObjectValue
  /// Answers selectors that an application added to its manager; nil where there is no such.
  func performOther(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue?
}

/// `$manager` in value expressions.
package final class ManagerObject: EvaluatedObject {
  private unowned let lookups: any MigrationLookups
  private struct RequestText: Hashable {
    var entity: String
    var predicate: String
  }

  private var requests: [RequestText: FetchRequestValue] = [:]
  private let reader = PredicateReader()
  private static let mostRequests = 500

  /// Takes the migration, which outlives it.
  package init(_ lookups: any MigrationLookups) { self.lookups = lookups }

  /// Itself: a migration has one.
  package var identity: AnyHashable { ObjectIdentifier(self) }
  /// What messages call it.
  package var typeName: String { "the migration manager" }

  /// A context, `userInfo` or the current mapping, as the migration has them.
  package func value(forKey key: String) throws -> ObjectValue {
    try lookups.managerValue(forKey: key)
  }

  /// The selectors of `NSMigrationManager`, and two that only Xcode's mappings name.
  package func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    switch selector {
    case "fetchRequestForSourceEntityNamed:predicateString:" where arguments.count == 2:
      return .object(try request(arguments, selector: selector))
    case "destinationInstancesForEntityMappingNamed:sourceInstances:" where arguments.count == 2:
      let name = try ExpressionEvaluator.text(value: arguments[0], of: selector)
      return .objects(
        try lookups.destinations(
          mapping: name, of: try Self.objects(value: arguments[1], selector: selector)))
    case "sourceInstancesForEntityMappingNamed:destinationInstances:" where arguments.count == 2:
      let name = try ExpressionEvaluator.text(value: arguments[0], of: selector)
      return .objects(
        try lookups.sources(
          mapping: name, of: try Self.objects(value: arguments[1], selector: selector)))
    case "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    where arguments.count == 2:
      // The relationship's name only shows where Core Data searches; the objects are given.
      _ = try ExpressionEvaluator.text(value: arguments[0], of: selector)
      return .objects(
        try lookups.destinations(of: try Self.objects(value: arguments[1], selector: selector)))
    default:
      return try lookups.performOther(selector, arguments: arguments) ?? answer(selector)
    }
  }

  /// Xcode passes one object, nil or a collection; nil means no object
  /// (docs/reference/expressions.md).
  private static func objects(
    value: ObjectValue, selector: String
  ) throws -> [any EvaluatedObject] {
    switch value {
    case .scalar(.null): return []
    case .object(let object): return [object]
    case .collection(let collection):
      return try collection.members.flatMap { try objects(value: $0, selector: selector) }
    case .scalar:
      throw EvaluationError(
        .wrongArgument(of: selector, expected: "objects", found: value.kindName))
    }
  }

  /// The text of a predicate is parsed once, however often a mapping uses it.
  private func request(
    _ arguments: [ObjectValue], selector: String
  ) throws -> FetchRequestValue {
    let entity = try ExpressionEvaluator.text(value: arguments[0], of: selector)
    let text =
      arguments[1].isNull
      ? "TRUEPREDICATE" : try ExpressionEvaluator.text(value: arguments[1], of: selector)
    let key = RequestText(entity: entity, predicate: text)
    if let known = requests[key] { return known }
    let made = FetchRequestValue(
      entityName: entity, predicate: try reader.predicate(format: text))
    if requests.count >= Self.mostRequests { requests = [:] }
    requests[key] = made
    return made
  }
}

/// The keys of values that expressions can read in addition to objects of stores and their values.
package struct KnownKeys {
  /// What messages call the owner of the keys.
  package let owner: String
  /// The keys; the owner has no other.
  package let names: Set<String>

  /// Of `NSManagedObjectID`.
  package static let objectID = Self(
    owner: "an object ID", names: ["URIRepresentation", "entity", "isTemporaryID", "temporaryID"])
  /// Of `NSEntityDescription`.
  package static let entity = Self(
    owner: "an entity", names: ["name", "superentity", "isAbstract", "abstract"])
  /// Of `NSEntityMapping`.
  package static let entityMapping = Self(
    owner: "the entity mapping",
    names: ["name", "sourceEntityName", "destinationEntityName", "userInfo"])
  /// Of `NSPropertyMapping`.
  package static let propertyMapping = Self(
    owner: "the property mapping", names: ["name", "userInfo"])
}
