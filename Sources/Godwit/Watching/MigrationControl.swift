public import Foundation
import MigrationStatus
public import SystemPackage

/// Pauses, resumes, changes and cancels a migration that runs in another process.
///
/// ```swift
/// let control = MigrationControl("Shop.sqlite")
/// try await control.pause()
/// defer { Task { try await control.resume() } }
/// ```
///
/// Requests go through the migration's status file, so users who can write that file can send them:
/// the user who runs the migration, and root. The one that runs in the calling process is cancelled
/// by ``RunningMigration/cancel()`` and accepts no other requests.
public struct MigrationControl: Sendable {
  /// The store being migrated, its output, or the work folder.
  public let path: FilePath

  /// Names the migration of a store, by the path of the store, its output or the work folder.
  public init(_ path: FilePath) { self.path = path }

  /// Names the migration of a store, by the URL of the store, its output or the work folder.
  public init(_ file: URL) { self.init(FilePath(file)) }

  /// What came of a request.
  public struct Answer: Sendable {
    /// Whether the migration has obeyed; false if it has not within the given time, and may do so
    /// later.
    public var isDone: Bool
    /// The state of the migration.
    public var status: MigrationMonitor.Status
  }

  /// Pauses the migration at the next safe point, until ``resume(within:)``.
  ///
  /// Workers stop between two batches of rows, the coordinator between two steps. All processes
  /// stay, and so do the locks on the store.
  ///
  /// - Parameter time: how long to wait until it is paused.
  /// - Throws: `MigrationFailure`, if there is no migration that accepts requests.
  @discardableResult
  public func pause(within time: Duration = .seconds(10)) async throws(MigrationFailure) -> Answer {
    try await ask(within: time, until: .standing) { $0.wish = .pause }
  }

  /// Resumes a paused migration.
  ///
  /// - Parameter time: how long to wait until it continues.
  /// - Throws: `MigrationFailure`, if there is no migration that accepts requests.
  @discardableResult
  public func resume(within time: Duration = .seconds(10)) async throws(MigrationFailure) -> Answer
  {
    try await ask(within: time) { $0.wish = .run }
  }

  /// Stops the migration; completed work stays, and the same command resumes it.
  ///
  /// - Parameter time: how long to wait until it has stopped.
  /// - Throws: `MigrationFailure`, if there is no migration that accepts requests.
  @discardableResult
  public func cancel(within time: Duration = .seconds(10)) async throws(MigrationFailure) -> Answer
  {
    try await ask(within: time, until: .ended) { $0.wish = .cancel }
  }

  /// How much all workers together may read of the source.
  public enum Rate: Hashable, Sendable, CustomStringConvertible {
    /// As much as they can.
    case unlimited
    /// Bytes per second, at least 1.
    case bytesPerSecond(Int64)

    /// The limit, nil where there is none.
    public var bytesPerSecond: Int64? {
      if case .bytesPerSecond(let bytes) = self { bytes } else { nil }
    }

    /// The bytes as people type them, in the largest unit in which they are whole, such as `50M`; 0
    /// for no limit.
    public var description: String { ControlRecord.text(rate: record) }

    /// The rate in a record, where 0 has no limit.
    fileprivate var record: UInt64 {
      switch self {
      case .unlimited: 0
      case .bytesPerSecond(let bytes): UInt64(max(1, bytes))
      }
    }
  }

  /// Changes how many workers run, or how fast they read.
  ///
  /// Workers beyond the limit end with their present work order; more of them start as soon as the
  /// memory of the migration has room for them.
  ///
  /// - Parameters:
  ///   - workers: how many workers may run at once, 1 to 256; nil for as many as before.
  ///   - rate: how much all of them together may read; nil for as much as before.
  ///   - time: how long to wait until the migration has taken the request.
  /// - Throws: `MigrationFailure`, if there is no migration that accepts requests.
  @discardableResult
  public func set(
    workers: Int? = nil, rate: Rate? = nil, within time: Duration = .seconds(10)
  ) async throws(MigrationFailure) -> Answer {
    if let workers, !StoreMigration.Resources.workerRange.contains(workers) {
      throw MigrationFailure(.usage, "a migration runs 1 to 256 workers, not \(workers).")
    }
    return try await ask(within: time) { record in
      if let workers { record.workers = UInt32(workers) }
      if let rate { record.rate = rate.record }
    }
  }

  /// What a request waits for.
  private enum Goal {
    case answered, standing, ended

    func isReached(_ state: MigrationState) -> Bool {
      switch self {
      case .answered: true
      case .standing: state == .paused
      case .ended: !state.isOpen
      }
    }
  }

  private func ask(
    within time: Duration, until goal: Goal = .answered,
    _ change: @escaping @Sendable (inout ControlRecord) -> Void
  ) async throws(MigrationFailure) -> Answer {
    do {
      let control = StatusControl(path)
      let number = try control.ask(change)
      let end = ContinuousClock.now + time
      while true {
        // A run that has ended may have removed its files, and its record is written last.
        let report = try? control.look()
        if let report {
          let isAnswered = report.snapshot.map { $0.controlNumber >= number } ?? false
          let hasEnded = !report.decision.state.isOpen
          let isReached = isAnswered && goal.isReached(report.decision.state)
          if isReached || hasEnded || .now > end {
            return Answer(
              isDone: isReached || hasEnded && goal == .ended,
              status: MigrationMonitor.Status(core: report))
          }
        } else if .now > end {
          throw StatusControl.Failure.nothingKnown
        }
        try await Task.sleep(for: .milliseconds(50))
      }
    } catch let failure as StatusControl.Failure {
      throw MigrationFailure(failure, path: path)
    } catch {
      throw MigrationFailure(error)
    }
  }
}

extension MigrationFailure {
  fileprivate init(_ failure: StatusControl.Failure, path: FilePath) {
    switch failure {
    case .nothingKnown: self = MigrationMonitor.nothingKnown(of: path)
    case .notRunning(let decision):
      self.init(
        .inUse, kind: .notRunning,
        "no migration of \(path) is running: the state of the last one is "
          + "\(decision.state.rawValue).")
    case .takesNone:
      self.init(
        .inUse, kind: .notRunning,
        "the migration of \(path) accepts no requests: it has just started, or runs with an older "
          + "version of Godwit.")
    }
  }
}
