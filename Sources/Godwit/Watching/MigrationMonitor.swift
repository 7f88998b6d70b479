public import Foundation
import Mapping
import MigrationStatus
public import SystemPackage

/// Watches a migration that runs in another process, or shows the outcome of the last one.
///
/// ```swift
/// for try await status in MigrationMonitor("Shop.sqlite") {
///   print(status.state, status.progress?.fraction ?? 0)
/// }
/// ```
///
/// A process that runs a migration itself gets its progress from ``StoreMigration/start()``.
public struct MigrationMonitor: Sendable {
  /// The store being migrated, its output, or the work folder.
  public let path: FilePath

  /// Creates a monitor for the migration of a store, by the path of the store, its output or the
  /// work folder.
  public init(_ path: FilePath) { self.path = path }

  /// Creates a monitor for the migration of a store, by the URL of the store, its output or the
  /// work folder.
  public init(_ file: URL) { self.init(FilePath(file)) }

  /// The states of a migration.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// It is running.
    case running
    /// Somebody paused it, or its process exists, and is stopped or has been silent for 3 s.
    case paused
    /// The result is verified, and ``StoreMigration/Handover/swapFile`` holds back the swap.
    case ready
    /// It stopped on request; the next run resumes it.
    case interrupted
    /// Its process is gone and recorded no end; the next run resumes it.
    case dead
    /// It failed.
    case failed
    /// The store cannot be migrated in this way.
    case refused
    /// It has ended with a result.
    case done

