/// Core Data's error codes for a migration that cannot be done.
package enum CoreDataCode: Int, Hashable, Codable, Sendable {
  /// A mandatory property would have no value.
  case validationMissingMandatoryProperty = 1570
  /// The store is of another version than the model, or of another model.
  case persistentStoreIncompatibleVersionHash = 134100
  /// The migration failed for a reason without a code of its own.
  case migration = 134110
  /// Objects would break a uniqueness constraint.
  case migrationConstraintViolation = 134111
  /// The model of the source store is not found.
  case migrationMissingSourceModel = 134130
  /// A step has no mapping model, and none is inferred.
  case migrationMissingMappingModel = 134140
  /// No mapping model can be inferred.
  case inferredMappingModel = 134190
}

/// Why an external file cannot be read, or cannot be named by the result.
package enum ExternalFileFault: String, Hashable, Sendable {
  /// It is not there.
  case missing
  /// It is a link or no regular file, and may lead anywhere.
  case foreign
  /// The system does not let it be read.
  case unreadable
  /// Two values of the result would name it, and Core Data removes it with the first that changes.
  case shared
}

/// One reason why a store cannot be migrated: what, where, and Core Data's code for it.
package struct Refusal: Hashable, Sendable {
  /// What stands against the migration.
  package enum Reason: Hashable, Sendable {
    /// Source and destination attribute types are incompatible.
    case incompatibleTypes(source: String, destination: String)
    /// An attribute of the source is continued by a relationship.
    case attributeBecameRelationship
    /// A relationship of the source is continued by an attribute.
    case relationshipBecameAttribute
    /// A relationship leads to an entity that does not continue the one that it led to.
    case destinationEntityChanged(source: String, destination: String)
    /// Two hierarchies of the source would share one table, and with it one set of keys.
    case hierarchiesMerged(roots: [String])
    /// A derived attribute is new or derived otherwise, in a form whose values only Core Data can
    /// compute.
    case derivationCannotBeComputed
    /// The values of a derived attribute that only Core Data can compute do not stay as they are,
    /// or not those of a property that they are computed from, which has this name.
    case derivedValueNotKept(changed: String?)
    /// A trigger of this name keeps a derived attribute, in a form that only Core Data knows, and
    /// something that it names changes.
    case triggerCannotBeKept(String)
    /// A transient attribute's value is in no store, so there is nothing to continue.
    case storedFormUnknown(String)
    /// One renaming identifier joins several names of the source or the destination, so that it is
    /// not known which of them belong together.
    case renamingAmbiguous(identifier: String, sources: [String], destinations: [String])
    /// The table of a hierarchy would need more columns than SQLite allows.
    case tableTooWide(columns: Int)
    /// Two tables would have one name, or a table that of one of Core Data's own; the root entities
    /// and relationships that need it.
    case tableNameTaken(String, by: [String])
    /// The relationship is kept in a form from which the wanted one cannot be made.
    case relationshipForm
    /// A demand that `count` objects of the store break; some of their keys, the lowest first.
    case condition(Condition.Demand, count: Int64, keys: [Int64])
    /// Files that hold `count` external values cannot be had; some of the keys of their objects,
    /// the lowest first, and some of the files' names.
    case externalFiles(ExternalFileFault, count: Int64, keys: [Int64], names: [String])
    /// CloudKit mirroring could not continue; the place may be a table and its column.
    case mirroring(MirroringObstacle)
  }

  /// What stands against the migration.
  package var reason: Reason
  /// The destination entity.
  package var entity: String
  /// The destination property; nil where the entity itself is meant.
  package var property: String?
  /// The source entity of the objects, where the destination entity has objects of several.
  package var sourceEntity: String?
  /// Whether values that do not fit cannot become nil, since more is made of them.
  package var isOfSharedValues = false

  /// Takes the destination entity, and its property where one is at fault.
  package init(reason: Reason, entity: String, property: String? = nil) {
    self.reason = reason
    self.entity = entity
    self.property = property
  }

  /// 134190 for what follows from the models; what is found in the store has codes of its own.
  package var code: CoreDataCode {
    switch reason {
    case .condition(let demand, _, _): demand.code
    case .externalFiles, .mirroring: .migration
    case .incompatibleTypes, .attributeBecameRelationship, .relationshipBecameAttribute,
      .destinationEntityChanged, .hierarchiesMerged,
      .derivationCannotBeComputed, .derivedValueNotKept, .triggerCannotBeKept,
      .storedFormUnknown, .renamingAmbiguous, .relationshipForm, .tableTooWide, .tableNameTaken:
      .inferredMappingModel
    }
  }
}

