import Foundation
import Godwit
import SystemPackage
import Testing

/// A mapping model from the first version to the third, where the second shows what the names of
/// the third continue.
struct RenamedTwiceTests {
  private static func identifier(_ was: String?) -> String {
    was.map { " elementID=\"\($0)\"" } ?? ""
  }

  private static func entity(_ name: String, _ was: String?, _ properties: String) -> String {
    "<entity name=\"\(name)\"\(identifier(was))>\(properties)</entity>"
  }

  private static func reference(_ name: String, _ was: String?, to entity: String) -> String {
    "<relationship name=\"\(name)\"\(identifier(was)) optional=\"YES\" maxCount=\"1\" "
      + "deletionRule=\"Nullify\" destinationEntity=\"\(entity)\"/>"
  }

  private static func version(
    _ text: (String, String?), _ shelf: (String, String?), tag: (String, String?)
  ) -> String {
    entity(
      "Note", nil,
      Model.attribute(text.0, "String", "optional=\"YES\"\(identifier(text.1))")
        + reference(shelf.0, shelf.1, to: "Shelf"))
      + entity("Shelf", nil, Model.attribute("label", "String"))
      + entity(tag.0, tag.1, Model.attribute("name", "String"))
  }

  private func given() throws -> (GivenStore, FilePath) {
    let given = try GivenStore(
      Self.version(("a", nil), ("shelf", nil), tag: ("Tag", nil)),
      Self.version(("b", "a"), ("rack", "shelf"), tag: ("Label", "Tag")),
      Self.version(("c", "b"), ("board", "rack"), tag: ("Mark", "Label")))
    let mapping = given.folder.appending(path: "Copy.json")
    try """
    {"format": "godwit mapping model", "version": 1, "mappings": [
      {"source": "Note", "destination": "Note"}, {"source": "Shelf", "destination": "Shelf"}]}
    """.write(to: mapping, atomically: true, encoding: .utf8)
    return (given, FilePath(mapping.path))
  }

  @Test(arguments: [StoreMigration.Engine.automatic, .sql, .objects])
  func `what only the versions between keep is no loss that the model implies`(
    engine: StoreMigration.Engine
  ) async throws {
    let (given, mapping) = try given()
    var migration = given.migration()
    migration.engine = engine
    migration.routing.mappings = [mapping]
    let failure = try await given.failure(of: migration)
    let lost = ["Note.a", "Note.shelf", "Tag"]
    for name in lost {
      #expect(failure.sentences.contains { $0.hasPrefix("\(name): ") && !$0.contains("allowed") })
    }
    #expect(failure.sentences.contains { $0.contains("routing.isProgressive") })
    migration.choices.allowedLoss = .init(of: lost)
    let result = try await migration.run()
    #expect(result.losses.map(\.name).sorted() == lost)
  }

  @Test func `inference goes over the versions between and loses nothing`() async throws {
    let (given, _) = try given()
    let result = try await given.migration().run()
    #expect(result.losses.isEmpty && result.steps.count == 2)
  }
}
