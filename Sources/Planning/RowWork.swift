package import Mapping
package import ObjectModel

/// What a worker needs to compute values that row programs call for.
package struct RowWork: Hashable, Codable, Sendable {
  package var source: ManagedObjectModel
  package var destination: ManagedObjectModel
  package var mapping: MappingModel
  /// Seconds since 2001: every attempt at every piece sees the same time.
  package var now: Double

  package init(
    source: ManagedObjectModel, destination: ManagedObjectModel, mapping: MappingModel, now: Double
  ) {
    self.source = source
    self.destination = destination
    self.mapping = mapping
    self.now = now
  }
}
