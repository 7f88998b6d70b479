package import Planning

/// Makes one shard piece by piece: rows in key order in, a synced file out.
///
/// Whatever engine it belongs to, `VACUUM INTO` copies of the results are the same to the byte.
package protocol ShardWriter: ~Copyable {
  /// Writes all rows of a piece into a table of its own.
  mutating func write(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult

  /// Ends the shard and syncs it; the size of the file in bytes.
  consuming func finish() throws -> Int64
}
