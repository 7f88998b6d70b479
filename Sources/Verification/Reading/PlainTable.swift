import Schema
import StoreFormat

/// A table whose rows lie in a b-tree by their row numbers, as it can be read without SQLite.
struct PlainTable {
  struct Column {
    /// The place in records, -1 for the row number.
    var place: Int
    /// Whether what lies there as an INTEGER is a REAL.
    var isReal: Bool
  }

  let root: UInt32
  /// The columns of records.
  let count: Int
  /// The columns in the order of the table.
  private(set) var names: [String] = []
  private(set) var columns: [String: Column] = [:]
  /// Whether its declared primary key is something else than the row number.
  let hasOwnKey: Bool

  /// Returns nil if only SQLite can read the rows: for views and virtual tables, computed columns,
  /// and defaults, which short records do not have.
  init?(_ name: String, in store: RawStore) throws(StoreError) {
    let bindings: [RawValue] = [.text(name)]
    let isHidden = try store.rows(
      sql: "SELECT 1 FROM sqlite_temp_schema WHERE name = ? COLLATE NOCASE", bindings: bindings)
    let entry = try store.rows(
      sql: "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = ?",
      bindings: bindings)
    guard isHidden.isEmpty, entry.count == 1, let number = entry[0][0].integer,
      let root = UInt32(exactly: number), root > 0
    else { return nil }
    let rows = try store.rows(
      sql: "SELECT name, type, pk, dflt_value IS NULL AND hidden = 0 "
        + "FROM pragma_table_xinfo(?, 'main') ORDER BY cid", bindings: bindings)
    let keyIndexes = try store.rows(
      sql: "SELECT 1 FROM pragma_index_list(?, 'main') WHERE origin = 'pk'", bindings: bindings)
    let keys = rows.filter { $0[2] != .integer(0) }
    hasOwnKey = !keyIndexes.isEmpty
    guard hasOwnKey || keys.count < 2 else { return nil }
    self.root = root
    count = rows.count
    for (place, row) in rows.enumerated() {
      guard case .text(let name) = row[0], case .text(let type) = row[1], row[3] == .integer(1)
      else { return nil }
      let declared = String(decoding: type, as: UTF8.self).uppercased()
      let isRowNumber = !hasOwnKey && row[2] != .integer(0)
      if isRowNumber, declared != "INTEGER" { return nil }
      let text = String(decoding: name, as: UTF8.self)
      // A column of this name hides the row number from queries.
      if !isRowNumber, text.lowercased() == "rowid" { return nil }
      names.append(text)
      columns[text] = Column(
        place: isRowNumber ? -1 : place, isReal: Self.isReal(declared))
    }
    guard columns.count == count else { return nil }
  }

  /// Whether a declared type is of REAL affinity ("Datatypes In SQLite", section 3.1).
  private static func isReal(_ type: String) -> Bool {
    let others = ["INT", "CHAR", "CLOB", "TEXT", "BLOB"]
    return !others.contains(where: type.contains)
      && ["REAL", "FLOA", "DOUB"].contains(where: type.contains)
  }
}
