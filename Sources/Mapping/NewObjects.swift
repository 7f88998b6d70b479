package import Expressions
package import ObjectModel

/// How a mapping makes objects that the source does not have: one for each pair of a relationship,
/// one for each distinct value, or a single one (docs/reference/mapping-file.md, "New objects").
package struct NewObjects: Hashable, Sendable, Codable {
  /// What one object is made of.
  package enum Unit: Hashable, Sendable, Codable {
    /// A source object and one object of this relationship.
    case pair(relationship: String)
    /// All source objects that have one value; nil makes an object too, or none.
    case value(ValueExpression, takesNil: Bool)
    /// All source objects; the object is made where there are none too.
    case all
  }

  /// What one object is made of.
  package var unit: Unit
  /// The destination attribute that holds the value.
  package var attribute: String?
  /// Whether an object that another mapping made is taken where its attribute holds the value.
  package var findsExisting = false
  /// The destination relationship that holds what the source objects became.
  package var sourceRelationship: String?
  /// The destination relationship that holds what the other object of the pair became.
  package var memberRelationship: String?

  /// Makes objects that are related to nothing.
  package init(unit: Unit) { self.unit = unit }

  /// The relationship whose pairs become objects.
  package var pairRelationship: String? {
    if case .pair(let name) = unit { name } else { nil }
  }

  /// Whether the objects lead to both ends of the pairs that they are made of.
  package var keepsPairs: Bool {
    pairRelationship != nil && sourceRelationship != nil && memberRelationship != nil
  }

  /// The expression of the value.
  package var valueExpression: ValueExpression? {
    if case .value(let expression, _) = unit { expression } else { nil }
  }

  /// The variable of value expressions that stands for the other object of a pair.
  package static let memberVariable = "member"

  /// The destination relationships that it fills.
  package var relationships: [String] {
    [sourceRelationship, memberRelationship].compactMap(\.self)
  }
}

/// An attribute by which the objects of an ordered relationship are sorted.
package struct SortKey: Hashable, Sendable, Codable {
  /// The keys that lead to the attribute, from the source object of each object.
  package var path: String
  /// Whether high values come first.
  package var isDescending: Bool

  /// Sorts by what a key path leads to.
  package init(path: String, isDescending: Bool) {
    (self.path, self.isDescending) = (path, isDescending)
  }
}

extension ManagedObjectModel {
  /// Whether a mapping makes objects of some pairs of a relationship, from either end.
  ///
  /// The model then continues the relationship, so pairs that are left out are no removal.
  func hasPairs(
    of relationship: Relationship, in entity: Entity, by mappings: some Sequence<EntityMapping>
  ) -> Bool {
    let inverse = inverseWithOwner(of: relationship)
    let ends =
      [(entity, relationship.name)] + (inverse.map { [($0.entity, $0.relationship.name)] } ?? [])
    return mappings.contains { mapping in
      guard let objects = mapping.newObjects, objects.keepsPairs,
        let owner = mapping.sourceEntityName.flatMap({ self.entity(name: $0) })
      else { return false }
      return ends.contains { end, name in
        name == objects.pairRelationship && root(of: end).name == root(of: owner).name
      }
    }
  }
}

extension MappingModel {
  /// The mappings whose objects a relationship of the destination can hold.
  package func makers(
    heldBy relationship: Relationship, in destination: ManagedObjectModel
  ) -> [EntityMapping] {
    makers(ofKind: relationship.destinationEntityName, in: destination)
  }

  /// The source properties by which relationships of the destination are sorted.
  func sortReads(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> PropertiesRead {
    var read = PropertiesRead()
    for mapping in entityMappings {
      guard let entity = mapping.destinationEntityName.flatMap({ destination.entity(name: $0) })
      else { continue }
      for property in mapping.relationshipMappings where !property.sortedBy.isEmpty {
        guard
          let relationship = destination.relationship(named: property.name, of: entity)
        else { continue }
        for maker in makers(heldBy: relationship, in: destination) where maker.newObjects == nil {
          guard let old = maker.sourceEntityName.flatMap({ source.entity(name: $0) }) else {
            continue
          }
          for key in property.sortedBy { read.follow(key.path, from: [old], model: source) }
        }
      }
    }
    return read
  }
}
