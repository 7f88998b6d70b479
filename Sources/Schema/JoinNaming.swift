/// The names of join tables and their columns that a model leaves open.
///
/// Of a table that joins an entity with itself either relationship may give the name, and columns
/// that would have one name get numbers in an order that differs between systems
/// (docs/reference/store-format.md, "Join tables").
package struct JoinNaming: Hashable, Codable, Sendable {
  /// The relationships that name the tables joining an entity with itself, by entity.
  package var relationships: [String: Set<String>]
  /// The number after the column of each relationship's owner, by entity and relationship.
  package var suffixes: [String: [String: String]]

  /// Makes a naming; without arguments it leaves everything open.
  package init(
    relationships: [String: Set<String>] = [:], suffixes: [String: [String: String]] = [:]
  ) {
    self.relationships = relationships
    self.suffixes = suffixes
  }
}

extension JoinTable {
  /// Whether it joins an entity with itself by two relationships.
  package var joinsItself: Bool {
    first.entityName == second.entityName && first.relationshipName != second.relationshipName
  }

  /// The relationship that the table is named after.
  package var namingRelationship: String {
    joinsItself && name == alternateName ? second.relationshipName : first.relationshipName
  }
}

extension StoreSchema {
  /// The column of an end's keys, without the number by which columns of one name differ.
  func columnBase(of end: JoinTable.End, inverse: JoinTable.End) -> String? {
    numbers[end.entityName].map {
      "Z_\($0.rawValue)\(inverse.relationshipName.uppercased())"
    }
  }

  /// The number after the column of an end's keys; nil where the column has none to have.
  package func columnSuffix(of end: JoinTable.End, inverse: JoinTable.End) -> String? {
    guard let base = columnBase(of: end, inverse: inverse), end.keyColumn.hasPrefix(base) else {
      return nil
    }
    return String(end.keyColumn.dropFirst(base.count))
  }

  /// The table with the columns that a store has, where only their numbers differ.
  func renumbered(_ table: JoinTable, columns: Set<String>) -> JoinTable? {
    let keys = columns.filter { !$0.hasPrefix("Z_FOK_") }
    guard keys.count == 2, let first = columnBase(of: table.first, inverse: table.second),
      let second = columnBase(of: table.second, inverse: table.first)
    else { return nil }
    func isNumbered(_ column: String, base: String) -> Bool {
      column.hasPrefix(base)
        && column.dropFirst(base.count).allSatisfy { $0.isASCII && $0.isNumber }
    }
    func ends(_ one: String, other: String) -> JoinTable? {
      guard isNumbered(one, base: first), isNumbered(other, base: second) else { return nil }
      var result = table
      result.first.keyColumn = one
      result.second.keyColumn = other
      result.first.orderColumn = table.first.orderColumn.map { _ in "Z_FOK_" + one.dropFirst(2) }
      result.second.orderColumn = table.second.orderColumn.map { _ in
        "Z_FOK_" + other.dropFirst(2)
      }
      return result
    }
    let sorted = keys.sorted()
    // A column with the very name that is wanted comes before one with a number.
    let pairs = [(sorted[0], sorted[1]), (sorted[1], sorted[0])].sorted {
      ($0.0 == first || $0.1 == second) && !($1.0 == first || $1.1 == second)
    }
    return pairs.lazy.compactMap { ends($0.0, other: $0.1) }.first
  }
}
