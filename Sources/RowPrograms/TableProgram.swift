package import ObjectModel
package import Schema

/// How the rows of one destination table are made from those of one source table.
package struct TableProgram: Hashable, Codable, Sendable {
  /// The number of an entity before and after.
  package struct Renumbering: Hashable, Codable, Sendable {
    /// The number in the source.
    package var source: Int64
    /// The number in the destination.
    package var destination: Int64
    /// The rows of that entity which become something else, or nothing; nil where all become this.
    package var others: UntakenRows?
  }

  /// The table of the source that the rows are read from.
  package var sourceTable: String
  /// The table of the destination that the rows go to.
  package var destinationTable: String
  /// The source entities whose rows the table takes; rows of others stay behind.
  ///
  /// Several mappings may take rows of one entity, none of them the same row.
  package var entities: [Renumbering]
  /// One program per destination column but `Z_PK`, `Z_ENT` and `Z_OPT`, in the table's order.
  package var columns: [ColumnProgram]
  /// The column whose number decides by which operations a row is made: `Z_ENT` in tables of
  /// objects; where it is another one, rows keep the number in `Z_ENT`.
  package var entityColumn = "Z_ENT"

  /// Whether mappings choose among the rows: what none of them takes stays behind.
  package var isFiltered: Bool { entities.contains { $0.others != nil } }

  /// Whether the rows are changes of objects instead of objects.
  package var isOfChanges: Bool { entityColumn != "Z_ENT" }

  /// An SQL test for rows of the source whose entity number is none of these.
  package func isOther(than numbers: [Int64]) -> String {
    let column = SQL.identifier(name: entityColumn)
    let list = numbers.map { "\($0)" }.joined(separator: ", ")
    return "(\(column) IS NULL OR \(column) NOT IN (\(list)))"
  }

  /// The rows of other tables that are looked up for one row, at most.
  package var lookUps: Int {
    entities.indices.map { entity in
      columns.count { $0.operations[entity].undropped.looksUpRow }
    }.max() ?? 0
  }

  /// The files that are read for one row, at most.
  package var filesRead: Int {
    entities.indices.map { entity in
      columns.count { $0.operations[entity].undropped.readsFile }
    }.max() ?? 0
  }

  /// Whether some value is computed by an expression or a policy.
  package var hasCalls: Bool {
    columns.contains { column in
      column.operations.contains { if case .call = $0 { true } else { false } }
    }
  }
}

/// How the values of one column are made.
package struct ColumnProgram: Hashable, Codable, Sendable {
  /// The name of the column in the destination.
  package var name: String
  /// The type that it is declared with, which decides what SQLite makes of a value.
  package var type: DeclaredType
  /// One operation per entity of the table's program, in its order.
  package var operations: [ColumnOperation]
}

/// How one value is made from a source row.
package indirect enum ColumnOperation: Hashable, Codable, Sendable {
  /// The same value in every row.
  case constant(StoredValue)
  /// The unchanged value of a source column, with another one instead of NULL.
  case copy(column: String, replacingNull: StoredValue)
  /// A number of one type as a number of another: toward zero where it loses its fraction.
  case convert(column: String, to: AttributeType, replacingNull: StoredValue)
  /// Puts the tag of inline bytes before a value that had none.
  case addExternalTag(column: String, replacingNull: StoredValue)
  /// Takes the tag away, and the bytes out of the file that the value names.
  case removeExternalTag(column: String, replacingNull: StoredValue)
  /// A column of a reference; NULL where the object that it leads to stays behind.
  case reference(column: String, filter: ReferenceFilter?)
  /// The entity number of a reference, where the source has a column of it.
  case renumber(column: String, map: [TableProgram.Renumbering])
  /// The entity number of a reference, read from the row that it leads to.
  case lookUpNumber(column: String, table: String, map: [TableProgram.Renumbering])
  /// The key of the row that leads here by its to-one relationship, and is none of those that are
  /// left out.
  case ownerKey(table: String, column: String, entities: [Int64], others: UntakenRows?)
  /// What the pair of a join table with the key of this row has in another column.
  case paired(PairLookUp)
  /// The value of the operation; NULL where the key in a column is that of one of these rows.
  case unless(key: String, of: UntakenRows, ColumnOperation)
  /// The value of the first operation, of the second one where that is NULL.
  case either(ColumnOperation, ColumnOperation)
  /// The row's place among those of its owner, from a table made before (`OrderFill.numbering`).
  case place(table: String)
  /// The updated properties of a change, as bits in the order of the destination.
  case remask(column: String, MaskChange)
  /// The second operation on the value of the first, whatever column the second names.
  case then(ColumnOperation, ColumnOperation)
  /// What the expression or the policy of an entity mapping makes of the row's object; `mapping` is
  /// its place in the mapping model, `standard` the value where a policy leaves it alone.
  case call(mapping: Int, property: String, standard: ColumnOperation)
}

