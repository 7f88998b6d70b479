import Dispatch
import Godwit
import Synchronization
import SystemPackage

/// Shows that a command still reads a store, from the second second on.
final class ReadingBar: Sendable {
  private let words: String
  private let bar = ProgressBar()
  private let state = Mutex(State())

  private struct State {
    let start = ContinuousClock.now
    /// When the command last printed something itself.
    var printed = ContinuousClock.now
    var reading: StoreReading?
    var isOver = false
  }

  /// How long nothing is shown.
  private static let quiet = Duration.seconds(1)
  private static let interval = DispatchTimeInterval.milliseconds(250)

  /// Takes what is done with which store, such as `checking`.
  init(_ action: String, _ store: FilePath) { words = "\(action) \(store)" }

  /// Shows it while `body` reads the store.
  func shown<Result>(while body: () throws -> Result) rethrows -> Result {
    let timer = start()
    defer { end(timer) }
    return try StoreReading.reporting(to: report, during: body)
  }

  /// Shows it while `body` reads the store.
  func during<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    let timer = start()
    defer { end(timer) }
    return try await StoreReading.reporting(to: report, during: body)
  }

  /// Makes room for a line that the command prints.
  func makeRoom() {
    state.withLock { $0.printed = .now }
    bar.clear()
  }

  private func report(_ reading: StoreReading) { state.withLock { $0.reading = reading } }

  private func start() -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval)
    timer.setEventHandler { [self] in show() }
    timer.activate()
    return timer
  }

  private func end(_ timer: any DispatchSourceTimer) {
    timer.cancel()
    // The timer may be at work at this moment.
    state.withLock { $0.isOver = true }
    bar.clear()
  }

  private func show() {
    state.withLock { state in
      let now = ContinuousClock.now
      guard !state.isOver, now - state.printed >= Self.quiet else { return }
      let seconds = (now - state.start) / .seconds(1)
      let (table, share) = (state.reading?.table, state.reading?.share ?? 0)
      bar.show(fraction: nil, Self.text(words, seconds: seconds, table: table, share: share))
    }
  }

  /// Such as `checking Shop.sqlite, 12 s: ZBOOK 43 %`.
  static func text(
    _ words: String, seconds: Double, table: String? = nil, share: Double = 0
  ) -> String {
    let pass = table.map { ": \($0) \(ProgressText.percent(share))" } ?? ""
    return "\(words), \(Int(seconds)) s\(pass)"
  }
}
