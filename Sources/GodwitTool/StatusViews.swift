import Foundation
import Godwit
import Synchronization
import SystemPackage

/// Shows the states of a migration one after another; the last one is its end.
protocol StatusView: AnyObject {
  /// Shows a state; false if there is no reader any more.
  func show(_ status: MigrationMonitor.Status, at moment: ContinuousClock.Instant) throws -> Bool
  /// Leaves everything as it was found; may be called twice.
  func close()
}

extension StatusView {
  func close() {}
}

/// Shows the state in place on a terminal, and at the end the output of `godwit status`.
final class ScreenView: StatusView {
  private let path: FilePath
  private let screen: TerminalScreen
  private var rates = MigrationRates()

  init(path: FilePath, hasColor: Bool) {
    self.path = path
    screen = TerminalScreen(.standardOutput, hasColor: hasColor)
  }

  func show(_ status: MigrationMonitor.Status, at moment: ContinuousClock.Instant) -> Bool {
    guard status.state.isOpen else {
      close()
      return Terminal.standardOutput.show(status, of: path)
    }
    if let progress = status.progress { rates.observe(progress, at: moment) }
    return screen.show { [rates, path] columns, rows in
      WatchScreen(path: path, status: status, rates: rates).lines(columns: columns, rows: rows)
    }
  }

  func close() { screen.close() }
}

/// Writes a line at each change of state or phase and every ten seconds.
final class LineView: StatusView {
  private let path: FilePath
  private var rates = MigrationRates()
  private var pace = LinePace()

  init(path: FilePath) { self.path = path }

  func show(_ status: MigrationMonitor.Status, at moment: ContinuousClock.Instant) -> Bool {
    guard status.state.isOpen else { return Terminal.standardOutput.show(status, of: path) }
    if let progress = status.progress { rates.observe(progress, at: moment) }
    let work = status.progress?.atWork
    let kind = "\(status.state) \(work?.number ?? 0) \(work?.phase.rawValue ?? "")"
    guard pace.isDue(kind, at: moment) else { return Terminal.standardOutput.isOpen }
    let line = WatchLine(path: path, status: status, rate: rates.overall)
    return Terminal.standardOutput.part(text: line.text)
  }
}

/// A running migration, in one line.
struct WatchLine {
  let path: FilePath
  let status: MigrationMonitor.Status
  let rate: MigrationRates.Rate?

  /// Such as `Shop.sqlite: running, 52 %, migrating, 3 of 8 work orders, 12 s left, 61,000 rows/s`.
  var text: String {
    var parts = [status.state.rawValue]
    if let progress = status.progress {
      parts += [ProgressText.percent(progress.fraction), ProgressText.words(progress)]
      if status.state == .running, progress.atWork.phase == .migrating, let rate {
        parts += [AmountText.rows(rate), AmountText.bytes(rate)]
      }
    }
    let reason = status.reason == nil ? "" : ": \(StatusText(path: path, status: status).reason)"
    return "\(path): \(parts.joined(separator: ", "))\(reason)"
  }
}

/// Writes an object in JSON for each change, on a line of its own.
final class ChangesView: StatusView {
  private var last: MigrationMonitor.Status?

  func show(_ status: MigrationMonitor.Status, at _: ContinuousClock.Instant) throws -> Bool {
    if let last, !status.isNews(after: last) { return Terminal.standardOutput.isOpen }
    last = status
    return Terminal.standardOutput.part(json: try JSONOutput.line(value: status))
  }
}

/// Writes metrics to a file every second, and at each change of state.
final class MetricsView: StatusView {
  private let path: FilePath
  private let file: MetricsFile
  private var pace = LinePace(every: .seconds(1))

  init(path: FilePath, file: MetricsFile) { (self.path, self.file) = (path, file) }

  func show(_ status: MigrationMonitor.Status, at moment: ContinuousClock.Instant) throws -> Bool {
    if pace.isDue(status.state.rawValue, at: moment) {
      try file.write(MigrationMetrics(status, of: path))
    }
    return true
  }
}

extension Terminal {
  /// Writes the output of `godwit status`; false if there is no reader any more.
  func show(_ status: MigrationMonitor.Status, of path: FilePath) -> Bool {
    StatusText(path: path, status: status).lines.allSatisfy { part(text: $0) }
  }
}

/// The alternate screen of a terminal.
///
/// The earlier lines come back when it is closed, and when a signal ends or stops this process.
final class TerminalScreen: Sendable {
  private let terminal: Terminal
  private let hasColor: Bool
  private let state = Mutex(State())

  private struct State {
    var isOpen = false
    var isStopped = false
    var shown = ""
    /// Keeps the signals bound.
    var signals: (@Sendable () -> Void)?
  }

  /// Opens nothing before the first lines are shown.
  init(_ terminal: Terminal, hasColor: Bool) {
    (self.terminal, self.hasColor) = (terminal, hasColor)
  }

  /// Replaces the shown lines; false where there is no terminal any more.
  ///
  /// The size is that of this moment: people resize their windows.
  func show(_ lines: (_ columns: Int, _ rows: Int) -> [ScreenLine]) -> Bool {
    guard let (columns, rows) = terminal.size else { return false }
    let frame = ScreenCodes.frame(
      lines(columns, rows).map { $0.text(hasColor: hasColor) })
    // What a change of size has moved is drawn again.
    let key = "\(columns) \(rows) \(frame)"
    return state.withLock { state in
      guard !state.isStopped else { return true }
      if !state.isOpen { open(&state) }
      guard state.shown != key else { return true }
      state.shown = key
      return terminal.control(frame)
    }
  }

  private func open(_ state: inout State) {
    state.isOpen = true
    terminal.control(ScreenCodes.open)
    guard state.signals == nil else { return }
    state.signals = ToolProcess.aroundSignals(
      leaving: { [self] in leave() }, returning: { [self] in comeBack() })
  }

  /// Before the process ends or stops; a terminal that takes nothing any more does not hold it up.
  private func leave() {
    for _ in 0..<50 {
      let isLeft: Bool? = state.withLockIfAvailable { state in
        if state.isOpen, !state.isStopped { terminal.control(ScreenCodes.close) }
        state.isStopped = true
        return true
      }
      if isLeft != nil { return }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  private func comeBack() {
    state.withLock { state in
      if state.isOpen { terminal.control(ScreenCodes.open) }
      (state.isStopped, state.shown) = (false, "")
    }
  }

  /// Brings the lines back that were there before.
  func close() {
    state.withLock { state in
      guard state.isOpen else { return }
      state.isOpen = false
      if !state.isStopped { terminal.control(ScreenCodes.close) }
    }
  }
}

/// What terminals obey, by ECMA-48 and the private modes of xterm.
enum ScreenCodes {
  private static let escape = "\u{1B}["

  /// The other screen, no cursor, and no line wraps.
  static let open = "\(escape)?1049h\(escape)?25l\(escape)?7l\(escape)H\(escape)2J"
  /// All that taken back; the other screen is left empty for terminals that have only one.
  static let close = "\(escape)H\(escape)2J\(escape)?7h\(escape)?25h\(escape)?1049l"

  /// Lines from the top on, and nothing below them.
  static func frame(_ lines: [String]) -> String {
    let placed = lines.enumerated().map { "\(escape)\($0.offset + 1);1H\($0.element)\(escape)K" }
    return placed.joined() + "\(escape)J"
  }
}
