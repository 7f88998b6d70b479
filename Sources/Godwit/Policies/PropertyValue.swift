import Expressions
public import Foundation
import ObjectMigration

/// The value of an attribute.
public enum PropertyValue: Hashable, Sendable {
  /// No value.
  case null
  /// A Boolean.
  case boolean(Bool)
  /// An integer of any width.
  case integer(Int64)
  /// A number of type Double or Float.
  case real(Double)
  /// A decimal number.
  case decimal(Decimal)
  /// A text.
  case string(String)
  /// A point in time.
  case date(Date)
  /// Bytes of a binary attribute, or the archive of a transformable one.
  case data(Data)
  /// A UUID.
  case uuid(UUID)
  /// A URI as text.
  case uri(String)
  /// The elements of a composite attribute by their names; one that is missing has no value.
  case composite([String: PropertyValue])

  /// Whether there is no value.
  public var isNull: Bool { self == .null }

  /// Whether it is the value of a composite attribute.
  var isComposite: Bool { if case .composite = self { true } else { false } }

  /// The text of a string, nil for any other value.
  public var stringValue: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The integer, with a Boolean as 0 or 1; nil for any other value.
  public var integerValue: Int64? {
    switch self {
    case .integer(let number): number
    case .boolean(let flag): flag ? 1 : 0
    default: nil
    }
  }

  /// The number as a Double, rounded if it has more digits; nil for any other value.
  public var realValue: Double? {
    switch self {
    case .real(let number): number
    case .decimal(let number): NSDecimalNumber(decimal: number).doubleValue
    default: integerValue.map(Double.init)
    }
  }

  init(_ value: AttributeValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .boolean(flag)
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .decimal(let digits): self = Decimal(string: digits).map { .decimal($0) } ?? .null
    case .string(let text): self = .string(text)
    case .date(let seconds): self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .data(let bytes): self = .data(Data(bytes))
    case .uuid(let bytes):
      self = UUID(uuidString: AttributeValue.uuidText(bytes: bytes)).map { .uuid($0) } ?? .null
    case .uri(let text): self = .uri(text)
    }
  }

  /// The value of an attribute; a composite is none, and counts as no value.
  var attributeValue: AttributeValue {
    switch self {
    case .null, .composite: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .decimal(let number): .decimal("\(number)")
    case .string(let text): .string(text)
    case .date(let date): .date(date.timeIntervalSinceReferenceDate)
    case .data(let data): .data([UInt8](data))
    case .uuid(let uuid): .uuid(withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) })
    case .uri(let text): .uri(text)
    }
  }
}

extension PropertyValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// A real number.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// No value.
  public init(nilLiteral: ()) { self = .null }
}

/// The arguments and results of a policy's own functions in value expressions.
public enum FunctionValue: Hashable, Sendable {
  /// The value of an attribute, or a constant.
  case value(PropertyValue)
  /// Several values.
  case values([PropertyValue])
  /// An object.
  case object(MigrationObject)
  /// Several objects.
  case objects([MigrationObject])
  /// `$manager`, `$entityMapping` and the like, which a policy has anyway.
  case other

  /// - Throws: `ObjectMigrationError` where an element of a composite cannot be read.
  init(_ value: ObjectValue) throws {
    switch value {
    case .scalar(let scalar): self = .value(PropertyValue(scalar))
    case .object(let composite as CompositeValue):
      self = .value(.composite(try composite.values().mapValues(PropertyValue.init)))
    case .object(let object): self = MigrationObject(object).map { .object($0) } ?? .other
    case .collection(let collection):
      let objects = collection.members.flatMap(\.objects)
      if objects.isEmpty {
        self = .values(
          collection.members.map { member in
            if case .scalar(let scalar) = member { PropertyValue(scalar) } else { .null }
          })
      } else {
        self = .objects(objects.compactMap { MigrationObject($0) })
      }
    }
  }

  var objectValue: ObjectValue {
    switch self {
    case .value(.composite(let elements)):
      .object(CompositeValue(elements.mapValues(\.attributeValue)))
    case .value(let value): .scalar(value.attributeValue)
    case .values(let values):
      .collection(ValueCollection(kind: .array, members: values.map { .scalar($0.attributeValue) }))
    case .object(let object): .object(object.core)
    case .objects(let objects): .objects(objects.map(\.core))
    case .other: .null
    }
  }
}
