import Expressions
import GRDB
import Mapping
import ObjectModel
import Schema

/// Makes and relates the objects of one mapping that makes one per pair, per value or for all.
///
/// (1) It runs when all other mappings have made their objects, so it knows what both ends became.
/// (2) Values and the other objects of pairs stand in tables on disk, so memory does not grow.
/// (3) Keys are given in the order of source objects, and of pairs within each.
final class NewObjectMaker {
  private let manager: ObjectMigrationManager
  private let mapping: EntityMapping
  private let objects: NewObjects
  private let number: Int64
  private let facts: EntityFacts
  /// The mappings whose objects the relationships to both ends can hold.
  private let sourceMakers: [Int64]
  private let memberMakers: [Int64]
  /// The object that has no value, and the one for all.
  private var only: ObjectPlace?
  /// The keys of the objects that this mapping made.
  private var made: ClosedRange<Int64>?
  private var related = KeySet()

  init(_ mapping: EntityMapping, objects: NewObjects, manager: ObjectMigrationManager) throws {
    (self.mapping, self.objects, self.manager) = (mapping, objects, manager)
    number = try manager.number(of: mapping.name)
    let facts = try manager.destinationContext.entityFacts(
      name: mapping.destinationEntityName ?? "")
    self.facts = facts
    func makers(_ relationship: String?) throws -> [Int64] {
      guard let relationship, let found = facts.relationships[relationship] else { return [] }
      return try manager.mappingModel.entityMappings.filter {
        $0.newObjects == nil && $0.sourceEntityName != nil
          && found.targetNames.contains($0.destinationEntityName ?? "")
      }.map { try manager.number(of: $0.name) }
    }
    sourceMakers = try makers(objects.sourceRelationship)
    memberMakers = try makers(objects.memberRelationship)
  }

  /// How many objects it made.
  var count: Int64 { made.map { Int64($0.count) } ?? 0 }

  private var context: ObjectContext { manager.destinationContext }
  /// No other name in the file of associations ends in the number of a mapping.
  private var values: String { "link.value_\(number)" }
  private var members: String { "link.member_\(number)" }

  // MARK: Creation

  /// Prepares the tables, and finds the objects that others made.
  func begin() throws {
    let db = try context.flushed()
    switch objects.unit {
    case .pair:
      try db.execute(
        sql: """
          DROP TABLE IF EXISTS \(members);
          CREATE TABLE \(members) (object INTEGER PRIMARY KEY, member_table INTEGER, member INTEGER)
          """)
    case .value:
      try db.execute(
        sql: """
          DROP TABLE IF EXISTS \(values);
          CREATE TABLE \(values) (value PRIMARY KEY, object INTEGER, entity INTEGER) WITHOUT ROWID
          """)
      if objects.findsExisting { try findExisting() }
    case .all: break
    }
  }

  /// Of objects with one value, the one with the lowest key is taken.
  private func findExisting() throws {
    guard let name = objects.attribute, let attribute = facts.attributes[name] else { return }
    let table = context.sqlTable(name: facts.tableName)
    let column = SQL.identifier(name: facts.columns[attribute.index])
    let family = context.schema.model.family(of: facts.name).compactMap {
      context.schema.numbers[$0.name]?.rawValue
    }
    let isOurs = "Z_ENT IN (\(family.map { "\($0)" }.joined(separator: ", ")))"
    try context.db.execute(
      sql: """
        INSERT OR IGNORE INTO \(values) SELECT \(column), Z_PK, Z_ENT FROM \(table)
        WHERE \(isOurs) AND \(column) IS NOT NULL ORDER BY Z_PK
        """)
    let without = try context.statements.statement(
      sql: """
        SELECT Z_PK, Z_ENT FROM \(table) WHERE \(isOurs) AND \(column) IS NULL
        ORDER BY Z_PK LIMIT 1
        """)
    while try without.step() {
      only = context.facts(number: without.integer(column: 1)).map {
        ObjectPlace(facts: $0, key: without.integer(column: 0))
      }
    }
  }

