import Expressions
import GRDB
import Godwit
import Mapping
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What is wrong with rows of a store, what is told of it, and what a choice does about it.
@Suite(.scratchFolder) struct DefectTests {
  private static func model(isLater: Bool) throws -> ManagedObjectModel {
    let added = isLater ? [Entity("Aardvark", [.optional("snout")])] : []
    return try ManagedObjectModel(
      entities: added + [
        Entity(
          "Party", isAbstract: true, [.optional("name")],
          [.toMany("things", "Thing", inverse: "owner", isOrdered: true)]),
        Entity("Person", in: "Party"), Entity("Firm", in: "Party", [.optional("seat")]),
        Entity(
          "Thing", [.optional("code"), .optional("size", isLater ? .double : .integer32)],
          [
            .toOne("owner", "Party", inverse: "things"), .toOne("twin", "Thing", inverse: "twinOf"),
            .toOne("twinOf", "Thing", inverse: "twin"),
            .toMany("tags", "Tag", inverse: "things"),
          ], unique: isLater ? [["code"]] : []),
        Entity("Tag", [.optional("word")], [.toMany("things", "Thing", inverse: "tags")]),
      ])
  }

  private func given(_ changes: String) throws -> GivenMigration {
    let given = try GivenMigration(
      from: Self.model(isLater: false), to: Self.model(isLater: true))
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(
        sql: """
          UPDATE ZTHING SET ZCODE = 'code ' || Z_PK, ZSIZE = Z_PK, ZTWIN = NULL, ZTWINOF = NULL,
            ZOWNER = (SELECT min(Z_PK) FROM ZPARTY WHERE Z_ENT = 3), \(Self.number) = 3,
            Z_FOK_OWNER = 1024 * Z_PK;
          \(changes)
          """)
    }
    try connection.queue.close()
    return given
  }

  /// The column with the entity number of an owner.
  private static let number = "Z1_OWNER"

  private func count(_ sql: String, in store: FilePath) throws -> Int64 {
    try StoreReader(immutable: store).number(sql: "SELECT count(*) FROM \(sql)")
  }

  private func sentences(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> [String] {
    let bytes = try given.bytes(given.store)
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(try given.bytes(given.store) == bytes)
    return MigrationFailure(try #require(error)).sentences
  }

  private func previewed(
    _ given: GivenMigration, _ request: MigrationRequest
  ) throws -> (losses: [Loss], defects: [Defect]) {
    let target = try TargetModel(paths: request.target, configuration: nil)
    return try MigrationPreview.with(request, target: target) { ($0.losses, $0.defects) }
  }

  static let engines = [EngineName.sql, .pages]

  @Test(arguments: engines)
  func `the number of no entity beside a reference is refused with its keys`(
    engine: EngineName
  ) async throws {
    let given = try given("UPDATE ZTHING SET \(Self.number) = 77 WHERE Z_PK IN (3, 7)")
    var request = given.request()
    request.engine = engine
    let found = try await sentences(given, request)
    #expect(found.contains { $0.hasPrefix("Thing.owner: 2 references (Z_PK 3, 7) kept without") })
    request.lossConsent = .some(["Thing.owner"])
    let report = try await given.run(request)
    #expect(report.losses.map(\.cause) == [.unknownReference])
    #expect(try count("ZTHING WHERE ZOWNER IS NULL", in: given.store) == 0)
  }

  @Test(arguments: engines)
  func `a reference with an unknown number becomes nil as a whole where that is chosen`(
    engine: EngineName
  ) async throws {
    let given = try given("UPDATE ZTHING SET \(Self.number) = 77 WHERE Z_PK IN (3, 7)")
    var request = given.request()
    (request.engine, request.defectChoices.dangling) = (engine, .nullify)
    request.failsOnLoss = true
    #expect(
      try await sentences(given, request).contains {
        $0.hasPrefix("Thing.owner: 2 references (Z_PK 3, 7) nil, since the relationship")
      })
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(
      report.defects == [
        Defect(
          kind: .unknownReference, entity: "Thing", property: "owner", count: 2, keys: [3, 7],
          fate: .nullified)
      ])
    #expect(
      try count(
        "ZTHING WHERE ZOWNER IS NULL AND Z_FOK_OWNER IS NULL AND Z_PK IN (3, 7)", in: given.store)
        == 2)
    #expect(try count("ZTHING WHERE ZOWNER IS NULL", in: given.store) == 2)
  }

  @Test(arguments: engines)
  func `a text in a column of numbers is counted before it becomes zero`(
    engine: EngineName
  ) async throws {
    let given = try given("UPDATE ZTHING SET ZSIZE = 'many' WHERE Z_PK IN (2, 5)")
    var request = given.request()
    request.engine = engine
    let found = try await sentences(given, request)
    #expect(found.contains { $0.hasPrefix("Thing.size: 2 values (Z_PK 2, 5) changed") })
    request.defectChoices.values = .null
    request.failsOnLoss = true
    #expect(
      try await sentences(given, request).contains { $0.hasPrefix("Thing.size: 2 values (Z_PK 2") })
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(report.defects.map(\.keys) == [[2, 5]])
    #expect(try count("ZTHING WHERE ZSIZE IS NULL", in: given.store) == 2)
  }

  @Test func `converting is a choice as well, and the report has what it changed`() async throws {
    let given = try given("UPDATE ZTHING SET ZSIZE = 'many' WHERE Z_PK IN (2, 5)")
    var request = given.request()
    request.defectChoices.values = .convert
    request.failsOnLoss = true
    #expect(
      try await sentences(given, request).contains { $0.hasPrefix("Thing.size: 2 values (Z_PK 2") })
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(report.losses.map(\.cause) == [.conversion])
    #expect(report.losses.map(\.keys) == [[2, 5]])
    #expect(try count("ZTHING WHERE ZSIZE = 0.0", in: given.store) == 2)
  }

  @Test(arguments: engines, ["$source.price", "TERNARY($source.price > 5, $source.price, 0.0)"])
  func `a value that more is made of does not become nil`(
    engine: EngineName, expression: String
  ) async throws {
    func item(_ price: AttributeType, _ more: Attribute...) throws -> ManagedObjectModel {
      try ManagedObjectModel(Entity("Item", [.optional("price", price)] + more))
    }
    let given = try GivenMigration(
      from: item(.double), to: item(.integer16, .optional("exact", .double)), rows: 10)
    try given.change(
      "UPDATE ZITEM SET ZPRICE = CASE Z_PK WHEN 1 THEN 70000 WHEN 2 THEN 2.5 ELSE 7 END")
    var request = given.request()
    request.engine = engine
    request.settings = ["Item.exact=\(expression)"]
    request.defectChoices.values = .null
    let found = try await sentences(given, request).joined(separator: "\n")
    #expect(found.contains("Item.price: 1 object (Z_PK 1) with values that do not fit Integer 16"))
    #expect(found.contains("cannot become nil; choose a wider type"))
    #expect(found.contains("Item.price: 1 value (Z_PK 2) changed"))
    request.settings = []
    _ = try await given.run(request)
    #expect(try count("ZITEM WHERE ZPRICE IS NULL AND Z_PK IN (1, 2)", in: given.store) == 2)
    #expect(try count("ZITEM WHERE ZPRICE = 7", in: given.store) == 8)
  }

  @Test func `values of several mappings that make one entity are listed, and become nil`()
    async throws
  {
    let size = Attribute.optional("size", .integer64)
    let given = try GivenMigration(
      from: ManagedObjectModel(Entity("Box", [size]), Entity("Jar", [size])),
      to: ManagedObjectModel(Entity("Box", [.optional("size", .integer16)])), rows: 6)
    try given.change(
      "UPDATE ZBOX SET ZSIZE = CASE Z_PK WHEN 2 THEN 70000 ELSE 1 END;"
        + "UPDATE ZJAR SET ZSIZE = CASE Z_PK WHEN 1 THEN -90000 ELSE 2 END")
    let mappings = ["Box", "Jar"].map {
      #"{"name": "\#($0)", "source": "\#($0)", "destination": "Box", "type": "copy"}"#
    }
    let file = given.folder.appending("Map.json")
    let text =
      #"{"format": "godwit mapping model", "version": 1, "mappings": ["#
      + mappings.joined(separator: ", ") + "]}"
    try Files.writeFileAtomically(Array(text.utf8), to: file)
    var request = given.request()
    request.mappings = [file]
    let found = try await sentences(given, request)
    let wrong = found.filter { $0.contains("values that do not fit Integer 16") }
    #expect(
      wrong.map { $0.prefix(34) } == [
        "Box.size: 1 object of Box (Z_PK 2)", "Box.size: 1 object of Jar (Z_PK 1)",
      ])
    request.defectChoices.values = .null
    _ = try await given.run(request)
    #expect(try count("ZBOX WHERE ZSIZE IS NULL", in: given.store) == 2)
    #expect(try count("ZBOX WHERE ZSIZE IN (1, 2)", in: given.store) > 2)
  }

  @Test(arguments: engines, [DefectChoices.Duplicates.keepFirst, .keepLast])
  func `of duplicates one stays, and what led to the others leads nowhere`(
    engine: EngineName, choice: DefectChoices.Duplicates
  ) async throws {
    let given = try given(
      """
      UPDATE ZTHING SET ZCODE = 'same' WHERE Z_PK IN (4, 6, 9);
      UPDATE ZTHING SET ZTWIN = 4 WHERE Z_PK = 1; UPDATE ZTHING SET ZTWINOF = 1 WHERE Z_PK = 4;
      UPDATE ZTHING SET ZTWIN = 9 WHERE Z_PK = 2; UPDATE ZTHING SET ZTWINOF = 2 WHERE Z_PK = 9
      """)
    let rows = try count("ZTHING", in: given.store)
    var request = given.request()
    request.engine = engine
    #expect(try await sentences(given, request).contains { $0.contains("choices.duplicates") })
    request.defectChoices.duplicates = choice
    let report = try await given.run(request)
    let gone: [Int64] = choice == .keepFirst ? [6, 9] : [4, 6]
    let defect = try #require(report.defects.first { $0.kind == .duplicate })
    #expect(defect.keys == gone)
    #expect(try count("ZTHING", in: given.store) == rows - 2)
    #expect(try count("ZTHING WHERE Z_PK IN (\(gone[0]), \(gone[1]))", in: given.store) == 0)
    #expect(
      try count("ZTHING WHERE ZTWIN NOT IN (SELECT Z_PK FROM ZTHING)", in: given.store) == 0)
    #expect(try count("ZTHING WHERE ZTWIN IS NOT NULL", in: given.store) == 1)
    let account = try #require(report.accounts[0].entities.first { $0.entity == "Thing" })
    #expect(account.rowsIn == rows)
    #expect(account.dropped == [.init(cause: .duplicate, objects: 2)])
  }

  @Test(arguments: engines)
  func `references that lead nowhere are kept and told, refused or nil`(
    engine: EngineName
  ) async throws {
    let given = try given("UPDATE ZTHING SET ZTWIN = 99000 + Z_PK WHERE Z_PK IN (3, 8)")
    var request = given.request(output: given.folder.appending("Kept.sqlite"))
    request.engine = engine
    var report = try await given.run(request)
    let told = report.defects.first { $0.kind == .dangling }
    #expect(told?.keys == [3, 8] && told?.fate == .kept)
    #expect(try count("ZTHING WHERE ZTWIN > 99000", in: request.destination) == 2)
    request.defectChoices.dangling = .fail
    request.output = given.folder.appending("Refused.sqlite")
    #expect(
      try await sentences(given, request).contains {
        $0.hasPrefix("Thing.twin: 2 references (Z_PK 3")
      })
    #expect(try previewed(given, request).losses.map(\.cause) == [.dangling])
    request.lossConsent = .some(["Thing.twin"])
    request.output = given.folder.appending("Allowed.sqlite")
    let preview = try previewed(given, request)
    #expect(preview.losses.isEmpty && preview.defects.map(\.fate) == [.kept])
    report = try await given.run(request)
    #expect(report.losses.isEmpty && report.defects.map(\.fate) == [.kept])
    #expect(try count("ZTHING WHERE ZTWIN > 99000", in: request.destination) == 2)
    request.lossConsent = .none
    request.defectChoices.dangling = .nullify
    request.output = given.folder.appending("Nil.sqlite")
    report = try await given.run(request)
    #expect(report.defects.map(\.fate) == [.nullified])
    #expect(try count("ZTHING WHERE ZTWIN IS NOT NULL", in: request.destination) == 0)
  }

  private func survey(_ given: GivenMigration) throws -> StoreSurvey {
    let reader = try StoreReader(immutable: given.store)
    let access = try SourceAccess.open(given.store) { FilePath("\(given.store)-\($0)") }
    return try StoreSurvey(
      store: given.store, access: access, reader: reader, metadata: try reader.metadata(),
      model: try Self.model(isLater: false))
  }

  @Test(arguments: [
    ("", 0), ("UPDATE ZTHING SET Z_FOK_OWNER = 5 WHERE Z_PK IN (3, 4)", 2),
    ("UPDATE ZTHING SET Z_FOK_OWNER = NULL WHERE Z_PK = 3", 1),
    ("UPDATE ZTHING SET Z_FOK_OWNER = 'x' WHERE Z_PK IN (3, 4)", 2),
    ("UPDATE ZTHING SET Z_FOK_OWNER = 5.5 WHERE Z_PK = 3", 1),
    ("UPDATE ZTHING SET Z_FOK_OWNER = 5, ZOWNER = NULL WHERE Z_PK IN (3, 4)", 0),
    ("UPDATE ZTHING SET Z_FOK_OWNER = 4611686018427387904 + Z_PK WHERE Z_PK < 5", 0),
  ])
  func `places of large tables are looked at without sorting, and tell the same`(
    changes: String, count: Int64
  ) throws {
    let given = try given(changes)
    let survey = try survey(given)
    let found = try [Int64.max, 1].map { least in
      var search = DefectSearch(survey: survey)
      search.manyRows = least
      return try search.defects().filter { $0.kind == .order }
    }
    #expect(found[0] == found[1])
    #expect(found[1].reduce(0) { $0 + $1.count } == count)
  }

  @Test func `keys in memory tell of the same references as the tables`() throws {
    let given = try given(
      """
      UPDATE ZTHING SET ZTWIN = CASE Z_PK WHEN 3 THEN 99003 WHEN 4 THEN 5 WHEN 5 THEN 5.5
        WHEN 6 THEN X'00' WHEN 7 THEN 'seven' WHEN 8 THEN -1 WHEN 9 THEN 0 END;
      UPDATE ZTHING SET ZOWNER = 77000 WHERE Z_PK = 2;
      """)
    let survey = try survey(given)
    let search = DefectSearch(survey: survey)
    let keys = try TargetKeys(of: search.allReferences, in: survey, ofTablesFrom: 1)
    let (plain, quick) = (search.references(), search.references(in: keys))
    for (one, other) in zip(plain, quick) {
      #expect(try search.keys(of: one) == search.keys(of: other), "\(one.property)")
    }
    #expect(plain.map(\.rows) != quick.map(\.rows) && plain.count == quick.count)
    let twins = try #require(quick.first { $0.property == "twin" })
    #expect(try search.keys(of: twins) == [3, 5, 6, 7, 8, 9])
    let few = try TargetKeys(of: search.allReferences, in: survey)
    #expect(search.references(in: few).map(\.rows) == plain.map(\.rows))
  }

  @Test func `duplicates under a constraint that the store had before are told and settled`()
    async throws
  {
    let unique = { (later: Bool) in
      try ManagedObjectModel(
        Entity(
          "Lone", [.optional("code")] + (later ? [.optional("more")] : []), unique: [["code"]]))
    }
    let given = try GivenMigration(from: unique(false), to: unique(true))
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      let name = try String.fetchOne(
        db, sql: "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%UNIQUE%'")
      try db.execute(
        sql: """
          DROP INDEX \(try #require(name)); UPDATE ZLONE SET ZCODE = 'c' || Z_PK;
          UPDATE ZLONE SET ZCODE = 'same' WHERE Z_PK IN (2, 3)
          """)
    }
    try connection.queue.close()
    var request = given.request()
    #expect(
      try await sentences(given, request).contains { $0.hasPrefix("Lone: 2 objects (Z_PK 2, …)") })
    request.defectChoices.duplicates = .keepFirst
    let report = try await given.run(request)
    #expect(report.defects.map(\.keys) == [[3]])
    #expect(try count("ZLONE WHERE ZCODE = 'same'", in: given.store) == 1)
  }

  @Test func `an interrupted run that repaired a copy goes on from the same copy`() async throws {
    let given = try given("UPDATE ZTHING SET ZSIZE = 'many' WHERE Z_PK IN (2, 5)")
    var request = given.request(rangeRows: 10, output: given.folder.appending("New.sqlite"))
    request.defectChoices.values = .null
    let killed = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, killed) }
    let report = try await given.run(request)
    #expect(report.resumed)
    #expect(report.defects.map(\.keys) == [[2, 5]])
    #expect(try count("ZTHING WHERE ZSIZE IS NULL", in: request.destination) == 2)
  }

  @Test func `what models, data and losses stand against is told at once`() async throws {
    let given = try given(
      """
      UPDATE ZTHING SET ZCODE = 'same' WHERE Z_PK IN (4, 6);
      UPDATE ZTHING SET ZSIZE = 'many' WHERE Z_PK = 2;
      UPDATE ZTHING SET \(Self.number) = 77 WHERE Z_PK = 3
      """)
    let found = try await sentences(given, given.request())
    for place in [
      "Thing: 2 objects (Z_PK 4, …)", "Thing.size: 1 value ", "Thing.owner: 1 reference ",
    ] {
      #expect(found.contains { $0.contains(place) }, "\(place)")
    }
  }

  @Test func `a store with a log is repaired in its copy and stays as it was`() async throws {
    let given = try given("UPDATE ZTHING SET ZSIZE = 'many' WHERE Z_PK = 2")
    let writer = try StoreConnection.writable(given.store)
    try writer.run { db in
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
      try db.execute(sql: "UPDATE ZTHING SET ZSIZE = 'more' WHERE Z_PK = 5")
    }
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.defectChoices.values = .null
    let before = try given.bytes(given.store)
    let report = try await given.run(request)
    #expect(report.defects.map(\.keys) == [[2, 5]])
    #expect(try given.bytes(given.store) == before)
    try writer.queue.close()
  }
}
