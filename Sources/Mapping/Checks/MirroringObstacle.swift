/// Why a store that is mirrored with CloudKit cannot be migrated with its mirroring.
///
/// iCloud's schema only ever grows, and learns of changed objects from the history alone
/// (docs/how-to/cloudkit.md).
package enum MirroringObstacle: Hashable, Sendable {
  /// What a model changes of what iCloud's schema keeps.
  package enum Change: Hashable, Sendable {
    /// The entity gets another name, and iCloud keeps the records of the old one.
    case entityRenamed(to: String)
    /// The entity inherits from another one, or from none any more.
    case superentityChanged
    /// The entity is to have no objects of its own any more.
    case entityBecameAbstract
    /// The property is gone.
    case propertyRemoved
    /// The property gets another name.
    case propertyRenamed(to: String)
    /// The attribute gets another type.
    case typeChanged(source: String, destination: String)
    /// The relationship leads elsewhere, or to one object instead of several or the reverse.
    case relationshipChanged
    /// The relationship is ordered, and was not or is new.
    case ordered
    /// A uniqueness constraint over these properties is new.
    case constraint([String])
    /// The property is mandatory without a default value, and was not or is new.
    case mandatory
    /// The attribute is encrypted in iCloud, and was not, or the reverse.
    case encryption
  }

  /// A model changes what iCloud's schema keeps.
  case changed(Change)
  // What the mapping does
  /// A mapping model or a policy changes values, which iCloud would never learn.
  case valuesChanged
  /// A mapping model takes no objects of the entity, whose records would lead nowhere.
  case objectsLeftOut
  /// Objects are made one by one, which empties the history.
  case historyEmptied
  // What is in the tables
  /// The table of records lacks columns, or has a form that is not known.
  case unknownForm
  /// A view, a trigger or a virtual table belongs to mirroring.
  case notCopied
  /// Values of a column may be entity numbers that change; how many.
  case mayHoldNumbers(count: Int64)
  /// Values of a column lead to rows of record metadata that would go; how many.
  case leadsToRecords(count: Int64)
  // Requested options
  /// An option of the migration, which removes or changes what iCloud relies on.
  case option(MigrationChoice)
}
