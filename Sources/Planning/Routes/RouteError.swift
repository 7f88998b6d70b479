package import Mapping

/// Why there is no route.
package enum RouteError: Error, Sendable {
  /// A step that can neither be inferred nor has a mapping model (Core Data's 134140).
  package struct Gap: Hashable, Sendable {
    /// The names of the version, as far as it has any.
    package var source: [String]
    /// The names of the version that the step leads to, as far as it has any.
    package var destination: [String]
    /// Why the step cannot be inferred.
    package var refusals: [Refusal]
  }

  /// Steps without a mapping, and mapping models for versions whose model is missing (134130).
  case mappingsMissing([Gap], unknown: [MigrationRoute.Unused], infers: Bool)
  /// Mapping models that would be used cannot be read.
  case mappingsUnreadable([String])
  /// Neither identifiers nor names show in which order the versions followed each other.
  case orderUnknown([[String]])
  /// The mapping model that was named has no place on the route.
  case mappingFitsNothing(String)
  /// Of the mapping models in a named folder none fits any two versions.
  case noMappingFits([MigrationRoute.Unused])
}
