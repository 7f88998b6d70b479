import Expressions
import Foundation
import GRDB
import Godwit
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

/// Files of external values come along, whoever finds their names.
@Suite(.scratchFolder) struct ExternalFilesTests {
  private static func model(_ more: Attribute...) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(
        Entity("Photo", [.optional("album", .binary), .external("image"), .external("preview")]),
        Entity("Scan", [.external("image")] + more))
    } catch { preconditionFailure("\(error)") }
  }

  private func files(of store: String, in folder: FilePath) throws -> [String] {
    try Files.listDirectory(folder.appending(".\(store)_SUPPORT").appending("_EXTERNAL_DATA"))
      .map(\.string).sorted()
  }

  @Test func `a file of the same name at the output is neither taken nor replaced`() async throws {
    let given = try GivenMigration(
      from: Self.model(), to: Self.model(.optional("color")), rows: 90)
    let output = given.folder.appending("New.sqlite")
    let request = given.request(output: output)
    let name = try #require(try files(of: "Shop", in: given.folder).first)
    let folder = given.folder.appending(".New_SUPPORT").appending("_EXTERNAL_DATA")
    try Files.createDirectory(folder.removingLastComponent())
    try Files.createDirectory(folder)
    let size = try given.bytes(
      given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA").appending(name)
    ).count
    for foreign in [[UInt8](repeating: 7, count: size), [1]] {
      try Files.writeFileAtomically(foreign, to: folder.appending(name))
      await #expect(throws: PlaceError.self) { try await given.run(request) }
      #expect(try given.bytes(folder.appending(name)) == foreign)
      #expect(try Files.fileStatusIfPresent(output) == nil)
    }
    try Files.remove(folder.appending(name))
    _ = try await given.run(request)
    #expect(try files(of: "New", in: given.folder).contains(name))
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `two values of the result never name one file`(engine: EngineName) async throws {
    let given = try GivenMigration(from: Self.model(), to: Self.model(.external("copy")), rows: 90)
    var request = given.request()
    request.engine = engine
    request.settings = ["Scan.copy=$source.image"]
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .impossible(_, let refusals, _)? = error else {
      Issue.record("not refused: \(String(describing: error))")
      return
    }
    #expect(refusals.map(\.entity) == ["Scan"] && refusals.map(\.property) == ["image"])
    guard case .externalFiles(.shared, let count, let keys, let names)? = refusals.first?.reason
    else {
      Issue.record("another reason: \(refusals)")
      return
    }
    #expect(count > 0 && !keys.isEmpty && !names.isEmpty)
    // Values within the store have no file to share.
    try given.change("UPDATE ZSCAN SET ZIMAGE = X'0199'")
    _ = try await given.run(request)
  }

  @Test(arguments: [EngineName?.none, .sql, .objects], ["blue", "red"])
  func `mappings share files only where both of their filters take an object`(
    engine: EngineName?, other: String
  ) async throws {
    let (image, color) = (Attribute.external("image"), Attribute.optional("color"))
    let given = try GivenMigration(
      from: ManagedObjectModel(Entity("Scan", [image, color])),
      to: ManagedObjectModel(Entity("Copy", [image, color]), Entity("Scan", [image, color])),
      rows: 90)
    try given.change("UPDATE ZSCAN SET ZCOLOR = iif(Z_PK % 2, 'red', 'blue')")
    let file = given.folder.appending("map.json")
    func mapping(_ destination: String, _ color: String) -> String {
      """
      {"source": "Scan", "destination": "\(destination)", "type": "copy",
       "filter": "color == '\(color)'"}
      """
    }
    try Files.writeFileAtomically(
      Array(
        """
        {"format": "godwit mapping model", "version": 1,
         "mappings": [\(mapping("Scan", "red")), \(mapping("Copy", other))]}
        """.utf8), to: file)
    var request = given.request()
    request.engine = engine
    request.mappings = [file]
    request.lossConsent = .all
    guard other == "red" else {
      _ = try await given.run(request)
      return
    }
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .impossible(_, let refusals, _)? = error,
      case .externalFiles(.shared, _, let keys, _)? = refusals.first?.reason
    else {
      Issue.record("another outcome: \(String(describing: error))")
      return
    }
    #expect(refusals.count == 1 && !keys.isEmpty && keys.allSatisfy { $0 % 2 == 1 })
  }

  @Test(
    arguments: [EngineName.sql, .pages],
    [
      "",
      // The names lie in chains now.
      "UPDATE ZPHOTO SET ZALBUM = randomblob(9000)",
      "DELETE FROM ZPHOTO WHERE Z_PK % 7 = 0; UPDATE ZSCAN SET ZIMAGE = X'0199' WHERE Z_PK % 5 = 0",
    ])
  func `the files that rows name come along, of moved rows and of others`(
    engine: EngineName, change: String
  ) async throws {
    let given = try GivenMigration(
      from: Self.model(), to: Self.model(.mandatory("color", default: .string("red"))), rows: 900)
    let connection = try StoreConnection.writable(given.store)
    let named = try connection.run { db in
      try db.execute(sql: change)
      return try ["ZIMAGE FROM ZPHOTO", "ZPREVIEW FROM ZPHOTO", "ZIMAGE FROM ZSCAN"].flatMap {
        let parts = $0.split(separator: " ", maxSplits: 1)
        return try String.fetchAll(
          db,
          sql: """
            SELECT CAST(substr(\(parts[0]), 2, 36) AS TEXT) \(parts[1])
            WHERE hex(\(parts[0])) LIKE '02%' AND length(\(parts[0])) = 38
            """)
      }
    }
    try connection.queue.close()
    let lost = try #require(named.first)
    try Files.remove(
      given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA").appending(lost))
    var request = given.request(
      workers: 2, rangeRows: 100, output: given.folder.appending("New.sqlite"))
    request.engine = engine
    let report = try await given.run(request)
    #expect(report.movedTables == (engine == .pages ? ["ZPHOTO"] : []))
    #expect(report.missingExternalFiles == [lost])
    #expect(named.count > 10)
    #expect(try files(of: "New", in: given.folder) == named.dropFirst().sorted())
  }

  @Test func `files of a removed attribute go with the kept store, and those of others stay`()
    async throws
  {
    let new = try ManagedObjectModel(
      Entity("Photo", [.optional("album", .binary), .external("image")]),
      Entity("Scan", [.external("image")]))
    let given = try GivenMigration(from: Self.model(), to: new, rows: 90)
    let before = try files(of: "Shop", in: given.folder)
    var request = given.request()
    request.lossConsent = .all
    _ = try await given.run(request)
    let upkeep = try StoreUpkeep(of: given.store)
    let named = try OldExternalFiles(store: given.store).named().sorted()
    #expect(!named.isEmpty && named.count < before.count)
    #expect(try files(of: "Shop", in: given.folder) == before)
    // A file that no store names is not Godwit's to remove.
    let foreign = "00000000-0000-4000-8000-00000000000A"
    let data = given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA")
    try Files.writeFileAtomically([1], to: data.appending(foreign))
    #expect(try upkeep.finish().count == 1)
    #expect(try files(of: "Shop", in: given.folder) == (named + [foreign]).sorted())
  }

  @Test func `files of objects that a choice removes go with a store that is not kept`()
    async throws
  {
    let unique = try ManagedObjectModel(
      Entity("Photo", [.optional("album", .binary), .external("image")]),
      Entity("Scan", [.optional("page"), .external("image")], unique: [["page"]]))
    let old = try ManagedObjectModel(
      Entity("Photo", [.optional("album", .binary), .external("image")]),
      Entity("Scan", [.optional("page"), .external("image")]))
    let given = try GivenMigration(from: old, to: unique, rows: 600)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: "UPDATE ZSCAN SET ZPAGE = 'one'") }
    try connection.queue.close()
    let before = try OldExternalFiles(store: given.store).named()
    var request = given.request()
    (request.lossConsent, request.discardsOld) = (.all, true)
    request.defectChoices.duplicates = .keepFirst
    _ = try await given.run(request)
    let after = try OldExternalFiles(store: given.store).named()
    #expect(!after.isEmpty && after.count < before.count)
    #expect(try files(of: "Shop", in: given.folder) == after.sorted())
  }

  // MARK: Missing and unreadable files

  private static let read = made {
    try ManagedObjectModel(
      Entity("Photo", [.optional("album", .binary), .optional("image", .binary)]),
      Entity("Scan", [.external("image")]))
  }
  private static let kept = made {
    try ManagedObjectModel(
      Entity("Photo", [.optional("album", .binary), .external("image")]),
      Entity("Scan", [.external("image")]))
  }

  private static func made(_ make: () throws -> ManagedObjectModel) -> ManagedObjectModel {
    do { return try make() } catch { preconditionFailure("\(error)") }
  }

  /// A store whose photos 1 to 3 and scans 4 and 5 have files of their own, and nothing else.
  private func given(objects: Bool) throws -> (given: GivenMigration, request: MigrationRequest) {
    let given = try GivenMigration(from: Self.kept, to: Self.read, rows: 90)
    let data = given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA")
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(sql: "UPDATE ZPHOTO SET ZIMAGE = NULL; UPDATE ZSCAN SET ZIMAGE = NULL")
      for (table, key) in [("PHOTO", 1), ("PHOTO", 2), ("PHOTO", 3), ("SCAN", 4), ("SCAN", 5)] {
        try Files.writeFileAtomically([7, 7], to: data.appending(Self.name(key)))
        try db.execute(
          sql: "UPDATE Z\(table) SET ZIMAGE = ? WHERE Z_PK = ?",
          arguments: [Data([2] + Array(Self.name(key).utf8) + [0]), key])
      }
    }
    try connection.queue.close()
    var request = given.request(workers: 2, output: given.folder.appending("New.sqlite"))
    if objects {
      let inference = MappingInference(from: Self.kept, to: Self.read)
      let mapping = MappingModel.inferred(inference, source: Self.kept, destination: Self.read)
      let file = given.folder.appending("Map.json")
      try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
      request.mappings = [file]
      request.engine = .objects
    }
    return (given, request)
  }

  private static func name(_ number: Int) -> String {
    "0000000\(number)-0000-4000-8000-000000000000"
  }

  private func remove(_ numbers: Int..., of given: GivenMigration) throws {
    let data = given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA")
    for number in numbers { try Files.remove(data.appending(Self.name(number))) }
  }

  private func sentences(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> [String] {
    let names = try given.names
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(try given.names == names)
    let said = MigrationFailure(try #require(error))
    #expect(said.exitStatus == .impossible)
    let target = try TargetModel(paths: [given.target], configuration: nil)
    try MigrationPreview.with(request, target: target) { preview in
      _ = #expect(throws: MigrationError.self) { try preview.requirePossible() }
    }
    return said.sentences
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `all files that cannot be had are told at once, before anything is made`(
    engine: EngineName
  ) async throws {
    var (given, request) = try given(objects: engine == .objects)
    request.engine = engine
    let data = given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA")
    try remove(1, 3, 5, of: given)
    for number in [2, 4] {
      try remove(number, of: given)
      try FileManager.default.createSymbolicLink(
        atPath: data.appending(Self.name(number)).string, withDestinationPath: given.store.string)
    }
    let found = try await sentences(given, request)
    for start in [
      "Photo.image: 2 objects (Z_PK 1, 3) whose external files are missing (\(Self.name(1)), ",
      "Photo.image: 1 object (Z_PK 2) whose external files are links",
      "Scan.image: 1 object (Z_PK 4) whose external files are links",
    ] {
      #expect(found.contains { $0.hasPrefix(start) }, "\(start): \(found)")
    }
    // The value goes on with the name of its file, whoever makes the rows.
    #expect(!found.contains { $0.hasPrefix("Scan.image: 1 object (Z_PK 5)") })
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `values whose files are missing become nil where that is chosen, and no others`(
    engine: EngineName
  ) async throws {
    var (given, request) = try given(objects: engine == .objects)
    request.engine = engine
    try remove(1, 3, 5, of: given)
    request.defectChoices.values = .null
    let report = try await given.run(request)
    let found = report.defects.map { "\($0.entity) \($0.keys) \($0.kind) \($0.fate)" }
    #expect(
      found == [
        "Photo [1, 3] missingFile nullified",
        "Scan [5] missingFile kept",
      ])
    let reader = try StoreReader(immutable: request.destination)
    func count(_ rest: String) throws -> Int64 {
      try reader.number(sql: "SELECT count(*) FROM \(rest)")
    }
    #expect(try count("ZPHOTO WHERE ZIMAGE IS NOT NULL") == 1)
    #expect(try count("ZPHOTO WHERE ZIMAGE = X'0707' AND Z_PK = 2") == 1)
    #expect(try count("ZSCAN WHERE ZIMAGE IS NOT NULL") == 2)
  }

  @Test func `missing files among thousands are found, and told in the order of their rows`()
    async throws
  {
    var (given, request) = try given(objects: false)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      // Values may name the same file: that of photo 2 is there, that of photo 1 is not.
      try db.execute(
        sql: """
          WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
          INSERT INTO ZPHOTO (Z_PK, Z_ENT, Z_OPT, ZIMAGE)
          SELECT i, (SELECT Z_ENT FROM ZPHOTO LIMIT 1), 1,
            (SELECT ZIMAGE FROM ZPHOTO WHERE Z_PK = IIF(i % 997 = 0, 1, 2)) FROM n;
          UPDATE Z_PRIMARYKEY SET Z_MAX = 10000 WHERE Z_NAME = 'Photo';
          """)
    }
    try connection.queue.close()
    try remove(1, of: given)
    request.defectChoices.values = .null
    let report = try await given.run(request)
    let keys = [1] + (2...10).map { Int64($0 * 997) }
    #expect(report.defects.filter { $0.kind == .missingFile }.map(\.keys) == [keys])
    let made = try StoreReader(immutable: request.destination)
    let left = try made.number(sql: "SELECT count(*) FROM ZPHOTO WHERE ZIMAGE = X'0707'")
    #expect(left == 9_000 - 9 + 2)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `the disk that is asked for has room for the bytes that come out of files`(
    engine: EngineName
  ) async throws {
    let given = try GivenMigration(
      from: Self.model(),
      to: ManagedObjectModel(
        Entity("Photo", [.optional("album", .binary), .external("image"), .external("preview")]),
        Entity("Scan", [.optional("image", .binary)])), rows: 600)
    let folder = given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA")
    for (place, name) in try files(of: "Shop", in: given.folder).enumerated() {
      try Files.writeFileAtomically(
        [UInt8](repeating: 1, count: 30_000 + place * 997 % 90_000), to: folder.appending(name))
    }
    var request = given.request()
    request.engine = engine
    let target = try TargetModel(paths: request.target, configuration: nil)
    let need = try MigrationPreview.with(request, target: target) { $0.diskNeed }
    let output = given.folder.appending("New.sqlite")
    request.output = output
    _ = try await given.run(request)
    let made = try #require(try Files.fileStatusIfPresent(output)).size
    #expect(made > 900_000)
    #expect(need.result >= made && Double(need.result) <= Double(made) * 1.2)
  }
}
