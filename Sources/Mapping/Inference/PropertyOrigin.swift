package import Expressions
import ObjectModel

/// What a value expression of a mapping amounts to.
package enum PropertyOrigin: Hashable, Sendable {
  /// What a new object has: its default value, or no object.
  case standard
  /// The same value in every object.
  case constant(AttributeValue)
  /// The value of a source property; where it is missing, `replacingNull` takes its place.
  case attribute(String, replacingNull: AttributeValue)
  /// What the objects of a source relationship became, by that mapping or by whichever took them.
  case relationship(String, mapping: String?)
  /// Anything else.
  case computed(ValueExpression)

  /// A UUID of the source object.
  static let identifier = Self.computed(
    .builtIn(name: BuiltInFunction.identifier.rawValue, []))
}

extension PropertyMapping {
  /// The plain form that the value expression has, if it has one.
  package var origin: PropertyOrigin {
    guard let valueExpression else { return .standard }
    switch valueExpression {
    case .constant(let value): return .constant(value)
    case .keyPath(.variable("source")?, let path) where isOwn(path):
      return .attribute(path, replacingNull: .null)
    case .ternary(let predicate, .constant(let replacement), .keyPath(let operand, let path)):
      let value = ValueExpression.keyPath(operand: operand, path)
      guard operand == .variable("source"), isOwn(path), predicate == .isNull(value) else {
        return .computed(valueExpression)
      }
      return .attribute(path, replacingNull: replacement)
    case .function(.variable("manager"), let selector, let arguments):
      return Self.relationship(selector: selector, arguments: arguments)
        ?? .computed(valueExpression)
    default: return .computed(valueExpression)
    }
  }

  /// Whether a key path of the source object leads to one of its own columns.
  private func isOwn(_ path: String) -> Bool {
    Attribute.isElement(name: path) ? readsElement : true
  }

  private static func relationship(
    selector: String, arguments: [ValueExpression]
  ) -> PropertyOrigin? {
    guard arguments.count == 2, case .constant(.string(let name)) = arguments[0],
      case .keyPath(.variable("source")?, let path) = arguments[1], !path.contains(".")
    else { return nil }
    switch selector {
    case MappingSelector.byMapping: return .relationship(path, mapping: name)
    case MappingSelector.byRelationship where name == path:
      return .relationship(path, mapping: nil)
    default: return nil
    }
  }

  /// The source relationship whose objects the destination relationship continues, if it does so
  /// plainly.
  package var sourceRelationshipName: String? {
    if case .relationship(let name, _) = origin { name } else { nil }
  }
}

extension ValueExpression {
  /// The expression `$source.name`.
  package static func source(name: String) -> Self {
    .keyPath(operand: .variable("source"), name)
  }

  /// `$source.name`, or the replacement where that is nil.
  package static func source(name: String, replacingNull replacement: AttributeValue) -> Self {
    guard replacement != .null else { return .source(name: name) }
    return .ternary(.isNull(.source(name: name)), .constant(replacement), .source(name: name))
  }

  /// What a mapping made of the objects of a source relationship; nil means whichever took them.
  package static func destinations(ofRelationship name: String, mapping: String? = nil) -> Self {
    mapping.map { .destinations(of: .source(name: name), mapping: $0) }
      ?? .function(
        operand: .variable("manager"), selector: MappingSelector.byRelationship,
        [.constant(.string(name)), .source(name: name)])
  }

  /// The objects that a mapping made of source objects.
  package static func destinations(of objects: Self, mapping: String) -> Self {
    .function(
      operand: .variable("manager"), selector: MappingSelector.byMapping,
      [.constant(.string(mapping)), objects])
  }

  /// The objects of a source entity that satisfy a predicate, as Xcode compiles it.
  package static func sourceObjects(
    of entity: String, where predicate: String = Self.everything
  ) -> Self {
    .fetch(
      request: .function(
        operand: .variable("manager"), selector: MappingSelector.fetchRequest,
        [.constant(.string(entity)), .constant(.string(predicate))]),
      context: .keyPath(operand: .variable("manager"), "sourceContext"), countOnly: false)
  }

  /// The predicate that every object satisfies.
  package static let everything = "TRUEPREDICATE"
}

extension ValuePredicate {
  fileprivate static func isNull(_ expression: ValueExpression) -> Self {
    .comparison(
      expression, .equal, .constant(.null), modifier: .direct, caseInsensitive: false,
      diacriticInsensitive: false)
  }
}

extension PropertyOrigin {
  /// The source attribute whose values are taken; nil where none is.
  package var attributeName: String? {
    if case .attribute(let name, _) = self { name } else { nil }
  }
}
