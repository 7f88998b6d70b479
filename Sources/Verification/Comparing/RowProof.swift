import Schema
import StoreFormat
import Synchronization
import SystemCalls

/// Confirms rows of a new store on all processors, without SQLite.
///
/// Rows that it does not confirm are compared through SQLite, which reports the differences.
///
/// The b-trees are read by `JudgedRows`, which no engine uses. It finds nothing wrong with
/// pages or indexes: `IntegrityCheck` does.
final class RowProof: Sendable {
  /// What was shown of one table.
  struct Shown: Sendable {
    /// Rows and pairs that are as they should be.
    var rows: Int64 = 0
    /// The keys between which rows have to be compared, rising.
    var left: [ClosedRange<Int64>] = []
    /// Whether each row of the old table belongs to a known entity, or has both keys of a pair.
    var hasNoStrangers = true

    /// Nothing is shown.
    static let none = Shown(left: [.min ... .max], hasNoStrangers: false)
    /// Whether all rows are as they should be.
    var isWhole: Bool { left.isEmpty }
  }

  private enum Work: Sendable {
    case rows(RowRules, range: ClosedRange<Int64>)
    case pairs(PairColumns, isNew: Bool, range: ClosedRange<Int64>)
    /// What SQLite reads of the pairs of the old store by their index, which has to be the same.
    case index(PairColumns)

    /// Whether it goes over a whole table.
    var isWhole: Bool { if case .index = self { true } else { false } }
  }

  private struct Job: Sendable {
    var table: Int
    var work: Work
  }

  private enum Answer: Sendable {
    case rows(RowTester.Outcome?)
    case pairs(PairSum?)
    /// SQLite may read other rows than the keys of the table show.
    case unsound
  }

  private let old: SourceFile
  private let new: SourceFile
  private let oldSizes: PageSizes
  private let newSizes: PageSizes
  private let seed = UInt64.random(in: .min ... .max)
  private let jobs = Mutex<[Job]>([])
  private let mostColumns = Mutex(1)
  private let tables = Mutex<[String]>([])

  /// Takes two stores; nil where their texts are in encodings that SQLite has to convert.
  init?(old: RawStore, new: RawStore) {
    func open(_ store: RawStore) throws -> (SourceFile, PageSizes)? {
      let file = try SourceFile(store.path)
      guard try store.rows(sql: "PRAGMA encoding") == [[.text("UTF-8")]],
        let sizes = try PageSizes(of: file)
      else { return nil }
      return (file, sizes)
    }
    guard let before = try? open(old), let after = try? open(new) else { return nil }
    (self.old, oldSizes) = before
    (self.new, newSizes) = after
  }

  // MARK: What is to be shown

  /// Adds the rows of a table.
  func add(_ name: String, rules: RowRules) {
    let columns = max(rules.old.count, rules.new.count)
    mostColumns.withLock { $0 = max($0, columns) }
    let cuts = (try? JudgedRows(new, sizes: newSizes).cuts(root: rules.new.root)) ?? []
    add(name, works: Self.ranges(cuts).map { .rows(rules, range: $0) })
  }

  /// Adds the pairs of a join table: the keys' columns of both in the same order, and those of
  /// positions.
  func addPairs(
    _ name: String, old before: PlainTable, new after: PlainTable, oldName: String,
    keys: (old: [String], new: [String]), others: (old: [String], new: [String])
  ) {
    guard
      let one = PairColumns(oldName, before, keys: keys.old, others: others.old, seed: seed),
      let two = PairColumns(name, after, keys: keys.new, others: others.new, seed: seed)
    else { return }
    mostColumns.withLock { $0 = max($0, before.count, after.count) }
    var works: [Work] = [.index(one)]
    for (columns, file, sizes, isNew) in [(one, old, oldSizes, false), (two, new, newSizes, true)] {
      let cuts = (try? JudgedRows(file, sizes: sizes).cuts(root: columns.root)) ?? []
      works += Self.ranges(cuts).map { .pairs(columns, isNew: isNew, range: $0) }
    }
    add(name, works: works)
  }

  /// Whether a table that was added is ordered by another key than its row numbers.
  func hasOwnKey(_ name: String) -> Bool {
    jobs.withLock { jobs in
      tables.withLock { tables in
        jobs.contains { job in
          guard tables[job.table] == name, case .rows(let rules, _) = job.work else { return false }
          return rules.new.hasOwnKey
        }
      }
    }
  }

  private func add(_ name: String, works: [Work]) {
    let table = tables.withLock { tables in
      tables.append(name)
      return tables.count - 1
    }
    // What is one piece of work begins first.
    let (whole, parts) = (works.filter(\.isWhole), works.filter { !$0.isWhole })
    jobs.withLock { jobs in
      jobs = whole.map { Job(table: table, work: $0) } + jobs
      jobs += parts.map { Job(table: table, work: $0) }
    }
  }

