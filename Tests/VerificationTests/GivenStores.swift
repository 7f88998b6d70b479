import Expressions
import GRDB
import KeyedArchives
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport

@testable import Verification

/// An old store and the one that it should have become, both written here row by row.
struct GivenStores {
  let folder = ScratchFolder.current
  var old: FilePath { folder.appending("Old.sqlite") }
  var new: FilePath { folder.appending("New.sqlite") }

  /// Books become longer ones, writers stay, `gone` goes.
  static let before = make {
    try ManagedObjectModel(
      Entity(
        "Book",
        [.optional("title"), .mandatory("pages", .integer32), .optional("gone")],
        [
          .toOne("writer", "Writer", inverse: "books"),
          .toMany("tags", "Tag", inverse: "books"),
        ]),
      Entity("Comic", in: "Book", [.optional("colours", .integer16)]),
      Entity("Writer", [.optional("name")], [.toMany("books", "Book", inverse: "writer")]),
      Entity("Tag", [.optional("name")], [.toMany("books", "Book", inverse: "tags")]))
  }

  static let after = make {
    try ManagedObjectModel(
      Entity("Aisle", [.optional("name")]),
      Entity(
        "Book",
        [
          .optional("title"), .mandatory("length", .double, was: "pages"),
          .optional("price", .double, default: .real(9.5)),
        ],
        [
          .toOne("writer", "Writer", inverse: "books"),
          .toMany("tags", "Tag", inverse: "books"),
        ]),
      Entity("Comic", in: "Book", [.optional("colours", .integer16)]),
      Entity(
        "Writer", [.optional("name")],
        [.toMany("books", "Book", inverse: "writer", isOrdered: true)]),
      Entity("Tag", [.optional("name")], [.toMany("books", "Book", inverse: "tags")]))
  }

  private static func make(_ body: () throws -> ManagedObjectModel) -> ManagedObjectModel {
    do { return try body() } catch { preconditionFailure("the models of the tests are sound") }
  }

  /// Writes both; the new one is what the old one should become.
  init() throws {
    try write(Self.before, to: old, maxima: ["Book": 12, "Writer": 2, "Tag": 3], identifiers: []) {
      """
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZWRITER, ZCOLOURS, ZTITLE, ZGONE) VALUES
        (1, 1, 4, 7, 1, NULL, CAST(X'6100' || 'b' AS TEXT), 'x'), (2, 1, 1, 0, 1, NULL, 'é', NULL),
        (10, 2, 1, -3, NULL, 4, NULL, 'y');
      INSERT INTO ZWRITER VALUES (1, 4, 1, 'Franz'), (2, 4, 9, NULL);
      INSERT INTO ZTAG VALUES (3, 3, 1, 'red');
      INSERT INTO Z_1TAGS VALUES (1, 3), (10, 3);
      """
    }
    try write(
      Self.after, to: new, maxima: ["Book": 12, "Writer": 2, "Tag": 3], identifiers: ["two"]
    ) {
      """
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZLENGTH, ZPRICE, ZWRITER, Z_FOK_WRITER, ZCOLOURS,
        ZTITLE) VALUES
        (1, 2, 4, 7.0, 9.5, 1, 2048, NULL, CAST(X'6100' || 'b' AS TEXT)),
        (2, 2, 1, 0.0, 9.5, 1, 3072, NULL, 'é'), (10, 3, 1, -3.0, 9.5, NULL, NULL, 4, NULL);
      INSERT INTO ZWRITER VALUES (1, 5, 1, 'Franz'), (2, 5, 9, NULL);
      INSERT INTO ZTAG VALUES (3, 4, 1, 'red');
      INSERT INTO Z_2TAGS VALUES (1, 3), (10, 3);
      """
    }
  }

  private func write(
    _ model: ManagedObjectModel, to path: FilePath, maxima: [String: Int64],
    identifiers: [String], _ rows: () -> String
  ) throws {
    let schema = try StoreSchema(model)
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    try connection.run { db in
      try StoreWriter.createTables(schema, in: db)
      try db.execute(sql: rows())
      try StoreWriter.createIndexes(schema, in: db)
      try StoreWriter.writePrimaryKeys(schema, maxima: maxima, in: db)
      let metadata = StoreMetadata(
        uuid: "8F1C6C3A-0000-4000-8000-000000000001",
        plist: ["mine": .string("é"), "NSPersistenceFrameworkVersion": .integer(1000)]
      ).restated(hashes: try model.versionHashes(), versionIdentifiers: identifiers)
      try StoreWriter.writeMetadata(metadata, modelCache: nil, in: db)
      try db.execute(
        sql: "INSERT INTO Z_MODELCACHE VALUES (?)",
        arguments: [try GivenArchive.deflated(model)])
    }
    try connection.queue.close()
  }

  /// Changes the new store, or the old one, as a user of SQLite would.
  func change(_ sql: String, old isOld: Bool = false) throws {
    let connection = try StoreConnection.writable(isOld ? old : new)
    try connection.run { try $0.execute(sql: sql) }
    try connection.queue.close()
  }

  var order: VerificationOrder {
    get throws {
      var order = VerificationOrder(
        old: .init(path: old, readable: old), new: .init(path: new, readable: new),
        steps: [.init(source: Self.before, destination: Self.after, mappings: [])],
        hashes: try Self.after.versionHashes(), versionIdentifiers: ["two"], scratch: folder)
      order.usesWAL = false
      return order
    }
  }

  func verify(_ change: (inout VerificationOrder) -> Void = { _ in }) throws
    -> VerificationReport
  {
    var order = try order
    change(&order)
    return try StoreComparison.compare(order)
  }

  /// The kinds of what differs, with their numbers.
  func kinds() throws -> [Difference.Kind: Int64] { try verify().counts }
}
