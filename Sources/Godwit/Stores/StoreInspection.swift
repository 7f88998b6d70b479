public import Foundation
import Inspection
import MigrationCoordinator
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
public import SystemPackage

/// The contents of a store: its version, its objects, and other tables.
///
/// ```swift
/// let store = try StoreInspection(of: "Shop.sqlite", models: ["Shop.momd"])
/// let objects = store.entities.reduce(0) { $0 + $1.rows }
/// ```
public struct StoreInspection: Hashable, Sendable, Encodable {
  /// An entity with its objects.
  public struct EntityRows: Hashable, Sendable, Encodable {
    /// The name of the entity.
    public var name: String
    /// Its number in the store (`Z_ENT`).
    public var number: Int64
    /// The superentity, nil for a root entity.
    public var superentity: String?
    /// Objects of this entity, without those of its subentities.
    public var rows: Int64
    /// Its version hash in hexadecimal digits, nil if the metadata have none.
    public var versionHash: String?
  }

  /// A table with its rows.
  public struct TableRows: Hashable, Sendable, Encodable {
    /// The name of the table.
    public var name: String
    /// The number of its rows.
    public var rows: Int64
  }

  /// What is known of the store's model.
  public struct Model: Hashable, Sendable, Encodable {
    /// The version hash of each entity, in hexadecimal digits.
    public var hashes: [String: String]
    /// The version identifiers in the store's metadata.
    public var identifiers: [String]
    /// Whether the model with these hashes was found.
    public var found: Bool
    /// The version with these hashes among the models that were named, nil if there is none.
    public var version: String?
    /// Parts of it that could not be read, one sentence each.
    public var unread: [String]
    /// Why the model in the store cannot be read, nil if it can.
    public var unreadable: String?
    /// What each composite attribute consists of, in words, as `Entity.attribute`.
    public var composites: [String: String]

    /// The meaningful version identifiers, as a list for people.
    var identifierWords: String {
      let named = identifiers.filter { !$0.isEmpty }
      return named.isEmpty
        ? "" : ", \(named.count == 1 ? "identifier" : "identifiers") \(ListText(named))"
    }

    /// Whether and where it was found.
    var words: String {
      version.map { "found as version \"\($0)\"" }
        ?? (found ? "found" : "not found, --models names its folder")
    }
  }

  /// The files of external values next to a store.
  public struct ExternalFiles: Hashable, Sendable, Encodable {
    /// How many regular files there are.
    public var files: Int64 = 0
    /// Their bytes.
    public var bytes: Int64 = 0
    /// What lies there besides, such as links: nothing of it is read.
    public var others: Int64 = 0
  }

  /// Rows of a table that are of no entity of the model.
  public struct Strays: Hashable, Sendable, Encodable {
    /// The table.
    public var table: String
    /// How many rows there are.
    public var rows: Int64
    /// Some of the lowest primary keys (`Z_PK`).
    public var keys: [Int64]
  }

  private var version = 1
  private var kind = "store"
  /// The path of the store.
  public private(set) var path: String
  /// The UUID of the store.
  public private(set) var uuid: String
  /// The version of Core Data that wrote the store last, nil if the metadata have none.
  public private(set) var frameworkVersion: Int64?
  /// The journal mode, `wal` or `delete`.
  public private(set) var journalMode: String
  /// The size of the store's main file in bytes.
  public private(set) var bytes: Int64
  /// The files of its external values; nil if there is no folder of them.
  public private(set) var externalFiles: ExternalFiles?
  /// The size of the `-wal` file in bytes.
  public private(set) var wal: Int64
  /// Whether the store is in WAL mode and no `-wal` file is next to it.
  public private(set) var lacksLog: Bool
  /// The keys of its metadata, sorted.
  public private(set) var metadataKeys: [String]
  /// Its entities, by number.
  public private(set) var entities: [EntityRows]
  /// Its join tables.
  public private(set) var joinTables: [TableRows]
  /// Tables that do not belong to its model.
  public private(set) var extraTables: [String]
  /// Rows that are of no entity of its model; empty too if the model was not found.
  public private(set) var strays: [Strays]
  /// Its persistent history; nil if it keeps none, or there never was a transaction.
  public private(set) var history: History?
  /// Whether it has persistent history.
  public private(set) var hasHistory: Bool
  /// Its derived attributes that triggers keep, as `Entity.attribute`, in numbering order.
  public private(set) var derivedAttributes: [String]
  /// Its R-trees.
  public private(set) var spatialIndexes: [TableRows]
  /// Triggers of a form that is not known, in the order of the store.
  public private(set) var unknownTriggers: [String]
  /// Whether Core Data has put a part of a migration off, which prevents another one.
  public private(set) var hasDeferredMigration: Bool
  /// The state of CloudKit mirroring; nil if it is not mirrored.
  public private(set) var cloudKit: CloudKit?
  /// Whether it is mirrored with CloudKit, which a migration refuses unless that is to be carried
  /// over.
  public private(set) var hasCloudKitTables: Bool
  /// What is known of its model.
  public private(set) var model: Model

