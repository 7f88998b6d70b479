import GRDB
import ObjectModel
import Planning
package import RowPrograms
package import Schema
import StoreFormat
package import Survey
import SystemPackage

/// The b-trees of the source that become b-trees of the result without being taken apart.
///
/// SQLite's description of the source's tables decides. A table moves if its records would be made
/// again byte by byte, an index if its entries would. What only the pages can show (rows from
/// before a column was added, an index that lacks a row) shows when they are moved.
package struct TreeMoves: Hashable, Codable, Sendable {
  package struct Table: Hashable, Codable, Sendable {
    /// The name of the table in the source.
    package var sourceTable: String
    /// What a worker has to know of it.
    package var moved: MovedTable
    /// The columns of the destination as the table's rows have them, new ones last; nil where that
    /// is the order of the destination.
    package var order: [String]?
    /// How its rows change where they stay in their pages; nil where they do not change.
    package var update: RowUpdate?
  }

  /// What becomes of the b-trees.
  package enum Purpose: Hashable, Codable, Sendable {
    /// Workers copy their pages, whose entity numbers they may patch; a table moves with all of
    /// its indexes.
    case copies
    /// They stay where they are; rows may be updated and indexes be missing.
    case stays
    /// The same, and columns may lie in another order and lack new ones, as Core Data's own
    /// `ALTER TABLE` leaves them.
    case staysAltered
  }

  /// By destination table; all indexes of such a table move as well.
  package private(set) var tables: [String: Table] = [:]
  /// By the index of the destination.
  package private(set) var indexes: [String: IndexMove] = [:]

  private let purpose: Purpose

  /// Finds what of a store can be moved.
  ///
  /// - Throws: `StoreError` where the schema cannot be read.
  package init(
    survey: StoreSurvey, schema: StoreSchema, program: MigrationProgram,
    purpose: Purpose = .copies
  ) throws {
    self.purpose = purpose
    let header = survey.header
    guard header.pageSize == PageGeometry.pageSize, header.reservedBytes == 0,
      header.schemaFormat == 4
    else { return }
    let joins = program.joins.filter(\.keepsRowNumbers)
    let found = try Found.all(
      named: program.tables.map(\.sourceTable) + joins.map(\.sourceTable), in: survey.reader)
    for table in program.tables {
      guard let found = found[table.sourceTable] else { continue }
      add(table, found: found, survey: survey, schema: schema)
    }
    for join in joins {
      guard let found = found[join.sourceTable] else { continue }
      add(join, found: found, schema: schema)
    }
  }

  // MARK: Tables of objects

  private mutating func add(
    _ table: TableProgram, found: Found, survey: StoreSurvey, schema: StoreSchema
  ) {
    guard let entityTable = schema.keyedTable(named: table.destinationTable) else { return }
    // Rows of entities without a place stay behind, and their entries with them.
    guard survey.estimatedRows(of: table) > 0, survey.takesAllRows(table), !table.isFiltered,
      survey.mayKeepAll(table)
    else { return }
    let moved = table.columns.map { MovedColumn($0, of: table) }
    let isUpdated = purpose != .copies && !table.isOfChanges
    let sources =
      ["Z_PK", "Z_ENT", "Z_OPT"]
      + zip(moved, table.columns).map { $0?.source ?? (isUpdated ? $1.placedColumn : nil) }
    let unchanged =
      ["Z_PK", table.keepsEntityNumbers ? "Z_ENT" : nil, "Z_OPT"]
      + moved.map { column in column.flatMap { $0.change == .none ? $0.source : nil } }
    var moves: [String: IndexMove] = [:]
    var summed: [SummedIndex] = []
    let indexes = schema.allIndexes.filter { $0.table == table.destinationTable }
    for index in indexes {
      let columns = index.parts.map { part in
        entityTable.columns.firstIndex { $0.name == part.column }
      }
      let names = columns.map { $0.flatMap { unchanged[$0] } }
      guard index.condition == nil, !names.contains(nil), !names.contains("Z_PK"),
        let source = found.index(
          names: names.compactMap(\.self), descending: index.parts.map { !$0.isAscending })
      else { continue }
      let types = columns.compactMap(\.self).map { entityTable.columns[$0].type }
      guard zip(names, types).allSatisfy({ found.affinity(of: $0) == $1 }) else { continue }
      let affinities = types.map(\.affinity)
      moves[index.name] = IndexMove(
        name: index.name, root: source.root, affinities: affinities,
        descending: index.parts.map { !$0.isAscending }, isUnique: index.isUnique)
      summed.append(
        SummedIndex(
          name: index.name, columns: columns.compactMap(\.self), affinities: affinities))
    }
    let isInOrder =
      found.columns.map(\.name) == sources
      && zip(found.columns, entityTable.columns).allSatisfy { $0.affinity == $1.type }
    let order =
      purpose == .staysAltered && !isInOrder
      ? found.order(
        of: entityTable.columns, from: sources,
        besides: Set(table.columns.filter { isUpdated ? $0.isConstant : $0.isEmpty }.map(\.name)))
      : nil
    if isInOrder && (purpose != .copies || moves.count == indexes.count) || order != nil {
      let entityColumn = sources.firstIndex(of: table.entityColumn) ?? 1
      tables[table.destinationTable] = Table(
        sourceTable: table.sourceTable,
        moved: MovedTable(
          root: found.root,
          rule: RowRule(
            columns: sources.count, entities: table.entities.map(\.source),
            entityColumn: entityColumn),
          indexes: summed,
          patch: RowPatch(table, changes: moved.map { $0?.change }, entityColumn: entityColumn)),
        order: order, update: isUpdated ? RowUpdate(table) : nil)
    }
    self.indexes.merge(moves) { $1 }
  }

  // MARK: Join tables

  private mutating func add(_ join: JoinProgram, found: Found, schema: StoreSchema) {
    guard found.columns.map(\.name) == join.sources,
      found.columns.allSatisfy({ $0.affinity == .integer }),
      let key = found.index(names: Array(found.columns.prefix(2).map(\.name)), isKey: true)
    else { return }
    let own = "sqlite_autoindex_\(join.destinationTable)_1"
    var moves = [
      own: IndexMove(
        name: own, root: key.root, affinities: [.integer, .integer],
        descending: [false, false], isUnique: true)
    ]
    var summed = [SummedIndex(name: own, columns: [0, 1], affinities: [.integer, .integer])]
    let indexes = schema.indexes.filter { $0.table == join.destinationTable }
    for index in indexes {
      let places = index.parts.compactMap { join.columns.firstIndex(of: $0.column) }
      let names = places.compactMap { join.sources[$0] }
      guard names.count == index.parts.count, index.condition == nil, names.count < 4,
        let source = found.index(names: names, descending: index.parts.map { !$0.isAscending })
      else { return }
      moves[index.name] = IndexMove(
        name: index.name, root: source.root, affinities: names.map { _ in .integer },
        descending: index.parts.map { !$0.isAscending })
      summed.append(
        SummedIndex(
          name: index.name, columns: places, affinities: names.map { _ in .integer }))
    }
    tables[join.destinationTable] = Table(
      sourceTable: join.sourceTable,
      moved: MovedTable(
        root: found.root, rule: RowRule(columns: join.columns.count, entities: nil),
        indexes: summed))
    self.indexes.merge(moves) { $1 }
  }
}