  /// Makes the new object for a source object, or finds it.
  func take(_ source: ManagedObject) throws {
    let plan = try manager.plan(mapping: mapping, source: source.facts)
    switch objects.unit {
    case .pair(let name):
      guard try isContinued(source.place, by: sourceMakers, in: objects.sourceRelationship) else {
        return
      }
      for member in try source.objects(name: name)
      where try isContinued(member.place, by: memberMakers, in: objects.memberRelationship) {
        try makePair(source, member: member, plan: plan)
      }
    case .value(let expression, let takesNil):
      let value = try value(expression, of: source, plan: plan)
      if value != .null { return try take(source, value: value, plan: plan) }
      if takesNil { try takeOnly(source, plan: plan) }
    case .all: try takeOnly(source, plan: plan)
    }
  }

  /// Makes the one object for all, where there is no source object.
  func end() throws {
    guard objects.unit == .all, only == nil else { return }
    let source = try mapping.sourceEntityName.map {
      try manager.sourceContext.entityFacts(name: $0)
    }
    only = try make(of: nil, plan: try manager.plan(mapping: mapping, source: source)).place
  }

  private func take(_ source: ManagedObject, value: StoredValue, plan: MappingPlan) throws {
    let known = try context.statements.statement(
      sql: "SELECT object, entity FROM \(values) WHERE value = ?")
    known.bind(value, at: 1)
    if try known.step() {
      let (key, entity) = (known.integer(column: 0), known.integer(column: 1))
      known.reset()
      guard let found = context.facts(number: entity) else { return }
      return try associate(source, with: ObjectPlace(facts: found, key: key))
    }
    let object = try make(of: source, value: value, plan: plan)
    let insert = try context.statements.statement(sql: "INSERT INTO \(values) VALUES (?, ?, ?)")
    insert.bind(value, at: 1)
    insert.bind(object.primaryKey, at: 2)
    insert.bind(facts.number, at: 3)
    try insert.execute()
    try associate(source, with: object.place)
  }

  private func takeOnly(_ source: ManagedObject, plan: MappingPlan) throws {
    let place = try only ?? make(of: source, plan: plan).place
    only = place
    try associate(source, with: place)
  }

  private func makePair(
    _ source: ManagedObject, member: ManagedObject, plan: MappingPlan
  ) throws {
    plan.member = member
    defer { plan.member = nil }
    let object = try make(of: source, plan: plan)
    let place = Associations.Place(member)
    let insert = try context.statements.statement(sql: "INSERT INTO \(members) VALUES (?, ?, ?)")
    insert.bind(all: [object.primaryKey, place.table, place.key])
    try insert.execute()
    try associate(source, with: object.place)
  }

  private func make(
    of source: ManagedObject?, value: StoredValue = .null, plan: MappingPlan
  ) throws -> ManagedObject {
    let key = try manager.keys.plan.newKey(facts.tableIndex)
    made = (made?.lowerBound ?? key)...key
    let object = try context.insert(facts, key: key)
    if let name = objects.attribute, let attribute = facts.attributes[name] {
      try object.store(value, at: attribute.index)
    }
    try plan.fill(object: object, from: source)
    return object
  }

  private func associate(_ source: ManagedObject, with place: ObjectPlace) throws {
    try manager.associations.add(
      mapping: number, source: Associations.Place(source), destination: Associations.Place(place),
      number: place.facts.number, isFirst: true)
  }

  /// The value as the attribute stores it, else as its own kind is stored.
  private func value(
    _ expression: ValueExpression, of source: ManagedObject, plan: MappingPlan
  ) throws -> StoredValue {
    let attribute = objects.attribute.flatMap { facts.attributes[$0] }
    if let attribute, case .keyPath(.variable("source")?, let name) = expression,
      let own = source.facts.attributes[name], own.form == attribute.form
    {
      return try source.storedValue(name).1
    }
    do {
      guard case .scalar(let scalar) = try plan.value(of: expression, from: source) else {
        throw ObjectMigrationError(
          .valueRefused(type: attribute?.attribute.type ?? .undefined, found: "an object"))
      }
      guard let attribute else { return StoredValue(comparing: scalar) }
      return try AttributeConversion.stored(scalar, for: attribute.form)
    } catch let error as ObjectMigrationError {
      throw error.at(
        mapping: mapping.name, property: objects.attribute, entity: source.entityName,
        key: source.primaryKey)
    }
  }

