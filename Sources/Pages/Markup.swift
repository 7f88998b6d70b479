import Mustache
import SystemCalls

/// A text of unknown origin that is safe wherever markup takes a text, also in attributes.
///
/// Templates insert texts unchanged, so all their texts have this type. Mustache's own escaping
/// works on characters: a quotation mark with an accent would pass it, and end an attribute.
package struct Markup: Hashable, Sendable, MustacheCustomRenderable {
  /// The text with references instead of characters that have a meaning in markup.
  package let renderText: String

  package var isNull: Bool { false }

  /// Escapes a text; what a terminal would obey becomes its number, since no page needs it either.
  package init(_ text: String) {
    var result = ""
    for scalar in Self.shown(text).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    renderText = result
  }

  /// Takes what a template made.
  init(rendered text: String) { renderText = text }

  /// A text without what a terminal would obey, and what no document in XML may have.
  static func shown(_ text: String) -> String {
    ObeyedCharacters.escaped(text)
      .replacing("\u{FFFE}", with: "\u{FFFD}").replacing("\u{FFFF}", with: "\u{FFFD}")
  }
}

extension Markup: ExpressibleByStringInterpolation {
  /// Escapes a text.
  package init(stringLiteral value: String) { self.init(value) }
}
