import Expressions
import GRDB
import Mapping
import ObjectModel
import Schema

/// Gives the objects of ordered relationships the order of attributes.
///
/// An object is sorted by the attribute of the source object that it was made of, a new one by its
/// own. Missing values come first, as SQLite and Core Data sort; objects that agree stay in the
/// order of their keys.
struct RelationshipSorting {
  private let manager: ObjectMigrationManager
  private let makers: [String: NewObjectMaker]
  private let foreign: Set<String>

  /// Takes what makes the new objects, by the names of their mappings.
  init(manager: ObjectMigrationManager, makers: [String: NewObjectMaker], foreign: Set<String>) {
    (self.manager, self.makers, self.foreign) = (manager, makers, foreign)
  }

  private var context: ObjectContext { manager.destinationContext }

  /// Sorts all that the mappings name.
  func sort(for mappings: [EntityMapping]) throws {
    for mapping in mappings {
      for property in mapping.relationshipMappings where !property.sortedBy.isEmpty {
        try sort(property, of: mapping)
      }
    }
  }

  /// The rows of a relationship: the table, the owner's key in it, the object's, its place.
  private struct Rows {
    var table: String
    var owner: String
    var member: String
    var place: String

    init?(_ storage: RelationshipStorage) {
      switch storage {
      case .children(let table, let column, _, let order?):
        (self.table, owner, member, place) = (table, column, "Z_PK", order)
      case .join(let table, let owner, let target, let order?, _):
        (self.table, self.owner, member, place) = (table, owner, target, order)
      default: return nil
      }
      (owner, member) = (SQL.identifier(name: owner), SQL.identifier(name: member))
      place = SQL.identifier(name: place)
    }
  }

  private func sort(_ property: PropertyMapping, of mapping: EntityMapping) throws {
    let facts = try context.entityFacts(name: mapping.destinationEntityName ?? "")
    guard let relationship = facts.relationships[property.name],
      let rows = Rows(relationship.storage)
    else { return }
    let db = try context.flushed()
    let keys = property.sortedBy.indices.map { "k\($0)" }
    try db.execute(
      sql: """
        CREATE TABLE link.sorted (owner INTEGER, member INTEGER, \(keys.joined(separator: ", ")),
          PRIMARY KEY (owner, member)) WITHOUT ROWID
        """)
    try collect(rows, property: property, mapping: mapping, relationship: relationship)
    let order = zip(keys, property.sortedBy).map { "\($0)\($1.isDescending ? " DESC" : "")" }
    let table = context.sqlTable(name: rows.table)
    let name = SQL.identifier(name: rows.table)
    try db.execute(
      sql: """
        UPDATE \(table) SET \(rows.place) = n.place FROM (
          SELECT owner, member, 1024 * row_number() OVER (
            PARTITION BY owner ORDER BY \((order + ["member"]).joined(separator: ", "))) AS place
          FROM link.sorted
        ) AS n WHERE \(name).\(rows.owner) = n.owner AND \(name).\(rows.member) = n.member;
        DROP TABLE link.sorted
        """)
  }

  /// Notes each object of the mapping's owners with what it is sorted by.
  private func collect(
    _ rows: Rows, property: PropertyMapping, mapping: EntityMapping,
    relationship: RelationshipFacts
  ) throws {
    let ownerTable = context.sqlTable(name: relationship.ownerTable)
    let found = try context.statements.statement(
      sql: """
        SELECT r.\(rows.owner), o.Z_ENT, r.\(rows.member), t.Z_ENT
        FROM \(context.sqlTable(name: rows.table)) AS r
        JOIN \(ownerTable) AS o ON o.Z_PK = r.\(rows.owner)
        JOIN \(context.sqlTable(name: relationship.targetTable)) AS t
        ON t.Z_PK = r.\(rows.member)
        """)
    let marks = [String](repeating: "?", count: property.sortedBy.count + 2)
    let insert = try context.statements.statement(
      sql: "INSERT OR REPLACE INTO link.sorted VALUES (\(marks.joined(separator: ", ")))")
    let (number, maker) = (try manager.number(of: mapping.name), makers[mapping.name])
    var last: (key: Int64, isOurs: Bool)?
    while try found.step() {
      let (owner, member) = (found.integer(column: 0), found.integer(column: 2))
      guard let ownerFacts = context.facts(number: found.integer(column: 1)),
        let memberFacts = context.facts(number: found.integer(column: 3))
      else { continue }
      if last?.key != owner {
        let place = ObjectPlace(facts: ownerFacts, key: owner)
        let isMade = maker?.hasMade(place) ?? false
        last = (owner, try isMade || source(of: place, mapping: number) != nil)
      }
      guard last?.isOurs == true else { continue }
      let values = try values(
        of: ObjectPlace(facts: memberFacts, key: member), keys: property.sortedBy)
      insert.bind(owner, at: 1)
      insert.bind(member, at: 2)
      for (index, value) in values.enumerated() { insert.bind(value, at: index + 3) }
      try insert.execute()
    }
  }

  private func source(of place: ObjectPlace, mapping: Int64) throws -> Associations.Place? {
    try manager.associations.firstSource(of: Associations.Place(place), mapping: mapping)
  }

  private func values(of place: ObjectPlace, keys: [SortKey]) throws -> [StoredValue] {
    for mapping in manager.mappingModel.entityMappings
    where mapping.newObjects == nil && mapping.destinationEntityName == place.facts.name
      && mapping.sourceEntityName != nil && !foreign.contains(mapping.name)
    {
      guard let found = try source(of: place, mapping: manager.number(of: mapping.name)),
        let object = try manager.source(place: found)
      else { continue }
      return try keys.map { try object.sortValue(path: $0.path) }
    }
    let object = context.object(at: place)
    return try keys.map { try object.sortValue(path: $0.path) }
  }
}

extension ManagedObject {
  /// What an attribute at the end of a key path sorts by.
  fileprivate func sortValue(path: String) throws -> StoredValue {
    if facts.attributes[path] != nil {
      let (attribute, value) = try storedValue(path)
      guard attribute.attribute.type == .decimal, case .text(let digits) = value else {
        return value
      }
      return StoredValue(comparing: .decimal(digits))
    }
    guard let dot = path.firstIndex(of: "."),
      facts.relationships[String(path[..<dot])] != nil
    else { return .null }
    let next = try object(name: String(path[..<dot]))
    return try next?.sortValue(path: String(path[path.index(after: dot)...])) ?? .null
  }
}
