package import Mapping

/// Where all objects of a store went, in one stage of a migration.
package struct StageAccounts: Hashable, Codable, Sendable {
  /// Objects that came to nothing for one cause.
  package struct Drop: Hashable, Codable, Sendable {
    package var cause: LossCause
    package var objects: Int64
  }

  /// The objects of one source entity: those that came in are those that went out and those that
  /// were dropped.
  package struct OfEntity: Hashable, Codable, Sendable {
    package var entity: String
    /// Rows that the source has.
    package var rowsIn: Int64
    /// Of those, the ones of which something was made.
    package var rowsOut: Int64
    package var dropped: [Drop]
  }

  /// The pairs of one source join table.
  package struct OfPairs: Hashable, Codable, Sendable {
    package var entity: String
    package var relationship: String
    package var rowsIn: Int64
    package var rowsOut: Int64
    /// Pairs without one of their keys.
    package var incomplete: Int64
    /// Pairs whose relationship or one of whose objects has no place.
    package var dropped: Int64
  }

  /// Which stage, from 1.
  package var stage = 1
  package var entities: [OfEntity] = []
  /// What each mapping took and made, where a mapping model says it.
  package var mappings: [ObjectAccounts.OfMapping] = []
  package var pairs: [OfPairs] = []
  /// Rows that were written, by destination entity.
  package var rows: [String: Int64] = [:]
}

/// Numbers of rows that do not agree, so that nothing may be swapped.
package struct AccountMismatch: Hashable, Codable, Sendable {
  package enum Side: String, Hashable, Codable, Sendable {
    /// Rows of a source table, counted twice.
    case table
    /// Objects in, against those out and dropped.
    case source
    /// Objects that a mapping took, against those that it made.
    case mapping
    /// Rows of a destination entity, against the objects that were made for it.
    case destination
  }

  package var side: Side
  /// The table, the entity or the mapping.
  package var name: String
  package var expected: Int64
  package var found: Int64
}

/// Compares accounts of one stage, and throws where they do not add up.
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
