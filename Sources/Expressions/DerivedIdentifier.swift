import Digests

extension ExpressionEvaluator {
  /// A UUID of version 8 that is named by SHA-256 (RFC 9562, appendix B.2) in the name space of
  /// URLs: of the URI of an object, of a URI, or of a text.
  ///
  /// The URI of an object is that of the store which is migrated, so every engine, every worker and
  /// every run make the same, and no two objects get one.
  static func identifier(of value: ObjectValue) throws -> AttributeValue {
    let function = BuiltInFunction.identifierOf.rawValue
    switch value {
    case .object(let object):
      guard let text = try object.uniformIdentifier() else {
        throw EvaluationError(.noObject(of: function))
      }
      return .uuid(identifier(name: text))
    case .scalar(.null): throw EvaluationError(.noObject(of: function))
    case .scalar(.string(let text)), .scalar(.uri(let text)):
      return .uuid(identifier(name: text))
    case .scalar, .collection:
      throw EvaluationError(
        .wrongArgument(
          of: function, expected: "an object, a URI or a text", found: value.kindName))
    }
  }

  private static func identifier(name: String) -> [UInt8] {
    var bytes = Array(SecureHash.sha256.digest(of: urlNameSpace + Array(name.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes
  }

  /// 6ba7b811-9dad-11d1-80b4-00c04fd430c8 (RFC 9562, section 6.6).
  private static let urlNameSpace: [UInt8] = [
    0x6B, 0xA7, 0xB8, 0x11, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0x00, 0xC0, 0x4F, 0xD4, 0x30, 0xC8,
  ]
}