    /// Whether the state may still change by itself.
    public var isOpen: Bool { self == .running || self == .paused || self == .ready }
  }

  /// The state of a migration, with everything known about it.
  public struct Status: Sendable, Encodable {
    /// Why a migration is paused or dead.
    public enum Reason: Hashable, Sendable {
      /// It was requested: by whom and when, as text.
      case asked(String)
      /// This file holds the migration, or its swap.
      case file(FilePath)
      /// A signal or a debugger has stopped the process.
      case stopped
      /// A signal or a debugger has stopped this worker process of it.
      case workerStopped(Int32)
      /// The process exists and has published nothing for this long.
      case silent(Duration)
      /// The process does not exist.
      case gone
      /// The machine has been restarted since.
      case machineRestarted
    }

    let core: StatusReport

    /// The state.
    public var state: State { State(mirroring: core.decision.state) }
    /// Why it is paused, ready or dead; of a running one, why it will pause at the next safe point.
    public var reason: Reason? {
      switch core.decision.reason {
      case .asked(let asker): .asked(asker)
      case .file(let file): .file(FilePath(file))
      case .stopped: .stopped
      case .workerStopped(let worker): .workerStopped(worker)
      case .silent(let seconds): .silent(.seconds(seconds))
      case .gone: .gone
      case .machineRestarted: .machineRestarted
      case nil: nil
      }
    }
    /// The exit status of `godwit status`.
    public var exitStatus: Int32 { core.decision.exitStatus }
    /// The progress in the status file, nil if there is none.
    public var progress: MigrationProgress? { core.snapshot.map { MigrationProgress($0) } }
    /// Why it failed, or what it made.
    public var sentences: [String] { core.sentences }
    /// What was lost, one sentence each.
    public var losses: [String] { core.record?.losses ?? [] }
    /// Rows of the new store, nil until it is finished.
    public var rows: Int64? {
      if let rows = core.record?.rows { return rows }
      // Without a record the status file decides, except for several stages, whose shares it
      // counts.
      guard state == .done, core.record == nil, let run = core.snapshot, run.stage == nil,
        run.rowsTotal > 0
      else { return nil }
      return Int64(clamping: run.rowsTotal)
    }
    /// The process of the coordinator, which may have ended; nil if it is not known.
    public var process: Int32? { core.snapshot?.coordinator ?? core.record?.process }
    /// The store that is migrated, nil without a record.
    public var source: FilePath? { core.record.map { FilePath($0.source) } }
    /// Where the new store is written, nil without a record.
    public var destination: FilePath? { core.record.map { FilePath($0.destination) } }
    /// When it ended, nil while it is running.
    public var ended: Date? {
      guard let ended = core.record?.ended, (0..<1e11).contains(ended) else { return nil }
      return Date(timeIntervalSince1970: ended)
    }

    /// Bytes that are free where the new store goes, nil once the migration has ended.
    public var freeSpace: Int64? { core.freeBytes.map { Int64(clamping: $0) } }

    /// Whether it differs from an earlier status in more than the time.
    public func isNews(after earlier: Status) -> Bool { core.isNews(after: earlier.core) }

    /// Encodes the output of `godwit status --json` (docs/schemas/status.schema.json).
    public func encode(to encoder: any Encoder) throws { try core.encode(to: encoder) }
  }

  /// The present state, nil if nothing is known.
  ///
  /// It takes a second if the process cannot be seen but published something just now.
  ///
  /// - Throws: `MigrationFailure`, if there is a status file or a record, and it cannot be read.
  public func status() async throws(MigrationFailure) -> Status? {
    var iterator = Updates(path: path, interval: .zero, wait: .zero, isForNext: false)
      .makeAsyncIterator()
    return try await iterator.next(isolation: #isolation)
  }

  /// The state at intervals, until the migration ends.
  ///
  /// Its processes publish what they have done ten times a second, so with the default interval an
  /// element is a fifth of a second old at most.
  ///
  /// - Parameters:
  ///   - interval: the time between two elements.
  ///   - wait: how long to wait for a migration to begin if none is known; if none does, the
  ///     sequence is empty.
  ///   - isForNext: whether it waits for another one, too, if the last one is over, and began two
  ///     seconds before or earlier; if none does, the only element is the outcome of the last one.
  public func updates(
    every interval: Duration = .milliseconds(100),
    waitingToBegin wait: Duration = .seconds(3), forNext isForNext: Bool = false
  ) -> Updates {
    Updates(path: path, interval: interval, wait: wait, isForNext: isForNext)
  }

  /// The states of a migration at intervals, with the final one as the last element.
  ///
  /// Iterating throws `MigrationFailure` if the status file or the record cannot be read.
  public struct Updates: AsyncSequence, Sendable {
    /// The state of a migration.
    public typealias Element = Status

    let path: FilePath
    let interval: Duration
    let wait: Duration
    let isForNext: Bool

    /// Starts to watch.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(sequence: self, watch: StatusWatch(path))
    }

    /// Watches a migration.
    public struct AsyncIterator: AsyncIteratorProtocol {
      let sequence: Updates
      let watch: StatusWatch
      private var last: Status?

      init(sequence: Updates, watch: StatusWatch) {
        self.sequence = sequence
        self.watch = watch
      }

      /// Waits for the interval, and returns the state; nil after the final one.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(MigrationFailure) -> Status? {
        do {
          let report: StatusReport?
          if let last {
            guard last.state.isOpen else { return nil }
            try await Task.sleep(for: sequence.interval)
            report = try await MigrationMonitor.look(watch)
          } else {
            report = try await MigrationMonitor.begin(
              watch, wait: sequence.wait, isForNext: sequence.isForNext)
          }
          guard let report else { return nil }
          let status = Status(core: try await MigrationMonitor.certain(report, watch: watch))
          last = status
          return status
        } catch {
          throw MigrationFailure(error)
        }
      }
    }
  }

  /// The failure of a command without a status file and a record.
  package static func nothingKnown(of path: FilePath) -> MigrationFailure {
    MigrationFailure(
      .notFound,
      "no migration of \(path) is known: check the path. A migration with \(option: .output) is "
        + "known by its output; a refused one, or one with \(option: .noRecord), leaves no record.")
  }

  /// How long before a watcher a migration may have begun, and be over, that it was to watch: of
  /// two commands that are given at once, either may be the first.
  private static let lead = 2.0

  /// The first state, nil if none appears in time.
  nonisolated(nonsending) private static func begin(
    _ watch: StatusWatch, wait: Duration, isForNext: Bool
  ) async throws -> StatusReport? {
    let start = Date.now.timeIntervalSince1970
    let end = ContinuousClock.now + wait
    var earlier: StatusReport?
    repeat {
      let report = try watch.look()
      if let report, !isForNext || !report.isOver(before: start - lead) { return report }
      earlier = report
      if wait == .zero { break }
      try await Task.sleep(for: .milliseconds(100))
    } while .now < end
    return earlier
  }

  /// Looks once more after a second if the process cannot be seen but published something just now.
  nonisolated(nonsending) private static func certain(
    _ report: StatusReport, watch: StatusWatch
  ) async throws -> StatusReport {
    if report.decision.isUncertain {
      try await Task.sleep(for: .milliseconds(1_100))
      return try await look(watch) ?? report
    }
    // The status file has the end before the record does, which has more about it.
    var report = report
    for _ in 0..<60 where report.lacksEnd {
      // A process that is gone may have written the end after the record was read.
      let mayChange = report.record?.isOfLivingProcess == true
      if mayChange { try await Task.sleep(for: .milliseconds(50)) }
      report = try await look(watch) ?? report
      if !mayChange { break }
    }
    return report
  }

  /// Looks up to five times: a file that is being created or removed may fail to open.
  nonisolated(nonsending) private static func look(_ watch: StatusWatch) async throws
    -> StatusReport?
  {
    for _ in 0..<5 {
      if let report = try? watch.look() { return report }
      try await Task.sleep(for: .milliseconds(100))
    }
    return try watch.look()
  }
}

extension MigrationMonitor: AsyncSequence {
  /// The state of a migration.
  public typealias Element = Status

  /// Starts to watch, as ``updates(every:waitingToBegin:forNext:)`` does.
  public func makeAsyncIterator() -> Updates.AsyncIterator { updates().makeAsyncIterator() }
}

extension StatusReport {
  /// Whether it is of a migration that is over, and that began before a moment, in seconds since
  /// 1970.
  fileprivate func isOver(before moment: Double) -> Bool {
    let started = max(snapshot?.startedAt ?? 0, record?.started ?? 0)
    return !MigrationMonitor.Status(core: self).state.isOpen && started < moment
  }
}
