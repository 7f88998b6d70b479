import GRDB
import MigrationEngine
import Schema
import StoreFormat
import Survey

/// The keys of the objects that references lead to, of a large store: whether one is there costs
/// less to tell by a bit than by a search of a b-tree whose pages are not in memory.
struct TargetKeys {
  /// The function that SQL asks: whether the table of that name has an object with that key.
  private static let function = "godwit_has"
  /// Of fewer rows SQLite keeps most pages of the b-tree.
  static let manyRows: Int64 = 1 << 16

  private let tables: Set<String>
  private let keys: RowKeys?

  /// Reads the keys, and makes them known to the connection of the survey.
  ///
  /// - Parameter least: the rows from which on a table's keys are read.
  /// - Throws: `StoreError`, also where the temporary folder's disk has no room for them.
  init(
    of references: [DefectSearch.Reference], in survey: StoreSurvey,
    ofTablesFrom least: Int64 = manyRows
  ) throws {
    tables = Set(references.map(\.target)).filter { survey.estimatedRows(ofTable: $0) >= least }
    if tables.isEmpty {
      keys = nil
      return
    }
    let keys = try RowKeys()
    self.keys = keys
    let writer = RowKeyWriter(keys)
    for table in tables.sorted() {
      try survey.reader.connection.perform { db in
        let keys = try Int64.fetchCursor(
          db, sql: "SELECT Z_PK FROM \(SQL.identifier(name: table)) NOT INDEXED")
        while let key = try keys.next() { try writer.add(key, table: table) }
      }
    }
    try writer.finish()
    try survey.reader.connection.run(install)
  }

  /// Makes the keys known to a connection.
  func install(in db: Database) {
    if let keys { RowKeyReader(keys).install(in: db, as: Self.function) }
  }

  /// SQL that tells whether a reference leads nowhere; the other test where its table is small, or
  /// its key is no integer and equals one perhaps.
  func test(of reference: DefectSearch.Reference, otherwise search: String) -> String {
    guard tables.contains(reference.target) else { return search }
    return "CASE typeof(\(reference.name)) WHEN 'integer' "
      + "THEN NOT \(Self.function)(\(SQL.literal(text: reference.target)), \(reference.name)) "
      + "ELSE \(search) END"
  }
}
