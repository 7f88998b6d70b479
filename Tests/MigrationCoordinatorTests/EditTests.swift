import Expressions
import Foundation
import GRDB
import Mapping
import MigrationEngine
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// A store that is edited must become what SQL makes of it, and again what it was.
@Suite(.scratchFolder) struct EditTests {
  private static func model(
    _ more: [Attribute] = [], person: String = "Person", title: String = "title",
    hasCover: Bool = true,
    _ relationships: [(book: Relationship, tag: Relationship)] = [], constraints: [[String]] = [],
    others: [Entity] = []
  ) -> ManagedObjectModel {
    do {
      var tag = Entity(
        "Tag", [.optional("word")],
        [.toMany("books", "Book", inverse: "tags")] + relationships.map(\.tag))
      tag.uniquenessConstraints = constraints
      return try ManagedObjectModel(
        entities: [
          Entity(
            "Book",
            [.mandatory(title, was: title == "title" ? nil : "title")]
              + (hasCover ? [.optional("cover", .binary)] : []) + more,
            [
              .toOne("author", person, inverse: "books"), .toMany("tags", "Tag", inverse: "books"),
            ] + relationships.map(\.book)),
          Entity(
            person, was: "Person", [.optional("name")],
            [.toMany("books", "Book", inverse: "author")]), tag,
        ] + others)
    } catch { preconditionFailure("\(error)") }
  }

  /// A change of the model, and the tables whose rows it makes, or updates where they are.
  struct Step: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let target: ManagedObjectModel
    var made: [String] = []
    var updated: [String] = []

