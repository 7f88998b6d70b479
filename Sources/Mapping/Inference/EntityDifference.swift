package import ObjectModel

/// One thing in which two versions of an entity differ and that its version hash covers.
package enum EntityDifference: Hashable, Sendable {
  /// The entity is abstract, or is no more; `now` is the newer of two values here and below.
  case isAbstract(Bool, now: Bool)
  /// It has another superentity; nil for none.
  case superentity(String?, now: String?)
  /// It has another version hash modifier; nil for none.
  case versionHashModifier(String?, now: String?)
  /// It has other constraints, inherited ones included: the property names of each.
  case uniquenessConstraints([[String]], now: [[String]])
  /// A property of this name is gone, or no longer stored.
  case propertyRemoved(String)
  /// A property of this name is new, or stored now.
  case propertyAdded(String)
  /// A property of this name differs in one aspect; both values as text.
  case property(String, aspect: Aspect, String, now: String)

  /// What of a property counts.
  package enum Aspect: String, Hashable, Sendable {
    /// Of both kinds of properties, or of attributes.
    case kind, type, optional, externalStorage, preservedAfterDeletion, derivation
    /// Of relationships; the modifier of both kinds.
    case destinationEntity, inverse, minimumCount, maximumCount, ordered, versionHashModifier
  }

  /// All differences between an entity of one model and one of another, inherited properties
  /// included.
  package static func differences(
    between old: Entity, in oldModel: ManagedObjectModel, and new: Entity,
    in newModel: ManagedObjectModel
  ) -> [EntityDifference] {
    var result: [EntityDifference] = []
    if old.isAbstract != new.isAbstract {
      result.append(.isAbstract(old.isAbstract, now: new.isAbstract))
    }
    if old.superentityName != new.superentityName {
      result.append(.superentity(old.superentityName, now: new.superentityName))
    }
    if old.versionHashModifier != new.versionHashModifier {
      result.append(.versionHashModifier(old.versionHashModifier, now: new.versionHashModifier))
    }
    let constraints = (
      constraints(entity: old, model: oldModel), constraints(entity: new, model: newModel)
    )
    if constraints.0 != constraints.1 {
      result.append(.uniquenessConstraints(constraints.0, now: constraints.1))
    }
    let (before, after) = (facts(of: old, in: oldModel), facts(of: new, in: newModel))
    for name in Set(before.keys).union(after.keys).sorted() {
      guard let one = before[name] else {
        result.append(.propertyAdded(name))
        continue
      }
      guard let other = after[name] else {
        result.append(.propertyRemoved(name))
        continue
      }
      for (first, second) in zip(one, other) where first.value != second.value {
        result.append(.property(name, aspect: first.aspect, first.value, now: second.value))
      }
    }
    return result
  }

  /// Whether an entity is the same in both models for every purpose of a store: its version hash is
  /// equal or, where that is not known, nothing differs that a hash covers.
  package static func isUnchanged(
    _ old: Entity, in oldModel: ManagedObjectModel, as new: Entity, in newModel: ManagedObjectModel
  ) -> Bool {
    guard old.name == new.name else { return false }
    if let one = try? oldModel.versionHash(of: old), let other = try? newModel.versionHash(of: new)
    {
      return one == other
    }
    let (before, after) = (oldModel.lineage(of: old), newModel.lineage(of: new))
    return before.count == after.count
      && zip(before, after).allSatisfy { one, other in
        one.name == other.name
          && differences(between: one, in: oldModel, and: other, in: newModel).isEmpty
      }
  }

  /// A hash covers the superentity's hash and with it the constraints above.
  private static func constraints(entity: Entity, model: ManagedObjectModel) -> [[String]] {
    model.lineage(of: entity).flatMap(\.uniquenessConstraints).sorted {
      $0.joined(separator: ".") < $1.joined(separator: ".")
    }
  }

  private typealias Fact = (aspect: Aspect, value: String)

  /// The same aspects in the same order for every property, so that two lists can be compared.
  private static func facts(
    of entity: Entity, in model: ManagedObjectModel
  ) -> [String: [Fact]] {
    var result: [String: [Fact]] = [:]
    for attribute in model.allLeafAttributes(of: entity) where !attribute.isTransient {
      result[attribute.name] = facts(of: attribute)
    }
    for relationship in model.allRelationships(of: entity) where !relationship.isTransient {
      result[relationship.name] = facts(of: relationship)
    }
    return result
  }

  private static func facts(of attribute: Attribute) -> [Fact] {
    [
      (.kind, "attribute"), (.type, attribute.type.name),
      (.optional, "\(attribute.isOptional)"),
      (.externalStorage, "\(attribute.storesBinaryDataExternally)"),
      (.preservedAfterDeletion, "\(attribute.preservesValueAfterDeletion)"),
      (.derivation, attribute.derivation.map { "\($0.expression)" } ?? ""),
      (.destinationEntity, ""), (.inverse, ""), (.minimumCount, ""), (.maximumCount, ""),
      (.ordered, ""), (.versionHashModifier, attribute.versionHashModifier ?? ""),
    ]
  }

  private static func facts(of relationship: Relationship) -> [Fact] {
    [
      (.kind, "relationship"), (.type, ""), (.optional, "\(relationship.isOptional)"),
      (.externalStorage, "false"), (.preservedAfterDeletion, "false"), (.derivation, ""),
      (.destinationEntity, relationship.destinationEntityName),
      (.inverse, relationship.inverseName ?? ""),
      (.minimumCount, "\(relationship.minCount)"), (.maximumCount, "\(relationship.maxCount)"),
      (.ordered, "\(relationship.isOrdered)"),
      (.versionHashModifier, relationship.versionHashModifier ?? ""),
    ]
  }
}
