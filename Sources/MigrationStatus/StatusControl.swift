import Foundation
import SystemCalls
package import SystemPackage

/// Sends requests to a migration in another process, through its status file.
package final class StatusControl {
  /// Why the migration cannot receive requests.
  package enum Failure: Error, Hashable, Sendable {
    /// Nothing is known of a migration.
    case nothingKnown
    /// It runs no more, or not yet.
    case notRunning(StateDecision)
    /// It takes no requests, because an older version of Godwit runs it.
    case takesNone
  }

  private let watch: StatusWatch
  private let places: StatusPlaces

  /// Takes a path as a user gives it; see `StatusPlaces`.
  package init(_ path: FilePath) {
    watch = StatusWatch(path)
    places = StatusPlaces(path)
  }

  /// The present state, nil if nothing is known of a migration.
  ///
  /// - Throws: if there is a status file or a record, and it cannot be read.
  package func look() throws -> StatusReport? { try watch.look() }

  /// Changes the requests to the run, and returns the number of the request.
  ///
  /// - Throws: `Failure` or `StatusError`.
  package func ask(
    _ body: @escaping @Sendable (inout ControlRecord) -> Void
  ) throws -> UInt64 {
    guard let report = try look() else { throw Failure.nothingKnown }
    guard report.decision.state.isOpen, let reader = try places.find(open: nil).reader else {
      throw Failure.notRunning(report.decision)
    }
    let run = try reader.read().run.run
    let file = try StatusFile.openForWriting(reader.path)
    let (process, user, now) = (Processes.own, NSUserName(), WallClock.now())
    let changed = try file.change { record in
      guard record.run == run else { return }
      body(&record)
      (record.process, record.user, record.askedAt) = (process, user, now)
    }
    guard let changed, changed.run == run else { throw Failure.takesNone }
    return changed.number
  }
}
