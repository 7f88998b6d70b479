package import Expressions
package import ObjectModel

/// Reads the values that model sources write as text.
package enum AttributeText {
  /// The value of a text for an attribute of this type, nil if the text has another form.
  package static func value(text: String, for type: AttributeType) -> AttributeValue? {
    switch type {
    case .boolean: flag(text: text).map { .boolean($0) }
    // `NO` is a default that Xcode writes for numbers too.
    case .integer16, .integer32, .integer64: integer(text: text).map { .integer($0) }
    case .double, .float: (Double(text) ?? flag(text: text).map { $0 ? 1 : 0 }).map { .real($0) }
    case .decimal: DecimalText(text).map { .decimal($0.text) }
    case .string: .string(text)
    case .uri: .uri(text)
    case .uuid: uuid(text: text).map { .uuid($0) }
    case .date: Double(text).map { .date($0) }
    case .undefined, .binary, .transformable, .objectID, .composite: nil
    }
  }

  /// What the text of a default value amounts to.
  package enum Default: Hashable {
    /// New objects have that value.
    case value(AttributeValue)
    /// Xcode left the text behind when the attribute changed its type: new objects have no value.
    case leftover
    /// The text has a meaning that is not known, or is no value of the type.
    case unread
  }

  /// The default value that a text means for an attribute.
  ///
  /// A default is held to what any other value of the attribute is: a number has to be in the range
  /// of the type, and be a number.
  package static func defaultValue(
    text: String, for type: AttributeType, isOptional: Bool
  ) -> Default {
    switch type {
    // Xcode's editor has no default values of these types.
    case .binary, .transformable, .undefined, .objectID, .composite: return .leftover
    case .boolean:
      // Xcode keeps the text of a number that became a Boolean.
      if let number = Double(text), number.isFinite { return .value(.boolean(number != 0)) }
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .date, .uuid,
      .uri:
      break
    }
    guard let value = value(text: text, for: type) else {
      // Of the text of an optional UUID no object can have been made.
      return type == .uuid && isOptional ? .leftover : .unread
    }
    return value.default(of: type).map { .value($0) } ?? .unread
  }

  static func flag(text: String) -> Bool? {
    switch text {
    case "YES", "1", "true": true
    case "NO", "0", "false": false
    default: nil
    }
  }

  static func integer(text: String) -> Int64? {
    Int64(text) ?? flag(text: text).map { $0 ? 1 : 0 }
      ?? Double(text).flatMap { Int64(exactly: $0) }
  }

  private static func uuid(text: String) -> [UInt8]? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    let digits = groups.joined()
    guard groups.map(\.count) == [8, 4, 4, 4, 12], digits.allSatisfy(\.isHexDigit) else {
      return nil
    }
    var bytes: [UInt8] = []
    var rest = Substring(digits)
    while !rest.isEmpty {
      guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}

extension AttributeValue {
  /// The value that new objects of an attribute of a type have by this one; nil where they can have
  /// none.
  func `default`(of type: AttributeType) -> AttributeValue? {
    switch self {
    case .real(let number), .date(let number): if !number.isFinite { return nil }
    default: break
    }
    return try? type.fitted(self)
  }

  /// The value in the type of its attribute: archives may have 0 for a boolean or a float.
  func converted(to type: AttributeType) -> AttributeValue {
    switch (type.numberKind, self) {
    case (.boolean, .integer(let value)): .boolean(value != 0)
    case (.boolean, .real(let value)): .boolean(value != 0)
    case (.integer, .boolean(let value)): .integer(value ? 1 : 0)
    case (.integer, .real(let value)): Int64(exactly: value).map { .integer($0) } ?? self
    case (.real, .integer(let value)): .real(Double(value))
    case (.decimal, .integer(let value)): .decimal("\(value)")
    case (nil, .string(let value)): type == .uri ? .uri(value) : self
    case (.boolean, _), (.integer, _), (.real, _), (.decimal, _), (nil, _): self
    }
  }
}

/// A decimal number as digits and an exponent, like `NSDecimalNumber`.
struct DecimalText: Hashable, Sendable {
  /// At most 38 decimal digits without leading zeros; empty for zero.
  var digits: String
  var exponent: Int
  var isNegative: Bool

  init?(digits: String, exponent: Int, isNegative: Bool) {
    let significant = String(digits.drop { $0 == "0" })
    guard significant.count <= 38, (-128...127).contains(exponent),
      significant.allSatisfy({ $0.isASCII && $0.isNumber })
    else { return nil }
    self.digits = significant
    self.exponent = exponent
    self.isNegative = isNegative
  }

  init?(_ text: String) {
    var rest = Substring(text)
    let negative = rest.first == "-"
    if let sign = rest.first, sign == "-" || sign == "+" { rest.removeFirst() }
    let parts = rest.split(separator: ".", omittingEmptySubsequences: false)
    let whole = parts.first ?? ""
    let fraction = parts.count == 2 ? parts[1] : ""
    guard parts.count <= 2, !(whole + fraction).isEmpty else { return nil }
    self.init(
      digits: String(whole + fraction), exponent: -fraction.count, isNegative: negative)
  }

  /// The number in plain digits, with as many decimal places as the exponent requires.
  var text: String {
    let sign = isNegative && !digits.isEmpty ? "-" : ""
    if exponent >= 0 {
      return digits.isEmpty ? "0" : sign + digits + String(repeating: "0", count: exponent)
    }
    let padding = String(repeating: "0", count: max(0, 1 - exponent - digits.count))
    let padded = padding + digits
    return sign + padded.dropLast(-exponent) + "." + padded.suffix(-exponent)
  }
}
