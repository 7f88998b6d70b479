package import Expressions
import Mapping

extension ObjectMigrationManager: PolicyManager, MigrationLookups {
  /// What a mapping of this mapping model made of the source objects; of nil, all that it made.
  ///
  /// - Throws: `ObjectMigrationError` where the mapping is not in the model, or another worker's.
  package func destinations(
    mapping: String, of sources: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject] {
    let number = try number(of: mapping)
    guard let sources else { return try allPairs(number).compactMap { destination(found: $0.1) } }
    return try lookUp(sources, mapping: number)
  }

  /// What any mapping of this worker made of the source objects, new objects excepted.
  ///
  /// - Throws: `ObjectMigrationError` where another worker makes objects of their entity.
  package func destinations(of sources: [any EvaluatedObject]) throws -> [any EvaluatedObject] {
    try lookUp(sources, mapping: nil)
  }

  private func lookUp(
    _ sources: [any EvaluatedObject], mapping: Int64?
  ) throws -> [any EvaluatedObject] {
    try sources.flatMap { source -> [ManagedObject] in
      guard let source = source as? ManagedObject, source.isSource else { return [] }
      if mapping == nil, foreignSources.contains(source.entityName) {
        throw destinationContext.beyond(source.entityName)
      }
      return try associations.destinations(
        of: Associations.Place(source), mapping: mapping,
        skipping: mapping == nil ? newObjectNumbers : []
      ).compactMap(destination)
    }
  }

  /// The source objects from which a mapping made the destination objects.
  package func sources(
    mapping: String, of destinations: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject] {
    let number = try number(of: mapping)
    guard let destinations else {
      return try allPairs(number).compactMap { try source(place: $0.0) }
    }
    return try destinations.flatMap { object -> [ManagedObject] in
      guard let object = object as? ManagedObject, !object.isSource else { return [] }
      return try associations.sources(of: Associations.Place(object), mapping: number)
        .compactMap(source)
    }
  }

  private func allPairs(
    _ mapping: Int64
  ) throws -> [(Associations.Place, Associations.Destination)] {
    try associations.pairs(mapping: mapping, after: nil, limit: .max >> 1).map { ($0, $1) }
  }

  func source(place: Associations.Place) throws -> ManagedObject? {
    try sourceContext.anyObject(key: place.key, table: place.table)
  }

  /// The keys that Apple documents for the manager; of `userInfo` the values that expressions know.
  ///
  /// - Throws: `EvaluationError` for any other key.
  package func managerValue(forKey key: String) throws -> ObjectValue {
    switch key {
    case "sourceContext": return .object(sourceContext)
    case "destinationContext": return .object(destinationContext)
    case "userInfo":
      let scalars = userInfo.compactMapValues { value -> ObjectValue? in
        switch value {
        case let value as ObjectValue: value
        case let value as AttributeValue: .scalar(value)
        case let value as ManagedObject: .object(value)
        case let value as String: .string(value: value)
        case let value as Bool: .boolean(value: value)
        case let value as Int: .integer(value: Int64(value))
        case let value as Double: .scalar(.real(value))
        default: nil
        }
      }
      return .object(UserInfoObject(scalars))
    case "currentEntityMapping":
      guard let currentMapping else { return .null }
      return mappingObjects[currentMapping.name].map { .object($0) } ?? .null
    case "migrationProgress": return .scalar(.real(progress))
    default: throw EvaluationError(.unknownKey(key, of: "the migration manager"))
    }
  }

  /// Nil: the manager answers no selectors but Core Data's.
  package func performOther(
    _ selector: String, arguments: [ObjectValue]
  ) throws -> ObjectValue? { nil }
}
