import Expressions

/// A property from which a derived attribute is computed.
package struct DerivationInput: Hashable, Sendable {
  /// The entity whose objects are read.
  package var entity: String
  /// The name of the attribute or relationship.
  package var property: String
  /// Of a relationship, the entity that it leads to.
  package var target: String?
}

extension ManagedObjectModel {
  /// The properties from which a derived attribute of an entity is computed, in the order of its
  /// expression.
  package func inputs(of derivation: Attribute.Derivation, in entity: String) -> [DerivationInput] {
    var reader = DerivationReader(model: self)
    reader.add(derivation, of: entity)
    return reader.inputs
  }
}

/// Collects the properties that derivations read.
private struct DerivationReader {
  let model: ManagedObjectModel
  private(set) var inputs: [DerivationInput] = []

  init(model: ManagedObjectModel) { self.model = model }

  mutating func add(_ derivation: Attribute.Derivation, of entity: String) {
    let before = inputs.count
    add(derivation.expression, of: entity)
    guard derivation.filter != nil else { return }
    // A filter may read everything of the related objects.
    for target in inputs[before...].compactMap(\.target) { addAll(of: target) }
  }

  private mutating func add(_ expression: ValueExpression, of entity: String) {
    if let path = expression.ownPath { return follow(path[...], from: entity) }
    switch expression {
    case .builtIn, .aggregate, .set, .constant:
      for part in expression.parts { add(part, of: entity) }
    default:
      // Other forms may read everything of the object.
      addAll(of: entity)
    }
  }

  private mutating func follow(_ path: ArraySlice<String>, from entity: String) {
    guard let name = path.first else { return }
    if name.hasPrefix("@") { return follow(path.dropFirst(), from: entity) }
    guard let owner = model.entity(name: entity) else { return }
    if let relationship = model.relationship(named: name, of: owner) {
      let target = relationship.destinationEntityName
      note(DerivationInput(entity: entity, property: name, target: target))
      follow(path.dropFirst(), from: target)
    } else {
      note(attribute: path.joined(separator: "."), of: owner)
    }
  }

  private mutating func note(attribute name: String, of owner: Entity) {
    guard let attribute = model.leafAttribute(named: name, of: owner),
      note(DerivationInput(entity: owner.name, property: name))
    else { return }
    if let derivation = attribute.derivation { add(derivation, of: owner.name) }
  }

  /// Notes an input; false where it is known already.
  @discardableResult
  private mutating func note(_ input: DerivationInput) -> Bool {
    if inputs.contains(input) { return false }
    inputs.append(input)
    return true
  }

  private mutating func addAll(of entity: String) {
    guard let owner = model.entity(name: entity) else { return }
    for attribute in model.allLeafAttributes(of: owner)
    where !attribute.isTransient && attribute.derivation == nil {
      note(DerivationInput(entity: entity, property: attribute.name))
    }
    for relationship in model.allRelationships(of: owner) where model.isStored(relationship) {
      note(
        DerivationInput(
          entity: entity, property: relationship.name,
          target: relationship.destinationEntityName))
    }
  }
}
