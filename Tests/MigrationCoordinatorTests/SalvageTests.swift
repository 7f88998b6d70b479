import GRDB
import Godwit
import Mapping
import ObjectModel
import Planning
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator
@testable import StoreFormat

/// What `--salvage` makes of damaged stores, whoever makes the rows.
@Suite(.scratchFolder) struct SalvageTests {
  /// A store with a damaged leaf in the table of books, and the keys that were on it.
  private func damaged() throws -> (given: GivenMigration, lost: [Int64], page: UInt32) {
    let given = try GivenMigration(rows: 1200)
    let connection = try StoreConnection.writable(given.store)
    // Values that fit: this is about damage alone.
    try connection.run {
      try $0.execute(sql: "UPDATE ZBOOK SET ZPAGES = 7 WHERE ZPAGES IS NOT NULL")
    }
    try connection.queue.close()
    let (lost, page) = try damage("ZBOOK", of: given)
    return (given, lost, page)
  }

  /// Damages a leaf of a table; the keys that were on it, and its number.
  private func damage(
    _ table: String, of given: GivenMigration
  ) throws -> (lost: [Int64], page: UInt32) {
    let reader = try StoreReader(immutable: given.store)
    let root = UInt32(
      try reader.number(sql: "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"))
    var bytes = try given.bytes(given.store)
    func number(_ at: Int, _ count: Int) -> Int {
      PageBytes.number(bytes, at: at, count: count) ?? 0
    }
    func start(_ page: UInt32) -> Int { Int(page - 1) * 4096 }
    // The second leaf below the root.
    let page = UInt32(number(start(root) + number(start(root) + 14, 2), 4))
    let lost = (0..<number(start(page) + 3, 2)).map { cell in
      let at = start(page) + number(start(page) + 8 + 2 * cell, 2)
      let size = Varint(bytes, at: at, limit: bytes.count)?.end ?? at
      return Int64(Varint(bytes, at: size, limit: bytes.count)?.value ?? 0)
    }
    bytes.replaceSubrange(
      start(page)..<start(page) + 4096, with: [UInt8](repeating: 0, count: 4096))
    try Files.writeFileAtomically(bytes, to: given.store)
    return (lost, page)
  }

  private func keys(_ table: String, in store: FilePath) throws -> [Int64] {
    try StoreReader(immutable: store).connection.run {
      try Int64.fetchAll($0, sql: "SELECT Z_PK FROM \(table) NOT INDEXED ORDER BY 1")
    }
  }

  private func request(_ given: GivenMigration, _ engine: EngineName) -> MigrationRequest {
    var request = given.request(output: given.folder.appending("\(engine.rawValue).sqlite"))
    request.engine = engine
    request.salvages = true
    return request
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `what is left of a damaged store is migrated, and what is lost is told`(
    engine: EngineName
  ) async throws {
    let (given, lost, page) = try damaged()
    let before = try given.bytes(given.store)
    var request = request(given, engine)
    request.salvages = false
    await #expect(throws: (any Error).self) { try await given.run(request) }
    request.salvages = true
    let report = try await given.run(request)
    let table = try #require(report.salvage?.tables.first)
    #expect(report.salvage?.tables.count == 1)
    #expect(table.table == "ZBOOK" && table.damagedPages == [page] && table.isExact)
    #expect(table.lostKeyCount == Int64(lost.count))
    let kept = try keys("ZBOOK", in: request.destination)
    #expect(!lost.isEmpty && lost.allSatisfy { !kept.contains($0) })
    #expect(Int64(kept.count) == table.rowsTaken)
    #expect(try given.bytes(given.store) == before)
    // Who leads to a lost book is told, as of any reference that leads nowhere.
    #expect(report.defects.contains { $0.kind == .dangling && $0.property == "books" })
  }

  @Test func `references to lost rows obey the choice for dangling ones`() async throws {
    let (given, _, _) = try damaged()
    var request = request(given, .sql)
    request.defectChoices.dangling = .fail
    request.lossConsent = .none
    await #expect(throws: MigrationError.self) { try await given.run(request) }
    request.lossConsent = given.consent
    request.defectChoices.dangling = .nullify
    let report = try await given.run(request)
    #expect(report.defects.contains { $0.kind == .dangling && $0.fate == .removed })
    #expect(report.danglingReferences.isEmpty && report.salvage != nil)
  }

  @Test(arguments: [EngineName.sql, .pages, nil])
  func `what is counted of lost rows is counted again`(engine: EngineName?) async throws {
    func model(_ added: [Attribute]) throws -> ManagedObjectModel {
      try ManagedObjectModel(entities: [
        Entity(
          "Book", [try .derived("pagesCount", from: "pages.@count")] + added,
          [.toMany("pages", "Page", inverse: "book")]),
        Entity("Page", [.optional("text")], [.toOne("book", "Book", inverse: "pages")]),
      ])
    }
    // Without an engine, the store has the model already and is copied.
    let given = try GivenMigration(
      from: model([]), to: model(engine == nil ? [] : [.optional("note")]), rows: 2400)
    let (lost, _) = try damage("ZPAGE", of: given)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.engine, request.salvages) = (engine, true)
    request.copiesIfCurrent = true
    let report = try await given.run(request)
    #expect(report.salvage?.tables.map(\.table) == ["ZPAGE"] && !lost.isEmpty)
    #expect(report.outcome == (engine == nil ? .copied : .migrated))
    let wrong = try StoreReader(immutable: request.destination).number(
      sql: "SELECT count(*) FROM ZBOOK AS b "
        + "WHERE ZPAGESCOUNT IS NOT (SELECT count(*) FROM ZPAGE WHERE ZBOOK = b.Z_PK)")
    #expect(wrong == 0)
    var verification = StoreVerification(
      of: request.destination,
      madeBy: StoreMigration(store: given.store, toMerged: [given.target]))
    verification.salvagesDamaged = true
    #expect(try await verification.run().isAlike)
    let triggers = try StoreReader(immutable: request.destination).number(
      sql: "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'")
    #expect(triggers > 0)
  }

