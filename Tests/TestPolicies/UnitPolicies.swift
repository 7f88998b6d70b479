package import Godwit

/// Copies each object and sets a value, without declaring its objects independent: one worker has
/// to make all of them; scripts/bench measures it.
package final class CopyingPolicy: EntityMigrationPolicy {
  override package func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let copy = try manager.insertNewObject(forEntityName: mapping.destinationEntityName ?? "")
    try copy.copyAttributes(from: source)
    let count = try source.value("count").integerValue ?? 0
    try copy.setValue(.string(count > 0 ? "many" : "few"), for: "more")
    try manager.associate(sourceInstance: source, withDestinationInstance: copy, for: mapping)
  }
}

/// Finds for each book the author of its number, and relates the two; scripts/bench measures it.
package final class FindingPolicy: EntityMigrationPolicy {
  override package func createRelationships(
    forDestination book: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let number = try book.value("by")
    let authors = try manager.fetch("Author", where: "code", equals: number, limit: 1)
    try book.setObject(authors.first, for: "author")
  }
}

extension MigrationPolicies {
  /// Adds the policies whose objects one worker makes.
  package mutating func registerUnits() {
    register("Copying") { CopyingPolicy() }
    register("Finding") { FindingPolicy() }
  }
}
