import Foundation
import SystemCalls
package import SystemPackage

/// Writes JSON to files and terminals, with sorted keys so that two outputs can be compared.
package enum JSONOutput {
  /// The value as JSON.
  package static func text(value: some Encodable) throws -> JSONText {
    try text(value, formatting: .prettyPrinted)
  }

  /// The value as JSON on one line, for streams.
  package static func line(value: some Encodable) throws -> JSONText {
    try text(value, formatting: [])
  }

  private static func text(
    _ value: some Encodable, formatting: JSONEncoder.OutputFormatting
  ) throws -> JSONText {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
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

/// A JSON object with a list that is written member by member, however long it is.
package struct JSONList {
  private let name: String
  private var isEmpty = true

  /// Takes the name of the list.
  package init(_ name: String) { self.name = name }

  /// The beginning of the object: all members of a value, and the beginning of the list.
  package func opening(_ value: some Encodable) throws -> JSONText {
    let text = try JSONOutput.text(value: value).text
    return JSONText("\(text.dropLast(2)),\n  \"\(name)\" : [")
  }

  /// The next member of the list.
  package mutating func member(_ value: some Encodable) throws -> JSONText {
    defer { isEmpty = false }
    return JSONText("\(isEmpty ? "" : ", ")\(try JSONOutput.text(value: value).text)")
  }

  /// The end of the list, all members of a value, and the end of the object.
  package func closing(_ value: some Encodable) throws -> JSONText {
    JSONText("],\n\(try JSONOutput.text(value: value).text.dropFirst(2))")
  }
}
