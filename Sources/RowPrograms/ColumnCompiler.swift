import Expressions
import Mapping
import ObjectModel
import Schema

/// Compiles the columns of one destination table.
struct ColumnCompiler {
  let compiler: ProgramCompiler
  let table: EntityTable
  let sourceTable: EntityTable

  private var source: StoreSchema { compiler.source }
  private var destination: StoreSchema { compiler.destination }

  /// The operation for the rows of one entity; nil where the entity has no such property.
  func operation(
    for column: Column, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> ColumnOperation? {
    switch column.role {
    case .primaryKey, .entityNumber, .optimisticLock:
      preconditionFailure("the first three columns are no program's business")
    case .attribute(let entity, let name):
      guard pair.newLineage.contains(entity) else { return nil }
      return try attribute(name: name, pair: pair)
    case .toOne(let entity, let name), .toOneEntity(let entity, let name),
      .toOneOrder(let entity, let name):
      guard pair.newLineage.contains(entity) else { return nil }
      return try toOne(role: column.role, name: name, pair: pair)
    case .owner(let entity, let name), .ownerOrder(let entity, let name):
      return try owner(role: column.role, entity: entity, name: name, pair: pair)
    }
  }

  // MARK: Attributes

  private func attribute(
    name: String, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> ColumnOperation {
    guard
      let new = destination.model.leafAttribute(named: name, of: pair.new)
    else { return .constant(.null) }
    let origin =
      pair.mapping.attributeMappings.first { $0.name == name }.map(\.origin) ?? .standard
    guard let index = compiler.calls?.mapping(of: name, in: pair.mapping) else {
      return try attribute(new: new, origin: origin, pair: pair)
    }
    if case .computed = origin {
      return .call(mapping: index, property: name, standard: .constant(.null))
    }
    return .call(
      mapping: index, property: name, standard: try attribute(new: new, origin: origin, pair: pair))
  }

  private func attribute(
    new: Attribute, origin: PropertyOrigin, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> ColumnOperation {
    switch origin {
    case .relationship, .computed:
      throw CompileError.Place(entity: pair.new.name, property: new.name)
    case .standard: return .constant(StoredValue(value: new.defaultValue, of: new))
    case .constant(let value): return .constant(try stored(value, of: new, pair: pair))
    case .attribute(let oldName, let replacement):
      guard
        let old = source.model.leafAttribute(named: oldName, of: pair.old),
        let column = attributeColumn(name: oldName, of: pair.old)
      else { return .constant(try stored(replacement, of: new, pair: pair)) }
      let replacement = try stored(replacement, of: new, pair: pair)
      if old.storesBinaryDataExternally != new.storesBinaryDataExternally {
        return new.storesBinaryDataExternally
          ? .addExternalTag(column: column, replacingNull: replacement)
          : .removeExternalTag(column: column, replacingNull: replacement)
      }
      return old.type == new.type
        ? .copy(column: column, replacingNull: replacement)
        : .convert(column: column, to: new.type, replacingNull: replacement)
    }
  }

  /// A constant as the attribute holds it, which is what an expression of it would make.
  private func stored(
    _ value: AttributeValue, of attribute: Attribute, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> StoredValue {
    do throws(UnfitValue) {
      return StoredValue(value: try attribute.type.fitted(value), of: attribute)
    } catch {
      throw CompileError.Place(entity: pair.new.name, property: attribute.name)
    }
  }

  private func attributeColumn(name: String, of entity: Entity) -> String? {
    source.model.lineage(of: entity).lazy.compactMap {
      sourceTable.column(role: .attribute(entity: $0.name, name: name))?.name
    }.first
  }

  // MARK: To-one relationships

  private func toOne(
    role: Column.Role, name: String, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> ColumnOperation {
    guard let origin = try toOneOrigin(name, pair: pair) else { return .constant(.null) }
    switch origin {
    case .column(
      let column, let numberColumn, let orderColumn, let family, let within, let filter):
      let map = compiler.renumberings(ofFamily: family, within: within)
      // A mapping model may leave an entity out, to whose objects nothing else leads then.
      if map.isEmpty, compiler.calls != nil { return .constant(.null) }
      let operation: ColumnOperation =
        switch role {
        case .toOneEntity:
          number(map, key: column) { map in
            numberColumn.map { .renumber(column: $0, map: map) }
              ?? lookUp(column, family: family, map: map)
          }
        case .toOneOrder:
          orderColumn.map { .reference(column: $0, filter: filter) } ?? .constant(.null)
        default: .reference(column: column, filter: filter)
        }
      return kept(
        operation, key: column, unless: compiler.untaken(ofFamily: family, within: within))
    case .owner(let pairs, let family, let within):
      let key = pairs.form == .joinTable ? paired(pairs, value: pairs.ownerColumn) : ownerKey(pairs)
      switch role {
      case .toOneOrder: return order(pairs)
      case .toOneEntity:
        let map = compiler.renumberings(ofFamily: family, within: within)
        guard let entity = source.model.entity(name: family), let table = source.table(of: entity)
        else { return .constant(.null) }
        return .then(key, .lookUpNumber(column: "Z_PK", table: table.name, map: map))
      default: return key
      }
    }
  }

  /// The place of a row among those of its owner, which only a join table has.
  private func order(_ pairs: PairSource) -> ColumnOperation {
    guard pairs.form == .joinTable, let column = pairs.targetOrder else { return .constant(.null) }
    return paired(pairs, value: column)
  }

  /// What the pair of a row has, seen from the target.
  private func paired(_ pairs: PairSource, value: String) -> ColumnOperation {
    .paired(
      PairLookUp(
        table: pairs.table, own: pairs.targetColumn, other: pairs.ownerColumn, value: value,
        filter: pairs.filters.first { $0.keyColumn == pairs.ownerColumn }))
  }

  private func ownerKey(_ pairs: PairSource) -> ColumnOperation {
    .ownerKey(
      table: pairs.table, column: pairs.targetColumn, entities: pairs.rowEntities,
      others: pairs.untakenOwners)
  }

  /// An operation that leads nowhere where no mapping takes the object of a key which counts.
  private func kept(
    _ operation: ColumnOperation, key: String, unless rows: UntakenRows?
  ) -> ColumnOperation {
    guard let rows, operation != .constant(.null) else { return operation }
    return .unless(key: key, of: rows, operation)
  }

  /// The entity number of a reference: of an object that one of several mappings takes, as that one
  /// has it.
  private func number(
    _ map: [TableProgram.Renumbering], key: String,
    make: ([TableProgram.Renumbering]) -> ColumnOperation
  ) -> ColumnOperation {
    var result = map.compactMap { entry in
      entry.others.map { others in
        var own = entry
        own.others = nil
        return ColumnOperation.unless(key: key, of: others, make([own]))
      }
    }
    let whole = map.filter { $0.others == nil }
    if result.isEmpty || !whole.isEmpty { result.append(make(whole)) }
    return result.dropLast().reversed().reduce(result[result.count - 1]) { .either($1, $0) }
  }

  private func lookUp(
    _ column: String, family: String, map: [TableProgram.Renumbering]
  ) -> ColumnOperation {
    guard let entity = source.model.entity(name: family), let table = source.table(of: entity)
    else {
      return .constant(.null)
    }
    return .lookUpNumber(column: column, table: table.name, map: map)
  }

  private enum Origin {
    /// On the same row of the source.
    case column(
      String, number: String?, order: String?, family: String, within: String,
      filter: ReferenceFilter?)
    /// On the rows that lead to this one, which are of a family of the source, or in a join table.
    case owner(PairSource, family: String, within: String)
  }

  /// Where the source has a to-one relationship's key: by its own mapping, or by its inverse's.
  private func toOneOrigin(
    _ name: String, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> Origin? {
    guard
      let relationship = destination.model.relationship(named: name, of: pair.new)
    else { return nil }
    if let old = sourceRelationship(of: name, in: pair.mapping) {
      if let found = sameRow(old, of: pair.old, within: relationship.destinationEntityName) {
        return found
      }
      // It was to-many.
      guard let pairs = try compiler.pairs(of: name, in: pair.new.name)?.flipped,
        let owner = destination.model.entity(name: relationship.destinationEntityName)
      else { return nil }
      return origin(of: pairs, owner: owner)
    }
    guard let (owner, inverse) = destination.model.inverseWithOwner(of: relationship) else {
      return nil
    }
    return try compiler.pairs(of: inverse.name, in: owner.name).map { origin(of: $0, owner: owner) }
  }

  /// Where the key of a row's owner is, for pairs that are seen from the owner.
  private func origin(of pairs: PairSource, owner: Entity) -> Origin {
    let family = sourceRoot(of: owner)
    switch pairs.form {
    case .toOneOfTarget:
      return .column(
        pairs.ownerColumn, number: nil, order: pairs.targetOrder, family: family,
        within: owner.name, filter: pairs.ownerFilter)
    case .toOneOfOwner, .joinTable: return .owner(pairs, family: family, within: owner.name)
    }
  }

  /// The source hierarchy that the objects of a destination entity come from.
  private func sourceRoot(of entity: Entity) -> String {
    for member in destination.model.family(of: entity.name) {
      if let name = compiler.mapping.mapping(toDestination: member.name)?.sourceEntityName,
        let found = source.model.entity(name: name)
      {
        return source.model.root(of: found).name
      }
    }
    return entity.name
  }

  private func sourceRelationship(of name: String, in mapping: EntityMapping) -> String? {
    mapping.relationshipMappings.first { $0.name == name }?.sourceRelationshipName
  }

  private func sameRow(_ name: String, of entity: Entity, within: String) -> Origin? {
    for level in source.model.lineage(of: entity) {
      guard let column = sourceTable.column(role: .toOne(entity: level.name, name: name)),
        let relationship = level.relationships.first(where: { $0.name == name })
      else { continue }
      let family = relationship.destinationEntityName
      let number = sourceTable.column(role: .toOneEntity(entity: level.name, name: name))?.name
      return .column(
        column.name, number: number,
        order: sourceTable.column(role: .toOneOrder(entity: level.name, name: name))?.name,
        family: family, within: within,
        filter: number.flatMap { filter(byNumber: $0, family: family, within: within) })
    }
    return nil
  }

  private func filter(
    byNumber column: String, family: String, within: String
  ) -> ReferenceFilter? {
    guard compiler.losesObjects(ofFamily: family, within: within) else { return nil }
    return ReferenceFilter(
      column: column, table: nil,
      kept: compiler.kept(ofFamily: family, within: within))
  }

  // MARK: To-many relationships without inverse

  private func owner(
    role: Column.Role, entity: String, name: String, pair: ProgramCompiler.Pair
  ) throws(CompileError.Place) -> ColumnOperation? {
    guard
      let relationship = destination.model.entity(name: entity)?.relationships.first(where: {
        $0.name == name
      }), pair.newLineage.contains(relationship.destinationEntityName)
    else { return nil }
    guard let pairs = try compiler.pairs(of: name, in: entity) else { return .constant(.null) }
    switch (pairs.form, role) {
    case (.toOneOfTarget, .owner):
      return kept(
        .reference(column: pairs.ownerColumn, filter: pairs.ownerFilter), key: pairs.ownerColumn,
        unless: pairs.untakenOwners)
    case (.toOneOfTarget, _):
      return kept(
        pairs.targetOrder.map { .reference(column: $0, filter: pairs.ownerFilter) }
          ?? .constant(.null), key: pairs.ownerColumn, unless: pairs.untakenOwners)
    case (.toOneOfOwner, .owner): return ownerKey(pairs)
    case (.toOneOfOwner, _): return .constant(.null)
    case (.joinTable, .owner): return paired(pairs, value: pairs.ownerColumn)
    case (.joinTable, _): return order(pairs)
    }
  }

  // MARK: Order

  /// The numbering that an order column needs where the source had no order.
  func orderFill(for column: Column, pairs: [ProgramCompiler.Pair]) -> OrderFill? {
    let ownerRole: Column.Role
    switch column.role {
    case .toOneOrder(let entity, let name): ownerRole = .toOne(entity: entity, name: name)
    case .ownerOrder(let entity, let name): ownerRole = .owner(entity: entity, name: name)
    default: return nil
    }
    guard let owner = table.column(role: ownerRole) else { return nil }
    let hadOrder = pairs.contains { pair in
      switch (try? operation(for: column, pair: pair))?.undropped {
      case .reference?, .paired?: true
      default: false
      }
    }
    let hasRows = pairs.contains { pair in
      guard let found = try? operation(for: owner, pair: pair) else { return false }
      return found != .constant(.null)
    }
    guard hasRows, !hadOrder else { return nil }
    return OrderFill(
      table: table.name, ownerColumn: owner.name, keyColumn: "Z_PK", orderColumn: column.name)
  }
}
