import Foundation
import Godwit
import SystemPackage
import Testing

@Suite struct StoreFleetTests {
  /// A fleet of stores of both versions, the third cut off.
  private func fleet(_ given: GivenStore) throws -> StoreFleet {
    let members = try StoreFleet.Members()
    for number in 1...6 {
      let store = given.folder.appending(path: "Store\(number).sqlite")
      switch number {
      case 3: try Data("SQLite format 3\0".utf8).write(to: store)
      case 5: try given.makeStore(of: "2", objects: 7, at: store)
      default:
        try given.makeStore(of: "1", objects: Int64(number), at: store, seed: UInt64(number))
      }
      try members.add(.init(store: FilePath(store.path)))
    }
    var migration = given.migration()
    migration.output = nil
    let path = FilePath(given.folder.appending(path: "Fleet").path)
    var fleet = try StoreFleet.create(at: path, of: members, by: migration)
    fleet.workerExecutable = migration.resources.executable
    fleet.jobs = 2
    return fleet
  }

  private func outcomes(
    _ fleet: StoreFleet, _ selection: StoreFleet.Selection = .waiting
  ) async throws -> [String: StoreFleet.Outcome.Kind] {
    var kinds: [String: StoreFleet.Outcome.Kind] = [:]
    for try await outcome in fleet.run(selection) {
      kinds[outcome.store.lastComponent?.string ?? ""] = outcome.kind
    }
    return kinds
  }

