import GRDB
import KeyedArchives
import MigrationEngine
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

@Suite struct EmptyStoreTests {
  /// A schema with a join table and indexes.
  private func schema(_ name: String = "Person") throws -> StoreSchema {
    try StoreSchema(
      ManagedObjectModel(
        Entity(
          name, [.optional("name")],
          [.toMany("fans", name, inverse: "idols"), .toMany("idols", name, inverse: "fans")]),
        Entity("Club", [.optional("name")], [.toOne("head", name, inverse: nil)])))
  }

  /// A frame whose rows take many pages for some sizes.
  private func frame(_ size: Int) -> StoreFrame {
    StoreFrame(
      metadata: StoreMetadata(
        uuid: "U\(size)", plist: ["key": .string(ExactText(String(repeating: "v", count: size)))]),
      modelCache: size % 2 == 0 ? nil : (0..<size).map { UInt8(truncatingIfNeeded: $0) },
      maxima: ["Person": Int64(size) << 20, "Club": 1])
  }

  /// What SQLite makes in one transaction of a database of its own.
  private func expected(
    _ schema: StoreSchema, _ frame: StoreFrame, encoding: TextEncoding
  ) throws -> [UInt8] {
    let connection = try StoreConnection.scratch(
      ":memory:", cacheBytes: 2 << 20, textEncoding: encoding.rawValue)
    return try connection.run { db in
      try StoreWriter.together(in: db) {
        try StoreWriter.createTables(schema, in: db)
        try StoreWriter.createIndexes(schema, in: db)
        try StoreWriter.writePrimaryKeys(schema, maxima: frame.maxima, in: db)
        try StoreWriter.writeMetadata(frame.metadata, modelCache: frame.modelCache, in: db)
      }
      return try StoreConnection.bytes(of: db)
    }
  }

  @Test func `stores of one process are each what SQLite makes of their own rows`() throws {
    let schema = try schema()
    for size in [1, 20_000, 2, 100_001, 3, 20_000] {
      let made = try EmptyStore.contents(schema: schema, encoding: .utf8, frame: frame(size))
      #expect(try made.bytes == expected(schema, frame(size), encoding: .utf8))
      #expect(made.roots["ZCLUB"] != nil && made.roots["Z_METADATA"] != nil)
    }
  }

  @Test func `schemas and encodings do not mix`() throws {
    let (one, other) = (try schema(), try schema("Pe\u{E9}rson"))
    for schema in [one, other, one] {
      for encoding in [TextEncoding.utf8, .utf16LittleEndian, .utf8] {
        let made = try EmptyStore.contents(schema: schema, encoding: encoding, frame: frame(3))
        #expect(try made.bytes == expected(schema, frame(3), encoding: encoding))
      }
    }
  }

  @Test func `the rows are those of the schema that is asked for`() throws {
    // An abstract entity has a number and no table, so both have the same tables.
    let plain = try StoreSchema(ManagedObjectModel(Entity("B", [.optional("name")])))
    let more = try StoreSchema(
      ManagedObjectModel(Entity("B", [.optional("name")]), Entity("A", isAbstract: true)))
    for schema in [plain, more, plain] {
      let made = try EmptyStore.contents(schema: schema, encoding: .utf8, frame: frame(3))
      #expect(try made.bytes == expected(schema, frame(3), encoding: .utf8))
    }
  }

  @Test func `stores that are made at the same time are alike`() async throws {
    let schema = try schema()
    let expected = try expected(schema, frame(5), encoding: .utf8)
    try await withThrowingTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<24 {
        group.addTask {
          try EmptyStore.contents(schema: schema, encoding: .utf8, frame: frame(5)).bytes
        }
      }
      for try await bytes in group { #expect(bytes == expected) }
    }
  }
}
