import Foundation

/// The encodings in which `data:encoding:` reads texts.
package enum DataEncoding: String, CaseIterable {
  /// The bytes of the text itself.
  case utf8
  /// RFC 4648, section 4, with its padding and without line breaks.
  case base64
  /// Two hexadecimal digits a byte.
  case hex

  /// The bytes of a text, in an encoding.
  ///
  /// - Throws: `EvaluationError` for a text of another form, and an encoding that is not known.
  static func bytes(of text: String, encoding name: String) throws -> [UInt8] {
    guard let encoding = Self(rawValue: name) else { throw EvaluationError(.unknownEncoding(name)) }
    let bytes: [UInt8]? =
      switch encoding {
      case .utf8: Array(text.utf8)
      case .base64: Data(base64Encoded: text).map { [UInt8]($0) }
      case .hex: AttributeValue.bytes(ofHexadecimal: text)
      }
    guard let bytes else {
      throw EvaluationError(
        .unreadableData(AttributeValue.string(text).shown, encoding: name))
    }
    return bytes
  }
}
