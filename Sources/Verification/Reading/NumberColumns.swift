import Schema
import StoreFormat

/// Has keys and entity numbers of a store read as a migration reads them, whatever type their
/// columns are declared with: as the integers that they stand for.
///
/// A temporary view takes the place of a table whose columns are declared otherwise: Core Data
/// declares all of them INTEGER, and then nothing is done.
struct NumberColumns {
  /// The columns of each table that hold numbers.
  private let columns: [String: [String]]

  init(of schema: StoreSchema) {
    var columns: [String: [String]] = [:]
    for table in schema.keyedTables { columns[table.name] = ["Z_ENT"] }
    columns[HistoryTables.changes]?.append("ZENTITY")
    for join in schema.joinTables {
      columns[join.name] = [join.first.keyColumn, join.second.keyColumn]
    }
    self.columns = columns
  }

  /// Replaces the tables of a store that need it with the views.
  func read(in store: RawStore, catalog: RawCatalog) throws(StoreError) {
    for (table, numbers) in columns.sorted(by: { $0.key < $1.key }) {
      let all = catalog.columns[table] ?? []
      let odd = all.filter { numbers.contains($0.name) && !$0.type.uppercased().contains("INT") }
      if odd.isEmpty { continue }
      let list = all.map { column in
        let name = SQL.identifier(name: column.name)
        return odd.contains(column) ? "\(Self.number(name)) AS \(name)" : name
      }
      let name = SQL.identifier(name: table)
      try store.execute(
        "CREATE TEMP VIEW \(name) AS SELECT \(list.joined(separator: ", ")) FROM main.\(name)")
    }
  }

  /// What a column declared INTEGER makes of a value.
  private static func number(_ column: String) -> String {
    // A comparison of a number and a text takes what the text spells; what spells none differs.
    let spelled = whole("CAST(\(column) AS NUMERIC)")
    return """
      CASE typeof(\(column)) WHEN 'real' THEN \(whole(column))
      WHEN 'text' THEN iif(CAST(\(column) AS NUMERIC) = \(column), \(spelled), \(column))
      ELSE \(column) END
      """
  }

  /// The number as an INTEGER if it is a whole one.
  private static func whole(_ number: String) -> String {
    "iif(CAST(\(number) AS INTEGER) = \(number), CAST(\(number) AS INTEGER), \(number))"
  }
}
