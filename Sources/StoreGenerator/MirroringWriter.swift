import GRDB
import Schema
import StoreFormat

/// Writes the tables of CloudKit mirroring as far as their columns are documented, with a row of
/// record metadata for each object, and the transactions that those name.
///
/// Undocumented tables and columns are left out (docs/how-to/cloudkit.md).
struct MirroringWriter {
  /// A table whose columns are documented.
  private struct Table {
    var entity: String
    var number: Int64
    var columns: [(DeclaredType, [String])]

    var name: String { "A\(entity.uppercased())" }

    var createStatement: String {
      let all =
        ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"]
        + columns.flatMap { type, names in names.map { "\($0) \(type.rawValue)" } }
      return "CREATE TABLE \(name) ( \(all.joined(separator: ", ")) )"
    }
  }

  let tables: [TablePlan]
  let allocation: KeyAllocation
  let seed: UInt64
  /// The keys of the transactions that are there already; nil without any.
  let transactions: ClosedRange<Int64>?

  /// How many objects a transaction has saved.
  private static let objectsPerTransaction: Int64 = 100
  /// When the first transaction was made, in seconds since 2001-01-01 UTC, and how long each took.
  private static let (firstTime, interval) = (700_000_000.0, 60.0)

  private static let records = Table(
    entity: "NSCKRecordMetadata", number: 17_012,
    columns: [
      (
        .integer,
        [
          "ZENTITYID", "ZENTITYPK", "ZLASTEXPORTEDTRANSACTIONNUMBER", "ZNEEDSCLOUDDELETE",
          "ZNEEDSLOCALDELETE", "ZNEEDSUPLOAD", "ZPENDINGEXPORTCHANGETYPENUMBER",
          "ZPENDINGEXPORTTRANSACTIONNUMBER", "ZENCODEDRECORDASSET", "ZRECORDZONE",
          "ZSYSTEMFIELDSASSET",
        ]
      ), (.varchar, ["ZCKRECORDNAME"]),
    ])
  private static let zones = Table(
    entity: "NSCKRecordZoneMetadata", number: 17_015,
    columns: [
      (.integer, ["ZHASSUBSCRIPTIONNUM"]), (.varchar, ["ZCKOWNERNAME", "ZCKRECORDZONENAME"]),
    ])
  private static let events = Table(
    entity: "NSCKEvent", number: 17_002,
    columns: [
      (
        .integer,
        ["ZCLOUDKITEVENTTYPE", "ZCOUNTAFFECTEDOBJECTS", "ZERRORCODE", "ZSUCCEEDED"]
      ), (.timestamp, ["ZENDEDAT", "ZSTARTEDAT"]), (.varchar, ["ZERRORDOMAIN"]),
    ])
  private static let entries = Table(
    entity: "NSCKMetadataEntry", number: 17_009,
    columns: [
      (.integer, ["ZBOOLVALUENUM", "ZINTEGERVALUE"]), (.timestamp, ["ZDATEVALUE"]),
      (.varchar, ["ZKEY", "ZSTRINGVALUE"]), (.blob, ["ZTRANSFORMEDVALUE"]),
    ])

  /// The statements that follow the rows of record metadata.
  private static let indexes = [
    "CREATE UNIQUE INDEX Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK ON ANSCKRECORDMETADATA "
      + "(ZENTITYID COLLATE BINARY ASC, ZENTITYPK COLLATE BINARY ASC)",
    "CREATE UNIQUE INDEX Z_NSCKRecordMetadata_UNIQUE_ckRecordName_recordZone ON "
      + "ANSCKRECORDMETADATA (ZCKRECORDNAME COLLATE BINARY ASC, ZRECORDZONE COLLATE BINARY ASC)",
  ]

  /// Writes all tables into a store that has those of history.
  func write(in db: Database) throws {
    let all = [Self.events, Self.entries, Self.records, Self.zones]
    for table in all { try db.execute(sql: table.createStatement) }
    try writeRecords(transactions: try transactions ?? writeHistory(in: db), in: db)
    for index in Self.indexes { try db.execute(sql: index) }
    try writeRest(in: db)
    for table in all {
      try db.execute(
        sql: """
          INSERT INTO Z_PRIMARYKEY SELECT ?, ?, 0, coalesce(max(Z_PK), 0) FROM \(table.name)
          """, arguments: [table.number, table.entity])
    }
  }

  private var count: Int64 { tables.reduce(0) { $0 + $1.keys.rows } }

