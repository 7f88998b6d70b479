import Expressions
import Foundation
import GRDB
import ObjectModel
import Schema

/// What decides how a store keeps the values of an attribute; copied without counting references,
/// as loops over objects need it.
struct AttributeForm: Equatable {
  let type: AttributeType
  let isExternal: Bool

  init(_ attribute: Attribute) {
    type = attribute.type
    isExternal = attribute.storesBinaryDataExternally
  }

  /// Whether a stored value is what conversion to a value and back would make of it.
  func keeps(_ value: StoredValue) -> Bool {
    switch (value, type) {
    case (.null, _): true
    case (.integer(let number), .integer16), (.integer(let number), .integer32),
      (.integer(let number), .integer64):
      type.integerRange?.contains(number) == true
    case (.integer(let number), .boolean): number == 0 || number == 1
    case (.real, .double), (.real, .float), (.real, .date): true
    case (.text, .string), (.text, .uri): true
    case (.blob, .uuid): true
    case (.blob, .binary), (.blob, .transformable): !isExternal
    default: false
    }
  }
}

/// Turns stored values into those of attributes, and back.
enum AttributeConversion {
  /// The value that an attribute has by what a store holds.
  static func value(stored: StoredValue, of attribute: AttributeForm) -> AttributeValue {
    switch attribute.type {
    case .boolean: if case .integer(let number) = stored { return .boolean(number != 0) }
    case .decimal: if let digits = stored.digits { return .decimal(digits) }
    case .date: if let number = stored.number { return .date(number) }
    case .double, .float: if let number = stored.number { return .real(number) }
    case .uri: if let text = stored.repairedText { return .uri(text) }
    case .uuid: if case .blob(let bytes) = stored { return .uuid(bytes) }
    case .integer16, .integer32, .integer64, .string, .binary, .transformable, .undefined,
      .objectID, .composite:
      break
    }
    return plain(stored, of: attribute)
  }

  /// The value that is nearest to the stored one, whatever the attribute's type.
  private static func plain(_ stored: StoredValue, of attribute: AttributeForm) -> AttributeValue {
    switch stored {
    case .null: return .null
    case .integer(let number): return .integer(number)
    case .real(let number): return .real(number)
    // An expression or a policy sees a text as people would read it.
    case .text, .rawText: return .string(stored.repairedText ?? "")
    case .blob(let bytes):
      // Values behind a file's name are read by the context, which knows the folder.
      if attribute.isExternal, bytes.first == ExternalTag.inline {
        return .data(Array(bytes.dropFirst()))
      }
      return .data(bytes)
    }
  }

  /// The stored form of a value for an attribute, by the rule of `AttributeType.fitted`.
  static func stored(
    _ value: AttributeValue, for attribute: AttributeForm
  ) throws -> StoredValue {
    let fitted: AttributeValue
    do {
      fitted = try attribute.type.fitted(value)
    } catch {
      throw ObjectMigrationError(error, type: attribute.type, value: value)
    }
    if case .decimal(let digits) = fitted { return .text(digits) }
    return StoredValue(value: fitted, type: attribute.type, isExternal: attribute.isExternal)
  }
}

extension ObjectMigrationError {
  fileprivate init(_ unfit: UnfitValue, type: AttributeType, value: AttributeValue) {
    switch unfit {
    case .kind: self.init(.valueRefused(type: type, found: value.kindName))
    case .range: self.init(.valueOutOfRange(type: type))
    }
    self.value = value
  }
}

extension StoredValue {
  /// The value as a number, nil if it is none.
  fileprivate var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    case .null, .text, .rawText, .blob: nil
    }
  }

  /// The value as a decimal number, or the text that replaces one; nil for anything else.
  fileprivate var digits: String? {
    switch self {
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text, .rawText: repairedText
    case .null, .blob: nil
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
