import Foundation
import MigrationEngine
import MigrationStatus
import Planning

/// Works out how much work is left for workers, from what the rows of each table took so far.
///
/// Rows of one table cost about the same; those of another may cost a hundred times as much, such
/// as rows that need look-ups. What no worker has reached yet is taken to cost what its bytes tell,
/// on the scale of what was measured.
struct WorkForecast {
  /// A run of rows of one table within a work order.
  struct Stretch: Hashable, Codable, Sendable {
    /// What its rows have in common: a table, or a partition whose rows are made all at once.
    var table: String
    /// How many they are, never 0.
    var rows: Double
    /// Bytes that they take in the source.
    var bytes: Double
    /// What they were expected to cost, all of them.
    var cost: Double
  }

  /// The rows of a work order in the order in which they are migrated.
  struct Order: Hashable, Codable, Sendable {
    /// Its number in the plan.
    var number: UInt32
    /// Its rows.
    var stretches: [Stretch]
    /// Whether an earlier run did it.
    var isFinished: Bool
  }

  private struct Progress {
    let stretches: [Stretch]
    var rowsDone = 0.0
    /// Time of a worker that brought no row forward yet.
    var waiting = 0.0
    var isDone = false

    var rows: Double { stretches.reduce(0) { $0 + $1.rows } }

    /// Bytes of the rows that are done.
    var bytesDone: Double {
      if isDone { return stretches.reduce(0) { $0 + $1.bytes } }
      var first = 0.0
      return stretches.reduce(0) { sum, stretch in
        defer { first += stretch.rows }
        let rows = min(stretch.rows, max(0, rowsDone - first))
        return sum + stretch.bytes * rows / stretch.rows
      }
    }
  }

  /// A limit of the bytes that workers read, and what they read since it holds.
  private struct Limit {
    let rate: Double
    let bytesBefore: Double
    var seconds = 0.0
  }

  private struct Measured {
    var rows = 0.0
    var seconds = 0.0
    var cost = 0.0

    /// All the time that was ever measured.
    private var total = 0.0

    /// What little is known of a table counts for little.
    var trust: Double { min(1, seconds / 0.2) }

    /// Adds what was measured last; what is long ago counts for less, since objects are made in
    /// passes of which none is as fast as another, and machines get other work.
    mutating func add(rows: Double, seconds: Double, cost: Double) {
      total += seconds
      let fading = exp(-seconds / max(4, 0.4 * total))
      self.rows = self.rows * fading + rows
      self.seconds = self.seconds * fading + seconds
      self.cost = self.cost * fading + cost
    }
  }

  private var orders: [UInt32: Progress] = [:]
  private var tables: [String: Measured] = [:]
  private var all = Measured()
  private var time: Int64?
  private var limit: Limit?

  /// Takes the work orders of a plan.
  init(_ orders: [Order]) {
    for order in orders {
      self.orders[order.number] = Progress(stretches: order.stretches, isDone: order.isFinished)
    }
  }

  /// Learns from how far work orders are, at a moment of a clock that never goes back, in
  /// nanoseconds.
  ///
  /// - Parameters:
  ///   - isHeld: whether workers stand still on request; nothing is learnt from that.
  ///   - workers: how many work orders are migrated at once at most.
  ///   - rate: bytes that workers may read in a second, all together; 0 for no limit.
  mutating func observe(
    _ parts: [RunAdvance.Part], at now: Int64, isHeld: Bool, workers: Int = .max, rate: UInt64 = 0
  ) {
    let elapsed = time.map { max(0, (Double(now) - Double($0)) / 1e9) } ?? 0
    time = now
    if rate == 0 {
      limit = nil
    } else if limit?.rate != Double(rate) {
      limit = Limit(rate: Double(rate), bytesBefore: bytesDone)
    } else if !isHeld {
      limit?.seconds += elapsed
    }
    let active = parts.filter { isActive($0) }
    // Of orders that are done one after the other between two looks, each had a share of the time.
    let share = active.isEmpty ? 0 : min(1, Double(workers) / Double(active.count)) * elapsed
    for part in active {
      guard var order = orders[part.workOrder] else { continue }
      if !isHeld { order.waiting += share }
      let rows = part.isDone ? order.rows : Double(part.rowsDone)
      if rows > order.rowsDone { credit(&order, from: order.rowsDone, to: rows) }
      // Another attempt begins with the first row.
      order.rowsDone = rows
      order.isDone = part.isDone
      orders[part.workOrder] = order
    }
  }

  /// Whether somebody is at work on an order, or has been since the last look.
  private func isActive(_ part: RunAdvance.Part) -> Bool {
    guard let order = orders[part.workOrder], !order.isDone else { return false }
    return part.isRunning || part.isDone
  }

