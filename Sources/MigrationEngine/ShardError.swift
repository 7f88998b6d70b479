/// Why a worker could not make its shard.
package struct ShardError: Error, Hashable, Sendable {
  package enum Problem: Hashable, Sendable {
    case orderUnreadable(String)
    /// The order lacks the program or the statement of one of its pieces.
    case orderIncomplete
    case digestsDiffer(rowsRead: Int64, rowsWritten: Int64)
    case externalNameDamaged
    case coordinatorGone
  }

  package var problem: Problem
  package var table: String?

  package init(_ problem: Problem, table: String? = nil) {
    self.problem = problem
    self.table = table
  }
}
