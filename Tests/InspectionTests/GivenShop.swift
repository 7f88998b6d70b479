import Expressions
import Foundation
import GRDB
import Godwit
import ModelFiles
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport

/// Two stores of one model with the same objects, and the model as a file.
struct GivenShop {
  let folder = ScratchFolder.current
  var first: FilePath { folder.appending("First.sqlite") }
  var second: FilePath { folder.appending("Second.sqlite") }
  var model: FilePath { folder.appending("Shop.xcdatamodel") }

  static func entities() -> [Entity] {
    [
      Entity(
        "Item",
        [
          .optional("title"), .mandatory("pages", .integer16), .optional("price", .double),
          .optional("cost", .decimal), .optional("sold", .date), .optional("isOld", .boolean),
          .optional("code", .uuid), .optional("page", .uri), .optional("notes", .transformable),
          .optional("small", .binary), .external("cover"),
        ],
        [
          .toOne("author", "Author", inverse: "items"),
          .toMany("tags", "Tag", inverse: "items"),
        ]),
      Entity("Comic", in: "Item", [.optional("colours", .integer32)]),
      Entity(
        "Author", [.optional("name")],
        [.toMany("items", "Item", inverse: "author", isOrdered: true)]),
      Entity(
        "Tag", [.optional("name")],
        [.toMany("items", "Item", inverse: "tags", isOrdered: true)]),
    ]
  }

  init() throws {
    let model = try ManagedObjectModel(entities: Self.entities())
    try Self.write(model, to: self.model)
    for store in [first, second] { try write(model, to: store) }
  }

  /// Writes a model as a source.
  static func write(_ model: ManagedObjectModel, to path: FilePath) throws {
    try FileManager.default.createDirectory(
      atPath: path.string, withIntermediateDirectories: true)
    try Data(try ModelSource.encode(model).bytes).write(
      to: URL(filePath: path.appending("contents").string))
  }

  // Entities are numbered Author 1, Item 2, Comic 3, Tag 4.
  private static let rows = """
    INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Ada'), (2, 1, 1, 'Bo');
    INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZPAGES, ZPRICE, ZCOST, ZSOLD, ZISOLD, ZCODE,
      ZPAGE, ZNOTES, ZSMALL, ZCOVER, ZAUTHOR, Z_FOK_AUTHOR, ZCOLOURS) VALUES
      (1, 2, 1, 'Dune', 412, 9.5, 12.25, 605534400.25, 1,
        X'00112233445566778899AABBCCDDEEFF', 'https://example.org/a', X'0102', X'FFFE',
        X'01CAFE', 1, 1024, NULL),
      (2, 2, 1, 'Éa', 7, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 1, 2048, NULL),
      (3, 3, 1, 'Comic', 3, 1.0, 1, 0, NULL, NULL, NULL, NULL, NULL, NULL, 2, 1024, 4),
      (4, 3, 1, NULL, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 256);
    INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 4, 1, 'red'), (2, 4, 1, 'blue');
    """

  private func write(_ model: ManagedObjectModel, to path: FilePath) throws {
    let schema = try StoreSchema(model)
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    try connection.run { db in
      try StoreWriter.createTables(schema, in: db)
      try db.execute(sql: Self.rows)
      let join = schema.joinTables[0]
      let (item, tag) =
        join.first.entityName == "Item" ? (join.first, join.second) : (join.second, join.first)
      for (place, pair) in [(1, 1), (2, 1), (3, 2)].enumerated() {
        try db.execute(
          sql: """
            INSERT INTO \(join.name) (\(item.keyColumn), \(tag.keyColumn), \(item.orderColumn ?? ""))
            VALUES (\(pair.0), \(pair.1), \(1024 * (place + 1)))
            """)
      }
      try StoreWriter.createIndexes(schema, in: db)
      try StoreWriter.writePrimaryKeys(schema, maxima: ["Item": 4, "Author": 2, "Tag": 2], in: db)
      let metadata = StoreMetadata(uuid: "8F1C6C3A-0000-4000-8000-000000000001", plist: [:])
        .restated(hashes: try model.versionHashes(), versionIdentifiers: [])
      try StoreWriter.writeMetadata(metadata, modelCache: nil, in: db)
    }
    try connection.queue.close()
  }

  /// The name of the join table, and its columns of items' keys, tags' keys and items' places.
  static func join() throws -> (table: String, item: String, tag: String, place: String) {
    let schema = try StoreSchema(try ManagedObjectModel(entities: entities()))
    let join = schema.joinTables[0]
    let (item, tag) =
      join.first.entityName == "Item" ? (join.first, join.second) : (join.second, join.first)
    return (join.name, item.keyColumn, tag.keyColumn, item.orderColumn ?? "")
  }

  /// Changes a store as a user of SQLite would.
  func change(_ sql: String, in store: FilePath) throws {
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: sql) }
    try connection.queue.close()
  }

  /// Puts a file beside a store, as the value of the first item's cover.
  func externalize(_ bytes: [UInt8], name: String, in store: FilePath) throws {
    let files = folder.appending(".\(store.stem ?? "")_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(atPath: files.string, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: files.appending(name).string))
    let digits = Array(name.utf8).map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
    try change("UPDATE ZITEM SET ZCOVER = X'02\(digits)00' WHERE Z_PK = 1", in: store)
  }

  /// What the two stores differ in.
  func diff(limit: Int = 100) throws -> StoreDiff.Report {
    var diff = StoreDiff(of: first, and: second)
    diff.models = [model]
    diff.limit = limit
    return try diff.run()
  }

  /// Objects of the first store, and what was said of them.
  func objects(
    _ entity: String, where predicate: String? = nil, limit: Int64 = 20
  ) throws -> ([StoreObjects.Object], StoreObjects.Outcome) {
    var objects = StoreObjects(of: entity, in: first)
    objects.models = [model]
    objects.predicate = predicate
    objects.limit = limit
    var found: [StoreObjects.Object] = []
    let outcome = try objects.read { object in
      found.append(object)
      return true
    }
    return (found, outcome)
  }
}
