package import Planning
package import Schema

/// What there is to do in a stage, as far as it is counted.
package struct StageWork: Hashable, Sendable {
  /// What one worker does without another.
  package struct Order: Hashable, Sendable {
    /// Source rows, and their bytes.
    package var rows, bytes: Int64
    /// What `WorkOrder.work` has.
    package var work: Int64

    /// Takes the counts.
    package init(rows: Int64, bytes: Int64, work: Int64) {
      (self.rows, self.bytes, self.work) = (rows, bytes, work)
    }
  }

  /// The work orders.
  package var orders: [Order]
  /// Entries of indexes that workers do not bring along, as if all were of one number.
  package var indexEntries: Double
  /// Rows that change where they are, and their bytes.
  package var updatedRows: Int64 = 0
  package var updatedBytes: Int64 = 0
  /// How many orders are done at once.
  package var workers: Int
  /// Whether the result is verified in full.
  package var isVerifiedFully: Bool
  /// Whether the result is put in a place, and not what another stage begins with.
  package var isSwapped: Bool

  var rows: Int64 { orders.reduce(0) { $0 + $1.rows } }
  /// Bytes of the source that all orders read.
  package var bytes: Int64 { orders.reduce(0) { $0 + $1.bytes } }

  /// Takes the counts.
  package init(
    orders: [Order], indexEntries: Double, workers: Int, isVerifiedFully: Bool = false,
    isSwapped: Bool = true
  ) {
    (self.orders, self.indexEntries, self.workers) = (orders, indexEntries, workers)
    (self.isVerifiedFully, self.isSwapped) = (isVerifiedFully, isSwapped)
  }

  /// Takes the content of a plan, and the schema of the result.
  package init(
    _ plan: MigrationPlan, schema: StoreSchema, workers: Int, isVerifiedFully: Bool,
    isSwapped: Bool
  ) {
    var rows: [String: Int64] = [:]
    var moved: Set<String> = []
    for piece in plan.workOrders.flatMap(\.pieces) {
      rows[piece.destinationTable, default: 0] += piece.rows
      moved.formUnion(piece.movedIndexes)
    }
    for table in plan.staying where !table.madeIndexes.isEmpty {
      rows[table.table] = table.rows
      moved.formUnion(schema.allIndexes.filter { $0.table == table.table }.map(\.name))
      moved.subtract(table.madeIndexes)
    }
    let built = schema.allIndexes.filter { !moved.contains($0.name) }
    let weights = IndexWeights(schema)
    self.init(
      orders: plan.workOrders.map { Order(rows: $0.rows, bytes: $0.bytes, work: $0.work) },
      indexEntries: built.reduce(0) { $0 + weights.weight(of: $1, rows: rows[$1.table] ?? 0) },
      workers: workers, isVerifiedFully: isVerifiedFully, isSwapped: isSwapped)
    for table in plan.updated {
      updatedRows += table.rows
      updatedBytes += table.bytes
    }
  }
}
