package import Schema

/// What the phases of a stage cost in an engine: seconds on two cores and a fast disk of 2025.
///
/// How fast another machine is shows while it works (`ProgressEstimate`). Where the constants of
/// each engine come from: docs/explanation/performance.md, "Costs of engines".
package struct PhaseCosts: Hashable, Sendable {
  /// What a migration takes however few rows there are: processes, files and their syncs.
  package static let fixedSeconds = 0.05
  /// A worker's time for a source row, and for each of its bytes.
  package var row: Double
  package var byte: Double
  /// A worker's time for a unit of `WorkOrder.work`; 0 if rows and bytes suffice.
  package var work: Double
  /// Appending one row of a shard to the result, and each of its bytes.
  package var mergedRow: Double
  package var mergedByte: Double
  /// Updating one row where it is, and each of its bytes; only where tables may stay.
  package var updatedRow = 0.0
  package var updatedByte = 0.0
  /// Completing and checking the references of one row.
  package var relinkedRow: Double
  /// Building one entry of an index of one column of numbers.
  package var indexEntry: Double
  /// Checking one byte of the result.
  package var verifiedByte: Double
  /// Syncing the result and putting it in place, per byte.
  package var swappedByte: Double

  /// Takes the costs, all in seconds.
  package init(
    row: Double, byte: Double, work: Double = 0, mergedRow: Double, mergedByte: Double,
    relinkedRow: Double, indexEntry: Double, verifiedByte: Double, swappedByte: Double
  ) {
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

  /// The time of all phases.
  package func seconds(of stage: StageWork) -> Double {
    migrating(stage) + merging(stage) + relinking(stage) + indexing(stage) + verifying(stage)
      + swapping(stage)
  }

  /// The time that workers take for all rows.
  package func migrating(_ stage: StageWork) -> Double {
    let counted = stage.orders.contains { $0.work > 0 }
    let orders = stage.orders.map { order in
      work == 0 || !counted
        ? row * Double(order.rows) + byte * Double(order.bytes) : work * Double(order.work)
    }
    let busy = Double(max(1, min(stage.workers, orders.count)))
    return max(orders.max() ?? 0, orders.reduce(0, +) / busy)
  }

  /// The time that it takes to append the rows to the result, and to update others.
  package func merging(_ stage: StageWork) -> Double {
    mergedRow * Double(stage.rows) + mergedByte * Double(stage.bytes)
      + updatedRow * Double(stage.updatedRows) + updatedByte * Double(stage.updatedBytes)
  }

  /// The time for the references of all rows.
  package func relinking(_ stage: StageWork) -> Double { relinkedRow * Double(stage.rows) }

  /// The time for all indexes of the result that workers do not bring along.
  package func indexing(_ stage: StageWork) -> Double { indexEntry * stage.indexEntries }

  /// The time for checking the result.
  package func verifying(_ stage: StageWork) -> Double {
    // Each page is read once more, and digests are made of rows.
    (stage.isVerifiedFully ? max(2e-9, verifiedByte) : verifiedByte)
      * Double(stage.bytes + stage.updatedBytes)
  }

  /// The time for putting the result in its place.
  package func swapping(_ stage: StageWork) -> Double {
    stage.isSwapped ? swappedByte * Double(stage.bytes + stage.updatedBytes) : 0
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
