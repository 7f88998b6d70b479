package import RowPrograms

/// A run of source rows that one worker migrates without a break.
package struct Piece: Hashable, Codable, Sendable {
  /// Identifies the piece in its plan, and its table in the shard.
  package var number: Int
  package var destinationTable: String
  package var keys: KeyRange
  /// Source rows in the range, as far as the survey counted or estimated them.
  package var rows: Int64
  /// Bytes that those rows take in the source, estimated.
  package var bytes: Int64
  /// Indexes of the table that go over from the source as they are, along with these rows.
  package var movedIndexes: [String] = []

  package init(number: Int, destinationTable: String, keys: KeyRange, rows: Int64, bytes: Int64) {
    self.number = number
    self.destinationTable = destinationTable
    self.keys = keys
    self.rows = rows
    self.bytes = bytes
  }
}

/// A group of tables that no relationship connects with any other.
package struct Partition: Hashable, Codable, Sendable {
  /// From 1 up, largest first.
  package var number: Int
  package var tables: [String]
  package var rows: Int64
  package var bytes: Int64

  package init(number: Int, tables: [String], rows: Int64, bytes: Int64) {
    self.number = number
    self.tables = tables
    self.rows = rows
    self.bytes = bytes
  }
}

/// What one worker process does: it makes one shard.
package struct WorkOrder: Hashable, Codable, Sendable {
  /// From 1 up, in the order in which workers start on them.
  package var number: Int
  package var partition: Int
  package var pieces: [Piece]

  package init(number: Int, partition: Int, pieces: [Piece]) {
    self.number = number
    self.partition = partition
    self.pieces = pieces
  }

  package var rows: Int64 { pieces.reduce(0) { $0 + $1.rows } }
  package var bytes: Int64 { pieces.reduce(0) { $0 + $1.bytes } }
}

/// Which worker migrates which rows: all that is decided before the first row is written.
package struct MigrationPlan: Hashable, Codable, Sendable {
  package var partitions: [Partition]
  package var workOrders: [WorkOrder]
  package var program: MigrationProgram

  package init(partitions: [Partition], workOrders: [WorkOrder], program: MigrationProgram) {
    self.partitions = partitions
    self.workOrders = workOrders
    self.program = program
  }

  package var rows: Int64 { workOrders.reduce(0) { $0 + $1.rows } }
  package var bytes: Int64 { workOrders.reduce(0) { $0 + $1.bytes } }
}
