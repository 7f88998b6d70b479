import Godwit
import SystemPackage

/// Where the tool writes to: results go to standard output, all else to standard error.
///
/// Names and values come from files of unknown origin, so no text reaches a terminal with control
/// characters in it.
struct Terminal: Sendable {
  let descriptor: FileDescriptor

  static let standardOutput = Terminal(descriptor: .standardOutput)
  static let standardError = Terminal(descriptor: .standardError)

  /// The columns of the terminal, or nil where there is none.
  var width: Int? { ToolProcess.terminalWidth(of: descriptor) }

  /// Writes a text on one line, whatever is in it.
  func line(text: String) { write(TerminalText.escaped(text) + "\n") }

  /// Writes a text on one line of the terminal, cut where it is wider; whole where there is none.
  ///
  /// False where nobody reads any more.
  func line(fitting text: String) -> Bool {
    let whole = TerminalText.escaped(text)
    guard let width, width > 1, whole.count > width else { return write(whole + "\n") }
    return write(whole.prefix(width - 1) + "…\n")
  }

  /// Writes a text of several lines.
  func lines(text: String) { write(TerminalText.escaped(text, keeping: "\n") + "\n") }

  func line(json: JSONText) { write(json.text + "\n") }

  /// Writes a part of a document; false where nobody reads any more.
  func part(json: JSONText) -> Bool { write(json.text + "\n") }

  /// Shows a text in the place of the one shown before.
  func replaceLine(_ text: String) { write("\r\u{1B}[K" + TerminalText.escaped(text)) }

  /// Writes a text as it is; false where the reader has closed the stream, and wants no more.
  @discardableResult
  private func write(_ text: some StringProtocol) -> Bool {
    (try? descriptor.writeAll(Array(text.utf8))) != nil
  }
}
