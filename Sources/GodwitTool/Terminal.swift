import SystemCalls
import SystemPackage

/// Where the tool writes to: results go to standard output, all else to standard error.
struct Terminal: Sendable {
  let descriptor: FileDescriptor

  static let standardOutput = Terminal(descriptor: .standardOutput)
  static let standardError = Terminal(descriptor: .standardError)

  /// The columns of the terminal, or nil where there is none.
  var width: Int? { Processes.terminalWidth(of: descriptor) }

  func write(_ text: String) {
    // Whoever closed the stream does not want the rest.
    _ = try? descriptor.writeAll(Array(text.utf8))
  }

  func line(_ text: String) { write(text + "\n") }
}