extension TableProgram {
  /// Whether every row has the entity number that it had.
  fileprivate var keepsEntityNumbers: Bool {
    !isOfChanges && entityColumn == "Z_ENT" && entities.allSatisfy { $0.source == $0.destination }
  }
}

extension StoreSurvey {
  /// Whether no row of a program's table is known to stay behind; of changes none is counted.
  fileprivate func mayKeepAll(_ program: TableProgram) -> Bool {
    guard program.isOfChanges else { return true }
    let kept = Set(program.entities.map(\.source))
    return model.entities.allSatisfy { entity in
      entity.isAbstract || schema.numbers[entity.name].map { kept.contains($0.rawValue) } ?? true
    }
  }
}

/// A table of the source and its indexes, as SQLite's schema describes them.
private struct Found {
  struct Column: Hashable {
    var name: String?
    var affinity: DeclaredType?
  }

  struct Index {
    var root: UInt32
    var columns: [String]
    var descending: [Bool]
    /// Whether it is that of the table's key.
    var isKey: Bool
  }

  let root: UInt32
  let columns: [Column]
  private let indexes: [Index]

  /// The maximum number of tables in one statement.
  private static let mostAtOnce = 500

  /// The tables of these names whose records have a value for each column.
  ///
  /// One statement reads many of them, since preparing a statement costs more than its rows.
  static func all(named names: [String], in reader: StoreReader) throws -> [String: Self] {
    let entries = try reader.tableEntries()
    return try reader.answer("columns and indexes of \(names)") { db in
      try all(named: names, entries: entries, db: db)
    }
  }

