import Foundation
import SystemCalls
import SystemPackage

/// JSON as the tool writes it: sorted, so that two outputs can be compared.
enum JSONOutput {
  static func text(_ value: some Encodable) throws -> JSONText {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return JSONText(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  static func write(_ value: some Encodable, to path: FilePath) throws {
    try Files.writeFileAtomically(Array((try text(value).text + "\n").utf8), to: path)
  }
}

/// A text in JSON that a terminal may show.
struct JSONText {
  let text: String

  init(_ json: String) { text = TerminalText.escaped(json: json) }
}
