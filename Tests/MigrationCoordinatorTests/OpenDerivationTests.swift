import Expressions
import GRDB
import Mapping
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Migrations of derived attributes that only Core Data computes, in stores without their triggers.
@Suite(.scratchFolder) struct OpenDerivationTests {
  /// Folders with documents; what is derived has the same derivation in both versions.
  private static func model(
    _ derived: Attribute, of entity: String = "Doc", isNew: Bool, isMany: Bool = false,
    dropsDrafts: Bool = false, unique: [[String]] = []
  ) throws -> ManagedObjectModel {
    func own(_ name: String) -> [Attribute] { entity == name ? [derived] : [] }
    var entities = [
      Entity(
        "Folder", [.optional("name")] + own("Folder"),
        [.toMany("docs", "Doc", inverse: "folders")]),
      Entity(
        "Doc", [.optional("name")] + own("Doc") + (isNew ? [.optional("note")] : []),
        [
          isMany
            ? .toMany("folders", "Folder", inverse: "docs")
            : .toOne("folders", "Folder", inverse: "docs")
        ], unique: isNew ? unique : []),
    ]
    if !dropsDrafts { entities.append(Entity("Draft", in: "Doc", [.optional("ink")])) }
    return try ManagedObjectModel(entities: entities)
  }

  private static func now() throws -> Attribute { try .derived("c", .date, from: "now()") }

  private static func canonical() throws -> Attribute {
    try .derived("c", .string, from: "canonical:(name)")
  }

  private func given(
    _ derived: Attribute, of entity: String = "Doc", isMany: Bool = false,
    dropsDrafts: Bool = false, unique: [[String]] = []
  ) throws -> GivenMigration {
    try GivenMigration(
      from: Self.model(derived, of: entity, isNew: false, isMany: isMany),
      to: Self.model(
        derived, of: entity, isNew: true, isMany: isMany, dropsDrafts: dropsDrafts, unique: unique),
      rows: 60)
  }

  private func request(
    _ given: GivenMigration, _ engine: EngineName?, mappings: [String] = []
  ) throws -> MigrationRequest {
    var request = given.request()
    request.engine = engine
    request.lossConsent = .all
    if !mappings.isEmpty {
      let file = given.folder.appending("map.json")
      try Files.writeFileAtomically(
        Array(
          """
          {"format": "godwit mapping model", "version": 1,
           "mappings": [\(mappings.joined(separator: ", "))]}
          """.utf8), to: file)
      request.mappings = [file]
    }
    return request
  }

  private func copy(_ entity: String, _ rest: String = "") -> String {
    "{\"source\": \"\(entity)\", \"destination\": \"\(entity)\", \"type\": \"copy\"\(rest)}"
  }

  private func values(_ given: GivenMigration) throws -> [String?] {
    try StoreReader(immutable: given.store).connection.run {
      try String?.fetchAll($0, sql: "SELECT ZC FROM ZDOC ORDER BY Z_PK")
    }
  }

