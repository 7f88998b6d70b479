import Godwit
import Testing

@testable import GodwitTool

@Suite struct WatchPaceTests {
  @Test func `a line comes at once, at each change, and every ten seconds`() {
    let start = ContinuousClock.now
    var pace = LinePace()
    let due = [(0.0, "a"), (1, "a"), (2, "b"), (3, "b"), (11.9, "b"), (12, "b"), (13, "a")]
      .filter { pace.isDue($0.1, at: start + .seconds($0.0)) }.map(\.0)
    #expect(due == [0, 2, 12, 13])
  }

  @Test func `what is over within ten seconds gets no line`() {
    let start = ContinuousClock.now
    var pace = LinePace(from: start)
    let due = [(0.0, "a"), (3, "b"), (9.9, "c"), (10, "c"), (11, "c"), (12, "d"), (22, "d")]
      .filter { pace.isDue($0.1, at: start + .seconds($0.0)) }.map(\.0)
    #expect(due == [10, 12, 22])
  }

  @Test func `only a terminal that obeys gets codes, and colours unless refused`() {
    func display(_ isTerminal: Bool, _ environment: [String: String]) -> TerminalDisplay {
      TerminalDisplay(isTerminal: isTerminal, environment: environment)
    }
    #expect(display(false, ["TERM": "xterm"]) == .lines)
    #expect(display(true, ["TERM": "dumb"]) == .lines)
    #expect(display(true, ["TERM": "xterm"]) == .screen(hasColor: true))
    #expect(display(true, ["TERM": "xterm", "NO_COLOR": ""]) == .screen(hasColor: true))
    #expect(display(true, ["TERM": "xterm", "NO_COLOR": "0"]) == .screen(hasColor: false))
    #expect(display(true, [:]) == .screen(hasColor: false))
  }

  @Test func `a bar has room, or there is none`() {
    func line(_ columns: Int, _ words: String = "migrating") -> String {
      ProgressText.line(fraction: 0.5, words: words, columns: columns).text(hasColor: false)
    }
    #expect(line(80) == "[###############...............] 50 %  migrating")
    #expect(line(26) == "[####....] 50 %  migrating" && line(22) == "50 %  migrating")
    #expect(line(10) == "50 %  mig…" && line(0).isEmpty && line(-4).isEmpty)
    #expect(ProgressText.line(fraction: .nan, words: "x", columns: 9).columns <= 9)
  }

  @Test func `a frame moves nothing but the cursor`() {
    #expect(ScreenCodes.frame(["a", "b"]) == "\u{1B}[1;1Ha\u{1B}[K\u{1B}[2;1Hb\u{1B}[K\u{1B}[J")
  }
}
