import Expressions
import GRDB
package import Mapping
import ObjectModel
package import Schema
package import StoreFormat
package import SystemPackage

extension ViolationList {
  /// What breaks the rules of the model in a store whose objects have the keys of their source
  /// objects; neither store changes meanwhile.
  ///
  /// - Parameter mappings: those of each step, from the source on.
  package init(
    inStore path: FilePath, of schema: StoreSchema, since source: StoreConnection,
    of sourceSchema: StoreSchema, mappings: [MappingModel]
  ) throws {
    self = try StoreConnection.immutable(path).perform { db in
      let context = ObjectContext(of: db, schema: schema, isSource: false, support: nil)
      defer { context.statements.close() }
      return try source.perform { sourceDB in
        let before = ObjectContext(
          of: sourceDB, schema: sourceSchema, isSource: false, support: nil)
        defer { before.statements.close() }
        return try ModelValidation.violations(
          in: context, of: schema.model.entities, since: before, mappings: mappings
        ) { _ in true }
      }
    }
  }
}

/// Checks the rules of the destination model over all objects, by queries that stop at nothing.
struct ModelValidation {
  let context: ObjectContext
  /// Those whose objects are checked.
  let entities: [Entity]
  /// Called with every violation.
  let report: (Violation) throws -> Void

  func validate() throws {
    for entity in entities where !entity.isAbstract {
      let facts = try context.entityFacts(name: entity.name)
      for name in facts.attributes.keys.sorted() {
        if let attribute = facts.attributes[name] { try check(attribute, entity: facts) }
      }
      for name in facts.relationships.keys.sorted() {
        if let relationship = facts.relationships[name] { try check(relationship, entity: facts) }
      }
    }
  }

  private func reportRows(
    _ rule: Violation.Rule, property: String, facts: EntityFacts, where condition: String,
    arguments: StatementArguments = StatementArguments()
  ) throws {
    let table = context.sqlTable(name: facts.tableName)
    let rows = try Row.fetchCursor(
      context.db,
      sql: """
        SELECT t.Z_PK FROM \(table) AS t WHERE t.Z_ENT = \(facts.number) AND (\(condition))
        ORDER BY t.Z_PK
        """, arguments: arguments)
    while let row = try rows.next() {
      try report(Violation(entity: facts.name, key: row[0], property: property, rule: rule))
    }
  }

  // MARK: Attributes

  private func check(_ facts: AttributeFacts, entity: EntityFacts) throws {
    let attribute = facts.attribute
    let column = "t.\(SQL.identifier(name: entity.columns[facts.index]))"
    let name = attribute.name
    // Core Data computes derived attributes itself when it saves.
    guard attribute.derivation == nil else { return }
    if !attribute.isOptional {
      try reportRows(.mandatory, property: name, facts: entity, where: "\(column) IS NULL")
    }
    let limits = attribute.limits
    let isDate = attribute.type == .date
    if let minimum = limits.minimum {
      try reportRows(
        isDate ? .tooEarly : .tooSmall, property: name, facts: entity, where: "\(column) < ?",
        arguments: [StoredValue(value: minimum, of: attribute).databaseValue])
    }
    if let maximum = limits.maximum {
      try reportRows(
        isDate ? .tooLate : .tooLarge, property: name, facts: entity, where: "\(column) > ?",
        arguments: [StoredValue(value: maximum, of: attribute).databaseValue])
    }
    if limits.minimumLength != nil || limits.maximumLength != nil || limits.pattern != nil {
      try checkTexts(attribute, column: column, entity: entity)
    }
  }

