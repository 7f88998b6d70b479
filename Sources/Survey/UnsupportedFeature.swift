/// A feature of Core Data whose data this version cannot migrate (docs/reference/store-format.md).
package enum UnsupportedFeature: String, Hashable, Codable, Sendable, CaseIterable {
  /// Persistent history of an unknown form: its tables have other columns than those known.
  case persistentHistory
  /// A migration that Core Data has not finished: tables and columns of the old version are there.
  case deferredMigration
  /// Persistent history of a store that carries another model than that of its version hashes:
  /// nobody knows by which of them its changes tell properties.
  case historyOfOtherModel
  /// Mirroring to CloudKit: there are tables named `ANSCK…`.
  case cloudKitMirroring
}
