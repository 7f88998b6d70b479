import Expressions
import Foundation
import ObjectModel

/// An expression for an attribute whose values do not follow from the models.
struct SuggestedValue {
  /// The attribute of the new model.
  private let attribute: Attribute
  /// Whether no two objects may have the same value.
  private let isUnique: Bool
  /// The form of the texts that become dates.
  private let day: DateFormat?
  private static let dayForm = "yyyy-MM-dd"

  init(_ attribute: Attribute, isUnique: Bool) {
    (self.attribute, self.isUnique) = (attribute, isUnique)
    day = attribute.type == .date ? try? DateFormat(Self.dayForm) : nil
  }

  /// A value for objects that have none; nil for types without a neutral value.
  var constant: String? {
    switch attribute.type {
    case .string: isUnique ? "CAST(uuid(), \"NSString\")" : "\"\""
    case .uuid: "uuid()"
    case _ where isUnique: nil
    case .integer16, .integer32, .integer64: "0"
    case .double, .float: "0.0"
    case .decimal: "CAST(\"0\", \"NSDecimalNumber\")"
    case .boolean: "NO"
    case .date: "now()"
    case .binary: "data(\"\", \"utf8\")"
    case .uri, .transformable, .undefined, .objectID, .composite: nil
    }
  }

  /// The value of an attribute before, or the constant where there is none.
  func filling(from property: String) -> String? {
    constant.map { "TERNARY($source.\(property) == nil, \($0), $source.\(property))" }
  }

  /// Whether a text is one of the type's values, so that its conversion loses nothing.
  func takes(_ text: String) -> Bool {
    switch attribute.type {
    case .integer16: return Int16(text).map { "\($0)" } == text
    case .integer32: return Int32(text).map { "\($0)" } == text
    case .integer64: return Int64(text).map { "\($0)" } == text
    // Digits that every number of the type has.
    case .float: return Self.isNumber(text, digits: 6)
    case .double: return Self.isNumber(text, digits: 15)
    case .decimal: return Self.isNumber(text, digits: 38)
    case .date: return (try? day?.seconds(of: text)) != nil
    case .uuid: return UUID(uuidString: text) != nil
    case .boolean: return ["yes", "no", "true", "false", "0", "1"].contains(text.lowercased())
    default: return true
    }
  }

  /// Whether a text is a decimal number in range, with no more significant digits than a type has.
  private static func isNumber(_ text: String, digits most: Int) -> Bool {
    let number = text.hasPrefix("-") ? text.dropFirst() : text[...]
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let isPlain = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (48...57).contains($0) } }
    // A leading zero may be part of a code.
    guard isPlain, parts[0] == "0" || !parts[0].hasPrefix("0"), text.utf8.count <= 40 else {
      return false
    }
    return parts.joined().drop { $0 == "0" }.count <= most
  }

  /// The value of an attribute of another type; nil where no conversion is known.
  func converting(_ property: String, of type: AttributeType) -> String? {
    let value = "$source.\(property)"
    switch (type, attribute.type) {
    case (.uuid, .string): return "\(value).UUIDString"
    case (.uri, .string): return "\(value).absoluteString"
    case (.binary, _), (.transformable, _), (.composite, _), (.undefined, _), (.objectID, _):
      return nil
    case (_, .string): return "CAST(\(value), \"NSString\")"
    case (.string, .date): return "date(\(value), \"\(Self.dayForm)\")"
    case (.string, .boolean): return "\(value).boolValue"
    case (_, .integer16), (_, .integer32), (_, .integer64), (_, .double), (_, .float),
      (_, .boolean):
      return "CAST(\(value), \"NSNumber\")"
    case (_, .decimal): return "CAST(\(value), \"NSDecimalNumber\")"
    case (_, .date): return "CAST(\(value), \"NSDate\")"
    case (.string, .uuid): return "CAST(\(value), \"NSUUID\")"
    case (.string, .uri): return "CAST(\(value), \"NSURL\")"
    case (.string, .binary): return "data(\(value), \"utf8\")"
    default: return nil
    }
  }
}
