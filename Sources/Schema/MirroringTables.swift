/// The tables in which `NSPersistentCloudKitContainer` keeps what it knows of iCloud.
///
/// They belong to no entity of the model; their rows have entity numbers above all of a model's.
/// What is known of them stands in docs/how-to/cloudkit.md; no real store of that kind was ever
/// examined.
package enum MirroringTables {
  /// How the names of the tables begin.
  package static let prefix = "ANSCK"
  /// The table that leads from objects to their records in iCloud: one row for each object.
  package static let records = "ANSCKRECORDMETADATA"
  /// The entity number of a record's object; its `Z_PK` is in the next column.
  package static let numberColumn = "ZENTITYID"
  /// The primary key of a record's object.
  package static let keyColumn = "ZENTITYPK"
  /// The columns of records with primary keys of transactions in the history.
  package static let transactionColumns = [
    "ZLASTEXPORTEDTRANSACTIONNUMBER", "ZPENDINGEXPORTTRANSACTIONNUMBER",
  ]
  /// The table of what mirroring has done, one row for each setup, import and export.
  package static let events = "ANSCKEVENT"
  /// The table of record zones.
  package static let zones = "ANSCKRECORDZONEMETADATA"
  /// The numbers that the entities of mirroring have in `Z_ENT`, and room for those to come.
  package static let numbers: ClosedRange<Int64> = 17_001...17_999

  /// Whether a table, or anything else of that name, belongs to mirroring; SQLite's names have no
  /// case.
  package static func contains(_ name: String) -> Bool { name.uppercased().hasPrefix(prefix) }

  /// Whether a column is named as if it held entity numbers of the model.
  package static func mayHoldNumbers(_ column: String) -> Bool {
    let name = column.uppercased()
    if name.hasSuffix("PK") || name.hasSuffix("NAME") { return false }
    return Catalog.mayHoldNumbers(column) || name.contains("ENTITY")
  }

  /// Whether a column is named as if it held primary keys of record metadata.
  package static func mayLeadToRecords(_ column: String) -> Bool {
    column.uppercased().contains("RECORDMETADATA")
  }
}
