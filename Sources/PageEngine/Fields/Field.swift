/// One value as a record holds it: its serial type, and where its bytes lie.
///
/// Eight bytes can be read where a number begins, however short it is.
package struct Field {
  /// The serial type: type and size of the value (docs/reference/store-pages.md, "Records").
  package var type: UInt64
  /// Valid only until the row that it came from is left; nil where the type has no bytes.
  package var body: UnsafeRawPointer?

  /// Makes a field of a type whose bytes lie at an address.
  @inlinable @inline(__always)
  package init(type: UInt64, body: UnsafeRawPointer?) {
    self.type = type
    self.body = body
  }

  /// NULL.
  @inlinable @inline(__always) package static var null: Field { Field(type: 0, body: nil) }

  /// Whether the value is NULL.
  @inlinable @inline(__always) package var isNull: Bool { type == 0 }
  /// Whether it is an integer: types 1 to 6, and the constants 8 and 9.
  @inlinable @inline(__always) package var isInteger: Bool { type < 10 && type != 0 && type != 7 }
  /// Whether it is a real of eight bytes.
  @inlinable @inline(__always) package var isReal: Bool { type == 7 }
  /// Whether it is text, in the encoding of its store.
  @inlinable @inline(__always) package var isText: Bool { type >= 13 && type & 1 == 1 }
  /// Whether it is a blob.
  @inlinable @inline(__always) package var isBlob: Bool { type >= 12 && type & 1 == 0 }

  /// Whether a record may hold such a type: two of them mean nothing in a file.
  @inlinable @inline(__always)
  package static func isValid(_ type: UInt64) -> Bool { type | 1 != 11 }

  /// Whether an integer of one byte is 0 or 1, which have types of their own: dropping a column,
  /// SQLite spells them out.
  @inlinable @inline(__always)
  package static func isOutspelled(_ body: UnsafeRawPointer) -> Bool {
    body.load(as: UInt8.self) < 2
  }

  /// The bytes of the body.
  @inlinable @inline(__always) package var size: Int { Field.size(type: type) }

  /// The bytes that a value of a serial type takes in a record's body.
  @inlinable @inline(__always)
  package static func size(type: UInt64) -> Int {
    if type >= 12 { return Int(truncatingIfNeeded: (type - 12) >> 1) }
    // One digit for each type from 0 up.
    return Int(truncatingIfNeeded: UInt64(0x8864_3210) &>> (type &* 4) & 15)
  }

  /// The value of an integer.
  @inlinable @inline(__always)
  package var integer: Int64 {
    if type == 8 { return 0 }
    if type == 9 { return 1 }
    guard let body else { return 0 }
    let bytes = Int64(bigEndian: body.loadUnaligned(as: Int64.self))
    return bytes >> Int64(64 - Field.size(type: type) * 8)
  }

  /// The value of a real.
  @inlinable @inline(__always)
  package var real: Double {
    guard let body else { return 0 }
    return Double(bitPattern: UInt64(bigEndian: body.loadUnaligned(as: UInt64.self)))
  }

  /// An integer in its shortest form, whose bytes go to `scratch`, which has room for eight.
  @inlinable @inline(__always)
  package init(value: Int64, scratch: UnsafeMutableRawPointer) {
    let type = Field.type(of: value)
    self.type = type
    body = UnsafeRawPointer(scratch)
    let size = Field.size(type: type)
    if size > 0 {
      let shifted = UInt64(bitPattern: value) << UInt64(64 - size * 8)
      scratch.storeBytes(of: shifted.bigEndian, as: UInt64.self)
    }
  }

  /// A real in eight bytes, which go to `scratch`.
  @inlinable @inline(__always)
  package init(real value: Double, scratch: UnsafeMutableRawPointer) {
    type = 7
    body = UnsafeRawPointer(scratch)
    scratch.storeBytes(of: value.bitPattern.bigEndian, as: UInt64.self)
  }

  /// The serial type of the shortest form of an integer.
  @inlinable @inline(__always)
  package static func type(of value: Int64) -> UInt64 {
    let magnitude = UInt64(bitPattern: value < 0 ? ~value : value)
    if magnitude <= 127 { return value == 0 ? 8 : value == 1 ? 9 : 1 }
    if magnitude <= 32_767 { return 2 }
    if magnitude <= 8_388_607 { return 3 }
    if magnitude <= 2_147_483_647 { return 4 }
    if magnitude <= 140_737_488_355_327 { return 5 }
    return 6
  }
}

