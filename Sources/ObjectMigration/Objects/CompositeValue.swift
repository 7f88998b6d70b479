package import Expressions
import ObjectModel
import Schema

/// The value of a composite attribute: a dictionary of its elements.
package final class CompositeValue: EvaluatedObject {
  private enum Origin {
    /// Elements are read on request, so that only those count as read.
    case object(ManagedObject, attribute: String)
    case values([String: AttributeValue])
  }

  /// The names of the elements, in declared order where it is known.
  package let elementNames: [String]
  private let origin: Origin

  init(of object: ManagedObject, attribute: String, elements: [String]) {
    origin = .object(object, attribute: attribute)
    elementNames = elements
  }

  /// Takes the values of elements by their names.
  package init(_ values: [String: AttributeValue]) {
    origin = .values(values)
    elementNames = values.keys.sorted()
  }

  /// Equal where the elements are; a value that cannot be read equals itself alone.
  package var identity: AnyHashable {
    guard let values = try? values() else { return ObjectIdentifier(self) }
    return values
  }

  /// What messages call it.
  package var typeName: String { "a composite" }

  /// The values of all elements by their names.
  package func values() throws -> [String: AttributeValue] {
    switch origin {
    case .values(let values): return values
    case .object(let object, let attribute):
      var result: [String: AttributeValue] = [:]
      for name in elementNames {
        result[name] = try object.attribute(name: "\(attribute).\(name)")
      }
      return result
    }
  }

  /// The value of an element; nil under any other key of a dictionary that an expression made.
  ///
  /// - Throws: `EvaluationError` where the composite attribute has no such element.
  package func value(forKey key: String) throws -> ObjectValue {
    switch origin {
    case .values(let values): return .scalar(values[key] ?? .null)
    case .object(let object, let attribute):
      guard elementNames.contains(key) else {
        throw EvaluationError(.unknownKey(key, of: "\(object.typeName).\(attribute)"))
      }
      return .scalar(try object.attribute(name: "\(attribute).\(key)"))
    }
  }
}

extension ManagedObject {
  /// The value of a composite attribute, nil where no element has one; nil too where the entity has
  /// no such attribute.
  package func composite(name: String) throws -> CompositeValue? {
    guard let elements = facts.composites[name] else { return nil }
    // Looking whether there is anything reads nothing: a mapping that takes one element leaves the
    // others behind.
    let hasValue = try elements.contains { try peek("\(name).\($0)") != .null }
    return hasValue ? CompositeValue(of: self, attribute: name, elements: elements) : nil
  }

  /// Sets the elements of a composite attribute; those that are not among the values become nil.
  ///
  /// - Throws: `ObjectMigrationError` where the attribute is not composite or has no element of
  ///   that name, and as for attributes.
  package func set(_ name: String, elements values: [String: AttributeValue]) throws {
    guard let elements = facts.composites[name] else {
      throw ObjectMigrationError(
        .valueRefused(
          type: facts.attributes[name]?.attribute.type ?? .undefined, found: "a composite"),
        entity: facts.name, property: name, key: primaryKey)
    }
    for key in values.keys.sorted() where !elements.contains(key) {
      throw ObjectMigrationError(
        .unknownProperty("\(name).\(key)", known: elements.map { "\(name).\($0)" }),
        entity: facts.name, property: name, key: primaryKey)
    }
    for element in elements { try set("\(name).\(element)", value: values[element] ?? .null) }
  }

  /// Whether the entity has a composite attribute of that name.
  package func isComposite(_ name: String) -> Bool { facts.composites[name] != nil }
}
