package import Godwit

/// Marks each object by a value of its source object and needs no other; scripts/bench measures it.
package final class MarkingPolicy: EntityMigrationPolicy {
  override package var objectsAreIndependent: Bool { true }

  override package func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let amount = try source.value("amount").realValue ?? 0
    for object in try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    {
      try object.setValue(amount < 0 ? "spent" : "earned", for: "note")
    }
  }
}
