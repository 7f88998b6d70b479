package import ObjectModel

/// Why data of a source have no place in the result.
package enum LossCause: String, Hashable, Codable, Sendable, CaseIterable {
  /// The destination model has no such entity or property any more, under no name.
  case removed
  /// No mapping's filter takes the objects.
  case filter
  /// A policy makes nothing of the objects.
  case policy
  /// The destination model has the entity, and no mapping takes its objects.
  case unmappedEntity
  /// The destination model has the entity, and the chosen configuration leaves it out.
  case outsideConfiguration
  /// The destination model has the property, and no mapping reads it.
  case unmappedProperty
  /// Mappings make objects of other pairs of the relationship, and of none of these.
  case unmappedPair
  /// The destination model has the ordered relationship, and mappings read its other end alone.
  case order
  /// The objects that references lead to become ones that the relationship cannot hold.
  case elsewhere
  /// Several references come to one place, and one of them stays.
  case collision
  /// The values become others that are less.
  case conversion
  /// The rows are of no entity of the store's model.
  case unknownEntity
  /// The store's model does not have the table or column, and a choice leaves it out.
  case outsideModel
  /// The entity numbers next to references are of no entity that the relationship can lead to.
  case unknownReference
  /// The references lead to objects that do not exist, and the user chose to fail for them.
  case dangling
  /// The objects duplicate another one that stays, by the user's choice.
  case duplicate
  /// The objects would lack a mandatory to-one relationship, and a choice drops them.
  case missingReference
  /// A relationship is to-one now, and a choice keeps the first of several objects.
  case severalObjects
  /// The rows of a join table lack one of their two keys.
  case missingKey
  /// Persistent history is dropped, since the objects are made one by one or by the user's choice.
  case history
  /// The destination model requires an index in a form that only Core Data can make.
  case index
  /// Rows of CloudKit's record metadata go, since their entity is none of the destination's.
  case cloudKit
  /// The destination model removes everything that the store holds.
  case allObjects
  /// A version on the way lacks what both ends of the way have.
  case detour
  /// An older version lacks what the store has.
  case downgrade
  /// The destination model removes it, and the store that has it is removed as well.
  case lastCopy
}

/// Something of the source that the result has no place for.
package struct PossibleLoss: Hashable, Sendable {
  /// What is lost.
  package enum Kind: Hashable, Sendable {
    /// The objects of the entity.
    case entity
    /// The values of an attribute.
    case attribute(String)
    /// The references of a relationship.
    case relationship(String)
    /// The places of objects in an ordered relationship.
    case order(String)
    /// Values of an attribute that the other type has no equal for.
    case conversion(String, to: AttributeType)
  }

  /// The source entity whose objects lose it, without those of its subentities.
  package var entity: String
  /// What is lost.
  package var kind: Kind
  /// Why it is lost.
  package var cause: LossCause
  /// Whether few values are lost, if any: those that the attribute's own type does not allow, such
  /// as a text in a column of numbers, and whole numbers that are too large for floating point.
  ///
  /// The conversion finds them.
  package var isOfOddValues = false
  /// The source entities to whose objects references are lost; nil where those to all objects are.
  package var targets: Set<String>?

  /// Makes a loss, by the destination model's will unless another cause is given.
  package init(entity: String, kind: Kind, cause: LossCause = .removed) {
    self.entity = entity
    self.kind = kind
    self.cause = cause
  }

  /// The entity, or the property with its entity: `Entity` or `Entity.property`.
  package var name: String {
    switch kind {
    case .entity: entity
    case .attribute(let name), .relationship(let name), .order(let name), .conversion(let name, _):
      "\(entity).\(name)"
    }
  }
}
