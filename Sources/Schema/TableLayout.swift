import ObjectModel

/// Gives names and places to the columns of a model's tables.
struct TableLayout {
  let model: ManagedObjectModel
  let numbers: EntityNumbers
  let naming: JoinNaming
  /// The to-many relationships without inverse that lead to each entity, and who has them, in the
  /// order of columns.
  private let owned: [String: [(owner: Entity, relationship: Relationship)]]

  init(model: ManagedObjectModel, numbers: EntityNumbers, naming: JoinNaming) {
    self.model = model
    self.numbers = numbers
    self.naming = naming
    var owned: [String: [(owner: Entity, relationship: Relationship)]] = [:]
    for owner in numbers.names.compactMap({ model.entity(name: $0) }) {
      for relationship in owner.relationships.sorted(by: { $0.name < $1.name })
      where relationship.isToMany && !relationship.isTransient && relationship.inverseName == nil {
        owned[relationship.destinationEntityName, default: []].append((owner, relationship))
      }
    }
    self.owned = owned
  }

  /// The groups in which a table lists its columns, in this order.
  private enum ColumnGroup: Int, CaseIterable {
    case integer, order, float, decimal, string, uri, uuid, transformable, binary
  }

  func table(root: Entity) -> EntityTable {
    let family = model.family(of: root.name)
    var groups: [ColumnGroup: [Column]] = [:]
    var names = UniqueNames()
    for entity in family {
      // The elements of a composite stand together, in declared order, and without its name.
      for attribute in entity.attributes.sorted(by: { $0.name < $1.name }).flatMap(\.leaves)
      where !attribute.isTransient {
        let group = Self.group(of: attribute.type)
        groups[group, default: []].append(
          Column(
            name: "Z" + names.unique(attribute.columnBase),
            type: DeclaredType(of: attribute.type),
            role: .attribute(entity: entity.name, name: attribute.name)))
      }
      for relationship in entity.relationships.sorted(by: { $0.name < $1.name })
      where !relationship.isTransient && !relationship.isToMany {
        append(relationship, of: entity, named: &names, to: &groups)
      }
      appendOwners(of: entity, named: &names, to: &groups)
    }
    return EntityTable(
      name: "Z" + root.name.uppercased(), rootName: root.name, entityNames: family.map(\.name),
      columns: [.primaryKey, .entityNumber, .optimisticLock]
        + ColumnGroup.allCases.flatMap { groups[$0] ?? [] })
  }

  private func append(
    _ relationship: Relationship, of entity: Entity, named names: inout UniqueNames,
    to groups: inout [ColumnGroup: [Column]]
  ) {
    let base = names.unique(relationship.name.uppercased())
    let place = (entity: entity.name, name: relationship.name)
    groups[.integer, default: []].append(
      Column(name: "Z" + base, type: .integer, role: .toOne(entity: place.entity, name: place.name))
    )
    if !model.subentities(of: relationship.destinationEntityName).isEmpty,
      let number = numbers[relationship.destinationEntityName]
    {
      groups[.integer, default: []].append(
        Column(
          name: "Z\(number.rawValue)_\(base)", type: .integer,
          role: .toOneEntity(entity: place.entity, name: place.name)))
    }
    if let inverse = model.inverse(of: relationship), inverse.isToMany, inverse.isOrdered {
      groups[.order, default: []].append(
        Column(
          name: "Z_FOK_" + base, type: .integer,
          role: .toOneOrder(entity: place.entity, name: place.name)))
    }
  }

  /// Columns for the to-many relationships without inverse that lead to this entity.
  private func appendOwners(
    of destination: Entity, named names: inout UniqueNames, to groups: inout [ColumnGroup: [Column]]
  ) {
    for (owner, relationship) in owned[destination.name] ?? [] {
      guard let number = numbers[owner.name] else { continue }
      let base = names.unique("\(number.rawValue)\(relationship.name.uppercased())")
      groups[.integer, default: []].append(
        Column(
          name: "Z" + base, type: .integer,
          role: .owner(entity: owner.name, name: relationship.name)))
      if relationship.isOrdered {
        groups[.order, default: []].append(
          Column(
            name: "Z_FOK_" + base, type: .integer,
            role: .ownerOrder(entity: owner.name, name: relationship.name)))
      }
    }
  }

