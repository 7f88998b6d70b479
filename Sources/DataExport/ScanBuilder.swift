import Schema

/// Collects the columns and joins of one query.
struct ScanBuilder {
  /// The values of a row that are longer are read in parts, in bytes.
  static let longBytes = 1 << 20

  let table: String
  private var expressions: [String] = []
  private var places: [String: Int] = [:]
  private var joins: [String] = []
  private var aliases: [String: String] = [:]

  /// Starts a query; `entityNumber` is the expression of its second column.
  init(table: String, key: String, entityNumber: String) {
    self.table = table
    _ = place(of: key)
    _ = place(of: entityNumber)
  }

  /// A column of the table that is read.
  static func own(_ column: String) -> String { "t.\(SQL.identifier(name: column))" }

  /// The place of an expression among the columns, which it joins if it is new.
  mutating func place(of expression: String) -> Int {
    if let known = places[expression] { return known }
    places[expression] = expressions.count
    expressions.append(expression)
    return expressions.count - 1
  }

  /// The place of bytes that the query returns up to a length; their count follows if they are
  /// longer.
  mutating func place(ofBytes column: String) -> Int {
    let name = Self.own(column)
    let isLong = "typeof(\(name)) IN ('blob', 'text') AND length(\(name)) > \(Self.longBytes)"
    let place = place(of: "CASE WHEN \(isLong) THEN NULL ELSE \(name) END")
    _ = self.place(of: "CASE WHEN \(isLong) THEN length(CAST(\(name) AS BLOB)) END")
    return place
  }

  /// The alias of the table to which a key leads.
  mutating func join(_ target: String, key: String) -> String {
    let name = "\(target) \(key)"
    if let known = aliases[name] { return known }
    let alias = "j\(aliases.count)"
    aliases[name] = alias
    joins.append(
      " LEFT JOIN main.\(SQL.identifier(name: target)) AS \(alias) ON \(alias).Z_PK = \(key)")
    return alias
  }

  /// The query, in the order of keys where `key` names them.
  func sql(where condition: String? = nil, orderedBy key: String? = nil) -> String {
    "SELECT \(expressions.joined(separator: ", ")) FROM main.\(SQL.identifier(name: table)) AS t"
      + joins.joined() + (condition.map { " WHERE \($0)" } ?? "")
      + (key.map { " ORDER BY \($0)" } ?? "")
  }
}
