import SystemCalls

/// Escapes characters that control a terminal.
package enum TerminalText {
  /// Writes such characters as their numbers, as Swift does: `\u{1B}`.
  package static func escaped(_ text: String, keeping kept: Unicode.Scalar? = nil) -> String {
    ObeyedCharacters.escaped(text, keeping: kept)
  }

  /// The same for JSON, where such characters occur only in strings; line ends are left as they
  /// are.
  package static func escaped(json: String) -> String { ObeyedCharacters.escaped(json: json) }
}