extension ColumnOperation {
  /// The column that an attribute's value comes from; nil for what is no attribute's.
  package var attributeColumn: String? {
    switch self {
    case .copy(let column, _), .convert(let column, _, _), .addExternalTag(let column, _),
      .removeExternalTag(let column, _):
      column
    case .then(let first, _): first.attributeColumn
    default: nil
    }
  }
}

extension ColumnOperation {
  /// The column in whose place a value stands where it is NULL; nil where none does.
  package var columnBehindDefault: String? {
    switch self {
    case .copy(let column, let value), .convert(let column, _, let value),
      .addExternalTag(let column, let value), .removeExternalTag(let column, let value):
      value == .null ? nil : column
    default: nil
    }
  }

  /// Whether a row of another table is looked up for the value.
  var looksUpRow: Bool {
    switch self {
    case .lookUpNumber, .ownerKey, .paired, .place: true
    case .reference(_, let filter): filter?.table != nil
    case .then(let first, let second), .either(let first, let second):
      first.undropped.looksUpRow || second.undropped.looksUpRow
    default: false
    }
  }

  /// Whether a file of external binary data is read for the value.
  var readsFile: Bool {
    switch self {
    case .removeExternalTag: true
    case .then(let first, let second), .either(let first, let second):
      first.undropped.readsFile || second.undropped.readsFile
    default: false
    }
  }

  /// The operation that makes the value where no row is left out.
  package var undropped: ColumnOperation {
    if case .unless(_, _, let operation) = self { operation } else { self }
  }
}

extension ColumnOperation {
  /// The operations that make the value from a row: this one, or those that it chooses among.
  package var choices: [ColumnOperation] {
    switch self {
    case .unless(_, _, let operation): operation.choices
    case .either(let first, let second): first.choices + second.choices
    case .call(_, _, let standard): standard.choices
    default: [self]
    }
  }

  /// Adds the rows by whose keys the value is decided.
  fileprivate func note(into found: inout Set<UntakenRows>) {
    switch self {
    case .ownerKey(_, _, _, let others?): found.insert(others)
    case .unless(_, let rows, let operation):
      found.insert(rows)
      operation.note(into: &found)
    case .either(let first, let second), .then(let first, let second):
      first.note(into: &found)
      second.note(into: &found)
    case .call(_, _, let standard): standard.note(into: &found)
    default: break
    }
  }
}

/// The rows of a source table that none of some entity mappings takes, known by their keys.
package struct UntakenRows: Hashable, Codable, Sendable {
  /// The table.
  package var table: String
  /// The places of the mappings in their model, rising.
  package var mappings: [Int]

  /// Takes the places of the mappings in any order.
  package init(table: String, mappings: some Sequence<Int>) {
    self.table = table
    self.mappings = Set(mappings).sorted()
  }

  /// The name of the set in which the keys are.
  package var name: String { "\(table) \(mappings.map(String.init).joined(separator: "+"))" }

  /// The SQL function that finds such rows: `godwit_dropped(name, key)`.
  package static let function = "godwit_dropped"

  /// A test for keys of other rows.
  package func exclusion(key: String) -> String {
    "NOT \(Self.function)(\(SQL.literal(text: name)), \(key))"
  }
}

/// Which references are kept: those whose object's entity has a place in the destination.
package struct ReferenceFilter: Hashable, Codable, Sendable {
  /// The column with the entity number of the object, or with its key where `table` is given.
  package var column: String
  /// The table in which the object's row has its entity number.
  package var table: String?
  /// The source numbers of the entities that have a place.
  package var kept: [Int64]
}

