/// One index of a table.
package struct Index: Hashable, Sendable {
  /// One column of an index.
  package struct Part: Hashable, Sendable {
    /// The name of the column.
    package var column: String
    /// Whether low values come first.
    package var isAscending: Bool

    /// Ascends, unless it is to descend.
    package init(column: String, isAscending: Bool = true) {
      self.column = column
      self.isAscending = isAscending
    }
  }

  /// The name of the index in the store (docs/reference/store-format.md, "Indexes").
  package var name: String
  /// The name of the table.
  package var table: String
  /// The columns, the first by which to sort first.
  package var parts: [Part]
  /// Whether it keeps a uniqueness constraint.
  package var isUnique = false
  /// The condition of a partial index, in SQL.
  package var condition: String?
  /// Whether the statement spells collation and direction out, as those of fetch indexes do.
  package var isExplicit = false

  /// Makes an index that is neither unique nor partial.
  package init(name: String, table: String, parts: [Part]) {
    self.name = name
    self.table = table
    self.parts = parts
  }

  /// The `CREATE INDEX` statement as Core Data writes it.
  package var createStatement: String {
    let list = parts.map { part in
      let column = SQL.identifier(name: part.column)
      return isExplicit ? "\(column) COLLATE BINARY \(part.isAscending ? "ASC" : "DESC")" : column
    }
    let unique = isUnique ? "UNIQUE " : ""
    let condition = condition.map { " WHERE \($0)" } ?? ""
    return
      "CREATE \(unique)INDEX \(SQL.identifier(name: name)) ON \(SQL.identifier(name: table)) "
      + "(\(list.joined(separator: ", ")))\(condition)"
  }
}
