/// A feature of Core Data whose data this version cannot migrate (docs/store-format.md).
package enum UnsupportedFeature: String, Hashable, Codable, Sendable, CaseIterable {
  /// Persistent history of an unknown form: its tables have other columns than those known.
  case persistentHistory
  /// Derived attributes: there are triggers named `Z_DA_…`.
  case derivedAttributeTriggers
  /// Mirroring to CloudKit: there are tables named `ANSCK…` or `ZANSCK…`.
  case cloudKitMirroring
}
