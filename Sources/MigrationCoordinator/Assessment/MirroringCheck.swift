import GRDB
import Mapping
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey

/// Whether a store can be migrated with its CloudKit mirroring, and what of that goes.
///
/// Rows stay as they are but for the entity numbers of record metadata, the only ones that are
/// known to be there (docs/how-to/cloudkit.md).
struct MirroringCheck {
  /// Why mirroring could not continue.
  private(set) var refusals: [Refusal] = []
  /// Record metadata of entities that the new model lacks, or that no model knows.
  private(set) var losses: [Loss] = []
  /// The numbers of the entities that stay, before and after.
  let numbers: [Int64: Int64]

  private let survey: StoreSurvey
  private let mirroring: MirroringSurvey
  private let condition: String

  /// Nil where a store is not mirrored, or its mirroring is not wanted.
  init?(
    survey: StoreSurvey, stage: Stage, destination: EntityNumbers, request: MigrationRequest
  ) throws {
    guard request.cloudKit == .carry, let mirroring = survey.mirroring else { return nil }
    (self.survey, self.mirroring) = (survey, mirroring)
    numbers = stage.numbers(from: survey.schema.numbers, to: destination)
    condition = ExtraTables.Renumbering(column: MirroringTables.numberColumn, numbers: numbers)
      .condition()
    refusals = request.mirroringRefusals + stage.mirroringRefusals
    refusals += mirroring.unknownForms.map { Self.refusal(.unknownForm, $0) }
    refusals += mirroring.notCopied.map { Self.refusal(.notCopied, $0) }
    guard mirroring.unknownForms.isEmpty else { return }
    if request.sourceCheck != .off { try requireSound() }
    try findLosses()
    try checkNumbers()
    if !losses.isEmpty { try checkReferences() }
  }

  private static func refusal(
    _ obstacle: MirroringObstacle, _ place: String, _ column: String? = nil
  ) -> Refusal {
    Refusal(reason: .mirroring(obstacle), entity: place, property: column)
  }

  /// Counts the rows of all tables by their indexes: rows missing on a damaged page would not be
  /// noticed, since no worker reads them.
  private func requireSound() throws {
    for table in mirroring.tables {
      let name = SQL.identifier(name: table.name)
      let counts = try survey.reader.connection.run { db in
        let indexes = try String.fetchAll(
          db, sql: "SELECT name FROM pragma_index_list(?) WHERE NOT partial",
          arguments: [table.name])
        return try indexes.map { index in
          try Int64.fetchOne(
            db, sql: "SELECT count(*) FROM \(name) INDEXED BY \(SQL.identifier(name: index))")
        }
      }
      if counts.allSatisfy({ $0 == table.rows }) { continue }
      let findings = try StoreDiagnosis(survey.reader.connection).findings(of: [table.name])
      guard findings.isEmpty else { throw SourceDamage(store: survey.store, findings: findings) }
    }
  }

  // MARK: Records that go

  private var hasRecords: Bool { mirroring.tables.contains(where: \.isOfRecords) }

