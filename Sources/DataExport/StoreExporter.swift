import GRDB
import GRDBSQLite
import Schema
package import StoreFormat
import SystemCalls
package import SystemPackage

/// Writes the tables of a plan into a folder.
package final class StoreExporter {
  /// The formats of an export.
  package enum Format: String, CaseIterable, Sendable { case csv, jsonl, sqlite }

  private let reader: StoreReader
  private let plan: ExportPlan
  private let format: Format
  private let folder: FilePath
  private let values: ValueWriter
  private var names = FileNames()
  private var targets: [Target] = []
  /// Receives the number of rows written so far and an estimate of all.
  package typealias Progress = (_ rows: Int64, _ total: Int64) throws -> Void

  private var rows: Int64 = 0
  private var total: Int64 = 0

  /// An open table with what was written to it.
  fileprivate final class Target {
    let sink: any RowSink
    let table: ExportTable
    let sources: [ExportScan.Source]
    var entry: ExportManifest.Table

    init(
      sink: any RowSink, output: ExportScan.Output, file: String?, databaseTable: String?
    ) {
      (self.sink, table, sources) = (sink, output.table, output.sources)
      entry = ExportManifest.Table(
        name: table.name, file: file, table: databaseTable, contents: table.contents,
        isGuessed: table.isGuessed, rows: 0,
        columns: table.columns.map {
          .init(
            name: $0.name, type: $0.typeName, destination: $0.destination, irregularValues: 0)
        })
    }
  }

  /// Takes an open store.
  ///
  /// - Parameters:
  ///   - support: the folder of the store's external files.
  ///   - folder: an empty folder, in which the files are made.
  ///   - decodes: whether JSON, property lists and keyed archives in attributes are decoded.
  package init(
    _ reader: StoreReader, plan: ExportPlan, format: Format, support: FilePath, folder: FilePath,
    decodes: Bool
  ) {
    (self.reader, self.plan, self.format, self.folder) = (reader, plan, format, folder)
    values = ValueWriter(
      support: support, folder: folder, decodes: decodes, entityNames: plan.entityNames)
  }

  /// Exports all tables.
  ///
  /// - Parameters:
  ///   - total: an estimate of the rows of all tables.
  ///   - progress: called from time to time.
  /// - Throws: `StoreError`, `SystemCallError` or `Errno`, and errors of `progress`.
  package func export(total: Int64, progress: Progress) throws -> ExportManifest {
    self.total = total
    guard format == .sqlite else {
      try export(to: nil, progress: progress)
      return manifest
    }
    let database = try StoreConnection.scratch(
      folder.appending(Self.databaseName), cacheBytes: 8 << 20, vacuum: 0)
    try database.perform { db in
      try db.execute(sql: "BEGIN")
      try export(to: db, progress: progress)
      try db.execute(sql: "COMMIT")
    }
    try Files.syncFile(folder.appending(Self.databaseName))
    return manifest
  }

  /// The name of the database in the folder.
  package static let databaseName = "export.sqlite"

  private var manifest: ExportManifest {
    ExportManifest(
      tables: targets.map(\.entry), valueFiles: values.files, missingFiles: values.missing,
      missingFileCount: values.missingCount)
  }

  private func export(to database: Database?, progress: Progress) throws {
    try reader.connection.perform { db in
      defer { values.close() }
      for scan in plan.scans {
        try write(scan, db: db, database: database, progress: progress)
      }
    }
    for target in targets { try target.sink.close() }
  }

  private func write(
    _ scan: ExportScan, db: Database, database: Database?, progress: Progress
  ) throws {
    var known: [Int64: Target] = [:]
    var other: Target?
    let first = targets.count
    // GRDB's statement finalizes SQLite's, so it stays as long as the rows are read.
    let query = try db.makeStatement(sql: scan.sql)
    defer { withExtendedLifetime(query) {} }
    let statement = RawStatement(query)
    values.begin(table: scan.table, db: db)
    var strays: Int64 = 0
    while try statement.step() {
      let number = sqlite3_column_int64(statement.handle, 1)
      if known[number] == nil, let output = scan.outputs[number] {
        known[number] = try open(output, database: database)
      }
      if known[number] == nil, other == nil, let output = scan.other {
        other = try open(output, database: database)
      }
      guard let target = known[number] ?? other else {
        strays += 1
        continue
      }
      try write(statement, to: target)
      rows += 1
      if rows.isMultiple(of: 4096) { try progress(rows, total) }
    }
    for number in scan.outputs.keys.sorted() where known[number] == nil {
      guard let output = scan.outputs[number], output.isRequired else { continue }
      _ = try open(output, database: database)
    }
    targets[first...].sort { $0.table.name < $1.table.name }
    guard strays > 0, scan.other == nil,
      let rest = try ExportPlan.strays(
        in: scan.table, known: scan.entityNumbers, db: db)
    else { return }
    try write(rest, db: db, database: database, progress: progress)
  }

  private func write(_ statement: RawStatement, to target: Target) throws {
    let key = sqlite3_column_int64(statement.handle, 0)
    for (index, source) in target.sources.enumerated() {
      let isRegular = try values.put(source, of: statement.handle, key: key, to: target.sink)
      if !isRegular { target.entry.columns[index].irregularValues += 1 }
    }
    try target.sink.endRow()
    target.entry.rows += 1
  }

  private func open(_ output: ExportScan.Output, database: Database?) throws -> Target {
    let name = names.unique(for: output.table.name)
    let target: Target
    if let database {
      target = Target(
        sink: try DatabaseSink(output.table, named: output.table.name, in: database),
        output: output, file: nil, databaseTable: output.table.name)
    } else {
      let file = "\(name).\(format.rawValue)"
      let path = folder.appending(file)
      let sink: any RowSink =
        format == .csv
        ? try CSVSink(output.table, creating: path)
        : try JSONLinesSink(output.table, creating: path)
      target = Target(sink: sink, output: output, file: file, databaseTable: nil)
    }
    targets.append(target)
    return target
  }
}

/// Names of files, unique regardless of case.
struct FileNames {
  private static let longest = 120
  private var used: Set<String> = [StoreExporter.databaseName, "export", "files"]

  /// A name for a table or column: its letters, digits, dots, hyphens and underscores.
  mutating func unique(for name: String) -> String {
    let plain = Self.plain(name)
    var result = plain
    var number = 1
    while !used.insert(result.lowercased()).inserted {
      number += 1
      result = "\(plain)-\(number)"
    }
    return result
  }

  static func plain(_ name: String) -> String {
    var result = ""
    for character in name.prefix(longest) where result.utf8.count < longest {
      let isPlain =
        character.isLetter || character.isNumber || character == "." || character == "_"
        || character == "-"
      result.append(isPlain ? character : "_")
    }
    return result.isEmpty || result.hasPrefix(".") ? "_" + result : result
  }
}
