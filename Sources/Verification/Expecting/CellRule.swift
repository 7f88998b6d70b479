import Expressions
import ObjectModel
import Schema

/// The value that a cell should have, in terms of the source row.
///
/// Numbers are indexes of columns in the source table.
indirect enum CellRule {
  case constant(RawValue)
  /// The value unchanged, or another one in place of NULL.
  case copy(Int, ifNull: RawValue)
  /// A number converted from one type to another.
  case number(Int, as: AttributeType, ifNull: RawValue)
  /// Bytes of an attribute that allows external storage from now on, and below of one that no
  /// longer does.
  case tagged(Int, ifNull: RawValue)
  case untagged(Int, ifNull: RawValue)
  /// The primary key of an object, NULL if the destination has no place for it.
  case key(Reference)
  /// The entity number of that object.
  case entity(Reference)
  /// The position of the row among those that refer to that object.
  case place(Reference, Int)
  /// The lowest primary key of the rows that refer to this one.
  case firstOwner(table: String, column: String, entities: [Int64])
  /// The value of a column in the pair with this row's key: that with the lowest other key.
  case paired(StepReading.Pairs, column: String)
  /// The entity number of the object that another rule has the key of.
  case owner(CellRule, StepReading.Family)
  /// For a property that the row's entity lacks: NULL, or the value of the source column.
  case stray(Int?)
  /// Compared elsewhere, or not at all.
  case free
}

/// A to-one relationship in a source row.
struct Reference {
  var key: Int
  /// The column of the object's entity number, if there is one.
  var entity: Int?
  var family: StepReading.Family
}

/// What the rows of one destination table should be.
struct TableRules {
  let sourceTable: EntityTable
  let table: EntityTable
  /// By entity number in the source.
  private(set) var entities: [Int64: EntityRules] = [:]
  /// Order columns that the source does not have.
  private(set) var newOrders: [NewOrder] = []

  struct EntityRules {
    var number: Int64
    /// One for each column of the destination table; those of the first three are not used.
    var cells: [CellRule]
  }

  /// A column whose positions are newly assigned, by primary key among the rows of each owner.
  struct NewOrder {
    var table: String
    var ownerColumn: String
    var keyColumn: String
    var orderColumn: String
  }

  /// Returns nil if no entity of the source has objects in the table.
  init?(table: EntityTable, reading: StepReading, affinity: Affinity) throws {
    let pairs = table.entityNames.compactMap { name -> (old: Entity, new: Entity)? in
      guard let new = reading.destination.model.entity(name: name), !new.isAbstract,
        let old = reading.match.entities[name].flatMap({ reading.source.model.entity(name: $0) })
      else { return nil }
      return (old, new)
    }
    guard let sourceTable = pairs.lazy.compactMap({ reading.source.table(of: $0.old) }).first
    else { return nil }
    self.sourceTable = sourceTable
    self.table = table
    let builder = RuleBuilder(
      reading: reading, table: table, sourceTable: sourceTable, affinity: affinity)
    for (old, new) in pairs {
      guard let from = reading.source.numbers[old.name]?.rawValue,
        let to = reading.destination.numbers[new.name]?.rawValue
      else { continue }
      entities[from] = EntityRules(
        number: to, cells: try table.columns.map { try builder.rule(for: $0, old: old, new: new) })
    }
    for place in table.columns.indices { findNewOrder(place) }
  }

  private mutating func findNewOrder(_ place: Int) {
    let column = table.columns[place]
    let ownerRole: Column.Role
    switch column.role {
    case .toOneOrder(let entity, let name): ownerRole = .toOne(entity: entity, name: name)
    case .ownerOrder(let entity, let name): ownerRole = .owner(entity: entity, name: name)
    default: return
    }
    guard let owner = table.columns.firstIndex(where: { $0.role == ownerRole }) else { return }
    let hadOrder = entities.values.contains {
      switch $0.cells[place] {
      case .place, .paired: true
      default: false
      }
    }
    let hasOwners = entities.values.contains {
      switch $0.cells[owner] {
      case .constant, .stray: false
      default: true
      }
    }
    guard hasOwners, !hadOrder else { return }
    for number in entities.keys { entities[number]?.cells[place] = .free }
    newOrders.append(
      NewOrder(
        table: table.name, ownerColumn: table.columns[owner].name, keyColumn: "Z_PK",
        orderColumn: column.name))
  }
}

