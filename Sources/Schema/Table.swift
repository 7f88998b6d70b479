/// The table of a root entity and all that inherit from it.
package struct EntityTable: Hashable, Sendable {
  /// Such as `ZBOOK`.
  package var name: String
  /// The root entity, whose name in upper case is that of the table.
  package var rootName: String
  /// The entities whose rows the table holds, in numbering order, abstract ones included.
  package var entityNames: [String]
  /// All columns in canonical order, `Z_PK`, `Z_ENT` and `Z_OPT` first.
  package var columns: [Column]

  /// The column that holds this; nil where the table has none.
  package func column(role: Column.Role) -> Column? { columns.first { $0.role == role } }

  /// The `CREATE TABLE` statement as Core Data writes it.
  package var createStatement: String {
    let list = columns.map { column in
      let key = column.role == .primaryKey ? " PRIMARY KEY" : ""
      return "\(SQL.identifier(name: column.name)) \(column.type.rawValue)\(key)"
    }
    return "CREATE TABLE \(SQL.identifier(name: name)) ( \(list.joined(separator: ", ")) )"
  }
}

/// The table of a many-to-many relationship and its inverse.
package struct JoinTable: Hashable, Codable, Sendable {
  /// One end: an entity, its relationship, and the columns in which the table keeps it.
  package struct End: Hashable, Codable, Sendable {
    /// The entity that declares the relationship.
    package var entityName: String
    /// The relationship, which the entity's objects have to those of the other end.
    package var relationshipName: String
    /// Holds the key of this end's object.
    package var keyColumn: String
    /// Holds the place of this end's object in the other end's ordered relationship.
    package var orderColumn: String?

    /// Makes an end; `orderColumn` is nil where the other end's relationship is not ordered.
    package init(
      entityName: String, relationshipName: String, keyColumn: String, orderColumn: String?
    ) {
      self.entityName = entityName
      self.relationshipName = relationshipName
      self.keyColumn = keyColumn
      self.orderColumn = orderColumn
    }
  }

  /// Such as `Z_2TAGS`.
  package var name: String
  /// The name that the other end gives; stores bear either where an entity is joined with itself.
  package var alternateName: String
  /// The end whose column comes first: of the entity with the smaller number.
  package var first: End
  /// The other end.
  package var second: End

  /// Takes first the end of the entity with the smaller number.
  package init(name: String, alternateName: String, first: End, second: End) {
    self.name = name
    self.alternateName = alternateName
    self.first = first
    self.second = second
  }

  /// Column names in canonical order.
  package var columnNames: [String] {
    [first.keyColumn, second.keyColumn]
      + [first.orderColumn, second.orderColumn].compactMap(\.self)
  }

  /// The `CREATE TABLE` statement as Core Data writes it.
  package var createStatement: String {
    let columns = columnNames.map { "\(SQL.identifier(name: $0)) INTEGER" }.joined(separator: ", ")
    let key = "\(SQL.identifier(name: first.keyColumn)), \(SQL.identifier(name: second.keyColumn))"
    return "CREATE TABLE \(SQL.identifier(name: name)) ( \(columns), PRIMARY KEY (\(key)) )"
  }
}

/// Quoting for SQL text.
package enum SQL {
  /// The name as SQL spells it: bare where it is one of Core Data's and safe, else quoted, since it
  /// may be a word of SQL.
  package static func identifier(name: String) -> String {
    let isPlain =
      name.utf8.allSatisfy {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
          || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
      } && (name.hasPrefix("Z") || others.contains { name.hasPrefix($0) })
    return isPlain ? name : quoted(name: name)
  }

  /// How the names begin that Core Data gives without a `Z`, and the name of a row's number.
  private static let others = ["ACHANGE", "ATRANSACTION", "REFLEXIVE", "rowid", "sqlite_"]

  /// The name in quotes, for any name: bare, those that are words of SQL would be taken for them.
  package static func quoted(name: String) -> String { "\"\(doubled("\"", in: name))\"" }

  /// The text as a literal.
  package static func literal(text: String) -> String {
    "'\(doubled("'", in: text))'"
  }

  private static func doubled(_ quote: Character, in text: String) -> String {
    text.split(separator: quote, omittingEmptySubsequences: false)
      .joined(separator: "\(quote)\(quote)")
  }
}