/// What a column makes of a value that it is given (docs/reference/store-pages.md, "Affinity").
package enum Affinity: String, Hashable, Codable, Sendable {
  /// By declared type: `INTEGER`, `FLOAT`, `TIMESTAMP` or `DECIMAL`, `VARCHAR`, `BLOB`.
  case integer, real, numeric, text, none

  /// The value as the column keeps it; nil where that takes SQLite's own conversion between text
  /// and numbers.
  ///
  /// - Parameters:
  ///   - scratch: eight bytes for a value that changes its form.
  ///   - encoding: that of texts.
  @inlinable @inline(__always)
  package func applied(
    to field: Field, scratch: UnsafeMutableRawPointer, encoding: TextEncoding
  ) -> Field? {
    switch self {
    case .none: return field
    case .text: return field.type >= 12 || field.isNull ? field : nil
    case .integer, .numeric:
      if field.type < 7 || field.type == 8 || field.type == 9 { return field }
      if field.isReal {
        return Self.whole(field.real).map { Field(value: $0, scratch: scratch) } ?? field
      }
      return field.isText ? number(field, scratch: scratch, encoding: encoding) : field
    case .real:
      if field.isNull { return field }
      if field.isInteger {
        let value = field.integer
        return Field.type(of: value) == 6 ? Field(real: Double(value), scratch: scratch) : field
      }
      if field.isReal {
        guard let value = Self.whole(field.real) else { return field }
        return Field.type(of: value) == 6
          ? Field(real: Double(value), scratch: scratch) : Field(value: value, scratch: scratch)
      }
      return field.isText ? number(field, scratch: scratch, encoding: encoding) : field
    }
  }

  /// What a column of numbers keeps of a text; nil where SQLite has to convert it.
  @usableFromInline
  func number(
    _ text: Field, scratch: UnsafeMutableRawPointer, encoding: TextEncoding
  ) -> Field? {
    switch NumberText(text, encoding: encoding) {
    case .none: return text
    case .other: return nil
    case .integer(let value):
      if self == .real, Field.type(of: value) == 6 {
        return Field(real: Double(value), scratch: scratch)
      }
      return Field(value: value, scratch: scratch)
    }
  }

  /// Whether writing a value again that the column already stores changes nothing.
  ///
  /// Also false if only SQLite can decide.
  @inlinable @inline(__always)
  package func holds(_ field: Field) -> Bool {
    switch self {
    case .none:
      if field.isInteger { return Field.type(of: field.integer) == field.type }
      return !field.isReal || !field.real.isNaN
    case .text: return field.type >= 12 || field.isNull
    case .integer, .numeric, .real:
      if field.isInteger {
        return (self != .real || field.type != 6) && Field.type(of: field.integer) == field.type
      }
      guard field.isReal else { return !field.isText }
      let real = field.real
      guard let whole = Self.whole(real) else { return !real.isNaN }
      return self == .real && Field.type(of: whole) == 6
    }
  }

  /// The integer that is the same number, if there is one; the two limits do not count.
  @inlinable @inline(__always)
  package static func whole(_ number: Double) -> Int64? {
    guard number > -9.223372036854775808e18, number < 9.223372036854775808e18 else { return nil }
    let value = Int64(number)
    return Double(value) == number ? value : nil
  }
}

extension Affinity {
  /// Whether a column surely keeps a value unchanged; if false, `applied` decides.
  @inline(__always)
  func keeps(_ field: Field) -> Bool {
    switch self {
    case .none: true
    case .text: field.type >= 12
    case .integer, .numeric:
      field.type < 7 || field.type == 8 || field.type == 9
        || field.type == 7 && Self.isBroken(field.real)
    case .real:
      field.type < 6 || field.type == 8 || field.type == 9
        || field.type == 7 && Self.isBroken(field.real)
    }
  }

  /// Whether a number has a fraction for certain, by the bits below its point.
  @inline(__always)
  private static func isBroken(_ number: Double) -> Bool {
    let bits = number.bitPattern & (1 << 63 - 1)
    let exponent = bits >> 52
    if exponent < 1023 { return bits != 0 }
    return exponent < 1075 && bits & (1 << (1075 - exponent) - 1) != 0
  }
}
