/// A feature of Core Data whose data this version cannot migrate (docs/reference/store-format.md).
package enum UnsupportedFeature: String, Hashable, Codable, Sendable, CaseIterable {
  /// Persistent history of an unknown form: its tables have other columns than those known.
  case persistentHistory
  /// A migration that Core Data has not finished: tables and columns of the old version are there.
  case deferredMigration
  /// Persistent history of a store whose embedded model does not match its version hashes: it is
  /// unknown which model its changes refer to.
  case historyOfOtherModel
  /// Mirroring to CloudKit: there are tables named `ANSCK…`.
  case cloudKitMirroring
}
