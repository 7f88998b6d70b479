package import Mapping
import Schema

/// Accounts for every source row of one stage: migrated or dropped.
package struct StageAccounts: Hashable, Codable, Sendable {
  /// Objects that were not migrated, for one cause.
  package struct Drop: Hashable, Codable, Sendable {
    /// Why they were dropped.
    package var cause: LossCause
    /// How many were dropped.
    package var objects: Int64
  }

  /// The objects of one source entity; `rowsIn` is `rowsOut` plus all of `dropped`.
  package struct OfEntity: Hashable, Codable, Sendable {
    /// The name of the source entity; its subentities have accounts of their own.
    package var entity: String
    /// Rows of the entity in the source.
    package var rowsIn: Int64
    /// Those of `rowsIn` from which at least one destination object was made.
    package var rowsOut: Int64
    /// The others, by cause.
    package var dropped: [Drop]
    /// True if the table stayed in place, so that its rows were not counted; else nil.
    package var isEstimated: Bool?
  }

  /// The pairs of one many-to-many relationship, counted in its join table.
  package struct OfPairs: Hashable, Codable, Sendable {
    /// The entity that owns the relationship after which the join table is named.
    package var entity: String
    /// The relationship after which the join table is named.
    package var relationship: String
    /// Rows of the join table in the source.
    package var rowsIn: Int64
    /// Rows written to the destination's join table.
    package var rowsOut: Int64
    /// Pairs with a NULL key.
    package var incomplete: Int64
    /// Pairs whose relationship, or one of whose objects, does not exist in the destination.
    package var dropped: Int64
    /// True if the table stayed in place, so that its rows were not counted; else nil.
    package var isEstimated: Bool?
  }

  /// The references of one relationship, or the pairs of two; `referencesIn` is `referencesOut`
  /// plus all of `dropped`.
  package struct OfReferences: Hashable, Codable, Sendable {
    /// References that the result does not have, for one cause.
    package struct Drop: Hashable, Codable, Sendable {
      /// Why it does not have them; where their object goes as well, why that goes.
      package var cause: LossCause
      /// How many there are.
      package var references: Int64
    }

    /// The entity that declares the relationship; of pairs, after which the join table is named.
    package var entity: String
    /// The relationship.
    package var relationship: String
    /// References in the source, those to objects that are not there among them.
    package var referencesIn: Int64
    /// Those of `referencesIn` that the destination has.
    package var referencesOut: Int64
    /// The others, by cause.
    package var dropped: [Drop]
  }

  /// The rows of persistent history.
  package struct OfHistory: Hashable, Codable, Sendable {
    /// The rows of one table.
    package struct Table: Hashable, Codable, Sendable {
      /// The name of the table.
      package var table: String
      /// Rows in the source.
      package var rowsIn: Int64
      /// Those of `rowsIn` that the destination has.
      package var rowsOut: Int64
    }

    /// The tables of changes, transactions and strings.
    package var tables: [Table] = []
    /// Changes that went with their entity, by its name in the source.
    package var removed: [String: Int64] = [:]
    /// Changes that name more properties than are known to be updated, by destination entity.
    package var wideMasks: [String: Int64] = [:]
  }

  /// The rows of one table of CloudKit mirroring.
  package struct OfTable: Hashable, Codable, Sendable {
    /// The name of the table.
    package var table: String
    /// Rows in the source.
    package var rowsIn: Int64
    /// Those of `rowsIn` that the destination has.
    package var rowsOut: Int64
  }

  /// The number of the stage, from 1.
  package var stage = 1
  /// Persistent history, if the source keeps it and rows were migrated by programs.
  package var history: OfHistory?
  /// The tables of CloudKit mirroring, if they were carried over.
  package var mirroring: [OfTable]?
  /// All entities of the source that are not abstract.
  package var entities: [OfEntity] = []
  /// What each entity mapping took and made, if objects were migrated one by one.
  package var mappings: [ObjectAccounts.OfMapping] = []
  /// The join tables of the source: all if rows were migrated by programs, and those on whose pairs
  /// mappings alone decide if objects were.
  package var pairs: [OfPairs] = []
  /// References of relationships that lose some; all others are in the destination.
  package var references: [OfReferences]?
  /// Rows written, by destination entity.
  package var rows: [String: Int64] = [:]
}

/// Two counts that should agree and do not, which forbids the swap.
package struct AccountMismatch: Hashable, Codable, Sendable {
  /// Which counts disagree.
  package enum Side: String, Hashable, Codable, Sendable {
    /// Rows of a source table, counted by the survey and by the workers.
    case table
    /// Objects in, and the sum of those out and dropped.
    case source
    /// Objects that an entity mapping took, and those that it made.
    case mapping
    /// Rows of a destination entity, and the objects made for it.
    case destination
    /// References that continue, and those that the result has.
    case reference
  }

  /// Which counts disagree.
  package var side: Side
  /// The table, the entity or the mapping that was counted.
  package var name: String
  /// The count of the source.
  package var expected: Int64
  /// The count of what was done.
  package var found: Int64
}

/// Collects the mismatches in the accounts of one stage.
struct AccountCheck {
  private(set) var mismatches: [AccountMismatch] = []

  mutating func expect(
    _ expected: Int64, found: Int64, side: AccountMismatch.Side, name: String
  ) {
    if expected == found { return }
    mismatches.append(.init(side: side, name: name, expected: expected, found: found))
  }

  func requireAgreement() throws {
    if !mismatches.isEmpty { throw MigrationError.accountsDiffer(mismatches) }
  }
}

extension [Loss] {
  /// The pairs of a join table without one of their keys that are among the losses.
  func incompletePairs(of join: JoinTable) -> Int64 {
    first {
      $0.cause == .missingKey && $0.entity == join.first.entityName
        && $0.property == join.first.relationshipName
    }?.count ?? 0
  }
}
