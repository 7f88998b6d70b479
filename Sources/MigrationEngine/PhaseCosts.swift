package import Planning
package import Schema

/// What the phases of a stage cost in an engine: seconds on two cores and a fast disk.
///
/// Only their ratios matter for progress, and how fast a machine is shows while it works.
package struct PhaseCosts: Hashable, Sendable {
  /// Trying one filter on an object that is surveyed.
  package var seenRow: Double
  /// A worker's time for a source row, and for each of its bytes.
  package var row: Double
  package var byte: Double
  /// A worker's time for a unit of `WorkOrder.work`; 0 where rows and bytes tell enough.
  package var work: Double
  /// Appending one row of a shard to the result, and each of its bytes.
  package var mergedRow: Double
  package var mergedByte: Double
  /// Completing and checking the references of one row.
  package var relinkedRow: Double
  /// Building one entry of an index of one column of numbers.
  package var indexEntry: Double
  /// Checking one byte of the result.
  package var verifiedByte: Double
  /// Putting the result in its place, for each of its bytes, all of which go to the disk.
  package var swappedByte: Double

  /// Takes the costs, all in seconds.
  package init(
    seenRow: Double = 0, row: Double, byte: Double, work: Double = 0, mergedRow: Double,
    mergedByte: Double,
    relinkedRow: Double,
    indexEntry: Double, verifiedByte: Double,
    swappedByte: Double
  ) {
    self.seenRow = seenRow
    self.row = row
    self.byte = byte
    self.work = work
    self.mergedRow = mergedRow
    self.mergedByte = mergedByte
    self.relinkedRow = relinkedRow
    self.indexEntry = indexEntry
    self.verifiedByte = verifiedByte
    self.swappedByte = swappedByte
  }

  /// The time that workers take for all rows of a plan.
  package func migrating(_ plan: MigrationPlan, workers: Int) -> Double {
    let busy = Double(max(1, min(workers, plan.workOrders.count)))
    guard work == 0 || plan.work == 0 else { return work * Double(plan.work) / busy }
    return (row * Double(plan.rows) + byte * Double(plan.bytes)) / busy
  }

  /// The time that it takes to append the rows of a plan to the result.
  package func merging(_ plan: MigrationPlan) -> Double {
    mergedRow * Double(plan.rows) + mergedByte * Double(plan.bytes)
  }

  /// The time for the references of all rows.
  package func relinking(_ plan: MigrationPlan) -> Double { relinkedRow * Double(plan.rows) }

  /// The time for all indexes of the result that workers do not bring along.
  package func indexing(_ plan: MigrationPlan, schema: StoreSchema) -> Double {
    var rows: [String: Int64] = [:]
    var moved: Set<String> = []
    for piece in plan.workOrders.flatMap(\.pieces) {
      rows[piece.destinationTable, default: 0] += piece.rows
      moved.formUnion(piece.movedIndexes)
    }
    let built = schema.allIndexes.filter { !moved.contains($0.name) }
    let weights = IndexWeights(schema)
    return indexEntry * built.reduce(0) { $0 + weights.weight(of: $1, rows: rows[$1.table] ?? 0) }
  }

  /// The time for checking the result.
  package func verifying(_ plan: MigrationPlan, fully: Bool) -> Double {
    // `integrity_check` looks every index entry up.
    (fully ? 10e-9 : verifiedByte) * Double(plan.bytes)
  }

  /// The time for putting the result in its place.
  package func swapping(_ plan: MigrationPlan) -> Double { swappedByte * Double(plan.bytes) }

  /// The time for all of it, from the first worker's start to the end.
  package func all(
    of plan: MigrationPlan, workers: Int, schema: StoreSchema, verifiesFully: Bool
  ) -> Double {
    migrating(plan, workers: workers) + merging(plan) + relinking(plan)
      + indexing(plan, schema: schema) + verifying(plan, fully: verifiesFully)
      + swapping(plan)
  }
}

/// What it takes to build indexes, in entries of an index of one column of numbers.
package struct IndexWeights {
  private let texts: Set<String>

  /// Takes the schema of the indexes.
  package init(_ schema: StoreSchema) {
    texts = Set(
      schema.tables.flatMap { table in
        table.columns.filter { $0.type == .varchar }.map { "\(table.name).\($0.name)" }
      })
  }

  /// What an index takes of a table with so many rows: texts are long, and compared byte by byte.
  package func weight(of index: Index, rows: Int64) -> Double {
    let texts = index.parts.count { self.texts.contains("\(index.table).\($0.column)") }
    let each = 1 + 0.5 * Double(max(0, index.parts.count - 1)) + (texts > 0 ? 2.5 : 0)
    return each * Double(rows)
  }
}
