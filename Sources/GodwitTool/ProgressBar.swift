import Godwit
import Synchronization

/// One line on a terminal with the progress of a migration; nothing anywhere else.
final class ProgressBar: Sendable {
  private let terminal = Terminal.standardError
  private let shown = Mutex(false)

  func show(_ progress: MigrationProgress) {
    guard let width = terminal.width else { return }
    let line = Self.line(progress: progress, width: width == 0 ? 80 : width)
    shown.withLock { shown in
      terminal.replaceLine(line)
      shown = true
    }
  }

  func clear() {
    shown.withLock { shown in
      if shown { terminal.replaceLine("") }
      shown = false
    }
  }

  /// The line, such as `[#####.....]  52 %  migrating, 3 of 8 work orders, 12 s left`.
  static func line(progress: MigrationProgress, width: Int) -> String {
    let percent = Int(progress.fraction * 100)
    var text = "\(percent) %  \(progress.phase)"
    if progress.phase == .migrating, progress.workOrderCount > 0 {
      let done = progress.workOrders.count { $0.state == .done }
      text += ", \(done) of \(CountText(progress.workOrderCount, "work order"))"
    }
    if let seconds = progress.secondsRemaining, seconds >= 1 {
      text += ", \(DurationText(seconds: seconds)) left"
    }
    let cells = max(0, min(30, width - text.count - 5))
    guard cells >= 5 else { return String(text.prefix(max(0, width - 1))) }
    let filled = Int(Double(cells) * progress.fraction)
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: cells - filled)
    return "[\(bar)] \(text)"
  }
}

/// A duration, rounded up, such as `2 min 5 s` or `1 h 20 min`.
struct DurationText: CustomStringConvertible {
  let seconds: Double

  var description: String {
    let whole = Int(min(seconds, 1e9).rounded(.up))
    if whole < 60 { return "\(whole) s" }
    if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
    return "\(whole / 3600) h \(whole % 3600 / 60) min"
  }
}
