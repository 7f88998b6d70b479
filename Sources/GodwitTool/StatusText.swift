import Foundation
import MigrationStatus
import SystemPackage

/// What `status` says of a migration.
struct StatusText {
  let path: FilePath
  let report: StatusReport

  var lines: [String] {
    var lines = ["\(path): \(headline)"]
    if report.decision.state.isOpen, let snapshot = report.snapshot {
      lines.append(ProgressBar.line(snapshot, width: 78))
    }
    lines += report.sentences.map { "  \($0)" }
    lines += (report.record?.losses ?? []).map { "  loses \($0)" }
    if report.decision.state.isOpen { lines += parts }
    return lines
  }

  private var headline: String {
    let goesOn = "start the same command again to go on"
    return switch report.decision.state {
    case .running: "running"
    case .paused: "paused: \(reason)"
    case .interrupted: "interrupted\(ended): \(goesOn)."
    case .dead: "dead: \(reason); \(goesOn)."
    case .failed: "failed (\(report.decision.exitStatus))\(ended)\(colon)"
    case .refused: "refused\(ended)\(colon)"
    case .done: "done\(ended)\(rows)."
    }
  }

  /// The end of a line that sentences follow.
  private var colon: String { report.sentences.isEmpty ? "." : ":" }

  private var reason: String {
    let process = report.snapshot.map(\.coordinator) ?? report.record?.process ?? 0
    return switch report.decision.reason {
    case .stopped: "process \(process) is stopped; continue it with `kill -CONT \(process)`."
    case .silent(let seconds):
      "process \(process) is there and has told nothing for \(DurationText(seconds: Double(seconds)))."
    case .machineRestarted: "the machine was started anew since"
    case .gone, nil: "process \(process) is gone"
    }
  }

  private var rows: String { report.record?.rows.map { ", \($0) rows" } ?? "" }

  private var ended: String {
    guard let ended = report.record?.ended, (0..<1e11).contains(ended) else { return "" }
    let format = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .gmt)
    return " at \(Date(timeIntervalSince1970: ended).formatted(format))"
  }

  private var parts: [String] {
    (report.snapshot?.parts ?? []).filter { $0.state == .running || $0.state == .failed }.map {
      let share = $0.bytesTotal == 0 ? 0 : Int(Double($0.bytesDone) / Double($0.bytesTotal) * 100)
      return "  work order \($0.workOrder), partition \($0.partition): \($0.state.rawValue), "
        + "\($0.table), \(share) %, attempt \($0.attempt), process \($0.process)"
    }
  }
}