  // MARK: Relation

  /// Relates an object to one of the source objects that it is for.
  func relate(_ place: ObjectPlace, source: Associations.Place) throws {
    if let name = objects.sourceRelationship {
      try relate(place, to: source, by: sourceMakers, in: name)
    }
    let isFirst = !related.contains(place.key)
    related.insert(place.key)
    let member = objects.pairRelationship == nil ? nil : try member(of: place)
    if let name = objects.memberRelationship, let member {
      try relate(place, to: member, by: memberMakers, in: name)
    }
    guard isFirst, made?.contains(place.key) == true,
      mapping.relationshipMappings.contains(where: { $0.valueExpression != nil }),
      let object = try manager.source(place: source)
    else { return }
    let plan = try manager.plan(mapping: mapping, source: object.facts)
    plan.member = try member.flatMap { try manager.source(place: $0) }
    defer { plan.member = nil }
    try plan.relate(place, from: object.place)
  }

  /// Relates the one object for all where nothing else does, since it is for no source object.
  func endRelation() throws {
    guard objects.unit == .all, let only, !related.contains(only.key) else { return }
    let source = try mapping.sourceEntityName.map {
      try manager.sourceContext.entityFacts(name: $0)
    }
    let plan = try manager.plan(mapping: mapping, source: source)
    let object = context.object(at: only)
    for step in plan.relationships { try plan.evaluate(step, object: object, source: nil) }
  }

  /// Whether this mapping made the object.
  func hasMade(_ place: ObjectPlace) -> Bool {
    place.facts.tableIndex == facts.tableIndex && made?.contains(place.key) == true
  }

  private func member(of place: ObjectPlace) throws -> Associations.Place? {
    let statement = try context.statements.statement(
      sql: "SELECT member_table, member FROM \(members) WHERE object = ?")
    statement.bind(place.key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return Associations.Place(
      table: statement.integer(column: 0), key: statement.integer(column: 1))
  }

  private func targets(
    of source: Associations.Place, by makers: [Int64], in relationship: RelationshipFacts
  ) throws -> [ObjectPlace] {
    try makers.flatMap { try manager.associations.destinations(of: source, mapping: $0) }
      .compactMap(manager.place).filter { relationship.targetNames.contains($0.facts.name) }
  }

  private func isContinued(
    _ place: ObjectPlace, by makers: [Int64], in name: String?
  ) throws -> Bool {
    guard let relationship = name.flatMap({ facts.relationships[$0] }) else { return true }
    return try !targets(of: Associations.Place(place), by: makers, in: relationship).isEmpty
  }

  private func relate(
    _ place: ObjectPlace, to source: Associations.Place, by makers: [Int64], in name: String
  ) throws {
    // What was found may be of a subentity.
    guard let relationship = place.facts.relationships[name] else { return }
    let targets = try targets(of: source, by: makers, in: relationship)
    if relationship.relationship.isToMany {
      try context.addObjects(targets, to: place, facts: relationship)
    } else if let target = targets.first {
      try context.setObject(target, of: place, facts: relationship)
    }
  }
}

extension Associations.Place {
  init(_ place: ObjectPlace) {
    self.init(table: Int64(place.facts.tableIndex), key: place.key)
  }
}

extension StoredValue {
  /// A value that equals that of another one if the two values are equal: numbers by their amount,
  /// texts and bytes by their bytes.
  init(comparing value: AttributeValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .integer(flag ? 1 : 0)
    case .integer(let number): self = .integer(number)
    case .real(let number), .date(let number): self = .real(number)
    case .decimal(let digits):
      self = Int64(digits).map { .integer($0) } ?? Double(digits).map { .real($0) } ?? .text(digits)
    case .string(let text), .uri(let text): self = .text(text)
    case .data(let bytes), .uuid(let bytes): self = .blob(bytes)
    }
  }
}
