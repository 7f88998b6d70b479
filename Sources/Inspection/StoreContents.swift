package import Expressions
import GRDB
import ObjectMigration
package import ObjectModel
package import Schema
package import StoreFormat
package import SystemPackage

/// The objects of an open store whose model is known.
package struct StoreContents: Sendable {
  /// Rows of a table that are of no entity of the model.
  package struct Strays: Hashable, Sendable {
    /// The table.
    package var table: String
    /// How many rows there are.
    package var rows: Int64
    /// The lowest keys.
    package var keys: [Int64]
  }

  /// The schema with the names that the store uses.
  package let schema: StoreSchema
  private let reader: StoreReader
  private let differences: SchemaDifferences
  private let keyed: Set<String>
  private let support: FilePath

  /// Takes an open store, the tables that its model requires, and the folder of its external files.
  package init(_ reader: StoreReader, schema: StoreSchema, support: FilePath) throws(StoreError) {
    let catalog = try reader.catalog()
    (self.schema, differences) = schema.resolved(in: catalog)
    keyed = try reader.tables(keyedBy: "Z_PK")
    (self.reader, self.support) = (reader, support)
  }

  /// Tables of the store that its model knows nothing of.
  package var extraTables: [String] { differences.extraTables }

  // MARK: Required tables and columns

  /// Throws unless some tables can be read by key with all columns that the model requires.
  ///
  /// - Parameter optional: tables that may be missing as a whole.
  private func require(_ tables: Set<String>, optional: Set<String> = []) throws(StoreError) {
    let missing = differences.missingTables.filter(tables.contains)
    guard missing.isEmpty else {
      throw StoreError(problem: .tablesMissing(missing), store: reader.connection.store)
    }
    let all = tables.union(optional)
    let columns = differences.missingColumns.filter { name in
      all.contains { name.hasPrefix("\($0).") }
    }
    guard columns.isEmpty else {
      throw StoreError(problem: .columnsMissing(columns), store: reader.connection.store)
    }
    let unkeyed = schema.tables.map(\.name).filter { all.contains($0) && !keyed.contains($0) }
    guard unkeyed.isEmpty else {
      throw StoreError(problem: .keysMissing(unkeyed), store: reader.connection.store)
    }
  }

  private func requireTables(of entity: Entity) throws(StoreError) -> EntityTable {
    guard let table = schema.table(of: entity) else {
      let name = "Z" + schema.model.root(of: entity).name.uppercased()
      throw StoreError(problem: .tablesMissing([name]), store: reader.connection.store)
    }
    let others = schema.model.family(of: entity.name).flatMap {
      schema.model.allRelationships(of: $0)
    }.compactMap { schema.model.entity(name: $0.destinationEntityName) }
      .compactMap { schema.table(of: $0)?.name }
    try require([table.name], optional: Set(others + schema.joinTables.map(\.name)))
    return table
  }

  // MARK: Objects

  /// How many objects an entity and its subentities have.
  package func count(of entity: Entity) throws -> Int64 {
    let table = try requireTables(of: entity)
    let numbers = schema.model.family(of: entity.name).compactMap { schema.numbers[$0.name] }
    return try reader.number(
      sql: """
        SELECT count(*) FROM \(SQL.identifier(name: table.name)) NOT INDEXED \
        WHERE Z_ENT IN (\(numbers.map { "\($0.rawValue)" }.joined(separator: ", ")))
        """)
  }

  /// Whether all texts that a query returns satisfy a test; the first other one ends it.
  func hasOnlyTexts(sql: String, where test: (String) -> Bool) throws -> Bool {
    try reader.connection.perform { db in
      let texts = try String.fetchCursor(db, sql: sql)
      while let text = try texts.next() { if !test(text) { return false } }
      return true
    }
  }

  /// The number that a query returns.
  func number(sql: String) throws -> Int64 { try reader.number(sql: sql) }

  /// Calls a block with each object of an entity and its subentities that satisfies a predicate, in
  /// the order of keys, until it returns false.
  ///
  /// - Parameter now: the moment that `now()` is, in seconds since 2001.
  /// - Throws: `ObjectMigrationError` where the predicate has no value for an object, `StoreError`.
  package func read(
    of entity: Entity, where predicate: ValuePredicate?, extent: ValueExtent = .beginning,
    now: Double, body: (InspectedObject) throws -> Bool
  ) throws {
    _ = try requireTables(of: entity)
    try reader.connection.perform { db in
      let selection = ObjectSelection(db: db, schema: schema, support: support, now: now)
      let objects = ObjectReader(db: db, schema: schema, support: support, extent: extent)
      defer {
        objects.close()
        selection.close()
      }
      try selection.forEach(of: entity.name, where: predicate) { name, key in
        try body(try objects.object(of: name, key: key))
      }
    }
  }

  /// The rows of each table that are of no entity of the model.
  ///
  /// - Parameters:
  ///   - entity: leaves out the tables of other entities; nil reads all.
  ///   - keys: how many keys are named of each table.
  package func strays(besides entity: Entity? = nil, keys: Int = 5) throws -> [Strays] {
    let tables = entity.map { [schema.table(of: $0)].compactMap(\.self) } ?? schema.tables
    return try tables.compactMap { table in
      guard !differences.missingColumns.contains("\(table.name).Z_ENT"),
        !differences.missingColumns.contains("\(table.name).Z_PK")
      else { return nil }
      let numbers = table.entityNames.compactMap { schema.numbers[$0] }
      let condition = """
        typeof(Z_ENT) <> 'integer' \
        OR Z_ENT NOT IN (\(numbers.map { "\($0.rawValue)" }.joined(separator: ", ")))
        """
      let name = SQL.identifier(name: table.name)
      let rows = try reader.number(
        sql: "SELECT count(*) FROM \(name) NOT INDEXED WHERE \(condition)")
      guard rows > 0 else { return nil }
      let first = try reader.connection.run { db in
        try Int64.fetchAll(
          db,
          sql: """
            SELECT Z_PK FROM \(name) NOT INDEXED \
            WHERE typeof(Z_PK) = 'integer' AND (\(condition)) ORDER BY Z_PK LIMIT \(keys)
            """)
      }
      return Strays(table: table.name, rows: rows, keys: first)
    }
  }

  // MARK: Two stores

  /// Compares the objects with those of another store of the same model.
  ///
  /// - Parameters:
  ///   - limit: how many differences are kept; all are counted.
  ///   - progress: is called with the name of each table before it is read.
  package func differences(
    from other: StoreContents, limit: Int, progress: (_ table: String) -> Void = { _ in }
  ) throws -> StoreDifferences {
    for contents in [self, other] {
      try contents.require(
        Set(contents.schema.tables.map(\.name) + contents.schema.joinTables.map(\.name))
          .union(contents.differences.missingTables))
    }
    return try reader.connection.perform { db in
      let first = ObjectReader(db: db, schema: schema, support: support)
      defer { first.close() }
      return try other.reader.connection.perform { otherDB in
        let second = ObjectReader(db: otherDB, schema: other.schema, support: other.support)
        defer { second.close() }
        do {
          return try ObjectComparison(first, second).differences(limit: limit, progress: progress)
        } catch let error as DatabaseError {
          // The connection that failed last knows of it; the other one had a row, or its end.
          let isOther = otherDB.lastErrorCode.primaryResultCode == error.resultCode
          throw (isOther ? other : self).reader.connection.failure(error: error)
        }
      }
    }
  }
}
