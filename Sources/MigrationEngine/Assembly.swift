package import GRDB
package import Mapping
package import ObjectModel
package import Planning
package import RowPrograms
package import Schema
package import StoreFormat
import Survey
package import SystemPackage

/// Everything needed to assemble shards into one store.
package struct AssemblyOrder: Sendable {
  private let stage: StageInput
  /// The source store under the path that the user gave; a copy of it may have been read.
  package var store: FilePath { stage.store }
  /// The tables and indexes of the store to make.
  package var schema: StoreSchema { stage.schema }
  /// The memory that all processes may use together, in bytes.
  package var memory: Int64 { stage.memory }
  /// Whether digests are compared and `integrity_check` is run.
  package var verifiesFully: Bool { stage.verifiesFully }
  /// Whether SQL statements are logged.
  package var logsSQL: Bool { stage.logsSQL }
  /// Whether an index of the source that differs from its table is built again instead of reported.
  package var remakesIndexes: Bool { stage.remakesIndexes }
  /// The text encoding of the shards, as in the header of an SQLite file: 1 UTF-8, 2 and 3 UTF-16.
  package var textEncoding: UInt32 { stage.survey.header.textEncoding }

  /// The plan whose work orders made the shards.
  package var plan: MigrationPlan
  /// The manifests of all work orders, in any order.
  package var manifests: [ShardManifest]
  /// The folder that contains the shards.
  package var folder: FilePath
  /// The path of the store to make.
  package var result: FilePath
  /// The metadata, the archived model and the highest keys of the result.
  package var frame: StoreFrame
  /// What is written into the history tables besides their rows; nil where there are none.
  package var history: HistoryRecord?
  /// Tables of no model that the result has besides.
  package var extras: ExtraTables?
  /// Whether the result is to be in WAL mode.
  package var usesWAL: Bool
  /// Whether the result is synced; if not, the caller does so before it counts.
  package var syncs = true

  /// Creates the order of a stage.
  package init(
    stage: StageInput, plan: MigrationPlan, manifests: [ShardManifest], frame: StoreFrame,
    paths: MigrationPaths
  ) {
    self.stage = stage
    self.plan = plan
    self.manifests = manifests
    folder = paths.work
    result = paths.result
    self.frame = frame
    usesWAL = stage.survey.access.usesWAL
  }

  /// Whether the result has more than rows, indexes, keys and metadata.
  package var hasExtras: Bool {
    history != nil || extras?.names.isEmpty == false || !plan.program.derived.isEmpty
      || !schema.triggers.isEmpty
  }

  /// Writes what the result has besides rows, indexes, keys and metadata.
  package func writeExtras(_ db: Database) throws {
    try history?.write(in: db)
    for attribute in plan.program.derived { try StoreWriter.write(attribute, in: db) }
    for tree in schema.spatialIndexes { try make(tree, in: db) }
    // They would fire while rows are written.
    for trigger in schema.triggers { try db.execute(sql: trigger.statement) }
    do {
      try extras?.copy(into: db)
    } catch let error as ExtraTables.RowsDiffer {
      throw AssemblyError.rowsDiffer(
        table: error.table, expected: error.expected, found: error.found)
    }
  }

  /// Makes an R-tree, and checks it.
  private func make(_ tree: SpatialIndex, in db: Database) throws {
    try StoreWriter.create(tree, in: db)
    let counts = try [tree.table, tree.name].map {
      try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(SQL.identifier(name: $0)) NOT INDEXED")
        ?? 0
    }
    guard counts[0] == counts[1] else {
      throw AssemblyError.rowsDiffer(table: tree.name, expected: counts[0], found: counts[1])
    }
    let answer = try String.fetchOne(db, sql: "SELECT rtreecheck(?)", arguments: [tree.name])
    guard answer == "ok" else { throw AssemblyError.damaged([answer ?? tree.name]) }
  }

  /// The tables of the schema that have pieces, each with its places in key order.
  ///
  /// - Parameter placed: where each piece lies, by its number; one that lies nowhere is left out.
  package func tables<Place>(placed: [Int: Place]) -> [(name: String, places: [Place])] {
    var pieces: [String: [Piece]] = [:]
    for piece in plan.workOrders.flatMap(\.pieces) where placed[piece.number] != nil {
      pieces[piece.destinationTable, default: []].append(piece)
    }
    return (schema.keyedTables.map(\.name) + schema.joinTables.map(\.name)).compactMap { name in
      pieces[name].map { pieces in
        (name, pieces.sorted { $0.keys.first < $1.keys.first }.compactMap { placed[$0.number] })
      }
    }
  }
}

