/// How fast a migration and its workers are, over the last seconds that a watcher saw of it.
///
/// ```swift
/// var rates = MigrationRates()
/// for try await status in MigrationMonitor("Shop.sqlite") {
///   guard let progress = status.progress else { continue }
///   rates.observe(progress, at: .now)
///   print(rates.overall?.rows ?? 0, "rows a second")
/// }
/// ```
public struct MigrationRates: Sendable {
  /// Source rows and bytes in a second.
  public struct Rate: Hashable, Sendable {
    /// Source rows in a second.
    public var rows: Double
    /// Source bytes in a second.
    public var bytes: Double
  }

  private let window: Duration
  private var whole: RecentCounts
  private var orders: [Int: RecentCounts] = [:]
  private var stage = 1

  /// Looks back this long.
  public init(over window: Duration = .seconds(5)) {
    self.window = window
    whole = RecentCounts(window: window)
  }

  /// Takes what was seen at a moment, which is later than those before.
  public mutating func observe(_ progress: MigrationProgress, at moment: ContinuousClock.Instant) {
    // Without work orders rows and bytes are those of no worker: stages count fractions.
    let work = progress.atWork
    if work.number != stage { self = MigrationRates(over: window) }
    stage = work.number
    guard work.workOrderCount > 0 else {
      (whole, orders) = (RecentCounts(window: window), [:])
      return
    }
    whole.add(rows: work.rowsDone, bytes: work.bytesDone, at: moment)
    var present: [Int: RecentCounts] = [:]
    for order in progress.workOrdersAtWork {
      var counts = orders[order.number] ?? RecentCounts(window: window)
      if counts.attempt != order.attempt { counts = RecentCounts(window: window) }
      counts.attempt = order.attempt
      counts.add(rows: order.rowsDone, bytes: order.bytesDone, at: moment)
      present[order.number] = counts
    }
    orders = present
  }

  /// That of the whole migration, nil before it was seen twice with work orders.
  public var overall: Rate? { whole.rate }

  /// That of the worker of a work order, nil unless it was seen at work twice.
  public func ofWorkOrder(_ number: Int) -> Rate? { orders[number]?.rate }
}

/// Counts of the last seconds; the oldest may be a little older.
private struct RecentCounts: Sendable {
  private typealias Counts = (moment: ContinuousClock.Instant, rows: Int64, bytes: Int64)

  /// The shortest time between two counts that are both kept: a rate needs few of them.
  private static let shortest = Duration.milliseconds(200)

  let window: Duration
  var attempt = 0
  private var kept: [Counts] = []
  private var last: Counts?

  init(window: Duration) { self.window = window }

  mutating func add(rows: Int64, bytes: Int64, at moment: ContinuousClock.Instant) {
    // Counts that fall are those of other work.
    if let last, rows < last.rows || bytes < last.bytes { kept = [] }
    last = (moment, rows, bytes)
    if let latest = kept.last, moment - latest.moment < Self.shortest { return }
    kept.append((moment, rows, bytes))
    // One that is just outside stays, so that the whole window is covered.
    while kept.count > 1, moment - kept[1].moment >= window { kept.removeFirst() }
  }

  var rate: MigrationRates.Rate? {
    guard let first = kept.first, let last, last.rows >= first.rows, last.bytes >= first.bytes
    else { return nil }
    let seconds = (last.moment - first.moment) / .seconds(1)
    // Of less than that, a single update of the counts would make any rate.
    guard seconds >= 0.15 else { return nil }
    return MigrationRates.Rate(
      rows: Double(last.rows - first.rows) / seconds,
      bytes: Double(last.bytes - first.bytes) / seconds)
  }
}
