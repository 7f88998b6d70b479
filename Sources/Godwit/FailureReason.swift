import Foundation

extension MigrationFailure {
  /// One of the reasons why something failed.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// What is in the way.
    public enum Cause: Hashable, Sendable {
      /// The types of an attribute before and after cannot be converted.
      case incompatibleTypes(source: String, destination: String)
      /// An attribute became a relationship.
      case attributeBecameRelationship
      /// A relationship became an attribute.
      case relationshipBecameAttribute
      /// A to-many relationship became to-one.
      case toManyBecameToOne
      /// A relationship leads to another entity.
      case destinationEntityChanged(source: String, destination: String)
      /// Two hierarchies would share one table.
      case hierarchiesMerged(roots: [String])
      /// A new derived attribute would have to be computed.
      case derivationNotComputed
      /// One renaming identifier joins several names.
      case renamingAmbiguous(identifier: String, sources: [String], destinations: [String])
      /// An attribute has no known stored form.
      case storedFormUnknown(String)
      /// A relationship is kept in a form from which the new one cannot be made.
      case relationshipForm
      /// A new attribute is mandatory, has no default, and there are objects.
      case mandatoryWithoutDefault
      /// A default value is of a form that cannot be put into rows.
      case defaultNotStorable(String)
      /// An entity is abstract now, and there are objects of it.
      case entityBecameAbstract
      /// A mandatory attribute lacks values.
      case valuesMissing
      /// Values do not fit the new type.
      case valuesDoNotFit(type: String)
      /// Objects agree in what a uniqueness constraint tells apart.
      case notUnique(properties: [String])
      /// Several objects share one that may have one owner now.
      case ownerShared(relationship: String)
      /// The external file of a value is missing.
      case externalFileMissing(String)
      /// The store has what cannot be carried over.
      case unsupported(Feature)
      /// Data would be lost.
      case loss(StoreMigration.Loss)
      /// An object of the result breaks a rule of the model.
      case violation(StoreMigration.Violation)
      /// A file system has too little room, in bytes.
      case diskShortage(needed: Int64, available: Int64)
      /// A mapping model does not fit the models, or names what there is not.
      case mapping
    }

    /// What a store may have that cannot be carried over.
    public enum Feature: String, Hashable, Sendable, CaseIterable {
      /// Persistent history.
      case persistentHistory
      /// Derived attributes with triggers.
      case derivedAttributeTriggers
      /// The tables of CloudKit mirroring.
      case cloudKitMirroring
    }

    /// What is in the way.
    public var cause: Cause
    /// The entity, where one is concerned.
    public var entity: String?
    /// The property, where one is concerned.
    public var property: String?
    /// How many objects are concerned, where they were counted.
    public var count: Int64?
    /// Some keys (`Z_PK`) of theirs, the lowest first.
    public var keys: [Int64] = []
    /// Core Data's code for it, where it has one.
    public var coreDataCode: Int?
    /// One sentence, which says what to do.
    public var description: String
  }
}

extension MigrationFailure.Reason {
  /// The keys that Core Data's errors have.
  var userInfo: [String: Any] {
    var info: [String: Any] = ["reason": description]
    if let entity { info["entity"] = entity }
    if let property { info["property"] = property }
    return info
  }

  /// The reason as an error of its own.
  var error: NSError {
    var info = userInfo
    info[NSLocalizedDescriptionKey] = description
    return NSError(domain: NSCocoaErrorDomain, code: coreDataCode ?? 134110, userInfo: info)
  }
}
