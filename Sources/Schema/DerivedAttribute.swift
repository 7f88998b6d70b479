import ObjectModel

/// A derived attribute of a form whose triggers real stores show (docs/reference/store-format.md,
/// "Derived attributes").
package struct DerivedAttribute: Hashable, Codable, Sendable {
  /// Where the value comes from.
  package enum Source: Hashable, Codable, Sendable {
    /// The rows of a table whose column holds the object's key, counted.
    case count(table: String, column: String)
    /// The column of the row whose key the object's row holds in `link`.
    case value(link: String, table: String, column: String)

    /// The table whose rows are counted, or have the value.
    package var table: String {
      switch self {
      case .count(let table, _), .value(_, let table, _): table
      }
    }
  }

  /// The entity that declares the attribute.
  package var entity: String
  /// The name of the attribute.
  package var attribute: String
  /// The table of the entity.
  package var table: String
  /// The column of the attribute.
  package var column: String
  /// Where the value comes from.
  package var source: Source
  /// The entity numbers of the entity and those that inherit from it, first and last.
  package var numbers: ClosedRange<Int64>
  /// Whether the triggers of a count name entity numbers, as those of some stores do.
  package var namesNumbers = false

  /// The value of a row in SQL; `row` is what the table is called in the statement.
  package func value(ofRow row: String) -> String {
    switch source {
    case .count(let table, let column):
      let column = SQL.identifier(name: column)
      return "(SELECT IFNULL(COUNT(\(column)), 0) FROM \(SQL.identifier(name: table)) AS other "
        + "WHERE other.\(column) = \(row).Z_PK)"
    case .value(let link, let table, let column):
      return "(SELECT other.\(SQL.identifier(name: column)) "
        + "FROM \(SQL.identifier(name: table)) AS other "
        + "WHERE other.Z_PK = \(row).\(SQL.identifier(name: link)))"
    }
  }

  /// The triggers that keep the value, in the order of a store.
  package var triggers: [Trigger] {
    switch source {
    case .count(let table, let column): countTriggers(other: table, key: column)
    case .value(let link, let table, let column):
      valueTriggers(link: link, other: table, value: column)
    }
  }

  private func countTriggers(other: String, key: String) -> [Trigger] {
    let (table, own) = (SQL.identifier(name: table), SQL.identifier(name: column))
    let foreign = SQL.identifier(name: key)
    let range =
      namesNumbers ? " AND \(numbers.lowerBound) <= Z_ENT AND Z_ENT <= \(numbers.upperBound)" : ""
    func adds(_ change: String, _ side: String) -> String {
      let owner = "Z_PK = \(side).\(foreign)\(range)"
      return "UPDATE \(table) SET \(own) = \(change) WHERE \(owner); "
        + announcement("", rows: owner)
    }
    func changed(_ kind: String, _ event: String, side: String, change: String) -> Trigger {
      Trigger(
        name: name(kind, onTable: other), event: event, table: other,
        condition: "WHEN (\(side).\(foreign) NOT NULL) ", body: adds(change, side))
    }
    let update = "UPDATE OF \(foreign)"
    let condition =
      namesNumbers
      ? "WHEN \(numbers.lowerBound) <= NEW.Z_ENT AND NEW.Z_ENT <= \(numbers.upperBound) " : ""
    return [
      changed("PARAMETER_INSERT", "INSERT", side: "NEW", change: "IFNULL(\(own), 0) + 1"),
      changed("PARAMETER_UPDATE_INCREMENT", update, side: "NEW", change: "\(own) + 1"),
      changed("PARAMETER_UPDATE_DECREMENT", update, side: "OLD", change: "\(own) - 1"),
      changed("PARAMETER_DELETE", "DELETE", side: "OLD", change: "\(own) - 1"),
      Trigger(
        name: name("SOURCE_INSERT", onTable: self.table), event: "INSERT", table: self.table,
        condition: condition,
        body: "UPDATE \(table) SET \(own) = (SELECT IFNULL(COUNT(\(foreign)), 0) "
          + "FROM \(SQL.identifier(name: other)) WHERE \(foreign) = NEW.Z_PK) "
          + "WHERE Z_PK = NEW.Z_PK; " + announcement("Insert", rows: "Z_PK = NEW.Z_PK")),
    ]
  }

  private func valueTriggers(link: String, other: String, value: String) -> [Trigger] {
    let (table, own) = (SQL.identifier(name: table), SQL.identifier(name: column))
    let (link, value) = (SQL.identifier(name: link), SQL.identifier(name: value))
    let taken =
      "UPDATE \(table) SET \(own) = (SELECT \(value) FROM \(SQL.identifier(name: other)) "
      + "WHERE Z_PK = NEW.\(link)) WHERE Z_PK = NEW.Z_PK; "
    let given = "UPDATE \(table) SET \(own) = NEW.\(value) WHERE \(link) = NEW.Z_PK; "
    func trigger(_ kind: String, _ event: String, on name: String, body: String) -> Trigger {
      Trigger(name: self.name(kind, onTable: name), event: event, table: name, body: body)
    }
    let (ownRow, linkedRows) = ("Z_PK = NEW.Z_PK", "\(link) = NEW.Z_PK")
    return [
      trigger(
        "SOURCE_INSERT", "INSERT", on: self.table,
        body: taken + announcement("Insert", rows: ownRow)),
      trigger(
        "SOURCE_UPDATE", "UPDATE OF \(link)", on: self.table,
        body: taken + announcement("", rows: ownRow)),
      trigger(
        "PARAMETER_INSERT", "INSERT", on: other,
        body: given + announcement("Insert", rows: linkedRows)),
      trigger(
        "PARAMETER_UPDATE", "UPDATE OF \(value)", on: other,
        body: given + announcement("", rows: linkedRows)),
    ]
  }

  private func name(_ kind: String, onTable name: String) -> String {
    "Z_DA_\(name)_\(entity)_\(attribute)_\(kind)"
  }

  /// Reports changes of a trigger to Core Data, which registers the function in its own process.
  private func announcement(_ event: String, rows: String) -> String {
    "SELECT NSCoreDataDATrigger\(event)UpdatedAffectedObjectValue(\(SQL.literal(text: table)), "
      + "Z_ENT, Z_PK, \(SQL.literal(text: attribute)), \(SQL.identifier(name: column))) "
      + "FROM \(SQL.identifier(name: table)) WHERE \(rows); "
  }
}

