import ObjectModel
import Schema

/// Values that a migration by mapping models may have in place of the expected ones.
///
/// Objects that are newly created have only their own properties, and their relationships agree.
/// Rows that are migrated by programs keep their `Z_OPT`, values in columns of other entities,
/// references to objects that do not exist or that do not lead back, and places that are no order.
struct Tolerance {
  let history: [ExpectedSteps.StepStart]

  init(_ history: [ExpectedSteps.StepStart]) { self.history = history }

  func allows(
    _ found: RawValue, in column: Column, of table: EntityTable, key: Int64
  ) throws -> Bool {
    var places = table.entityNames.map { Place(entity: $0, role: column.role) }
    for start in history.reversed() {
      places = places.flatMap { $0.before(start) }
      for place in places {
        if try place.holds(found, in: start, key: key) { return true }
      }
    }
    return false
  }

  /// A property of an entity's objects, or their `Z_OPT`.
  private struct Place {
    var entity: String
    var role: Column.Role

    /// The same in the store with which a step began.
    func before(_ start: ExpectedSteps.StepStart) -> [Place] {
      start.origins[entity].compactMap { origin in
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
        case .toOneEntity(_, let name):
          return origin.properties[name].map {
            Place(entity: origin.entity, role: .toOneEntity(entity: origin.entity, name: $0))
          }
        case .toOneOrder(_, let name):
          return origin.properties[name].map {
            Place(entity: origin.entity, role: .toOneOrder(entity: origin.entity, name: $0))
          }
        default: return nil
        }
      }
    }

    func holds(_ value: RawValue, in start: ExpectedSteps.StepStart, key: Int64) throws -> Bool {
      let model = start.schema.model
      guard let entity = model.entity(name: entity), let table = start.schema.table(of: entity)
      else {
        return false
      }
      let columns = model.lineage(of: entity).compactMap { level -> Column? in
        switch role {
        case .optimisticLock: table.column(role: .optimisticLock)
        case .attribute(_, let name): table.column(role: .attribute(entity: level.name, name: name))
        case .toOne(_, let name): table.column(role: .toOne(entity: level.name, name: name))
        case .toOneEntity(_, let name):
          table.column(role: .toOneEntity(entity: level.name, name: name))
        case .toOneOrder(_, let name):
          table.column(role: .toOneOrder(entity: level.name, name: name))
        default: nil
        }
      }
      guard let column = columns.first,
        let row = try start.store.rows(
          sql:
            "SELECT \(SQL.identifier(name: column.name)), Z_ENT FROM \(SQL.identifier(name: table.name)) "
            + "WHERE Z_PK = ?", bindings: [.integer(key)]
        ).first
      else { return false }
      if case .toOneEntity = role {
        return try isBesideDefect(column, of: table, key: key, start: start)
      }
      guard row[0] == value else { return false }
      let isOwn = row[1].integer == start.schema.numbers[entity.name]?.rawValue
      switch role {
      case .optimisticLock: return isOwn
      case .attribute: return !isOwn && isStray(column, number: row[1].integer, start: start)
      case .toOne:
        return try isDangling(value, column: column, start: start)
          || isOneSided(value, column: column, key: key, start: start)
      case .toOneOrder: return try isNoOrder(value, column: column, of: table, start: start)
      default: return false
      }
    }

    /// Whether one end of a one-to-one relationship does not lead back to the other.
    private func isOneSided(
      _ value: RawValue, column: Column, key: Int64, start: ExpectedSteps.StepStart
    ) throws -> Bool {
      let model = start.schema.model
      guard case .toOne(let declaring, let name) = column.role,
        let relationship = model.entity(name: declaring)?.relationships.first(where: {
          $0.name == name
        }), let (holder, inverse) = model.inverseWithOwner(of: relationship), !inverse.isToMany,
        let table = start.schema.table(of: holder),
        let back = table.column(role: .toOne(entity: holder.name, name: inverse.name))
      else { return false }
      let other = SQL.identifier(name: back.name)
      // Where it leads nowhere, another object may lead here all the same.
      let test =
        value == .null
        ? "\(other) = \(key)" : "Z_PK = ? AND \(other) IS NOT \(key)"
      return try !start.store.rows(
        sql: "SELECT 1 FROM \(SQL.identifier(name: table.name)) WHERE \(test) LIMIT 1",
        bindings: value == .null ? [] : [value]
      ).isEmpty
    }

    /// Whether a place is no number, or that of another row of the same owner too.
    private func isNoOrder(
      _ place: RawValue, column: Column, of table: EntityTable, start: ExpectedSteps.StepStart
    ) throws -> Bool {
      guard case .integer = place else { return true }
      guard case .toOneOrder(let entity, let name) = column.role,
        let owner = table.column(role: .toOne(entity: entity, name: name))
      else { return false }
      let (order, rows) = (SQL.identifier(name: column.name), SQL.identifier(name: table.name))
      let own = SQL.identifier(name: owner.name)
      return try start.store.rows(
        sql: "SELECT 1 FROM \(rows) WHERE \(order) = ? GROUP BY \(own) HAVING count(*) > 1 LIMIT 1",
        bindings: [place]
      ).isEmpty == false
    }

    /// Whether an entity number is next to a reference that leads to no object or not back.
    private func isBesideDefect(
      _ column: Column, of table: EntityTable, key: Int64, start: ExpectedSteps.StepStart
    ) throws -> Bool {
      guard case .toOneEntity(let entity, let name) = column.role,
        let reference = table.column(role: .toOne(entity: entity, name: name)),
        let value = try start.store.rows(
          sql: "SELECT \(SQL.identifier(name: reference.name)) "
            + "FROM \(SQL.identifier(name: table.name)) WHERE Z_PK = ?", bindings: [.integer(key)]
        ).first?[0]
      else { return false }
      return try isDangling(value, column: reference, start: start)
        || isOneSided(value, column: reference, key: key, start: start)
    }

    /// Whether the row's own entity lacks the property.
    private func isStray(_ column: Column, number: Int64?, start: ExpectedSteps.StepStart) -> Bool {
      let model = start.schema.model
      guard case .attribute(let declaring, _) = column.role,
        let name = number.flatMap({ start.schema.numbers[EntityNumber(rawValue: $0)] }),
        model.entity(name: name) != nil
      else { return false }
      return !model.isKind(name, of: declaring)
    }

    /// Whether a key refers to no row.
    private func isDangling(
      _ key: RawValue, column: Column, start: ExpectedSteps.StepStart
    ) throws -> Bool {
      let model = start.schema.model
      guard case .toOne(let declaring, let name) = column.role, key != .null,
        let target = model.entity(name: declaring)?.relationships.first(where: { $0.name == name })?
          .destinationEntityName, let entity = model.entity(name: target),
        let table = start.schema.table(of: entity)
      else { return false }
      return try start.store.rows(
        sql: "SELECT 1 FROM \(SQL.identifier(name: table.name)) WHERE Z_PK = ?", bindings: [key]
      ).isEmpty
    }
  }
}
