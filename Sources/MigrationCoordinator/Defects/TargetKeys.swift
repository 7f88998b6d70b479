import GRDB
import MigrationEngine
import Schema
import StoreFormat
import Survey

/// The keys of the objects that references lead to, of a large store: testing a bit costs less than
/// searching a b-tree whose pages are not in memory.
struct TargetKeys {
  /// The functions that SQL calls, one per table: whether it has an object with that key.
  private static let function = "godwit_has_"
  /// Of fewer rows SQLite keeps most pages of the b-tree.
  static let manyRows: Int64 = 1 << 16

  /// The keys that a reader hands on at once.
  private static let keysAtOnce = 4096

  private let tables: [String]
  private let keys: RowKeys?

  /// Reads the keys, and makes them known to the connection of the survey.
  ///
  /// - Parameter least: the rows from which on a table's keys are read.
  /// - Throws: `StoreError`, also where the temporary folder's disk has no room for them.
  init(
    of references: [DefectSearch.Reference], in survey: StoreSurvey,
    ofTablesFrom least: Int64 = manyRows
  ) throws {
    tables = Set(references.map(\.target))
      .filter { survey.estimatedRows(ofTable: $0) >= least }.sorted()
    if tables.isEmpty {
      keys = nil
      return
    }
    let keys = try RowKeys()
    self.keys = keys
    let writer = RowKeyWriter(keys)
    let division = try TableDivision(survey.reader)
    for table in tables { try Self.read(table, by: division, into: writer) }
    try writer.finish()
    try survey.reader.connection.run(install)
  }

  /// Reads the keys of a table, of a large one on all processors.
  private static func read(
    _ table: String, by division: TableDivision, into writer: RowKeyWriter
  ) throws {
    let isRead = try division.readKeys(ofTable: table) { try writer.add($0, table: table) }
    if isRead { return }
    let scan = division.scan(of: table)
    let sql = """
      SELECT Z_PK FROM \(SQL.identifier(name: table)) NOT INDEXED
      WHERE Z_PK BETWEEN ? AND ? ORDER BY Z_PK
      """
    let connections = try (0..<scan.readers).map { try division.connection($0) }
    try scan.read(with: connections) { connection, range, found in
      try connection.perform { db in
        let keys = try Int64.fetchCursor(
          db.cachedStatement(sql: sql), arguments: [range.lowerBound, range.upperBound])
        var some: [Int64] = []
        while let key = try keys.next() {
          some.append(key)
          if some.count == Self.keysAtOnce {
            try found(some)
            some.removeAll(keepingCapacity: true)
          }
        }
        try found(some)
      }
    } take: { (found: [Int64]) in
      try writer.add(found, table: table)
    }
  }

  /// Makes the keys known to a connection.
  func install(in db: Database) {
    guard let keys else { return }
    let reader = RowKeyReader(keys)
    for (place, table) in tables.enumerated() {
      reader.install(table: table, in: db, as: "\(Self.function)\(place)")
    }
  }

  /// SQL that returns whether a reference leads to no object; the other test where its table is
  /// small, or its key is no integer and equals one perhaps.
  func test(of reference: DefectSearch.Reference, otherwise search: String) -> String {
    guard let place = tables.firstIndex(of: reference.target) else { return search }
    return "CASE typeof(\(reference.name)) WHEN 'integer' "
      + "THEN NOT \(Self.function)\(place)(\(reference.name)) ELSE \(search) END"
  }
}
