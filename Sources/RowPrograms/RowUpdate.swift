import Schema

/// The change that turns the rows of a table into those of the destination where they are.
///
/// The table has the columns of the destination already, under their new names: each is one of the
/// source, or new and NULL in every row.
package struct RowUpdate: Hashable, Codable, Sendable {
  /// The table, by its name in the destination.
  package let table: String
  /// The columns that get other values.
  package let columns: [String]
  private let assignments: [String]
  private let doubt: String

  /// Returns nil where every row stays as it is, or where the program is none of objects.
  ///
  /// - Parameter program: a program whose columns each have a `placedColumn` or are `isConstant`.
  package init?(_ program: TableProgram) {
    guard !program.isOfChanges else { return nil }
    var (columns, assignments): ([String], [String]) = ([], [])
    var doubts = [program.isOther(than: program.entities.map(\.source))]
    func assign(_ name: String, _ expression: String?) {
      guard let expression else { return }
      columns.append(name)
      assignments.append("\(SQL.identifier(name: name)) = \(expression)")
    }
    if program.entities.contains(where: { $0.source != $0.destination }) {
      assign("Z_ENT", program.entityNumber)
    }
    var renamed = program
    for (place, column) in program.columns.enumerated() where !column.staysInPlace {
      renamed.columns[place].operations = column.operations.map { $0.reading(column.name) }
      assign(column.name, renamed.expression(of: column.name, entity: nil, schema: "main"))
      for map in Set(column.operations.compactMap(\.renumbering)) {
        let name = SQL.identifier(name: column.name)
        let numbers = map.map { "\($0.source)" }.joined(separator: ", ")
        doubts.append("(\(name) IS NOT NULL AND \(name) NOT IN (\(numbers)))")
      }
    }
    guard !assignments.isEmpty else { return nil }
    table = program.destinationTable
    self.columns = columns
    self.assignments = assignments
    doubt = doubts.joined(separator: " OR ")
  }

  /// The statement for the rows whose keys are between the two parameters, both included.
  package var statement: String {
    """
    UPDATE main.\(SQL.identifier(name: table)) AS s NOT INDEXED SET \
    \(assignments.joined(separator: ", ")) WHERE s.Z_PK BETWEEN ?1 AND ?2
    """
  }

  /// A query for whether one of these rows has an entity number, of itself or of a reference, that
  /// the statement does not know.
  package var doubtQuery: String {
    """
    SELECT EXISTS (SELECT 1 FROM main.\(SQL.identifier(name: table)) NOT INDEXED \
    WHERE Z_PK BETWEEN ?1 AND ?2 AND (\(doubt)))
    """
  }

  /// A query for the first and the last key of the next rows from the key `?1` on, at most `?2` of
  /// them; NULL where there are none.
  package var rangeQuery: String {
    """
    SELECT min(Z_PK), max(Z_PK) FROM (SELECT Z_PK FROM main.\(SQL.identifier(name: table)) \
    NOT INDEXED WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT ?2)
    """
  }
}

extension ColumnProgram {
  /// The column of the source in whose place the values lie, where each depends on the value there
  /// and on the entity of its row alone, and none is lost; nil otherwise.
  package var placedColumn: String? {
    var found: Set<String> = []
    for operation in operations {
      switch operation {
      case .copy(let name, _), .reference(let name, nil), .renumber(let name, _):
        found.insert(name)
      default: return nil
      }
    }
    return found.count == 1 ? found.first : nil
  }

  /// Whether the values depend on nothing but the entity of a row.
  package var isConstant: Bool {
    operations.allSatisfy { if case .constant = $0 { true } else { false } }
  }

  /// Whether every value is NULL.
  package var isEmpty: Bool { operations.allSatisfy { $0 == .constant(.null) } }

  /// Whether no value changes in a row that lacks the column or has it under another name.
  fileprivate var staysInPlace: Bool {
    operations.allSatisfy { operation in
      switch operation {
      case .constant(.null), .copy(_, .null), .reference(_, nil): true
      case .renumber(_, let map): map.allSatisfy { $0.source == $0.destination }
      default: false
      }
    }
  }
}

extension ColumnOperation {
  /// The operation on a column of another name.
  fileprivate func reading(_ name: String) -> ColumnOperation {
    switch self {
    case .copy(_, let value): .copy(column: name, replacingNull: value)
    case .reference(_, let filter): .reference(column: name, filter: filter)
    case .renumber(_, let map): .renumber(column: name, map: map)
    default: self
    }
  }

  fileprivate var renumbering: [TableProgram.Renumbering]? {
    if case .renumber(_, let map) = self { map } else { nil }
  }
}
