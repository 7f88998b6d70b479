package import Mapping
package import ObjectMigration
package import Planning

/// A work order as a worker hands it to an engine.
package struct ShardWork {
  package let document: WorkOrderDocument
  package let policies: PolicyFactories
  package let progress: any ShardProgress

  package init(
    document: WorkOrderDocument, policies: PolicyFactories = [:], progress: any ShardProgress
  ) {
    self.document = document
    self.policies = policies
    self.progress = progress
  }

  /// Writes all pieces of the order in their order.
  package func write<Writer: ShardWriter & ~Copyable>(
    into writer: inout Writer
  ) throws -> [ShardManifest.PieceResult] {
    var results: [ShardManifest.PieceResult] = []
    for piece in document.order.pieces {
      progress.begin(piece.destinationTable)
      let perRow = Double(piece.bytes) / Double(max(1, piece.rows))
      results.append(
        try writer.write(piece) { rows, lastKey in
          progress.advance(
            rows: UInt64(rows), bytes: UInt64(perRow * Double(rows)), lastKey: lastKey)
        })
    }
    progress.end()
    return results
  }
}

/// Makes the policy of a class name that a mapping model holds.
package typealias PolicyFactories = [String: @Sendable () -> any MigrationPolicy]

/// Takes what a shard writer tells of its progress.
package protocol ShardProgress {
  /// Begins with a table or a mapping.
  func begin(_ name: String)
  /// Adds what was done since the last call.
  func advance(rows: UInt64, bytes: UInt64, lastKey: Int64)
  /// Ends with the last row.
  func end()
}

/// What an engine made of a work order.
package struct Shard {
  package var pieces: [ShardManifest.PieceResult]
  /// The size of the shard's file.
  package var bytes: Int64
  /// What the engine tells its own assembler.
  package var outcome: EnginePayload?
  /// The source properties that policies read where rows were computed.
  package var read: PropertiesRead?
  /// Whether the digests of the pieces are those of their rows.
  package var digestsRows = true

  package init(
    pieces: [ShardManifest.PieceResult], bytes: Int64, outcome: EnginePayload? = nil,
    read: PropertiesRead? = nil
  ) {
    self.pieces = pieces
    self.bytes = bytes
    self.outcome = outcome
    self.read = read
  }
}
