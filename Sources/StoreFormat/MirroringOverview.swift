import GRDB
package import Schema

/// A summary of the tables of CloudKit mirroring, from known columns and without content.
package struct MirroringOverview: Sendable {
  /// The last event that began.
  package struct Event: Sendable {
    /// 0 for setup, 1 for import, 2 for export.
    package var type: Int64?
    /// When it began and ended, in seconds since 2001-01-01 UTC.
    package var started, ended: Double?
    /// Whether it did what it was to do.
    package var succeeded: Bool?
    /// The error that it ended with.
    package var errorDomain: String?
    package var errorCode: Int64?
  }

  /// The tables and their rows.
  package let tables: [(name: String, rows: Int64)]
  /// Records of objects in iCloud; nil where the table is missing.
  package let records: Int64?
  /// Records that wait for something, each kind as far as its column is there.
  package let needsUpload, needsLocalDelete, needsCloudDelete: Int64?
  /// Records that wait for anything.
  package let pending: Int64?
  /// The last event; nil where there is none.
  package let lastEvent: Event?
  /// The names of record zones.
  package let zones: [String]

  /// Reads the tables; nil where a store has none.
  package init?(reader: StoreReader, catalog: Catalog) throws(StoreError) {
    // Without its module, a virtual table cannot be read.
    let names = catalog.tables.keys.filter {
      MirroringTables.contains($0) && catalog.virtualTables[$0] == nil
    }.sorted()
    if names.isEmpty { return nil }
    var tables: [(String, Int64)] = []
    for name in names { tables.append((name, try reader.rowCount(of: name, by: .index))) }
    self.tables = tables
    records = tables.first { $0.0 == MirroringTables.records }?.1
    let columns = catalog.tables[MirroringTables.records] ?? []
    func waiting(_ wanted: String...) throws(StoreError) -> Int64? {
      let known = wanted.filter(columns.contains)
      if known.isEmpty { return nil }
      let any = known.map { "\($0) <> 0" }.joined(separator: " OR ")
      return try reader.number(
        sql: "SELECT count(*) FROM \(MirroringTables.records) WHERE \(any)")
    }
    needsUpload = try waiting("ZNEEDSUPLOAD")
    needsLocalDelete = try waiting("ZNEEDSLOCALDELETE")
    needsCloudDelete = try waiting("ZNEEDSCLOUDDELETE")
    pending = try waiting("ZNEEDSUPLOAD", "ZNEEDSLOCALDELETE", "ZNEEDSCLOUDDELETE")
    lastEvent = try Self.lastEvent(reader, catalog.tables[MirroringTables.events] ?? [])
    let zone = "ZCKRECORDZONENAME"
    let hasZones = catalog.tables[MirroringTables.zones]?.contains(zone) == true
    zones =
      !hasZones
      ? []
      : try reader.connection.run { db in
        try String.fetchAll(
          db,
          sql: """
            SELECT DISTINCT \(zone) FROM \(MirroringTables.zones)
            WHERE typeof(\(zone)) = 'text' ORDER BY 1 LIMIT 100
            """)
      }
  }

  private static func lastEvent(
    _ reader: StoreReader, _ columns: Set<String>
  ) throws(StoreError) -> Event? {
    guard columns.contains("ZSTARTEDAT") else { return nil }
    let wanted = [
      "ZCLOUDKITEVENTTYPE", "ZSTARTEDAT", "ZENDEDAT", "ZSUCCEEDED", "ZERRORDOMAIN", "ZERRORCODE",
    ]
    let list = wanted.map { columns.contains($0) ? $0 : "NULL" }.joined(separator: ", ")
    return try reader.connection.run { db in
      try Row.fetchOne(
        db, sql: "SELECT \(list) FROM \(MirroringTables.events) ORDER BY ZSTARTEDAT DESC LIMIT 1"
      ).map { row in
        Event(
          type: Int64.fromDatabaseValue(row[0]), started: Double.fromDatabaseValue(row[1]),
          ended: Double.fromDatabaseValue(row[2]),
          succeeded: Int64.fromDatabaseValue(row[3]).map { $0 != 0 },
          errorDomain: String.fromDatabaseValue(row[4]),
          errorCode: Int64.fromDatabaseValue(row[5]))
      }
    }
  }
}
