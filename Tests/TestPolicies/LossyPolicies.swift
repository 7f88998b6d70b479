package import Godwit

/// Makes nothing of every fifth source key, and what Core Data makes of the others.
package final class DroppingPolicy: EntityMigrationPolicy {
  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    if source.primaryKey.isMultiple(of: 5) { return }
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }
}

/// Makes a second object, with nothing in it, of every seventh source key.
package final class DoublingPolicy: EntityMigrationPolicy {
  package override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    guard source.primaryKey.isMultiple(of: 7), let name = mapping.destinationEntityName else {
      return
    }
    let second = try manager.insertNewObject(forEntityName: name)
    try manager.associate(sourceInstance: source, withDestinationInstance: second, for: mapping)
  }
}

extension MigrationPolicies {
  /// Adds policies that make less or more than one object of each.
  package mutating func registerLossy() {
    register("Dropping") { DroppingPolicy() }
    register("Doubling") { DoublingPolicy() }
  }
}
