/// A value that an attribute can hold, as a store keeps it.
package enum AttributeValue: Hashable, Sendable, Codable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  /// A decimal number in plain digits, such as `-12.50`: binary floating point would change it.
  case decimal(String)
  case string(String)
  /// Seconds since 2001-01-01 00:00:00 UTC.
  case date(Double)
  case data([UInt8])
  /// The sixteen bytes of a UUID.
  case uuid([UInt8])
  case uri(String)
}
