import GRDB
import KeyedArchives
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct StoreMetadataTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private func write(_ metadata: StoreMetadata, _ model: ManagedObjectModel) throws {
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    let schema = try StoreSchema(model)
    try connection.run { db in
      try StoreWriter.createTables(schema, in: db)
      try StoreWriter.createIndexes(schema, in: db)
      try StoreWriter.writePrimaryKeys(schema, maxima: ["P": 7, "A": 9], in: db)
      try StoreWriter.writeMetadata(metadata, modelCache: nil, in: db)
    }
    try connection.queue.close()
  }

  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity("P", [.optional("x")]), Entity("A", in: "P"), Entity("Q", [.optional("y")]))
  }

  @Test func `restated metadata keep every key that an application put there`() throws {
    let model = try model()
    let old = StoreMetadata(
      uuid: "U",
      plist: [
        "mine": .array([.integer(1), .string("two"), .real(3.5), .boolean(true)]),
        "date": .date(5), "bytes": .data([1, 2]), "deep": .dictionary(["a": .dictionary([:])]),
        StoreMetadata.Key.frameworkVersion: .integer(1344),
        StoreMetadata.Key.deferredMigration: .boolean(true),
        StoreMetadata.Key.hashes: .dictionary(["Gone": .data(Array(repeating: 1, count: 32))]),
      ])
    let hashes = try model.versionHashes()
    let new = old.restated(hashes: hashes, versionIdentifiers: ["v2"])
    try write(new, model)
    let read = try StoreReader(immutable: path).metadata()
    #expect(read == new)
    #expect(read.uuid == "U")
    #expect(read.versionHashes == hashes)
    #expect(read.versionIdentifiers == ["v2"])
    #expect(read.frameworkVersion == 1344 && read.hashesVersion == 3)
    let keys: [ExactText] = ["mine", "date", "bytes", "deep"]
    for key in keys { #expect(read.plist[key] == old.plist[key]) }
    #expect(read.plist[StoreMetadata.Key.deferredMigration] == nil)
  }

  @Test func `hashes of a newer kind are refused`() throws {
    try write(
      StoreMetadata(uuid: "U", plist: [StoreMetadata.Key.hashesVersion: .integer(4)]), model())
    let error = #expect(throws: StoreError.self) { try StoreReader(immutable: path).metadata() }
    #expect(error?.problem == .hashVersionUnknown(4))
  }

  @Test(
    arguments: [
      "DELETE FROM Z_METADATA", "UPDATE Z_METADATA SET Z_PLIST = NULL",
      "UPDATE Z_METADATA SET Z_PLIST = 'text'", "UPDATE Z_METADATA SET Z_PLIST = x'62706c697374'",
      "UPDATE Z_METADATA SET Z_UUID = NULL",
    ])
  func `metadata that cannot be read are told so`(damage: String) throws {
    try write(StoreMetadata(uuid: "U", plist: [:]), model())
    let connection = try StoreConnection.writable(path)
    try connection.run { try $0.execute(sql: damage) }
    try connection.queue.close()
    let error = #expect(throws: StoreError.self) { try StoreReader(immutable: path).metadata() }
    #expect(error?.problem == .metadataUnreadable)
  }

  @Test func `maxima stand on the rows of root entities`() throws {
    try write(StoreMetadata(uuid: "U", plist: [:]), model())
    #expect(
      try StoreReader(immutable: path).primaryKeys().map {
        "\($0.number.rawValue) \($0.name) \($0.superentity.rawValue) \($0.maximum)"
      } == ["1 P 0 7", "2 A 1 0", "3 Q 0 0"])
  }

  @Test func `a fresh store is laid out as Core Data makes it`() throws {
    try write(StoreMetadata(uuid: "U", plist: [:]), model())
    let reader = try StoreReader(immutable: path)
    #expect(try reader.number(sql: "PRAGMA page_size") == 4096)
    #expect(try reader.number(sql: "PRAGMA auto_vacuum") == 2)
    let catalog = try reader.catalog()
    #expect(catalog.tables["ZP"] == ["Z_PK", "Z_ENT", "Z_OPT", "ZX"])
    #expect(try StoreSchema(model()).resolved(in: catalog).1 == SchemaDifferences())
    #expect(try reader.cachedModel() == nil)
    #expect(try Files.listDirectory(ScratchFolder.current).map(\.string) == ["Some.sqlite"])
  }

  @Test func `marking a store for a write-ahead log leaves nothing beside it`() throws {
    try write(StoreMetadata(uuid: "U", plist: [:]), model())
    try StoreConnection.setWAL(path)
    #expect(try StoreHeader(of: path).usesWAL)
    #expect(try Files.listDirectory(ScratchFolder.current).map(\.string) == ["Some.sqlite"])
  }
}
