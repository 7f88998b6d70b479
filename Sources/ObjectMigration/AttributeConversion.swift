import Expressions
import Foundation
import GRDB
import ObjectModel
import Schema

/// Turns stored values into those of attributes, and back.
enum AttributeConversion {
  /// The value that an attribute has by what a store holds.
  static func value(stored: StoredValue, of attribute: Attribute) -> AttributeValue {
    switch (stored, attribute.type) {
    case (.rawText, _):
      // An expression or a policy sees the text as people would read it.
      return value(stored: .text(stored.repairedText ?? ""), of: attribute)
    case (.null, _): return .null
    case (.integer(let number), .boolean): return .boolean(number != 0)
    case (.integer(let number), .decimal): return .decimal("\(number)")
    case (.real(let number), .decimal): return .decimal("\(number)")
    case (.text(let digits), .decimal): return .decimal(digits)
    case (.integer(let number), .date): return .date(Double(number))
    case (.real(let number), .date): return .date(number)
    case (.integer(let number), .double), (.integer(let number), .float):
      return .real(Double(number))
    case (.integer(let number), _): return .integer(number)
    case (.real(let number), _): return .real(number)
    case (.text(let text), .uri): return .uri(text)
    case (.text(let text), _): return .string(text)
    case (.blob(let bytes), .uuid): return .uuid(bytes)
    case (.blob(let bytes), _):
      // Values behind a file's name are read by the context, which knows the folder.
      if attribute.storesBinaryDataExternally, bytes.first == ExternalTag.inline {
        return .data(Array(bytes.dropFirst()))
      }
      return .data(bytes)
    }
  }

  /// The stored form of a value for an attribute.
  ///
  /// Core Data raises where the class of a value is not that of the attribute, and takes any number
  /// for a numeric one; a fraction is cut for a whole one (docs/migration-policies.md, "Values").
  static func stored(
    _ value: AttributeValue, for attribute: Attribute
  ) throws -> StoredValue {
    if value == .null { return .null }
    switch attribute.type {
    case .string: if case .string = value { return StoredValue(value: value, of: attribute) }
    case .uri: if case .uri = value { return StoredValue(value: value, of: attribute) }
    case .uuid: if case .uuid = value { return StoredValue(value: value, of: attribute) }
    case .date: if case .date = value { return StoredValue(value: value, of: attribute) }
    case .binary, .transformable:
      if case .data = value { return StoredValue(value: value, of: attribute) }
    case .boolean: if let number = double(value: value) { return .integer(number == 0 ? 0 : 1) }
    case .integer16, .integer32, .integer64:
      if let number = try whole(value, type: attribute.type) { return .integer(number) }
    case .double, .float: if let number = double(value: value) { return .real(number) }
    case .decimal: if let digits = decimal(value: value) { return .text(digits) }
    case .undefined, .objectID, .composite: break
    }
    throw ObjectMigrationError(.valueRefused(type: attribute.type, found: value.kindName))
  }

  private static func double(value: AttributeValue) -> Double? {
    switch value {
    case .boolean(let flag): flag ? 1 : 0
    case .integer(let number): Double(number)
    case .real(let number): number
    case .decimal(let digits): Double(digits)
    default: nil
    }
  }

  private static func whole(_ value: AttributeValue, type: AttributeType) throws -> Int64? {
    let number: Int64?
    if case .integer(let exact) = value {
      number = exact
    } else if let real = double(value: value) {
      number = Int64(exactly: real.rounded(.towardZero))
    } else {
      return nil
    }
    guard let number, let range = type.integerRange, range.contains(number) else {
      throw ObjectMigrationError(.valueOutOfRange(type: type))
    }
    return number
  }

  private static func decimal(value: AttributeValue) -> String? {
    switch value {
    case .boolean(let flag): flag ? "1" : "0"
    case .integer(let number): "\(number)"
    case .real(let number): number.isFinite ? "\(number)" : nil
    case .decimal(let digits): digits
    default: nil
    }
  }
}

extension StoredValue {
  init(_ value: DatabaseValue) {
    switch value.storage {
    case .null: self = .null
    case .int64(let number): self = .integer(number)
    case .double(let number): self = .real(number)
    case .string(let text): self = .text(text)
    case .blob(let data): self = .blob([UInt8](data))
    }
  }

  var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.databaseValue
    case .text, .rawText: (repairedText ?? "").databaseValue
    case .blob(let bytes): Data(bytes).databaseValue
    }
  }
}
