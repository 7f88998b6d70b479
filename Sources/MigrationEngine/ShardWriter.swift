package import Planning

/// Writes one shard piece by piece, in key order.
///
/// Whichever engine writes it: `VACUUM INTO` copies of the results are the same to the byte.
package protocol ShardWriter: ~Copyable {
  /// Writes all rows of a piece to a table of its own.
  mutating func write(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult

  /// Completes the shard, and returns the size of its file in bytes.
  consuming func finish() throws -> Int64
}
