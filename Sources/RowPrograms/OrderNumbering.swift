import Schema

extension OrderFill {
  /// Where the numbers begin and how far apart they are: Core Data leaves room between neighbours.
  package static let first = 2048
  /// The distance of two neighbours.
  package static let step = 1024

  /// The place of a row among those of its owner, as a window function.
  package func place() -> String {
    """
    \(Self.first - Self.step) + \(Self.step) * row_number() OVER (
      PARTITION BY \(SQL.identifier(name: ownerColumn)) ORDER BY \(SQL.identifier(name: keyColumn)))
    """
  }
}

extension MigrationProgram {
  /// The name under which the tables with places are attached.
  package static let placesSchema = "places"

  /// Statements that make a table of the places that each order fill gives: two for each.
  ///
  /// - Parameter schema: the name under which the source store is attached.
  package func numbering(schema: String) -> [String] {
    orderFills.enumerated().flatMap { number, fill in
      let name = "main.\(Self.placesTable(number))"
      if let table = tables.first(where: { $0.destinationTable == fill.table }) {
        return [
          "CREATE TABLE \(name) (first INTEGER PRIMARY KEY, place INTEGER)",
          numbering(
            fill, name: name, keys: ["Z_PK"],
            rows: table.owners(fill: fill).query(in: .all, schema: schema)),
        ]
      }
      guard var join = joins.first(where: { $0.destinationTable == fill.table }) else { return [] }
      join.places = [:]
      return [
        """
        CREATE TABLE \(name) (first INTEGER, second INTEGER, place INTEGER, \
        PRIMARY KEY (first, second)) WITHOUT ROWID
        """,
        numbering(
          fill, name: name, keys: Array(join.columns.prefix(2)),
          rows: join.query(in: .all, schema: schema)),
      ]
    }
  }

  private func numbering(
    _ fill: OrderFill, name: String, keys: [String], rows: String
  ) -> String {
    let list = keys.map(SQL.identifier).joined(separator: ", ")
    return """
      INSERT INTO \(name) SELECT \(list), \(fill.place()) FROM (\(rows))
      WHERE \(SQL.identifier(name: fill.ownerColumn)) IS NOT NULL ORDER BY \(list)
      """
  }

  private static func placesTable(_ number: Int) -> String { "fill\(number)" }

  /// The program whose rows take their places from the tables that `numbering` makes.
  package func placing() -> MigrationProgram {
    var result = self
    for (number, fill) in orderFills.enumerated() {
      let name = "\(Self.placesSchema).\(Self.placesTable(number))"
      if let table = tables.firstIndex(where: { $0.destinationTable == fill.table }) {
        for column in tables[table].columns.indices
        where tables[table].columns[column].name == fill.orderColumn {
          result.tables[table].columns[column].operations =
            tables[table].columns[column].operations.map { _ in .place(table: name) }
        }
      } else if let join = joins.firstIndex(where: { $0.destinationTable == fill.table }) {
        result.joins[join].places[fill.orderColumn] = name
      }
    }
    return result
  }
}

extension TableProgram {
  /// The same rows with no more than what their numbering takes.
  fileprivate func owners(fill: OrderFill) -> TableProgram {
    var result = self
    result.columns = columns.filter { $0.name == fill.ownerColumn || $0.name == fill.keyColumn }
    return result
  }
}

extension SQL {
  /// The place in a table that was made before.
  static func place(table: String, condition: String) -> String {
    "(SELECT o.place FROM \(table) AS o WHERE \(condition))"
  }
}