  /// Counts the rows of record metadata that have no place, by entity.
  private mutating func findLosses() throws {
    guard hasRecords else { return }
    let column = MirroringTables.numberColumn
    let found = try survey.reader.connection.run { [condition] db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT CASE WHEN typeof(\(column)) = 'integer' THEN \(column) END, count(*)
          FROM \(MirroringTables.records) NOT INDEXED WHERE NOT \(condition) GROUP BY 1 ORDER BY 1
          """
      ).map { (number: Int64.fromDatabaseValue($0[0]), rows: $0[1] as Int64) }
    }
    var counts: [String?: Int64] = [:]
    for (number, rows) in found {
      let name = number.flatMap { survey.schema.numbers[EntityNumber(rawValue: $0)] }
      counts[name, default: 0] += rows
    }
    for (name, count) in counts.sorted(by: { $0.key ?? "" < $1.key ?? "" }) {
      let number = name.flatMap { survey.schema.numbers[$0]?.rawValue }
      losses.append(
        Loss(
          kind: .row, cause: .cloudKit, entity: Loss.cloudKitName, property: name, count: count,
          keys: try keys(of: number)))
    }
  }

  /// Some keys of the rows of an entity that goes; nil for those of no entity at all.
  private func keys(of number: Int64?) throws -> [Int64] {
    let column = MirroringTables.numberColumn
    let gone = number.map { "\(column) = \($0)" }
    let known = "typeof(\(column)) = 'integer' AND \(column) BETWEEN 1 AND \(entityCount)"
    return try survey.reader.connection.run { [condition] db in
      try Int64.fetchAll(
        db,
        sql: """
          SELECT Z_PK FROM \(MirroringTables.records) NOT INDEXED
          WHERE NOT \(condition) AND \(gone ?? "NOT (\(known))") ORDER BY 1 LIMIT \(Loss.keyLimit)
          """)
    }
  }

  private var entityCount: Int { survey.schema.numbers.names.count }

  // MARK: Columns of unknown content

  /// Finds values that may be entity numbers, in columns that are not known to hold any; they would
  /// be wrong once numbers change.
  private mutating func checkNumbers() throws {
    let same = numbers.filter { $0.key == $0.value }.map(\.key)
    guard same.count < entityCount else { return }
    let kept = same.sorted().map { "\($0)" }.joined(separator: ", ")
    for table in mirroring.tables {
      for column in table.numberColumns {
        let name = SQL.identifier(name: column)
        let count = try survey.reader.number(
          sql: """
            SELECT count(*) FROM \(SQL.identifier(name: table.name)) NOT INDEXED
            WHERE \(name) IS NOT NULL AND NOT (typeof(\(name)) = 'integer'
              AND (\(name) NOT BETWEEN 1 AND \(entityCount) OR \(name) IN (\(kept))))
            """)
        if count > 0 {
          refusals.append(Self.refusal(.mayHoldNumbers(count: count), table.name, column))
        }
      }
    }
  }

  /// Finds what leads to record metadata that would go: what should become of it is not known.
  private mutating func checkReferences() throws {
    for table in mirroring.tables {
      for column in table.recordColumns {
        let count = try survey.reader.number(
          sql: """
            SELECT count(*) FROM \(SQL.identifier(name: table.name)) NOT INDEXED
            WHERE \(SQL.identifier(name: column)) IN (
              SELECT Z_PK FROM \(MirroringTables.records) NOT INDEXED WHERE NOT \(condition))
            """)
        if count > 0 {
          refusals.append(Self.refusal(.leadsToRecords(count: count), table.name, column))
        }
      }
    }
  }

  // MARK: The result

  /// Adds the tables to those that the result has besides the model's.
  func add(to extras: inout ExtraTables) {
    extras.names += mirroring.tables.map(\.name)
    extras.keyNumbers = MirroringTables.numbers
    if hasRecords {
      extras.renumbered[MirroringTables.records] = .init(
        column: MirroringTables.numberColumn, numbers: numbers)
    }
  }

  /// The rows of each table, before and after.
  var accounts: [StageAccounts.OfTable] {
    let lost = losses.reduce(0) { $0 + $1.count }
    return mirroring.tables.map {
      .init(table: $0.name, rowsIn: $0.rows, rowsOut: $0.rows - ($0.isOfRecords ? lost : 0))
    }
  }
}

extension Stage {
  /// The mapping of each step and the models before and after it; of rows only.
  private var models:
    [(mapping: MappingModel, source: ManagedObjectModel, destination: ManagedObjectModel)]
  {
    guard case .rows(let steps) = method else { return [] }
    return steps.map { ($0.mapping, $0.step.source.model, $0.step.destination.model) }
  }

  /// The numbers of the entities that stay under their name, before and after.
  fileprivate func numbers(from source: EntityNumbers, to destination: EntityNumbers)
    -> [Int64: Int64]
  {
    var result: [Int64: Int64] = [:]
    for name in source.names {
      // What gets another name, or is taken by no mapping, is refused and not lost.
      let end = models.reduce(name as String?) { name, step in
        name.flatMap { name in
          step.mapping.destinationName(ofSource: name)
            ?? step.destination.entity(name: name).map(\.name)
        }
      }
      guard let end, let old = source[name], let new = destination[end] else { continue }
      result[old.rawValue] = new.rawValue
    }
    return result
  }

  /// What the models and mappings of its steps change that CloudKit does not follow.
  var mirroringRefusals: [Refusal] {
    if case .objects(let step, _) = method {
      return step.mappings.map {
        Refusal(reason: .mirroring(.historyEmptied), entity: $0.name)
      }
    }
    var found: [Refusal] = []
    for (mapping, source, destination) in models {
      for refusal in MirroringRules(mapping, from: source, to: destination).refusals
      where !found.contains(refusal) {
        found.append(refusal)
      }
    }
    return found
  }
}
