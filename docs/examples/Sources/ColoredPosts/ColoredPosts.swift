import Godwit
import GodwitTool

/// Makes the color of a post, which was a text in the post itself, an object of its own.
final class ColorPolicy: EntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
    let posts = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    for post in posts {
      let color = try manager.insertNewObject(forEntityName: "Color")
      // Made of the post's key, so that two runs give the same store.
      try color.setValue(.string("color-\(source.primaryKey)"), for: "colorID")
      try color.setValue(try source.value("hexColor"), for: "hex")
      try post.setObject(color, for: "color")
    }
  }
}

@main struct ColoredPosts {
  static func main() async {
    var policies = MigrationPolicies()
    policies.register("CoreDataMigration_Example.Post2ToPost3MigrationPolicy") { ColorPolicy() }
    await GodwitTool.run(policies: policies)
  }
}