  /// Reads a store with what lies in its `-wal`.
  ///
  /// - Parameters:
  ///   - path: the SQLite store, which is not changed.
  ///   - models: places to search for the store's model, besides the store itself.
  /// - Throws: `MigrationFailure`, if it is not a store that can be read.
  public init(of path: FilePath, models: [FilePath] = []) throws(MigrationFailure) {
    self = try MigrationFailure.catching { try StoreInspection(reading: path, models: models) }
  }

  /// Reads a store with what lies in its `-wal`.
  ///
  /// - Throws: `MigrationFailure`, if it is not a store that can be read.
  public init(of store: URL, models: [URL] = []) throws(MigrationFailure) {
    try self.init(of: FilePath(store), models: models.map { FilePath($0) })
  }

  private init(reading path: FilePath, models: [FilePath]) throws {
    let access = try SourceAccess.open(path)
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    let catalog = try reader.catalog()
    let unsupported = try StoreSurvey.unsupported(reader, catalog: catalog)
    var unreadable: String?
    var found: ManagedObjectModel?
    var search = OwnModel(metadata.versionHashes)
    do {
      found = try search.find(in: models, reader: reader)
    } catch let error as StoreError where error.problem == .modelCacheUnreadable {
      unreadable = MigrationFailure(error as any Error).sentences.joined(separator: " ")
    }
    // Without a known schema, tables are classified by their names.
    let resolved = found.flatMap { try? StoreSchema($0).resolved(in: catalog) }
    self.path = "\(path)"
    uuid = metadata.uuid
    frameworkVersion = metadata.frameworkVersion
    journalMode = access.usesWAL ? "wal" : "delete"
    wal = access.fingerprint.walBytes
    lacksLog = access.lacksLog
    bytes = access.fingerprint.bytes
    let support = SupportFolder.path(of: try Files.resolved(path))
    externalFiles = try ExternalFiles(in: ExternalDataFolder.files(support: support))
    metadataKeys = metadata.keys
    entities = try Self.entities(
      reader: reader, catalog: catalog, schema: resolved?.schema, metadata: metadata)
    joinTables = try Self.joinTables(reader: reader, catalog: catalog)
    extraTables = resolved?.1.extraTables ?? []
    strays =
      try resolved.map { resolved in
        try StoreContents(reader, schema: resolved.schema, support: support).strays().map {
          Strays($0)
        }
      } ?? []
    history = try HistoryOverview(reader: reader, catalog: catalog).map {
      History($0, numbers: resolved?.schema.numbers)
    }
    hasHistory = history != nil || unsupported.contains(.persistentHistory)
    let triggers = Set(catalog.triggers)
    derivedAttributes = (resolved?.schema.derived ?? []).filter {
      triggers.isSuperset(of: $0.triggers)
    }.map { "\($0.entity).\($0.attribute)" }
    spatialIndexes = try (resolved?.schema.spatialIndexes ?? []).map {
      TableRows(name: $0.name, rows: try reader.rowCount(of: $0.name, by: .rows))
    }
    let known = Set(resolved?.schema.triggers ?? [])
    unknownTriggers = catalog.triggers.filter { !known.contains($0) }.map(\.name)
    hasDeferredMigration = metadata.hasDeferredMigration
    cloudKit = try MirroringOverview(reader: reader, catalog: catalog).map { CloudKit($0) }
    hasCloudKitTables = unsupported.contains(.cloudKitMirroring)
    model = Model(
      hashes: metadata.versionHashes.mapValues(\.hexadecimal),
      identifiers: metadata.versionIdentifiers, found: found != nil,
      version: search.versionName,
      unread: found?.unreadSentences(of: "the embedded model of the store") ?? [],
      unreadable: unreadable, composites: found?.compositeWords ?? [:])
    try access.requireUnchanged()
  }

