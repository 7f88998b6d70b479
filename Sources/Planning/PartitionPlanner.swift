package import RowPrograms

/// Splits a migration into partitions, pieces and work orders.
package struct PartitionPlanner {
  /// How finely a migration is cut.
  package struct Granularity: Hashable, Codable, Sendable {
    package var workers: Int
    /// The most bytes of source that one piece should hold.
    package var pieceBytes: Int64
    /// Keeps every slice of the statistics a piece of its own.
    package var keepsSlices: Bool

    package init(workers: Int, pieceBytes: Int64, keepsSlices: Bool = false) {
      self.workers = workers
      self.pieceBytes = pieceBytes
      self.keepsSlices = keepsSlices
    }
  }

  private let program: MigrationProgram
  private let statistics: [String: TableStatistics]
  private let granularity: Granularity

  /// Takes the statistics by destination table.
  package init(
    program: MigrationProgram, statistics: [String: TableStatistics], granularity: Granularity
  ) {
    self.program = program
    self.statistics = statistics
    self.granularity = granularity
  }

  package func plan() -> MigrationPlan {
    var nextPiece = 1
    var partitions: [Partition] = []
    var orders: [WorkOrder] = []
    let groups = connectedTables().map { tables in
      (tables: tables, bytes: tables.reduce(0) { $0 + (statistics[$1]?.bytes ?? 0) })
    }.sorted { ($0.bytes, $1.tables[0]) > ($1.bytes, $0.tables[0]) }
    for group in groups {
      let pieces = group.tables.flatMap { self.pieces(of: $0, &nextPiece) }
      guard !pieces.isEmpty else { continue }
      let number = partitions.count + 1
      partitions.append(
        Partition(
          number: number, tables: group.tables, rows: pieces.reduce(0) { $0 + $1.rows },
          bytes: group.bytes))
      orders += pack(pieces).map { WorkOrder(number: 0, partition: number, pieces: $0) }
    }
    // The largest first: the last worker then never works alone for long.
    orders.sort { ($0.bytes, $1.pieces[0].number) > ($1.bytes, $0.pieces[0].number) }
    for index in orders.indices { orders[index].number = index + 1 }
    return MigrationPlan(partitions: partitions, workOrders: orders, program: program)
  }

  /// Bytes of source per piece: small enough that all workers end together.
  private var target: Int64 {
    if granularity.keepsSlices { return 1 }
    let total = statistics.values.reduce(0) { $0 + $1.bytes }
    let share = total / Int64(max(1, granularity.workers) * 6)
    return min(granularity.pieceBytes, max(share, 4 << 20))
  }

  private func pieces(of table: String, _ next: inout Int) -> [Piece] {
    (statistics[table]?.ranges(ofBytes: target) ?? []).map { range in
      defer { next += 1 }
      return Piece(
        number: next, destinationTable: table, keys: range.keys, rows: range.rows,
        bytes: range.bytes)
    }
  }

  /// Puts small pieces together, so that a worker is not started for a handful of rows.
  private func pack(_ pieces: [Piece]) -> [[Piece]] {
    if granularity.keepsSlices {
      let count = min(pieces.count, max(1, granularity.workers) * 4)
      var dealt = Array(repeating: [Piece](), count: count)
      for (index, piece) in pieces.enumerated() { dealt[index % count].append(piece) }
      return dealt
    }
    var result: [[Piece]] = []
    var current: [Piece] = []
    var bytes: Int64 = 0
    for piece in pieces.sorted(by: { ($0.bytes, $1.number) > ($1.bytes, $0.number) }) {
      if !current.isEmpty && bytes + piece.bytes > target {
        result.append(current)
        (current, bytes) = ([], 0)
      }
      current.append(piece)
      bytes += piece.bytes
    }
    return current.isEmpty ? result : result + [current]
  }

  /// The destination tables with rows, grouped by the references between them.
  private func connectedTables() -> [[String]] {
    let names = program.tables.map(\.destinationTable) + program.joins.map(\.destinationTable)
    var groups = DisjointSets(names)
    for reference in program.references {
      groups.join(reference.table, reference.destinationTable)
    }
    return groups.sets()
  }
}

/// Names in groups that can be joined.
struct DisjointSets {
  private var parent: [String: String]
  private let names: [String]

  init(_ names: [String]) {
    self.names = names
    parent = Dictionary(names.map { ($0, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private func root(_ name: String) -> String? {
    guard var current = parent[name] else { return nil }
    while let next = parent[current], next != current { current = next }
    return current
  }

  /// Joins the groups of two names; a name that was never given joins nothing.
  mutating func join(_ a: String, _ b: String) {
    guard let first = root(a), let second = root(b), first != second else { return }
    parent[second] = first
  }

  /// The groups, each in the order in which its names were given.
  func sets() -> [[String]] {
    var result: [[String]] = []
    var places: [String: Int] = [:]
    for name in names {
      guard let root = root(name) else { continue }
      if let place = places[root] {
        result[place].append(name)
      } else {
        places[root] = result.count
        result.append([name])
      }
    }
    return result
  }
}
