import Expressions
import ObjectModel
import Schema

/// Finds out how to compute derived attributes.
struct Derivations {
  let schema: StoreSchema

  private var model: ManagedObjectModel { schema.model }

  enum Plan {
    case form(ValueForm)
    /// An SQL expression over the finished tables, in which the attribute's own table has its name.
    case expression(String)
  }

  /// How to compute a derived attribute of a table, nil if its expression is not supported.
  func plan(derivation: Attribute.Derivation, of entity: String, in table: EntityTable) -> Plan? {
    guard derivation.filter == nil, let entity = model.entity(name: entity) else { return nil }
    switch derivation.expression {
    case .builtIn(let name, let arguments) where arguments.isEmpty && name == "now":
      return .form(.now)
    case .builtIn("canonical:", let arguments):
      guard case .keyPath(let operand, let path)? = arguments.first, Self.isOwn(operand),
        let source = attribute(name: path, of: entity), source.type == .string,
        let column = column(name: path, of: entity, in: table),
        let place = table.columns.firstIndex(where: { $0.name == column })
      else { return nil }
      return .form(.canonical(of: place))
    case .builtIn("count:", let arguments):
      guard case .keyPath(let operand, let path)? = arguments.first, Self.isOwn(operand) else {
        return nil
      }
      return count(path: path, of: entity, in: table).map(Plan.expression)
    case .keyPath(let operand, let path) where Self.isOwn(operand):
      return value(path: path, of: entity, in: table).map(Plan.expression)
    default: return nil
    }
  }

  private static func isOwn(_ operand: ValueExpression?) -> Bool {
    operand == nil || operand == .evaluatedObject
  }

  private func count(path: String, of entity: Entity, in table: EntityTable) -> String? {
    guard let declarer = model.declarer(of: path, in: entity.name),
      let relationship = model.relationship(name: path, of: declarer), relationship.isToMany
    else { return nil }
    let own = "\(SQL.identifier(name: table.name)).Z_PK"
    func count(name: String, column: String) -> String {
      "(SELECT count(*) FROM \(SQL.identifier(name: name)) AS other "
        + "WHERE other.\(SQL.identifier(name: column)) = \(own))"
    }
    for join in schema.joinTables {
      for end in [join.first, join.second]
      where end.entityName == declarer && end.relationshipName == path {
        return count(name: join.name, column: end.keyColumn)
      }
    }
    var roles = [Column.Role.owner(entity: declarer, name: path)]
    if let inverse = model.inverseWithOwner(of: relationship) {
      roles.append(.toOne(entity: inverse.entity.name, name: inverse.relationship.name))
    }
    for other in schema.tables {
      if let column = roles.compactMap({ other.column(role: $0) }).first {
        return count(name: other.name, column: column.name)
      }
    }
    return nil
  }

  /// An attribute of the object itself, or of the object of a to-one relationship, as SQL.
  private func value(path: String, of entity: Entity, in table: EntityTable) -> String? {
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if parts.count == 1, attribute(name: path, of: entity) != nil {
      return column(name: path, of: entity, in: table).map {
        "\(SQL.identifier(name: table.name)).\(SQL.identifier(name: $0))"
      }
    }
    guard parts.count == 2, let declarer = model.declarer(of: parts[0], in: entity.name),
      let relationship = model.relationship(name: parts[0], of: declarer),
      let link = table.column(role: .toOne(entity: declarer, name: parts[0])),
      let target = model.entity(name: relationship.destinationEntityName),
      attribute(name: parts[1], of: target) != nil, let other = schema.table(of: target),
      let found = column(name: parts[1], of: target, in: other)
    else { return nil }
    return
      "(SELECT other.\(SQL.identifier(name: found)) FROM \(SQL.identifier(name: other.name)) AS other "
      + "WHERE other.Z_PK = \(SQL.identifier(name: table.name)).\(SQL.identifier(name: link.name)))"
  }

  /// The stored attribute of this name, unless it is itself derived.
  private func attribute(name: String, of entity: Entity) -> Attribute? {
    model.allLeafAttributes(of: entity).first {
      $0.name == name && $0.derivation == nil && !$0.isTransient
    }
  }

  private func column(name: String, of entity: Entity, in table: EntityTable) -> String? {
    model.declarer(of: name, in: entity.name).flatMap {
      table.column(role: .attribute(entity: $0, name: name))?.name
    }
  }
}