extension StoreSchema {
  /// The derived attributes of a model whose form is known; the others, by entity and name.
  static func derived(
    in model: ManagedObjectModel, numbers: EntityNumbers, tables: [EntityTable]
  ) -> (known: [DerivedAttribute], open: [OpenDerivation]) {
    var known: [DerivedAttribute] = []
    var open: [OpenDerivation] = []
    for entity in numbers.names.compactMap({ model.entity(name: $0) }) {
      for attribute in entity.attributes.sorted(by: { $0.name < $1.name })
      where attribute.derivation != nil && !attribute.isTransient {
        let form = model.derivationForm(of: attribute, in: entity)
        let finder = DerivedColumns(model: model, numbers: numbers, tables: tables)
        if let found = form.flatMap({ finder.derived(attribute, of: entity, form: $0) }) {
          known.append(found)
        } else {
          open.append(OpenDerivation(entity: entity.name, attribute: attribute.name))
        }
      }
    }
    return (known, open)
  }
}

extension StoreSchema {
  /// Whether the triggers of an attribute are known without a store that has them.
  package func knowsTriggers(of attribute: DerivedAttribute) -> Bool {
    guard let entity = model.entity(name: attribute.entity),
      let found = entity.attributes.first(where: { $0.name == attribute.attribute }),
      let form = model.derivationForm(of: found, in: entity)
    else { return false }
    return model.knowsTriggers(of: form, in: entity)
  }
}

/// A derived attribute of a form that no real store shows.
package struct OpenDerivation: Hashable, Sendable {
  /// The entity that declares it.
  package var entity: String
  /// Its name.
  package var attribute: String

  /// Names an attribute.
  package init(entity: String, attribute: String) {
    (self.entity, self.attribute) = (entity, attribute)
  }

  /// Whether a trigger bears the name of one that keeps the attribute.
  package func isKept(by trigger: Trigger) -> Bool {
    trigger.name.hasPrefix("Z_DA_") && trigger.name.contains("_\(entity)_\(attribute)_")
  }
}

/// Finds the columns that a derived attribute is computed of.
private struct DerivedColumns {
  let model: ManagedObjectModel
  let numbers: EntityNumbers
  let tables: [EntityTable]

  func derived(
    _ attribute: Attribute, of entity: Entity, form: DerivationForm
  ) -> DerivedAttribute? {
    let family = model.family(of: entity.name).compactMap { numbers[$0.name]?.rawValue }
    guard let table = table(of: entity), let first = family.min(), let last = family.max(),
      let column = table.column(role: .attribute(entity: entity.name, name: attribute.name)),
      let source = source(form, of: entity, in: table)
    else { return nil }
    return DerivedAttribute(
      entity: entity.name, attribute: attribute.name, table: table.name, column: column.name,
      source: source, numbers: first...last)
  }

  private func source(
    _ form: DerivationForm, of entity: Entity, in table: EntityTable
  ) -> DerivedAttribute.Source? {
    switch form {
    case .count(let name):
      guard let relationship = model.relationship(name: name, of: entity.name),
        let target = model.entity(name: relationship.destinationEntityName),
        let other = self.table(of: target)
      else { return nil }
      let role =
        model.inverseWithOwner(of: relationship).map {
          Column.Role.toOne(entity: $0.entity.name, name: $0.relationship.name)
        } ?? .owner(entity: entity.name, name: name)
      return other.column(role: role).map { .count(table: other.name, column: $0.name) }
    case .value(let name, let attribute):
      guard let link = table.column(role: .toOne(entity: entity.name, name: name)),
        let relationship = model.relationship(name: name, of: entity.name),
        let target = model.entity(name: relationship.destinationEntityName),
        let other = self.table(of: target)
      else { return nil }
      let column = model.lineage(of: target).lazy.compactMap {
        other.column(role: .attribute(entity: $0.name, name: attribute))
      }.first
      return column.map { .value(link: link.name, table: other.name, column: $0.name) }
    }
  }

  private func table(of entity: Entity) -> EntityTable? {
    let root = model.root(of: entity).name
    return tables.first { $0.rootName == root }
  }
}
