package import Mapping
package import ObjectMigration
package import Planning

/// A work order as a worker passes it to an engine, and the loop over its pieces.
package struct ShardWork {
  /// The order with its paths, programs and settings.
  package let document: WorkOrderDocument
  /// Creates the policies that mapping models name.
  package let policies: PolicyFactories
  /// Receives the progress of the shard.
  package let progress: any ShardProgress

  /// Takes what the worker received and where it publishes progress.
  package init(
    document: WorkOrderDocument, policies: PolicyFactories = [:], progress: any ShardProgress
  ) {
    self.document = document
    self.policies = policies
    self.progress = progress
  }

  /// Writes all pieces in the sequence of the work order, and returns their results.
  package func write<Writer: ShardWriter & ~Copyable>(
    into writer: inout Writer
  ) throws -> [ShardManifest.PieceResult] {
    var results: [ShardManifest.PieceResult] = []
    for piece in document.order.pieces {
      try progress.begin(piece.destinationTable)
      let perRow = Double(piece.bytes) / Double(max(1, piece.rows))
      results.append(
        try writer.write(piece) { rows, lastKey in
          try progress.advance(
            rows: UInt64(rows), bytes: UInt64(perRow * Double(rows)), lastKey: lastKey)
        })
    }
    progress.end()
    return results
  }
}

/// Creates migration policies, by the class name in mapping models.
package typealias PolicyFactories = [String: @Sendable () -> any MigrationPolicy]

/// Receives the progress of a shard writer.
package protocol ShardProgress {
  /// A table or an entity mapping starts; its name.
  ///
  /// - Throws: `CancellationError`, where the shard is not wanted any more.
  func begin(_ name: String) throws
  /// More rows were written since the last call; `lastKey` is the primary key of the last one.
  ///
  /// - Throws: `CancellationError`, where the shard is not wanted any more.
  func advance(rows: UInt64, bytes: UInt64, lastKey: Int64) throws
  /// The last row was written.
  func end()
  /// Reserves an extent of the result, which no other worker gets; its number, from 0.
  ///
  /// - Throws: the failure to reserve one.
  func claimExtent() throws -> Int64
}

/// What an engine made of a work order.
package struct Shard {
  /// The results of the pieces, in the sequence of the work order.
  package var pieces: [ShardManifest.PieceResult]
  /// The size of the shard's file.
  package var bytes: Int64
  /// What the engine passes to its own assembler, nil for nothing.
  package var outcome: EnginePayload?
  /// The source properties that policies read; nil without policies.
  package var read: PropertiesRead?
  /// Whether the pieces have digests of their rows, as a full verification needs.
  package var digestsRows: Bool

  /// Creates the outcome of a work order.
  package init(
    pieces: [ShardManifest.PieceResult], bytes: Int64, digestsRows: Bool,
    outcome: EnginePayload? = nil, read: PropertiesRead? = nil
  ) {
    self.pieces = pieces
    self.bytes = bytes
    self.digestsRows = digestsRows
    self.outcome = outcome
    self.read = read
  }
}
