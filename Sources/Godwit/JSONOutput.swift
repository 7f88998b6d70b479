import Foundation
import SystemCalls
package import SystemPackage

/// JSON as files and terminals get it: sorted, so that two outputs can be compared.
package enum JSONOutput {
  /// The text of a value.
  package static func text(value: some Encodable) throws -> JSONText {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return JSONText(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Writes the text of a value into a file, all of it or nothing.
  package static func write(_ value: some Encodable, to path: FilePath) throws {
    try Files.writeFileAtomically(Array((try text(value: value).text + "\n").utf8), to: path)
  }
}

/// A text in JSON that a terminal may show.
package struct JSONText {
  /// The text.
  package let text: String

  package init(_ json: String) { text = TerminalText.escaped(json: json) }
}
