import DataExport
public import Foundation
import Mapping
import MigrationCoordinator
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
public import SystemPackage

/// The data of a store in files that other programs read.
///
/// ```swift
/// var export = StoreExport(of: "Shop.sqlite")
/// export.format = .jsonl
/// export.labels = [.init(entity: "Author", attribute: "name")]
/// let report = try export.write(to: "Shop-export")
/// ```
public struct StoreExport: Sendable {
  /// The formats of the files.
  public enum Format: String, Hashable, Sendable, CaseIterable {
    /// Comma-separated values (RFC 4180) with a header, in UTF-8.
    case csv
    /// A JSON object per line, in UTF-8.
    case jsonl
    /// A plain SQLite database with a table per entity.
    case sqlite
  }

  /// An attribute whose value is exported next to each reference to an object of an entity.
  public struct Label: Hashable, Sendable {
    /// The entity.
    public var entity: String
    /// The attribute.
    public var attribute: String

    /// Names an attribute.
    public init(entity: String, attribute: String) {
      (self.entity, self.attribute) = (entity, attribute)
    }
  }

  /// The store, which is not changed.
  public var store: FilePath
  /// The format of the files.
  public var format = Format.csv
  /// The entities to export, with their subentities; empty for all.
  public var entities: [String] = []
  /// Attributes that are exported next to references.
  public var labels: [Label] = []
  /// Whether JSON, property lists and keyed archives in binary and transformable attributes are
  /// exported as JSON instead of Base64.
  public var decodesValues = true
  /// Places to search for the store's model, besides the store itself.
  public var models: [FilePath] = []

  /// Names the store.
  public init(of store: FilePath) { self.store = store }

  /// Names the store.
  public init(of store: URL) { self.init(of: FilePath(store)) }

  /// What was written; also the contents of `export.json`.
  public struct Report: Hashable, Sendable, Encodable {
    /// A table of the export.
    public struct Table: Hashable, Sendable, Encodable {
      /// The entity, `Entity.relationship` for pairs, or a table of the store.
      public var name: String
      /// The file in the folder; nil for a table of `export.sqlite`.
      public var file: String?
      /// `objects`, `pairs` or `rows`.
      public var contents: String
      /// Whether names and types are guessed from the tables of the store.
      public var isGuessed: Bool
      /// The number of rows.
      public var rows: Int64
      /// The columns, in order.
      public var columns: [Column]
    }

    /// A column of a table.
    public struct Column: Hashable, Sendable, Encodable {
      /// The name, such as `title`, `author` or `author._entity`.
      public var name: String
      /// `Key`, `Reference`, `Entity`, `Order`, or the type of the attribute.
      public var type: String
      /// The entity whose objects a reference leads to; nil for other columns.
      public var destination: String?
      /// The number of values that the type cannot have, which are exported as the store has them.
      public var irregularValues: Int64
    }

    private var version = 1
    private var kind = "export"
    /// The path of the store.
    public var store: String
    /// The UUID of the store.
    public var uuid: String
    /// The format of the files.
    public var format: String
    /// Whether the model of the store was found; without it, names and types are guessed.
    public var hasModel: Bool
    /// Whether the store is in WAL mode and no `-wal` file was next to it.
    public var lacksLog: Bool
    /// The tables, in the order of the store.
    public var tables: [Table]
    /// The number of values that were written to files of their own.
    public var valueFiles: Int64
    /// Names of external files that the store refers to and that cannot be read, at most 100.
    public var missingFiles: [String]
    /// The number of such files.
    public var missingFileCount: Int64
    /// Tables of the store that are not of its model and were not exported.
    public var otherTables: [String]

    /// The number of rows of all tables.
    public var rows: Int64 { tables.reduce(0) { $0 + $1.rows } }
  }

  /// Writes the export into a new folder, which appears when it is complete.
  ///
  /// Memory does not grow with the number of rows.
  ///
  /// - Parameters:
  ///   - output: the folder, which must not exist.
  ///   - progress: called with the number of rows written so far and an estimate of all; may throw
  ///     to stop.
  /// - Throws: `MigrationFailure`; no folder is left then. Errors of `progress`.
  @discardableResult
  public func write(
    to output: FilePath, progress: (_ done: Int64, _ total: Int64) throws -> Void = { _, _ in }
  ) throws -> Report {
    try MigrationFailure.catching(around: progress) { progress in
      try export(to: output) { try progress(($0, $1)) }
    }
  }

  /// Writes the export into a new folder, which appears when it is complete.
  ///
  /// - Throws: `MigrationFailure`; no folder is left then.
  @discardableResult
  public func write(to output: URL) throws(MigrationFailure) -> Report {
    try MigrationFailure.catching { try write(to: FilePath(output)) }
  }
}

