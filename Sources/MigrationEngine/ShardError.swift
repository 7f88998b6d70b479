package import SystemCalls

/// Why a worker could not make its shard.
package struct ShardError: Error, Hashable, Sendable {
  /// What went wrong.
  package enum Problem: Hashable, Sendable {
    /// The work order is not JSON of this version, or names an unknown engine; the details.
    case orderUnreadable(String)
    /// The order lacks the program or the statement of one of its pieces.
    case orderIncomplete
    /// The rows read differ from the rows written, in number or in content.
    case digestsDiffer(rowsRead: Int64, rowsWritten: Int64)
    /// A value that should name an external binary data file does not.
    case externalNameDamaged
    /// The coordinator has ended, and the worker with it.
    case coordinatorGone
  }

  /// What went wrong.
  package var problem: Problem
  /// The destination table concerned, nil for the order as a whole.
  package var table: String?

  /// Creates an error; engines add the table later.
  package init(_ problem: Problem, table: String? = nil) {
    self.problem = problem
    self.table = table
  }
}

extension ShardError: DisposedError {
  /// How the error affects work that is already done.
  package var disposition: ErrorDisposition {
    switch problem {
    case .coordinatorGone: .system
    case .orderUnreadable, .orderIncomplete, .digestsDiffer, .externalNameDamaged: .fault
    }
  }
}
