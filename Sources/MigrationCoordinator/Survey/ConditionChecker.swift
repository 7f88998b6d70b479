import ValueExpressions
import GRDB
import Mapping
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Holds what a mapping demands against the rows of a store.
struct ConditionChecker {
  let survey: StoreSurvey
  let destination: StoreSchema
  let mapping: MappingModel

  /// How many keys of offending objects are told.
  private static let keysTold = 10

  /// What breaks the condition, or nil where it holds.
  func check(_ condition: Condition) throws -> Hindrance? {
    let found: (count: Int64, keys: [Int64])?
    switch condition.demand {
    case .noObjects, .noObjectsOfAbstract: found = try offenders(condition, where: "1")
    case .noMissingValues(let attribute):
      found = try column(attribute, condition).flatMap {
        try offenders(condition, where: "\($0) IS NULL")
      }
    case .valuesFit(let attribute, let type):
      found = try column(attribute, condition).flatMap { column in
        try AttributeType(name: type).flatMap {
          try offenders(condition, where: Self.outside($0, column))
        }
      }
    case .unique(let properties): found = try duplicates(of: properties, condition)
    case .singleOwner(let relationship):
      found = try toOneColumn(relationship, condition).flatMap { column in
        try sharedTargets(column, condition)
      }
    }
    guard let found, found.count > 0 else { return nil }
    return Hindrance(
      reason: .condition(condition.demand, count: found.count, keys: found.keys),
      entity: condition.destinationEntity, property: condition.property, code: condition.code)
  }

  private func place(_ entity: String) -> (table: EntityTable, number: Int64)? {
    guard let found = survey.model.entity(entity), let table = survey.schema.table(of: found),
      let number = survey.schema.numbers[entity]
    else { return nil }
    return (table, number.rawValue)
  }

  private func offenders(
    _ condition: Condition, where test: String
  ) throws -> (count: Int64, keys: [Int64])? {
    guard let (table, number) = place(condition.sourceEntity) else { return nil }
    let rows = "FROM \(SQL.identifier(table.name)) WHERE Z_ENT = \(number) AND (\(test))"
    let count = try survey.reader.number("SELECT count(*) \(rows)")
    return (count, count == 0 ? [] : try keys("SELECT Z_PK \(rows) ORDER BY 1"))
  }

  private func keys(_ sql: String) throws -> [Int64] {
    try survey.reader.connection.run { db in
      try Int64.fetchAll(db, sql: "\(sql) LIMIT \(Self.keysTold)")
    }
  }

  private func column(_ attribute: String, _ condition: Condition) -> String? {
    guard let (table, _) = place(condition.sourceEntity),
      let entity = survey.model.entity(condition.sourceEntity)
    else { return nil }
    return survey.model.lineage(of: entity).lazy.compactMap {
      table.column(.attribute(entity: $0.name, name: attribute))
    }.first.map { SQL.identifier($0.name) }
  }

  private func toOneColumn(_ relationship: String, _ condition: Condition) -> String? {
    guard let (table, _) = place(condition.sourceEntity),
      let entity = survey.model.entity(condition.sourceEntity)
    else { return nil }
    return survey.model.lineage(of: entity).lazy.compactMap {
      table.column(.toOne(entity: $0.name, name: relationship))
    }.first.map { SQL.identifier($0.name) }
  }

  /// Numbers that lose more than a fraction in a type; a real is whole after truncation.
  private static func outside(_ type: AttributeType, _ column: String) -> String {
    if type == .float { return "abs(\(column)) > 3.4028234663852886e38" }
    guard let range = type.integerRange else { return "0" }
    if type == .integer64 {
      return "typeof(\(column)) <> 'integer' AND (\(column) >= 9223372036854775808.0 "
        + "OR \(column) < -9223372036854775808.0)"
    }
    return "\(column) >= \(range.upperBound + 1) OR \(column) <= \(range.lowerBound - 1)"
  }

  private func duplicates(
    of properties: [String], _ condition: Condition
  ) throws -> (count: Int64, keys: [Int64])? {
    guard let (table, _) = place(condition.sourceEntity),
      let entityMapping = mapping.mapping(toDestination: condition.destinationEntity)
    else { return nil }
    var columns: [String] = []
    for property in properties {
      guard
        let origin = entityMapping.attributeMappings.first(where: { $0.name == property })?.origin
      else { return nil }
      // A constant is the same everywhere; nil never equals nil.
      if case .attribute(let name, let replacement) = origin,
        let column = column(name, condition)
      {
        columns.append(future(column, property, replacement, condition))
      } else if origin == .standard || origin == .constant(.null) {
        return nil
      }
    }
    let family = numbers(inFamilyOf: condition.destinationEntity)
    let present = columns.map { "\($0) IS NOT NULL" } + ["Z_ENT IN (\(family))"]
    let group = columns.isEmpty ? "" : "GROUP BY \(columns.joined(separator: ", "))"
    let groups = """
      FROM \(SQL.identifier(table.name)) WHERE \(present.joined(separator: " AND ")) \(group) \
      HAVING count(*) > 1
      """
    let count = try survey.reader.number("SELECT total(n) FROM (SELECT count(*) AS n \(groups))")
    return (count, count == 0 ? [] : try keys("SELECT min(Z_PK) \(groups) ORDER BY 1"))
  }

