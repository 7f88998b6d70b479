import Foundation
import GRDB
import Godwit
import SystemPackage
import Testing

/// A model of several versions and stores of it, in a folder of their own that goes with the test.
final class GivenStore {
  let folder: URL
  var model: URL { folder.appending(path: "Notes.xcdatamodeld") }
  var store: URL { folder.appending(path: "Store.sqlite") }
  var output: URL { folder.appending(path: "New.sqlite") }

  /// The executables of this build, beside the bundle of the tests.
  static let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
  /// `godwit` itself knows the work of a worker.
  static let tool = products.appending(path: "godwit")
  /// The tool with policies of the tests.
  static let policyTool = products.appending(path: "PolicyTool")

  /// Makes versions named by their numbers, the last one current, and a store of the first.
  ///
  /// Each version is the text between `<model>` and `</model>`.
  init(_ versions: String..., objects: Int64 = 60) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
    for (number, entities) in zip(1..., versions) { try write(entities, as: "\(number)") }
    try makeCurrent("\(versions.count)")
    try makeStore(of: "1", objects: objects, at: store)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Writes a version over one of that name, or as a new one.
  func write(_ entities: String, as name: String) throws {
    try FileManager.default.createDirectory(at: version(name), withIntermediateDirectories: true)
    try """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
    userDefinedModelVersionIdentifier="\(name)">\(entities)</model>
    """.write(
      to: version(name).appending(path: "contents"), atomically: true, encoding: .utf8)
  }

  func makeCurrent(_ name: String) throws {
    let current = ["_XCCurrentVersionName": "\(name).xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
      .write(to: model.appending(path: ".xccurrentversion"))
  }

  func makeStore(of version: String, objects: Int64, at file: URL, seed: UInt64 = 1) throws {
    var sample = SampleStore(of: model, objects: objects)
    sample.version = version
    sample.seed = seed
    try sample.write(to: file)
  }

  /// Gives the last column of the first row of a table a type that no SQLite writes.
  func plantForeignType(in table: String, of store: URL) throws {
    let queue = try DatabaseQueue(path: store.path)
    let (root, size) = try queue.inDatabase { db in
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      return (
        try #require(
          try Int.fetchOne(
            db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = ?", arguments: [table])),
        try #require(try Int.fetchOne(db, sql: "PRAGMA page_size"))
      )
    }
    try queue.close()
    var bytes = try Data(contentsOf: store)
    let page = (root - 1) * size
    #expect(bytes[page] == 13)
    let cell = page + Int(bytes[page + 8]) << 8 + Int(bytes[page + 9])
    // The size of the payload has one byte or two, the key and the size of the header one each.
    let header = cell + (bytes[cell] < 128 ? 2 : 3)
    #expect(bytes[header - 1] < 128 && bytes[header] < 128)
    bytes[header + Int(bytes[header]) - 1] = 10
    try bytes.write(to: store)
  }

  /// Changes a store as an app or another program does.
  func change(_ sql: String, in store: URL) throws {
    let queue = try DatabaseQueue(path: store.path)
    try queue.write { try $0.execute(sql: sql) }
    try queue.close()
  }

  func version(_ name: String) -> URL { model.appending(path: "\(name).xcdatamodel") }

  /// A migration to the current version by processes of `godwit`.
  func migration(to target: URL? = nil, by tool: URL = GivenStore.tool) -> StoreMigration {
    var migration = StoreMigration(store: store, to: target ?? model)
    migration.resources.executable = FilePath(tool.path)
    migration.output = FilePath(output.path)
    return migration
  }

  /// The names in the folder.
  var names: Set<String> {
    get throws { Set(try FileManager.default.contentsOfDirectory(atPath: folder.path)) }
  }

  /// The failure that a migration ends with.
  func failure(
    of migration: StoreMigration, at location: SourceLocation = #_sourceLocation
  ) async throws -> MigrationFailure {
    let error = await #expect(throws: MigrationFailure.self, sourceLocation: location) {
      try await migration.run()
    }
    return try #require(error, sourceLocation: location)
  }
}

/// Entities of the versions that tests are about.
enum Model {
  static func entity(_ name: String, _ properties: String) -> String {
    "<entity name=\"\(name)\">\(properties)</entity>"
  }

  static func attribute(_ name: String, _ type: String, _ more: String = "optional=\"YES\"")
    -> String
  {
    "<attribute name=\"\(name)\" attributeType=\"\(type)\" \(more)/>"
  }

  static let note = entity(
    "Note", attribute("title", "String") + attribute("pages", "Integer 16"))
  static let noteWithoutPages = entity("Note", attribute("title", "String"))
  static let longNote = entity(
    "Note",
    attribute("title", "String") + attribute("pages", "Integer 64") + attribute("text", "String"))
  static let tag = entity("Tag", attribute("name", "String"))
}
