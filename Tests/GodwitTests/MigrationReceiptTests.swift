import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct MigrationReceiptTests {
  private let given: GivenStore
  private var file: FilePath { FilePath(given.folder.appending(path: "receipt.json").path) }
  private var output: FilePath { FilePath(given.output.path) }
  private var store: FilePath { FilePath(given.store.path) }

  init() throws {
    given = try GivenStore(
      Model.note + Model.tag, Model.noteWithoutPages + Model.tag)
  }

  private func migrate(_ change: (inout StoreMigration) -> Void = { _ in }) async throws
    -> MigrationReceipt
  {
    var migration = given.migration()
    migration.namesVersions = true
    change(&migration)
    let files = try MigrationReceiptFiles([file], of: migration)
    #expect(try files.write(try await migration.run()) == nil)
    return try ReceiptCheck(file).receipt
  }

  private func removeTag(in store: URL) throws {
    try given.change("DELETE FROM ZTAG WHERE Z_PK = 1", in: store)
  }

  @Test func `a receipt has counts of both stores, and each loss with its consent`() async throws {
    let receipt = try await migrate()
    #expect(receipt.outcome == "migrated")
    #expect(receipt.source.objects == ["Note": 30, "Tag": 30])
    #expect(receipt.result.objects == receipt.source.objects)
    #expect(receipt.source.uuid == receipt.result.uuid)
    #expect(receipt.source.versions == ["1"] && receipt.result.versions == ["2"])
    #expect(receipt.source.sha256 != receipt.result.sha256)
    #expect(receipt.objects.map(\.out) == [30, 30])
    #expect(receipt.losses.map(\.property) == ["pages"])
    #expect(receipt.losses.map(\.consent) == [.model])
    #expect(receipt.verification.level == "quick")
  }

  @Test func `a receipt that cannot be written keeps no other from being written`() async throws {
    let migration = given.migration()
    let files = try MigrationReceiptFiles(["/dev/full", file], of: migration)
    let result = try await migration.run()
    let failure = #expect(throws: MigrationFailure.self) { _ = try files.write(result) }
    #expect(failure?.exitStatus == .cannotWrite)
    #expect(try ReceiptCheck(file).receipt.outcome == "migrated")
  }

  @Test func `the receipt of another store is not replaced, that of the same one is`() async throws
  {
    _ = try await migrate()
    let page = FilePath(given.folder.appending(path: "receipt.html").path)
    var again = given.migration()
    again.output = FilePath(given.folder.appending(path: "Again.sqlite").path)
    again.namesVersions = true
    let files = try MigrationReceiptFiles([file, page], of: again)
    #expect(try files.write(try await again.run()) == nil)
    let other = try GivenStore(Model.note, Model.noteWithoutPages)
    try other.change(
      "UPDATE Z_METADATA SET Z_UUID = '00000000-0000-4000-8000-000000000001'", in: other.store)
    for path in [file, page] {
      let error = #expect(throws: MigrationFailure.self) {
        try MigrationReceiptFiles([path], of: other.migration())
      }
      #expect(error?.exitStatus == .cannotCreate)
      #expect(error?.sentences.joined().contains("receipt of another store") == true)
    }
  }

  @Test func `a receipt of an earlier run in place cannot be made any more`() async throws {
    var migration = given.migration()
    migration.output = nil
    migration.handover.keepsRecord = true
    let first = try MigrationReceiptFiles(["/dev/full"], of: migration)
    let result = try await migration.run()
    #expect(throws: MigrationFailure.self) { _ = try first.write(result) }
    let again = try MigrationReceiptFiles([file], of: migration)
    let current = try await migration.run()
    #expect(current.outcome == .alreadyCurrent)
    let failure = #expect(throws: MigrationFailure.self) { _ = try again.write(current) }
    #expect(failure?.exitStatus == .cannotWrite)
    #expect(failure?.sentences.first?.contains("no receipt of that run can be made") == true)
    // Once it was migrated again, its receipt is there.
    try MigratedStore(store).rollBack()
    let third = try MigrationReceiptFiles([file], of: migration)
    #expect(try third.write(try await migration.run()) == nil)
    let fourth = try MigrationReceiptFiles([file], of: migration)
    #expect(try fourth.write(try await migration.run())?.contains("nothing was migrated") == true)
  }

  @Test func `a loss that was named is told as named`() async throws {
    let receipt = try await migrate {
      $0.choices.allowedLoss = ["Note.pages"]
      $0.choices.failsOnLoss = true
    }
    #expect(receipt.losses.map(\.consent) == [.named])
  }

  @Test func `what a choice leaves out of other tables and columns is lost by choice`() async throws
  {
    try given.change(
      """
      CREATE TABLE mine (a); INSERT INTO mine VALUES (1), (2); CREATE TABLE empty (a);
      ALTER TABLE ZTAG ADD COLUMN ZOWN; UPDATE ZTAG SET ZOWN = 1 WHERE Z_PK = 3
      """, in: given.store)
    let receipt = try await migrate { $0.choices.extraTables = .drop }
    let chosen = receipt.losses.filter { $0.consent == .choice }
    #expect(
      chosen.map(\.sentence) == [
        "mine: 2 rows dropped, since the model does not have the table.",
        "ZTAG.ZOWN: 1 value dropped, since the model does not have the column.",
      ])
    #expect(chosen.map(\.cause) == ["outsideModel", "outsideModel"])
  }

  @Test func `a consent to a property of an entity covers its subentities`() async throws {
    func model(_ type: String) -> String {
      "<entity name=\"Animal\" isAbstract=\"YES\">\(Model.attribute("size", type))</entity>"
        + ["Dog", "Cat"].map { "<entity name=\"\($0)\" parentEntity=\"Animal\"/>" }.joined()
    }
    let given = try GivenStore(model("Double"), model("Integer 32"))
    try given.change("UPDATE ZANIMAL SET ZSIZE = Z_PK + 0.5", in: given.store)
    var migration = given.migration()
    migration.choices.allowedLoss = ["Dog.size"]
    #expect(try await given.failure(of: migration).kind == .lossRefused)
    migration.choices.allowedLoss = ["Animal.size"]
    let files = try MigrationReceiptFiles([file], of: migration)
    #expect(try files.write(try await migration.run()) == nil)
    let losses = try ReceiptCheck(file).receipt.losses
    #expect(Set(losses.map(\.entity)) == ["Cat", "Dog"])
    #expect(losses.allSatisfy { $0.consent == .named && $0.property == "size" })
  }

  @Test func `a mapping model has its hash, and values that were set are named`() async throws {
    let mapping = given.folder.appending(path: "Step.json")
    try MappingModelFile(
      inferredFrom: FilePath(given.version("1").path), to: FilePath(given.version("2").path)
    ).write(to: mapping)
    var receipt = try await migrate { $0.routing.mappings = [FilePath(mapping.path)] }
    #expect(receipt.steps.first?.mappings.first?.sha256?.count == 64)
    #expect(receipt.values.isEmpty)
    // It would be found beside the model.
    try FileManager.default.removeItem(at: mapping)
    receipt = try await migrate {
      $0.output = FilePath(given.folder.appending(path: "Other.sqlite").path)
      $0.routing.settings = ["Note.title=\"x\""]
      $0.choices.allowedLoss = .anything
    }
    #expect(receipt.steps.first?.mappings.map(\.sha256) == [nil])
    #expect(receipt.values == ["Note.title=\"x\""])
  }

  @Test(arguments: [
    ("\"Note\" : 30", "\"Note\" : 31"), ("\"bytes\" : ", "\"bytes\" : 9"),
    ("\"uuid\" : \"", "\"uuid\" : \"0"),
  ])
  func `a receipt that was edited is not what the store is`(
    old: String, new: String
  ) async throws {
    _ = try await migrate()
    let text = try String(contentsOfFile: file.string, encoding: .utf8)
    #expect(text.contains(old))
    try text.replacing(old, with: new).write(
      toFile: file.string, atomically: true, encoding: .utf8)
    let report = try ReceiptCheck(file).run([output])
    #expect(!report.isAlike)
    #expect(report.lines.contains { $0.contains("it was edited") })
  }

  /// The receipt, changed and written as if it had been made so.
  private func rewrite(_ change: (inout MigrationReceipt) throws -> Void) throws {
    var receipt = try ReceiptCheck(file).receipt
    try change(&receipt)
    try JSONOutput.write(receipt, to: file)
  }

  @Test func `a field that says nothing of a store is known to be edited`() async throws {
    for change in [
      { $0.losses = [] }, { $0.losses[0].consent = .named }, { $0.notes.append("nothing lost") },
      { $0.verification.level = "full" }, { $0.objects = [] }, { $0.made = "2020" },
      { $0.steps = [] }, { $0.sha256 = nil },
    ] as [(inout MigrationReceipt) -> Void] {
      try? FileManager.default.removeItem(at: given.output)
      _ = try await migrate()
      try rewrite(change)
      let report = try ReceiptCheck(file).run([output])
      #expect(!report.isAlike && report.stores.allSatisfy(\.differences.isEmpty))
      #expect(report.contradictions.contains { $0.hasPrefix("it was edited") })
      #expect(report.failure.exitStatus == .damaged)
      try FileManager.default.removeItem(atPath: file.string)
    }
  }

  @Test func `numbers that do not add up are found under a seal of their own`() async throws {
    _ = try await migrate()
    try rewrite {
      ($0.objects[0].in, $0.objects[1].out) = (31, 29)
      try $0.seal()
    }
    #expect(
      try ReceiptCheck(file).run([output]).contradictions == [
        "Note: 31 in, 30 out and 0 dropped do not add up.",
        "Tag: 30 in, 29 out and 0 dropped do not add up.",
        "Note: 30 objects in the old store, 31 accounted for.",
      ])
  }

  @Test func `both stores are found to be as the receipt says`() async throws {
    _ = try await migrate()
    let report = try ReceiptCheck(file).run([output, store])
    #expect(report.isAlike)
    #expect(report.stores.map(\.role) == [.result, .source])
  }

  @Test func `one store in the place of both is no check of both`() async throws {
    _ = try await migrate()
    for path in [output, store] {
      let report = try ReceiptCheck(file).run([path, path])
      #expect(!report.isAlike && report.failure.exitStatus == .damaged)
      #expect(report.stores.map(\.differences.count) == [0, 1])
    }
  }

  @Test func `a store that was written since differs, with what is in it now`() async throws {
    _ = try await migrate()
    try removeTag(in: given.output)
    let report = try ReceiptCheck(file).run([output])
    #expect(!report.isAlike)
    #expect(report.stores[0].role == .result)
    #expect(report.stores[0].differences.contains("Tag: 29 objects, and had 30."))
    #expect(report.failure.exitStatus == .damaged)
  }

  @Test func `another store is neither the old nor the new one`() async throws {
    _ = try await migrate()
    let other = given.folder.appending(path: "Other.sqlite")
    try given.makeStore(of: "1", objects: 10, at: other, seed: 2)
    let report = try ReceiptCheck(file).run([FilePath(other.path)])
    #expect(report.stores[0].role == nil)
    #expect(report.stores[0].differences.count == 1)
  }

  @Test func `after a migration in place the kept store is the old one`() async throws {
    let receipt = try await migrate { $0.output = nil }
    let kept = FilePath(try #require(receipt.source.keptAs))
    let report = try ReceiptCheck(file).run([kept, store])
    #expect(report.isAlike)
    #expect(report.stores.map(\.role) == [.source, .result])
  }

  @Test func `nothing migrated gives no receipt`() async throws {
    try given.makeCurrent("1")
    let migration = given.migration()
    let files = try MigrationReceiptFiles([file], of: migration)
    #expect(try files.write(try await migration.run())?.contains("no receipt") == true)
    #expect(throws: MigrationFailure.self) { try ReceiptCheck(file) }
  }

  @Test func `an output of an earlier run gives no receipt but that which the run wrote`()
    async throws
  {
    _ = try await migrate { $0.handover.keepsRecord = true }
    var again = given.migration()
    again.handover.keepsRecord = true
    let files = try MigrationReceiptFiles([file], of: again)
    #expect(try files.write(try await again.run()) == "an earlier run has written the receipt.")
    // The receipt is that of an output with other bytes, which is gone.
    try FileManager.default.removeItem(at: given.output)
    again.handover.givesNewUUID = true
    _ = try await again.run()
    let other = try MigrationReceiptFiles([file], of: again)
    let made = try await again.run()
    #expect(made.outcome == .alreadyThere)
    #expect(throws: MigrationFailure.self) { _ = try other.write(made) }
    again.output = FilePath(given.folder.appending(path: "Other.sqlite").path)
    _ = try await again.run()
    let none = try MigrationReceiptFiles([file], of: again)
    let result = try await again.run()
    #expect(result.outcome == .alreadyThere)
    let error = try #require(throws: MigrationFailure.self) { _ = try none.write(result) }
    #expect(error.exitStatus == .cannotWrite)
  }

  @Test func `a receipt replaces an earlier one alone`() throws {
    try Data("mine".utf8).write(to: URL(filePath: file.string))
    let error = try #require(throws: MigrationFailure.self) {
      _ = try MigrationReceiptFiles([file], of: given.migration())
    }
    #expect(error.exitStatus == .cannotCreate)
  }

  @Test func `a store that is written after it was hashed gives no receipt`() async throws {
    let migration = given.migration()
    let files = try MigrationReceiptFiles([file], of: migration)
    let result = try await migration.run()
    try removeTag(in: given.store)
    let error = try #require(throws: MigrationFailure.self) { _ = try files.write(result) }
    #expect(error.sentences[0].contains("an app has written to"))
  }
}
