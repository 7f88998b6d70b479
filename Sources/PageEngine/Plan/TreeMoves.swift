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
/// What decides is what SQLite says of the source's tables: a table moves if its records would be
/// made again byte by byte, an index if its entries would. What only the pages can tell (rows from
/// before a column was added, an index that lacks a row) shows when they are moved.
package struct TreeMoves: Hashable, Codable, Sendable {
  package struct Table: Hashable, Codable, Sendable {
    /// The name of the table in the source.
    package var sourceTable: String
    /// What a worker has to know of it.
    package var moved: MovedTable
  }

  /// By destination table; all indexes of such a table move as well.
  package private(set) var tables: [String: Table] = [:]
  /// By the index of the destination.
  package private(set) var indexes: [String: IndexMove] = [:]

  /// Finds what of a store can be moved.
  ///
  /// - Throws: `StoreError` where the schema cannot be read.
  package init(survey: StoreSurvey, schema: StoreSchema, program: MigrationProgram) throws {
    let header = survey.header
    guard header.pageSize == PageGeometry.pageSize, header.reservedBytes == 0,
      header.schemaFormat == 4
    else { return }
    let entries = try survey.reader.tableEntries()
    for table in program.tables {
      guard let found = try Found(table.sourceTable, of: entries, reader: survey.reader)
      else { continue }
      add(table, found: found, survey: survey, schema: schema)
    }
    for join in program.joins where join.keepsRowNumbers {
      guard let found = try Found(join.sourceTable, of: entries, reader: survey.reader)
      else { continue }
      add(join, found: found, schema: schema)
    }
  }

  // MARK: Tables of objects

  private mutating func add(
    _ table: TableProgram, found: Found, survey: StoreSurvey, schema: StoreSchema
  ) {
    guard let entityTable = schema.keyedTable(named: table.destinationTable) else { return }
    // Rows of entities without a place stay behind, and their entries with them.
    let kept = survey.rows(of: table)
    let all = survey.rows(ofTable: table.sourceTable)
    guard kept > 0, kept == all, !table.isFiltered, survey.mayKeepAll(table) else { return }
    let moved = table.columns.map { MovedColumn($0, of: table) }
    let sources = ["Z_PK", "Z_ENT", "Z_OPT"] + moved.map { $0?.source }
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
    let isMovable =
      found.columns.map(\.name) == sources
      && zip(found.columns, entityTable.columns).allSatisfy { $0.affinity == $1.type }
      && moves.count == indexes.count
    if isMovable {
      let entityColumn = sources.firstIndex(of: table.entityColumn) ?? 1
      tables[table.destinationTable] = Table(
        sourceTable: table.sourceTable,
        moved: MovedTable(
          root: found.root,
          rule: RowRule(
            columns: sources.count, entities: table.entities.map(\.source),
            entityColumn: entityColumn),
          indexes: summed,
          patch: RowPatch(table, changes: moved.map { $0?.change }, entityColumn: entityColumn)))
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

/// A column whose values come from one column of the source.
private struct MovedColumn {
  enum Change: Hashable {
    case none
    /// Entity numbers of other objects.
    case numbers([TableProgram.Renumbering])
    /// That of the row's own entity, which decides what else changes.
    case entity
    /// Masks, by the places of the entities.
    case masks([MaskChange?])
  }

  let source: String
  let change: Change

  /// nil for a column of any other kind.
  init?(_ column: ColumnProgram, of table: TableProgram) {
    if table.isOfChanges, column.name == table.entityColumn {
      // The program names each number, or leaves it as it is.
      let isRenumbered = zip(table.entities, column.operations).allSatisfy { entity, operation in
        switch operation {
        case .constant(.integer(entity.destination)): true
        case .copy(table.entityColumn, .null): entity.source == entity.destination
        default: false
        }
      }
      guard isRenumbered, column.operations.count == table.entities.count else { return nil }
      (source, change) = (table.entityColumn, .entity)
      return
    }
    var sources: Set<String> = []
    var maps: Set<[TableProgram.Renumbering]?> = []
    var masks: [MaskChange?] = []
    for operation in column.operations {
      switch operation {
      case .copy(let name, .null), .reference(let name, nil):
        sources.insert(name)
        maps.insert(nil)
        masks.append(nil)
      case .renumber(let name, let map):
        sources.insert(name)
        maps.insert(map)
        masks.append(nil)
      case .remask(let name, let mask):
        sources.insert(name)
        maps.insert(nil)
        masks.append(mask)
      default: return nil
      }
    }
    guard let name = sources.first, sources.count == 1, let map = maps.first, maps.count == 1
    else { return nil }
    source = name
    if let map {
      change = .numbers(map)
    } else {
      change = masks.allSatisfy { $0 == nil } ? .none : .masks(masks)
    }
  }
}

extension RowPatch {
  /// What a program changes in rows that are otherwise the same; nil if it is nothing.
  fileprivate init?(_ table: TableProgram, changes: [MovedColumn.Change?], entityColumn: Int) {
    var patch = RowPatch(
      entityColumn: entityColumn,
      entities: table.entities.map { Entity(source: $0.source, destination: $0.destination) })
    for (place, change) in changes.enumerated() {
      switch change {
      case .numbers(let map):
        if map.contains(where: { $0.source != $0.destination }) {
          patch.numbers.append(Numbers(column: place + 3, map: map))
        }
      case .masks(let masks):
        patch.maskColumn = place + 3
        for (index, mask) in masks.enumerated() where index < patch.entities.count {
          patch.entities[index].mask = mask
        }
      case nil, .some(.none), .entity: continue
      }
    }
    let isNeeded =
      !patch.numbers.isEmpty
      || patch.entities.contains { $0.source != $0.destination || $0.mask != nil }
    guard isNeeded else { return nil }
    self = patch
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

  init?(_ name: String, of entries: [String: StoreReader.TableEntry], reader: StoreReader) throws {
    guard let entry = entries[name], let root = UInt32(exactly: entry.root),
      !entry.statement.uppercased().contains("WITHOUT")
    else { return nil }
    let found = try reader.connection.run { db -> ([Column], [Index])? in
      guard let columns = try Self.columns(name: name, db: db) else { return nil }
      return (columns, try Self.indexes(name: name, db: db))
    }
    guard let found else { return nil }
    self.root = root
    (columns, indexes) = found
  }

  private static func columns(name: String, db: Database) throws -> [Column]? {
    let rows = try Row.fetchAll(
      db, sql: "SELECT name, type, dflt_value, hidden FROM pragma_table_xinfo(?)",
      arguments: [name])
    var columns: [Column] = []
    for row in rows {
      guard (row[2] as DatabaseValue).isNull, Int64.fromDatabaseValue(row[3]) == 0 else {
        return nil
      }
      let type = String.fromDatabaseValue(row[1])?.uppercased() ?? ""
      columns.append(
        Column(
          name: String.fromDatabaseValue(row[0]), affinity: DeclaredType(rawValue: type)))
    }
    return columns
  }

  private static func indexes(name: String, db: Database) throws -> [Index] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT l.name, l.origin, s.rootpage FROM pragma_index_list(?) AS l
        JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = l.name WHERE l.partial = 0
        """, arguments: [name])
    var indexes: [Index] = []
    for row in rows {
      guard let index = String.fromDatabaseValue(row[0]),
        let root = Int64.fromDatabaseValue(row[2]).flatMap({ UInt32(exactly: $0) })
      else { continue }
      let parts = try Row.fetchAll(
        db, sql: "SELECT name, desc, coll, cid FROM pragma_index_xinfo(?) WHERE key = 1",
        arguments: [index])
      let columns = parts.compactMap { String.fromDatabaseValue($0[0]) }
      guard columns.count == parts.count,
        parts.allSatisfy({ String.fromDatabaseValue($0[2]) == "BINARY" })
      else { continue }
      indexes.append(
        Index(
          root: root, columns: columns,
          descending: parts.map { Int64.fromDatabaseValue($0[1]) == 1 },
          isKey: String.fromDatabaseValue(row[1]) == "pk"))
    }
    return indexes
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
