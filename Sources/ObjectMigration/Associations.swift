import GRDB

/// Which source object became which destination object by which mapping, on disk.
struct Associations {
  private let db: Database
  static let database = "link"

  /// Makes the table in the attached file.
  init(_ db: Database) throws {
    self.db = db
    try db.execute(
      sql: """
        CREATE TABLE link.association (mapping INTEGER, source_table INTEGER, source INTEGER,
          destination_table INTEGER, destination INTEGER, destination_number INTEGER,
          PRIMARY KEY (mapping, source_table, source, destination_table, destination))
          WITHOUT ROWID;
        CREATE INDEX link.by_source ON association (source_table, source);
        CREATE INDEX link.by_destination ON association
          (mapping, destination_table, destination);
        """)
  }

  struct Place: Hashable {
    var table: Int64
    var key: Int64
  }

  struct Destination {
    var place: Place
    var number: Int64
  }

  func add(mapping: Int64, source: Place, destination: Place, number: Int64) throws {
    let statement = try db.cachedStatement(
      sql: "INSERT OR IGNORE INTO link.association VALUES (?, ?, ?, ?, ?, ?)")
    try statement.execute(
      arguments: [
        mapping, source.table, source.key, destination.table, destination.key, number,
      ])
  }

  /// What a source object became, by one mapping or by any, in the order of mappings and keys.
  func destinations(of source: Place, mapping: Int64?) throws -> [Destination] {
    let condition = mapping == nil ? "" : "AND mapping = ?"
    let statement = try db.cachedStatement(
      sql: """
        SELECT destination_table, destination, destination_number FROM link.association
        WHERE source_table = ? AND source = ? \(condition)
        ORDER BY mapping, destination_table, destination
        """)
    var arguments: StatementArguments = [source.table, source.key]
    if let mapping { arguments += [mapping] }
    return try Row.fetchAll(statement, arguments: arguments).map {
      Destination(place: Place(table: $0[0], key: $0[1]), number: $0[2])
    }
  }

  func sources(of destination: Place, mapping: Int64) throws -> [Place] {
    let statement = try db.cachedStatement(
      sql: """
        SELECT source_table, source FROM link.association
        WHERE mapping = ? AND destination_table = ? AND destination = ?
        ORDER BY source_table, source
        """)
    let arguments: StatementArguments = [mapping, destination.table, destination.key]
    return try Row.fetchAll(statement, arguments: arguments).map {
      Place(table: $0[0], key: $0[1])
    }
  }

  /// The pairs of a mapping behind a given one, in the order of the source keys.
  func pairs(
    mapping: Int64, after last: (source: Place, destination: Place)?, limit: Int
  ) throws -> [(source: Place, destination: Destination)] {
    let statement = try db.cachedStatement(
      sql: """
        SELECT source_table, source, destination_table, destination, destination_number
        FROM link.association WHERE mapping = ?
        AND (source_table, source, destination_table, destination) > (?, ?, ?, ?)
        ORDER BY source_table, source, destination_table, destination LIMIT ?
        """)
    let start = last.map {
      [$0.source.table, $0.source.key, $0.destination.table, $0.destination.key]
    }
    let bounds = start ?? [.min, .min, .min, .min]
    let arguments = StatementArguments([mapping] + bounds + [Int64(limit)])
    return try Row.fetchAll(statement, arguments: arguments).map { row in
      (
        Place(table: row[0], key: row[1]),
        Destination(place: Place(table: row[2], key: row[3]), number: row[4])
      )
    }
  }

  /// Whether a mapping made one object of several.
  func mergesSources(mapping: Int64) throws -> Bool {
    let statement = try db.cachedStatement(
      sql: """
        SELECT EXISTS (SELECT 1 FROM link.association WHERE mapping = ?
          GROUP BY destination_table, destination HAVING count(*) > 1)
        """)
    return try Bool.fetchOne(statement, arguments: [mapping]) ?? false
  }

  /// Forgets everything, as between two mapping models of one step.
  func reset() throws { try db.execute(sql: "DELETE FROM link.association") }
}