extension Refusal.Reason {
  /// Whether a mapping model can define what inference cannot decide.
  package var isLiftedByMapping: Bool {
    switch self {
    case .incompatibleTypes, .attributeBecameRelationship, .relationshipBecameAttribute,
      .destinationEntityChanged, .hierarchiesMerged, .renamingAmbiguous,
      .relationshipForm:
      true
    case .condition(.noObjects, _, _), .condition(.noObjectsForDefault, _, _),
      .condition(.noObjectsOfAbstract, _, _), .condition(.noMissingValues, _, _),
      .condition(.singleOwner, _, _):
      true
    default: false
    }
  }

  static func renaming(_ ambiguity: RenamingMatch.Ambiguity) -> Self {
    .renamingAmbiguous(
      identifier: ambiguity.identifier, sources: ambiguity.sources,
      destinations: ambiguity.destinations)
  }
}

/// A demand on the objects of a source store without which the migration cannot be done.
package struct Condition: Hashable, Sendable {
  /// What is demanded.
  package enum Demand: Hashable, Sendable {
    /// There are no objects: the destination attribute is mandatory, new and has no default.
    ///
    /// `isUnique` is set where no two objects may have the same value, and so not a default value.
    case noObjects(missing: String, isUnique: Bool = false)
    /// There are no objects: a mapping model gives the mandatory destination attribute no value.
    case noObjectsLeftNil(attribute: String)
    /// There are no objects: the default value of the new attribute, or of one that must not be nil
    /// any more, is of a form that cannot be put into rows.
    case noObjectsForDefault(String)
    /// There are no objects: the destination entity is abstract.
    case noObjectsOfAbstract
    /// The source attribute has a value in every object; `isUnique` as for `noObjects`.
    case noMissingValues(attribute: String, isUnique: Bool = false)
    /// The destination relationship, which is to-one and mandatory, leads somewhere.
    ///
    /// `before` is the relationship of the source that it continues, where that was mandatory too:
    /// objects that lack it already break nothing new.
    case noMissingReferences(before: String?)
    /// The values of the source attribute fit the destination type.
    case valuesFit(attribute: String, type: String)
    /// No two objects agree in all of these destination attributes.
    case unique(properties: [String])
    /// There is one object at most: all get the same default values in these attributes.
    ///
    /// `beside` is the source attribute in which others have values of their own; nil where none
    /// has.
    case defaultsDiffer(properties: [String], beside: String? = nil)
    /// No two objects have the same object in this source relationship.
    case singleOwner(relationship: String)
    /// No object has several objects in this source relationship.
    case singleObject(relationship: String)
  }

  /// What is demanded.
  package var demand: Demand
  /// The source entity whose objects are meant, without those of its subentities.
  package var sourceEntity: String
  /// The destination entity that the objects become.
  package var destinationEntity: String
  /// The destination property.
  package var property: String?

  /// Demands something of the objects of one source entity.
  package init(
    demand: Demand, sourceEntity: String, destinationEntity: String, property: String? = nil
  ) {
    self.demand = demand
    self.sourceEntity = sourceEntity
    self.destinationEntity = destinationEntity
    self.property = property
  }

  /// Core Data's code for objects that break it.
  package var code: CoreDataCode { demand.code }
}

extension Condition.Demand {
  /// The code of Core Data for objects that break it.
  package var code: CoreDataCode {
    switch self {
    case .noObjects, .noObjectsLeftNil, .noMissingValues: .validationMissingMandatoryProperty
    case .unique, .defaultsDiffer: .migrationConstraintViolation
    case .noObjectsOfAbstract, .noObjectsForDefault, .noMissingReferences, .valuesFit,
      .singleOwner, .singleObject:
      .migration
    }
  }
}
