import GRDB

/// What an index has to hold, as far as it is one of whole columns of all rows by their bytes.
struct IndexForm: Sendable {
  var root: UInt32
  /// The places of its columns in records of the table, -1 for the row number.
  var columns: [Int]
  /// Which of them fall.
  var falls: [Bool]
  var isUnique: Bool
}

/// What the rows of a table have to be.
struct TableForm: Sendable {
  struct Column: Sendable {
    /// Whether a number, or a text, is not as column affinity would have made it.
    var refusesNumbers = false
    var refusesTexts = false
    /// Whether whole numbers are kept for reals.
    var isReal = false
    var isMandatory = false
  }

  var root: UInt32
  var columns: [Column]
  /// The place of the column that is the row number.
  var rowNumber: Int?
  var indexes: [IndexForm]
}

/// The b-trees of a store, and what SQLite has to be asked of.
struct TreeForms: Sendable {
  private(set) var tables: [TableForm] = []
  /// B-trees whose contents are SQLite's to judge.
  private(set) var others: [UInt32] = []
  /// The tables that `integrity_check` is asked of.
  private(set) var asked = ["sqlite_schema"]

  /// All b-trees but that of the schema.
  var roots: [UInt32] { others + tables.flatMap { [$0.root] + $0.indexes.map(\.root) } }

  /// Reads the schema; nil where it is not even clear which b-trees there are.
  init?(_ db: Database) throws {
    let entries = try Row.fetchAll(
      db, sql: "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema")
    var indexes: [String: [String: UInt32]] = [:]
    for entry in entries where entry["type"] == "index" {
      guard let (table, name, root) = Self.place(entry) else { return nil }
      guard indexes[table]?[name] == nil else { return nil }
      indexes[table, default: [:]][name] = root
    }
    for entry in entries where entry["type"] == "table" {
      guard let name = entry["name"] as String? else { return nil }
      // Virtual tables have no b-tree of their own.
      if (entry["rootpage"] as Int64?) == 0 {
        asked.append(name)
        continue
      }
      guard let (_, _, root) = Self.place(entry) else { return nil }
      let own = indexes.removeValue(forKey: name) ?? [:]
      let sql = (entry["sql"] as String? ?? "").uppercased()
      if !sql.contains("CHECK"), let form = try Self.table(name, root: root, indexes: own, db: db) {
        tables.append(form)
      } else {
        others += [root] + own.values
        asked.append(name)
      }
    }
    guard indexes.isEmpty, Set(roots).count == roots.count else { return nil }
  }

  private static func place(_ entry: Row) -> (table: String, name: String, root: UInt32)? {
    guard let table = entry["tbl_name"] as String?, let name = entry["name"] as String?,
      let number = entry["rootpage"] as Int64?, let root = UInt32(exactly: number), root > 1
    else { return nil }
    return (table, name, root)
  }

  // MARK: Tables

  /// The form of a table; nil where SQLite knows more of it than can be said here.
  private static func table(
    _ name: String, root: UInt32, indexes: [String: UInt32], db: Database
  ) throws -> TableForm? {
    guard var form = try TableForm(name, root: root, db: db) else { return nil }
    let list = try Row.fetchAll(
      db, sql: "SELECT name, \"unique\", partial FROM pragma_index_list(?, 'main')",
      arguments: [name])
    guard list.count == indexes.count else { return nil }
    for entry in list {
      guard let name = entry["name"] as String?, let root = indexes[name], entry["partial"] == 0,
        let index = try index(
          name, root: root, isUnique: entry["unique"] == 1, rowNumber: form.rowNumber, db: db)
      else { return nil }
      form.indexes.append(index)
    }
    return form
  }

  private static func index(
    _ name: String, root: UInt32, isUnique: Bool, rowNumber: Int?, db: Database
  ) throws -> IndexForm? {
    var form = IndexForm(root: root, columns: [], falls: [], isUnique: isUnique)
    let rows = try Row.fetchAll(
      db, sql: "SELECT cid, \"desc\", coll, key FROM pragma_index_xinfo(?, 'main') ORDER BY seqno",
      arguments: [name])
    for row in rows where row["key"] == 1 {
      guard let place = row["cid"] as Int?, place >= -1,
        (row["coll"] as String?)?.uppercased() == "BINARY"
      else { return nil }
      form.columns.append(place == rowNumber ? -1 : place)
      form.falls.append(row["desc"] == 1)
    }
    // Behind the columns each entry has the row number.
    return !form.columns.isEmpty && rows.count == form.columns.count + 1 ? form : nil
  }
}

extension TableForm {
  /// The form of a table without its indexes; nil where SQLite knows more of it than can be said
  /// here.
  init?(_ name: String, root: UInt32, db: Database) throws {
    self.init(root: root, columns: [], indexes: [])
    let kind = try Row.fetchOne(
      db, sql: "SELECT wr, strict FROM pragma_table_list(?) WHERE schema = 'main'",
      arguments: [name])
    guard let kind, kind["wr"] == 0, kind["strict"] == 0 else { return nil }
    let hasOwnKey =
      try Bool.fetchOne(
        db, sql: "SELECT count(*) FROM pragma_index_list(?, 'main') WHERE origin = 'pk'",
        arguments: [name]) ?? true
    let rows = try Row.fetchAll(
      db,
      sql: "SELECT type, \"notnull\", pk, dflt_value, hidden FROM pragma_table_xinfo(?, 'main') "
        + "ORDER BY cid", arguments: [name])
    for (place, row) in rows.enumerated() {
      guard row["hidden"] == 0, row["dflt_value"] as String? == nil,
        let type = (row["type"] as String?)?.uppercased()
      else { return nil }
      if !hasOwnKey, row["pk"] != 0 {
        guard rowNumber == nil, type == "INTEGER" else { return nil }
        rowNumber = place
        columns.append(Column())
        continue
      }
      var column = Self.column(type: type)
      column.isMandatory = row["notnull"] != 0
      columns.append(column)
    }
  }

  /// What a declared type makes of values ("Datatypes In SQLite", section 3.1).
  private static func column(type: String) -> Column {
    if type.contains("INT") { return .init(refusesTexts: true) }
    if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
      return .init(refusesNumbers: true)
    }
    if type.isEmpty || type.contains("BLOB") { return .init() }
    return .init(
      refusesTexts: true, isReal: ["REAL", "FLOA", "DOUB"].contains(where: type.contains))
  }
}
