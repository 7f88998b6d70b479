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
struct CheckedTable: Sendable {
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

/// The b-trees of a store, and the tables that SQLite has to check.
struct TreeForms: Sendable {
  private(set) var tables: [CheckedTable] = []
  /// B-trees whose contents are SQLite's to judge.
  private(set) var others: [UInt32] = []
  /// The tables that `integrity_check` has to check.
  private(set) var asked = ["sqlite_schema"]

  /// All b-trees but that of the schema.
  var roots: [UInt32] { others + tables.flatMap { [$0.root] + $0.indexes.map(\.root) } }

  /// Reads the schema; nil where it is not even clear which b-trees there are.
  init?(_ db: Database) throws {
    let entries = try Row.fetchAll(
      db,
      sql: """
        SELECT type, name, tbl_name, rootpage, instr(upper(sql), 'CHECK') > 0 AS checks
        FROM sqlite_schema
        """)
    let known = try CheckedTable.all(in: db)
    let details = try IndexDetails.all(in: db)
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
      if entry["checks"] != true, var form = known[name],
        let forms = Self.indexes(own, details: details[name] ?? [], of: form)
      {
        (form.root, form.indexes) = (root, forms)
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

  /// The forms of all indexes of a table; nil if one has a property that has no form here.
  private static func indexes(
    _ roots: [String: UInt32], details: [IndexDetails], of table: CheckedTable
  ) -> [IndexForm]? {
    let forms = details.compactMap { index in
      roots[index.name].flatMap { index.form(root: $0, rowNumber: table.rowNumber) }
    }
    return forms.count == details.count && forms.count == roots.count ? forms : nil
  }
}

/// SQLite's description of an index.
private struct IndexDetails {
  var name: String
  var isUnique: Bool
  var isPartial: Bool
  var columns: [Row] = []

  /// All of a store, by their tables; of all tables at once, since each question has its cost.
  static func all(in db: Database) throws -> [String: [Self]] {
    let columns = Dictionary(
      grouping: try Row.fetchAll(
        db,
        sql: """
          SELECT CAST(i.name AS TEXT) AS own, x.cid, x."desc", x.coll, x.key
          FROM sqlite_schema AS i JOIN pragma_index_xinfo(i.name, 'main') AS x
          WHERE i.type = 'index' ORDER BY i.rowid, x.seqno
          """)
    ) { $0["own"] as String? ?? "" }
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT CAST(t.name AS TEXT) AS own, CAST(l.name AS TEXT) AS name, l."unique", l.partial
        FROM sqlite_schema AS t JOIN pragma_index_list(t.name, 'main') AS l
        WHERE t.type = 'table' AND t.rootpage > 0 ORDER BY t.rowid, l.seq
        """)
    return Dictionary(grouping: rows) { $0["own"] as String? ?? "" }.mapValues { rows in
      rows.map { row in
        let name = row["name"] as String? ?? ""
        return Self(
          name: name, isUnique: row["unique"] == 1, isPartial: row["partial"] != 0,
          columns: columns[name] ?? [])
      }
    }
  }

  func form(root: UInt32, rowNumber: Int?) -> IndexForm? {
    var form = IndexForm(root: root, columns: [], falls: [], isUnique: isUnique)
    for row in columns where row["key"] == 1 {
      guard let place = row["cid"] as Int?, place >= -1,
        (row["coll"] as String?)?.uppercased() == "BINARY"
      else { return nil }
      form.columns.append(place == rowNumber ? -1 : place)
      form.falls.append(row["desc"] == 1)
    }
    // Behind the columns each entry has the row number.
    let isWhole = !isPartial && !form.columns.isEmpty && columns.count == form.columns.count + 1
    return isWhole ? form : nil
  }
}

extension CheckedTable {
  /// The form of a table without its indexes; nil if it has a property that has no form here.
  init?(_ name: String, root: UInt32, db: Database) throws {
    guard var form = try Self.all(in: db, named: name)[name] else { return nil }
    form.root = root
    self = form
  }

  /// The forms of tables without their roots and indexes; without those that have a property
  /// without a form here.
  ///
  /// One query reads all of them, since each query has its cost; queries for a named table avoid
  /// what gets slower with many tables.
  fileprivate static func all(
    in db: Database, named name: String? = nil
  ) throws -> [String: CheckedTable] {
    let list = name == nil ? "pragma_table_list" : "pragma_table_list(?)"
    let tables =
      name == nil
      ? "(SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0) AS t"
      : "(SELECT ? AS name) AS t"
    let arguments = StatementArguments(name.map { [$0] } ?? [])
    let kept = try String.fetchSet(
      db,
      sql: """
        SELECT CAST(name AS TEXT) FROM \(list)
        WHERE schema = 'main' AND NOT wr AND NOT strict
        """, arguments: arguments)
    let keyed = try String.fetchSet(
      db,
      sql: """
        SELECT CAST(t.name AS TEXT) FROM \(tables) JOIN pragma_index_list(t.name, 'main') AS l
        WHERE l.origin = 'pk'
        """, arguments: arguments)
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT CAST(t.name AS TEXT) AS own, c.type, c."notnull", c.pk, c.dflt_value IS NULL AS plain,
          c.hidden
        FROM \(tables) JOIN pragma_table_xinfo(t.name, 'main') AS c ORDER BY c.cid
        """, arguments: arguments)
    // A store has few types, in many columns.
    var types: [String: Column] = [:]
    return Dictionary(grouping: rows) { $0["own"] as String? ?? "" }.reduce(into: [:]) {
      guard kept.contains($1.key) else { return }
      $0[$1.key] = CheckedTable($1.value, hasOwnKey: keyed.contains($1.key), types: &types)
    }
  }

  /// Uses SQLite's description of the columns.
  private init?(_ rows: [Row], hasOwnKey: Bool, types: inout [String: Column]) {
    self.init(root: 0, columns: [], indexes: [])
    for (place, row) in rows.enumerated() {
      guard row["hidden"] == 0, row["plain"] == true, let type = row["type"] as String? else {
        return nil
      }
      if !hasOwnKey, row["pk"] != 0 {
        guard rowNumber == nil, type.uppercased() == "INTEGER" else { return nil }
        rowNumber = place
        columns.append(Column())
        continue
      }
      let known = types[type] ?? Self.column(type: type.uppercased())
      types[type] = known
      var column = known
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
