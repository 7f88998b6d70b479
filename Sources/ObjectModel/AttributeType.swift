/// The type of an attribute, under the number that Core Data gives it (`NSAttributeType`).
package enum AttributeType: Int, Hashable, Sendable, Codable, CaseIterable {
  /// No type: seen on transient attributes only.
  case undefined = 0
  /// A signed integer of 16 bits.
  case integer16 = 100
  /// A signed integer of 32 bits.
  case integer32 = 200
  /// A signed integer of 64 bits.
  case integer64 = 300
  /// A decimal number of up to 38 digits (`NSDecimalNumber`), in a `DECIMAL` column.
  case decimal = 400
  /// A number of 64 bits in binary floating point.
  case double = 500
  /// A number of 32 bits in binary floating point, which a store keeps as one of 64.
  case float = 600
  /// A text.
  case string = 700
  /// True or false, which a store keeps as 1 or 0.
  case boolean = 800
  /// A moment, which a store keeps as seconds since 2001-01-01 UTC.
  case date = 900
  /// Bytes.
  case binary = 1000
  /// A UUID, which a store keeps as 16 bytes.
  case uuid = 1100
  /// A URI, which a store keeps as text.
  case uri = 1200
  /// An object that a value transformer makes bytes of; no migration looks into them.
  case transformable = 1800
  /// The identifier of an object; no store holds one.
  case objectID = 2000
  /// Several attributes under one name, each with a column.
  case composite = 2100

  /// The name that Xcode's model editor and model sources use.
  package var name: String {
    switch self {
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binary: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "Object ID"
    case .composite: "Composite"
    }
  }

  /// Finds the type by its name in model sources; nil where none has it.
  package init?(name: String) {
    guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = type
  }

  /// The class of values that models name where none is given, nil if there is none.
  package var valueClassName: String? {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
    case .decimal: "NSDecimalNumber"
    case .string: "NSString"
    case .date: "NSDate"
    case .binary: "NSData"
    case .uuid: "NSUUID"
    case .uri: "NSURL"
    case .composite: "NSDictionary"
    case .undefined, .transformable, .objectID: nil
    }
  }

  /// Whether real stores show in which column its values are; of a composite its elements have one.
  package var hasKnownColumn: Bool {
    switch self {
    case .undefined, .objectID, .composite: false
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
      .binary, .uuid, .uri, .transformable:
      true
    }
  }

  /// What kind of number the values are; nil where they are none.
  package var numberKind: NumberKind? {
    switch self {
    case .integer16, .integer32, .integer64: .integer
    case .boolean: .boolean
    case .double, .float: .real
    case .decimal: .decimal
    case .undefined, .string, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite:
      nil
    }
  }

  /// Whether the type is one of those whose values lightweight migration converts into each other.
  package var isNumeric: Bool { numberKind != nil }

  /// The whole numbers that the type can hold, or nil where it does not hold whole numbers only.
  package var integerRange: ClosedRange<Int64>? {
    switch self {
    case .integer16: Int64(Int16.min)...Int64(Int16.max)
    case .integer32: Int64(Int32.min)...Int64(Int32.max)
    case .integer64: Int64.min...Int64.max
    case .boolean: 0...1
    case .decimal, .double, .float, .undefined, .string, .date, .binary, .uuid, .uri,
      .transformable, .objectID, .composite:
      nil
    }
  }

  /// The largest number of a type in floating point, nil where it holds all of 64 bits or is none.
  package var greatestReal: Double? {
    switch self {
    case .float: Double(Float.greatestFiniteMagnitude)
    case .integer16, .integer32, .integer64, .boolean, .decimal, .double, .undefined, .string,
      .date, .binary, .uuid, .uri, .transformable, .objectID, .composite:
      nil
    }
  }
}

// What converting a number to another type may do; SQL for it is in ConversionSQL.swift.
extension AttributeType {
  /// The range in which 64-bit floating point has every whole number.
  private static let exactIntegers: ClosedRange<Int64> = -(1 << 53)...1 << 53

  /// Whether a value of this numeric type may have no place in the other.
  package func canOverflow(as new: AttributeType) -> Bool {
    switch (numberKind, new.numberKind) {
    case (_, .boolean), (.boolean, _), (_, .decimal), (.integer, .real): false
    case (_, .real): new.greatestReal != nil
    case (.integer, .integer): !new.holds(all: integerRange)
    case (.real, .integer), (.decimal, .integer), (nil, _), (_, nil): true
    }
  }

  /// Whether a number of this type may become another one, however near.
  package func mayChange(as new: AttributeType) -> Bool {
    switch (numberKind, new.numberKind) {
    case (.real, .boolean), (.decimal, .boolean), (.integer, .boolean): true
    // A whole decimal is kept as an integer.
    case (.decimal, .real): true
    case (.real, .integer), (.decimal, .integer): true
    case (.integer, .real): integerRange.map { !Self.exactIntegers.contains($0) } ?? true
    case (.boolean, _), (.integer, _), (.real, _), (.decimal, _), (nil, _): false
    }
  }

  /// Whether changed numbers are likely: fractions are, whole numbers beyond 2^53 are not.
  package func oftenChanges(as new: AttributeType) -> Bool {
    mayChange(as: new) && (numberKind, new.numberKind) != (.integer, .real)
  }

  /// Whether numbers of this type are converted to become ones of the other, so that what is none,
  /// such as a text in their column, becomes another value.
  ///
  /// What becomes a decimal is kept as whatever it was.
  package func isConverted(to new: AttributeType) -> Bool {
    self != new && isNumeric && new.isNumeric && new.numberKind != .decimal
  }

  private func holds(all other: ClosedRange<Int64>?) -> Bool {
    guard let integerRange, let other else { return false }
    return integerRange.contains(other)
  }
}

/// The kinds of numbers that attributes hold, by which their values become each other.
package enum NumberKind: Hashable, Sendable {
  /// A whole number of 16, 32 or 64 bits.
  case integer
  /// True or false, which converts from and to 1 and 0.
  case boolean
  /// A number in binary floating point.
  case real
  /// A decimal number of up to 38 digits.
  case decimal
}
