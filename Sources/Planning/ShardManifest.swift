import Foundation
package import Mapping

/// Declares a shard done; the truth for resuming.
package struct ShardManifest: Hashable, ResumableFile, Sendable {
  /// Counts for the shard as well.
  package static let formatVersion = 2

  /// What became of one piece.
  package struct PieceResult: Hashable, Codable, Sendable {
    /// The number of the piece in its plan.
    package var piece: Int
    /// The table of the shard that holds the rows.
    package var table: String
    /// Rows that the query of the piece gave, those that became none not counted.
    package var rowsRead: Int64
    /// Rows of the piece in the shard; the same as were read, or the shard is no good.
    package var rowsWritten: Int64
    /// A sum over all rows written, in any order (docs/explanation/architecture.md,
    /// "Verification").
    package var digest: UInt64
    /// What was read and written of a table of objects; nil where its b-tree moved as it was, and
    /// of other tables.
    package var count: RowCount?

    /// Makes the result of a piece whose rows were not counted by entity.
    package init(
      piece: Int, table: String, rowsRead: Int64, rowsWritten: Int64, digest: UInt64
    ) {
      self.piece = piece
      self.table = table
      self.rowsRead = rowsRead
      self.rowsWritten = rowsWritten
      self.digest = digest
    }
  }

  /// The plan that the work order belongs to; a manifest of another one does not count.
  package var planID: String
  /// The number of the work order.
  package var order: Int
  /// The attempt that made the shard.
  package var attempt: Int
  /// The shard's file name, in the folder of the manifest.
  package var shard: String
  /// The bytes of the shard.
  package var bytes: Int64
  /// The `Checksum` of the shard.
  package var shardChecksum: UInt64
  /// What became of the pieces, in the order of the work order.
  package var pieces: [PieceResult]
  /// The engine that made the shard.
  package var engine: EngineName
  /// What the engine's assembler needs to know of the shard.
  package var outcome: EnginePayload?
  /// Whether the digests of the pieces are those of their rows.
  package var digestsRows = false
  /// The source properties that policies read where rows were computed.
  package var read: PropertiesRead?
  /// The most private memory that the worker used, in bytes.
  package var peakMemory: Int64
  /// How long the worker took, in seconds.
  package var seconds: Double

  /// Makes the manifest of a shard that is complete.
  package init(
    planID: String, order: Int, attempt: Int, engine: EngineName, shard: String, bytes: Int64,
    shardChecksum: UInt64, pieces: [PieceResult], peakMemory: Int64, seconds: Double
  ) {
    self.engine = engine
    self.planID = planID
    self.order = order
    self.attempt = attempt
    self.shard = shard
    self.bytes = bytes
    self.shardChecksum = shardChecksum
    self.pieces = pieces
    self.peakMemory = peakMemory
    self.seconds = seconds
  }
}
