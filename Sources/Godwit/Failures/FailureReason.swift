import Foundation
import MigrationCoordinator

extension MigrationFailure {
  /// One of the reasons for a failure.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// What prevents the migration.
    public enum Cause: Hashable, Sendable {
      /// The types of an attribute before and after cannot be converted.
      case incompatibleTypes(source: String, destination: String)
      /// An attribute became a relationship.
      case attributeBecameRelationship
      /// A relationship became an attribute.
      case relationshipBecameAttribute
      /// A to-many relationship became to-one.
      case toManyBecameToOne
      /// A relationship refers to another entity than before.
      case destinationEntityChanged(source: String, destination: String)
      /// Two hierarchies would share one table.
      case hierarchiesMerged(roots: [String])
      /// A derived attribute would have to be computed in a form that only Core Data knows.
      case derivationNotComputed
      /// A trigger of that name keeps a derived attribute in a form that only Core Data knows, and
      /// something that it names changes.
      case triggerNotKept(String)
      /// One renaming identifier connects several names.
      case renamingAmbiguous(identifier: String, sources: [String], destinations: [String])
      /// An attribute has no known stored form.
      case storedFormUnknown(String)
      /// The table of a hierarchy would need more columns than SQLite allows.
      case tableTooWide(columns: Int)
      /// A table would have the name of another one or of one of Core Data's own.
      case tableNameTaken(String, by: [String])
      /// A relationship's columns in the source cannot become those of the destination.
      case relationshipForm
      /// A new attribute is mandatory and has no default value, and there are objects.
      case mandatoryWithoutDefault
      /// A default value has a form that cannot be stored in rows.
      case defaultNotStorable(String)
      /// An entity is abstract now, and there are objects of it.
      case entityBecameAbstract
      /// A mandatory attribute lacks values.
      case valuesMissing
      /// Objects would lack a mandatory to-one relationship.
      case referencesMissing
      /// Values do not fit the new type.
      case valuesDoNotFit(type: String)
      /// Objects have equal values where a uniqueness constraint requires different ones.
      case notUnique(properties: [String])
      /// Several objects refer to one that may have only one owner now.
      case ownerShared(relationship: String)
      /// External files of values are missing; some of their names.
      case externalFilesMissing([String])
      /// External files of values are links, no regular files, or not to be read by this user; some
      /// of their names.
      case externalFilesUnreadable([String])
      /// Two values of the result would name the same external files; some of their names.
      case externalFilesShared([String])
      /// The store has a feature that cannot be migrated.
      case unsupported(Feature)
      /// Data would be lost.
      case loss(StoreMigration.Loss)
      /// An object of the result violates a validation rule of the model.
      case violation(StoreMigration.Violation)
      /// A file system has too little free space, in bytes.
      case diskShortage(needed: Int64, available: Int64)
      /// CloudKit mirroring could not continue.
      case cloudKit
      /// A mapping model does not fit the models, or refers to what does not exist.
      case mapping
    }

    /// A feature of a store that cannot be migrated.
    public enum Feature: String, Hashable, Sendable, CaseIterable {
      /// Persistent history.
      case persistentHistory
      /// A migration that Core Data has put off in part.
      case deferredMigration
      /// Persistent history with an embedded model other than that of the version hashes.
      case historyOfOtherModel
      /// The tables of CloudKit mirroring.
      case cloudKitMirroring
      /// A table with rows, a column, view, trigger or index that the model knows nothing of.
      case extraTables
    }

    /// What prevents the migration.
    public var cause: Cause
    /// The entity concerned, nil if there is none.
    public var entity: String?
    /// The property concerned, nil if there is none.
    public var property: String?
    /// How many objects are concerned, nil if they were not counted.
    public var count: Int64?
    /// Some of the lowest primary keys (`Z_PK`) of these objects.
    public var keys: [Int64] = []
    /// The code with which Core Data fails in the same case, nil if it has none.
    public var coreDataCode: Int?
    /// The remedy, in the imperative and without a full stop; nil if only the description has one.
    public var advice: String?
    /// One sentence, with the advice.
    public var description: String
  }
}

extension MigrationFailure.Reason.Cause {
  /// The names of all cases.
  package enum Name: String, CaseIterable {
    case incompatibleTypes
    case attributeBecameRelationship
    case relationshipBecameAttribute
    case toManyBecameToOne
    case destinationEntityChanged
    case hierarchiesMerged
    case derivationNotComputed
    case triggerNotKept
    case renamingAmbiguous
    case storedFormUnknown
    case tableTooWide
    case tableNameTaken
    case relationshipForm
    case mandatoryWithoutDefault
    case defaultNotStorable
    case entityBecameAbstract
    case valuesMissing
    case referencesMissing
    case valuesDoNotFit
    case notUnique
    case ownerShared
    case externalFilesMissing
    case externalFilesUnreadable
    case externalFilesShared
    case unsupported
    case loss
    case violation
    case diskShortage
    case cloudKit
    case mapping
  }

  /// The name of the case, which stays what it is whatever comes with it.
  public var name: String { ownName.rawValue }

  private var ownName: Name {
    switch self {
    case .incompatibleTypes: .incompatibleTypes
    case .attributeBecameRelationship: .attributeBecameRelationship
    case .relationshipBecameAttribute: .relationshipBecameAttribute
    case .toManyBecameToOne: .toManyBecameToOne
    case .destinationEntityChanged: .destinationEntityChanged
    case .hierarchiesMerged: .hierarchiesMerged
    case .derivationNotComputed: .derivationNotComputed
    case .triggerNotKept: .triggerNotKept
    case .renamingAmbiguous: .renamingAmbiguous
    case .storedFormUnknown: .storedFormUnknown
    case .tableTooWide: .tableTooWide
    case .tableNameTaken: .tableNameTaken
    case .relationshipForm: .relationshipForm
    case .mandatoryWithoutDefault: .mandatoryWithoutDefault
    case .defaultNotStorable: .defaultNotStorable
    case .entityBecameAbstract: .entityBecameAbstract
    case .valuesMissing: .valuesMissing
    case .referencesMissing: .referencesMissing
    case .valuesDoNotFit: .valuesDoNotFit
    case .notUnique: .notUnique
    case .ownerShared: .ownerShared
    case .externalFilesMissing: .externalFilesMissing
    case .externalFilesUnreadable: .externalFilesUnreadable
    case .externalFilesShared: .externalFilesShared
    case .unsupported: .unsupported
    case .loss: .loss
    case .violation: .violation
    case .diskShortage: .diskShortage
    case .cloudKit: .cloudKit
    case .mapping: .mapping
    }
  }
}

extension MigrationFailure.Reason: Encodable {
  /// Encodes a reason as `godwit … --json` prints it (docs/schemas/error.schema.json).
  public func encode(to encoder: any Encoder) throws {
    try MigrationReport.Reason(self).encode(to: encoder)
  }
}

extension MigrationFailure.Reason {
  /// The entries of Core Data's error `userInfo`.
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
