package import Godwit
import Synchronization

/// The progress of a command on standard error: a bar in its place on a terminal, and elsewhere a
/// line from time to time, the first after ten seconds.
final class ProgressBar: Sendable {
  private let terminal = Terminal.standardError
  private let display = Terminal.standardError.display
  private let state: Mutex<State>

  private struct State {
    let start: ContinuousClock.Instant
    var pace: LinePace
    var shown = ""
  }

  init() {
    let now = ContinuousClock.now
    state = Mutex(State(start: now, pace: LinePace(from: now)))
  }

  func show(_ progress: MigrationProgress) {
    show(
      fraction: progress.fraction, ProgressText.words(progress), kind: progress.phase.rawValue)
  }

  /// Shows the completed share, nil if unknown, and the current activity.
  ///
  /// - Parameter kind: what gets a line whenever it changes, where lines follow one another.
  func show(fraction: Double?, _ words: String, kind: String = "") {
    let words = TerminalText.escaped(words)
    let now = ContinuousClock.now
    state.withLock { state in
      switch display {
      case .screen(let hasColor):
        guard let size = terminal.size else { return }
        let line = ProgressText.line(fraction: fraction, words: words, columns: size.columns - 1)
          .text(hasColor: hasColor)
        if line != state.shown { terminal.replaceBar(line) }
        state.shown = line
      case .lines:
        guard state.pace.isDue(kind, at: now) else { return }
        let time = DurationText(seconds: (now - state.start) / .seconds(1))
        let share = fraction.map { "\(ProgressText.percent($0)) " } ?? ""
        terminal.line(text: "godwit: \(share)after \(time): \(words)")
      }
    }
  }

  func clear() {
    state.withLock { state in
      if !state.shown.isEmpty { terminal.replaceBar("") }
      state.shown = ""
    }
  }
}

/// The progress of a command in words, and as a bar.
package enum ProgressText {
  /// Such as `migrating, 3 of 8 work orders, 12 s left`.
  package static func words(_ progress: MigrationProgress) -> String {
    let work = progress.atWork
    // Why follows by itself.
    if work.phase == .failed { return "stopped" }
    var text = work.count > 1 ? "stage \(work.number) of \(work.count), " : ""
    text += work.phase.rawValue
    if work.phase == .migrating, work.workOrderCount > 0 {
      let done = progress.workOrders.count { $0.state == .done }
      text += ", \(done) of \(CountText(work.workOrderCount, "work order"))"
    }
    if let left = timeLeft(progress) { text += ", \(left)" }
    return text
  }

  /// Such as `12 s left`, nil while unknown.
  package static func timeLeft(_ progress: MigrationProgress) -> String? {
    guard progress.atWork.phase != .failed, let time = progress.timeRemaining, time >= .seconds(1)
    else { return nil }
    return "\(DurationText(time)) left"
  }

  /// Such as `52 %`; 100 only for all.
  package static func percent(_ fraction: Double) -> String {
    "\(Int(min(1, max(0, fraction)) * 100)) %"
  }

  /// Such as `[#####.....] 52 %  migrating`, without the bar where it has no room.
  static func line(fraction: Double?, words: String, columns: Int) -> ScreenLine {
    guard let fraction else { return ScreenLine(words).fitted(to: max(0, columns)) }
    let text = "\(percent(fraction))  \(words)"
    let cells = min(30, columns - TextColumns.count(text) - 3)
    guard cells >= 5 else { return ScreenLine(text).fitted(to: max(0, columns)) }
    return bar(fraction: fraction, cells: cells) + ScreenLine(" \(text)")
  }

  /// Such as `[#####.....]`, two columns wider than its cells.
  static func bar(fraction: Double, cells: Int) -> ScreenLine {
    let filled = Int(Double(cells) * min(1, max(0, fraction)))
    return ScreenLine("[") + ScreenLine(String(repeating: "#", count: filled), .green)
      + ScreenLine(String(repeating: ".", count: cells - filled) + "]")
  }
}

/// A duration, rounded up, such as `2 min 5 s` or `1 h 20 min`.
package struct DurationText: CustomStringConvertible {
  private let seconds: Double

  /// Takes any number of seconds.
  package init(seconds: Double) { self.seconds = seconds }

  /// Takes any duration.
  package init(_ duration: Duration) { seconds = duration / .seconds(1) }

  /// The duration in its two largest units.
  package var description: String {
    let whole = Int(min(max(seconds, 0), 1e9).rounded(.up))
    if whole < 60 { return "\(whole) s" }
    if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
    return "\(whole / 3600) h \(whole % 3600 / 60) min"
  }
}
