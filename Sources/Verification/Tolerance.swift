import ObjectModel
import Schema

/// Values that a migration by mapping models may have in place of the expected ones.
///
/// Objects that are created anew have only their own properties; rows that are migrated by programs
/// keep their `Z_OPT`, values in columns of other entities, and references to objects that do not
/// exist.
struct Tolerance {
  private let history: [Stages.Stage]

  init(_ history: [Stages.Stage]) { self.history = history }

  func allows(
    _ found: RawValue, in column: Column, of table: EntityTable, key: Int64
  ) throws -> Bool {
    var places = table.entityNames.map { Place(entity: $0, role: column.role) }
    for stage in history.reversed() {
      places = places.flatMap { $0.before(stage) }
      for place in places {
        if try place.holds(found, in: stage, key: key) { return true }
      }
    }
    return false
  }

  /// A property of an entity's objects, or their `Z_OPT`.
  private struct Place {
    var entity: String
    var role: Column.Role

    /// The same in the store with which a step began.
    func before(_ stage: Stages.Stage) -> [Place] {
      stage.origins[entity].compactMap { origin in
        switch role {
        case .optimisticLock: return Place(entity: origin.entity, role: role)
        case .attribute(_, let name):
          return origin.properties[name].map {
            Place(entity: origin.entity, role: .attribute(entity: origin.entity, name: $0))
          }
        case .toOne(_, let name):
          return origin.properties[name].map {
            Place(entity: origin.entity, role: .toOne(entity: origin.entity, name: $0))
          }
        default: return nil
        }
      }
    }

    func holds(_ value: RawValue, in stage: Stages.Stage, key: Int64) throws -> Bool {
      let model = stage.schema.model
      guard let entity = model.entity(name: entity), let table = stage.schema.table(of: entity)
      else {
        return false
      }
      let columns = model.lineage(of: entity).compactMap { level -> Column? in
        switch role {
        case .optimisticLock: table.column(role: .optimisticLock)
        case .attribute(_, let name): table.column(role: .attribute(entity: level.name, name: name))
        case .toOne(_, let name): table.column(role: .toOne(entity: level.name, name: name))
        default: nil
        }
      }
      guard let column = columns.first,
        let row = try stage.store.rows(
          sql:
            "SELECT \(SQL.identifier(name: column.name)), Z_ENT FROM \(SQL.identifier(name: table.name)) "
            + "WHERE Z_PK = ?", bindings: [.integer(key)]
        ).first, row[0] == value
      else { return false }
      let isOwn = row[1].integer == stage.schema.numbers[entity.name]?.rawValue
      switch role {
      case .optimisticLock: return isOwn
      case .attribute: return !isOwn && isStray(column, number: row[1].integer, stage: stage)
      case .toOne: return try isDangling(value, column: column, stage: stage)
      default: return false
      }
    }

    /// Whether the row's own entity lacks the property.
    private func isStray(_ column: Column, number: Int64?, stage: Stages.Stage) -> Bool {
      let model = stage.schema.model
      guard case .attribute(let declaring, _) = column.role,
        let name = number.flatMap({ stage.schema.numbers[EntityNumber(rawValue: $0)] }),
        let own = model.entity(name: name)
      else { return false }
      return !model.lineage(of: own).contains { $0.name == declaring }
    }

    /// Whether a key refers to no row.
    private func isDangling(
      _ key: RawValue, column: Column, stage: Stages.Stage
    ) throws -> Bool {
      let model = stage.schema.model
      guard case .toOne(let declaring, let name) = column.role, key != .null,
        let target = model.entity(name: declaring)?.relationships.first(where: { $0.name == name })?
          .destinationEntityName, let entity = model.entity(name: target),
        let table = stage.schema.table(of: entity)
      else { return false }
      return try stage.store.rows(
        sql: "SELECT 1 FROM \(SQL.identifier(name: table.name)) WHERE Z_PK = ?", bindings: [key]
      ).isEmpty
    }
  }
}
