import Foundation
import Godwit
import Logging
import Synchronization

/// Prints what happens in a migration on standard error, an object of JSON a line.
final class EventLog: Sendable {
  private let events = Mutex(MigrationEvents())
  private let start = ContinuousClock.now

  /// Prints what happened since the progress before.
  func show(_ progress: MigrationProgress) {
    let time = (ContinuousClock.now - start) / .seconds(1)
    events.withLock { events in
      for event in events.after(progress, at: time) { print(event) }
    }
  }

  /// Prints an event.
  func show(_ event: MigrationEvent) { events.withLock { _ in print(event) } }

  /// Lines of several threads do not mix: the printing thread holds the lock.
  private func print(_ event: MigrationEvent) {
    guard let line = try? JSONOutput.line(value: MigrationEventRecord(event, at: .now)) else {
      return
    }
    Terminal.standardError.line(json: line)
  }

  /// A logger whose messages are events.
  var logger: Logger {
    Logger(label: "godwit") { _ in Handler(log: self) }
  }

  private struct Handler: LogHandler {
    let log: EventLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let facts = metadata.merging(event.metadata ?? [:]) { _, new in new }.mapValues { "\($0)" }
      let level: MigrationEvent.Level =
        switch event.level {
        case .trace, .debug: .debug
        case .info, .notice: .info
        case .warning: .warning
        case .error, .critical: .error
        }
      log.show(.message("\(event.message)", level: level, facts: facts))
    }
  }
}
