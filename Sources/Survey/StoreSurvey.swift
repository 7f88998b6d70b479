import Mapping
package import ObjectModel
import Planning
package import RowPrograms
package import Schema
package import StoreFormat
import Synchronization
import SystemCalls
package import SystemPackage

/// The contents of a store, read once before anything is decided.
package struct StoreSurvey: Sendable {
  /// The path of the store; `reader` may read a copy.
  package let store: FilePath
  /// Keeps the store readable.
  package let access: SourceAccess
  /// The connection to the store or its copy.
  package let reader: StoreReader
  /// The header of the file that is read.
  package let header: StoreHeader
  /// The contents of `Z_METADATA`.
  package let metadata: StoreMetadata
  /// The store's own model.
  package let model: ManagedObjectModel
  /// The tables, triggers and columns that the store has.
  package let catalog: Catalog
  /// The tables under the names that they have in the store.
  package let schema: StoreSchema
  /// Tables and columns that the store has and its model does not, and the reverse.
  package let differences: SchemaDifferences
  /// Rows by table and entity number.
  package let rowCounts: TableCounts
  /// The entity numbers of all rows, for tables whose rows were all read.
  package let seenEntities: [String: Set<EntityNumber>]
  /// The highest primary keys ever assigned, by root entity.
  package let maxima: [String: Int64]
  /// Persistent history; nil where the store keeps none.
  package let history: HistorySurvey?
  /// CloudKit mirroring; nil where the store has no table of it.
  package let mirroring: MirroringSurvey?
  /// Tables with rows, views and triggers that the model knows nothing of.
  package let extras: [ExtraEntry]
  /// Entities whose number in `Z_PRIMARYKEY` is not that of the model.
  package let numberContradictions: [StoreError.NumberContradiction]
  /// Features that forbid a migration, empty for most stores.
  package let unsupported: [UnsupportedFeature]
  /// Whether the model is in no version of a bundle, and only in this store or in another one.
  package var isModelInStoresAlone = false
  /// The tables that were outlined, by their root pages.
  private let outlines = Outlines()

  /// What it means that columns are missing.
  private static func problem(
    of differences: SchemaDifferences, in schema: StoreSchema
  ) -> StoreError.Problem {
    let columns = differences.missingColumns
    let derived = schema.derivedAttributes(missingBy: differences)
    return derived.count == columns.count
      ? .derivedColumnsMissing(derived) : .columnsMissing(columns)
  }

  /// Surveys an open store with its own model.
  ///
  /// - Throws: `StoreError`, with `columnsMissing` or `derivedColumnsMissing` if the store lacks
  ///   columns of its model, or with `tablesMissing`, `keysMissing`, `numbersAsTexts` or
  ///   `rowNumbersMissing`.
  package init(
    store: FilePath, access: SourceAccess, reader: StoreReader, metadata: StoreMetadata,
    model: ManagedObjectModel
  ) throws {
    self.store = store
    self.access = access
    self.reader = reader
    header = try StoreHeader(ofSource: access.readable)
    self.metadata = metadata
    self.model = model
    catalog = try reader.catalog()
    (schema, differences) = try StoreSchema(model).resolved(in: catalog)
    guard differences.missingTables.isEmpty else {
      throw StoreError(problem: .tablesMissing(differences.missingTables), store: store)
    }
    guard differences.missingColumns.isEmpty else {
      throw StoreError(problem: Self.problem(of: differences, in: schema), store: store)
    }
    let keyed = try reader.tables(keyedBy: "Z_PK")
    let unkeyed = schema.keyedTables.map(\.name).filter { !keyed.contains($0) }
    guard unkeyed.isEmpty else {
      throw StoreError(problem: .keysMissing(unkeyed), store: store)
    }
    let odd = schema.keyedTables.map(\.name).filter(catalog.textNumbered.contains)
    guard odd.isEmpty else {
      throw StoreError(problem: .numbersAsTexts(odd), store: store)
    }
    let numberless = schema.joinTables.map(\.name).filter(catalog.withoutRowNumbers.contains)
    guard numberless.isEmpty else {
      throw StoreError(problem: .rowNumbersMissing(numberless), store: store)
    }
    let file = try? SourceFile(access.readable)
    let (pageSize, outlines) = (header.pageSize, outlines)
    let isSmall = access.fingerprint.bytes <= Self.smallBytes
    let counted = isSmall ? try reader.entityCounts(ofTables: schema.tables.map(\.name)) : [:]
    seenEntities = counted.mapValues { Set($0.keys) }
    rowCounts = try Self.rowCounts(
      in: schema, reader: reader, counted: counted, byRows: isSmall
    ) { root in
      file.map { outlines.outline(root: root, of: $0, pageSize: pageSize) }
    }
    // Rows are found by number: after a rename the name may still be the old one.
    let keys = try reader.primaryKeys()
    numberContradictions = Self.contradictions(keys, numbers: schema.numbers)
    let recorded = Dictionary(keys.map { ($0.number, $0.maximum) }, uniquingKeysWith: max)
    maxima = try Self.maxima(recorded: recorded, reader: reader, schema: schema)
    history = try schema.history.map {
      try HistorySurvey($0, recorded: recorded, reader: reader)
    }
    var features = try Self.unsupported(reader, catalog: catalog)
    if metadata.hasDeferredMigration { features.append(.deferredMigration) }
    if history?.isEmpty == false, try Self.carriesOtherModel(reader, metadata: metadata) {
      features.append(.historyOfOtherModel)
    }
    unsupported = features
    mirroring = try MirroringSurvey(differences.mirroringTables, catalog: catalog, reader: reader)
    extras =
      try ExtraEntry.all(
        of: differences.extraTables, besides: schema, catalog: catalog, reader: reader)
      + ExtraEntry.columns(differences.extraColumns, reader: reader)
  }

  /// The entities that `Z_PRIMARYKEY` numbers otherwise than the model; a name that no entity has
  /// is that of one before it was renamed.
  private static func contradictions(
    _ keys: [StoreReader.PrimaryKeyRow], numbers: EntityNumbers
  ) -> [StoreError.NumberContradiction] {
    keys.compactMap { row in
      guard let number = numbers[row.name], number != row.number else { return nil }
      return .init(
        entity: row.name, recorded: row.number.rawValue, expected: number.rawValue)
    }
  }

  /// A pass over the rows of a store of so many bytes is not worth saving.
  private static let smallBytes: Int64 = 8 << 20

  /// Rows of the tables by entity, for a large store by an index.
  ///
  /// That is an estimate: workers count the rows themselves, and an index that knows of none is not
  /// believed.
  private static func rowCounts(
    in schema: StoreSchema, reader: StoreReader, counted: [String: [EntityNumber: Int64]],
    byRows: Bool, outline: (UInt32) -> TableOutline?
  ) throws(StoreError) -> TableCounts {
    var known: [String: [EntityNumber: Int64]] = [:]
    var alone: [(table: String, number: EntityNumber)] = []
    for table in schema.tables {
      let counts = counted[table.name]
      if table.entityNames.count == 1, let number = schema.numbers[table.rootName] {
        if let counts {
          known[table.name] = [number: counts.values.reduce(0, +)]
        } else {
          alone.append((table.name, number))
        }
        continue
      }
      if let counts {
        known[table.name] = counts
        continue
      }
      known[table.name] =
        try byRows
        ? reader.rowCounts(of: table.name, by: .rows) : reader.estimatedRowCounts(of: table.name)
    }
    var bare: [TableCounts.Bare] = []
    let roots = byRows ? [:] : try reader.bareRoots(ofTables: alone.map(\.table))
    for (table, number) in alone {
      guard let root = roots[table], let estimate = outline(root)?.rows, estimate > manyRows
      else { continue }
      bare.append(.init(table: table, number: number, estimate: estimate))
    }
    let left = alone.filter { one in !bare.contains { $0.table == one.table } }
    let counts = try reader.rowCounts(
      ofTables: left.map(\.table), by: byRows ? .rows : .index)
    for (one, count) in zip(left, counts) { known[one.table] = [one.number: count] }
    return TableCounts(known: known, bare: bare) { tables throws(StoreError) in
      try reader.rowCounts(ofTables: tables.map(\.table), by: .index)
    }
  }

  /// Of fewer rows the leaves are counted at once.
  private static let manyRows: Int64 = 100_000

  /// The rows that a program reads and keeps; of changes all.
  package func rows(of program: TableProgram) -> Int64 {
    if let rows = history?.rows[program.sourceTable] { return rows }
    let counts = rowCounts[program.sourceTable]
    return program.entities.reduce(0) {
      $0 + (counts?[EntityNumber(rawValue: $1.source)] ?? 0)
    }
  }

  /// The same, as an estimate if the rows were not counted.
  package func estimatedRows(of program: TableProgram) -> Int64 {
    if let rows = history?.rows[program.sourceTable] { return rows }
    let counts = rowCounts.estimate(program.sourceTable)
    return program.entities.reduce(0) {
      $0 + (counts?[EntityNumber(rawValue: $1.source)] ?? 0)
    }
  }

  /// Whether a program leaves no rows of its table behind, as far as their entities show.
  package func takesAllRows(_ program: TableProgram) -> Bool {
    // Of one entity all are taken, however many there are.
    estimatedRows(of: program) == estimatedRows(ofTable: program.sourceTable)
  }

  /// The rows of a table, whatever their entity.
  package func rows(ofTable name: String) -> Int64 {
    history?.rows[name] ?? rowCounts[name]?.values.reduce(0, +) ?? 0
  }

  /// The same, as an estimate if the rows were not counted.
  package func estimatedRows(ofTable name: String) -> Int64 {
    history?.rows[name] ?? rowCounts.estimate(name)?.values.reduce(0, +) ?? 0
  }

  /// The rows of any table, those of pairs by an index.
  package func someRows(ofTable name: String) throws(StoreError) -> Int64 {
    schema.joinTables.contains { $0.name == name }
      ? try reader.estimatedRowCount(of: name) : rows(ofTable: name)
  }

  /// The objects of an entity, without its subentities.
  package func count(of entity: String) -> Int64 {
    guard let found = model.entity(name: entity), let table = schema.table(of: found),
      let number = schema.numbers[entity]
    else { return 0 }
    return rowCounts[table.name]?[number] ?? 0
  }

  /// The larger of `Z_MAX` and the highest key in use: primary keys are never assigned twice.
  private static func maxima(
    recorded: [EntityNumber: Int64], reader: StoreReader, schema: StoreSchema
  ) throws(StoreError) -> [String: Int64] {
    var result: [String: Int64] = [:]
    let highest = try reader.numbers(
      sql: schema.tables.map { "SELECT max(Z_PK) FROM \(SQL.identifier(name: $0.name))" })
    for (table, used) in zip(schema.tables, highest) {
      let number = schema.numbers[table.rootName]
      result[table.rootName] = max(used, number.flatMap { recorded[$0] } ?? 0)
    }
    return result
  }

  /// Whether the embedded model of a store has entities with hashes other than those in its
  /// metadata.
  private static func carriesOtherModel(
    _ reader: StoreReader, metadata: StoreMetadata
  ) throws(StoreError) -> Bool {
    let carried: ManagedObjectModel?
    do {
      carried = try reader.cachedModel()
    } catch  where error.problem == .modelCacheUnreadable {
      // An unreadable model contradicts nothing.
      return false
    }
    guard let carried else { return false }
    let known = carried.knownVersionHashes()
    return metadata.versionHashes.contains { name, hash in
      carried.entity(name: name) == nil || known[name].map { $0 != hash } ?? false
    }
  }

  /// Features that the tables of a store show, and that a migration would destroy.
  package static func unsupported(
    _ reader: StoreReader, catalog: Catalog
  ) throws(StoreError) -> [UnsupportedFeature] {
    var result: [UnsupportedFeature] = []
    for table in HistoryTables.names
    where catalog.tables[table] != nil && HistoryTables(in: catalog) == nil {
      if try reader.number(sql: "SELECT EXISTS (SELECT 1 FROM \(table) NOT INDEXED)") != 0 {
        result.append(.persistentHistory)
        break
      }
    }
    if catalog.tables.keys.contains(where: MirroringTables.contains) {
      result.append(.cloudKitMirroring)
    }
    return result
  }
}

extension StoreSurvey {
  private final class Outlines: Sendable {
    private let known = Mutex<[UInt32: TableOutline]>([:])

    func outline(root: UInt32, of file: SourceFile, pageSize: Int) -> TableOutline {
      if let found = known.withLock({ $0[root] }) { return found }
      let outline = TableOutline(file: file, pageSize: pageSize, root: root)
      known.withLock { $0[root] = outline }
      return outline
    }
  }

  /// The outline of the table with that root page, made once from leaves across the table.
  package func outline(root: UInt32, of file: SourceFile) -> TableOutline {
    outlines.outline(root: root, of: file, pageSize: header.pageSize)
  }
}
