import Expressions
import ObjectModel

/// The bits of an archived attribute's `NSFlagsKey`.
enum ArchivedFlags {
  static let externalStorage: Int64 = 4
  static let preservation: Int64 = 16
  static let known = externalStorage | preservation
}

extension FetchRequest {
  /// The settings as the bits of `NSFetchRequestFlags` (docs/reference/model-format.md, "Fetch
  /// requests").
  var archivedFlags: Int64 {
    get {
      (returnsDistinctResults ? 1 : 0) | (includesSubentities ? 2 : 0)
        | (includesPropertyValues ? 4 : 0) | (returnsObjectsAsFaults ? 8 : 0)
        | (includesPendingChanges ? 16 : 0)
    }
    set {
      returnsDistinctResults = newValue & 1 != 0
      includesSubentities = newValue & 2 != 0
      includesPropertyValues = newValue & 4 != 0
      returnsObjectsAsFaults = newValue & 8 != 0
      includesPendingChanges = newValue & 16 != 0
    }
  }
}

extension Attribute.ValidationLimits {
  /// Adds a validation predicate of a compiled model, as one of the limits of a model source if it
  /// has such a form.
  mutating func add(_ predicate: ValuePredicate, for type: AttributeType) {
    guard
      case .comparison(let left, let comparison, .constant(let value), .direct, false, false) =
        predicate
    else { return others.append(predicate) }
    switch (left, comparison, value) {
    case (.keyPath(nil, "length"), .greaterThanOrEqual, .integer(let length)):
      minimumLength = length
    case (.keyPath(nil, "length"), .lessThanOrEqual, .integer(let length)):
      maximumLength = length
    case (.evaluatedObject, .matches, .string(let pattern)): self.pattern = pattern
    case (.evaluatedObject, .greaterThanOrEqual, _): minimum = value.converted(to: type)
    case (.evaluatedObject, .lessThanOrEqual, _): maximum = value.converted(to: type)
    default: others.append(predicate)
    }
  }
}
