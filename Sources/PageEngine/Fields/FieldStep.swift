/// One value of a destination row, made from the fields of a source row.
package struct FieldStep: Sendable {
  /// How a value is made.
  package enum Kind: UInt8, Sendable {
    /// A constant; a field as it is; a field converted to a number of another type.
    case constant, copy, toInteger, toBoolean, toReal
    /// The value if the number in another field is in a list.
    case filtered
    /// What a list gives for the number.
    case renumbered
    /// The bits of a blob, each where a list has its place.
    case remasked
    /// What another step makes, where the key in a field is not dropped.
    case keyed
    /// What the first of two steps makes, the second where that is NULL.
    case either
    /// The value behind a tag, or in the file that it names.
    case untagged
    /// The value if the entity of the row whose key is in another field is one of some; the number
    /// that becomes of it.
    case entityFiltered, numbered
    /// The number that a list has for the key in a field.
    case listed
  }

  var kind: Kind
  var affinity: Affinity
  /// The field that the value comes from.
  var source: Int32
  /// The constant that takes the place of NULL; constant 0 is NULL itself.
  var constant: Int32
  var list: Int32
  /// The field with the number or the key that a filter reads.
  var number: Int32

  /// Makes a step; each argument that its kind does not use stays 0.
  package init(
    kind: Kind, affinity: Affinity = .none, source: Int = 0, constant: Int = 0, list: Int = 0,
    number: Int = 0
  ) {
    self.kind = kind
    self.affinity = affinity
    self.source = Int32(source)
    self.constant = Int32(constant)
    self.list = Int32(list)
    self.number = Int32(number)
  }
}

// MARK: Numbers

extension FieldStep.Kind {
  /// The number that a field becomes, which may need eight bytes of its own; nil where it is none.
  @inline(__always)
  func converted(_ field: Field, own: UnsafeMutableRawPointer) -> Field? {
    switch self {
    case .toInteger:
      if field.isInteger { return field }
      return field.isReal ? Field(value: Self.truncated(field.real), scratch: own) : nil
    case .toBoolean:
      if field.isInteger { return Field(value: field.integer == 0 ? 0 : 1, scratch: own) }
      return field.isReal ? Field(value: field.real == 0 ? 0 : 1, scratch: own) : nil
    case .toReal:
      if field.isReal { return field }
      return field.isInteger ? Field(real: Double(field.integer), scratch: own) : nil
    default: return field
    }
  }

  /// As SQLite casts a real to an integer.
  private static func truncated(_ number: Double) -> Int64 {
    if number <= -9.223372036854775808e18 { return .min }
    if number >= 9.223372036854775808e18 { return .max }
    return Int64(number)
  }
}

extension Int64 {
  /// Whether floating point of 64 bits has it, as it has all of these; it has few of the others.
  var isSurelyExactInReal: Bool { magnitude <= 1 << 53 }
}