/// Finds the rule for each column of a table.
private struct RuleBuilder {
  let reading: StepReading
  let table: EntityTable
  let sourceTable: EntityTable
  let affinity: Affinity

  private var source: StoreSchema { reading.source }
  private var destination: StoreSchema { reading.destination }

  func rule(for column: Column, old: Entity, new: Entity) throws -> CellRule {
    switch column.role {
    case .primaryKey, .entityNumber, .optimisticLock: return .free
    case .attribute(let entity, let name):
      guard inherits(new, from: entity) else { return .stray(strayPlace(entity, name: name)) }
      guard declares(new, attribute: name) == entity else { return .free }
      return try attribute(name: name, column: column, old: old, new: new)
    case .toOne(let entity, let name), .toOneEntity(let entity, let name),
      .toOneOrder(let entity, let name):
      guard inherits(new, from: entity) else { return .stray(samePlace(column.role)) }
      return toOne(role: column.role, name: name, old: old, new: new)
    case .owner(let entity, let name), .ownerOrder(let entity, let name):
      guard
        let target = destination.model.entity(name: entity)?.relationships.first(where: {
          $0.name == name
        })?.destinationEntityName, inherits(new, from: target)
      else { return .stray(samePlace(column.role)) }
      return owner(role: column.role, entity: entity, name: name)
    }
  }

  private func inherits(_ entity: Entity, from name: String) -> Bool {
    destination.model.isKind(entity.name, of: name)
  }

  /// The nearest entity of the lineage that declares an attribute, whose column has the value.
  private func declares(_ entity: Entity, attribute: String) -> String? {
    destination.model.lineage(of: entity).first {
      $0.leafAttributes.contains { $0.name == attribute }
    }?.name
  }

  private func place(role: Column.Role) -> Int? {
    sourceTable.columns.firstIndex { $0.role == role }
  }

  private func place(named name: String?) -> Int? {
    name.flatMap { name in sourceTable.columns.firstIndex { $0.name == name } }
  }

  /// The source column that another entity's property continues.
  private func strayPlace(_ entity: String, name: String) -> Int? {
    guard let old = reading.match.entities[entity].flatMap({ source.model.entity(name: $0) }),
      let origin = reading.match.origin(of: name, in: entity)
    else { return nil }
    return attributePlace(name: origin, of: old)
  }

  /// The column of the same role in a source with the same model.
  private func samePlace(_ role: Column.Role) -> Int? { place(role: role) }

  private func attributePlace(name: String, of entity: Entity) -> Int? {
    source.model.lineage(of: entity).lazy.compactMap {
      place(role: .attribute(entity: $0.name, name: name))
    }.first
  }

  // MARK: Attributes

  private func attribute(
    name: String, column: Column, old: Entity, new: Entity
  ) throws -> CellRule {
    guard
      let attribute = destination.model.leafAttribute(named: name, of: new)
    else { return .constant(.null) }
    let standard = try affinity.applied(
      Self.stored(attribute.defaultValue, attribute: attribute), type: column.type)
    guard let origin = reading.match.origin(of: name, in: new.name),
      let before = source.model.leafAttribute(named: origin, of: old),
      let place = attributePlace(name: origin, of: old)
    else { return .constant(standard) }
    let ifNull = before.isOptional && !attribute.isOptional ? standard : .null
    if before.storesBinaryDataExternally != attribute.storesBinaryDataExternally {
      return attribute.storesBinaryDataExternally
        ? .tagged(place, ifNull: ifNull) : .untagged(place, ifNull: ifNull)
    }
    return before.type == attribute.type
      ? .copy(place, ifNull: ifNull) : .number(place, as: attribute.type, ifNull: ifNull)
  }

