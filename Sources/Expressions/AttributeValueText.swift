import Digests

extension AttributeValue {
  /// The value as the format language writes it.
  ///
  /// A literal exists for numbers, texts, Booleans and nil only; other values are texts under CAST;
  /// Foundation shows the form for dates (docs/reference/expressions.md, "Literals").
  package var formatText: String {
    switch self {
    case .null: "nil"
    case .boolean(let value): value ? "TRUE" : "FALSE"
    case .integer(let value): "\(value)"
    case .real(let value): value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"NSNumber\")"
    case .decimal(let digits): "CAST(\(Self.quoted(digits)), \"NSDecimalNumber\")"
    case .string(let text): Self.quoted(text)
    case .uri(let text): "CAST(\(Self.quoted(text)), \"NSURL\")"
    case .date(let seconds): "CAST(\(seconds), \"NSDate\")"
    case .data(let bytes): "CAST(\"\(bytes.hexadecimal)\", \"NSData\")"
    case .uuid(let bytes): "CAST(\"\(Self.uuidText(bytes: bytes))\", \"NSUUID\")"
    }
  }

  /// The value that a text or number is under `CAST(…, "class")`; nil where it is none.
  package init?(value: AttributeValue, castTo className: String) {
    switch (className, value) {
    case ("NSDate", .integer(let number)): self = .date(Double(number))
    case ("NSDate", .real(let number)): self = .date(number)
    case ("NSDecimalNumber", .string(let digits)) where Self.isDecimal(digits):
      self = .decimal(digits)
    case ("NSURL", .string(let text)): self = .uri(text)
    case ("NSUUID", .string(let text)):
      guard let bytes = Self.bytes(ofUUID: text) else { return nil }
      self = .uuid(bytes)
    case ("NSData", .string(let text)):
      guard let bytes = Self.bytes(ofHexadecimal: text) else { return nil }
      self = .data(bytes)
    default: return nil
    }
  }

  /// The text of a UUID in capitals, as Foundation prints it.
  package static func uuidText(bytes: [UInt8]) -> String {
    var result = ""
    for (index, pair) in zip(bytes.indices, bytes) {
      if [4, 6, 8, 10].contains(index) { result += "-" }
      result += [pair].hexadecimal.uppercased()
    }
    return result
  }

  /// The sixteen bytes that a UUID's text stands for.
  package static func bytes(ofUUID text: String) -> [UInt8]? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false).map(\.count)
    guard groups == [8, 4, 4, 4, 12] else { return nil }
    return bytes(ofHexadecimal: text.filter { $0 != "-" })
  }

  /// Whether the text is a number in plain digits, with a fraction and a sign at most.
  package static func isDecimal(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : Substring(text)
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    return (1...2).contains(parts.count)
      && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }
  }

  static func bytes(ofHexadecimal text: String) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for character in text {
      if character == "\"" || character == "\\" { result.append("\\") }
      result.append(character)
    }
    return result + "\""
  }
}