  private static func all(
    named names: [String], entries: [String: StoreReader.TableEntry], db: Database
  ) throws -> [String: Self] {
    var (columns, indexes): ([String: [Column]?], [String: [Index]]) = ([:], [:])
    var left = names[...]
    while !left.isEmpty {
      let some = Array(left.prefix(mostAtOnce))
      columns.merge(try Self.columns(of: some, db: db)) { $1 }
      indexes.merge(try Self.indexes(of: some, db: db)) { $1 }
      left = left.dropFirst(mostAtOnce)
    }
    var result: [String: Self] = [:]
    for name in names {
      guard let entry = entries[name], let columns = columns[name] ?? nil,
        let root = UInt32(exactly: entry.root),
        !TableStatement(entry.statement).isWithoutRowNumbers
      else { continue }
      result[name] = Self(root: root, columns: columns, indexes: indexes[name] ?? [])
    }
    return result
  }

  /// The columns of each table; nil for one with columns that records may lack or do not keep.
  private static func columns(
    of names: [String], db: Database
  ) throws -> [String: [Column]?] {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT t.name, c.name, c.type, c.dflt_value IS NULL AND c.hidden = 0
        FROM sqlite_schema AS t JOIN pragma_table_xinfo(t.name) AS c
        WHERE t.type = 'table' AND t.name IN (\(databaseQuestionMarks(count: names.count)))
        ORDER BY t.rowid, c.cid
        """, arguments: StatementArguments(names))
    var result: [String: [Column]?] = [:]
    while let row = try rows.next() {
      guard let table = String.fromDatabaseValue(row[0]) else { continue }
      guard Int64.fromDatabaseValue(row[3]) == 1 else {
        result[table] = .some(nil)
        continue
      }
      let type = String.fromDatabaseValue(row[2])?.uppercased() ?? ""
      let column = Column(
        name: String.fromDatabaseValue(row[1]), affinity: DeclaredType(rawValue: type))
      if let known = result[table] {
        result[table] = .some(known.map { $0 + [column] })
      } else {
        result[table] = .some([column])
      }
    }
    return result
  }

  /// The indexes of each table that have an entry for each row, by the bytes of plain columns.
  private static func indexes(of names: [String], db: Database) throws -> [String: [Index]] {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT s.tbl_name, s.rootpage, l.origin = 'pk', i.name, i.desc, i.coll, i.seqno
        FROM sqlite_schema AS s JOIN pragma_index_list(s.tbl_name) AS l
        JOIN pragma_index_xinfo(s.name) AS i
        WHERE s.type = 'index' AND s.tbl_name IN (\(databaseQuestionMarks(count: names.count)))
        AND l.name = s.name AND l.partial = 0 AND i.key = 1
        ORDER BY s.rowid, i.seqno
        """, arguments: StatementArguments(names))
    var found: [(table: String, index: Index, isPlain: Bool)] = []
    while let row = try rows.next() {
      guard let table = String.fromDatabaseValue(row[0]),
        let root = Int64.fromDatabaseValue(row[1]).flatMap({ UInt32(exactly: $0) })
      else { continue }
      if Int64.fromDatabaseValue(row[6]) == 0 {
        let index = Index(
          root: root, columns: [], descending: [], isKey: Int64.fromDatabaseValue(row[2]) == 1)
        found.append((table, index, true))
      }
      let column = String.fromDatabaseValue(row[3])
      let isPlain = column != nil && String.fromDatabaseValue(row[5]) == "BINARY"
      let last = found.count - 1
      guard last >= 0 else { continue }
      found[last].isPlain = found[last].isPlain && isPlain
      found[last].index.columns.append(column ?? "")
      found[last].index.descending.append(Int64.fromDatabaseValue(row[4]) == 1)
    }
    return Dictionary(grouping: found.filter(\.isPlain), by: \.table)
      .mapValues { $0.map(\.index) }
  }

  /// The columns of a destination as this table has them, followed by the new ones; nil if rows
  /// would have to be made again.
  ///
  /// - Parameters:
  ///   - sources: the columns of this table that they come from.
  ///   - new: those that may come from none.
  func order(
    of columns: [Schema.Column], from sources: [String?], besides new: Set<String>
  ) -> [String]? {
    var left = Array(zip(columns, sources))
    var order: [String] = []
    for column in self.columns {
      guard
        let place = left.firstIndex(where: { destination, source in
          source != nil && source == column.name && destination.type == column.affinity
        })
      else { return nil }
      order.append(left.remove(at: place).0.name)
    }
    guard order.first == "Z_PK", left.allSatisfy({ $1 == nil && new.contains($0.name) })
    else { return nil }
    return order + left.map(\.0.name)
  }

  func affinity(of column: String?) -> DeclaredType? {
    columns.first { $0.name == column }?.affinity
  }

  func index(
    names: [String?], descending: [Bool]? = nil, isKey: Bool = false
  ) -> Index? {
    indexes.first {
      $0.columns == names && $0.descending == (descending ?? names.map { _ in false })
        && (!isKey || $0.isKey)
    }
  }
}
