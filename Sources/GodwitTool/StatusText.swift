import Foundation
package import Godwit
package import SystemPackage

/// The output of `godwit status` for one migration.
package struct StatusText {
  let path: FilePath
  let status: MigrationMonitor.Status

  /// Takes a status, and the requested path.
  package init(path: FilePath, status: MigrationMonitor.Status) {
    (self.path, self.status) = (path, status)
  }

  var lines: [String] {
    var lines = ["\(path): \(headline)"]
    if status.state.isOpen, let progress = status.progress {
      lines.append(
        ProgressText.line(
          fraction: progress.fraction, words: ProgressText.words(progress), columns: 77
        ).text(hasColor: false))
    }
    lines += furtherSentences.map { "  \($0)" }
    lines += status.losses.map { "  loses \($0)" }
    if status.state.isOpen { lines += workOrders }
    return lines
  }

  /// The sentences of the status that the headline does not have already.
  package var furtherSentences: [String] {
    status.sentences.filter { $0 != "interrupted: \(MigrationFailure.goesOn)." }
  }

  /// The state in one line.
  package var headline: String {
    let goesOn = MigrationFailure.goesOn
    return switch status.state {
    case .running where status.reason != nil: "running, about to pause: \(reason)"
    case .running: "running"
    case .ready: "ready to swap: \(reason)"
    case .paused: "paused: \(reason)"
    case .interrupted: "interrupted\(ended): \(goesOn)."
    case .dead: "dead: \(reason); \(goesOn)."
    case .failed: "failed (\(status.exitStatus))\(ended)\(colon)"
    case .refused: "refused\(ended)\(colon)"
    case .done: "done\(ended)\(rows)."
    }
  }

  /// The end of the headline: a colon if sentences follow.
  private var colon: String { status.sentences.isEmpty ? "." : ":" }

  /// Why it is in this state, a sentence or the middle of one.
  package var reason: String {
    let process = status.process ?? 0
    return switch status.reason {
    case .asked(let asker): "requested by \(asker); `godwit resume` resumes it."
    case .file(let file): "it waits until \(file) is removed."
    case .stopped: "process \(process) is stopped; continue it with `kill -CONT \(process)`."
    case .workerStopped(let worker):
      "worker process \(worker) is stopped; continue it with `kill -CONT \(worker)`."
    case .silent(let time):
      "process \(process) exists, but has not reported for "
        + "\(DurationText(seconds: Double(time.components.seconds)))."
    case .machineRestarted: "the machine was restarted since"
    case .gone, nil: "process \(process) has ended"
    }
  }

  private var rows: String { status.rows.map { ", \(CountText($0, "row"))" } ?? "" }

  private var ended: String {
    guard let ended = status.ended else { return "" }
    let format = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
    return " at \(ended.formatted(format))"
  }

  private var workOrders: [String] {
    let orders = status.progress?.workOrders ?? []
    return orders.filter { $0.state == .running || $0.state == .failed }.map {
      let share = $0.bytesTotal == 0 ? 0 : Int(Double($0.bytesDone) / Double($0.bytesTotal) * 100)
      let state = $0.isPaused ? "paused" : $0.state.rawValue
      return "  work order \($0.number), partition \($0.partition): \(state), "
        + "\($0.table), \(share) %, attempt \($0.attempt), process \($0.process)"
    }
  }
}
