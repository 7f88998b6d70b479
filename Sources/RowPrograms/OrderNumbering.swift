import Schema

extension OrderFill {
  /// Where the numbers begin and how far apart they are: Core Data leaves room between neighbours.
  package static let first: Int64 = 2048
  /// The distance of two neighbours.
  package static let step: Int64 = 1024

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

  /// Statements that make the table with the places of an order fill.
  ///
  /// - Parameters:
  ///   - number: the place of the fill among `orderFills`.
  ///   - schema: the name under which the source store is attached.
  package func numbering(_ number: Int, schema: String) -> [String] {
    let fill = orderFills[number]
    let name = "main.\(Self.placesTable(number))"
    if let table = owners(fill: fill) {
      return [
        "CREATE TABLE \(name) (first INTEGER PRIMARY KEY, place INTEGER)",
        numbering(fill, name: name, keys: ["Z_PK"], rows: table.query(in: .all, schema: schema)),
      ]
    }
    guard let join = pairs(fill: fill) else { return [] }
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

  /// The program of a table whose rows are numbered, with no more than what that takes; nil where
  /// they are pairs.
  package func owners(fill: OrderFill) -> TableProgram? {
    guard var table = tables.first(where: { $0.destinationTable == fill.table }) else { return nil }
    table.columns = table.columns.filter {
      $0.name == fill.ownerColumn || $0.name == fill.keyColumn
    }
    return table
  }

  /// The program of a join table whose pairs are numbered, without their places.
  package func pairs(fill: OrderFill) -> JoinProgram? {
    joins.first { $0.destinationTable == fill.table }.map { $0.leavingPlaces { _ in true } }
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

  /// The table of the places of an order fill, as `placing` names it.
  package static func attachedPlaces(_ number: Int) -> String {
    "\(placesSchema).\(placesTable(number))"
  }

  /// The program whose rows take their places from the tables that `numbering` makes.
  package func placing() -> MigrationProgram {
    var result = self
    for (number, fill) in orderFills.enumerated() {
      let name = Self.attachedPlaces(number)
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
  /// The program without the places that are in some tables: their columns are NULL.
  package func leavingPlaces(in isLeft: (String) -> Bool) -> TableProgram {
    var result = self
    for column in columns.indices {
      result.columns[column].operations = columns[column].operations.map { operation in
        if case .place(let table) = operation, isLeft(table) { .constant(.null) } else { operation }
      }
    }
    return result
  }
}

extension JoinProgram {
  /// The program without the places that are in some tables: their columns are NULL.
  package func leavingPlaces(in isLeft: (String) -> Bool) -> JoinProgram {
    var result = self
    result.places = places.filter { !isLeft($0.value) }
    return result
  }
}

extension SQL {
  /// The place in a table that was made before.
  static func place(table: String, condition: String) -> String {
    "(SELECT o.place FROM \(table) AS o WHERE \(condition))"
  }
}
