/// What becomes of violations.
package enum ValidationMode: String, Hashable, Sendable, Codable, CaseIterable {
  /// They end the migration.
  case strict
  /// They are reported, and the migration succeeds.
  case report
  /// Nothing is checked.
  case off
}
