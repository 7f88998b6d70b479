import Expressions
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat

/// Counts objects of the result that would break a uniqueness constraint.
extension ConditionChecker {
  /// Rows that agree in a constraint.
  func duplicates(of properties: [String], condition: Condition) -> Question? {
    guard let place = place(name: condition.sourceEntity) else { return nil }
    if let made { return duplicates(of: properties, condition: condition, place: place, in: made) }
    guard
      let entityMapping = mapping.mapping(toDestination: condition.destinationEntity)
    else { return nil }
    var columns: [String] = []
    var defaulted: [String] = []
    for property in properties {
      guard
        let origin = entityMapping.attributeMappings.first(where: { $0.name == property })?.origin
      else { return nil }
      // A constant is the same everywhere; nil never equals nil.
      if case .attribute(let name, let replacement) = origin,
        let column = column(attribute: name, place: place, anyEntity: true)
      {
        columns.append(
          future(
            column,
            of: view.model.leafAttribute(named: name, of: place.entity)?.type,
            property: property, replacement: replacement, condition: condition))
        if replacement != .null { defaulted.append("(\(column)) IS NULL") }
      } else if origin == .standard || origin == .constant(.null) {
        return nil
      }
    }
    let present =
      columns.map { "\($0) IS NOT NULL" } + [isCompared(condition.destinationEntity, of: place)]
    return .groups(
      Groups(
        table: place.rows.sourceTable, from: place.rows.from,
        test: present.joined(separator: " AND "), by: columns, defaulted: any(of: defaulted)))
  }

  private func any(of tests: [String]) -> String? {
    tests.isEmpty ? nil : "(\(tests.joined(separator: " OR ")))"
  }

  /// Rows that agree in the columns of the table that a program makes.
  private func duplicates(
    of properties: [String], condition: Condition, place: Place, in program: MigrationProgram
  ) -> Question? {
    guard let new = destination.model.entity(name: condition.destinationEntity),
      let table = destination.table(of: new),
      let rows = program.tables.first(where: { $0.destinationTable == table.name })
    else { return nil }
    var values: [String] = []
    var tests = [isCompared(condition.destinationEntity, of: place)]
    var defaulted: [String] = []
    for property in properties {
      guard let name = column(of: property, in: table, of: new),
        let made = rows.columns.first(where: { $0.name == name }),
        let value = rows.expression(of: name, entity: nil, schema: "main")
      else { return nil }
      let present = Set(made.operations).subtracting([.constant(.null)])
      // nil never equals nil.
      if present.isEmpty { return nil }
      tests.append("(\(value)) IS NOT NULL")
      // A constant is the same everywhere.
      if case .constant? = present.first, present.count == 1 { continue }
      values.append(value)
      defaulted += present.compactMap(\.columnBehindDefault).map {
        "s.\(SQL.identifier(name: $0)) IS NULL"
      }
    }
    return .groups(
      Groups(
        table: place.rows.sourceTable, from: place.rows.from,
        test: tests.joined(separator: " AND "), by: values, defaulted: any(of: defaulted)))
  }

  /// The column of an attribute or of a to-one relationship, own or inherited.
  func column(of property: String, in table: EntityTable, of entity: Entity) -> String? {
    destination.model.lineage(of: entity).lazy.compactMap { level in
      table.column(role: .attribute(entity: level.name, name: property))?.name
        ?? table.column(role: .toOne(entity: level.name, name: property))?.name
    }.first
  }

  /// The demand that objects break: where all of them get one default value, none can stay, and
  /// where they agree by the default alone, none is a duplicate yet.
  func refused(_ condition: Condition, _ question: Question) throws -> Condition.Demand {
    guard case .unique(let properties) = condition.demand, case .groups(let groups) = question
    else { return condition.demand }
    if groups.by.isEmpty { return .defaultsDiffer(properties: properties) }
    guard let own = groups.ownDuplicates, try reader.number(sql: own) == 0 else {
      return condition.demand
    }
    let maker = mapping.mapping(toDestination: condition.destinationEntity)
    let origin = maker?.attributeMappings.first { $0.name == properties[0] }?.origin
    guard properties.count == 1, case .attribute(let source, _)? = origin else {
      return .defaultsDiffer(properties: properties)
    }
    return .defaultsDiffer(properties: properties, beside: source)
  }

  /// The destination entity that declares a constraint; that of the objects for any other demand.
  func declaringEntity(of condition: Condition) -> String {
    guard let entity = destination.model.entity(name: condition.destinationEntity) else {
      return condition.destinationEntity
    }
    let lineage = destination.model.lineage(of: entity)
    let found =
      switch condition.demand {
      case .unique(let properties):
        lineage.last { $0.uniquenessConstraints.contains(properties) }
      case .singleOwner, .singleObject:
        lineage.first { $0.relationships.contains { $0.name == condition.property } }
      default: entity
      }
    return found?.name ?? condition.destinationEntity
  }

  /// The conditions that rows can break, with what to count; what several entities inherit is there
  /// once where the rows of all of them are compared.
  func questions(_ conditions: [Condition]) -> [(Condition, Question)] {
    var seen: Set<[String]> = []
    return conditions.compactMap { condition in
      guard let question = question(condition: condition) else { return nil }
      if case .groups(let groups) = question {
        let key = [groups.from, groups.test, groups.key, declaringEntity(of: condition)]
        let names = [condition.property ?? ""] + condition.demand.properties
        guard seen.insert(key + groups.by + names).inserted else { return nil }
      }
      return (condition, question)
    }
  }

  /// An SQL expression for the value that a column will have in the destination.
  private func future(
    _ column: String, of type: AttributeType?, property: String, replacement: AttributeValue,
    condition: Condition
  ) -> String {
    guard let entity = destination.model.entity(name: condition.destinationEntity),
      let new = destination.model.leafAttribute(named: property, of: entity)
    else { return column }
    let value = type == new.type ? "(\(column))" : "(\(new.type.converting("(\(column))")))"
    let other = StoredValue(value: replacement, of: new)
    return other == .null ? value : "ifnull(\(value), \(other.sql))"
  }

  /// A test for the rows that are in the index of a uniqueness constraint.
  private func isCompared(_ destinationEntity: String, of place: Place) -> String {
    guard let entity = destination.model.entity(name: destinationEntity) else { return "0" }
    let family = destination.model.family(of: destination.model.root(of: entity).name).map(\.name)
    let makers = mapping.entityMappings.filter {
      $0.sourceEntityName != nil && $0.destinationEntityName.map(family.contains) ?? false
    }
    func numbers(_ makers: [EntityMapping]) -> [EntityNumber] {
      makers.compactMap(\.sourceEntityName).compactMap { view.schema.numbers[$0] }
    }
    let tests = makers.compactMap { maker in
      exclusion(maker, of: place).map { "\(place.rows.isOf(numbers([maker]))) AND \($0)" }
    }
    let whole = makers.filter { exclusion($0, of: place) == nil }
    guard !tests.isEmpty else { return place.rows.isOf(numbers(whole)) }
    return "(\(([place.rows.isOf(numbers(whole))] + tests).joined(separator: " OR ")))"
  }
}

extension Condition.Demand {
  /// The properties of a constraint.
  fileprivate var properties: [String] {
    if case .unique(let properties) = self { properties } else { [] }
  }
}
