/// The characters that terminals obey instead of showing them.
package enum ObeyedCharacters {
  /// Writes control characters and those that turn the direction of a text as their numbers, as
  /// Swift does: `\u{1B}`.
  package static func escaped(_ text: String, keeping kept: Unicode.Scalar? = nil) -> String {
    guard text.unicodeScalars.contains(where: isObeyed) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if scalar == kept || !isObeyed(scalar) {
        result.unicodeScalars.append(scalar)
      } else {
        result += shown(scalar)
      }
    }
    return result
  }

  private static func shown(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    }
  }

  /// The same for JSON, in which such characters stand in strings only; line ends stand between.
  package static func escaped(json: String) -> String {
    guard json.unicodeScalars.contains(where: isObeyed) else { return json }
    var result = ""
    for scalar in json.unicodeScalars {
      if scalar == "\n" || !isObeyed(scalar) {
        result.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return result
  }

  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    // Control characters of both kinds, and the delete character between them.
    case 0...0x1F, 0x7F...0x9F: true
    // Marks, embeddings, overrides and isolates of the bidirectional algorithm.
    case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    // Line and paragraph separators.
    case 0x2028, 0x2029: true
    default: false
    }
  }
}
