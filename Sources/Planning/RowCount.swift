/// The rows of one entity, by its number.
package struct EntityRows: Hashable, Codable, Sendable {
  /// The entity's number in the store, the column `Z_ENT`.
  package var number: Int64
  /// How many rows the entity has.
  package var rows: Int64

  /// Takes the number as `Z_ENT` has it.
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
  /// References that may have had an entity number that no entity has; nil if it was not checked.
  package var strays: Int64?
  /// Changes whose masks name more properties than are known to be updated, by destination entity;
  /// nil if no mask was rebuilt.
  package var wideMasks: [EntityRows]?

  /// Takes the counts of one piece, which are added up by entity.
  package init(
    seen: Int64, made: [EntityRows], strays: Int64? = nil, wideMasks: [EntityRows]? = nil
  ) {
    self.seen = seen
    self.made = made
    self.strays = strays
    self.wideMasks = wideMasks
  }
}