  private func writeRecords(transactions: ClosedRange<Int64>, in db: Database) throws {
    let insert = try db.makeStatement(
      sql: """
        INSERT INTO ANSCKRECORDMETADATA (Z_PK, Z_ENT, Z_OPT, ZENTITYID, ZENTITYPK,
          ZLASTEXPORTEDTRANSACTIONNUMBER, ZNEEDSCLOUDDELETE, ZNEEDSLOCALDELETE, ZNEEDSUPLOAD,
          ZPENDINGEXPORTCHANGETYPENUMBER, ZPENDINGEXPORTTRANSACTIONNUMBER, ZRECORDZONE,
          ZCKRECORDNAME)
        VALUES (?, ?, 1, ?, ?, ?, 0, ?, ?, ?, ?, 1, ?)
        """)
    let salt = Mixing.salt(seed, parts: "records")
    var key: Int64 = 0
    for (place, table) in tables.enumerated() {
      let numbers = Dictionary(
        uniqueKeysWithValues: allocation.concretes.filter { $0.table == place }.map {
          ($0.slot, $0.number)
        })
      for position in 0..<table.keys.rows {
        let object = table.keys.object(atPosition: position)
        var draw = Draw(Mixing.mix(salt, UInt64(key)))
        let chance = draw.below(limit: 1000)
        let (waits, goes) = (chance < 20, chance == 999)
        let transaction = min(
          transactions.lowerBound + key / Self.objectsPerTransaction, transactions.upperBound)
        key += 1
        // Of an object that was never exported, only the transaction that waits is known.
        try insert.execute(arguments: [
          key, Self.records.number, numbers[object.slot], object.key,
          chance < 5 ? nil : transaction, goes ? 1 : 0, waits ? 1 : 0, waits ? 1 : nil,
          waits ? min(transaction + 1, transactions.upperBound) : nil,
          UUIDBits.text(bits: UUIDBits.random(&draw, digit: nil)),
        ])
      }
    }
  }

  /// Makes transactions without changes, which record metadata name, and returns their keys.
  private func writeHistory(in db: Database) throws -> ClosedRange<Int64> {
    let last = max(1, (count + Self.objectsPerTransaction - 1) / Self.objectsPerTransaction)
    let numbers = HistoryTables.names.compactMap(HistoryTables.entity)
    for (key, name) in ["app", "NSCloudKitMirroringDelegate.import", "app-process"].enumerated() {
      try db.execute(
        sql: "INSERT INTO \(HistoryTables.strings) (Z_PK, Z_ENT, ZNAME) VALUES (?, ?, ?)",
        arguments: [key + 1, numbers[2].number.rawValue, name])
    }
    let insert = try db.makeStatement(
      sql: """
        INSERT INTO \(HistoryTables.transactions)
          (Z_PK, Z_ENT, ZAUTHORTS, ZBUNDLEIDTS, ZPROCESSIDTS, ZTIMESTAMP) VALUES (?, ?, ?, 1, 3, ?)
        """)
    for key in 1...last {
      try insert.execute(arguments: [
        key, numbers[1].number.rawValue, key % 2 + 1, Self.firstTime + Double(key) * Self.interval,
      ])
    }
    for (table, entity) in zip(HistoryTables.names, numbers) {
      try db.execute(
        sql: "INSERT INTO Z_PRIMARYKEY SELECT ?, ?, 0, coalesce(max(Z_PK), 0) FROM \(table)",
        arguments: [entity.number.rawValue, entity.name])
    }
    return 1...last
  }

  private func writeRest(in db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO ANSCKRECORDZONEMETADATA VALUES (1, 17015, 1, 1, 'nobody', 'made-up');
        INSERT INTO ANSCKMETADATAENTRY (Z_PK, Z_ENT, Z_OPT, ZINTEGERVALUE, ZBOOLVALUENUM, ZKEY)
          VALUES (1, 17009, 1, 1345, NULL, 'PFCloudKitMetadataFrameworkVersionKey'),
            (2, 17009, 1, NULL, 0, 'PFCloudKitMetadataNeedsMetadataMigrationKey');
        """)
    for (key, end) in [1.0, 20.0, 300.0].enumerated() {
      try db.execute(
        sql: "INSERT INTO ANSCKEVENT VALUES (?, 17002, 1, ?, ?, 0, 1, ?, ?, NULL)",
        arguments: [
          key + 1, key, key == 0 ? 0 : count, Self.firstTime + end + 5, Self.firstTime + end,
        ])
    }
  }
}
