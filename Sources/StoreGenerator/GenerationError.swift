package import ObjectModel
package import Schema
package import SystemPackage

/// Why a store could not be generated.
package struct GenerationError: Error, Sendable {
  /// What is wrong.
  package enum Problem: Hashable, Sendable {
    /// The number of objects is negative, or larger than 2^40.
    case rowsOutOfRange(Int64)
    /// The model has no configuration of this name.
    case configurationUnknown(String)
    /// The model has no entities, so there can be no objects.
    case noEntity
    /// All entities are abstract, so there can be no objects.
    case noConcreteEntity
    /// A part of the model's file that the store depends on could not be read.
    case unread(entity: String?, property: String?, UnreadPart)
    /// So many transactions and changes cannot be made.
    case historyOutOfRange(HistorySize)
    /// A version hash of the model is not known.
    case hashUnknown(UnknownVersionHash)
    /// The tables of the model are not known.
    case schemaNotSupported(SchemaError)
    /// A uniqueness constraint covers too few different values, none of them optional.
    case constraintCannotHold(index: String)
    /// A file or folder has the path of the output, or of what belongs to it.
    case outputExists
    /// The name of the output has more bytes than this, which leaves no room for the names of its
    /// unfinished files.
    case nameTooLong(most: Int)
    /// The folder of the output does not exist.
    case folderMissing
    /// The disk of the output has less room than the store would take, in bytes.
    case spaceMissing(needed: Int64, free: Int64)
    /// The system or SQLite failed to write, see `cause`.
    case writeFailed
    /// The `progress` closure threw, see `cause`.
    case interrupted
  }

  /// What is wrong.
  package var problem: Problem
  /// The file or folder concerned, nil for a fault of the model.
  package var place: FilePath?
  /// The error behind it, nil if there is none.
  package var cause: (any Error)?

  /// Creates an error.
  package init(_ problem: Problem, at place: FilePath? = nil, cause: (any Error)? = nil) {
    self.problem = problem
    self.place = place
    self.cause = cause
  }
}

/// What was generated.
package struct GenerationReport: Hashable, Sendable {
  /// The rows of one entity or join table.
  package struct Count: Hashable, Sendable {
    /// The entity or the join table.
    package var name: String
    /// How many rows it has.
    package var rows: Int64
  }

  /// A property whose values do not follow the model.
  package struct Note: Hashable, Sendable {
    /// What its values lack.
    package enum Reason: Hashable, Sendable {
      /// The derivation is not supported; the attribute is NULL.
      case derivationNotComputed
      /// A pattern or predicate is not evaluated; in place of a pattern there is the default value.
      case validationNotHonoured
      /// A mandatory relationship is empty, because the other side has too few objects.
      case mandatoryLeftEmpty
      /// The inverse has more objects than its maximum.
      case maximumExceeded
      /// Values are NULL, or no object is referred to twice, to satisfy a uniqueness constraint.
      case limitedByConstraint
    }

    /// The entity that declares the property.
    package var entity: String
    /// The attribute or relationship.
    package var property: String
    /// What its values lack.
    package var reason: Reason
  }

  /// The concrete entities by entity number.
  package var entities: [Count] = []
  /// The join tables, in the order of the schema.
  package var joinTables: [Count] = []
  /// How many external binary data files the store has.
  package var externalFiles: Int64 = 0
  /// The bytes of these files.
  package var externalBytes: Int64 = 0
  /// The size of the store without external files.
  package var storeBytes: Int64 = 0
  /// The properties whose values do not follow the model.
  package var notes: [Note] = []

  /// The objects of all entities.
  package var rows: Int64 { entities.reduce(0) { $0 + $1.rows } }
}
