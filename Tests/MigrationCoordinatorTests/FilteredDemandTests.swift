import GRDB
import Godwit
import Mapping
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What the types of a new model demand of objects among which mappings choose.
@Suite(.scratchFolder) struct FilteredDemandTests {
  private static let engines: [EngineName] = [.pages, .sql, .objects]

  /// A store whose boxes 2 and 3 have sizes that the new type cannot hold, and a mapping model that
  /// takes boxes of kind 1, which box 2 is not.
  private func given(
    size: AttributeType, as new: AttributeType, wrong: String,
    filter: String = "kind == 1"
  ) throws -> (GivenMigration, MigrationRequest) {
    func model(_ type: AttributeType) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        Entity("Box", [.optional("kind", .integer16), .optional("size", type)]))
    }
    let given = try GivenMigration(from: model(size), to: model(new), rows: 8)
    try given.change(
      "UPDATE ZBOX SET ZKIND = Z_PK % 2, "
        + "ZSIZE = CASE WHEN Z_PK IN (2, 3) THEN \(wrong) ELSE Z_PK END")
    let file = given.folder.appending("Map.json")
    let text = #"""
      {"format": "godwit mapping model", "version": 1, "mappings": [{"name": "Box",
      "source": "Box", "destination": "Box", "type": "copy", "filter": "\#(filter)"}]}
      """#
    try Files.writeFileAtomically(Array(text.utf8), to: file)
    var request = given.request()
    request.mappings = [file]
    request.lossConsent = .some(["Box"])
    return (given, request)
  }

  private func sizes(in given: GivenMigration) throws -> [Int64?] {
    try StoreReader(immutable: given.store).connection.run { db in
      try Int64?.fetchAll(db, sql: "SELECT ZSIZE FROM ZBOX ORDER BY Z_PK")
    }
  }

  @Test(arguments: engines)
  func `numbers of objects that a filter leaves may be out of range, others become nil by choice`(
    engine: EngineName
  ) async throws {
    var (given, request) = try given(size: .integer64, as: .integer16, wrong: "70000")
    request.engine = engine
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    let sentences = MigrationFailure(try #require(error)).sentences
    #expect(sentences.contains { $0.hasPrefix("Box.size: 1 object (Z_PK 3) with values that") })
    request.defectChoices.values = .null
    let report = try await given.run(request)
    #expect(report.defects.map(\.keys) == [[3]])
    #expect(try sizes(in: given) == [1, nil, 5, 7])
  }

  @Test(arguments: engines)
  func `a number that a filter reads does not become nil`(engine: EngineName) async throws {
    var (given, request) = try given(
      size: .integer64, as: .integer16, wrong: "70000", filter: "size > 2")
    request.engine = engine
    request.defectChoices.values = .null
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    let sentences = MigrationFailure(try #require(error)).sentences
    #expect(sentences.contains { $0.hasPrefix("Box.size: 2 objects (Z_PK 2, 3) with values") })
  }

  @Test(arguments: engines)
  func `fractions of objects that a filter leaves do not count, others become nil by choice`(
    engine: EngineName
  ) async throws {
    var (given, request) = try given(size: .double, as: .integer32, wrong: "1.5")
    request.engine = engine
    request.defectChoices.values = .null
    let report = try await given.run(request)
    #expect(report.losses.map(\.name) == ["Box"])
    #expect(report.defects.map(\.keys) == [[3]])
    #expect(try sizes(in: given) == [1, nil, 5, 7])
  }

  @Test(arguments: engines)
  func `fractions of objects that a filter takes are counted where they are cut off`(
    engine: EngineName
  ) async throws {
    var (given, request) = try given(size: .double, as: .integer32, wrong: "1.5")
    request.engine = engine
    let report = try await given.run(request)
    let loss = try #require(report.losses.first { $0.cause == .conversion })
    #expect(loss.keys == [3])
    #expect(try sizes(in: given) == [1, 1, 5, 7])
  }

  @Test(arguments: engines, ["'many'", "x'00'"])
  func `what is no number is zero in the objects that a filter takes`(
    engine: EngineName, wrong: String
  ) async throws {
    var (given, request) = try given(size: .integer32, as: .double, wrong: wrong)
    request.engine = engine
    request.defectChoices.values = .convert
    let report = try await given.run(request)
    let loss = try #require(report.losses.first { $0.cause == .conversion })
    #expect(loss.keys == [3])
    #expect(try sizes(in: given) == [1, 0, 5, 7])
  }
}