  /// Divides the time since the last row among the tables whose rows it brought.
  private mutating func credit(_ order: inout Progress, from: Double, to: Double) {
    var shares: [(table: String, rows: Double, cost: Double, weight: Double)] = []
    var first = 0.0
    for stretch in order.stretches {
      let rows = min(to, first + stretch.rows) - max(from, first)
      first += stretch.rows
      guard rows > 0 else { continue }
      let cost = stretch.cost * rows / stretch.rows
      shares.append((stretch.table, rows, cost, rows * seconds(perRowOf: stretch)))
    }
    let total = shares.reduce(0) { $0 + $1.weight }
    guard total > 0 else { return }
    for share in shares {
      let seconds = order.waiting * share.weight / total
      tables[share.table, default: Measured()]
        .add(rows: share.rows, seconds: seconds, cost: share.cost)
      all.seconds += seconds
      all.cost += share.cost
    }
    order.waiting = 0
  }

  private func seconds(perRowOf stretch: Stretch) -> Double {
    let expected = stretch.cost / stretch.rows * (typicalScale ?? 1)
    guard let measured = tables[stretch.table], measured.seconds > 0 else { return expected }
    let trust = measured.trust
    return trust * measured.seconds / measured.rows + (1 - trust) * expected
  }

  private var bytesDone: Double { orders.values.reduce(0) { $0 + $1.bytesDone } }

  /// Whether it is the limit that rows take their time for.
  private var isLimited: Bool {
    guard let limit, limit.seconds > 1 else { return false }
    return bytesDone - limit.bytesBefore >= 0.7 * limit.rate * limit.seconds
  }

  /// What a limit makes of the scale counts for nothing else: the machine is taken for one of less
  /// than half the speed that costs are told for.
  private static let mostLimited = 2.0

  /// Seconds that one second of expected costs takes on this machine, nil before any was measured:
  /// the least of the mean over tables and of that over all time, since rows of some tables cost
  /// more than anybody expects.
  var scale: Double? {
    guard let typical = typicalScale else { return nil }
    let least = min(typical, all.seconds / all.cost)
    return isLimited ? min(least, Self.mostLimited) : least
  }

  /// The mean over the tables that were met: of one that was not met nobody knows which it is like.
  private var typicalScale: Double? {
    var (sum, weights) = (0.0, 0.0)
    for table in tables.values where table.cost > 0 && table.seconds > 0 {
      let weight = table.trust
      sum += weight * log(table.seconds / table.cost)
      weights += weight
    }
    return weights > 0 ? exp(sum / weights) : nil
  }

  /// Seconds until so many workers have done the rest, nil before anything was measured.
  func secondsLeft(workers: Int) -> Double? {
    guard all.seconds > 0.2 else { return nil }
    if isLimited, let limit {
      let all = orders.values.flatMap(\.stretches).reduce(0) { $0 + $1.bytes }
      return max(0, all - bytesDone) / limit.rate
    }
    var (total, longest) = (0.0, 0.0)
    for order in orders.values where !order.isDone {
      var (left, first) = (0.0, 0.0)
      for stretch in order.stretches {
        let rows = first + stretch.rows - max(order.rowsDone, first)
        first += stretch.rows
        if rows > 0 { left += rows * seconds(perRowOf: stretch) }
      }
      left = max(left * 0.05, left - order.waiting)
      total += left
      longest = max(longest, left)
    }
    return max(longest, total / Double(max(1, workers)))
  }
}

extension WorkForecast {
  /// The work orders of a plan, those of them that an earlier run did, and what their rows are
  /// expected to cost.
  ///
  /// Work that the planner counted tells more than rows and bytes: it knows what is looked up.
  ///
  /// - Parameters:
  ///   - speed: how fast this machine is, against that of which the costs are told.
  ///   - isSequential: whether workers migrate one table after the other, as rows are, or all at
  ///     once, as objects are.
  static func orders(
    of plan: MigrationPlan, finished: Set<Int>, costs: PhaseCosts, speed: Double = 1,
    isSequential: Bool
  ) -> [Order] {
    plan.workOrders.map { order in
      func cost(_ rows: Int64, _ bytes: Int64) -> Double {
        costs.row * Double(rows) + costs.byte * Double(bytes)
      }
      let plain = cost(order.rows, order.bytes)
      let counted = costs.work * Double(order.work)
      let scale = counted > 0 && plain > 0 ? counted / plain : 1
      func stretch(_ table: String, rows: Int64, bytes: Int64) -> Stretch {
        Stretch(
          table: table, rows: max(1, Double(rows)), bytes: Double(bytes),
          cost: max(1e-12, scale * cost(rows, bytes) / speed))
      }
      return Order(
        number: UInt32(order.number),
        stretches: isSequential
          ? order.pieces.map { stretch($0.destinationTable, rows: $0.rows, bytes: $0.bytes) }
          : [stretch("partition \(order.partition)", rows: order.rows, bytes: order.bytes)],
        isFinished: finished.contains(order.number))
    }
  }
}
