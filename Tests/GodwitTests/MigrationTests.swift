import Foundation
import GRDB
import Godwit
import SystemPackage
import Testing

@Suite struct MigrationTests {
  @Test func `a store is migrated by URLs, and the result has its accounts`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.longNote + Model.tag)
    let result = try await given.migration().run()
    #expect(result.outcome == .migrated && result.wasNeeded)
    #expect(result.rows == 60)
    #expect(result.destination == FilePath(given.output.path))
    #expect(result.oldStore == nil && result.losses == [] && result.notes == [])
    #expect(result.accounts.map(\.entity).sorted() == ["Note", "Tag"])
    for account in result.accounts {
      #expect((account.objectsIn, account.objectsOut, account.stage) == (30, 30, 1))
      #expect(account.dropped.isEmpty)
    }
    let made = try StoreInspection(of: given.output)
    #expect(made.entities.map(\.rows) == [30, 30])
    #expect(try given.names == ["Notes.xcdatamodeld", "Store.sqlite", "New.sqlite"])
  }

  @Test func `a store takes its own place, and the old one is kept`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    migration.output = nil
    let old = try #require(try await migration.run().oldStore)
    #expect(try given.names.contains(old.lastComponent?.string ?? ""))
    #expect(try await migration.run().outcome == .alreadyCurrent)
  }

  @Test func `an entity that the model removes is a loss that is told`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.note)
    let result = try await given.migration().run()
    let loss = try #require(result.losses.first)
    #expect(result.losses.count == 1)
    #expect(loss.kind == .entity && loss.cause == .removed && loss.name == "Tag")
    #expect(loss.count == 30 && loss.description.contains("Tag: 30 objects"))
    #expect(result.notes == [loss.description])
    let account = try #require(result.accounts.first { $0.entity == "Tag" })
    #expect(account.objectsIn == 30 && account.objectsOut == 0)
    #expect(account.dropped == [.removed: 30])
  }

  @Test func `what the model does not remove is lost by consent only`() async throws {
    let given = try GivenStore(Model.noteWithoutPages, Model.note)
    try FileManager.default.removeItem(at: given.store)
    try given.makeStore(of: "2", objects: 60, at: given.store)
    var migration = given.migration(to: given.version("1"))
    let failure = try await given.failure(of: migration)
    #expect(failure.kind == .lossRefused && failure.exitStatus == .impossible)
    let reason = try #require(failure.reasons.first)
    guard case .loss(let loss) = reason.cause else {
      Issue.record("\(reason.cause) is no loss")
      return
    }
    #expect(loss.cause == .downgrade && loss.name == "Note.pages" && loss.count == reason.count)
    #expect((reason.entity, reason.property) == ("Note", "pages"))
    #expect(try !given.names.contains("New.sqlite"))
    migration.choices.allowedLoss = ["Note.pages"]
    #expect(try await migration.run().losses == [loss])
  }

  @Test func `even what the model removes is refused where nothing may be lost`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.note)
    var migration = given.migration()
    migration.choices.failsOnLoss = true
    let implied = try await given.failure(of: migration)
    #expect(implied.kind == .lossRefused)
    #expect(implied.sentences.last?.contains("leave out choices.failsOnLoss, or ") == true)
    migration.choices.allowedLoss = .anything
    #expect(try await migration.run().losses.map(\.name) == ["Tag"])
  }

  @Test func `what to choose where nothing may be lost does not contradict that`() async throws {
    let given = try GivenStore(Model.note, Model.noteWithoutPages)
    var migration = given.migration()
    migration.output = nil
    (migration.choices.failsOnLoss, migration.handover.discardsOld) = (true, true)
    let advice = try #require(try await given.failure(of: migration).sentences.last)
    #expect(
      advice.contains("use choices.allowedLoss instead of choices.failsOnLoss, or "), "\(advice)")
  }

  @Test func `what a policy drops is accounted for`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let mapping = given.folder.appending(path: "Dropping.json")
    try Data(
      """
      {"format": "godwit mapping model", "version": 1, "mappings": [{"name": "Notes",
      "source": "Note", "destination": "Note", "policy": "Dropping",
      "attributes": {"title": "$source.title", "pages": "$source.pages"}}]}
      """.utf8
    ).write(to: mapping)
    var migration = given.migration(by: GivenStore.policyTool)
    migration.routing.mappings = [FilePath(mapping.path)]
    migration.policies.register("Dropping") { EntityMigrationPolicy() }
    let failure = try await given.failure(of: migration)
    #expect(failure.kind == .lossRefused)
    migration.choices.allowedLoss = ["Note"]
    let result = try await migration.run()
    #expect(result.accounts.map(\.dropped) == [[.policy: 12]])
    #expect(result.accounts.map(\.objectsOut) == [48])
    #expect(result.losses.map(\.cause) == [.policy])
  }

  @Test func `objects that two mappings make are noted with their number`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let mapping = given.folder.appending(path: "Twice.json")
    try Data(
      """
      {"format": "godwit mapping model", "version": 1, "mappings": [
      {"name": "One", "source": "Note", "destination": "Note"},
      {"name": "Two", "source": "Note", "destination": "Note"}]}
      """.utf8
    ).write(to: mapping)
    var migration = given.migration()
    migration.routing.mappings = [FilePath(mapping.path)]
    let notes = try await migration.run().notes
    #expect(notes.contains { $0.hasPrefix("Note: One, Two made 120 objects of Note from 60") })
  }

  @Test func `a store in WAL mode without its log is noted by each command`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let missing = "has journal mode WAL, but no -wal file is next to it"
    #expect(try await !given.migration().prepare().notes.contains { $0.contains(missing) })
    let queue = try DatabaseQueue(path: given.store.path)
    try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = wal") }
    try queue.close()
    #expect(try await given.migration().prepare().notes.contains { $0.contains(missing) })
    #expect(try StoreInspection(of: given.store).lacksLog)
    let export = try StoreExport(of: given.store).write(to: given.folder.appending(path: "out"))
    #expect(export.lacksLog && export.notes.contains { $0.contains(missing) })
    let result = try await given.migration().run()
    #expect(result.notes.contains { $0.contains(missing) })
  }

  @Test func `progress is a sequence that ends with the migration`() async throws {
    let given = try GivenStore(Model.note, Model.longNote, objects: 20_000)
    let running = given.migration().start()
    var fractions: [Double] = []
    for await progress in running.progress { fractions.append(progress.fraction) }
    #expect(try await running.result.rows == 20_000)
    #expect(!fractions.isEmpty && fractions == fractions.sorted())
    #expect(fractions.allSatisfy { (0...1).contains($0) })
  }

  @Test func `a cancelled run says that it was interrupted, and the next one goes on`() async throws
  {
    let given = try GivenStore(Model.note, Model.longNote, objects: 30_000)
    var migration = given.migration()
    (migration.resources.workers, migration.resources.rowsPerRange) = (1, 500)
    // However fast the machine is, it does not end before it is cancelled.
    migration.handover.swapFile = FilePath(given.folder.appending(path: "hold").path)
    #expect(!migration.hasInterruptedRun)
    let running = migration.start()
    for await progress in running.progress
    where progress.workOrders.contains(where: { $0.state == .done }) { running.cancel() }
    let failure = await #expect(throws: MigrationFailure.self) { try await running.result }
    #expect(failure?.kind == .interrupted)
    #expect(migration.hasInterruptedRun)
    #expect(try !given.names.contains("New.sqlite"))
    migration.handover.swapFile = nil
    try FileManager.default.removeItem(at: given.folder.appending(path: "hold"))
    let result = try await migration.run()
    #expect(result.resumed && result.rows == 30_000)
    #expect(!migration.hasInterruptedRun)
  }

  @Test(arguments: ["/", "* -1.0 /"])
  func `an infinite number for an integer is refused with its sentence`(sign: String) async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    try given.change("UPDATE ZNOTE SET ZPAGES = 1", in: given.store)
    var migration = given.migration()
    migration.routing.settings = ["Note.pages=$source.pages \(sign) ($source.pages * 0.0)"]
    let failure = try await given.failure(of: migration)
    #expect(failure.exitStatus == .impossible)
    #expect(failure.description.contains("inf is out of range for an attribute of type Integer 64"))
  }

  @Test func `cancelling the task that waits cancels the migration`() async throws {
    let given = try GivenStore(Model.note, Model.longNote, objects: 30_000)
    var migration = given.migration()
    (migration.resources.workers, migration.resources.rowsPerRange) = (1, 500)
    let task = Task { [migration] in try await migration.start().result }
    task.cancel()
    let failure = await #expect(throws: MigrationFailure.self) { try await task.value }
    #expect(failure?.kind == .interrupted)
  }
}
