package import Planning
package import RowPrograms

/// The program of a piece: that of a table of objects, or of a join table.
package enum PieceProgram {
  case table(TableProgram)
  case join(JoinProgram)
}

extension WorkOrderDocument {
  /// The program that makes the rows of a piece.
  ///
  /// - Throws: `ShardError.orderIncomplete`, if there is none.
  package func program(of piece: Piece) throws(ShardError) -> PieceProgram {
    let name = piece.destinationTable
    if let table = tables.first(where: { $0.destinationTable == name }) { return .table(table) }
    if let join = joins.first(where: { $0.destinationTable == name }) { return .join(join) }
    throw ShardError(.orderIncomplete, table: name)
  }
}
