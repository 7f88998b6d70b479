package import Expressions

/// Why a value cannot be one of an attribute.
package enum UnfitValue: Error, Hashable, Sendable, Codable {
  /// The value is of another kind than the type's, such as a text for a number.
  case kind
  /// The number has no place in the type.
  case range
}

extension AttributeType {
  /// The value as an attribute of this type holds it.
  ///
  /// This is the one rule for constants, for computed values and for default values. Core Data
  /// raises where the class of a value is not that of the attribute, and takes any number for a
  /// numeric one; a fraction is cut for a whole one (docs/reference/migration-policies.md,
  /// "Values"). What is not a number is nil, as a store would keep it.
  package func fitted(_ value: AttributeValue) throws(UnfitValue) -> AttributeValue {
    switch value {
    case .null: return .null
    case .real(let number) where number.isNaN, .date(let number) where number.isNaN:
      if case .date = value, self != .date { throw .kind }
      if case .real = value, numberKind == nil { throw .kind }
      return .null
    default: break
    }
    switch (self, value) {
    case (.string, .string), (.uri, .uri), (.uuid, .uuid), (.date, .date), (.binary, .data),
      (.transformable, .data):
      return value
    default: break
    }
    switch numberKind {
    case .boolean:
      guard let number = value.double else { throw .kind }
      return .boolean(number != 0)
    case .integer: return .integer(try whole(value))
    case .real:
      guard let number = value.double else { throw .kind }
      if let greatestReal, number.magnitude > greatestReal { throw .range }
      return .real(number)
    case .decimal: return .decimal(try Self.decimal(value))
    case nil: throw .kind
    }
  }

  private func whole(_ value: AttributeValue) throws(UnfitValue) -> Int64 {
    let number: Int64?
    switch value {
    case .integer(let exact): number = exact
    case .decimal(let digits) where AttributeValue.isDecimal(digits):
      // By way of floating point the digits beyond 2^53 would change.
      number = Int64(digits.prefix { $0 != "." })
    default:
      guard let real = value.double else { throw .kind }
      number = Int64(exactly: real.rounded(.towardZero))
    }
    guard let number, let integerRange, integerRange.contains(number) else { throw .range }
    return number
  }

  private static func decimal(_ value: AttributeValue) throws(UnfitValue) -> String {
    switch value {
    case .boolean(let flag): return flag ? "1" : "0"
    case .integer(let number): return "\(number)"
    case .decimal(let digits): return digits
    case .real(let number):
      guard number.isFinite else { throw .range }
      return "\(number)"
    default: throw .kind
    }
  }

  /// A value of the type, for rules that follow from its kind alone; nil where no expression reads
  /// such values.
  package var example: AttributeValue? {
    switch self {
    case .integer16, .integer32, .integer64: .integer(1)
    case .boolean: .boolean(true)
    case .double, .float: .real(1)
    case .decimal: .decimal("1")
    case .string: .string("")
    case .date: .date(0)
    case .binary: .data([])
    case .uuid: .uuid([UInt8](repeating: 0, count: 16))
    case .uri: .uri("")
    case .transformable, .undefined, .objectID, .composite: nil
    }
  }
}

extension AttributeValue {
  /// The number that the value is, however near; nil for anything else.
  fileprivate var double: Double? {
    switch self {
    case .boolean(let flag): flag ? 1 : 0
    case .integer(let number): Double(number)
    case .real(let number): number
    case .decimal(let digits): Double(digits)
    case .null, .string, .date, .data, .uuid, .uri: nil
    }
  }
}
