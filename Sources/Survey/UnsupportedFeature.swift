/// Something in a store that this version cannot carry through a migration.
package enum UnsupportedFeature: String, Hashable, Codable, Sendable, CaseIterable {
  case persistentHistory
  case derivedAttributeTriggers
  case cloudKitMirroring
}