  /// A default value as stored for an attribute of this kind, before the column's affinity.
  private static func stored(_ value: AttributeValue, attribute: Attribute) -> RawValue {
    switch value {
    case .null: .null
    case .boolean(let flag): .integer(flag ? 1 : 0)
    case .integer(let number):
      [.double, .float, .date].contains(attribute.type)
        ? .double(number: Double(number)) : .integer(number)
    case .real(let number), .date(let number): .double(number: number)
    case .decimal(let text), .string(let text), .uri(let text): .text(text)
    case .data(let bytes):
      .blob(attribute.storesBinaryDataExternally ? [ExternalValue.inlineTag] + bytes : bytes)
    case .uuid(let bytes): .blob(bytes)
    }
  }

  // MARK: Relationships

  private func toOne(
    role: Column.Role, name: String, old: Entity, new: Entity
  ) -> CellRule {
    guard
      let relationship = destination.model.relationship(named: name, of: new)
    else { return .constant(.null) }
    if let origin = reading.match.origin(of: name, in: new.name) {
      if source.model.allRelationships(of: old).contains(where: { $0.name == origin && $0.isToMany }
      ) {
        return reading.pairs(of: name, declaredBy: new.name)
          .map { following(role, pairs: $0.flipped) } ?? .constant(.null)
      }
      return sameRow(role, name: origin, old: old, within: relationship.destinationEntityName)
    }
    // The values of a new relationship follow from its inverse, if the source has that.
    guard let (owner, inverse) = destination.model.inverseWithOwner(of: relationship),
      let pairs = reading.pairs(of: inverse.name, declaredBy: owner.name)
    else { return .constant(.null) }
    return following(role, pairs: pairs)
  }

  private func sameRow(
    _ role: Column.Role, name: String, old: Entity, within: String
  ) -> CellRule {
    for level in source.model.lineage(of: old) {
      guard let key = place(role: .toOne(entity: level.name, name: name)),
        let relationship = level.relationships.first(where: { $0.name == name }),
        let family = reading.family(name: relationship.destinationEntityName, within: within)
      else { continue }
      let reference = Reference(
        key: key, entity: place(role: .toOneEntity(entity: level.name, name: name)), family: family)
      switch role {
      case .toOneEntity: return .entity(reference)
      case .toOneOrder:
        return place(role: .toOneOrder(entity: level.name, name: name))
          .map { .place(reference, $0) } ?? .constant(.null)
      default: return .key(reference)
      }
    }
    return .constant(.null)
  }

  /// The owner of a row, if the pairs are those of a relationship that refers to it.
  private func following(_ role: Column.Role, pairs: StepReading.Pairs) -> CellRule {
    let isOrder: Bool
    switch role {
    case .toOneOrder, .ownerOrder: isOrder = true
    default: isOrder = false
    }
    switch pairs.form {
    case .targetRows:
      guard let key = place(named: pairs.ownerColumn) else { return .constant(.null) }
      let reference = Reference(key: key, entity: nil, family: pairs.owners)
      if isOrder {
        return place(named: pairs.targetOrder).map { .place(reference, $0) } ?? .constant(.null)
      }
      if case .toOneEntity = role { return .entity(reference) }
      return .key(reference)
    case .ownerRows:
      if isOrder { return .constant(.null) }
      return numbered(
        role, pairs: pairs,
        .firstOwner(
          table: pairs.table, column: pairs.targetColumn, entities: pairs.owners.kept.keys.sorted())
      )
    case .joinTable:
      if isOrder {
        return pairs.targetOrder.map { .paired(pairs, column: $0) } ?? .constant(.null)
      }
      return numbered(role, pairs: pairs, .paired(pairs, column: pairs.ownerColumn))
    }
  }

  /// The key, or the entity number if requested.
  private func numbered(
    _ role: Column.Role, pairs: StepReading.Pairs, _ key: CellRule
  ) -> CellRule {
    if case .toOneEntity = role { .owner(key, pairs.owners) } else { key }
  }

  private func owner(role: Column.Role, entity: String, name: String) -> CellRule {
    reading.pairs(of: name, declaredBy: entity).map { following(role, pairs: $0) }
      ?? .constant(.null)
  }
}