  /// One table for each pair of many-to-many relationships that are each other's inverse.
  func joinTables() -> [JoinTable] {
    let columns = joinColumns()
    var result: [JoinTable] = []
    for entity in numbers.names.compactMap({ model.entity(name: $0) }) {
      for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
        guard let pair = manyToMany(relationship, of: entity),
          isFirst(relationship, of: entity, inverse: pair),
          let table = joinTable(
            relationship: relationship, of: entity, inverse: pair, columns: columns)
        else { continue }
        result.append(table)
      }
    }
    return result
  }

  private func joinTable(
    relationship: Relationship, of entity: Entity, inverse: (Entity, Relationship),
    columns: [RelationshipPlace: String]
  ) -> JoinTable? {
    let (otherEntity, other) = inverse
    guard let number = numbers[entity.name], let otherNumber = numbers[otherEntity.name],
      let firstBase = columns[RelationshipPlace(entity: entity.name, name: relationship.name)]
    else { return nil }
    let isReflexive = entity.name == otherEntity.name && relationship.name == other.name
    // The second end of a relationship that is its own inverse has no name of its own.
    let secondBase =
      isReflexive ? nil : columns[RelationshipPlace(entity: otherEntity.name, name: other.name)]
    let first = JoinTable.End(
      entityName: entity.name, relationshipName: relationship.name, keyColumn: "Z_" + firstBase,
      orderColumn: other.isOrdered ? "Z_FOK_" + firstBase : nil)
    let second = JoinTable.End(
      entityName: otherEntity.name, relationshipName: other.name,
      keyColumn: secondBase.map { "Z_" + $0 } ?? "REFLEXIVE",
      orderColumn: relationship.isOrdered ? "Z_FOK_" + (secondBase ?? "REFLEXIVE") : nil)
    return JoinTable(
      name: "Z_\(number.rawValue)\(relationship.name.uppercased())",
      alternateName: "Z_\(otherNumber.rawValue)\(other.name.uppercased())",
      first: first, second: second)
  }

  /// The column, without its prefix, in which each many-to-many relationship keeps its owner's key.
  ///
  /// It bears the owner's number and the inverse's name; two inverses of one name get a suffix in
  /// the alphabetical order of the owner's relationships (a real store has `Z_23USERS` for
  /// `reactions` and `Z_23USERS1` for `systemMessages`, both to a `users`).
  private func joinColumns() -> [RelationshipPlace: String] {
    var result: [RelationshipPlace: String] = [:]
    for entity in model.entities {
      guard let number = numbers[entity.name] else { continue }
      var names = UniqueNames()
      for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
        guard let (_, inverse) = manyToMany(relationship, of: entity) else { continue }
        let base = "\(number.rawValue)\(inverse.name.uppercased())"
        let suffix = naming.suffixes[entity.name]?[relationship.name]
        result[RelationshipPlace(entity: entity.name, name: relationship.name)] =
          suffix.map { base + $0 } ?? names.unique(base)
      }
    }
    return result
  }

  /// The inverse and its entity where both sides are to-many.
  private func manyToMany(
    _ relationship: Relationship, of entity: Entity
  ) -> (Entity, Relationship)? {
    guard relationship.isToMany, !relationship.isTransient,
      let (owner, inverse) = model.inverseWithOwner(of: relationship),
      inverse.isToMany, !inverse.isTransient
    else { return nil }
    return (owner, inverse)
  }

  /// The end with the smaller entity number comes first; of one entity, the one that is known to
  /// name the table, else the larger name, as most fresh stores have it.
  private func isFirst(
    _ relationship: Relationship, of entity: Entity, inverse: (Entity, Relationship)
  ) -> Bool {
    guard let mine = numbers[entity.name], let other = numbers[inverse.0.name] else { return false }
    guard mine == other else { return mine < other }
    let known = naming.relationships[entity.name] ?? []
    if known.contains(relationship.name) != known.contains(inverse.1.name) {
      return known.contains(relationship.name)
    }
    return relationship.name >= inverse.1.name
  }

  private static func group(of type: AttributeType) -> ColumnGroup {
    switch type {
    case .integer16, .integer32, .integer64, .boolean, .undefined, .objectID, .composite: .integer
    case .double, .float, .date: .float
    case .decimal: .decimal
    case .string: .string
    case .uri: .uri
    case .uuid: .uuid
    case .transformable: .transformable
    case .binary: .binary
    }
  }
}

extension Attribute {
  /// The column's name without its prefix, and without a number: that of an element alone.
  fileprivate var columnBase: String {
    (isElement ? String(name.drop { $0 != "." }.dropFirst()) : name).uppercased()
  }
}

/// A relationship named by the entity that declares it.
struct RelationshipPlace: Hashable {
  var entity: String
  var name: String
}

/// Hands out names, and numbered ones where a name is taken: `TEXT`, `TEXT1`, `TEXT2`.
struct UniqueNames {
  private var taken: Set<String> = []

  mutating func unique(_ name: String) -> String {
    if taken.insert(name).inserted { return name }
    var number = 1
    while !taken.insert("\(name)\(number)").inserted { number += 1 }
    return "\(name)\(number)"
  }
}
