import RowPrograms

/// The tables of a plan and what joins them: what a picture of the plan shows.
package struct PartitionGraph: Hashable, Codable, Sendable {
  /// A table of the destination.
  package struct Table: Hashable, Codable, Sendable {
    /// Its name.
    package var name: String
    /// The number of its partition.
    package var partition: Int
    /// Source rows that go into it, as far as the survey counted or estimated them.
    package var rows: Int64
    /// Bytes that those rows take in the source, estimated.
    package var bytes: Int64
    /// The work orders that make its rows, by number; empty where it gets none.
    package var workOrders: [Int]
  }

  /// The references of one column.
  package struct Join: Hashable, Codable, Sendable {
    /// The table that has the column.
    package var table: String
    /// The column.
    package var column: String
    /// The table to which its references lead.
    package var destinationTable: String
    /// Whether more than one work order makes the rows at its two ends.
    package var isCut: Bool
  }

  /// The tables, by partition, in the order of the plan.
  package var tables: [Table]
  /// The references between tables of one partition.
  package var joins: [Join]

  /// Takes tables and references from a plan; one that goes object by object names no references.
  package init(_ plan: MigrationPlan) {
    var rows: [String: Int64] = [:]
    var bytes: [String: Int64] = [:]
    var orders: [String: Set<Int>] = [:]
    for order in plan.workOrders {
      for piece in order.pieces {
        rows[piece.destinationTable, default: 0] += piece.rows
        bytes[piece.destinationTable, default: 0] += piece.bytes
        orders[piece.destinationTable, default: []].insert(order.number)
      }
    }
    tables = plan.partitions.flatMap { partition in
      partition.tables.map { name in
        Table(
          name: name, partition: partition.number, rows: rows[name] ?? 0, bytes: bytes[name] ?? 0,
          workOrders: (orders[name] ?? []).sorted())
      }
    }
    joins = plan.program.references.map { reference in
      let both = (orders[reference.table] ?? []).union(orders[reference.destinationTable] ?? [])
      return Join(
        table: reference.table, column: reference.column,
        destinationTable: reference.destinationTable, isCut: both.count > 1)
    }
  }
}
