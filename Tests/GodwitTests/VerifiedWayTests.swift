import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct VerifiedWayTests {
  private static let pages = Model.attribute("pages", "Integer 16")
  private static let title = Model.attribute("title", "String")
  private static let textPages = Model.attribute("pages", "String")

  /// Versions of which the second lacks what the other two have in types that nothing converts.
  private static func detour() throws -> GivenStore {
    try GivenStore(
      Model.entity("Note", title + pages), Model.entity("Note", title),
      Model.entity("Note", title + textPages))
  }

  private func verify(_ given: GivenStore) async throws -> StoreVerification.Report {
    try await StoreVerification(of: given.output, madeFrom: given.store).run()
  }

  private func failure(_ given: GivenStore) async throws -> MigrationFailure {
    do {
      let report = try await verify(given)
      #expect(!report.isAlike)
      return report.failure
    } catch let failure as MigrationFailure {
      return failure
    }
  }

  private func record(_ given: GivenStore) -> URL {
    given.folder.appending(path: "New.sqlite.godwit-status.json")
  }

  private func recorded(_ given: GivenStore) -> StoreMigration {
    var migration = given.migration()
    migration.handover.keepsRecord = true
    migration.choices.allowedLoss = .anything
    return migration
  }

  @Test func `a result that went over a version between is judged by its record`() async throws {
    let given = try Self.detour()
    try await recorded(given).run()
    let report = try await verify(given)
    #expect(report.isAlike && report.knowsWay, "\(report.lines)")
    #expect(report.route.map(\.to) == [["2"], ["3"]])
    #expect(report.record?.string == record(given).path)
    #expect(report.notes.contains { $0.contains("godwit-status.json states how") })
  }

  @Test func `the moment of a migration is that of its record, or of the check`() async throws {
    let given = try GivenStore(
      Model.entity("Note", Self.title),
      Model.entity("Note", Self.title + Model.attribute("made", "Date")))
    var migration = recorded(given)
    migration.routing.settings = ["Note.made=now()"]
    try await migration.run()
    #expect(try await verify(given).isAlike)
    try FileManager.default.removeItem(at: record(given))
    var alone = StoreVerification(of: given.output, madeFrom: given.store)
    alone.routing.settings = ["Note.made=now()"]
    #expect(try await alone.run().differences.allSatisfy { $0.column == "ZMADE" })
    #expect(try await !alone.run().isAlike)
    var check = try StoreCheck(of: migration)
    check.migratesCopies = true
    let finding = try await check.run(.init(path: migration.store, failure: nil))
    #expect(finding.reasons.isEmpty && finding.trial?.isCompared == true)
  }

  @Test func `rows of no entity are missed unless their loss was allowed`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    try given.change("UPDATE ZNOTE SET Z_ENT = 77 WHERE Z_PK = 4", in: given.store)
    try await recorded(given).run()
    let report = try await verify(given)
    #expect(report.isAlike, "\(report.lines)")
    #expect(
      report.notes.contains("dropped with consent: 1 row of Note without a known entity or key"))
    try FileManager.default.removeItem(at: record(given))
    #expect(try await verify(given).differences.map(\.kind) == ["rowLost"])
  }

  @Test func `a fault in a result is found beside its record`() async throws {
    let given = try Self.detour()
    try await recorded(given).run()
    let changed = try Data(contentsOf: given.output)
    let other = given.folder.appending(path: "Other.sqlite")
    try given.makeStore(of: "3", objects: 59, at: other)
    try Data(contentsOf: other).write(to: given.output)
    let wrong = try await failure(given)
    #expect(wrong.exitStatus == .damaged)
    try changed.write(to: given.output)
    #expect(try await verify(given).isAlike)
  }

  @Test func `without a record a way that cannot be known is asked for`() async throws {
    let given = try Self.detour()
    try await recorded(given).run()
    for name in try given.names where name.hasSuffix(".godwit-status.json") {
      try FileManager.default.removeItem(at: given.folder.appending(path: name))
    }
    let asked = try await failure(given)
    #expect(asked.exitStatus == .usage)
    #expect(asked.sentences.joined().contains("models and the bundle"))
    #expect(asked.sentences.joined().contains("routing.mappings"))
    var named = StoreVerification(of: given.output, madeFrom: given.store)
    named.models = [FilePath(given.model.path)]
    #expect(try await named.run().isAlike)
  }

  @Test func `a mapping model that was found is taken from the record, as it was`() async throws {
    let given = try GivenStore(
      Model.entity("Note", Self.title + Self.pages), Model.entity("Note", Self.title))
    let mapping = given.folder.appending(path: "Drop.json")
    func write(_ filter: String) throws {
      try """
      {"format": "godwit mapping model", "version": 1, "mappings": [{"name": "NoteToNote",
       "type": "transform", "source": "Note", "destination": "Note", "filter": "\(filter)",
       "attributes": {"title": "$source.title"}, "relationships": {}}]}
      """.write(to: mapping, atomically: true, encoding: .utf8)
    }
    try write("pages != 1 AND title != 'x'")
    try await recorded(given).run()
    let right = try await verify(given)
    #expect(right.isAlike, "\(right.lines)")
    #expect(right.route.map { $0.mappings.count } == [1])
    try write("pages > 100")
    let changed = try await failure(given)
    #expect(changed.exitStatus == .usage && changed.sentences[0].contains("has changed since"))
    try FileManager.default.removeItem(at: mapping)
    let gone = try await failure(given)
    #expect(gone.exitStatus == .usage && gone.sentences[0].contains("routing.mappings"))
  }

  @Test(arguments: [StoreMigration.DuplicateChoice.keepFirst, .keepLast])
  func `choices are taken from the record, or asked for`(
    choice: StoreMigration.DuplicateChoice
  ) async throws {
    let flag = Model.attribute("flag", "Boolean")
    let unique =
      "<uniquenessConstraints><uniquenessConstraint><constraint value=\"flag\"/>"
      + "</uniquenessConstraint></uniquenessConstraints>"
    let given = try GivenStore(
      Model.entity("Note", flag), Model.entity("Note", flag + Self.title + unique))
    var migration = recorded(given)
    migration.choices.duplicates = choice
    try await migration.run()
    let report = try await verify(given)
    #expect(report.isAlike, "\(report.lines)")
    #expect(report.notes.contains { $0.contains("--on-duplicate \(choice.rawValue)") })
    try FileManager.default.removeItem(at: record(given))
    let asked = try await failure(given)
    #expect(asked.exitStatus == .usage)
    #expect(asked.sentences.joined().contains("choices.duplicates"))
    migration.handover.keepsRecord = false
    let named = StoreVerification(of: FilePath(given.output.path), madeBy: migration)
    #expect(try await named.run().isAlike)
  }

  @Test func `of versions that hash alike the one that the result has is judged by`() async throws {
    func note(_ value: String) -> String {
      Model.entity(
        "Note", Self.title + Model.attribute("kind", "String", "defaultValueString=\"\(value)\""))
    }
    let given = try GivenStore(Model.entity("Note", Self.title), note("plain"), note("other"))
    try await given.migration().run()
    var verification = StoreVerification(of: given.output, madeFrom: given.store)
    verification.models = [FilePath(given.model.path)]
    let report = try await verification.run()
    #expect(report.isAlike, "\(report.lines)")
    #expect(report.route.last?.to == ["3"])
  }

  @Test func `what a configuration leaves out is told by its name`() async throws {
    let cloud = "<configuration name=\"Cloud\"><memberEntity name=\"Note\"/></configuration>"
    let entities = Model.entity("Note", Self.title) + Model.entity("Cache", Self.title)
    let given = try GivenStore(
      entities,
      Model.entity("Note", Self.title + Self.pages) + Model.entity("Cache", Self.title)
        + cloud)
    var migration = recorded(given)
    migration.configuration = "Cloud"
    try await migration.run()
    let report = try await verify(given)
    #expect(report.isAlike)
    #expect(
      report.notes.contains { $0.hasPrefix("not in the configuration Cloud: ") }, "\(report.notes)")
    #expect(!report.notes.contains { $0.contains("removed with the old version") })
  }

  @Test func `stores in the wrong order are told in a sentence`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    try await recorded(given).run()
    let swapped = StoreVerification(of: given.store, madeFrom: given.output)
    let failure = await #expect(throws: MigrationFailure.self) { try await swapped.run() }
    #expect(failure?.exitStatus == .usage && failure?.sentences.count == 1)
    #expect(failure?.sentences[0].contains("was made from") == true)
  }

  @Test func `a record of other stores is left aside`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    try await recorded(given).run()
    let other = given.folder.appending(path: "Else.sqlite")
    try given.makeStore(of: "1", objects: 10, at: other, seed: 5)
    let verification = StoreVerification(of: given.output, madeFrom: other)
    let report = try await verification.run()
    #expect(!report.isAlike && report.record == nil)
    #expect(report.notes.contains { $0.contains("describes another migration") })
  }

  @Test func `models and objects are paired along the way that was taken`() async throws {
    func entity(_ name: String, _ identifier: String?) -> String {
      let more = identifier.map { " elementID=\"\($0)\"" } ?? ""
      return "<entity name=\"\(name)\"\(more)>\(Self.title)</entity>"
    }
    let given = try GivenStore(
      entity("Customer", nil), entity("Client", "Customer"), entity("Reader", "Client"))
    let result = try await recorded(given).run()
    #expect(result.summary.contains { $0.contains("Customer, now Reader") }, "\(result.summary)")
    let diff = try ModelDiff(
      from: FilePath(given.version("1").path), to: FilePath(given.model.path))
    #expect(diff.way == ["1", "2", "3"])
    #expect(diff.entities.map(\.fate) == ["renamed"] && diff.entities[0].oldName == "Customer")
    let stores = try StoreDiff(of: FilePath(given.store.path), and: FilePath(given.output.path))
      .run()
    #expect(stores.models?.entities.map(\.fate) == ["renamed"])
  }

  @Test func `the store itself is no output, and progress ends with 1`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var same = given.migration()
    same.output = same.store
    let failure = try await given.failure(of: same)
    #expect(failure.exitStatus == .usage && failure.sentences[0].contains("leave output out"))
    let running = given.migration().start()
    // A migration that ends before the first report has none.
    var last: Double?
    for await progress in running.progress { last = progress.fraction }
    _ = try await running.result
    #expect(last ?? 1 == 1)
  }
}