  private static func ranges(_ cuts: [Int64]) -> [ClosedRange<Int64>] {
    zip([.min] + cuts.map { $0 + 1 }, cuts + [.max]).map { $0...$1 }
  }

  // MARK: Work

  /// Shows what it can, by table.
  ///
  /// - Parameters:
  ///   - threads: how many work at most, the calling one among them.
  ///   - progress: is called on this thread, with a table that is being compared and the share of
  ///     all work that is done.
  func results(
    threads: Int = ThreadPool.processors,
    progress: (_ table: String, _ done: Double) -> Void
  ) -> [String: Shown] {
    let (jobs, tables) = (jobs.withLock(\.self), tables.withLock(\.self))
    let state = Answers(count: jobs.count)
    // No thread is worth its start for less than a mebibyte.
    let most = 1 + Int((old.byteCount + new.byteCount) >> 20)
    let count = max(1, min(threads, jobs.count, most))
    withoutActuallyEscaping(progress) { progress in
      // Safe: the calling thread alone calls it.
      nonisolated(unsafe) let progress = progress
      let caller = Processes.currentThread
      ThreadPool.share(count, threads: count) { _ in
        work(jobs, state: state) { place in
          guard Processes.currentThread == caller else { return }
          progress(tables[jobs[place].table], Double(place) / Double(jobs.count))
        }
      }
    }
    return Self.results(of: jobs, answers: state.all, tables: tables)
  }

  private final class Answers: Sendable {
    private let next = Atomic(0)
    private let answers: Mutex<[Answer?]>

    init(count: Int) { answers = Mutex(Array(repeating: nil, count: count)) }

    func take() -> Int { next.add(1, ordering: .relaxed).oldValue }
    func set(_ place: Int, _ answer: Answer) { answers.withLock { $0[place] = answer } }
    var all: [Answer?] { answers.withLock { $0 } }
  }

  private func work(_ jobs: [Job], state: Answers, told: (Int) -> Void) {
    let (before, after) = (JudgedRows(old, sizes: oldSizes), JudgedRows(new, sizes: newSizes))
    let columns = mostColumns.withLock { $0 }
    let tester = RowTester(old: before, new: after, mostColumns: columns)
    let row = JudgedRow(mostColumns: columns)
    while true {
      let place = state.take()
      guard place < jobs.count else { return }
      switch jobs[place].work {
      case .rows(let rules, let range):
        let outcome = Result { () throws(UnsoundPage) in try tester.outcome(rules, range: range) }
        if case .success(let outcome) = outcome {
          state.set(place, .rows(outcome))
        } else {
          state.set(place, .unsound)
        }
      case .index(let columns): state.set(place, .pairs(columns.sum(ofIndexIn: old.path)))
      case .pairs(let columns, let isNew, let range):
        let sum = columns.sum(isNew ? after : before, row: row, range: range)
        state.set(place, .pairs(sum))
      }
      told(place)
    }
  }

  private static func results(
    of jobs: [Job], answers: [Answer?], tables: [String]
  ) -> [String: Shown] {
    var results = tables.map { _ in Shown() }
    var unsound: Set<Int> = []
    var sums: [Int: (old: PairSum?, new: PairSum?)] = [:]
    var indexes: [Int: PairSum] = [:]
    func added(_ one: PairSum?, _ other: PairSum?) -> PairSum? {
      guard var sum = one, let other else { return nil }
      sum.add(other)
      return sum
    }
    for (job, answer) in zip(jobs, answers) {
      switch (job.work, answer) {
      case (.rows, .rows(let outcome?)?):
        results[job.table].rows += outcome.rows
        if outcome.hasStrangers { results[job.table].hasNoStrangers = false }
      case (.rows, .unsound?): unsound.insert(job.table)
      case (.rows(_, let range), _):
        results[job.table].leave(range)
      case (.index, .pairs(let sum?)?): indexes[job.table] = sum
      case (.index, _): break
      case (.pairs(_, let isNew, _), let answer):
        let found: PairSum? = if case .pairs(let sum)? = answer { sum } else { nil }
        let (before, after) = sums[job.table] ?? (PairSum(), PairSum())
        sums[job.table] = isNew ? (before, added(after, found)) : (added(before, found), after)
      }
    }
    for table in unsound { results[table] = .none }
    for (table, sum) in sums {
      if let old = sum.old, old == sum.new, old == indexes[table] {
        results[table].rows = old.rows
      } else {
        results[table] = .none
        results[table].hasNoStrangers = sum.old != nil
      }
    }
    return Dictionary(zip(tables, results), uniquingKeysWith: { $1 })
  }
}

extension RowProof.Shown {
  /// Adds a range whose rows are to be compared, which lies behind those so far.
  fileprivate mutating func leave(_ range: ClosedRange<Int64>) {
    hasNoStrangers = false
    if let last = left.last, last.upperBound < .max, last.upperBound + 1 == range.lowerBound {
      left[left.count - 1] = last.lowerBound...range.upperBound
    } else {
      left.append(range)
    }
  }
}
