import Foundation
import GRDB
import ModelFiles
import ObjectModel
import Schema
import SystemPackage
import TestSupport
import Testing

/// Whether the model in a store's cache lays out the tables that the store has.
@Suite(.needsCorpus, .scratchFolder) struct ModernSchemaTests {
  /// Stores of today's apps.
  static let stores = (Corpus.files(endingIn: ".store") + Corpus.files(endingIn: ".sqlite"))
    .filter { $0.hasPrefix("modern/") }

  /// What SQLite lists of a store: columns with their types, and the statements of indexes.
  private struct Contents {
    var tables: [String: [String]] = [:]
    var indexes: Set<String> = []
    /// The triggers of derived attributes and R-trees.
    var triggers: [Trigger] = []
    var virtualTables: [String: String] = [:]

    init(_ relative: String) throws {
      let copy = ScratchFolder.current.appending(FilePath(relative).lastComponent?.string ?? "")
      let queue = try DatabaseQueue(path: copy.string)
      (tables, indexes) = try queue.writeWithoutTransaction { db in
        var tables: [String: [String]] = [:]
        for name in try String.fetchAll(
          db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
        where Self.isOfModel(name) {
          tables[name] = try Row.fetchAll(
            db, sql: "SELECT * FROM pragma_table_info(?)", arguments: [name]
          )
          .map { row in
            let (column, type): (String, String) = (row["name"], row["type"])
            return "\(column) \(type)"
          }
        }
        let indexes = try Row.fetchAll(
          db, sql: "SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL")
        return (
          tables,
          Set(
            indexes.filter { Self.isOfModel($0[0]) }.map { (row: Row) -> String in
              // Older frameworks wrote two spaces there.
              (row[1] as String).replacing("WHERE  ", with: "WHERE ")
            })
        )
      }
      (triggers, virtualTables) = try queue.writeWithoutTransaction { db in
        let rows = try Row.fetchAll(
          db,
          sql: """
            SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger'
            AND (name GLOB 'Z_DA_*' OR name GLOB 'Z_RT_*') ORDER BY rowid
            """)
        let trees = try Row.fetchAll(
          db, sql: "SELECT name, sql FROM sqlite_schema WHERE sql GLOB 'CREATE VIRTUAL *'")
        return (
          rows.map { Trigger(name: $0[0], table: $0[1], statement: $0[2]) },
          Dictionary(uniqueKeysWithValues: trees.map { ($0[0], $0[1]) })
        )
      }
      try queue.close()
    }

    /// Whether it is no table of history, of an R-tree, or of the framework's own.
    private static func isOfModel(_ table: String) -> Bool {
      let own = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
      let others = ["ACHANGE", "ATRANSACTION", "Z_RT_", "sqlite_"]
      return !own.contains(table) && !others.contains { table.hasPrefix($0) }
    }
  }

  @Test func `there are stores of today's apps`() { #expect(Self.stores.count >= 20) }

  @Test(arguments: stores)
  func `every hash, table, column and index follows from the model`(store: String) throws {
    let cached = try CachedModel(store)
    let model = try CompiledModel.model(decoding: try #require(cached.archive))
    #expect(try model.versionHashes().mapValues(\.hexadecimal) == cached.hashes)
    let found = try Contents(store)
    let fresh = try StoreSchema(model)
    let schema = fresh.resolved(
      in: Catalog(
        tables: found.tables.mapValues { columns in
          Set(columns.map { String($0.prefix { $0 != " " }) })
        }, virtualTables: found.virtualTables, triggers: found.triggers))
    #expect(schema.1.missingTables == [])
    #expect(schema.1.missingColumns == [])
    #expect(schema.1.extraTables == [])
    #expect(schema.1.extraColumns == [])
    let isMigrated = store.contains("photos-history")
    for table in schema.schema.tables {
      let wanted = table.columns.map { "\($0.name) \($0.type.rawValue)" }
      let columns = found.tables[table.name] ?? []
      // Migrations append columns at the end.
      #expect(isMigrated ? columns.sorted() == wanted.sorted() : columns == wanted, "\(table.name)")
    }
    let wanted = Set(schema.schema.indexes.map(\.createStatement))
    let missing = wanted.subtracting(found.indexes).sorted()
    let extra = found.indexes.subtracting(wanted).subtracting(Self.doubled)
    #expect(
      isMigrated || (missing.isEmpty && extra.isEmpty), "missing \(missing), extra \(extra)")
    // Migrations leave indexes of relationships under older names.
    let fetched = schema.schema.indexes.filter(\.isExplicit).map(\.createStatement)
    #expect(Set(fetched).subtracting(found.indexes) == [])
    #expect(schema.schema.omissions.isEmpty)
    #expect(Set(found.virtualTables.values) == Set(fresh.spatialIndexes.map(\.createStatement)))
    // Some migrations of Apple's lost those of R-trees.
    let (trees, derived) = found.triggers.partitioned { $0.name.hasPrefix("Z_RT_") }
    #expect(trees.isEmpty || trees == fresh.spatialIndexes.flatMap(\.triggers))
    #expect(derived == schema.schema.derived.flatMap(\.triggers))
    #expect(schema.schema.openDerivations.isEmpty)
  }

  /// Where a flag and a fetch index name the same attribute, one index is enough.
  private static let doubled: Set = [
    "CREATE INDEX Z_SyncDelivery_backendID ON ZSYNCDELIVERY (ZBACKENDID COLLATE BINARY ASC)"
  ]

  /// Every model of the corpus is a source that hashes alike, but for what is named.
  @Test(arguments: stores)
  func `the model of a store can be written as a source`(store: String) throws {
    let model = try CompiledModel.model(decoding: try #require(try CachedModel(store).archive))
    let encoded = try ModelSource.encode(model)
    #expect(encoded.unsayable.filter(\.isHashed) == [])
    let read = try ModelDocument.model(decoding: encoded.bytes)
    #expect(try read.versionHashes() == model.versionHashes())
    #expect(read.entities.map(\.withoutCompositeNames) == encoded.model.entities)
  }

  static let otherStores = CachedModel.withSources
  static let documents = Corpus.files(endingIn: ".xcdatamodel/contents")
  static let compiled = Corpus.files(endingIn: ".mom")

  @Test(arguments: otherStores + documents + compiled)
  func `every model of the corpus can be written as a source`(file: String) throws {
    let model: ManagedObjectModel
    if file.hasSuffix("contents") {
      model = try ModelDocument.model(decoding: Corpus.bytes(file))
    } else if file.hasSuffix(".mom") {
      model = try CompiledModel.model(decoding: Corpus.bytes(file))
    } else {
      model = try CompiledModel.model(decoding: try #require(try CachedModel(file).archive))
    }
    let encoded = try ModelSource.encode(model)
    let read = try ModelDocument.model(decoding: encoded.bytes)
    #expect(read.knownVersionHashes() == model.knownVersionHashes())
    #expect(read.entities.map(\.withoutCompositeNames) == encoded.model.entities)
  }
}

extension Array {
  /// The elements that satisfy a test, and the others.
  fileprivate func partitioned(_ test: (Element) -> Bool) -> ([Element], [Element]) {
    (filter(test), filter { !test($0) })
  }
}

extension Entity {
  fileprivate var withoutCompositeNames: Entity {
    var result = self
    for index in result.attributes.indices { result.attributes[index].compositeName = nil }
    return result
  }
}
