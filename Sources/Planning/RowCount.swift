/// The rows of one entity, by its number.
package struct EntityRows: Hashable, Codable, Sendable {
  package var number: Int64
  package var rows: Int64

  package init(number: Int64, rows: Int64) {
    self.number = number
    self.rows = rows
  }
}

/// What a worker read and made of a key range of a table.
package struct RowCount: Hashable, Codable, Sendable {
  /// Source rows of any entity, those that became none included.
  package var seen: Int64
  /// By destination entity.
  package var made: [EntityRows]

  package init(seen: Int64, made: [EntityRows]) {
    self.seen = seen
    self.made = made
  }
}