    static let all = [
      Step(
        testDescription: "attributes",
        target: model([.optional("color"), .optional("abridged", .boolean)])),
      Step(testDescription: "another name of an attribute", target: model(title: "name")),
      Step(testDescription: "another name of an entity", target: model(person: "Human")),
      Step(
        testDescription: "a default",
        target: model([.mandatory("color", default: .string("red"))]), updated: ["ZBOOK"]),
      Step(
        testDescription: "an attribute less", target: model(hasCover: false), made: ["ZBOOK"]),
      Step(
        testDescription: "a to-one relationship",
        target: model(
          [],
          [(.toOne("first", "Tag", inverse: "firsts"), .toMany("firsts", "Book", inverse: "first"))]
        )),
      Step(
        testDescription: "a many-to-many relationship",
        target: model(
          [],
          [(.toMany("more", "Tag", inverse: "mores"), .toMany("mores", "Book", inverse: "more"))])),
      Step(
        testDescription: "an entity", target: model(others: [Entity("Zoo", [.optional("name")])])),
      Step(
        testDescription: "an entity before others",
        target: model(others: [Entity("Ape", [.optional("name")])]),
        updated: ["ZBOOK", "ZPERSON", "ZTAG"]),
    ]
  }

  private func given(
    _ change: String = "", to target: ManagedObjectModel = model([.optional("color")])
  ) throws -> GivenMigration {
    let given = try GivenMigration(from: Self.model(), to: target, rows: 300)
    try given.change(change)
    return given
  }

  private func run(
    _ given: GivenMigration, _ change: (inout MigrationRequest) -> Void = { _ in }
  ) async throws -> MigrationReport {
    var request = given.request(workers: 2)
    request.engine = .edit
    change(&request)
    return try await given.run(request)
  }

  /// All rows of a store by table and column, whatever the order of columns and rows.
  private func contents(_ store: FilePath) throws -> [String: [String]] {
    try StoreConnection.immutable(store).run { db in
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      var found: [String: [String]] = [:]
      for table in try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'Z_MODELCACHE'")
      {
        let columns = try String.fetchAll(
          db, sql: "SELECT name FROM pragma_table_info(?) ORDER BY name", arguments: [table])
        let list = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ' ' || ")
        found["\(table) \(columns)"] = try String.fetchAll(
          db, sql: "SELECT \(list) FROM \"\(table)\" ORDER BY 1")
      }
      found["indexes"] = try String.fetchAll(
        db, sql: "SELECT coalesce(sql, name) FROM sqlite_schema WHERE type = 'index' ORDER BY 1")
      return found
    }
  }

  @Test(
    arguments: Step.all.map { ($0, "") } + [
      (Step.all[0], "PRAGMA journal_mode = WAL"), (Step.all[3], "PRAGMA journal_mode = WAL"),
      (Step.all[3], "DELETE FROM ZBOOK WHERE Z_PK % 3 = 0"),
      (Step.all[0], "PRAGMA user_version = 7; PRAGMA application_id = 8"),
    ])
  func `an edited store is what SQL makes, and becomes again what it was`(
    step: Step, change: String
  ) async throws {
    let given = try given(change, to: step.target)
    let before = try given.bytes(given.store)
    let appNumbers = try StoreHeader(of: given.store).appNumbers
    let output = given.folder.appending("Other.sqlite")
    var other = given.request(output: output)
    other.engine = .sql
    _ = try await given.run(other)
    let report = try await run(given)
    #expect(report.engine == .edit && report.engineDeclined == nil)
    #expect(Set(report.movedTables).isDisjoint(with: step.made + step.updated))
    #expect(Set(report.movedTables + step.made + step.updated).isSuperset(of: ["ZBOOK", "ZTAG"]))
    #expect(report.workOrders.isEmpty == step.made.isEmpty)
    #expect(try contents(given.store) == contents(output))
    #expect(
      try StoreHeader(of: given.store).usesWAL == (change == "PRAGMA journal_mode = WAL"))
    for store in [given.store, output] {
      #expect(try StoreHeader(of: store).appNumbers == appNumbers)
    }
    let upkeep = try StoreUpkeep(of: given.store)
    #expect(try upkeep.contents().kept.map(\.state) == [.whole])
    let done = try upkeep.rollBack()
    #expect(done.kept == nil && done.notes.isEmpty)
    let isSame = try given.bytes(given.store) == before
    #expect(isSame)
    #expect(
      try given.names == ["New.mom", "Other.sqlite", "Shop.sqlite"])
  }

  /// Persons in a hierarchy, to which books lead with the number of the entity.
  private static func family(_ others: [Entity] = [], _ more: [Attribute] = []) throws
    -> ManagedObjectModel
  {
    try ManagedObjectModel(
      entities: [
        Entity(
          "Book", [.optional("title")], [.toOne("author", "Person", inverse: "books")]),
        Entity(
          "Person", [.optional("name")] + more, [.toMany("books", "Book", inverse: "author")]),
        Entity("Writer", in: "Person", [.optional("pen")]),
      ] + others)
  }

  @Test(arguments: [EngineName.edit, .clone])
  func `entity numbers are updated where they are, in rows and in references`(
    engine: EngineName
  ) async throws {
    let given = try GivenMigration(
      from: Self.family(), to: Self.family([Entity("Ape", [.optional("name")])]), rows: 3_000)
    let output = given.folder.appending("Other.sqlite")
    var other = given.request(output: output)
    other.engine = .sql
    _ = try await given.run(other)
    let report = try await run(given) { $0.engine = engine }
    #expect(report.engine == engine && report.engineDeclined == nil)
    #expect(report.workOrders.isEmpty && report.movedTables.isEmpty)
    #expect(report.stayingRows == 0 && report.rows > 2_000)
    #expect(try contents(given.store) == contents(output))
  }

  @Test func `a reference to an entity that is unknown is not updated but dropped and told`()
    async throws
  {
    let given = try GivenMigration(
      from: Self.family(), to: Self.family([Entity("Ape", [.optional("name")])]), rows: 3_000)
    try given.change(
      """
      UPDATE ZBOOK SET Z2_AUTHOR = 77 WHERE Z_PK = (SELECT max(Z_PK) FROM ZBOOK WHERE ZAUTHOR > 0)
      """)
    let output = given.folder.appending("Other.sqlite")
    var other = given.request(output: output)
    other.engine = .sql
    other.lossConsent = .all
    let bySQL = try await given.run(other)
    let report = try await run(given) { $0.lossConsent = .all }
    #expect(bySQL.losses.count == 1 && report.losses == bySQL.losses)
    #expect(try contents(given.store) == contents(output))
  }

  @Test func `SQLite alone puts the store back by the file that is kept`() async throws {
    let given = try given()
    let before = try given.bytes(given.store)
    let report = try await run(given)
    let undo = FilePath(try #require(report.oldStore))
    #expect(try given.bytes(given.store) != before)
    try Files.rename(undo, to: FilePath("\(given.store)-journal"))
    try given.change("SELECT count(*) FROM sqlite_schema")
    let isSame = try given.bytes(given.store) == before
    #expect(isSame)
  }

  @Test(arguments: [
    "UPDATE Z_METADATA SET Z_UUID = 'X'", "PRAGMA journal_mode = WAL",
    "UPDATE ZTAG SET Z_OPT = Z_OPT + 1 WHERE Z_PK = 1",
  ])
  func `a store that was written to since is not put back`(change: String) async throws {
    let given = try given()
    let report = try await run(given)
    try given.change(change)
    let after = try given.bytes(given.store)
    #expect {
      try StoreUpkeep(of: given.store).rollBack()
    } throws: { error in
      guard let error = error as? StoreError, case .editOutdated(_) = error.problem else {
        return false
      }
      return error.store.string == report.oldStore
    }
    let isSame = try given.bytes(given.store) == after
    #expect(isSame)
    #expect(try StoreUpkeep(of: given.store).finish().map(\.string) == [report.oldStore])
  }

  @Test func `what undoes an edit and lies elsewhere is named, and serves again once moved back`()
    async throws
  {
    let given = try given()
    let before = try given.bytes(given.store)
    let report = try await run(given)
    let undo = FilePath(try #require(report.oldStore))
    let upkeep = try StoreUpkeep(of: given.store)
    let (renamed, list) = (given.folder.appending("mine.undo"), upkeep.kept.path)
    func missing(_ wanted: FilePath? = nil) -> FilePath? {
      do {
        _ = try upkeep.rollBack(to: wanted)
        return nil
      } catch PlaceError.keptMissing(undo, let found) {
        return found ?? "nowhere"
      } catch PlaceError.keptUnlisted(let kept, list) {
        return kept
      } catch { return FilePath("\(error)") }
    }
    try Files.rename(undo, to: renamed)
    #expect(missing() == renamed && missing(undo) == renamed && missing(renamed) == renamed)
    let aside = given.folder.appending("aside")
    try Files.createDirectory(aside)
    try Files.rename(renamed, to: aside.appending("mine.undo"))
    #expect(missing() == "nowhere")
    #expect(missing(aside.appending("mine.undo")) == aside.appending("mine.undo"))
    try Files.rename(aside.appending("mine.undo"), to: undo)
    try Files.rename(list, to: aside.appending("list"))
    #expect(missing() == undo)
    try Files.rename(aside.appending("list"), to: list)
    #expect(missing() == nil)
    let isSame = try given.bytes(given.store) == before
    #expect(isSame)
  }

  @Test func `several edits are undone one after the other`() async throws {
    let given = try given()
    let first = try given.bytes(given.store)
    _ = try await run(given)
    let second = try given.bytes(given.store)
    try Files.writeFileAtomically(
      ModelArchive.encode(Self.model([.optional("color"), .optional("size")])).bytes,
      to: given.target)
    _ = try await run(given)
    let upkeep = try StoreUpkeep(of: given.store)
    #expect(try upkeep.contents().kept.count == 2)
    for expected in [second, first] {
      _ = try upkeep.rollBack()
      let isSame = try given.bytes(given.store) == expected
      #expect(isSame)
    }
    #expect(try upkeep.contents().kept.isEmpty)
  }

  @Test func `what undoes an edit reads as the store that it would give back`() async throws {
    let given = try given(
      "PRAGMA journal_mode = WAL",
      to: Self.model([.mandatory("n", .integer16, default: .integer(1))]))
    let before = try contents(given.store)
    let report = try await run(given)
    let undo = FilePath(try #require(report.oldStore))
    let access = try SourceAccess.open(undo)
    #expect(try contents(access.readable) == before)
    #expect(try contents(given.store) != before)
    access.release()
    try given.change("UPDATE ZTAG SET Z_OPT = Z_OPT + 1 WHERE Z_PK = 1")
    let error = #expect(throws: StoreError.self) { try SourceAccess.open(undo) }
    #expect(error?.store == undo)
  }

  @Test func `without a way back nothing is kept`() async throws {
    let given = try given()
    let report = try await run(given) { $0.discardsOld = true }
    #expect(report.engine == .edit && report.oldStore == nil)
    #expect(try given.names == ["New.mom", "Shop.sqlite"])
    #expect(try contents(given.store).keys.contains { $0.contains("ZCOLOR") })
  }

  @Test(arguments: [
    ("PRAGMA auto_vacuum = 0; VACUUM", "the store keeps no map of its pages"),
    ("PRAGMA page_size = 8192; VACUUM", "the store has pages of another size than the new one"),
  ])
  func `what cannot be edited is migrated otherwise, and why is told`(
    change: String, reason: String
  ) async throws {
    let given = try given(change)
    let before = try given.bytes(given.store)
    let report = try await run(given)
    #expect(report.engine != .edit && report.engineDeclined == reason)
    let isSame = try given.bytes(FilePath(try #require(report.oldStore))) == before
    #expect(isSame)
  }

  @Test(arguments: [model(person: "Human"), model(title: "name"), model([.optional("color")])])
  func `who has an old schema in memory knows that it is an old one`(
    target: ManagedObjectModel
  ) async throws {
    let given = try given(to: target)
    func numbers() throws -> [Int64] {
      try StoreConnection.immutable(given.store).run { db in
        [
          try Int64.fetchOne(db, sql: "PRAGMA schema_version") ?? 0,
          Int64(try StoreHeader(of: given.store).changeCounter),
        ]
      }
    }
    let before = try numbers()
    _ = try await run(given)
    let after = try numbers()
    #expect(after[0] > before[0] && after[1] > before[1])
  }

  @Test func `a store of two names is no edit, since SQLite finds a journal by one of them`()
    async throws
  {
    let given = try given()
    let other = given.folder.appending("Other.sqlite")
    try Files.link(from: given.store, to: other)
    let before = try given.bytes(other)
    let report = try await run(given)
    #expect(report.engineDeclined == "the store has several names (hard links)")
    let isSame = try given.bytes(other) == before
    #expect(isSame)
  }

  @Test func `an output is no edit`() async throws {
    let given = try given()
    let report = try await run(given) { $0.output = given.folder.appending("New.sqlite") }
    #expect(report.engineDeclined == "the result is a store of its own")
  }

  @Test func `a full check reads the store as it will be`() async throws {
    let given = try given(to: Self.model([.mandatory("color", default: .string("red"))]))
    let report = try await run(given) { $0.verifiesFully = true }
    #expect(report.engine == .edit && report.wasVerifiedFully == true)
  }

  @Test func `somebody who has the store open keeps it from being edited`() async throws {
    let given = try given()
    let before = try given.bytes(given.store)
    // The lock of an app that reads.
    let lock = try #require(
      try RegionLock.acquire(given.store, kind: .shared, bytes: SourceAccess.lockBytes))
    let error = await #expect(throws: StoreError.self) { try await run(given) }
    withExtendedLifetime(lock) { #expect(error?.problem == .inUse) }
    let isSame = try given.bytes(given.store) == before
    #expect(isSame)
    #expect(try given.names == ["New.mom", "Shop.sqlite"])
  }

  @Test func `an edited store with another time is put back unless it has a write-ahead log`()
    async throws
  {
    for mode in ["DELETE", "WAL"] {
      let given = try given("PRAGMA journal_mode = \(mode)")
      let before = try given.bytes(given.store)
      _ = try await run(given)
      try Files.setModified(given.store, to: 1)
      let upkeep = try StoreUpkeep(of: given.store)
      if mode == "WAL" {
        #expect(throws: StoreError.self) { try upkeep.rollBack() }
      } else {
        _ = try upkeep.rollBack()
        let isSame = try given.bytes(given.store) == before
        #expect(isSame)
      }
      try FileManager.default.removeItem(atPath: given.folder.string)
    }
  }
}
