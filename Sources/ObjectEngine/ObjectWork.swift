package import Mapping
package import ObjectModel
package import Schema

/// What a worker needs to migrate a group of entity mappings object by object.
package struct ObjectWork: Hashable, Codable, Sendable {
  /// The model of the source store.
  package var source: ManagedObjectModel
  /// The model of the destination.
  package var destination: ManagedObjectModel
  /// The mapping models of the step in running order, whole.
  package var mappings: [MappingModel]
  /// The mappings and tables that are this worker's.
  package var group: MappingGroups.Group
  /// The highest key that each root entity of the source has given.
  package var maxima: [String: Int64]
  /// Whether the rules of the destination model are checked.
  package var validates: Bool
  /// Seconds since 2001: every attempt at every group sees the same time.
  package var now: Double
  /// What the destination model leaves open of the names of join tables.
  package var naming = JoinNaming()

  /// Makes the work of a group; of join tables it names none but those that follow from the model.
  package init(
    source: ManagedObjectModel, destination: ManagedObjectModel, mappings: [MappingModel],
    group: MappingGroups.Group, maxima: [String: Int64], validates: Bool, now: Double
  ) {
    self.source = source
    self.destination = destination
    self.mappings = mappings
    self.group = group
    self.maxima = maxima
    self.validates = validates
    self.now = now
  }
}

/// What a group of entity mappings came to, besides its rows.
package struct ObjectOutcome: Hashable, Codable, Sendable {
  /// Source objects that the group's mappings took.
  package var objectsRead: Int64
  /// The highest key that each root entity of the group has given.
  package var maxima: [String: Int64]
  /// The rules of the destination model that objects of the group break.
  package var violations: ViolationList
  /// What became of each source entity, and of each mapping.
  package var accounts = ObjectAccounts()

  /// Takes what the run reports; the accounts follow.
  package init(objectsRead: Int64, maxima: [String: Int64], violations: ViolationList) {
    self.objectsRead = objectsRead
    self.maxima = maxima
    self.violations = violations
  }
}
