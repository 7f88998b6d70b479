import GRDB
package import Schema
package import StoreFormat

/// What a store keeps of CloudKit mirroring.
package struct MirroringSurvey: Hashable, Sendable {
  /// One table of mirroring.
  package struct Table: Hashable, Sendable {
    /// The name as the store has it.
    package var name: String
    /// Its rows.
    package var rows: Int64
    /// The columns that are named as if they held entity numbers of the model, the proven one left
    /// out.
    package var numberColumns: [String]
    /// The columns that are named as if they led to record metadata.
    package var recordColumns: [String]
    /// Whether it is the table of record metadata.
    package var isOfRecords: Bool { name == MirroringTables.records }
  }

  /// The tables, by name.
  package let tables: [Table]
  /// Tables whose columns or indexes are not of the form in which entity numbers can be changed.
  package let unknownForms: [String]
  /// Views, triggers and virtual tables of mirroring, which cannot be copied.
  package let notCopied: [String]

  /// Reads the schema of the tables, and counts their rows; nil where there is none.
  package init?(
    _ names: [String], catalog: Catalog, reader: StoreReader
  ) throws(StoreError) {
    if names.isEmpty { return nil }
    let others = try Self.others(reader)
    notCopied = others.map(\.name)
    let virtual = Set(others.filter(\.isTable).map(\.name))
    var tables: [Table] = []
    for name in names where !virtual.contains(name) {
      let columns = (catalog.tables[name] ?? []).sorted()
      let isOfRecords = name == MirroringTables.records
      tables.append(
        Table(
          name: name, rows: try reader.rowCount(of: name, by: .rows),
          numberColumns: columns.filter {
            MirroringTables.mayHoldNumbers($0)
              && !(isOfRecords && $0 == MirroringTables.numberColumn)
          },
          recordColumns: isOfRecords ? [] : columns.filter(MirroringTables.mayLeadToRecords)))
    }
    self.tables = tables
    unknownForms = try Self.unknownForms(tables, catalog: catalog, reader: reader)
  }

  /// Views, triggers and virtual tables that are named like mirroring, or belong to its tables.
  private static func others(
    _ reader: StoreReader
  ) throws(StoreError) -> [(name: String, isTable: Bool)] {
    try reader.connection.run { db in
      try Row.fetchAll(db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name")
        .compactMap { row in
          guard let type = String.fromDatabaseValue(row[0]),
            let name = String.fromDatabaseValue(row[1]),
            let table = String.fromDatabaseValue(row[2]),
            MirroringTables.contains(name) || MirroringTables.contains(table)
          else { return nil }
          let isVirtual =
            String.fromDatabaseValue(row[3])?.uppercased().hasPrefix("CREATE VIRTUAL") ?? false
          return isVirtual || type == "view" || type == "trigger" ? (name, type == "table") : nil
        }
    }
  }

  /// Records have to have the two columns that lead to objects, and nothing but columns and plain
  /// indexes may depend on them; a name in another case is another table to Core Data.
  private static func unknownForms(
    _ tables: [Table], catalog: Catalog, reader: StoreReader
  ) throws(StoreError) -> [String] {
    var found = tables.map(\.name).filter {
      $0 != MirroringTables.records && $0.uppercased() == MirroringTables.records
    }
    guard let columns = catalog.tables[MirroringTables.records] else { return found }
    let name = MirroringTables.records
    let wanted = ["Z_PK", MirroringTables.numberColumn, MirroringTables.keyColumn]
    let odd = try reader.number(
      sql: """
        SELECT (SELECT count(*) FROM pragma_table_xinfo('\(name)') WHERE hidden <> 0)
        + (SELECT count(*) FROM pragma_index_list('\(name)') AS l
          WHERE l.partial OR EXISTS (
            SELECT 1 FROM pragma_index_xinfo(l.name) AS i WHERE i.cid = -2))
        + (SELECT count(*) FROM pragma_foreign_key_list('\(name)'))
        + (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(name)'
          AND (upper(sql) LIKE '%CHECK%(%' OR upper(sql) LIKE '%ON CONFLICT%'))
        """)
    let isKeyed = try reader.tables(keyedBy: "Z_PK").contains(name)
    if odd > 0 || !isKeyed || !columns.isSuperset(of: wanted) { found.append(name) }
    return found
  }
}
