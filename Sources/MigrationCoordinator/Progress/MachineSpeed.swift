import GRDB
import MigrationStatus
import SystemCalls

/// How fast this machine is, against the one on which costs were measured.
enum MachineSpeed {
  /// What a migration takes however few rows there are: processes, files and their syncs.
  static let fixedSeconds = 0.05
  /// Seconds that the other machine took for `work`.
  private static let reference = 0.0046

  /// More than 1 where this machine is faster; 1 where nothing can be measured, and for what takes
  /// so short that measuring would be a part of it.
  ///
  /// The best of a few times on a processor counts, of more where there is more to tell. Where
  /// other programs take the processors meanwhile, they may go on to do so, or end soon.
  ///
  /// - Parameters:
  ///   - seconds: what is to be told, as the other machine would take it.
  ///   - least: the fewest of them for which it is measured.
  static func ratio(for seconds: Double, least: Double = 0.3) -> Double {
    seconds < least ? 1 : seconds < 2 ? quickly : steadily
  }

  /// The same for phases.
  static func ratio(for costs: [Phase: Double], least: Double = 0.3) -> Double {
    ratio(for: costs.values.reduce(0, +), least: least)
  }

  private static let quickly = ratio(times: 3)
  private static let steadily = ratio(times: 8)

  private static func ratio(times: Int) -> Double {
    guard let found = try? measured(times: times), found.best > 0 else { return 1 }
    return min(8, max(1 / 8, reference / found.best * found.share.squareRoot()))
  }

  /// The size of a store of which something may be told before it is surveyed.
  static let leastBytes: Int64 = 64 << 20

  /// The shortest time on a processor that `work` took, and the share of all the time that the
  /// thread was on one.
  private static func measured(times: Int) throws -> (best: Double, share: Double) {
    let queue = try DatabaseQueue()
    return try queue.writeWithoutTransaction { db in
      var (best, all) = (Double.infinity, 0.0)
      let start = MonotonicClock.now()
      for _ in 0..<times {
        let before = ThreadClock.now()
        try db.execute(sql: work)
        let seconds = Double(ThreadClock.now() - before) / 1e9
        (best, all) = (min(best, seconds), all + seconds)
      }
      let passed = Double(MonotonicClock.now() - start) / 1e9
      return (best, passed > 0 ? min(1, all / passed) : 1)
    }
  }

  /// What migrations do, in memory: rows with texts and numbers are made of others, and sorted.
  private static let work = """
    CREATE TABLE a (k INTEGER PRIMARY KEY, n INTEGER, x FLOAT, t VARCHAR);
    INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      SELECT i, i * 7919 % 100003, i * 0.5, 'row number ' || i FROM n;
    CREATE TABLE b (k INTEGER PRIMARY KEY, n INTEGER, x FLOAT, t VARCHAR);
    INSERT INTO b SELECT k, n + 1, x, t FROM a;
    CREATE INDEX c ON b (n);
    DROP TABLE a; DROP TABLE b;
    """
}