/// Which pair of a join table belongs to a row, and what is taken of it.
package struct PairLookUp: Hashable, Codable, Sendable {
  /// The join table of the source.
  package var table: String
  /// The column with the key of the row.
  package var own: String
  /// The column with the other key; of several pairs the one with the lowest counts.
  package var other: String
  /// The column whose value is taken.
  package var value: String
  /// Which other keys count; nil where all do.
  package var filter: JoinProgram.Filter?
}

/// How the rows of one destination join table are made.
package struct JoinProgram: Hashable, Codable, Sendable {
  /// Rows of a table that count only where their entity, or that of a key, has a place.
  package struct Filter: Hashable, Codable, Sendable {
    /// The column with a key of `table`, or nil for the entity number of the row itself.
    package var keyColumn: String?
    /// The table with the row that has the entity number: by the key, or the row itself.
    package var table: String
    /// The source numbers of the entities that have a place.
    package var kept: [Int64]
  }

  /// Rows that do not count where the key in a column is that of a row which is left out.
  package struct Drop: Hashable, Codable, Sendable {
    /// The column with the key, which is `Z_PK` for the row itself.
    package var column: String
    /// The rows that are left out.
    package var rows: UntakenRows
  }

  /// The table of the source that the rows are read from; for a to-one relationship an entity's.
  package var sourceTable: String
  /// The join table of the destination.
  package var destinationTable: String
  /// The columns of the destination table, in its order.
  package var columns: [String]
  /// The source column of each destination column; nil where there is no value yet.
  package var sources: [String?]
  /// The conditions that a row has to meet, besides two keys that are not NULL.
  package var filters: [Filter]
  /// The rows with which pairs go.
  package var drops: [Drop] = []
  /// Tables with the places of the rows, made before, by destination column.
  package var places: [String: String] = [:]
  /// Whether the mapping leaves the table alone: rows then keep their numbers and their order.
  package var keepsRowNumbers = false

  /// The source column whose values order the rows, and by which they are split.
  package var rangeColumn: String { keepsRowNumbers ? "rowid" : sources[0] ?? "Z_PK" }
  /// The source column of the second key, by which rows of one first key are ordered.
  package var secondColumn: String { sources[1] ?? "Z_PK" }
}

/// Numbers the rows of an ordered relationship that had no order before, by key within each owner.
package struct OrderFill: Hashable, Codable, Sendable {
  /// The destination table whose rows are numbered.
  package var table: String
  /// The column with the owner's key; numbers restart for each owner.
  package var ownerColumn: String
  /// The column by which the rows of one owner are ordered.
  package var keyColumn: String
  /// The column that gets the numbers.
  package var orderColumn: String
}

/// A column whose every value must be a key of a table.
package struct ReferenceCheck: Hashable, Codable, Sendable {
  /// The destination table with the column.
  package var table: String
  /// The column, in which NULL leads nowhere and breaks nothing.
  package var column: String
  /// The destination table whose keys the values are.
  package var destinationTable: String
}

/// All that it takes to make the rows of a destination store from those of a source store.
package struct MigrationProgram: Hashable, Codable, Sendable {
  /// The programs of the tables of objects.
  package var tables: [TableProgram]
  /// The programs of the join tables.
  package var joins: [JoinProgram]
  /// The orders that are made, since the source has none.
  package var orderFills: [OrderFill]
  /// The references to check once all rows are together.
  package var references: [ReferenceCheck]
  /// The derived attributes that are computed again once all rows are together.
  package var derived: [DerivedAttribute] = []

  /// Whether the entity number alone does not determine the result or the origin of a row.
  package var isDivided: Bool {
    tables.contains { table in
      table.isFiltered || Set(table.entities.map(\.destination)).count < table.entities.count
    }
  }

  /// All rows by whose keys something is decided.
  package var untakenRows: Set<UntakenRows> {
    var found: Set<UntakenRows> = []
    for table in tables {
      found.formUnion(table.entities.compactMap(\.others))
      for operation in table.columns.flatMap(\.operations) { operation.note(into: &found) }
    }
    for drop in joins.flatMap(\.drops) { found.insert(drop.rows) }
    return found
  }

  /// What objects make without programs: they have the values of derived attributes to come.
  package static func none(deriving derived: [DerivedAttribute]) -> Self {
    Self(tables: [], joins: [], orderFills: [], references: [], derived: derived)
  }
}
