/// One index of a table.
package struct Index: Hashable, Sendable {
  /// One column of an index.
  package struct Part: Hashable, Sendable {
    package var column: String
    package var isAscending: Bool

    package init(column: String, isAscending: Bool = true) {
      self.column = column
      self.isAscending = isAscending
    }
  }

  package var name: String
  package var table: String
  package var parts: [Part]
  package var isUnique = false
  /// The condition of a partial index, in SQL.
  package var condition: String?
  /// Whether the statement spells collation and direction out, as those of fetch indexes do.
  package var isExplicit = false

  package init(name: String, table: String, parts: [Part]) {
    self.name = name
    self.table = table
    self.parts = parts
  }

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
