package import ObjectModel
package import Schema

/// How the rows of one destination table are made from those of one source table.
package struct TableProgram: Hashable, Codable, Sendable {
  /// The number of an entity before and after.
  package struct Renumbering: Hashable, Codable, Sendable {
    package var source: Int64
    package var destination: Int64
  }

  package var sourceTable: String
  package var destinationTable: String
  /// The source entities whose rows the table takes; rows of others stay behind.
  package var entities: [Renumbering]
  /// One program per destination column but `Z_PK`, `Z_ENT` and `Z_OPT`, in the table's order.
  package var columns: [ColumnProgram]

  /// Whether some value is computed by an expression or a policy.
  package var hasCalls: Bool {
    columns.contains { column in
      column.operations.contains { if case .call = $0 { true } else { false } }
    }
  }
}

/// How the values of one column are made.
package struct ColumnProgram: Hashable, Codable, Sendable {
  package var name: String
  package var type: DeclaredType
  /// One operation per entity of the table's program, in its order.
  package var operations: [ColumnOperation]
}

/// How one value is made from a source row.
package indirect enum ColumnOperation: Hashable, Codable, Sendable {
  case constant(StoredValue)
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
  /// The key of the row that leads here by its to-one relationship.
  case ownerKey(table: String, column: String, entities: [Int64])
  /// The row's place among those of its owner, from a table made before (`OrderFill.numbering`).
  case place(table: String)
  /// The second operation on the value of the first, whatever column the second names.
  case then(ColumnOperation, ColumnOperation)
  /// What the expression or the policy of an entity mapping, told by its place in the mapping
  /// model, makes of the row's object; `standard` is the value where a policy leaves it alone.
  case call(mapping: Int, property: String, standard: ColumnOperation)
}

/// Which references are kept: those whose object's entity has a place in the destination.
package struct ReferenceFilter: Hashable, Codable, Sendable {
  /// The column with the entity number of the object, or with its key where `table` is given.
  package var column: String
  /// The table in which the object's row tells its entity number.
  package var table: String?
  package var kept: [Int64]
}

/// How the rows of one destination join table are made.
package struct JoinProgram: Hashable, Codable, Sendable {
  /// Rows of a table that count only where their entity, or that of a key, has a place.
  package struct Filter: Hashable, Codable, Sendable {
    /// The column with a key of `table`, or nil for the entity number of the row itself.
    package var keyColumn: String?
    package var table: String
    package var kept: [Int64]
  }

  package var sourceTable: String
  package var destinationTable: String
  /// The columns of the destination table, in its order.
  package var columns: [String]
  /// The source column of each destination column; nil where there is no value yet.
  package var sources: [String?]
  package var filters: [Filter]
  /// Tables with the places of the rows, made before, by destination column.
  package var places: [String: String] = [:]
  /// Whether the mapping leaves the table alone: rows then keep their numbers and their order.
  package var keepsRowNumbers = false

  /// The source column whose values order the rows, and by which they are split.
  package var rangeColumn: String { keepsRowNumbers ? "rowid" : sources[0] ?? "Z_PK" }
  package var secondColumn: String { sources[1] ?? "Z_PK" }
}

/// Numbers the rows of an ordered relationship that had no order before, by key within each owner.
package struct OrderFill: Hashable, Codable, Sendable {
  package var table: String
  package var ownerColumn: String
  package var keyColumn: String
  package var orderColumn: String
}

/// A column whose every value must be a key of a table.
package struct ReferenceCheck: Hashable, Codable, Sendable {
  package var table: String
  package var column: String
  package var destinationTable: String
}

/// All that it takes to make the rows of a destination store from those of a source store.
package struct MigrationProgram: Hashable, Codable, Sendable {
  package var tables: [TableProgram]
  package var joins: [JoinProgram]
  package var orderFills: [OrderFill]
  package var references: [ReferenceCheck]

  /// What objects make without programs.
  package static let none = Self(tables: [], joins: [], orderFills: [], references: [])
}
