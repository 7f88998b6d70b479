package import RowPrograms

/// A run of source rows that one worker migrates without a break.
package struct Piece: Hashable, Codable, Sendable {
  /// Identifies the piece in its plan, and its table in the shard.
  package var number: Int
  /// The table that the rows go to, by which the program of its rows is found.
  package var destinationTable: String
  /// The keys of the source rows: of a join table those of its first column, or the row numbers
  /// where rows keep them.
  package var keys: KeyRange
  /// Source rows in the range, as far as the survey counted or estimated them.
  package var rows: Int64
  /// Bytes that those rows take in the source, estimated.
  package var bytes: Int64
  /// Indexes of the table that go over from the source as they are, along with these rows.
  package var movedIndexes: [String] = []

  /// Makes a piece that no index goes along with.
  package init(number: Int, destinationTable: String, keys: KeyRange, rows: Int64, bytes: Int64) {
    self.number = number
    self.destinationTable = destinationTable
    self.keys = keys
    self.rows = rows
    self.bytes = bytes
  }
}

/// Tables that no relationship connects with any other, or that one group of mappings fills; groups
/// that are each too small for a worker are one partition.
package struct Partition: Hashable, Codable, Sendable {
  /// From 1 up: of tables largest first, of groups of mappings in their order.
  package var number: Int
  /// The destination tables of the group.
  package var tables: [String]
  /// Source rows, as the survey counted or estimated them.
  package var rows: Int64
  /// Bytes that those rows take in the source, estimated.
  package var bytes: Int64

  /// Takes the sums over the pieces of the tables.
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
  /// The number of the partition that all its pieces are of.
  package var partition: Int
  /// What the worker migrates, in this order.
  package var pieces: [Piece]
  /// What the rows cost, with the indexes that move along and what is looked up for them, counted
  /// in bytes that are read and written, and of objects in nanoseconds; 0 if unknown.
  package var work: Int64

  /// Takes pieces of one partition.
  package init(number: Int, partition: Int, pieces: [Piece], work: Int64 = 0) {
    self.number = number
    self.partition = partition
    self.pieces = pieces
    self.work = work
  }

  /// Source rows of all pieces, for progress.
  package var rows: Int64 { pieces.reduce(0) { $0 + $1.rows } }
  /// Bytes of the source that all pieces take, estimated.
  package var bytes: Int64 { pieces.reduce(0) { $0 + $1.bytes } }
}

/// A table whose b-trees are those of the source, where they are: no worker reads it, and at most
/// some of its columns are updated.
package struct StayingTable: Hashable, Codable, Sendable {
  /// Its name in the destination.
  package var table: String
  /// Its name in the source.
  package var source: String
  /// Rows, as the survey counted or estimated them.
  package var rows: Int64
  /// Bytes that those rows take, estimated.
  package var bytes: Int64
  /// The indexes in the destination that are made of those rows.
  package var madeIndexes: [String]
  /// The columns whose values change in place.
  package var updatedColumns: [String]

  /// Takes what the survey knows of the table.
  package init(
    table: String, source: String, rows: Int64, bytes: Int64, madeIndexes: [String] = [],
    updatedColumns: [String] = []
  ) {
    self.table = table
    self.source = source
    self.rows = rows
    self.bytes = bytes
    self.madeIndexes = madeIndexes
    self.updatedColumns = updatedColumns
  }
}

/// Which worker migrates which rows: all that is decided before the first row is written.
package struct MigrationPlan: Hashable, Codable, Sendable {
  /// The partitions, by their numbers.
  package var partitions: [Partition]
  /// The work orders, in the order in which workers start on them.
  package var workOrders: [WorkOrder]
  /// How the rows of every table are made.
  package var program: MigrationProgram
  /// The tables without new rows; empty unless the result begins as a clone.
  package var staying: [StayingTable] = []

  /// The names of `staying` in the destination.
  package var stayingTables: Set<String> { Set(staying.map(\.table)) }
  /// Those of `staying` without a changed row.
  package var untouched: [StayingTable] { staying.filter(\.updatedColumns.isEmpty) }
  /// Those with updated rows.
  package var updated: [StayingTable] { staying.filter { !$0.updatedColumns.isEmpty } }

  /// Rows of `staying`, estimated.
  package var stayingRows: Int64 { staying.reduce(0) { $0 + $1.rows } }

  /// Takes partitions and work orders that are numbered already.
  package init(partitions: [Partition], workOrders: [WorkOrder], program: MigrationProgram) {
    self.partitions = partitions
    self.workOrders = workOrders
    self.program = program
  }

  /// Source rows of all work orders, for progress.
  package var rows: Int64 { workOrders.reduce(0) { $0 + $1.rows } }
  /// Bytes of the source that all work orders take, estimated.
  package var bytes: Int64 { workOrders.reduce(0) { $0 + $1.bytes } }
  /// Whether threads end the plan earlier than processes.
  package var isForThreads: Bool { Self.isForThreads(bytes: bytes) }

  /// Whether threads end a plan of so many source bytes earlier than processes, which start slowly.
  static func isForThreads(bytes: Int64) -> Bool { bytes <= 16 << 20 }
}
