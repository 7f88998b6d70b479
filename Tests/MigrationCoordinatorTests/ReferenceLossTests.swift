import Expressions
import GRDB
import Mapping
import MappingFiles
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// References that lead to objects which go, or whose place another one takes, are losses of their
/// own, and the accounts of references add up.
@Suite(.scratchFolder) struct ReferenceLossTests {
  private static func model(
    _ more: [Attribute] = [], isOrdered: Bool = true, hasTrash: Bool = true
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: [
        Entity(
          "Folder", [.optional("name")] + more,
          [
            .toMany("notes", "Note", inverse: "folder", isOrdered: isOrdered),
            .toMany("tags", "Tag", inverse: "folders"), .toMany("loose", "Leaf", inverse: nil),
          ]),
        Entity("Leaf", [.optional("text")]),
        Entity("Note", [.optional("text")], [.toOne("folder", "Folder", inverse: "notes")]),
        Entity("Tag", [.optional("word")], [.toMany("folders", "Folder", inverse: "tags")]),
      ] + (hasTrash ? [Entity("Trash", in: "Folder")] : []))
  }

  /// Four folders, the last two of which are named `trash`; the notes, tags and leaves of each.
  private func given(
    to new: ManagedObjectModel, number: Int = 1, others: String = ""
  ) throws -> GivenMigration {
    let given = try GivenMigration(from: Self.model(), to: new, rows: 0)
    try given.change(
      """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'),
        (3, \(number), 1, 'trash'), (4, \(number), 1, 'trash');
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZFOLDER, Z1_FOLDER, Z_FOK_FOLDER)
        VALUES (1, 4, 1, 1, 1, 1024), (2, 4, 1, 1, 1, 2048), (3, 4, 1, 3, \(number), 1024),
        (4, 4, 1, 4, \(number), 1024), (5, 4, 1, NULL, NULL, NULL);
      INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 5, 1), (2, 5, 1);
      INSERT INTO Z_1TAGS (Z_1FOLDERS, Z_5TAGS) VALUES (1, 1), (1, 2), (3, 1), (4, 2);
      INSERT INTO ZLEAF (Z_PK, Z_ENT, Z_OPT, Z1LOOSE) VALUES (1, 3, 1, 1), (2, 3, 1, 3);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9;
      \(others)
      """)
    return given
  }

  private func mapping(
    _ entity: String, _ relationships: [String], where filter: String? = nil
  ) -> EntityMapping {
    var mapping = EntityMapping(
      name: entity, kind: .copy, source: entity, destination: entity)
    mapping.relationshipMappings = relationships.map {
      PropertyMapping(name: $0, valueExpression: .destinations(ofRelationship: $0))
    }
    mapping.sourceExpression = filter.map { .sourceObjects(of: entity, where: $0) }
    return mapping
  }

  private func request(
    _ given: GivenMigration, _ mappings: [EntityMapping], engine: EngineName?
  ) throws -> MigrationRequest {
    var request = given.request(output: given.folder.appending("New.sqlite"))
    if !mappings.isEmpty {
      let file = given.folder.appending("Map.json")
      let text = try MappingText.text(mapping: MappingModel(entityMappings: mappings))
      try Files.writeFileAtomically(Array(text.utf8), to: file)
      request.mappings = [file]
    }
    request.engine = engine
    return request
  }

  private func refusal(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> [String: Int64] {
    do {
      _ = try await given.run(request)
    } catch MigrationError.losses(_, let refusal) {
      return Dictionary(
        uniqueKeysWithValues: refusal.refused.map { ("\($0.name) \($0.cause)", $0.count) })
    }
    return [:]
  }

  private func requireSum(_ report: MigrationReport, in store: FilePath) throws {
    let reader = try StoreReader(immutable: store)
    for account in report.accounts.flatMap({ $0.references ?? [] }) {
      #expect(
        account.referencesIn
          == account.referencesOut + account.dropped.reduce(0) { $0 + $1.references })
      let sql: String? =
        switch "\(account.entity).\(account.relationship)" {
        case "Note.folder": "SELECT count(ZFOLDER) FROM ZNOTE"
        case "Folder.tags": "SELECT count(*) FROM Z_1TAGS"
        case "Folder.loose": "SELECT count(Z1LOOSE) FROM ZLEAF"
        default: nil
        }
      #expect(try reader.number(sql: try #require(sql)) == account.referencesOut)
    }
  }

  @Test(arguments: [nil, EngineName.sql, .pages, .objects])
  func `references to objects that a filter drops are asked for by their own names`(
    engine: EngineName?
  ) async throws {
    let given = try given(to: Self.model([.optional("more")]))
    let mappings = [
      mapping("Folder", ["notes", "tags", "loose"], where: "name != 'trash'"),
      mapping("Trash", []), mapping("Note", ["folder"]), mapping("Tag", ["folders"]),
      mapping("Leaf", []),
    ]
    var request = try request(given, mappings, engine: engine)
    let references: [String: Int64] = [
      "Note.folder filter": 2, "Folder.tags filter": 2, "Folder.loose filter": 1,
    ]
    let refused = try await refusal(given, request)
    #expect(refused == references.merging(["Folder filter": 2]) { one, _ in one })
    request.lossConsent = .some(["Folder"])
    #expect(try await refusal(given, request) == ["Note.folder filter": 2])
    request.lossConsent = .some(["Folder", "Note.folder"])
    let report = try await given.run(request)
    #expect(
      Dictionary(
        uniqueKeysWithValues: report.losses.filter { $0.kind == .relationship }.map {
          ("\($0.name) \($0.cause)", $0.count)
        }) == references)
    #expect(report.losses.first { $0.name == "Note.folder" }?.keys == [3, 4])
    #expect(report.accounts[0].references?.count == 3)
    try requireSum(report, in: request.destination)
  }

  @Test(arguments: [nil, EngineName.sql, .pages])
  func `references to objects of a removed subentity are told, or forbidden`(
    engine: EngineName?
  ) async throws {
    let given = try given(to: Self.model([.optional("more")], hasTrash: false), number: 2)
    var request = try request(given, [], engine: engine)
    request.failsOnLoss = true
    #expect(
      try await refusal(given, request) == [
        "Trash removed": 2, "Note.folder removed": 2, "Trash.tags removed": 2,
        "Trash.loose removed": 1,
      ])
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(report.losses.allSatisfy { $0.cause == .removed })
    #expect(report.accounts[0].references?.map(\.referencesOut).sorted() == [1, 2, 2])
    try requireSum(report, in: request.destination)
  }

  @Test(arguments: [nil, EngineName.sql, .pages])
  func `an order that the model gives up is told`(engine: EngineName?) async throws {
    let given = try given(to: Self.model(isOrdered: false))
    var request = try request(given, [], engine: engine)
    request.failsOnLoss = true
    #expect(try await refusal(given, request) == ["Folder.notes removed": 2])
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(report.losses.map(\.kind) == [.order])
    #expect(report.accounts[0].references == nil)
  }

  @Test func `a plain migration counts no references`() async throws {
    let given = try given(to: Self.model([.optional("more")]))
    var request = try request(given, [], engine: nil)
    request.failsOnLoss = true
    let report = try await given.run(request)
    #expect(report.losses.isEmpty && report.accounts[0].references == nil)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `pairs and references that led nowhere before are accounted as kept`(
    engine: EngineName
  ) async throws {
    let given = try given(
      to: Self.model([.optional("more")]),
      others: """
        INSERT INTO Z_1TAGS (Z_1FOLDERS, Z_5TAGS) VALUES (1, 99);
        UPDATE ZNOTE SET ZFOLDER = 77, Z1_FOLDER = 1 WHERE Z_PK = 5
        """)
    let mappings = [
      mapping("Folder", ["notes", "tags", "loose"], where: "name != 'trash'"),
      mapping("Trash", []), mapping("Note", ["folder"]), mapping("Tag", ["folders"]),
      mapping("Leaf", []),
    ]
    var request = try request(given, mappings, engine: engine)
    request.lossConsent = .all
    let report = try await given.run(request)
    let notes = report.accounts[0].references?.first { $0.entity == "Note" }
    #expect(notes?.referencesIn == 5 && notes?.referencesOut == 3)
    let tags = report.accounts[0].references?.first { $0.relationship == "tags" }
    #expect(tags?.referencesIn == 5 && tags?.referencesOut == 3)
    try requireSum(report, in: request.destination)
  }

  @Test(arguments: [true, false])
  func `of several objects in one place one stays, and the others are asked for`(
    isComputed: Bool
  ) async throws {
    let old = try ManagedObjectModel(
      Entity("Post", [.optional("title")], [.toMany("cards", "Card", inverse: "post")]),
      Entity("Card", [.optional("rank")], [.toOne("post", "Post", inverse: "cards")]))
    let new = try ManagedObjectModel(
      Entity("Post", [.optional("title")], [.toOne("card", "Card", inverse: "post")]),
      Entity("Card", [.optional("rank")], [.toOne("post", "Post", inverse: "card")]))
    let given = try GivenMigration(from: old, to: new, rows: 0)
    try given.change(
      """
      INSERT INTO ZPOST (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1), (2, 2, 1), (3, 2, 1);
      INSERT INTO ZCARD (Z_PK, Z_ENT, Z_OPT, ZPOST) VALUES (1, 1, 1, 1), (2, 1, 1, 1), (3, 1, 1, 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9
      """)
    var post = mapping("Post", [])
    var card = mapping("Card", isComputed ? [] : ["post"])
    (post.kind, card.kind) = (.transform, .transform)
    post.attributeMappings = [.init(name: "title", valueExpression: .source(name: "title"))]
    card.attributeMappings = [.init(name: "rank", valueExpression: .source(name: "rank"))]
    if isComputed {
      post.relationshipMappings = [
        .init(
          name: "card",
          valueExpression: .function(
            operand: .variable("manager"), selector: MappingSelector.byMapping,
            [
              .constant(.string("Card")),
              .function(
                operand: .keyPath(operand: .variable("source"), "cards"), selector: "anyObject",
                []),
            ]))
      ]
    }
    var request = try request(given, [post, card], engine: nil)
    #expect(try await refusal(given, request) == ["Card.post collision": 1])
    request.lossConsent = .some(["Card.post"])
    let report = try await given.run(request)
    #expect(report.losses.map(\.count) == [1])
    #expect(
      try StoreReader(immutable: request.destination).number(
        sql: "SELECT count(ZPOST) FROM ZCARD") == 2)
  }

  @Test(arguments: [EngineName?.none, .sql, .objects])
  func `a copy leaves out what its relationship cannot hold, with consent`(
    engine: EngineName?
  ) async throws {
    let shared = [
      Entity("Album", [.optional("title")], [.toMany("songs", "Song", inverse: "album")]),
      Entity("Song", [.optional("name")], [.toOne("album", "Album", inverse: "songs")]),
    ]
    let given = try GivenMigration(
      from: ManagedObjectModel(entities: shared),
      to: ManagedObjectModel(entities: shared + [Entity("Clip", [.optional("name")])]), rows: 0)
    try given.change(
      """
      INSERT INTO ZALBUM (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZSONG (Z_PK, Z_ENT, Z_OPT, ZALBUM) VALUES (1, 2, 1, 1), (2, 2, 1, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9
      """)
    var clip = mapping("Song", [])
    clip.destinationEntityName = "Clip"
    var request = try request(given, [mapping("Album", []), clip], engine: engine)
    let refused = try await refusal(given, request)
    #expect(refused.keys.contains { $0.hasPrefix("Song.album ") })
    request.lossConsent = .some(["Song.album"])
    let report = try await given.run(request)
    #expect(report.losses.map(\.count) == [1])
    #expect(
      try StoreReader(immutable: request.destination).number(sql: "SELECT count(*) FROM ZCLIP")
        == 2)
  }
}
