import Expressions

/// What a derived attribute is computed of, in the forms whose triggers real stores show
/// (docs/reference/store-format.md, "Derived attributes").
package enum DerivationForm: Hashable, Sendable {
  /// The number of objects of a to-many relationship: `pages.@count`.
  case count(relationship: String)
  /// An attribute of a to-one relationship's object: `author.name`.
  case value(relationship: String, attribute: String)
}

extension ManagedObjectModel {
  /// The form of a derived attribute that an entity declares; nil for those that no store shows.
  package func derivationForm(of attribute: Attribute, in entity: Entity) -> DerivationForm? {
    // Neither a subentity's nor a composite's, and none with a predicate was ever seen.
    guard let derivation = attribute.derivation, derivation.filter == nil,
      entity.superentityName == nil, !attribute.isTransient, attribute.compositeName == nil
    else { return nil }
    if case .builtIn("count:", let arguments) = derivation.expression {
      guard arguments.count == 1, let path = arguments[0].ownPath, path.count == 1,
        isCounted(path[0], of: entity)
      else { return nil }
      return .count(relationship: path[0])
    }
    guard let path = derivation.expression.ownPath, path.count == 2,
      isFollowed(path[0], to: path[1], from: entity)
    else { return nil }
    return .value(relationship: path[0], attribute: path[1])
  }

  /// Whether the triggers of a new attribute of this form are known.
  ///
  /// The only real store that counts a relationship without an inverse has entity numbers in its
  /// triggers, and the only one with an inverse has none. Which of the differences between the two
  /// stores is the cause is not known, so a new count needs an inverse.
  package func knowsTriggers(of form: DerivationForm, in entity: Entity) -> Bool {
    switch form {
    case .value: true
    case .count(let name): relationship(name: name, of: entity.name)?.inverseName != nil
    }
  }

  /// Whether objects of the relationship hold their owner's key in a column.
  private func isCounted(_ name: String, of entity: Entity) -> Bool {
    guard let relationship = relationship(name: name, of: entity.name), relationship.isToMany,
      !relationship.isTransient
    else { return false }
    if relationship.inverseName == nil { return true }
    return inverse(of: relationship).map { !$0.isToMany && !$0.isTransient } ?? false
  }

  /// Whether a to-one relationship leads to a stored attribute that is not derived itself.
  private func isFollowed(_ name: String, to target: String, from entity: Entity) -> Bool {
    guard let relationship = relationship(name: name, of: entity.name), !relationship.isToMany,
      !relationship.isTransient, let other = self.entity(name: relationship.destinationEntityName),
      let found = allAttributes(of: other).first(where: { $0.name == target })
    else { return false }
    return found.derivation == nil && !found.isTransient && !found.storesBinaryDataExternally
      && found.type != .composite && found.compositeName == nil
  }
}

extension ValueExpression {
  /// The names of a key path from the object itself; nil for any other expression.
  var ownPath: [String]? {
    switch self {
    case .evaluatedObject: []
    case .keyPath(let operand, let path):
      (operand.map(\.ownPath) ?? []).map {
        $0 + path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      }
    default: nil
    }
  }
}
