import Expressions
import Mapping
import ObjectModel
import Schema

/// Compares values that a mapping model copies with those of the source, to the byte, and restores
/// those that an object-by-object migration has changed.
///
/// Such values must not change, so the verification does not rely on its own objects here either.
/// Values that a policy may have set are left alone.
struct PlainCopies {
  let step: VerificationOrder.Step
  let source: RawStore
  let sourceSchema: StoreSchema
  let made: RawStore
  let destination: StoreSchema

  func apply() throws {
    let mappings = step.mappings.flatMap(\.entityMappings).filter {
      $0.sourceEntityName != nil && $0.destinationEntityName != nil && $0.newObjects == nil
    }
    guard !step.mappings.flatMap(\.entityMappings).contains(where: { $0.ownPolicyClassName != nil })
    else { return }
    let kept = KeptKeys(mappings, old: sourceSchema, new: destination)
    for mapping in mappings {
      guard let place = Place(mapping: mapping, copies: self),
        kept.keeps(place.to.name, from: place.old)
      else { continue }
      try apply(place)
    }
  }

  /// One entity mapping with the columns that it copies.
  private struct Place {
    var old: Entity
    var from: EntityTable
    var to: EntityTable
    var number: Int64
    var newNumber: Int64
    var columns: [(source: String, destination: String)]

    init?(mapping: EntityMapping, copies: PlainCopies) {
      let (before, after) = (copies.sourceSchema, copies.destination)
      guard let old = mapping.sourceEntityName.flatMap({ before.model.entity(name: $0) }),
        let new = mapping.destinationEntityName.flatMap({ after.model.entity(name: $0) }),
        let from = before.table(of: old), let to = after.table(of: new),
        let number = before.numbers[old.name]?.rawValue,
        let newNumber = after.numbers[new.name]?.rawValue
      else { return nil }
      (self.old, self.from, self.to) = (old, from, to)
      (self.number, self.newNumber) = (number, newNumber)
      columns = mapping.attributeMappings.compactMap { property in
        guard case .attribute(let name, .null) = property.origin,
          let one = Self.column(name: name, of: old, schema: before, table: from),
          let other = Self.column(name: property.name, of: new, schema: after, table: to),
          one.attribute.type == other.attribute.type,
          one.attribute.storesBinaryDataExternally == other.attribute.storesBinaryDataExternally
        else { return nil }
        return (one.name, other.name)
      }
    }

    private static func column(
      name: String, of entity: Entity, schema: StoreSchema, table: EntityTable
    ) -> (name: String, attribute: Attribute)? {
      for level in schema.model.lineage(of: entity) {
        if let attribute = level.leafAttributes.first(where: { $0.name == name }),
          let column = table.column(role: .attribute(entity: level.name, name: name))
        {
          return (column.name, attribute)
        }
      }
      return nil
    }
  }

  private func apply(_ place: Place) throws {
    if place.columns.isEmpty { return }
    let before = try source.prepare(
      query(place.from.name, columns: place.columns.map(\.source), number: place.number))
    let after = try made.prepare(
      query(place.to.name, columns: place.columns.map(\.destination), number: place.newNumber))
    let updates = try place.columns.map {
      try made.prepare(
        "UPDATE \(SQL.identifier(name: place.to.name)) SET \(SQL.identifier(name: $0.destination)) = ? "
          + "WHERE Z_PK = ?")
    }
    // Updates wait until the statement that reads the rows is reset.
    var changes: [(column: Int, value: RawValue, key: RawValue)] = []
    var hasBefore = try before.step()
    while hasBefore, try after.step() {
      let key = after.integer(column: 0) ?? 0
      while hasBefore, before.integer(column: 0) ?? 0 < key { hasBefore = try before.step() }
      guard hasBefore, before.integer(column: 0) == key else { continue }
      for column in place.columns.indices
      where !before.isSame(column + 1, as: after, otherColumn: column + 1) {
        changes.append((column, before.value(column: column + 1), .integer(key)))
      }
      if changes.count >= Self.changesKept { break }
    }
    after.reset()
    for change in changes { try updates[change.column].execute([change.value, change.key]) }
  }

  /// The most values that are restored; more are not needed to show that values change.
  private static let changesKept = 10_000

  private func query(_ table: String, columns: [String], number: Int64) -> String {
    "SELECT \((["Z_PK"] + columns.map(SQL.identifier)).joined(separator: ", ")) "
      + "FROM \(SQL.identifier(name: table)) WHERE Z_ENT = \(number) ORDER BY Z_PK"
  }
}
