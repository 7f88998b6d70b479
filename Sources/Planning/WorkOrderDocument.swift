import Foundation
package import RowPrograms
import StoreNames
import SystemPackage

/// What a worker reads on its standard input: everything that it needs, and nothing else.
package struct WorkOrderDocument: Hashable, Codable, Sendable {
  /// The pieces to migrate.
  package var order: WorkOrder
  /// Whether a thread of the coordinator executes the order, instead of a process.
  package var usesThread = false
  /// The number of the attempt, from 1; it is part of the shard's name.
  package var attempt: Int
  /// The plan that the order belongs to; a manifest repeats it.
  package var planID: String
  /// The store to read, or the pages of its log, with which it is read; it does not change while
  /// the worker runs.
  package var source: String
  /// The store as its user names it; nil where that is the source itself.
  package var store: String?
  /// The identity of the main file when the coordinator opened it; nil skips the check.
  package var sourceIdentity: FileIdentity?
  /// The folder with the source's external binary files.
  package var support: String
  /// The path of the shard to write.
  package var shard: String
  /// The path of the manifest, which the coordinator writes last.
  package var manifest: String
  /// The programs of the order's pieces.
  package var tables: [TableProgram]
  /// The programs of the join tables among them.
  package var joins: [JoinProgram]
  /// `CREATE TABLE` statements of the pieces' destination tables, by table.
  package var createStatements: [String: String]
  /// Bytes of memory that the worker may use.
  package var memory: Int64
  /// Whether every statement is logged on standard error.
  package var logsSQL: Bool
  /// The file with the keys of rows that filters leave behind; nil where mappings take all.
  package var untakenKeys: String?
  /// What it takes to compute values; nil where the programs call for none.
  package var calls: RowWork?
  /// The engine that makes the shard.
  package var engine: EngineName
  /// Data that only the engine itself reads.
  package var task: EnginePayload?
  /// Whether every row is digested, for a comparison with the finished store (`--verify full`).
  package var digestsRows = false
  /// Whether the shard and its manifest are synced: they have to outlast an unnoticed restart of
  /// the system, and take longer to make again.
  package var syncs = true

  /// Makes a document for an engine that needs nothing besides, and calls that compute nothing.
  package init(
    order: WorkOrder, attempt: Int, engine: EngineName, planID: String, source: String,
    support: String, shard: String, manifest: String, tables: [TableProgram],
    joins: [JoinProgram], createStatements: [String: String], memory: Int64, logsSQL: Bool
  ) {
    self.engine = engine
    self.order = order
    self.attempt = attempt
    self.planID = planID
    self.source = source
    self.support = support
    self.shard = shard
    self.manifest = manifest
    self.tables = tables
    self.joins = joins
    self.createStatements = createStatements
    self.memory = memory
    self.logsSQL = logsSQL
  }

  /// The document as a worker reads it on its standard input.
  package func encoded() throws -> [UInt8] { Array(try PlanCoding.encoder.encode(self)) }

  /// Decodes what a worker read on its standard input.
  ///
  /// - Throws: `DecodingError` where it is no work order.
  package init(decoding bytes: [UInt8]) throws {
    self = try PlanCoding.decoder.decode(Self.self, from: Data(bytes))
  }

  /// The path of the shard in another attempt: a dead worker's file is never written again.
  package func shard(attempt: Int) -> String {
    WorkFile.shard.path(in: FilePath(shard).removingLastComponent(), order.number, attempt).string
  }
}