  private func refusals(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> [Refusal] {
    do {
      _ = try await given.run(request)
      return []
    } catch MigrationError.impossible(_, let refusals, _) {
      return refusals
    }
  }

  private func changed(_ property: String?, _ entity: String, _ attribute: String) -> Refusal {
    Refusal(
      reason: .derivedValueNotKept(changed: property), entity: entity, property: attribute)
  }

  @Test(arguments: [EngineName?.none, .sql, .objects], [true, false])
  func `a copy has derived values that only Core Data computes`(
    engine: EngineName?, isTime: Bool
  ) async throws {
    let given = try given(isTime ? Self.now() : Self.canonical())
    let before = try values(given)
    let request = try request(
      given, engine, mappings: ["Folder", "Doc", "Draft"].map { copy($0) })
    _ = try await given.run(request)
    #expect(try values(given) == before)
    #expect(before.contains { $0 != nil })
  }

  @Test(arguments: [EngineName?.none, .sql, .objects], ["null", "\"now()\""])
  func `a mapping that leaves such values out is refused`(
    engine: EngineName?, listed: String
  ) async throws {
    let given = try given(Self.now())
    let mappings = [
      copy("Folder"), copy("Doc", ", \"attributes\": {\"c\": \(listed)}"), copy("Draft"),
    ]
    let found = try await refusals(given, request(given, engine, mappings: mappings))
    #expect(found == [changed(nil, "Doc", "c")])
  }

  @Test(arguments: [EngineName?.none, .sql, .objects])
  func `such a value is refused where an expression changes what it is computed from`(
    engine: EngineName?
  ) async throws {
    let given = try given(Self.canonical())
    var request = try request(given, engine)
    request.settings = ["Doc.name=uppercase($source.name)"]
    #expect(try await refusals(given, request) == [changed("Doc.name", "Doc", "c")])
  }

  @Test(
    arguments: [EngineName?.none, .sql], [DefectChoices.Duplicates.fail, .keepFirst, .merge])
  func `a count of pairs is refused where objects of the other end go`(
    engine: EngineName?, choice: DefectChoices.Duplicates
  ) async throws {
    let merges = choice != .fail
    let given = try given(
      .derived("n", .integer64, from: "docs.@count"), of: "Folder", isMany: true,
      dropsDrafts: !merges, unique: merges ? [["name"]] : [])
    if merges { try given.change("UPDATE ZDOC SET ZNAME = 'x' WHERE Z_PK < 6") }
    var request = try request(given, engine)
    request.defectChoices.duplicates = choice
    #expect(try await refusals(given, request) == [changed("Folder.docs", "Folder", "n")])
  }

  @Test(arguments: [EngineName?.none, .sql, .objects])
  func `a count of pairs stays where all pairs stay`(engine: EngineName?) async throws {
    let given = try given(
      .derived("n", .integer64, from: "docs.@count"), of: "Folder", isMany: true)
    #expect(try await refusals(given, request(given, engine)) == [])
  }

  @Test(arguments: [EngineName?.none, .sql, .objects])
  func `a count of pairs stays where the other end is renamed`(
    engine: EngineName?
  ) async throws {
    func model(_ document: String, _ folders: String, was: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel(entities: [
        Entity(
          "Folder", [.optional("name"), .derived("n", .integer64, from: "docs.@count")],
          [.toMany("docs", document, inverse: folders)]),
        Entity(
          document, was: was ? "Doc" : nil, [.optional("name")],
          [.toMany(folders, "Folder", inverse: "docs", was: was ? "folders" : nil)]),
      ])
    }
    let given = try GivenMigration(
      from: model("Doc", "folders", was: false), to: model("Page", "places", was: true), rows: 60)
    #expect(try await refusals(given, request(given, engine)) == [])
  }

  @Test(arguments: [EngineName?.none, .sql, .objects], [false, true])
  func `a default value changes what is computed from missing values only`(
    engine: EngineName?, isMissing: Bool
  ) async throws {
    func model(_ name: Attribute) throws -> ManagedObjectModel {
      try ManagedObjectModel(entities: [Entity("Doc", [name, Self.canonical()])])
    }
    let given = try GivenMigration(
      from: model(.optional("name")), to: model(.mandatory("name", default: .string("x"))),
      rows: 20)
    try given.change("UPDATE ZDOC SET ZNAME = 'y'")
    if isMissing { try given.change("UPDATE ZDOC SET ZNAME = NULL WHERE Z_PK = 3") }
    #expect(
      try await refusals(given, request(given, engine))
        == (isMissing ? [changed("Doc.name", "Doc", "c")] : []))
  }

  @Test(arguments: [EngineName?.none, .sql])
  func `values of duplicates that stay are computed from what they were`(
    engine: EngineName?
  ) async throws {
    let given = try given(Self.canonical(), unique: [["name"]])
    try given.change("UPDATE ZDOC SET ZNAME = 'x' WHERE Z_PK < 6")
    var request = try request(given, engine)
    request.defectChoices.duplicates = .keepFirst
    #expect(try await refusals(given, request) == [])
  }

  @Test(arguments: [EngineName?.none, .sql, .objects])
  func `values stay where their entity is renamed or gets a parent`(
    engine: EngineName?
  ) async throws {
    let own: [Attribute] = try [.optional("name"), Self.canonical()]
    let given = try GivenMigration(
      from: ManagedObjectModel(entities: [Entity("Doc", own)]),
      to: ManagedObjectModel(entities: [
        Entity("Item", isAbstract: true, [.optional("rank")]),
        Entity("Page", in: "Item", was: "Doc", own),
      ]),
      rows: 40)
    let before = try values(given)
    #expect(try await refusals(given, request(given, engine)) == [])
    let after = try StoreReader(immutable: given.store).connection.run {
      try String?.fetchAll($0, sql: "SELECT ZC FROM ZITEM ORDER BY Z_PK")
    }
    #expect(after == before && before.contains { $0 != nil })
  }
}
