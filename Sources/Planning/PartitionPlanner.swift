import Mapping
package import RowPrograms

/// Splits a migration into partitions, pieces and work orders.
package struct PartitionPlanner {
  /// How finely a migration is cut.
  package struct Granularity: Hashable, Codable, Sendable {
    /// The workers that run at the same time; each gets several work orders.
    package var workers: Int
    /// The most that one work order should cost, in bytes read and written.
    package var orderWork: Int64
    /// Keeps every slice of the statistics a piece of its own.
    package var keepsSlices: Bool

    /// Cuts by what rows cost, unless the slices are to stay as they are.
    package init(workers: Int, orderWork: Int64, keepsSlices: Bool = false) {
      self.workers = workers
      self.orderWork = orderWork
      self.keepsSlices = keepsSlices
    }
  }

  private let program: MigrationProgram
  private let statistics: [String: TableStatistics]
  /// What a row of a destination table costs in addition to the statistics of its own table.
  private let rowWork: [String: Int64]
  private let granularity: Granularity

  /// Takes the statistics by destination table.
  package init(
    program: MigrationProgram, statistics: [String: TableStatistics], granularity: Granularity
  ) {
    self.program = program
    self.statistics = statistics
    self.granularity = granularity
    rowWork = Dictionary(
      program.tables.map { table in
        let work =
          Self.lookUpWork * Int64(table.lookUps) + Self.fileWork * Int64(table.filesRead)
        return (table.destinationTable, work)
      }, uniquingKeysWith: max)
  }

  /// What a row that is looked up costs, in the bytes of `TableStatistics.work`: measured, in a map
  /// or a list of all that are.
  private static let lookUpWork: Int64 = 100
  /// What reading a file of a few kibibytes costs, which each row is taken to have.
  private static let fileWork: Int64 = 8_000

  /// What a slice of a table costs, with what its rows look up and read elsewhere.
  private func work(of slice: Int, in table: String) -> Int64 {
    guard let statistics = statistics[table] else { return 0 }
    return statistics.work(of: slice)
      + (rowWork[table] ?? 0) * statistics.slices[slice].rows
  }

  /// Groups the tables, cuts them, and orders the work by its cost; the same input gives the same
  /// plan.
  package func plan() -> MigrationPlan {
    var nextPiece = 1
    var partitions: [Partition] = []
    var orders: [(order: WorkOrder, work: Int64)] = []
    let groups = groups()
    var left = groups.reduce(0) { $0 + $1.work }
    let equal = equalShare(of: left)
    for group in groups {
      let shares =
        granularity.keepsSlices
        ? dealt(group.tables, next: &nextPiece)
        : cut(group.tables, left: &left, equal: equal, next: &nextPiece)
      let pieces = shares.flatMap(\.pieces)
      let number = partitions.count + 1
      partitions.append(
        Partition(
          number: number, tables: group.tables, rows: pieces.reduce(0) { $0 + $1.rows },
          bytes: pieces.reduce(0) { $0 + $1.bytes }))
      orders += shares.map {
        (WorkOrder(number: 0, partition: number, pieces: $0.pieces, work: $0.work), $0.work)
      }
    }
    // The largest first: the last worker then never works alone for long.
    orders.sort { ($0.work, $1.order.pieces[0].number) > ($1.work, $0.order.pieces[0].number) }
    for index in orders.indices { orders[index].order.number = index + 1 }
    return MigrationPlan(
      partitions: partitions, workOrders: orders.map(\.order), program: program)
  }

  /// Pieces for one work order, and what they cost.
  private typealias Share = (pieces: [Piece], work: Int64)

  /// The least that a worker is started for: its start takes as long as some ten mebibytes.
  private static let leastWork: Int64 = 36 << 20

  /// The minimum of work for a separate work order: starting a worker takes far longer, starting a
  /// thread a millisecond.
  private var leastOwnWork: Int64 { isForThreads ? 1 << 20 : 4 << 20 }

  /// Whether threads end the plan earlier than processes.
  private var isForThreads: Bool {
    MigrationPlan.isForThreads(bytes: statistics.values.reduce(0) { $0 + $1.bytes })
  }

  /// The least that a thread is taken for.
  private static let leastEqualShare: Int64 = 2 << 20
  /// The most that a worker does in one order where all begin together: however uneven their shares
  /// turn out, waiting for the last one costs less than starting more processes.
  private static let mostEqualShare: Int64 = 360 << 20

  /// The share of each worker where all of the work is one share for each; nil where it is more.
  private func equalShare(of work: Int64) -> Int64? {
    if program.tables.contains(where: \.hasCalls) { return nil }
    let share = work / Int64(max(1, granularity.workers)) + 1
    guard share <= Self.mostEqualShare else { return nil }
    return max(isForThreads ? Self.leastEqualShare : Self.leastWork, share)
  }

  /// Cuts tables into work orders, each a share of what is left: all workers end together, since
  /// the last orders are small.
  ///
  /// - Parameter equal: the share of each, where it does not depend on what is left.
  private func cut(
    _ tables: [String], left: inout Int64, equal: Int64?, next: inout Int
  ) -> [Share] {
    var shares: [Share] = []
    var current: [Piece] = []
    var work: Int64 = 0
    var size = equal ?? share(of: left)
    for table in tables {
      var open: Piece?
      guard let statistics = statistics[table] else { continue }
      let slices = statistics.slices
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
        piece.movedIndexes += statistics.movedIndexes(with: index)
        work += self.work(of: index, in: table)
        open = piece
        guard isLast || work >= size else { continue }
        if !isLast { piece.keys = KeyRange(first: piece.keys.first, last: slice.lastKey) }
        current.append(piece)
        open = nil
        guard work >= size else { continue }
        shares.append((current, work))
        left -= work
        (current, work, size) = ([], 0, equal ?? share(of: left))
      }
    }
    left -= work
    guard !current.isEmpty else { return shares }
    guard work < leastOwnWork, let last = shares.popLast() else {
      return shares + [(current, work)]
    }
    return shares + [(last.pieces + current, last.work + work)]
  }

  /// The share of an order: with four fifths of an equal one, a few orders end together.
  ///
  /// An index moves as a whole, so where some do, smaller shares even that out.
  private func share(of left: Int64) -> Int64 {
    let workers = Int64(max(1, granularity.workers))
    let movesIndexes = statistics.values.contains { !$0.movedIndexes.isEmpty }
    let share = movesIndexes ? left / (2 * workers) : left * 4 / (5 * workers)
    return min(granularity.orderWork, max(share, Self.leastWork))
  }

  /// Distributes requested slices to a few work orders.
  private func dealt(_ tables: [String], next: inout Int) -> [Share] {
    let pieces = tables.flatMap { table in
      (statistics[table]?.ranges(ofBytes: 1) ?? []).map { range in
        defer { next += 1 }
        var piece = Piece(
          number: next, destinationTable: table, keys: range.keys, rows: range.rows,
          bytes: range.bytes)
        piece.movedIndexes = range.movedIndexes
        return piece
      }
    }
    let count = min(pieces.count, max(1, granularity.workers) * 4)
    var dealt = Array(repeating: [Piece](), count: count)
    for (index, piece) in pieces.enumerated() { dealt[index % count].append(piece) }
    return dealt.map { pieces in (pieces, pieces.reduce(0) { $0 + $1.bytes }) }
  }

  /// Tables of one partition, and what all their rows cost.
  private typealias Group = (tables: [String], work: Int64)

  /// The tables of each partition, those that cost most first.
  private func groups() -> [Group] {
    let connected = connectedTables().compactMap { tables -> Group? in
      guard tables.contains(where: { statistics[$0]?.slices.isEmpty == false }) else { return nil }
      let work = tables.flatMap { table in
        (statistics[table]?.slices.indices ?? 0..<0).map { self.work(of: $0, in: table) }
      }
      return (tables, work.reduce(0, +))
    }
    let sorted = Self.sorted(connected)
    // What rows call for may take any time, which no statistics show.
    let isPlain = !program.tables.contains(where: \.hasCalls)
    return isPlain && !granularity.keepsSlices ? Self.sorted(joined(sorted)) : sorted
  }

  private static func sorted(_ groups: [Group]) -> [Group] {
    groups.sorted { ($0.work, $1.tables[0]) > ($1.work, $0.tables[0]) }
  }

  /// Puts groups together that are each too small to start a worker for, as many as make a share of
  /// the work that is left; what is next to nothing goes to the last of the others.
  private func joined(_ groups: [Group]) -> [Group] {
    var result: [Group] = []
    var small: Group?
    var left = groups.reduce(0) { $0 + $1.work }
    let equal = equalShare(of: left)
    for group in groups {
      guard group.work < Self.leastWork else {
        result.append(group)
        left -= group.work
        continue
      }
      let sum: Group = ((small?.tables ?? []) + group.tables, (small?.work ?? 0) + group.work)
      // The next one is hardly smaller: it is taken as long as that brings the sum nearer.
      if sum.work + group.work / 2 < equal ?? share(of: left) {
        small = sum
      } else {
        result.append(sum)
        left -= sum.work
        small = nil
      }
    }
    guard let small else { return result }
    guard small.work < leastOwnWork, let last = result.popLast() else {
      return result + [small]
    }
    return result + [(last.tables + small.tables, last.work + small.work)]
  }

  /// The destination tables, grouped by the references between them.
  private func connectedTables() -> [[String]] {
    let names = program.tables.map(\.destinationTable) + program.joins.map(\.destinationTable)
    var groups = DisjointSets(names)
    for reference in program.references {
      groups.join(reference.table, with: reference.destinationTable)
    }
    return groups.sets()
  }
}
