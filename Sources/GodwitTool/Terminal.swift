import Foundation
import Godwit
import Synchronization
import SystemPackage

/// Where the tool writes to: results go to standard output, all else to standard error.
///
/// Names and values come from files of unknown origin, so no text reaches a terminal with control
/// characters in it.
package struct Terminal: Sendable {
  let descriptor: FileDescriptor

  /// Standard output.
  package static let standardOutput = Terminal(descriptor: .standardOutput)
  /// Standard error.
  package static let standardError = Terminal(descriptor: .standardError)

  /// Whether somebody can still read what is written, also where nothing is to be written yet.
  var isOpen: Bool { ToolProcess.isOpen(descriptor) }

  /// The columns and rows of the terminal, or nil where there is none.
  var size: (columns: Int, rows: Int)? { ToolProcess.terminalSize(of: descriptor) }

  /// What it can show.
  var display: TerminalDisplay {
    TerminalDisplay(
      isTerminal: size != nil, environment: ProcessInfo.processInfo.environment)
  }

  /// Whether something was written to standard output: an answer, or a part of one.
  static var hasAnswered: Bool { answered.load(ordering: .relaxed) }

  private static let answered = Atomic(false)

  /// Why a part of standard output is lost, nil where none is.
  private static let loss = Mutex<Errno?>(nil)

  private static let faultsOfDisks: Set<Errno> = [
    .noSpace, .diskQuotaExceeded, .fileTooLarge, .ioError,
  ]

  /// Whether standard output was a terminal when it was first written to.
  private static let isTerminal = Terminal.standardOutput.size != nil

  /// Throws where an answer did not get to where it was sent, such as a file on a full disk.
  static func requireAnswered() throws {
    guard let errno = loss.withLock({ $0 }) else { return }
    throw MigrationFailure(
      .cannotWrite,
      "standard output cannot be written: \(errno). What the command was to do is done; its answer "
        + "is missing or cut short.")
  }

  /// Whether a bar stands where the next line of standard error goes.
  private static let hasBar = Atomic(false)

  /// Writes a text on one line, whatever is in it.
  package func line(text: String) {
    let isOverBar =
      descriptor == .standardError && Self.hasBar.exchange(false, ordering: .relaxed)
    let shown = TerminalText.escaped(TypedPaths.applied(to: text))
    write((isOverBar ? "\r\u{1B}[K" : "") + shown + "\n")
  }

  /// Writes a text on one line; false if there is no reader any more.
  func part(text: String) -> Bool {
    write(TerminalText.escaped(TypedPaths.applied(to: text)) + "\n")
  }

  /// Writes a text on one line of the terminal, cut where it is wider; whole where there is none.
  ///
  /// False if there is no reader any more.
  func line(fitting text: String) -> Bool {
    let whole = TerminalText.escaped(text)
    guard let size, size.columns > 1 else { return write(whole + "\n") }
    return write(TextColumns.cut(whole, to: size.columns) + "\n")
  }

  /// Writes a text of several lines.
  func lines(text: String) {
    write(TerminalText.escaped(TypedPaths.applied(to: text), keeping: "\n") + "\n")
  }

  func line(json: JSONText) { write(json.text + "\n") }

  /// Writes a part of a document; false if there is no reader any more.
  func part(json: JSONText) -> Bool { write(json.text + "\n") }

  /// Writes metrics, which have nothing in them that a terminal obeys; false if there is no reader
  /// any more.
  func metrics(_ metrics: MigrationMetrics) -> Bool { write(metrics.text) }

  /// Replaces the shown bar with another one, which has no control characters except colours.
  func replaceBar(_ bar: String) {
    if !bar.isEmpty || Self.hasBar.load(ordering: .relaxed) { write("\r\u{1B}[K" + bar) }
    Self.hasBar.store(!bar.isEmpty, ordering: .relaxed)
  }

  /// Moves about on a screen; texts in it are escaped but for colours.
  @discardableResult
  func control(_ codes: String) -> Bool { write(codes) }

  /// Writes a text as it is; false where the reader has closed the stream, and wants no more.
  @discardableResult
  private func write(_ text: some StringProtocol) -> Bool {
    let isFile = descriptor == .standardOutput && !Self.isTerminal
    if descriptor == .standardOutput { Self.answered.store(true, ordering: .relaxed) }
    do {
      try descriptor.writeAll(Array(text.utf8))
      return true
    } catch {
      // A reader that closed a pipe, the stream or a terminal wants no more: nothing is lost.
      if isFile, let errno = error as? Errno, Self.faultsOfDisks.contains(errno) {
        Self.loss.withLock { $0 = errno }
      }
      return false
    }
  }
}
