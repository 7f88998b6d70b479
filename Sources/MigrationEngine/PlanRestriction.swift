/// A method that the second plan of a stage avoids.
package enum PlanRestriction: String, Codable, Sendable {
  /// Taking over b-trees of the source unchanged, or leaving them where they are.
  case movesNothing
  /// Dividing the entity mappings among workers.
  case undivided
}
