public import Foundation
import MigrationStatus
public import SystemPackage

/// Watches a migration that another process runs, or tells what became of the last one.
///
/// ```swift
/// for try await status in MigrationMonitor("Shop.sqlite").updates() {
///   print(status.state, status.progress?.fraction ?? 0)
/// }
/// ```
///
/// A process that runs a migration itself has its progress from ``StoreMigration/start()``; the
/// status file may not be opened twice in one process.
public struct MigrationMonitor: Sendable {
  /// The store being migrated, its output, or the work folder.
  public let path: FilePath

  /// Creates a monitor of the migration of a store, which may be named by the store, by its output
  /// or by the work folder.
  public init(_ path: FilePath) { self.path = path }

  /// Creates a monitor of the migration of a store, which may be named by the store, by its output
  /// or by the work folder.
  public init(_ file: URL) { self.init(FilePath(file)) }

  /// What has become of a migration.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// It goes on.
    case running
    /// Its process is there and does not go on.
    case paused
    /// It was asked to stop, and the next run goes on.
    case interrupted
    /// Its process is gone without a word; the next run goes on.
    case dead
    /// It failed.
    case failed
    /// The store cannot be migrated in this way.
    case refused
    /// It is done.
    case done

    /// Whether something may still change without anybody starting it again.
    public var isOpen: Bool { self == .running || self == .paused }
  }

  /// The state of a migration, with all that is known of it.
  public struct Status: Sendable, Encodable {
    /// Why a migration is paused or dead.
    public enum Reason: Hashable, Sendable {
      /// A signal or a debugger has stopped the process.
      case stopped
      /// The process is there and has been silent for so long.
      case silent(Duration)
      /// The process is gone.
      case gone
      /// The machine was started anew since.
      case machineRestarted
    }

    let core: StatusReport

    /// What has become of the migration.
    public var state: State { State(rawValue: core.decision.state.rawValue) ?? .failed }
    /// Why it is paused or dead.
    public var reason: Reason? {
      switch core.decision.reason {
      case .stopped: .stopped
      case .silent(let seconds): .silent(.seconds(seconds))
      case .gone: .gone
      case .machineRestarted: .machineRestarted
      case nil: nil
      }
    }
    /// The exit status that `godwit status` ends with.
    public var exitStatus: Int32 { core.decision.exitStatus }
    /// How far it is, where its status file is there.
    public var progress: MigrationProgress? { core.snapshot.map { MigrationProgress($0) } }
    /// Why it failed, or what it made.
    public var sentences: [String] { core.sentences }
    /// What was lost, one sentence each.
    public var losses: [String] { core.record?.losses ?? [] }
    /// Rows of the new store.
    public var rows: Int64? { core.record?.rows }
    /// The process that coordinates it, or did.
    public var process: Int32? { core.snapshot?.coordinator ?? core.record?.process }
    /// The store that is migrated.
    public var source: FilePath? { core.record.map { FilePath($0.source) } }
    /// Where the new store goes.
    public var destination: FilePath? { core.record.map { FilePath($0.destination) } }
    /// When it ended.
    public var ended: Date? {
      guard let ended = core.record?.ended, (0..<1e11).contains(ended) else { return nil }
      return Date(timeIntervalSince1970: ended)
    }

    /// Encodes what `godwit status --json` prints.
    public func encode(to encoder: any Encoder) throws { try core.encode(to: encoder) }
  }

  /// What is known now; nil where nothing is.
  ///
  /// It takes a second where the process is not to be seen and has not been silent for long.
  ///
  /// - Throws: `MigrationFailure` where there is something and it cannot be read.
  public func status() async throws -> Status? {
    var iterator = Updates(path: path, interval: .zero, wait: .zero).makeAsyncIterator()
    return try await iterator.next()
  }

  /// What is known again and again, until the migration ends.
  ///
  /// - Parameters:
  ///   - interval: how long to wait between two looks.
  ///   - wait: how long to wait for a migration to begin where none is known; the sequence is empty
  ///     if none does.
  public func updates(
    every interval: Duration = .seconds(1), waitingToBegin wait: Duration = .seconds(3)
  ) -> Updates {
    Updates(path: path, interval: interval, wait: wait)
  }

  /// What is known of a migration, again and again; it ends with the last state that the migration
  /// has, and throws `MigrationFailure` where what there is cannot be read.
  public struct Updates: AsyncSequence, Sendable {
    /// What is known of a migration.
    public typealias Element = Status

    let path: FilePath
    let interval: Duration
    let wait: Duration

    /// Begins to look.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(sequence: self, watch: StatusWatch(path))
    }

    /// Looks at a migration.
    public struct AsyncIterator: AsyncIteratorProtocol {
      let sequence: Updates
      let watch: StatusWatch
      private var last: Status?

      init(sequence: Updates, watch: StatusWatch) {
        self.sequence = sequence
        self.watch = watch
      }

      /// Waits for the time of the next look, and takes it.
      public mutating func next() async throws -> Status? {
        do {
          let report: StatusReport?
          if let last {
            guard last.state.isOpen else { return nil }
            try await Task.sleep(for: sequence.interval)
            report = try await MigrationMonitor.look(watch)
          } else {
            report = try await MigrationMonitor.begin(watch, wait: sequence.wait)
          }
          guard let report else { return nil }
          let status = Status(core: try await MigrationMonitor.certain(report, watch: watch))
          last = status
          return status
        } catch let error as CancellationError {
          throw error
        } catch {
          throw MigrationFailure(error)
        }
      }
    }
  }

  /// The failure of a command that shows what is known where nothing is.
  package static func nothingKnown(of path: FilePath) -> MigrationFailure {
    MigrationFailure(
      .notFound,
      "nothing is known of a migration of \(path): check the path, or whether it runs with "
        + "--no-record.")
  }

  /// The first that is known of a migration.
  private static func begin(_ watch: StatusWatch, wait: Duration) async throws -> StatusReport? {
    let end = ContinuousClock.now + wait
    repeat {
      if let report = try watch.look() { return report }
      if wait == .zero { break }
      try await Task.sleep(for: .milliseconds(100))
    } while .now < end
    return nil
  }

  /// Looks once more where a process is not to be seen and was not silent for long.
  private static func certain(
    _ report: StatusReport, watch: StatusWatch
  ) async throws -> StatusReport {
    guard report.decision.isUncertain else { return report }
    try await Task.sleep(for: .milliseconds(1_100))
    return try await look(watch) ?? report
  }

  /// A file that is just being made or removed may fail to open, and does not for long.
  private static func look(_ watch: StatusWatch) async throws -> StatusReport? {
    for _ in 0..<5 {
      if let report = try? watch.look() { return report }
      try await Task.sleep(for: .milliseconds(100))
    }
    return try watch.look()
  }
}