extension StoreExport {
  private func export(
    to output: FilePath, progress: (_ done: Int64, _ total: Int64) throws -> Void
  ) throws -> Report {
    let access = try SourceAccess.open(store)
    let reader = try StoreReader(immutable: access.readable)
    let metadata = try reader.metadata()
    let model = try OwnModel.find(metadata.versionHashes, in: models, reader: reader)
    let (plan, others) = try plan(reader, model: model)
    try requireFree(output)
    let folder = try TemporaryFolder(beside: output)
    var total: Int64 = 0
    for table in plan.sourceTables { total += try reader.estimatedRowCount(of: table) }
    let exporter = StoreExporter(
      reader, plan: plan, format: StoreExporter.Format(format),
      support: SupportFolder.path(of: try Files.resolved(store)), folder: folder.path,
      decodes: decodesValues)
    let manifest = try exporter.export(total: total, progress: progress)
    try access.requireUnchanged()
    let report = Report(
      manifest, store: store, uuid: metadata.uuid, format: format, hasModel: model != nil,
      lacksLog: access.lacksLog, otherTables: others)
    try JSONOutput.write(report, to: folder.path.appending("export.json"))
    try requireFree(output)
    try folder.move(to: output)
    return report
  }

  private func plan(
    _ reader: StoreReader, model: ManagedObjectModel?
  ) throws -> (ExportPlan, others: [String]) {
    guard let model else {
      guard entities.isEmpty, labels.isEmpty else {
        throw MigrationFailure(
          .notFound,
          "The model of \(store) was not found, so its entities and attributes are not known: "
            + "name the model with \(option: .models), or export everything without "
            + "\(option: .entity) and \(option: .label).")
      }
      return (try ExportPlan(guessing: reader), [])
    }
    let named = entities + labels.map(\.entity)
    for name in named where model.entity(name: name) == nil {
      let names = ListText(model.entities.map(\.name).sorted(), most: 20)
      throw MigrationFailure(.usage, "\(store) has no entity \(name): it has \(names).")
    }
    for label in labels {
      guard let entity = model.entity(name: label.entity),
        model.leafAttribute(named: label.attribute, of: entity)?.isTransient != false
      else { continue }
      throw MigrationFailure(
        .usage, "\(label.entity) has no stored attribute \(label.attribute): name one that it has.")
    }
    let (schema, differences) = try StoreSchema(model).resolved(in: try reader.catalog())
    if !differences.missingTables.isEmpty {
      throw StoreError(problem: .tablesMissing(differences.missingTables), store: store)
    }
    if !differences.missingColumns.isEmpty {
      throw StoreError(problem: .columnsMissing(differences.missingColumns), store: store)
    }
    let plan = ExportPlan(
      schema: schema, entities: entities.isEmpty ? nil : Set(entities),
      labels: labels.map { ExportLabel(entity: $0.entity, attribute: $0.attribute) })
    return (plan, differences.extraTables)
  }

  private func requireFree(_ output: FilePath) throws {
    if try Files.fileStatusIfPresent(output, followLinks: false) != nil { throw Self.taken(output) }
  }

  private static func taken(_ output: FilePath) -> MigrationFailure {
    MigrationFailure(
      .cannotCreate, "\(output) exists: name a folder for the export that does not exist yet.")
  }
}

extension StoreExporter.Format {
  fileprivate init(_ format: StoreExport.Format) {
    switch format {
    case .csv: self = .csv
    case .jsonl: self = .jsonl
    case .sqlite: self = .sqlite
    }
  }
}

extension StoreExport.Report {
  fileprivate init(
    _ manifest: ExportManifest, store: FilePath, uuid: String, format: StoreExport.Format,
    hasModel: Bool, lacksLog: Bool, otherTables: [String]
  ) {
    (self.store, self.uuid, self.format) = ("\(store)", uuid, format.rawValue)
    (self.hasModel, self.lacksLog, self.otherTables) = (hasModel, lacksLog, otherTables)
    (valueFiles, missingFiles) = (manifest.valueFiles, manifest.missingFiles)
    missingFileCount = manifest.missingFileCount
    tables = manifest.tables.map { table in
      Table(
        name: table.name, file: table.file, contents: table.contents.rawValue,
        isGuessed: table.isGuessed, rows: table.rows,
        columns: table.columns.map {
          Column(
            name: $0.name, type: $0.type, destination: $0.destination,
            irregularValues: $0.irregularValues)
        })
    }
  }

  /// What deserves attention, one sentence each.
  public var notes: [String] {
    var notes: [String] = []
    if lacksLog { notes.append(SourceAccess.missingLog(of: store)) }
    if !hasModel {
      notes.append(
        "The model of \(store) was not found: names and types are guessed from its tables. "
          + "Name the model with \(option: .models) for real names.")
    }
    for table in tables {
      for column in table.columns where column.irregularValues > 0 {
        notes.append(
          "\(table.name).\(column.name): \(CountText(column.irregularValues, "value")) not of type "
            + "\(column.type), exported as the store has \(column.irregularValues == 1 ? "it" : "them")."
        )
      }
      if table.contents == "rows", hasModel {
        notes.append(
          "\(table.name): \(CountText(table.rows, "row")) of no entity of the table, exported under "
            + "the names of the store.")
      }
    }
    if missingFileCount > 0 {
      notes.append(
        "\(CountText(missingFileCount, "external file")) cannot be read, such as "
          + "\(missingFiles.first ?? ""): the export has the name instead of the value.")
    }
    if !otherTables.isEmpty {
      notes.append(
        "Tables that are not part of the model are not exported: "
          + "\(ListText(otherTables)).")
    }
    return notes
  }
}