  @Test(arguments: ["ZPAGE", "ZTAG"])
  func `a form that only Core Data computes is not carried next to lost rows`(
    table: String
  ) async throws {
    func model(_ added: [Attribute]) throws -> ManagedObjectModel {
      try ManagedObjectModel(entities: [
        Entity("Item", [.optional("name")]),
        Entity(
          "Book", in: "Item", [try .derived("pagesCount", from: "pages.@count")] + added,
          [.toMany("pages", "Page", inverse: "book")]),
        Entity("Page", [.optional("text")], [.toOne("book", "Book", inverse: "pages")]),
        Entity("Tag", [.optional("word")]),
      ])
    }
    let given = try GivenMigration(from: model([]), to: model([.optional("note")]), rows: 2400)
    let connection = try StoreConnection.writable(given.store)
    try connection.run {
      try $0.execute(
        sql: """
          CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE AFTER DELETE ON ZPAGE BEGIN
          UPDATE ZITEM SET ZPAGESCOUNT = ZPAGESCOUNT - 1 WHERE Z_PK = OLD.ZBOOK; END
          """)
    }
    try connection.queue.close()
    _ = try damage(table, of: given)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.salvages = true
    if table == "ZTAG" {
      #expect(try await given.run(request).salvage?.tables.map(\.table) == [table])
      return
    }
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(error.map { MigrationFailure($0).exitStatus } == .impossible)
  }

  @Test func `a sound store gives the same bytes`() async throws {
    let given = try GivenMigration()
    var request = given.request(output: given.folder.appending("Plain.sqlite"))
    _ = try await given.run(request)
    let plain = try given.bytes(request.destination)
    request.output = given.folder.appending("Salvaged.sqlite")
    request.salvages = true
    let report = try await given.run(request)
    #expect(report.salvage == nil)
    #expect(try given.bytes(request.destination) == plain)
  }

  @Test func `in place the damaged store is kept, one that is cut short as well`() async throws {
    let (given, _, _) = try damaged()
    var bytes = try given.bytes(given.store)
    bytes.removeLast(4096)
    try Files.writeFileAtomically(bytes, to: given.store)
    var request = given.request()
    request.salvages = true
    let report = try await given.run(request)
    #expect(report.salvage?.pagesMissing == 1)
    let old = try #require(report.oldStore)
    #expect(try given.bytes(FilePath(old)) == bytes)
    #expect(try !given.names.contains { $0.hasSuffix(".godwit") })
  }

  @Test func `work that was begun with salvage is taken up with it alone`() async throws {
    let (given, _, _) = try damaged()
    let request = request(given, .sql)
    let target = try TargetModel(paths: request.target, configuration: nil)
    let made = try MigrationPreview.with(request, target: target) { preview in
      try RunInputs(request: request, prepared: preview.prepared)
    }
    var other = request
    other.salvages = false
    let inputs = try MigrationPreview.with(request, target: target) { preview in
      try RunInputs(request: other, prepared: preview.prepared)
    }
    #expect(inputs.differences(from: made) == [.option(.salvage, earlier: "yes")])
    #expect(made.differences(from: inputs) == [.option(.salvage, earlier: "")])
  }

  @Test func `what would be salvaged is told where it is not asked for`() throws {
    let (given, lost, _) = try damaged()
    let target = try TargetModel(paths: [given.target], configuration: nil)
    let error = #expect(throws: SalvageableDamage.self) {
      try MigrationPreview.with(given.request(), target: target) { _ in }
    }
    guard case .takes(let found)? = error?.outlook else {
      Issue.record("nothing is told")
      return
    }
    #expect(found.tables.map(\.lostKeyCount) == [Int64(lost.count)])
    let failure = MigrationFailure(try #require(error))
    #expect(failure.exitStatus == .damaged)
    #expect(failure.sentences.last?.contains("\(lost.count) rows of ZBOOK") == true)
  }

  @Test func `what is wrong with the copy is told of the store itself`() async throws {
    let (given, _, _) = try damaged()
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: "DELETE FROM Z_MODELCACHE") }
    try connection.queue.close()
    let error = await #expect(throws: MigrationError.self) {
      try await given.run(request(given, .sql))
    }
    guard case .sourceModelMissing(let store, _, _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(store == given.store)
    let other = try StoreConnection.writable(given.store)
    try other.run { try $0.execute(sql: "UPDATE Z_METADATA SET Z_PLIST = X'00'") }
    try other.queue.close()
    let second = await #expect(throws: StoreError.self) {
      try await given.run(request(given, .sql))
    }
    #expect(second?.problem == .metadataUnreadable && second?.store == given.store)
  }

  @Test func `a store without its metadata is refused by name`() async throws {
    let (given, _, _) = try damaged()
    let root = try StoreReader(immutable: given.store).number(
      sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'Z_METADATA'")
    var bytes = try given.bytes(given.store)
    bytes[Int(root - 1) * 4096] = 0
    try Files.writeFileAtomically(bytes, to: given.store)
    let error = await #expect(throws: StoreError.self) {
      try await given.run(request(given, .sql))
    }
    #expect(error?.problem == .notSalvageable(["Z_METADATA"]))
    #expect(error?.store == given.store)
    #expect(try !given.names.contains { $0.hasSuffix(".godwit") })
  }
}
