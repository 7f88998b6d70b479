package import GRDB
import KeyedArchives
import ModelFiles
package import ObjectModel
package import Schema
package import SystemPackage

/// Reads Core Data's own tables and the schema of a store.
package struct StoreReader: Sendable {
  /// The connection, which others may use too.
  package let connection: StoreConnection
  /// The path of the file.
  package var path: FilePath { connection.path }
  private let facts: SchemaFacts

  /// Opens a store that is not written meanwhile, and whose `-wal` has no contents.
  package init(immutable path: FilePath) throws(StoreError) {
    _ = try StoreHeader(ofSource: path)
    try self.init(StoreConnection.immutable(path))
  }

  /// Takes an open connection to a database whose schema does not change.
  ///
  /// - Throws: `StoreError` with `notCoreData`, if the database lacks `Z_METADATA` or
  ///   `Z_PRIMARYKEY`.
  package init(_ connection: StoreConnection) throws(StoreError) {
    self.connection = connection
    facts = try connection.run { try SchemaFacts.of(in: $0) }
    let tables = try answer("tables", find: Self.tables)
    guard tables.contains("Z_METADATA"), tables.contains("Z_PRIMARYKEY") else {
      throw StoreError(problem: .notCoreData, store: connection.store)
    }
  }

  private static func tables(in db: Database) throws -> Set<String> {
    try String.fetchSet(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
  }

  /// The answer to a question about the schema alone, which `find` finds for the first store of a
  /// schema.
  package func answer<Answer: Sendable>(
    _ question: String, find: (Database) throws -> Answer
  ) throws(StoreError) -> Answer {
    do {
      return try facts.answer(question) { try connection.run(find) }
    } catch {
      throw connection.failure(error: error)
    }
  }

  /// Whether a database, which is not written meanwhile, has none of the tables that Core Data
  /// makes in every store.
  ///
  /// - Throws: `StoreError`, where the database cannot be read.
  package static func isOtherDatabase(_ path: FilePath) throws(StoreError) -> Bool {
    _ = try StoreHeader(ofSource: path)
    return try StoreConnection.immutable(path).run(tables)
      .isDisjoint(with: ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"])
  }

  /// One row of `Z_PRIMARYKEY`.
  package struct PrimaryKeyRow: Hashable, Sendable {
    /// `Z_ENT`, the number of the entity in this store.
    package var number: EntityNumber
    /// `Z_NAME`, the name of the entity.
    package var name: String
    /// `Z_SUPER`, the number of the superentity, 0 for a root entity.
    package var superentity: EntityNumber
    /// `Z_MAX`, the highest primary key ever assigned; 0 except for root entities.
    package var maximum: Int64

    /// Creates a row from its columns.
    package init(
      number: EntityNumber, name: String, superentity: EntityNumber, maximum: Int64
    ) {
      self.number = number
      self.name = name
      self.superentity = superentity
      self.maximum = maximum
    }
  }

  /// The store's metadata.
  ///
  /// - Throws: `StoreError` with `metadataUnreadable`, or with `hashVersionUnknown` for version
  ///   hashes of another algorithm.
  package func metadata() throws(StoreError) -> StoreMetadata {
    let rows = try connection.run { db in
      try Row.fetchAll(db, sql: "SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 2")
    }
    // Of two rows it is unknown which is the store's. A blob is not a text, although it reads as
    // one.
    guard rows.count == 1, let row = rows.first,
      case .string(let uuid) = (row[0] as DatabaseValue).storage,
      let plist = [UInt8].fromDatabase(row[1])
    else { throw StoreError(problem: .metadataUnreadable, store: path) }
    let decoded: PropertyList
    do {
      decoded = try PropertyList(decoding: plist)
    } catch {
      throw StoreError(problem: .metadataUnreadable, store: path, cause: error)
    }
    guard let members = decoded.dictionaryValue else {
      throw StoreError(problem: .metadataUnreadable, store: path)
    }
    let metadata = StoreMetadata(uuid: uuid, plist: members)
    if let version = metadata.hashesVersion, version != 3 {
      throw StoreError(problem: .hashVersionUnknown(version), store: path)
    }
    return metadata
  }

  /// The rows of `Z_PRIMARYKEY`, by entity number.
  package func primaryKeys() throws(StoreError) -> [PrimaryKeyRow] {
    try connection.run { db in
      try Row.fetchAll(db, sql: "SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY 1")
        .map { row in
          PrimaryKeyRow(
            number: EntityNumber(rawValue: Int64.fromDatabaseValue(row[0]) ?? 0),
            name: String.fromDatabaseValue(row[1]) ?? "",
            superentity: EntityNumber(rawValue: Int64.fromDatabaseValue(row[2]) ?? 0),
            maximum: Int64.fromDatabaseValue(row[3]) ?? 0)
        }
    }
  }

  /// The tables of the database with the names of their columns, and its triggers.
  package func catalog() throws(StoreError) -> Catalog {
    try answer("catalog") { db in
      var tables: [String: Set<String>] = [:]
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT s.name, i.name, i.type FROM sqlite_schema AS s, pragma_table_info(s.name) AS i
          WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%'
          """)
      var textNumbered: Set<String> = []
      while let row = try rows.next() {
        guard let table = String.fromDatabaseValue(row[0]),
          let column = String.fromDatabaseValue(row[1])
        else { continue }
        tables[table, default: []].insert(column)
        if column == "Z_ENT", Self.isText(declared: String.fromDatabaseValue(row[2]) ?? "") {
          textNumbered.insert(table)
        }
      }
      var catalog = Catalog(tables: tables)
      catalog.textNumbered = textNumbered
      catalog.withoutRowNumbers = try Set(
        String.fetchAll(
          db, sql: "SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr"))
      let others = try Row.fetchCursor(
        db,
        sql: """
          SELECT type, name, tbl_name, sql FROM sqlite_schema
          WHERE type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%' ORDER BY rowid
          """)
      while let row = try others.next() {
        guard let name = String.fromDatabaseValue(row[1]),
          let table = String.fromDatabaseValue(row[2]), let sql = String.fromDatabaseValue(row[3])
        else { continue }
        if String.fromDatabaseValue(row[0]) == "trigger" {
          catalog.triggers.append(Trigger(name: name, table: table, statement: sql))
        } else {
          catalog.virtualTables[name] = sql
          // Without the module that an app registers, the columns are not known.
          let columns = try? String.fetchSet(
            db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name])
          catalog.tables[name] = columns ?? []
        }
      }
      return catalog
    }
  }

  /// Whether SQLite makes texts of the numbers in a column of a declared type.
  private static func isText(declared type: String) -> Bool {
    let type = type.uppercased()
    return !type.contains("INT") && ["CHAR", "CLOB", "TEXT"].contains { type.contains($0) }
  }

  /// A table as the schema of the database has it.
  package struct TableEntry: Hashable, Sendable {
    /// The root page of its b-tree.
    package var root: Int64
    /// The statement that made it.
    package var statement: String
  }

  /// The tables of the database, by name.
  package func tableEntries() throws(StoreError) -> [String: TableEntry] {
    try answer("table entries") { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT name, rootpage, sql FROM sqlite_schema WHERE type = 'table'")
      let entries = rows.compactMap { row -> (String, TableEntry)? in
        guard let name = String.fromDatabaseValue(row[0]),
          let root = Int64.fromDatabaseValue(row[1]), let sql = String.fromDatabaseValue(row[2])
        else { return nil }
        return (name, TableEntry(root: root, statement: sql))
      }
      return Dictionary(entries, uniquingKeysWith: { first, _ in first })
    }
  }

  /// How many indexes each table has, by its name; those without one are missing.
  package func indexCounts() throws(StoreError) -> [String: Int] {
    try answer("index counts") { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT tbl_name, count(*) FROM sqlite_schema WHERE type = 'index' GROUP BY 1")
      let counts = rows.compactMap { row in
        String.fromDatabaseValue(row[0]).map { ($0, Int.fromDatabaseValue(row[1]) ?? 0) }
      }
      return Dictionary(counts, uniquingKeysWith: { first, _ in first })
    }
  }

  /// The tables whose rows SQLite keeps by the numbers in a column of this name.
  ///
  /// A key of any other kind has an index.
  package func tables(keyedBy column: String) throws(StoreError) -> Set<String> {
    try answer("tables keyed by \(column)") { db in
      try Set(
        String.fetchAll(
          db,
          sql: """
            SELECT s.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS i
            WHERE s.type = 'table' AND s.sql NOT LIKE 'CREATE VIRTUAL%' AND i.name = ?
              AND i.pk = 1 AND upper(i.type) = 'INTEGER'
              AND NOT EXISTS (SELECT 1 FROM pragma_index_list(s.name) WHERE origin = 'pk')
            """, arguments: [column]))
    }
  }

  /// The model in `Z_MODELCACHE`, nil if there is none.
  ///
  /// - Throws: `StoreError` with `modelCacheUnreadable`.
  package func cachedModel() throws(StoreError) -> ManagedObjectModel? {
    let content = try connection.run { db in
      try db.tableExists("Z_MODELCACHE")
        ? Row.fetchOne(db, sql: "SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1") : nil
    }
    guard let content, let bytes = [UInt8].fromDatabase(content[0]), !bytes.isEmpty else {
      return nil
    }
    do {
      let archive = try Deflate.inflate(bytes, limit: 256 << 20)
      return try CompiledModel.model(decoding: archive)
    } catch {
      throw StoreError(problem: .modelCacheUnreadable, store: path, cause: error)
    }
  }

  /// What rows are counted by.
  package enum Scan: Sendable {
    /// The rows themselves.
    case rows
    /// Whichever index is the smallest; it may lack rows.
    case index

    fileprivate var clause: String { self == .rows ? " NOT INDEXED" : "" }
  }

  /// The rows of a table by entity number; a `Z_ENT` that is not a number counts as 0.
  package func rowCounts(
    of table: String, by scan: Scan
  ) throws(StoreError) -> [EntityNumber: Int64] {
    let name = SQL.identifier(name: table)
    return try connection.run { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT Z_ENT, count(*) FROM \(name)\(scan.clause) GROUP BY Z_ENT")
      return Dictionary(
        rows.map { row in
          (
            EntityNumber(rawValue: Int64.fromDatabaseValue(row[0]) ?? 0),
            Int64.fromDatabaseValue(row[1]) ?? 0
          )
        },
        // No entity has the number 0.
        uniquingKeysWith: +)
    }
  }

  /// How many rows a table holds.
  package func rowCount(of table: String, by scan: Scan) throws(StoreError) -> Int64 {
    try number(sql: "SELECT count(*) FROM \(SQL.identifier(name: table))\(scan.clause)")
  }

  /// How many rows each of some tables holds, in this order; if its index has no entry, by its
  /// rows; without an index, by its leaves.
  package func rowCounts(ofTables names: [String], by scan: Scan) throws(StoreError) -> [Int64] {
    func query(_ name: String, _ scan: Scan) -> String {
      "SELECT count(*) FROM \(SQL.identifier(name: name))\(scan.clause)"
    }
    guard scan == .index else { return try numbers(sql: names.map { query($0, scan) }) }
    var counts = try leafCounts(ofTables: names)
    let indexed = names.filter { counts[$0] == nil }
    for (name, count) in zip(indexed, try numbers(sql: indexed.map { query($0, scan) })) {
      counts[name] = count
    }
    let empty = indexed.filter { counts[$0] == 0 }
    for (name, count) in zip(empty, try numbers(sql: empty.map { query($0, .rows) })) {
      counts[name] = count
    }
    return names.map { counts[$0] ?? 0 }
  }

  /// How many rows those of some tables have that have no index, by their leaves; a table with
  /// other pages is left out.
  private func leafCounts(ofTables names: [String]) throws(StoreError) -> [String: Int64] {
    let bare = try bareRoots(ofTables: names).sorted { $0.key < $1.key }
    guard !bare.isEmpty, let file = try? SourceFile(path) else { return [:] }
    let pageSize = Int(try number(sql: "PRAGMA page_size"))
    let counts = LeafCount(file: file, pageSize: pageSize).rows(roots: bare.map(\.value))
    var result: [String: Int64] = [:]
    for (one, count) in zip(bare, counts) { result[one.key] = count }
    return result
  }

  /// The root pages of those of some tables that have no index.
  package func bareRoots(ofTables names: [String]) throws(StoreError) -> [String: UInt32] {
    let indexes = try indexCounts()
    let bare = names.filter { indexes[$0] == nil }
    if bare.isEmpty { return [:] }
    let entries = try tableEntries()
    return Dictionary(
      bare.map { ($0, UInt32(clamping: entries[$0]?.root ?? 0)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// The rows of a table by entity number, by an index that has entries.
  package func estimatedRowCounts(of table: String) throws(StoreError) -> [EntityNumber: Int64] {
    let rows = try rowCounts(of: table, by: .index)
    return rows.isEmpty ? try rowCounts(of: table, by: .rows) : rows
  }

  /// The number of rows of a table, by its smallest index.
  ///
  /// That is an estimate, but for nothing: an index that knows of no rows is not believed.
  package func estimatedRowCount(of table: String) throws(StoreError) -> Int64 {
    let rows = try rowCount(of: table, by: .index)
    return rows > 0 ? rows : try rowCount(of: table, by: .rows)
  }

  /// The root pages of all tables and indexes, by their names.
  package func roots() throws(StoreError) -> [String: UInt32] {
    try answer("roots") { db in try StoreWriter.roots(in: db) }
  }

  /// The numbers that queries return, of one column each, 0 for one that returns none.
  ///
  /// Many in one statement: a statement costs more than reading a small table.
  package func numbers(sql queries: [String]) throws(StoreError) -> [Int64] {
    try connection.run { db in
      var result: [Int64] = []
      for start in stride(from: 0, to: queries.count, by: Self.queriesAtOnce) {
        let some = queries[start..<min(start + Self.queriesAtOnce, queries.count)]
        let sql = "SELECT " + some.map { "(\($0))" }.joined(separator: ", ")
        let row = try Row.fetchOne(db, sql: sql)
        result += some.indices.map { place in
          row.flatMap { Int64.fromDatabaseValue($0[place - start]) } ?? 0
        }
      }
      return result
    }
  }

  /// SQLite's limit on columns is 2000, and on the length of a statement a million characters.
  private static let queriesAtOnce = 20

  /// The number that a query returns, 0 if it returns none.
  package func number(sql: String) throws(StoreError) -> Int64 {
    try connection.run { db in try Int64.fetchOne(db, sql: sql) ?? 0 }
  }
}

extension [UInt8] {
  /// The bytes of a blob, nil for any other value.
  package static func fromDatabase(_ value: DatabaseValue) -> [UInt8]? {
    guard case .blob(let data) = value.storage else { return nil }
    return [UInt8](data)
  }
}
