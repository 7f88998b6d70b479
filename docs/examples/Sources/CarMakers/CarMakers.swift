import Godwit
import GodwitTool

/// Gives every car its maker: one object for each name that stood in the car itself before.
final class MakerPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let cars = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    guard let name = try source.value("maker").stringValue else { return }
    try maker(named: name, manager).addObjects(cars, to: "cars")
  }

  private func maker(named name: String, _ manager: MigrationManager) throws -> MigrationObject {
    var makers = manager.userInfo["makers"] as? [String: MigrationObject] ?? [:]
    if let known = makers[name] { return known }
    let maker = try manager.insertNewObject(forEntityName: "Maker")
    try maker.setValue(.string(name), for: "name")
    makers[name] = maker
    manager.userInfo["makers"] = makers
    return maker
  }
}

@main struct CarMakers {
  static func main() async {
    var policies = MigrationPolicies()
    policies.register("REPLACE_AT_RUNTIME.V2to3MakerPolicy") { MakerPolicy() }
    await GodwitTool.run(policies: policies)
  }
}
