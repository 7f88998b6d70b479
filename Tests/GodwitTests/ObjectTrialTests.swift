import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct ObjectTrialTests {
  /// A store whose mapping file gives the new attribute that value.
  private func given(_ expression: String) throws -> (GivenStore, StoreMigration) {
    let given = try GivenStore(
      Model.entity("Note", Model.attribute("title", "String", "")),
      Model.entity(
        "Note", Model.attribute("title", "String", "") + Model.attribute("nickname", "String", "")))
    let mapping = given.folder.appending(path: "maps/Step.json")
    try FileManager.default.createDirectory(
      at: mapping.deletingLastPathComponent(), withIntermediateDirectories: true)
    try """
    {"format": "godwit mapping model", "version": 1, "mappings": [{"name": "NoteToNote",
     "type": "transform", "source": "Note", "destination": "Note",
     "attributes": {"title": "$source.title", "nickname": \(expression)}, "relationships": {}}]}
    """.write(to: mapping, atomically: true, encoding: .utf8)
    var migration = given.migration()
    migration.routing.mappings = [FilePath(mapping.path)]
    return (given, migration)
  }

  @Test(arguments: ["null", "\"FUNCTION($source.title, \\\"nothing\\\")\""])
  func `what a mapping cannot make is refused before the migration`(
    expression: String
  ) async throws {
    let (given, migration) = try given(expression)
    let before = try given.names
    var failures: [MigrationFailure] = []
    do {
      let tried = try await migration.prepare(trying: StoreMigration.triedObjects)
      failures = [tried.refusal].compactMap(\.self)
    } catch {
      failures = [error]
    }
    let told = try #require(failures.first)
    let met = try await given.failure(of: migration)
    #expect(told.exitStatus == met.exitStatus && told.sentences == met.sentences)
    #expect(try given.names == before)
  }

  @Test func `more objects than are tried are told with their number`() async throws {
    let (given, migration) = try given("\"$source.title\"")
    defer { withExtendedLifetime(given) {} }
    let found = try await migration.prepare(trying: 10)
    #expect(found.isPossible)
    #expect(found.untried == [.init(entity: "Note", objects: 60)])
    #expect(found.untriedNote?.contains("60 objects of Note") == true)
    let tried = try await migration.prepare(trying: 60)
    #expect(tried.isPossible)
    #expect(tried.untried == [])
    #expect(tried.untriedNote == nil)
  }

  @Test func `what is inferred is neither tried nor told`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let found = try await given.migration().prepare(trying: 0)
    #expect(found.isPossible && found.untried == [])
  }

  @Test func `a store without objects is told to have none`() async throws {
    let given = try GivenStore(Model.note, Model.longNote, objects: 0)
    let found = try await given.migration().prepare()
    #expect(found.notes == ["It has no objects."])
  }

  @Test func `the page of a check has the target last, and the cross there`() async throws {
    let given = try GivenStore(
      Model.entity("Note", Model.attribute("title", "String", "")),
      Model.entity("Note", Model.attribute("title", "Binary")))
    let check = try StoreCheck(of: given.migration())
    let search = StoreSearch([FilePath(given.store.path)])
    let report = CheckReport(await check.run(search.entries), by: check, in: search)
    let page = report.page
    let row = try #require(page.range(of: "Store.sqlite</td>")).upperBound
    let cells = page[row...].components(separatedBy: "</td>").prefix(2)
    #expect(cells[0].hasSuffix("●") && cells[1].hasSuffix("✗"))
    #expect(report.exitStatus != 0)
  }

  @Test func `a rule that many objects break is one sentence`() async throws {
    let (kept, migration) = try given("\"TERNARY($source.title == \\\"none\\\", \\\"a\\\", nil)\"")
    let tried = try await migration.prepare(trying: StoreMigration.triedObjects)
    let refusal = try #require(tried.refusal)
    #expect(refusal.sentences.count == 2)
    #expect(refusal.sentences[1].hasPrefix("Note.nickname, 60 objects (Z_PK 1, 2, 3, 4, "))
    #expect(refusal.sentences[1].hasSuffix(", …): mandatory, and has no value [1570]."))
    #expect(try refusal.reasons.count == 60 && !kept.names.isEmpty)
  }
}
