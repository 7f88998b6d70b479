import GRDB
import ObjectModel
import Schema
package import StoreFormat

extension ExportPlan {
  /// Plans the export of a store whose model is not known: names and types come from its tables.
  package init(guessing reader: StoreReader) throws {
    let names = Dictionary(
      try reader.primaryKeys().map { ($0.number.rawValue, $0.name) },
      uniquingKeysWith: { first, _ in first })
    let scans = try reader.connection.perform { try Self.tables(in: $0) }.map { table, columns in
      ExportScan(guessing: columns, of: table, names: names)
    }
    self.init(scans: scans, entityNames: names)
  }

  /// The rows of a table whose entity numbers are of none of its entities, under the names of the
  /// store.
  static func strays(in table: String, known: [Int64], db: Database) throws -> ExportScan? {
    guard let columns = try tables(in: db).first(where: { $0.table == table })?.columns else {
      return nil
    }
    let numbers = known.sorted().map { "\($0)" }.joined(separator: ", ")
    return ExportScan(
      guessing: columns, of: table, names: [:],
      where: "typeof(t.Z_ENT) <> 'integer' OR t.Z_ENT NOT IN (\(numbers))")
  }

  /// The tables of objects and pairs with their columns, as the store lists them.
  private static func tables(
    in db: Database
  ) throws -> [(table: String, columns: [GuessedColumn])] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT s.name AS "table", i.name AS "column", upper(i.type) AS "type"
        FROM sqlite_schema AS s, pragma_table_info(s.name) AS i
        WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%' AND s.name GLOB 'Z*'
          AND s.name NOT IN ('Z_PRIMARYKEY', 'Z_METADATA', 'Z_MODELCACHE')
          AND s.name NOT GLOB 'Z_RT_*'
        ORDER BY s.rowid, i.cid
        """)
    var tables: [(table: String, columns: [GuessedColumn])] = []
    for row in rows {
      guard let table = String.fromDatabaseValue(row[0]),
        let column = String.fromDatabaseValue(row[1])
      else { continue }
      if tables.last?.table != table { tables.append((table, [])) }
      tables[tables.count - 1].columns.append(
        GuessedColumn(name: column, declared: String.fromDatabaseValue(row[2]) ?? ""))
    }
    return tables
  }
}

/// A column of a table, as the store declares it.
private struct GuessedColumn {
  var name: String
  var declared: String

  /// The name of the property that Core Data may have named it after.
  var propertyName: String {
    if name.hasPrefix("Z_FOK_") { return name.dropFirst(6).lowercased() + "._order" }
    if name == "Z_PK" { return "_key" }
    if name == "Z_ENT" || name == "Z_OPT" { return "_" + name.dropFirst(2).lowercased() }
    return name.dropFirst(name.hasPrefix("Z") ? 1 : 0).lowercased()
  }
}

extension ExportScan {
  fileprivate init(
    guessing columns: [GuessedColumn], of table: String, names: [Int64: String],
    where condition: String? = nil
  ) {
    let hasKey = columns.contains { $0.name == "Z_PK" }
    let hasEntity = columns.contains { $0.name == "Z_ENT" }
    var builder = ScanBuilder(
      table: table, key: hasKey ? "t.Z_PK" : "0", entityNumber: hasEntity ? "t.Z_ENT" : "0")
    var used: Set<String> = []
    let planned = columns.filter { $0.name != "Z_OPT" }.map { column in
      var result = PlannedColumn(guessing: column, of: table, in: &builder)
      while !used.insert(result.column.name).inserted { result.column.name += "_" }
      return result
    }
    func output(named name: String, contents: ExportTable.Contents) -> Output {
      Output(
        table: ExportTable(
          name: name, contents: contents, columns: planned.map(\.column), isGuessed: true),
        sources: planned.map(\.source), isRequired: false)
    }
    self.init(
      table: table, sql: builder.sql(where: condition, orderedBy: hasKey ? "t.Z_PK" : nil),
      outputs: hasEntity ? names.mapValues { output(named: $0, contents: .objects) } : [:],
      other: output(named: table, contents: .rows))
  }
}

extension PlannedColumn {
  fileprivate init(
    guessing column: GuessedColumn, of table: String, in builder: inout ScanBuilder
  ) {
    let own = ScanBuilder.own(column.name)
    let name = column.propertyName
    if column.name == "Z_PK" {
      self.init(ExportColumn(name: name, kind: .key), .init(index: 0, conversion: .plain))
      return
    }
    if DeclaredType(rawValue: column.declared) == .blob {
      self.init(
        ExportColumn(name: name, kind: .attribute(.binary)),
        .init(
          index: builder.place(ofBytes: column.name),
          conversion: .bytes(column: column.name, isExternal: true),
          folder: "\(table).\(name)"))
      return
    }
    let (kind, conversion): (ExportColumn.Kind, ExportScan.Source.Conversion) =
      switch DeclaredType(rawValue: column.declared) {
      case .timestamp: (.attribute(.date), .date)
      case .varchar: (.attribute(.string), .text)
      case .decimal: (.attribute(.decimal), .decimal)
      case .float: (.attribute(.double), .plain)
      case .integer, .blob, nil: (.attribute(.integer64), .plain)
      }
    self.init(
      ExportColumn(name: name, kind: kind),
      .init(index: builder.place(of: own), conversion: conversion))
  }
}