/// The steps of an assembly, for reporting progress.
///
/// A step that starts comes with the number of its units, and with how many of them may end at
/// once. Each unit ends in a `stepDone`; those that end at once are reported together at the end.
package enum AssemblyStep: Hashable, Sendable {
  /// Starts to append so many rows.
  case merging(rows: Int64, atOnce: Int64)
  /// Starts this many steps on references, keys and metadata.
  case relinking(steps: Int)
  /// Starts to build indexes, counted in what entries take or in the bytes of keys.
  case indexing(units: Int64, atOnce: Int64)
  /// Starts to check the result.
  case verifying
  /// So many units of the present step are done.
  case stepDone(units: Int64 = 1)
}

/// The outcome of an assembly.
package struct AssemblyReport: Sendable {
  /// Rows of all tables in the result.
  package var rows: Int64 = 0
  /// The names of external binary data files, for the tables in which the engine listed them.
  package var externalNames = ExternalNames()
  /// Tables whose b-trees were taken over from the source unchanged.
  package var movedTables: [String] = []
  /// References to rows that do not exist, by table and column.
  package var danglingReferences: [DanglingReference] = []
  /// References that were not checked, since their tables were taken over unread.
  package var uncheckedReferences: [ReferenceCheck] = []

  /// Creates an empty report.
  package init() {}
}

extension ReferenceCheck {
  /// A query that counts the references to rows that do not exist.
  package var danglingCount: String {
    """
    SELECT count(*) FROM \(SQL.identifier(name: table)) AS t WHERE t.\(SQL.identifier(name: column)) IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM \(SQL.identifier(name: destinationTable)) AS d
      WHERE d.Z_PK = t.\(SQL.identifier(name: column)))
    """
  }
}

/// A column that refers to rows that do not exist.
package struct DanglingReference: Hashable, Codable, Sendable {
  /// The table of the column.
  package var table: String
  /// The column, which holds primary keys of another table.
  package var column: String
  /// How many of its values have no row.
  package var count: Int64

  /// Creates the finding for one column.
  package init(table: String, column: String, count: Int64) {
    self.table = table
    self.column = column
    self.count = count
  }
}

/// Why shards do not make a store.
package enum AssemblyError: Error, Hashable, Sendable {
  /// A manifest is not of this plan; its path.
  case manifestForeign(FilePath)
  /// A table or an index of the result has another number of rows than the shards.
  case rowsDiffer(table: String, expected: Int64, found: Int64)
  /// SQLite's check of the result found these errors.
  case damaged([String])
}

/// What a stage that migrated objects one by one leaves besides rows.
package struct ObjectSummary: Sendable {
  /// How many objects were taken, made and dropped.
  package var accounts = ObjectAccounts()
  /// The violations of the destination model's validation rules.
  package var violations = ViolationList()
  /// The highest primary keys assigned, by root entity.
  package var maxima: [String: Int64] = [:]

  /// Creates an empty summary, to which those of the shards are added.
  package init() {}
}

/// The names of external binary data files in a result, by table, as far as workers listed them.
package struct ExternalNames: Sendable {
  /// Calls `body` with one name after the other.
  package typealias Reader = @Sendable (_ body: (String) throws -> Void) throws -> Void

  private var readers: [String: Reader] = [:]

  /// Creates a list without tables: all names have to be read from the result.
  package init() {}

  /// Takes a reader for each table whose rows were all searched.
  package init(_ readers: [String: Reader]) { self.readers = readers }

  /// Calls `body` with each name in a table; returns false if the table was not searched.
  package func forEach(of table: String, body: (String) throws -> Void) throws -> Bool {
    guard let reader = readers[table] else { return false }
    try reader(body)
    return true
  }
}
