import Expressions
import ObjectModel

/// Derives the indexes of a model's tables, under the names that today's Core Data gives them.
struct IndexLayout {
  let model: ManagedObjectModel
  let tables: [EntityTable]
  let joinTables: [JoinTable]

  func indexes() -> ([Index], [StoreSchema.Omission]) {
    var indexes: [Index] = []
    var omissions: [StoreSchema.Omission] = []
    for table in tables {
      indexes += keyIndexes(of: table)
      for entity in table.entityNames.compactMap({ model.entity(name: $0) }) {
        for wanted in fetchIndexes(of: entity) where !isOfRelationship(wanted, entity: entity) {
          do {
            indexes.append(try index(wanted: wanted, of: entity, in: table))
          } catch {
            omissions.append(
              .init(entity: entity.name, index: wanted.name, reason: error.reason))
          }
        }
        indexes += uniqueIndexes(of: entity, in: table)
      }
    }
    for table in joinTables {
      // Named after the table and its second key, keyed from the second to the first.
      indexes.append(
        Index(
          name: "\(table.name)_\(table.second.keyColumn)_INDEX", table: table.name,
          parts: [
            .init(column: table.second.keyColumn), .init(column: table.first.keyColumn),
          ]))
    }
    return (indexes, omissions)
  }

  /// The indexes of every to-one relationship, and of the entity number where a table has several.
  private func keyIndexes(of table: EntityTable) -> [Index] {
    var result: [Index] = []
    for column in table.columns {
      switch column.role {
      case .toOne, .owner:
        result.append(
          Index(
            name: "\(table.name)_\(column.name)_INDEX", table: table.name,
            parts: [.init(column: column.name)]))
      default: break
      }
    }
    if table.entityNames.count > 1 {
      result.append(
        Index(
          name: "\(table.name)_Z_ENT_INDEX", table: table.name, parts: [.init(column: "Z_ENT")]))
    }
    return result
  }

  /// The declared fetch indexes, and those that the flags of older models stand for.
  private func fetchIndexes(of entity: Entity) -> [FetchIndex] {
    var result = entity.fetchIndexes
    var names = Set(result.map(\.name))
    func add(_ properties: [String]) {
      let name = properties.joined(separator: "_")
      guard names.insert(name).inserted else { return }
      result.append(FetchIndex(name: name, elements: properties.map { .init(property: $0) }))
    }
    // Xcode lets the flag stand at a transient attribute, which no column holds.
    for attribute in entity.attributes.sorted(by: { $0.name < $1.name })
    where attribute.isIndexed && !attribute.isTransient {
      // A flag adds nothing to a fetch index on the same attribute.
      let elements = [FetchIndex.Element(property: attribute.name)]
      if !entity.fetchIndexes.contains(where: { $0.elements == elements }) { add([attribute.name]) }
    }
    for compound in entity.compoundIndexes { add(compound) }
    return result
  }

  private struct Unsupported: Error { var reason: String }

  private func index(
    wanted: FetchIndex, of entity: Entity, in table: EntityTable
  ) throws(Unsupported) -> Index {
    var parts: [Index.Part] = []
    for element in wanted.elements {
      guard element.kind == .binary else {
        throw Unsupported(reason: "an R-tree index, which no known store has")
      }
      parts.append(
        .init(
          column: try column(of: element, entity: entity, in: table),
          isAscending: element.isAscending))
    }
    guard !parts.isEmpty else { throw Unsupported(reason: "an index without elements") }
    var index = Index(name: "Z_\(entity.name)_\(wanted.name)", table: table.name, parts: parts)
    index.isExplicit = true
    if let predicate = wanted.partialPredicate {
      let renderer = ConditionRenderer { self.column(of: $0, entity: entity, in: table) }
      guard let condition = renderer.render(predicate) else {
        throw Unsupported(reason: "a partial index whose condition has no SQL form")
      }
      index.condition = condition
    }
    return index
  }

  /// The column that an element indexes.
  private func column(
    of element: FetchIndex.Element, entity: Entity, in table: EntityTable
  ) throws(Unsupported) -> String {
    let property: String
    switch (element.propertyName, element.expression) {
    case (let name?, _): property = name
    // Real stores have the object itself and its entity in indexes.
    case (nil, .evaluatedObject?): return Column.primaryKey.name
    case (nil, .keyPath(nil, let path)?), (nil, .keyPath(.evaluatedObject, let path)?):
      property = path
    case (nil, let other):
      throw Unsupported(reason: "the expression \(other.map { "\($0)" } ?? "") has no column")
    }
    guard !isComposite(property, of: entity) else {
      throw Unsupported(reason: "\(property) is composite, and no known store has such an index")
    }
    if let column = column(of: property, entity: entity, in: table) { return column }
    switch property {
    case "self": return Column.primaryKey.name
    case "entity": return Column.entityNumber.name
    default: throw Unsupported(reason: "\(property) is not stored")
    }
  }

