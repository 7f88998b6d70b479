/// What a stream can show.
enum TerminalDisplay: Hashable, Sendable {
  /// Lines, one after another: it is no terminal, or one that can only print.
  case lines
  /// A screen, on which a text can take the place of another.
  case screen(hasColor: Bool)

  /// Decides by the environment, see https://no-color.org.
  init(isTerminal: Bool, environment: [String: String]) {
    let kind = environment["TERM"] ?? ""
    guard isTerminal, kind != "dumb" else {
      self = .lines
      return
    }
    let refusesColor = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
    self = .screen(hasColor: !refusesColor && !kind.isEmpty)
  }
}

/// When a line is due where lines follow one another: at each change, and from time to time.
struct LinePace {
  private let interval: Duration
  private var last: ContinuousClock.Instant?
  private var changed: String?

  /// Begins with a line at once.
  init(every interval: Duration = .seconds(10)) { self.interval = interval }

  /// Begins with a line once the interval has passed: what is over by then needs none.
  init(every interval: Duration = .seconds(10), from start: ContinuousClock.Instant) {
    self.init(every: interval)
    (last, isQuiet) = (start, true)
  }

  /// Whether changes are printed; not before the first line.
  private var isQuiet = false

  /// Whether a line is due.
  ///
  /// - Parameter kind: a value whose every change is printed.
  mutating func isDue(_ kind: String, at moment: ContinuousClock.Instant) -> Bool {
    let isLate = last.map { moment - $0 >= interval } ?? true
    guard isLate || (!isQuiet && kind != changed) else { return false }
    (last, changed, isQuiet) = (moment, kind, false)
    return true
  }
}
