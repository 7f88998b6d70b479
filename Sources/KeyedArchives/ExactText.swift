/// A text of a property list: two are equal only if their bytes are, as for `NSString`.
///
/// Swift also calls texts equal that are canonically equivalent: U+00E9, and U+0065 with U+0301.
package struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  /// The text.
  package var text: String

  /// Takes the text.
  package init(_ text: String) { self.text = text }
  /// Takes the text.
  package init(stringLiteral text: String) { self.text = text }

  /// Whether the bytes of both are equal.
  package static func == (one: Self, other: Self) -> Bool {
    one.text.utf8.elementsEqual(other.text.utf8)
  }
  /// Compares the bytes.
  package static func < (one: Self, other: Self) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }
}

extension ExactText: CustomStringConvertible, CustomDebugStringConvertible {
  /// The text.
  package var description: String { text }
  /// The text in quotes.
  package var debugDescription: String { text.debugDescription }
}