  /// Whether Core Data makes no index: of a to-many relationship, which no column holds, or of a
  /// single to-one relationship, whose key has an index anyhow.
  private func isOfRelationship(_ index: FetchIndex, entity: Entity) -> Bool {
    let relationships = model.allRelationships(of: entity)
    let indexed = index.elements.compactMap { element in
      relationships.first { $0.name == element.propertyName }
    }
    if indexed.contains(where: \.isToMany) { return true }
    return !indexed.isEmpty && index.elements.count == 1 && index.partialPredicate == nil
      && index.elements[0].isAscending
  }

  /// Whether a property is a composite attribute, or an element of one.
  private func isComposite(_ property: String, of entity: Entity) -> Bool {
    let name = property.split(separator: ".").first.map(String.init) ?? property
    return model.allAttributes(of: entity).contains { $0.name == name && $0.type == .composite }
  }

  private func uniqueIndexes(of entity: Entity, in table: EntityTable) -> [Index] {
    entity.uniquenessConstraints.compactMap { constraint in
      let columns = constraint.compactMap { column(of: $0, entity: entity, in: table) }
      guard columns.count == constraint.count, !columns.isEmpty else { return nil }
      var index = Index(
        name: "Z_\(entity.name)_UNIQUE_\(constraint.joined(separator: "_"))", table: table.name,
        parts: columns.map { .init(column: $0) })
      index.isUnique = true
      index.isExplicit = true
      return index
    }
  }

  private func column(of property: String, entity: Entity, in table: EntityTable) -> String? {
    for level in model.lineage(of: entity) {
      let roles: [Column.Role] = [
        .attribute(entity: level.name, name: property), .toOne(entity: level.name, name: property),
      ]
      if let found = roles.compactMap({ table.column(role: $0)?.name }).first { return found }
    }
    return nil
  }
}

/// Writes the predicate of a partial index as an SQL condition, as far as one column at a time
/// goes.
struct ConditionRenderer {
  let column: (String) -> String?

  func render(_ predicate: ValuePredicate) -> String? {
    switch predicate {
    case .always(true): return "1"
    case .always(false): return "0"
    case .and(let parts): return join(parts, separator: " AND ")
    case .or(let parts): return join(parts, separator: " OR ")
    case .not(let part): return render(part).map { "NOT (\($0))" }
    case .comparison(let left, let comparison, let right, .direct, false, false):
      return compare(left, comparison: comparison, right: right)
    case .comparison, .unparsed: return nil
    }
  }

  private func join(_ parts: [ValuePredicate], separator: String) -> String? {
    let rendered = parts.compactMap(render)
    guard rendered.count == parts.count, !parts.isEmpty else { return nil }
    let joined = rendered.joined(separator: separator)
    return parts.count > 1 ? "(\(joined))" : joined
  }

  private func compare(
    _ left: ValueExpression, comparison: ValuePredicate.Comparison, right: ValueExpression
  ) -> String? {
    guard let first = operand(left) else { return nil }
    if case .constant(.null) = right {
      switch comparison {
      case .equal: return "\(first) IS NULL"
      case .notEqual: return "\(first) IS NOT NULL"
      default: return nil
      }
    }
    guard let second = operand(right) else { return nil }
    let symbol: String
    switch comparison {
    case .lessThan: symbol = "<"
    case .lessThanOrEqual: symbol = "<="
    case .greaterThan: symbol = ">"
    case .greaterThanOrEqual: symbol = ">="
    case .equal: symbol = "="
    case .notEqual: symbol = "<>"
    default: return nil
    }
    return "\(first) \(symbol) \(second)"
  }

  private func operand(_ expression: ValueExpression) -> String? {
    switch expression {
    case .keyPath(operand: nil, let path), .keyPath(operand: .evaluatedObject?, let path):
      return column(path).map(SQL.identifier)
    case .constant(.boolean(let value)): return value ? "1" : "0"
    case .constant(.integer(let value)): return "\(value)"
    case .constant(.real(let value)) where value.isFinite: return "\(value)"
    case .constant(.string(let value)): return SQL.literal(text: value)
    default: return nil
    }
  }
}
