import Foundation
import ObjectModel

/// An expression for an attribute whose values do not follow from the models.
struct SuggestedValue {
  /// The attribute of the new model.
  private let attribute: Attribute
  /// Whether no two objects may have the same value.
  private let isUnique: Bool

  init(_ attribute: Attribute, isUnique: Bool) {
    (self.attribute, self.isUnique) = (attribute, isUnique)
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

  /// Whether a text is one of the type's values.
  func takes(_ text: String) -> Bool {
    switch attribute.type {
    case .integer16, .integer32, .integer64, .double, .float, .decimal:
      return Double(text)?.isFinite == true
    case .date:
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      let isDigits = parts.allSatisfy { $0.utf8.allSatisfy { (48...57).contains($0) } }
      return isDigits && parts.map(\.count) == [4, 2, 2] && (1...12).contains(Int(parts[1]) ?? 0)
        && (1...31).contains(Int(parts[2]) ?? 0)
    case .uuid: return UUID(uuidString: text) != nil
    case .boolean: return ["yes", "no", "true", "false", "0", "1"].contains(text.lowercased())
    default: return true
    }
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
    case (.string, .date): return "date(\(value), \"yyyy-MM-dd\")"
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
