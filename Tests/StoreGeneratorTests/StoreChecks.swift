import GRDB
import ObjectModel
import Schema
import StoreGenerator
import Testing

/// Checks a generated store by SQL that follows from its model alone.
struct StoreChecks {
  let schema: StoreSchema
  let db: Database
  let report: GenerationReport

  private var model: ManagedObjectModel { schema.model }

  init(_ model: ManagedObjectModel, _ db: Database, _ report: GenerationReport) throws {
    schema = try StoreSchema(model)
    self.db = db
    self.report = report
  }

  func all(rows: Int64) throws {
    #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
    try shares(rows: rows)
    for table in schema.tables {
      try keys(of: table)
      for column in table.columns { try check(column, of: table) }
    }
    for join in schema.joinTables { try check(join) }
    for index in schema.indexes {
      #expect(
        try count(
          "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = ?", index.name)
          == 1)
    }
  }

  private func count(_ sql: String, _ arguments: String...) throws -> Int64 {
    try Int64.fetchOne(db, sql: sql, arguments: StatementArguments(arguments)) ?? -1
  }

  private func shares(rows: Int64) throws {
    var counts: [Int64] = []
    for entity in model.entities {
      let table = try #require(schema.table(of: entity))
      let number = try #require(schema.numbers[entity.name])
      let found = try count(
        "SELECT count(*) FROM \(SQL.identifier(name: table.name)) WHERE Z_ENT = \(number.rawValue)")
      if entity.isAbstract {
        #expect(found == 0)
      } else {
        counts.append(found)
        #expect(report.entities.first { $0.name == entity.name }?.rows == found)
      }
    }
    #expect(counts.reduce(0, +) == rows)
    #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1)
  }

  private func keys(of table: EntityTable) throws {
    let name = SQL.identifier(name: table.name)
    let maximum = try count("SELECT coalesce(max(Z_PK), 0) FROM \(name)")
    #expect(try count("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = ?", table.rootName) == maximum)
    #expect(try count("SELECT count(*) FROM \(name) WHERE Z_OPT NOT BETWEEN 1 AND 5") == 0)
    #expect(try count("SELECT count(*) FROM \(name) WHERE Z_PK < 1") == 0)
  }

  private func numbers(_ family: String) -> String {
    model.family(of: family).compactMap { schema.numbers[$0.name].map { "\($0.rawValue)" } }
      .joined(separator: ", ")
  }

  private func check(_ column: Schema.Column, of table: EntityTable) throws {
    switch column.role {
    case .primaryKey, .entityNumber, .optimisticLock: break
    case .attribute(let entity, let name): try attribute(column, of: table, entity, name)
    case .toOne(let entity, let name):
      let relationship = try #require(declared(name, entity))
      try reference(column, of: table, to: relationship.destinationEntityName)
      try mandatory(column, of: table, entity, name, relationship.isOptional)
      try inverse(relationship, of: entity, column, table)
    case .owner(let entity, _): try reference(column, of: table, to: entity)
    case .toOneEntity(let entity, let name):
      let relationship = try #require(declared(name, entity))
      let key = try #require(table.column(role: .toOne(entity: entity, name: name)))
      let target = try #require(model.entity(name: relationship.destinationEntityName))
      let other = try #require(schema.table(of: target))
      #expect(
        try count(
          """
          SELECT count(*) FROM \(table.name) AS a LEFT JOIN \(other.name) AS b
          ON b.Z_PK = a.\(key.name) WHERE a.\(column.name) IS NOT b.Z_ENT
          """) == 0)
    case .toOneOrder(let entity, let name):
      try order(column, of: table, .toOne(entity: entity, name: name))
    case .ownerOrder(let entity, let name):
      try order(column, of: table, .owner(entity: entity, name: name))
    }
  }

  private func declared(_ name: String, _ entity: String) -> Relationship? {
    model.entity(name: entity)?.relationships.first { $0.name == name }
  }

  private func reference(_ column: Schema.Column, of table: EntityTable, to entity: String) throws {
    let target = try #require(model.entity(name: entity))
    let other = try #require(schema.table(of: target))
    #expect(
      try count(
        """
        SELECT count(*) FROM \(table.name) AS a WHERE a.\(column.name) IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM \(other.name) AS b
          WHERE b.Z_PK = a.\(column.name) AND b.Z_ENT IN (\(numbers(entity))))
        """) == 0, "\(table.name).\(column.name)")
  }

  private func mandatory(
    _ column: Schema.Column, of table: EntityTable, _ entity: String, _ name: String,
    _ isOptional: Bool
  ) throws {
    let isNoted = report.notes.contains { $0.entity == entity && $0.property == name }
    if isOptional || isNoted { return }
    #expect(
      try count(
        """
        SELECT count(*) FROM \(table.name) WHERE \(column.name) IS NULL
        AND Z_ENT IN (\(numbers(entity)))
        """) == 0, "\(entity).\(name)")
  }

  private func order(_ column: Schema.Column, of table: EntityTable, _ role: Schema.Column.Role)
    throws
  {
    let key = try #require(table.column(role: role))
    #expect(
      try count(
        """
        SELECT count(*) FROM \(table.name)
        WHERE (\(key.name) IS NULL) <> (\(column.name) IS NULL)
        OR \(column.name) < 2048 OR \(column.name) % 1024 <> 0
        """) == 0)
    #expect(
      try count(
        """
        SELECT count(*) FROM (SELECT 1 FROM \(table.name) WHERE \(key.name) IS NOT NULL
        GROUP BY \(key.name), \(column.name) HAVING count(*) > 1)
        """) == 0, "\(table.name).\(column.name)")
  }

  private func inverse(
    _ relationship: Relationship, of entity: String, _ column: Schema.Column, _ table: EntityTable
  ) throws {
    guard let (owner, inverse) = model.inverseWithOwner(of: relationship) else { return }
    let other = try #require(schema.table(of: owner))
    if inverse.isToMany {
      let isNoted = report.notes.contains {
        $0.entity == entity && $0.property == relationship.name
      }
      guard inverse.maxCount > 0, !isNoted else { return }
      #expect(
        try count(
          """
          SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM \(table.name)
          WHERE \(column.name) IS NOT NULL GROUP BY \(column.name))
          """) <= inverse.maxCount)
    } else {
      let back = try #require(other.column(role: .toOne(entity: owner.name, name: inverse.name)))
      #expect(
        try count(
          """
          SELECT count(*) FROM \(table.name) AS a JOIN \(other.name) AS b
          ON b.Z_PK = a.\(column.name) WHERE b.\(back.name) IS NOT a.Z_PK
          """) == 0, "\(entity).\(relationship.name)")
    }
  }

  private func attribute(
    _ column: Schema.Column, of table: EntityTable, _ entity: String, _ name: String
  ) throws {
    let attribute = try #require(
      model.entity(name: entity)?.attributes.first { $0.name == name })
    try mandatory(
      column, of: table, entity, name, attribute.isOptional || attribute.derivation != nil)
    let type: String
    switch attribute.type {
    case .integer16, .integer32, .integer64, .boolean: type = "'integer'"
    case .double, .float: type = "'real'"
    case .date, .decimal: type = "'real', 'integer'"
    case .string, .uri: type = "'text'"
    default: type = "'blob'"
    }
    var condition = "typeof(\(column.name)) NOT IN (\(type), 'null')"
    if let range = attribute.type.integerRange {
      condition += " OR \(column.name) < \(StoredValue.integer(range.lowerBound).sql)"
      condition += " OR \(column.name) > \(range.upperBound)"
    }
    #expect(
      try count("SELECT count(*) FROM \(table.name) WHERE \(condition)") == 0,
      "\(entity).\(name)")
  }

  private func check(_ join: JoinTable) throws {
    #expect(
      try count("SELECT count(*) FROM \(join.name)")
        == report.joinTables.first { $0.name == join.name }?.rows)
    for (end, other) in [(join.first, join.second), (join.second, join.first)] {
      let entity = try #require(model.entity(name: end.entityName))
      let table = try #require(schema.table(of: entity))
      #expect(
        try count(
          """
          SELECT count(*) FROM \(join.name) AS j WHERE NOT EXISTS (SELECT 1 FROM \(table.name)
          WHERE Z_PK = j.\(end.keyColumn) AND Z_ENT IN (\(numbers(entity.name))))
          """) == 0, "\(join.name)")
      let relationship = try #require(declared(end.relationshipName, end.entityName))
      if relationship.maxCount > 0 {
        #expect(
          try count(
            """
            SELECT coalesce(max(n), 0) FROM
            (SELECT count(*) AS n FROM \(join.name) GROUP BY \(end.keyColumn))
            """) <= relationship.maxCount, "\(join.name)")
      }
      if let order = end.orderColumn {
        #expect(
          try count(
            """
            SELECT count(*) FROM (SELECT 1 FROM \(join.name)
            GROUP BY \(other.keyColumn), \(order) HAVING count(*) > 1 OR \(order) IS NULL)
            """) == 0, "\(join.name).\(order)")
      }
    }
    guard join.second.keyColumn == "REFLEXIVE" else { return }
    #expect(
      try count(
        """
        SELECT count(*) FROM \(join.name) AS a WHERE NOT EXISTS (SELECT 1 FROM \(join.name) AS b
        WHERE b.\(join.first.keyColumn) = a.REFLEXIVE AND b.REFLEXIVE = a.\(join.first.keyColumn))
        """) == 0)
  }
}
