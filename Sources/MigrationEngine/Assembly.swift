package import Mapping
package import ObjectModel
package import Planning
package import RowPrograms
package import Schema
package import StoreFormat
import Survey
package import SystemPackage

/// All that it takes to put shards together into one store.
package struct AssemblyOrder: Sendable {
  /// The store under the name that its user gave it.
  package var store: FilePath
  package var schema: StoreSchema
  package var plan: MigrationPlan
  package var manifests: [ShardManifest]
  /// The folder with the shards.
  package var folder: FilePath
  package var result: FilePath
  package var metadata: StoreMetadata
  package var modelCache: [UInt8]?
  /// The highest keys ever given, by root entity.
  package var maxima: [String: Int64]
  package var usesWAL: Bool
  package var memory: Int64
  package var verifiesFully: Bool
  package var logsSQL: Bool
  /// That of the shards, as a header names it.
  package var textEncoding: UInt32 = 1

  package init(
    stage: StageInput, plan: MigrationPlan, manifests: [ShardManifest], metadata: StoreMetadata,
    paths: MigrationPaths
  ) {
    store = stage.store
    schema = stage.destination
    self.plan = plan
    self.manifests = manifests
    folder = paths.work
    result = paths.result
    self.metadata = metadata
    maxima = [:]
    usesWAL = stage.survey.access.usesWAL
    memory = stage.memory
    verifiesFully = stage.verifiesFully
    logsSQL = stage.logsSQL
    textEncoding = stage.survey.header.textEncoding
  }
}

/// What a store under assembly goes through, for whoever shows progress.
package enum AssemblyStep: Hashable, Sendable {
  case merging(tables: Int)
  case relinking(steps: Int)
  case indexing(indexes: Int)
  case verifying
  case stepDone
}

/// What came of an assembly.
package struct AssemblyReport: Sendable {
  package var rows: Int64 = 0
  /// The names of external files, as far as the engine came across them.
  package var externalNames = ExternalNames()
  /// Tables of the result that were moved from the source as they were.
  package var movedTables: [String] = []
  /// References to objects that are not there, by table and column.
  package var danglingReferences: [DanglingReference] = []

  package init() {}
}

extension ReferenceCheck {
  /// Counts the references that lead to no row.
  package var danglingCount: String {
    """
    SELECT count(*) FROM \(SQL.identifier(name: table)) AS t WHERE t.\(SQL.identifier(name: column)) IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM \(SQL.identifier(name: destinationTable)) AS d
      WHERE d.Z_PK = t.\(SQL.identifier(name: column)))
    """
  }
}

/// A column with references to rows that are not there.
package struct DanglingReference: Hashable, Codable, Sendable {
  package var table: String
  package var column: String
  package var count: Int64

  package init(table: String, column: String, count: Int64) {
    self.table = table
    self.column = column
    self.count = count
  }
}

/// Why shards do not make one store.
package enum AssemblyError: Error, Hashable, Sendable {
  /// The manifest is not one of the plan's.
  case manifestForeign(FilePath)
  /// A table or an index of the result has other rows than the shards say.
  case rowsDiffer(table: String, expected: Int64, found: Int64)
  /// What SQLite finds wrong with the result.
  case damaged([String])
}

/// What came of a stage whose objects were made one by one, besides its rows.
package struct ObjectSummary: Sendable {
  package var accounts = ObjectAccounts()
  package var violations = ViolationList()
  /// The highest keys given, by root entity.
  package var maxima: [String: Int64] = [:]

  package init() {}
}

/// The names of external files that workers came across, by table.
package struct ExternalNames: Sendable {
  /// Gives one name after the other.
  package typealias Reader = @Sendable (_ body: (String) throws -> Void) throws -> Void

  private var readers: [String: Reader] = [:]

  /// Knows of no table.
  package init() {}

  /// Takes a reader for each table all of whose rows were looked at.
  package init(_ readers: [String: Reader]) { self.readers = readers }

  /// Gives the names in a table; false where they are not known.
  package func forEach(of table: String, body: (String) throws -> Void) throws -> Bool {
    guard let reader = readers[table] else { return false }
    try reader(body)
    return true
  }
}