  /// Lengths count UTF-16 units and patterns are regular expressions, and SQLite has neither.
  private func checkTexts(
    _ attribute: Attribute, column: String, entity: EntityFacts
  ) throws {
    let limits = attribute.limits
    let evaluator = ExpressionEvaluator(EvaluationScope())
    let pattern = limits.pattern.map { pattern in
      ValuePredicate.comparison(
        .evaluatedObject, .matches, .constant(.string(pattern)), modifier: .direct,
        caseInsensitive: false, diacriticInsensitive: false)
    }
    let rows = try Row.fetchCursor(
      context.db,
      sql: """
        SELECT t.Z_PK, \(column) FROM \(context.sqlTable(name: entity.tableName)) AS t
        WHERE t.Z_ENT = \(entity.number) AND \(column) IS NOT NULL ORDER BY t.Z_PK
        """)
    func note(_ rule: Violation.Rule, key: Int64) throws {
      try report(
        Violation(entity: entity.name, key: key, property: attribute.name, rule: rule))
    }
    while let row = try rows.next() {
      guard let text = String.fromDatabaseValue(row[1]) else { continue }
      let length = Int64(text.utf16.count)
      if let minimum = limits.minimumLength, length < minimum { try note(.tooShort, key: row[0]) }
      if let maximum = limits.maximumLength, length > maximum { try note(.tooLong, key: row[0]) }
      if let pattern {
        var matching = evaluator
        matching.scope.object = .string(value: text)
        if try !matching.isTrue(pattern) { try note(.pattern, key: row[0]) }
      }
    }
  }

  // MARK: Relationships

  private func check(_ facts: RelationshipFacts, entity: EntityFacts) throws {
    let relationship = facts.relationship
    switch facts.storage {
    case .none: break
    case .toOne(let column, _, _):
      guard !relationship.isOptional else { return }
      try reportRows(
        .mandatory, property: relationship.name, facts: entity,
        where: "t.\(SQL.identifier(name: column)) IS NULL")
    case .children(let table, let column, _, _):
      try count(
        number:
          "(SELECT count(*) FROM \(context.sqlTable(name: table)) AS c WHERE c.\(SQL.identifier(name: column)) = t.Z_PK)",
        relationship: relationship, entity: entity)
    case .join(let table, let owner, _, _, _):
      try count(
        number:
          "(SELECT count(*) FROM \(context.sqlTable(name: table)) AS c WHERE c.\(SQL.identifier(name: owner)) = t.Z_PK)",
        relationship: relationship, entity: entity)
    }
  }

  /// An optional to-many may be empty whatever its minimum; a mandatory one holds one at least.
  private func count(
    number: String, relationship: Relationship, entity: EntityFacts
  ) throws {
    let minimum = max(relationship.minCount, relationship.isOptional ? 0 : 1)
    if minimum > 0 {
      let unlessEmpty = relationship.isOptional ? " AND \(number) > 0" : ""
      try reportRows(
        .tooFew, property: relationship.name, facts: entity,
        where: "\(number) < \(minimum)\(unlessEmpty)")
    }
    if relationship.maxCount > 0 {
      try reportRows(
        .tooMany, property: relationship.name, facts: entity,
        where: "\(number) > \(relationship.maxCount)")
    }
  }

  // MARK: Uniqueness

  /// Every object but the first of those that agree; nil agrees with nothing.
  ///
  /// The index of a constraint covers the whole table, whichever entity declares it.
  func checkUniqueness() throws {
    for entity in entities {
      let facts = try context.entityFacts(name: entity.name)
      for constraint in entity.uniquenessConstraints {
        let columns = constraint.compactMap { name -> String? in
          if let attribute = facts.attributes[name] { return facts.columns[attribute.index] }
          if case .toOne(let column, _, _)? = facts.relationships[name]?.storage { return column }
          return nil
        }.map(SQL.identifier)
        guard columns.count == constraint.count, !columns.isEmpty else { continue }
        try reportEqual(columns, property: constraint.joined(separator: "."), facts: facts)
      }
    }
  }

  private func reportEqual(
    _ columns: [String], property: String, facts: EntityFacts
  ) throws {
    let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    let rows = try Row.fetchCursor(
      context.db,
      sql: """
        SELECT Z_PK, Z_ENT FROM (
          SELECT Z_PK, Z_ENT, row_number() OVER (
            PARTITION BY \(columns.joined(separator: ", ")) ORDER BY Z_PK) AS place
          FROM \(context.sqlTable(name: facts.tableName)) WHERE \(present)
        ) WHERE place > 1 ORDER BY Z_PK
        """)
    while let row = try rows.next() {
      let number = Int64.fromDatabaseValue(row[1]).map { EntityNumber(rawValue: $0) }
      let name = number.flatMap { context.schema.numbers[$0] } ?? facts.name
      try report(Violation(entity: name, key: row[0], property: property, rule: .notUnique))
    }
  }
}
