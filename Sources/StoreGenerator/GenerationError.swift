package import ObjectModel
package import Schema
package import SystemPackage

/// Why a store could not be generated, and where.
package struct GenerationError: Error, Sendable {
  package enum Problem: Hashable, Sendable {
    case rowsOutOfRange(Int64)
    case configurationUnknown(String)
    /// All entities are abstract, so there is nothing to make objects of.
    case noConcreteEntity
    case hashUnknown(UnknownVersionHash)
    case schemaNotSupported(SchemaError)
    /// A uniqueness constraint over values of which there are too few, none of them optional.
    case constraintCannotHold(index: String)
    case outputExists
    case folderMissing
    case writeFailed
    /// The caller's progress closure threw.
    case interrupted
  }

  package var problem: Problem
  package var place: FilePath?
  package var cause: (any Error)?

  package init(_ problem: Problem, at place: FilePath? = nil, cause: (any Error)? = nil) {
    self.problem = problem
    self.place = place
    self.cause = cause
  }
}

/// What was generated.
package struct GenerationReport: Hashable, Sendable {
  package struct Count: Hashable, Sendable {
    package var name: String
    package var rows: Int64
  }

  /// Where a store is less than its model asks for.
  package struct Note: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
      /// The derivation has no form here; the attribute is NULL.
      case derivationNotComputed
      /// A pattern or a predicate that values are not made for; the default value stands in for a
      /// pattern.
      case validationNotHonoured
      /// Mandatory, but equal shares leave too few objects on the other side.
      case mandatoryLeftEmpty
      /// More objects than the largest number that the inverse allows.
      case maximumExceeded
      /// NULL or without a second use of an object, because a uniqueness constraint holds otherwise
      /// not.
      case limitedByConstraint
    }

    package var entity: String
    package var property: String
    package var reason: Reason
  }

  /// The concrete entities, in the order of their numbers.
  package var entities: [Count] = []
  package var joinTables: [Count] = []
  package var externalFiles: Int64 = 0
  package var externalBytes: Int64 = 0
  /// The size of the store without its external files.
  package var storeBytes: Int64 = 0
  package var notes: [Note] = []

  package var rows: Int64 { entities.reduce(0) { $0 + $1.rows } }
}