  @Test func `a store that fails keeps no other from being migrated`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let fleet = try fleet(given)
    #expect(
      try await outcomes(fleet) == [
        "Store1.sqlite": .migrated, "Store2.sqlite": .migrated, "Store3.sqlite": .failed,
        "Store4.sqlite": .migrated, "Store5.sqlite": .current, "Store6.sqlite": .migrated,
      ])
    let status = try fleet.status()
    #expect(status.state == .failed)
    #expect(status.done == 5 && status.count(.failed) == 1 && status.waiting == 0)
    #expect(status.failures.map(\.reason) == ["fileDamaged"])
    #expect(status.exitStatus == 65)
    // Nothing is left to do, and failures are retried when that is asked for.
    #expect(try await outcomes(fleet).isEmpty)
    #expect(try await outcomes(fleet, .failed) == ["Store3.sqlite": .failed])
  }

  @Test func `what was migrated is put back, and migrated again when that is asked for`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    let fleet = try fleet(given)
    let before = try Data(contentsOf: given.folder.appending(path: "Store2.sqlite"))
    _ = try await outcomes(fleet)
    var back = 0
    for try await outcome in fleet.rollBack() where outcome.kind == .rolledBack { back += 1 }
    #expect(back == 4)
    #expect(try Data(contentsOf: given.folder.appending(path: "Store2.sqlite")) == before)
    #expect(try await outcomes(fleet).isEmpty)
    #expect(try await outcomes(fleet, .rolledBack).count == 4)
  }

  @Test func `a second fleet over the same folder passes over kept old stores`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    _ = try await outcomes(fleet(given))
    let members = try StoreFleet.Members()
    try members.add(FilePath(given.folder.path))
    let found = try members.count()
    // Nor does a pattern add lists and records.
    try members.add(FilePath(given.folder.appending(path: "Store*").path))
    // Four stores of the first fleet have an old store, found in the folder and by the pattern.
    #expect(members.keptStores == 8)
    let kept = try #require(members.keptStore)
    let (count, failures) = (try members.count(), members.failures.count)
    #expect(count == found)
    try members.add(.init(store: kept))
    #expect(try members.count() == count)
    #expect(members.failures.count == failures + 1)
    #expect(members.failures.last?.sentences[0].contains("is not migrated in place") == true)
    try members.add(.init(store: kept, output: "Elsewhere.sqlite"))
    #expect(try members.count() == count + 1)
  }

  @Test func `a store that was rolled back outside of the fleet counts as rolled back`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    let fleet = try fleet(given)
    _ = try await outcomes(fleet)
    let store = FilePath(given.folder.appending(path: "Store2.sqlite").path)
    try MigratedStore(store).rollBack()
    try MigratedStore(FilePath(given.folder.appending(path: "Store4.sqlite").path)).finish()
    var rollback = StoreFleet.Status.Rollback()
    for try await outcome in fleet.rollBack() { rollback.add(outcome) }
    #expect(rollback.restored == 3 && rollback.failed == 1)
    #expect(rollback.failures.map(\.store).first?.hasSuffix("Store4.sqlite") == true)
    var status = try fleet.status()
    #expect(status.count(.rolledBack) == 3)
    #expect(status.exitStatus == 65)
    status.rollback = rollback
    #expect(status.exitStatus == 66)
  }

  @Test func `a fleet that discards old stores puts none of another migration back`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote, Model.longNote + Model.tag)
    var single = given.migration(to: given.version("2"))
    single.output = nil
    let kept = try #require(try await single.run().oldStore)
    try given.change("UPDATE ZNOTE SET ZTEXT = 'by the app'", in: given.store)
    let members = try StoreFleet.Members()
    try members.add(.init(store: FilePath(given.store.path)))
    var migration = given.migration()
    migration.output = nil
    migration.handover.discardsOld = true
    var fleet = try StoreFleet.create(
      at: FilePath(given.folder.appending(path: "Fleet").path), of: members, by: migration)
    fleet.workerExecutable = migration.resources.executable
    #expect(try await outcomes(fleet) == ["Store.sqlite": .migrated])
    let now = try Data(contentsOf: given.store)
    var rollback = StoreFleet.Status.Rollback()
    for try await outcome in fleet.rollBack() { rollback.add(outcome) }
    #expect(rollback.restored == 0 && rollback.failures.map(\.exitStatus) == [66])
    #expect(rollback.failures.first?.sentences.first?.contains("kept no old store") == true)
    let store = try MigratedStore(FilePath(given.store.path))
    let failure = #expect(throws: MigrationFailure.self) { try store.rollBack() }
    #expect(failure?.exitStatus == .notFound)
    #expect(failure?.description.contains(kept.string) == false)
    #expect(failure?.description.contains("`MigratedStore.rollBack(to:)`") == true)
    #expect(try Data(contentsOf: given.store) == now)
    #expect(try store.rollBack(to: kept).restored == kept)
  }

  @Test func `a status names the losses of all stores`() async throws {
    let given = try GivenStore(Model.note, Model.noteWithoutPages)
    let fleet = try fleet(given)
    _ = try await outcomes(fleet)
    let losses = try fleet.status().losses
    #expect(losses.map(\.property) == ["pages"])
    #expect(losses.first?.sentence.hasPrefix("Note.pages: ") == true)
    var told = 0
    try fleet.forEachOutcome { told += $0.losses.count }
    #expect(told > 1 && losses.map(\.stores) == [told])
    for try await _ in fleet.rollBack() {}
    #expect(try fleet.status().losses.isEmpty)
  }

  @Test func `what a choice leaves out of other tables is among the losses`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    try given.change("CREATE TABLE mine (a); INSERT INTO mine VALUES (1), (2)", in: given.store)
    let members = try StoreFleet.Members()
    try members.add(.init(store: FilePath(given.store.path)))
    var migration = given.migration()
    migration.output = nil
    migration.choices.extraTables = .drop
    var fleet = try StoreFleet.create(
      at: FilePath(given.folder.appending(path: "Fleet").path), of: members, by: migration)
    fleet.workerExecutable = migration.resources.executable
    #expect(try await outcomes(fleet) == ["Store.sqlite": .migrated])
    let loss = try #require(try fleet.status().losses.first)
    #expect(loss.sentence == "mine: 2 rows dropped, since the model does not have the table.")
    #expect(loss.cause == "outsideModel" && loss.count == 2)
  }

  @Test func `a status has the reason that a sentence announces`() async throws {
    let given = try GivenStore(
      Model.note, Model.entity("Note", Model.attribute("title", "String", "")))
    let fleet = try fleet(given)
    _ = try await outcomes(fleet)
    let refused = try #require(try fleet.status().failures.first { $0.reason == "notMigratable" })
    #expect(refused.sentence.contains(" for one reason: "))
    #expect(refused.sentence.contains("Note.title"))
  }

  @Test func `stores in WAL mode without a log are counted in plan, status and outcomes`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    let fleet = try fleet(given)
    // The bytes of the header that state the journal mode (SQLite's file format, section 1.3.3).
    let store = given.folder.appending(path: "Store2.sqlite")
    var bytes = try Data(contentsOf: store)
    bytes.replaceSubrange(18..<20, with: [2, 2])
    try bytes.write(to: store)
    #expect(try await fleet.plan().storesLackingLog == 1)
    _ = try await outcomes(fleet)
    #expect(try fleet.status().storesLackingLog == 1)
    var lacking: [String] = []
    try fleet.forEachOutcome { if $0.lacksLog { lacking.append($0.store.string) } }
    #expect(lacking == [store.path])
  }

  @Test func `a canary that fails stops the run`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var fleet = try fleet(given)
    fleet.canary = 6
    await #expect {
      _ = try await outcomes(fleet)
    } throws: { error in
      (error as? MigrationFailure)?.kind == .interrupted
    }
  }

  @Test func `elements share out the stores, and their results are merged`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var fleet = try fleet(given)
    var seen = 0
    for number in 0..<3 {
      fleet.element = StoreFleet.Element(number: number, count: 3)
      seen += try await outcomes(fleet).count
      #expect(try fleet.status().state == (number == 2 ? .failed : .incomplete))
    }
    #expect(seen == 6)
    #expect(!FileManager.default.fileExists(atPath: "\(fleet.path)/state.mdb"))
  }

  @Test func `a worker that never takes orders ends the run`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var fleet = try fleet(given)
    fleet.workerExecutable = "/bin/false"
    await #expect {
      _ = try await outcomes(fleet)
    } throws: { error in
      (error as? MigrationFailure)?.exitStatus == .bug
    }
  }

  @Test func `a folder that is no fleet is told`() {
    #expect {
      _ = try StoreFleet("/nowhere/at/all")
    } throws: { error in
      (error as? MigrationFailure)?.exitStatus == .notFound
    }
  }

  @Test(arguments: [
    "", "{}", "nonsense", "{\"store\":7}", "{\"store\":\"\"}", "{\"store\":\"a\",\"outptu\":\"b\"}",
    "{\"store\":\"a\",\"options\":{\"allowLos\":[\"*\"]}}",
    "{\"store\":\"a\",\"options\":{\"allowLoss\":\"*\"}}",
  ])
  func `a line that is no store is told with its number`(line: String) {
    #expect {
      _ = try StoreFleet.Member(line: Array(line.utf8), number: 12)
    } throws: { error in
      (error as? MigrationFailure)?.description.contains("line 12") == true
    }
  }
}
