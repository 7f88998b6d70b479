import Foundation
package import GRDB
import ObjectModel
package import Schema

/// Writes the parts of a store that are not objects.
package enum StoreWriter {
  /// The statements of Core Data's own tables, by their names, in the order of a store after a
  /// migration.
  package static let ownTables = [
    (
      "Z_PRIMARYKEY",
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, "
        + "Z_MAX INTEGER)"
    ),
    (
      "Z_METADATA",
      "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"
    ), ("Z_MODELCACHE", "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"),
  ]

  /// Creates Core Data's own tables and then those of a schema, in the order of a store after a
  /// migration.
  ///
  /// - Parameter present: tables that are there already.
  package static func createTables(
    _ schema: StoreSchema, but present: Set<String> = [], in db: Database
  ) throws {
    let keyed = schema.keyedTables.filter { !present.contains($0.name) }
    let joins = schema.joinTables.filter { !present.contains($0.name) }
    let statements =
      ownTables.filter { !present.contains($0.0) }.map(\.1) + keyed.map(\.createStatement)
      + joins.map(\.createStatement)
    try together(in: db) { for statement in statements { try db.execute(sql: statement) } }
  }

  /// Makes changes that are written to the file at once, instead of its catalogue for each.
  package static func together(in db: Database, _ change: () throws -> Void) throws {
    try db.inSavepoint {
      try change()
      return .commit
    }
  }

  /// Creates the indexes of a schema, and calls `each` after each of them.
  ///
  /// - Parameter present: indexes that are there already.
  /// - Throws: `DatabaseError`, if rows violate a unique index.
  package static func createIndexes(
    _ schema: StoreSchema, but present: Set<String> = [], in db: Database,
    each: (Index) throws -> Void = { _ in }
  ) throws {
    for index in schema.allIndexes where !present.contains(index.name) {
      try db.execute(sql: index.createStatement)
      try each(index)
    }
  }

  /// Makes a b-tree without entries that is listed under the name of an index.
  ///
  /// Until it is listed with the index's own statement it is one of no row of another table.
  package static func createEmpty(_ index: Index, in db: Database) throws {
    try db.execute(
      sql: "CREATE INDEX \(SQL.identifier(name: index.name)) ON Z_MODELCACHE (Z_CONTENT) WHERE 0")
  }

  /// The root pages of all tables and indexes, by their names.
  package static func roots(in db: Database) throws -> [String: UInt32] {
    // SQLite takes names and numbers for what they read as, be they blobs.
    let rows = try Row.fetchAll(
      db, sql: "SELECT CAST(name AS TEXT), CAST(rootpage AS INTEGER) FROM sqlite_schema")
    return Dictionary(
      rows.compactMap { row in
        guard let name = String.fromDatabaseValue(row[0]),
          let root = UInt32.fromDatabaseValue(row[1])
        else { return nil }
        return (name, root)
      }, uniquingKeysWith: { first, _ in first })
  }

  /// Computes a derived attribute in all rows, before there is a trigger.
  package static func write(_ attribute: DerivedAttribute, in db: Database) throws {
    let table = SQL.identifier(name: attribute.table)
    try db.execute(
      sql: "UPDATE \(table) SET \(SQL.identifier(name: attribute.column)) = "
        + attribute.value(ofRow: table))
  }

  /// Changes rows without firing triggers, which are as before afterwards.
  package static func withoutTriggers(in db: Database, change: () throws -> Void) throws {
    let list = "FROM main.sqlite_schema WHERE type = 'trigger' ORDER BY rowid"
    let names = try String.fetchAll(db, sql: "SELECT name \(list)")
    let statements = try String.fetchAll(db, sql: "SELECT sql \(list)")
    for name in names { try db.execute(sql: "DROP TRIGGER main.\(SQL.quoted(name: name))") }
    try change()
    for statement in statements { try db.execute(sql: statement) }
  }

  /// Creates an R-tree with a point for each row of its table.
  package static func create(_ tree: SpatialIndex, in db: Database) throws {
    try db.execute(sql: tree.createStatement)
    try db.execute(sql: tree.fillStatement)
  }

  /// Fills `Z_PRIMARYKEY`.
  ///
  /// - Parameter maxima: the highest primary keys ever assigned, by root entity.
  package static func writePrimaryKeys(
    _ schema: StoreSchema, maxima: [String: Int64], in db: Database
  ) throws {
    let statement = try db.cachedStatement(sql: "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)")
    for name in schema.numbers.names {
      guard let entity = schema.model.entity(name: name), let number = schema.numbers[name] else {
        continue
      }
      let superNumber = entity.superentityName.flatMap { schema.numbers[$0] }?.rawValue ?? 0
      let maximum = entity.superentityName == nil ? maxima[name] ?? 0 : 0
      try statement.execute(arguments: [number.rawValue, name, superNumber, maximum])
    }
  }

  /// Writes the numbers of the app into the header.
  package static func write(_ numbers: AppNumbers, in db: Database) throws {
    // A new file has zeros.
    if numbers == AppNumbers() { return }
    try db.execute(sql: "PRAGMA user_version = \(numbers.userVersion)")
    try db.execute(sql: "PRAGMA application_id = \(numbers.applicationID)")
  }

  /// Writes `Z_METADATA`, and `Z_MODELCACHE` if there is an archive of the model, deflated.
  package static func writeMetadata(
    _ metadata: StoreMetadata, modelCache: [UInt8]?, in db: Database
  ) throws {
    try db.cachedStatement(sql: "INSERT INTO Z_METADATA VALUES (1, ?, ?)")
      .execute(arguments: [metadata.uuid, Data(metadata.encoded)])
    if let modelCache {
      try db.cachedStatement(sql: "INSERT INTO Z_MODELCACHE VALUES (?)")
        .execute(arguments: [Data(modelCache)])
    }
  }
}
