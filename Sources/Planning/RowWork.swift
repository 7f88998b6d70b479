package import Mapping
package import ObjectModel

/// What a worker needs to compute values that row programs call for.
package struct RowWork: Hashable, Codable, Sendable {
  /// The model of the source store.
  package var source: ManagedObjectModel
  /// The model of the destination.
  package var destination: ManagedObjectModel
  /// The mapping model whose expressions and policies are called.
  package var mapping: MappingModel
  /// Seconds since 2001: every attempt at every piece sees the same time.
  package var now: Double

  /// Makes what a worker needs, with one time for all attempts.
  package init(
    source: ManagedObjectModel, destination: ManagedObjectModel, mapping: MappingModel, now: Double
  ) {
    self.source = source
    self.destination = destination
    self.mapping = mapping
    self.now = now
  }
}
