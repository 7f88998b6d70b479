package import Expressions
import ObjectModel
package import Schema

/// An object of the source or the destination store, whose values are read on request.
package final class ManagedObject: EvaluatedObject {
  /// What identifies an object: each has one reference, so policies may compare them.
  struct Key: Hashable {
    /// The place of the table among those of the schema.
    var table: Int
    var key: Int64
  }

  let context: ObjectContext
  let facts: EntityFacts
  /// The key of the row, the column `Z_PK`.
  package let primaryKey: Int64
  /// The columns of the facts; nil before the first value is requested.
  var row: [StoredValue]?
  /// Whether the store has the row.
  var isInserted: Bool
  /// Where the values are while the row passes, before they are read from the store.
  var passing: (any PassingRow)?
  /// What was set, in that order, where the context makes one object at a time.
  var settings: [(index: Int, value: StoredValue)] = []
  /// Whether the context keeps it until the next flush.
  var isWaiting = false
  /// The columns that the store does not have yet.
  var changed: Set<Int> = []

  init(
    context: ObjectContext, facts: EntityFacts, key: Int64, row: [StoredValue]?,
    isInserted: Bool
  ) {
    self.context = context
    self.facts = facts
    primaryKey = key
    self.row = row
    self.isInserted = isInserted
  }

  /// The object's own entity, which may be a subentity of the requested one.
  package var entityName: String { facts.name }
  /// Whether it is of the source store, so that nothing can be set.
  package var isSource: Bool { context.isSource }
  var key: Key { Key(table: facts.tableIndex, key: primaryKey) }
  var place: ObjectPlace { ObjectPlace(facts: facts, key: primaryKey) }

  deinit { context.forget(self) }

  /// Equal for one row of one store: the row that passes may be read a second time.
  package var identity: AnyHashable { Identity(isSource: isSource, key: key) }

  private struct Identity: Hashable {
    var isSource: Bool
    var key: Key
  }

  /// The name of its entity, for messages.
  package var typeName: String { facts.name }

  /// The attributes that the store keeps, by name.
  package var attributeNames: [String] { facts.attributes.keys.sorted() }
  /// The relationships that the store keeps, by name.
  package var relationshipNames: [String] { facts.relationships.keys.sorted() }

  // MARK: Values

  /// The value of an attribute, or the object or objects of a relationship; nil for what is
  /// transient.
  ///
  /// - Throws: `EvaluationError` where the entity has no such property.
  package func value(forKey key: String) throws -> ObjectValue {
    if facts.attributes[key] != nil { return .scalar(try attribute(name: key)) }
    if let relationship = facts.relationships[key] {
      guard relationship.relationship.isToMany else {
        return try object(name: key).map { .object($0) } ?? .null
      }
      let kind: ValueCollection.Kind = relationship.relationship.isOrdered ? .orderedSet : .set
      return .collection(
        ValueCollection(kind: kind, members: try objects(name: key).map { .object($0) }))
    }
    if isComposite(key) { return try composite(name: key).map { .object($0) } ?? .null }
    if facts.unstored.contains(key) { return .null }
    switch key {
    case "entity": return .object(EntityValue(facts.entity, context: context))
    case "objectID" where isSource: return .object(ObjectIDValue(of: self))
    case "objectID": throw EvaluationError(.notYetKnown(key, of: facts.name))
    default: throw EvaluationError(.unknownKey(key, of: facts.name))
    }
  }

  /// Answers the names of its properties, as the getters that Core Data makes of them do.
  ///
  /// - Throws: `EvaluationError` for any other selector.
  package func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    try answer(selector)
  }

  /// The value of an attribute, with the bytes of an external file read.
  ///
  /// - Throws: `ObjectMigrationError` where the entity has no such attribute.
  package func attribute(name: String) throws -> AttributeValue {
    let (facts, stored) = try storedValue(name)
    return try context.value(stored: stored, of: facts)
  }

  /// The value as the store keeps it.
  func storedValue(_ name: String) throws -> (AttributeFacts, StoredValue) {
    guard let attribute = facts.attributes[name] else { throw unknown(name) }
    guard !context.makesOneAtATime else { return (attribute, try settingOrInitial(attribute)) }
    if context.isWatched { facts.noteRead(at: attribute.index) }
    return (attribute, try columnValue(index: attribute.index))
  }

  /// The value as the store keeps it, which does not count as read.
  func peek(_ name: String) throws -> StoredValue {
    guard let attribute = facts.attributes[name] else { return .null }
    return context.makesOneAtATime
      ? try settingOrInitial(attribute) : try columnValue(index: attribute.index)
  }

  /// The value of an object that no store has.
  private func settingOrInitial(_ attribute: AttributeFacts) throws -> StoredValue {
    if let set = settings.last(where: { $0.index == attribute.index }) { return set.value }
    return try context.newObjects?.initialValue(of: self, at: attribute.index) ?? .null
  }

  /// The object of a to-one relationship.
  package func object(name: String) throws -> ManagedObject? {
    let relationship = try relationship(name: name)
    guard !relationship.relationship.isToMany else { return nil }
    if passing != nil, case .toOne(let column, _, _) = relationship.storage,
      let index = facts.columnIndexes[column]
    {
      guard case .integer(let key) = try columnValue(index: index) else { return nil }
      return try context.place(key: key, facts: relationship).map { context.object(at: $0) }
    }
    return try context.places(of: place, facts: relationship).first.map { context.object(at: $0) }
  }

  /// The objects of a to-many relationship, in its order or in that of their keys.
  package func objects(name: String) throws -> [ManagedObject] {
    let relationship = try relationship(name: name)
    return try context.places(of: place, facts: relationship).map { context.object(at: $0) }
  }

  // MARK: Changes

  /// Sets an attribute; nothing happens where it is transient.
  ///
  /// - Throws: `ObjectMigrationError` for an object of the source, another class of value, or a
  ///   number that the type cannot hold.
  package func set(_ name: String, value: AttributeValue) throws {
    guard let attribute = facts.attributes[name] else {
      // A transient attribute exists, and nothing keeps its value.
      if facts.unstored.contains(name) { return }
      throw unknown(name)
    }
    do {
      try store(AttributeConversion.stored(value, for: attribute.form), at: attribute.index)
    } catch let error as ObjectMigrationError {
      throw placed(error, property: name)
    }
  }

  /// Adds the attribute of the object to the error of a refused value.
  func placed(_ error: ObjectMigrationError, property: String) -> ObjectMigrationError {
    var error = error.at(property: property, key: primaryKey)
    error.entity = facts.name
    return error
  }

  func store(_ value: StoredValue, at index: Int) throws {
    guard !isSource else { throw ObjectMigrationError(.readOnly, entity: facts.name) }
    guard !context.makesOneAtATime else {
      settings.append((index, value))
      return
    }
    try changeRow { $0[index] = value }
    context.waitingBytes += value.byteCount
    // Of a new object all columns are written.
    if isInserted { changed.insert(index) }
  }

  /// Changes columns in place, and has the context write them; the caller notes which they are.
  func changeRow(_ body: (inout [StoredValue]) throws -> Void) throws {
    var row = try loadedRow()
    // Nothing else may hold the columns while they change, or they would be copied.
    self.row = nil
    defer {
      self.row = row
      context.noteChange(of: self)
    }
    try body(&row)
  }

  /// Makes a relationship hold these objects and no others; the other ends follow.
  package func set(_ name: String, objects: [ManagedObject]) throws {
    let relationship = try writable(name, objects: objects)
    try context.set(objects.map(\.place), of: place, facts: relationship)
  }

  /// Adds objects to a to-many relationship, at the end of an ordered one.
  package func add(_ objects: [ManagedObject], to name: String) throws {
    let relationship = try writable(name, objects: objects)
    guard relationship.relationship.isToMany else {
      return try context.setObject(objects.last?.place, of: place, facts: relationship)
    }
    try context.addObjects(objects.map(\.place), to: place, facts: relationship)
  }

  private func writable(
    _ name: String, objects: [ManagedObject]
  ) throws -> RelationshipFacts {
    guard !isSource else { throw ObjectMigrationError(.readOnly, entity: facts.name) }
    let relationship = try relationship(name: name)
    for object in objects {
      guard !object.isSource else {
        throw relationship.refusal(of: "a source object", owner: place)
      }
      guard relationship.targetNames.contains(object.entityName) else {
        throw relationship.refusal(of: object.entityName, owner: place)
      }
    }
    return relationship
  }

  func relationship(name: String) throws -> RelationshipFacts {
    guard !context.makesOneAtATime else {
      throw ObjectMigrationError(
        .notIndependent("reach the relationship \(name) of a new object"), entity: facts.name,
        property: name, key: primaryKey)
    }
    guard let relationship = facts.relationships[name] else { throw unknown(name) }
    if context.isWatched { relationship.isRead = true }
    return relationship
  }

  private func columnValue(index: Int) throws -> StoredValue {
    if let row { return row[index] }
    return try passing?.value(at: index) ?? loadedRow()[index]
  }

  func loadedRow() throws -> [StoredValue] {
    if let row { return row }
    let loaded = try context.readRow(of: self)
    row = loaded
    return loaded
  }

  private func unknown(_ name: String) -> ObjectMigrationError {
    ObjectMigrationError(
      .unknownProperty(name, known: facts.propertyNames), entity: facts.name, property: name,
      key: primaryKey)
  }
}

/// A row in the hands of a loop.
package protocol PassingRow: AnyObject {
  /// The value of a column by its place in `RowCaller.sourceColumns`.
  func value(at index: Int) throws -> StoredValue
}

/// Where an object is, whether or not it is in memory.
struct ObjectPlace {
  let facts: EntityFacts
  let key: Int64
}

extension RelationshipFacts {
  /// What to throw where something is put into the relationship that has no place there.
  func refusal(of found: String, owner: ObjectPlace) -> ObjectMigrationError {
    ObjectMigrationError(
      .wrongObject(expected: relationship.destinationEntityName, found: found),
      entity: owner.facts.name, property: name, key: owner.key)
  }
}
