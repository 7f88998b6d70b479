package import Planning
import RowPrograms
package import Schema
package import StoreFormat
package import SystemPackage

/// All that it takes to put shards together into one store.
package struct AssemblyOrder: Sendable {
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
}

/// What a store under assembly goes through, for whoever shows progress.
package enum AssemblyStep: Hashable, Sendable {
  case merging(tables: Int)
  case relinking(steps: Int)
  case indexing(indexes: Int)
  case verifying
  case stepDone
}

/// Puts shards together into one store: synced, with nothing beside it.
package protocol Assembler: Sendable {
  func assemble(
    _ order: AssemblyOrder, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport
}

/// What came of an assembly.
package struct AssemblyReport: Hashable, Sendable {
  package var rows: Int64 = 0
  /// References to objects that are not there, by table and column.
  package var danglingReferences: [DanglingReference] = []

  package init() {}
}

/// A column with references to rows that are not there.
package struct DanglingReference: Hashable, Codable, Sendable {
  package var table: String
  package var column: String
  package var count: Int64
}
