/// A value that an attribute can hold, as a store keeps it.
package enum AttributeValue: Hashable, Sendable, Codable {
  /// No value.
  case null
  /// True or false; among numbers 1 or 0.
  case boolean(Bool)
  /// A whole number, of any of the three integer types.
  case integer(Int64)
  /// A number in binary floating point, of either precision.
  case real(Double)
  /// A decimal number in plain digits, such as `-12.50`: binary floating point would change it.
  case decimal(String)
  /// A text.
  case string(String)
  /// Seconds since 2001-01-01 00:00:00 UTC.
  case date(Double)
  /// Bytes, of a binary attribute or of a transformable's archive.
  case data([UInt8])
  /// The sixteen bytes of a UUID.
  case uuid([UInt8])
  /// A URI as its text.
  case uri(String)
}