  /// Counts rows by entity number; after a rename the model has the name, and `Z_PRIMARYKEY` may
  /// not.
  private static func entities(
    reader: StoreReader, catalog: Catalog, schema: StoreSchema?, metadata: StoreMetadata
  ) throws -> [EntityRows] {
    let hashes = metadata.versionHashes
    let rows = try reader.primaryKeys()
    // Names that the metadata know by another hash list are found again by exclusion.
    let renamed = renames(rows.map(\.name), new: Array(hashes.keys))
    func name(number: EntityNumber) -> String? {
      if let name = schema?.numbers[number] { return name }
      return rows.first { $0.number == number }.map { renamed[$0.name] ?? $0.name }
    }
    var counts: [EntityNumber: Int64] = [:]
    for (table, columns) in catalog.tables.sorted(by: { $0.key < $1.key })
    where columns.contains("Z_ENT") && table != "Z_PRIMARYKEY" {
      // A row with the number of another table's entity is no object of that entity.
      let own = schema?.tables.first { $0.name == table }.map { table in
        Set(table.entityNames.compactMap { schema?.numbers[$0] })
      }
      for (number, count) in try reader.estimatedRowCounts(of: table)
      where own?.contains(number) ?? true {
        counts[number, default: 0] += count
      }
    }
    return rows.map { row in
      let own = name(number: row.number) ?? row.name
      return EntityRows(
        name: own, number: row.number.rawValue,
        superentity: row.superentity.rawValue == 0 ? nil : name(number: row.superentity),
        rows: counts[row.number] ?? 0, versionHash: hashes[own]?.hexadecimal)
    }
  }

  private static func renames(_ old: [String], new: [String]) -> [String: String] {
    let gone = old.filter { !new.contains($0) }
    let come = new.filter { !old.contains($0) }
    return gone.count == 1 && come.count == 1 ? [gone[0]: come[0]] : [:]
  }

  private static func joinTables(
    reader: StoreReader, catalog: Catalog
  ) throws -> [TableRows] {
    let own: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
    return try catalog.tables.filter { name, columns in
      name.hasPrefix("Z_") && !own.contains(name) && !columns.contains("Z_PK")
        && !catalog.virtualTables.keys.contains { name == $0 || name.hasPrefix("\($0)_") }
    }.keys.sorted().map { name in
      TableRows(name: name, rows: try reader.estimatedRowCount(of: name))
    }
  }

  /// The output of `godwit inspect`.
  public var summary: String {
    var lines = [
      path,
      "  UUID \(uuid), framework \(frameworkVersion.map { "\($0)" } ?? "unknown"), "
        + "journal mode \(journalMode)\(wal > 0 ? ", \(ByteText(wal)) in its -wal" : "")"
        + (lacksLog ? ", no -wal file" : ""),
      "  \(ByteText(bytes))" + (externalFiles.map { ", \($0.words)" } ?? ""),
      "  model: \(model.words)\(model.identifierWords)",
    ]
    lines += ([model.unreadable].compactMap(\.self) + model.unread).map { "  \($0)" }
    for entity in entities {
      let parent = entity.superentity.map { ": \($0)" } ?? ""
      lines.append("  \(entity.number)  \(entity.name)\(parent)  \(CountText(entity.rows, "row"))")
    }
    for (name, words) in model.composites.sorted(by: { $0.key < $1.key }) {
      lines.append("  \(name) consists of \(words)")
    }
    for table in joinTables { lines.append("  \(table.name)  \(CountText(table.rows, "row"))") }
    lines += strays.map { "  \($0.words)" }
    for table in extraTables { lines.append("  \(table)  (not of the model)") }
    lines += history?.lines ?? (hasHistory ? ["  has persistent history of an unknown form"] : [])
    for name in derivedAttributes { lines.append("  \(name) is kept by triggers") }
    for tree in spatialIndexes {
      lines.append("  \(tree.name)  R-tree of \(CountText(tree.rows, "row"))")
    }
    for name in unknownTriggers { lines.append("  \(name)  (a trigger of an unknown form)") }
    if hasDeferredMigration { lines.append("  has a migration that is not finished") }
    return (lines + (cloudKit?.lines ?? [])).joined(separator: "\n")
  }
}
