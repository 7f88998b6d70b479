import Foundation
import SystemCalls
package import SystemPackage

/// Writes JSON to files and terminals, with sorted keys so that two outputs can be compared.
package enum JSONOutput {
  /// The value as JSON.
  package static func text(value: some Encodable) throws -> JSONText {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return JSONText(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Writes the value as JSON to a file, atomically.
  package static func write(_ value: some Encodable, to path: FilePath) throws {
    try Files.writeFileAtomically(Array((try text(value: value).text + "\n").utf8), to: path)
  }
}

/// JSON that can be shown on a terminal.
package struct JSONText {
  /// The JSON, with control characters escaped.
  package let text: String

  /// Escapes characters that would control a terminal.
  package init(_ json: String) { text = TerminalText.escaped(json: json) }
}
