/// Core Data's error codes for a migration that cannot be done.
package enum CoreDataCode: Int, Hashable, Codable, Sendable {
  case validationMissingMandatoryProperty = 1570
  case persistentStoreIncompatibleVersionHash = 134100
  case migration = 134110
  case migrationConstraintViolation = 134111
  case migrationMissingSourceModel = 134130
  case migrationMissingMappingModel = 134140
  case inferredMappingModel = 134190
}

/// One reason why a store cannot be migrated: what, where, and Core Data's code for it.
package struct Refusal: Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// Source and destination attribute types are incompatible.
    case incompatibleTypes(source: String, destination: String)
    case attributeBecameRelationship
    case relationshipBecameAttribute
    case toManyBecameToOne
    case destinationEntityChanged(source: String, destination: String)
    /// Two hierarchies of the source would share one table, and with it one set of keys.
    case hierarchiesMerged(roots: [String])
    case derivationCannotBeComputed
    /// A transient attribute's value is in no store, so there is nothing to continue.
    case storedFormUnknown(String)
    /// One renaming identifier joins several names of the source or the destination, and nothing
    /// tells which of them belong together.
    case renamingAmbiguous(identifier: String, sources: [String], destinations: [String])
    /// The relationship is kept in a form from which the wanted one cannot be made.
    case relationshipForm
    /// A demand that `count` objects of the store break; some of their keys, the lowest first.
    case condition(Condition.Demand, count: Int64, keys: [Int64])
    /// A file that holds an external value is missing, and the value has to come out of it.
    case externalFileMissing(String)
  }

  package var reason: Reason
  /// The destination entity.
  package var entity: String
  package var property: String?

  package init(reason: Reason, entity: String, property: String? = nil) {
    self.reason = reason
    self.entity = entity
    self.property = property
  }

  /// 134190 where the two models tell it; what is found in the store has codes of its own.
  package var code: CoreDataCode {
    switch reason {
    case .condition(let demand, _, _): demand.code
    case .externalFileMissing: .migration
    default: .inferredMappingModel
    }
  }
}

extension Refusal.Reason {
  static func renaming(_ ambiguity: RenamingMatch.Ambiguity) -> Self {
    .renamingAmbiguous(
      identifier: ambiguity.identifier, sources: ambiguity.sources,
      destinations: ambiguity.destinations)
  }
}

/// A demand on the objects of a source store without which the migration cannot be done.
package struct Condition: Hashable, Sendable {
  package enum Demand: Hashable, Sendable {
    /// There are no objects: the destination attribute is mandatory, new and has no default.
    case noObjects(missing: String)
    /// There are no objects: the default value of the new attribute, or of one that must not be nil
    /// any more, is of a form that cannot be put into rows.
    case noObjectsForDefault(String)
    /// There are no objects: the destination entity is abstract.
    case noObjectsOfAbstract
    /// The source attribute has a value in every object.
    case noMissingValues(attribute: String)
    /// The values of the source attribute fit the destination type.
    case valuesFit(attribute: String, type: String)
    /// No two objects agree in all of these destination attributes.
    case unique(properties: [String])
    /// No two objects name the same object in this source to-one relationship.
    case singleOwner(relationship: String)
  }

  package var demand: Demand
  /// The source entity whose objects are meant, without those of its subentities.
  package var sourceEntity: String
  package var destinationEntity: String
  /// The destination property.
  package var property: String?

  package init(
    demand: Demand, sourceEntity: String, destinationEntity: String, property: String? = nil
  ) {
    self.demand = demand
    self.sourceEntity = sourceEntity
    self.destinationEntity = destinationEntity
    self.property = property
  }

  package var code: CoreDataCode { demand.code }
}

extension Condition.Demand {
  /// The code of Core Data for objects that break it.
  package var code: CoreDataCode {
    switch self {
    case .noObjects, .noMissingValues: .validationMissingMandatoryProperty
    case .unique: .migrationConstraintViolation
    case .noObjectsOfAbstract, .noObjectsForDefault, .valuesFit, .singleOwner: .migration
    }
  }
}
