import Foundation
import Godwit
import Testing

@testable import GodwitTool

@Suite struct TerminalTextTests {
  @Test(arguments: ["50M", "1G", "3K", "1536K", "1000", "0", "1025M"])
  func `a rate is told as people type it`(text: String) {
    #expect(MigrationControl.Rate(argument: text)?.description == text)
  }

  @Test(arguments: [
    ("plain, größer 🜚 text", "plain, größer 🜚 text"),
    ("\u{1B}[2Jgone", "\\u{1B}[2Jgone"),
    ("bell\u{7}", "bell\\u{7}"),
    ("first\ngodwit: all is well\r\n", "first\\ngodwit: all is well\\r\\n"),
    ("a\tb\u{7F}\u{0}", "a\\tb\\u{7F}\\u{0}"),
    ("\u{9B}31m\u{85}", "\\u{9B}31m\\u{85}"),
    ("\u{202E}etilqs.\u{2066}\u{200F}\u{61C}", "\\u{202E}etilqs.\\u{2066}\\u{200F}\\u{61C}"),
    ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
  ])
  func `what a terminal would obey is shown as its number`(text: String, shown: String) {
    #expect(TerminalText.escaped(text) == shown)
  }

  @Test func `a text of several lines keeps its line ends and nothing else`() {
    #expect(TerminalText.escaped("a\nb\u{1B}\r\n", keeping: "\n") == "a\nb\\u{1B}\\r\n")
  }

  @Test func `JSON for a terminal says the same as before`() throws {
    struct Named: Codable, Equatable { var name: String }
    let named = Named(name: "\u{1B}\u{9B}\u{202E}\n\u{7F}ü\u{2028}")
    let text = try JSONOutput.text(value: named).text
    let isPlain = text.unicodeScalars.allSatisfy {
      $0 == "\n" || ($0.value >= 32 && !(0x7F...0x9F).contains($0.value) && $0.value < 0x2000)
    }
    #expect(isPlain)
    #expect(try JSONDecoder().decode(Named.self, from: Data(text.utf8)) == named)
  }
}
