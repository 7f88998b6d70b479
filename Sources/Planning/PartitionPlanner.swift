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
    var left = groups.reduce(0) { $0 + $1.bytes }
    for group in groups {
      let packed =
        granularity.keepsSlices
        ? dealt(group.tables, &nextPiece) : cut(group.tables, &left, &nextPiece)
      let pieces = packed.flatMap(\.self)
      guard !pieces.isEmpty else { continue }
      let number = partitions.count + 1
      partitions.append(
        Partition(
          number: number, tables: group.tables, rows: pieces.reduce(0) { $0 + $1.rows },
          bytes: group.bytes))
      orders += packed.map { WorkOrder(number: 0, partition: number, pieces: $0) }
    }
    // The largest first: the last worker then never works alone for long.
    orders.sort { ($0.bytes, $1.pieces[0].number) > ($1.bytes, $0.pieces[0].number) }
    for index in orders.indices { orders[index].number = index + 1 }
    return MigrationPlan(partitions: partitions, workOrders: orders, program: program)
  }

  /// The least that a worker is started for: its start takes as long as some ten mebibytes.
  private static let leastBytes: Int64 = 24 << 20

  /// Cuts tables into work orders, each a share of what is left: all workers end together, since
  /// the last orders are small.
  private func cut(_ tables: [String], _ left: inout Int64, _ next: inout Int) -> [[Piece]] {
    var orders: [[Piece]] = []
    var current: [Piece] = []
    var bytes: Int64 = 0
    var size = share(of: left)
    for table in tables {
      var open: Piece?
      let slices = statistics[table]?.slices ?? []
      for (index, slice) in slices.enumerated() {
        let isLast = index == slices.count - 1
        var piece =
          open
          ?? Piece(
            number: next, destinationTable: table,
            keys: KeyRange(first: index == 0 ? .min : slices[index - 1].lastKey + 1, last: .max),
            rows: 0, bytes: 0)
        if open == nil { next += 1 }
        piece.rows += slice.rows
        piece.bytes += slice.bytes
        bytes += slice.bytes
        open = piece
        guard isLast || bytes >= size else { continue }
        if !isLast { piece.keys = KeyRange(first: piece.keys.first, last: slice.lastKey) }
        current.append(piece)
        open = nil
        guard bytes >= size else { continue }
        orders.append(current)
        left -= bytes
        (current, bytes, size) = ([], 0, share(of: left))
      }
    }
    left -= bytes
    return current.isEmpty ? orders : orders + [current]
  }

  private func share(of left: Int64) -> Int64 {
    let share = left / Int64(max(1, granularity.workers) * 2)
    return min(granularity.pieceBytes, max(share, Self.leastBytes))
  }

  /// Deals slices that were asked for to a few work orders.
  private func dealt(_ tables: [String], _ next: inout Int) -> [[Piece]] {
    let pieces = tables.flatMap { table in
      (statistics[table]?.ranges(ofBytes: 1) ?? []).map { range in
        defer { next += 1 }
        return Piece(
          number: next, destinationTable: table, keys: range.keys, rows: range.rows,
          bytes: range.bytes)
      }
    }
    let count = min(pieces.count, max(1, granularity.workers) * 4)
    var dealt = Array(repeating: [Piece](), count: count)
    for (index, piece) in pieces.enumerated() { dealt[index % count].append(piece) }
    return dealt
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
