package import Planning
package import Schema

/// What the phases of a stage cost in an engine: seconds on two cores and a fast disk.
///
/// Only their ratios matter for progress, and how fast a machine is shows while it works.
package struct PhaseCosts: Hashable, Sendable {
  /// A worker's time for a source row, and for each of its bytes.
  package var row: Double
  package var byte: Double
  /// Appending one row of a shard to the result, and each of its bytes.
  package var mergedRow: Double
  package var mergedByte: Double
  /// Completing and checking the references of one row.
  package var relinkedRow: Double
  /// Building one entry of an index.
  package var indexEntry: Double
  /// Checking one byte of the result.
  package var verifiedByte: Double

  /// Takes the costs, all in seconds.
  package init(
    row: Double, byte: Double, mergedRow: Double, mergedByte: Double, relinkedRow: Double,
    indexEntry: Double, verifiedByte: Double
  ) {
    self.row = row
    self.byte = byte
    self.mergedRow = mergedRow
    self.mergedByte = mergedByte
    self.relinkedRow = relinkedRow
    self.indexEntry = indexEntry
    self.verifiedByte = verifiedByte
  }

  /// The time that workers take for all rows of a plan.
  package func migrating(_ plan: MigrationPlan, workers: Int) -> Double {
    let busy = Double(max(1, min(workers, plan.workOrders.count)))
    return (row * Double(plan.rows) + byte * Double(plan.bytes)) / busy
  }

  /// The time that it takes to append the rows of a plan to the result.
  package func merging(_ plan: MigrationPlan) -> Double {
    mergedRow * Double(plan.rows) + mergedByte * Double(plan.bytes)
  }

  /// The time for the references of all rows.
  package func relinking(_ plan: MigrationPlan) -> Double { relinkedRow * Double(plan.rows) }

  /// The time for all indexes of the result.
  package func indexing(_ plan: MigrationPlan, schema: StoreSchema) -> Double {
    var rows: [String: Int64] = [:]
    for piece in plan.workOrders.flatMap(\.pieces) {
      rows[piece.destinationTable, default: 0] += piece.rows
    }
    return indexEntry
      * Double(schema.allIndexes.reduce(0) { $0 + (rows[$1.table] ?? 0) })
  }

  /// The time for checking the result.
  package func verifying(_ plan: MigrationPlan, fully: Bool) -> Double {
    // `integrity_check` looks every index entry up.
    (fully ? 10e-9 : verifiedByte) * Double(plan.bytes)
  }
}