  /// The value that a column's will be in the destination, as an SQL expression.
  private func future(
    _ column: String, _ property: String, _ replacement: AttributeValue, _ condition: Condition
  ) -> String {
    guard let entity = destination.model.entity(condition.destinationEntity),
      let new = destination.model.allAttributes(of: entity).first(where: { $0.name == property })
    else { return column }
    let value =
      switch new.type {
      case .integer16, .integer32, .integer64: "CAST(\(column) AS INTEGER)"
      case .boolean: "(\(column) <> 0)"
      default: column
      }
    let other = StoredValue(replacement, of: new)
    return other == .null ? value : "ifnull(\(value), \(other.sql))"
  }

  /// The source numbers of all entities whose rows share the constraint's index.
  private func numbers(inFamilyOf destinationEntity: String) -> String {
    guard let entity = destination.model.entity(destinationEntity) else { return "NULL" }
    return destination.model.family(of: destination.model.root(of: entity).name)
      .compactMap { mapping.mapping(toDestination: $0.name)?.sourceEntityName }
      .compactMap { survey.schema.numbers[$0].map { "\($0.rawValue)" } }.joined(separator: ", ")
  }

  private func sharedTargets(
    _ column: String, _ condition: Condition
  ) throws -> (count: Int64, keys: [Int64])? {
    guard let (table, number) = place(condition.sourceEntity) else { return nil }
    let groups = """
      FROM \(SQL.identifier(table.name)) WHERE Z_ENT = \(number) AND \(column) IS NOT NULL \
      GROUP BY \(column) HAVING count(*) > 1
      """
    let count = try survey.reader.number("SELECT total(n) FROM (SELECT count(*) AS n \(groups))")
    return (count, count == 0 ? [] : try keys("SELECT min(Z_PK) \(groups) ORDER BY 1"))
  }

  // MARK: Losses

  /// The loss with its count, or nil where nothing is lost.
  func loss(_ possible: PossibleLoss) throws -> Loss? {
    guard let (table, number) = place(possible.entity),
      let entity = survey.model.entity(possible.entity)
    else { return nil }
    let rows = "FROM \(SQL.identifier(table.name)) WHERE Z_ENT = \(number)"
    func counted(_ kind: Loss.Kind, _ property: String?, _ sql: String) throws -> Loss? {
      let count = try survey.reader.number(sql)
      return count == 0
        ? nil : Loss(kind: kind, entity: possible.entity, property: property, count: count)
    }
    switch possible.kind {
    case .entity: return try counted(.entity, nil, "SELECT count(*) \(rows)")
    case .attribute(let name):
      let condition = Condition(
        .noObjectsOfAbstract, sourceEntity: possible.entity, destinationEntity: possible.entity)
      guard let column = column(name, condition) else { return nil }
      return try counted(.attribute, name, "SELECT count(\(column)) \(rows)")
    case .relationship(let name):
      let finder = PairCounter(schema: survey.schema, entity: entity, number: number)
      guard let sql = finder.count(of: name) else { return nil }
      return try counted(.relationship, name, sql)
    }
  }

  // MARK: External files

  /// Values that have to come out of files which are not there.
  func missingExternalFiles(_ program: MigrationProgram) throws -> [Hindrance] {
    var result: [Hindrance] = []
    let folder = MigrationPaths.support(of: survey.store).appending("_EXTERNAL_DATA")
    for table in program.tables {
      for column in table.columns {
        guard
          let name = column.operations.lazy.compactMap(\.untaggedColumn).first
        else { continue }
        for file in try externalNames(table.sourceTable, SQL.identifier(name)) {
          guard let component = FilePath.Component(file),
            try Files.fileStatusIfPresent(folder.appending(component)) != nil
          else {
            result.append(
              Hindrance(
                reason: .externalFileMissing(file), entity: table.destinationTable,
                property: column.name, code: .migration))
            continue
          }
        }
      }
    }
    return result
  }

  private func externalNames(_ table: String, _ column: String) throws -> [String] {
    try survey.reader.connection.run { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT CAST(substr(\(column), 2, 36) AS TEXT) FROM \(SQL.identifier(table))
          WHERE substr(\(column), 1, 1) = X'02'
          """)
    }
  }
}

extension ColumnOperation {
  /// The column out of whose files bytes are taken.
  fileprivate var untaggedColumn: String? {
    switch self {
    case .removeExternalTag(let column, _): column
    case .call(_, _, let standard): standard.untaggedColumn
    default: nil
    }
  }
}

/// Counts what an entity's objects hold in a relationship.
struct PairCounter {
  let schema: StoreSchema
  let entity: Entity
  let number: Int64

  /// The query that counts, or nil where the inverse keeps the objects and tells their loss itself.
  func count(of name: String) -> String? {
    for level in schema.model.lineage(of: entity) {
      guard let relationship = level.relationships.first(where: { $0.name == name }) else {
        continue
      }
      if !relationship.isToMany {
        guard let table = schema.table(of: entity),
          let column = table.column(.toOne(entity: level.name, name: name))
        else { return nil }
        return """
          SELECT count(\(SQL.identifier(column.name))) FROM \(SQL.identifier(table.name)) \
          WHERE Z_ENT = \(number)
          """
      }
      if let join = schema.joinTables.first(where: {
        $0.first.entityName == level.name && $0.first.relationshipName == name
      }) {
        return "SELECT count(*) FROM \(SQL.identifier(join.name))"
      }
      guard relationship.inverseName == nil,
        let destination = schema.model.entity(relationship.destinationEntityName),
        let table = schema.table(of: destination),
        let column = table.column(.owner(entity: level.name, name: name))
      else { return nil }
      return "SELECT count(\(SQL.identifier(column.name))) FROM \(SQL.identifier(table.name))"
    }
    return nil
  }
}
