package import SystemPackage

/// What went wrong in workers or in the assembly of their shards.
package enum WorkError: Error, Sendable {
  /// A work order failed for good: in an error that would recur, or in its last attempt.
  case workOrderFailed(order: Int, attempts: Int, WorkerFault)
  /// The system started no worker process.
  case workerNotStarted(cause: any Error)
  /// The launcher started another program as a worker, or another build of this one.
  case workerForeign(host: String, version: String)
  /// The launcher started several workers for one work order.
  case workersDoubled
  /// The launcher passes on what no worker has written: a line without an end.
  case outputEndless
  /// A worker completed a shard, and this machine does not see the file.
  case shardUnseen(FilePath)
  /// A manifest is not of this plan, of its order or of its pieces.
  case manifestForeign(FilePath)
  /// A manifest is not JSON of this version.
  case manifestUnreadable(FilePath)
  /// A table of the result has other rows than the shards.
  case verificationFailed(table: String, expectedRows: Int64, rows: Int64)
  /// SQLite's check of the result found these errors.
  case resultDamaged([String])
}
