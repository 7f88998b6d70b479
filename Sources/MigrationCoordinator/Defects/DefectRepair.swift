import Foundation
import GRDB
import Mapping
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey
import SystemPackage

/// Repairs a copy of a store by the choices of the request, before a stage starts, so that every
/// engine reads the same rows.
struct DefectRepair {
  let survey: StoreSurvey
  let choices: DefectChoices
  /// The stage that begins with the store, and its number.
  let stage: Stage
  let number: Int

  /// One repair.
  struct Repair {
    /// What is wrong, without its keys.
    var defect: Defect
    /// The keys of the rows, in a store after the earlier repairs.
    var find: (Database) throws -> [Int64]
    /// The statement that repairs them; it may name the table `temp.touched`, which has the keys.
    var statement: String
    /// The table whose rows it deletes.
    var removesFrom: String?
    /// SQL for the keys of the rows and of those to which references to them lead from now on.
    var survivors: String?
  }

  /// What is to be done, in this order; nothing for most stores.
  func repairs() throws -> [Repair] {
    let demands =
      choices.asksDemands ? try StageDemands.all(of: stage, in: survey, validates: false) : []
    let firsts = firsts(demands)
    // An object that stays for its duplicates may have their references besides its own.
    let again = choices.duplicates == .merge ? firsts : []
    let repairs =
      try references() + values(demands) + firsts + duplicates(demands) + again
      + drops(demands, afterOthers: false)
    let isAny = try survey.reader.connection.perform { db in
      RowView.prepare(db)
      return try repairs.contains { try !$0.find(db).isEmpty }
    }
    return isAny ? repairs : []
  }

  /// The repaired defects of a store.
  struct Outcome {
    /// What was wrong, with all keys.
    var defects: [Defect]
    /// The references that are gone.
    var references: [RepairedReferences.Counted]
    /// The data that the repairs remove: dropped objects, references to removed objects, and
    /// references after the first one.
    var losses: [Loss]
  }

  /// Repairs a copy of the surveyed store.
  func apply(_ repairs: [Repair], to copy: FilePath) throws -> Outcome {
    let open = survey.schema.refusals(of: survey.schema.keptTriggers)
    guard open.isEmpty else { throw MigrationError.impossible(store: survey.store, open) }
    let search = DefectSearch(survey: survey)
    let connection = try StoreConnection.writable(copy)
    var result: [Defect] = []
    var references: [RepairedReferences.Counted] = []
    try connection.perform { db in
      RowView.prepare(db)
      var counts = try RepairedReferences(search, in: db)
      // The copy needs no log, since no other process reads it.
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = OFF")
      try db.execute(sql: "CREATE TEMP TABLE removed (tbl, key, cause, PRIMARY KEY (tbl, key))")
      try db.execute(sql: "CREATE TEMP TABLE touched (key INTEGER PRIMARY KEY)")
      try Self.prepareEmptied(in: db)
      try db.execute(sql: DuplicateMerging.preparation)
      // No transaction may be open where an error leaves the connection.
      try db.inTransaction {
        // They call functions that only Core Data has.
        try StoreWriter.withoutTriggers(in: db) {
          result = try repairs.flatMap { try perform($0, in: db) }
          result += try releaseRemoved(search, db: db)
          result = try Defect.joined(result + dropLacking(search, db: db))
          try counts.account(search, defects: result, in: db)
          references = counts.counted
          try requireDerivable(after: result)
          for attribute in survey.schema.derived { try StoreWriter.write(attribute, in: db) }
        }
        return .commit
      }
    }
    try connection.close()
    for index in result.indices { result[index].stage = number }
    return Outcome(
      defects: result, references: references,
      losses: search.losses(of: result) + Loss.dropped(by: result) + Loss.givenUp(by: result))
  }

  /// Checks that nothing from which only Core Data computes an attribute was repaired.
  ///
  /// - Throws: `MigrationError.impossible`.
  private func requireDerivable(after defects: [Defect]) throws {
    let model = survey.schema.model
    func isOf(_ defect: Defect, _ entity: String) -> Bool {
      model.entity(name: defect.entity).map { model.root(of: $0).name }
        == model.entity(name: entity).map { model.root(of: $0).name }
    }
    func isChanged(_ input: DerivationInput, by defect: Defect) -> Bool {
      // Of duplicates, those that stay are as they were.
      if defect.kind != .duplicate, defect.fate != .kept, isOf(defect, input.entity),
        defect.property == input.property
      {
        return true
      }
      guard let target = input.target else { return false }
      let inverse = model.relationship(of: input).flatMap { model.inverse(of: $0) }
      return isOf(defect, target)
        && (defect.property == inverse?.name || !defect.removed.isEmpty)
        // The object that stays takes over what those that go are related to.
        || choices.duplicates == .merge && !defect.removed.isEmpty && isOf(defect, input.entity)
    }
    let refusals = survey.schema.openDerivations.filter(isContinued).compactMap { open in
      survey.schema.inputs(of: open).first { input in
        defects.contains { isChanged(input, by: $0) }
      }.map { open.refusal(changed: $0) }
    }
    guard refusals.isEmpty else {
      throw MigrationError.impossible(store: survey.store, refusals)
    }
  }

  /// Whether the stage ends with a model in which only Core Data can compute the attribute.
  private func isContinued(_ open: OpenDerivation) -> Bool {
    let model = stage.destination.model
    guard let entity = model.entity(name: open.entity),
      let attribute = entity.attributes.first(where: { $0.name == open.attribute })
    else { return false }
    return attribute.derivation != nil && model.derivationForm(of: attribute, in: entity) == nil
  }

  /// What it repaired; empty if earlier repairs have left nothing.
  private func perform(_ repair: Repair, in db: Database) throws -> [Defect] {
    var defect = repair.defect
    defect.keys = try repair.find(db)
    guard !defect.keys.isEmpty else { return [] }
    defect.count = Int64(defect.keys.count)
    try db.execute(sql: "DELETE FROM temp.touched")
    let insert = try db.makeStatement(sql: "INSERT OR IGNORE INTO temp.touched VALUES (?)")
    for key in defect.keys { try insert.execute(arguments: [key]) }
    if let table = repair.removesFrom {
      defect.removed = try entities(ofTouched: table, in: db)
      try db.execute(
        sql: "INSERT OR IGNORE INTO temp.removed SELECT ?, key, ? FROM temp.touched",
        arguments: [table, defect.dropCause?.rawValue])
    }
    var merged: [Defect] = []
    if let survivors = repair.survivors, let table = repair.removesFrom {
      merged = try DuplicateMerging(survey: survey, table: table).merge(survivors, in: db)
    }
    try db.execute(sql: repair.statement)
    if defect.isEmptied { try Self.noteEmptied(defect, in: db) }
    return [defect] + merged
  }

  /// Drops objects until none lacks what was there before other objects went.
  private func dropLacking(_ search: DefectSearch, db: Database) throws -> [Defect] {
    guard choices.missing == .drop else { return [] }
    let repairs = try drops(
      StageDemands.all(of: stage, in: survey, validates: false), afterOthers: true)
    var result: [Defect] = []
    while true {
      let dropped = try repairs.flatMap { try perform($0, in: db) }
      if dropped.isEmpty { return result }
      result += dropped
      result += try releaseRemoved(search, db: db)
    }
  }

  /// How many of the rows that are about to go are of each entity.
  private func entities(ofTouched table: String, in db: Database) throws -> [String: Int64] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT Z_ENT, count(*) FROM \(SQL.identifier(name: table))
        WHERE Z_PK IN (SELECT key FROM temp.touched) GROUP BY Z_ENT
        """)
    return Dictionary(
      rows.compactMap { row in
        guard let number = Int64.fromDatabaseValue(row[0]),
          let name = survey.schema.numbers[EntityNumber(rawValue: number)]
        else { return nil }
        return (name, Int64.fromDatabaseValue(row[1]) ?? 0)
      }, uniquingKeysWith: +)
  }

  // MARK: References

  private func references() throws -> [Repair] {
    guard choices.dangling == .nullify else { return [] }
    let search = DefectSearch(survey: survey)
    return (search.references() + search.unknownReferences).compactMap { repair($0) }
  }

  private func repair(_ test: DefectSearch.Test) -> Repair? {
    guard let statement = Self.statement(test) else { return nil }
    return Repair(
      defect: Defect(
        kind: test.kind, entity: test.entity, property: test.property, count: 0, keys: [],
        fate: test.remedy == .delete ? .removed : .nullified),
      find: { try DefectSearch.keys(of: test, in: $0) }, statement: statement)
  }

  /// The statement that repairs all rows that satisfy a test.
  private static func statement(_ test: DefectSearch.Test) -> String? {
    let rows = "\(test.rows.from) WHERE \(test.rows.test)"
    switch test.remedy {
    case .none: return nil
    case .delete: return "DELETE FROM \(rows)"
    case .nullify(let columns):
      let list = columns.map { "\(SQL.identifier(name: $0)) = NULL" }.joined(separator: ", ")
      return "UPDATE \(test.rows.from) SET \(list) WHERE \(test.rows.test)"
    }
  }

  /// References to objects that were removed become nil, as where Core Data deletes an object.
  private func releaseRemoved(_ search: DefectSearch, db: Database) throws -> [Defect] {
    let causes = try String.fetchAll(
      db, sql: "SELECT DISTINCT cause FROM temp.removed ORDER BY cause"
    ).compactMap { LossCause(rawValue: $0) }
    if causes.isEmpty { return [] }
    var result: [Defect] = []
    for reference in search.allReferences {
      let table = SQL.literal(text: reference.target)
      for cause in causes {
        let test = reference.test(
          .removedTarget,
          where: "\(reference.name) IN (SELECT key FROM temp.removed WHERE tbl = \(table) "
            + "AND cause = \(SQL.literal(text: cause.rawValue)))")
        guard var repair = repair(test) else { continue }
        repair.defect.targetCause = cause
        result += try perform(repair, in: db)
      }
    }
    return result
  }

  // MARK: Values and duplicates

  private func values(_ demands: [StageDemands]) throws -> [Repair] {
    guard choices.values == .null else { return [] }
    var repairs = try ExternalFileSearch(survey: survey, stage: stage).needed().map { found in
      let (table, column) = (found.column.table, found.column.name)
      return Repair(
        defect: found.defect(.nullified), find: { _ in found.keys },
        statement:
          "UPDATE \(SQL.identifier(name: table)) SET \(SQL.identifier(name: column)) = NULL "
          + "WHERE Z_PK IN (SELECT key FROM temp.touched)")
    }
    let shared = SharedValues(demands: demands)
    for (place, step) in try demands.map(known).enumerated() {
      for condition in step.conditions {
        guard case .valuesFit(let attribute, let name) = condition.demand,
          let type = AttributeType(name: name),
          !shared.contains(attribute, of: condition.sourceEntity, as: type, step: place),
          case .rows(let rows)? = step.checker.question(condition: condition)
        else { continue }
        repairs += repair(
          rows, attribute: attribute, entity: condition.sourceEntity, step: step)
      }
      for possible in step.possibleLosses {
        guard case .conversion(let attribute, let type) = possible.kind,
          !shared.contains(attribute, of: possible.entity, as: type, step: place),
          case .rows(let rows)? = step.checker.question(possible: possible)
        else { continue }
        repairs += repair(rows, attribute: attribute, entity: possible.entity, step: step)
      }
    }
    return repairs
  }

  /// The demands with the keys of rows that filtered mappings take.
  private func known(_ step: StageDemands) throws -> StageDemands {
    guard case .objects(let own, _) = stage.method else { return step }
    let losses = CountedLosses(
      survey: survey, mappings: own.mappings.map(\.mapping), to: step.checker.destination)
    guard let keeper = try losses.untakenKeeper(of: step.untakenRows) else { return step }
    _ = try losses.divided(
      now: Date().timeIntervalSinceReferenceDate, untakenKeeper: keeper)
    try keeper.finish()
    return step.known(by: keeper)
  }

  private func repair(
    _ rows: RowCounter.Question, attribute: String, entity: String, step: StageDemands
  ) -> [Repair] {
    let column = step.checker.sourceColumn(ofAttribute: attribute, entity: entity)
    let test = DefectSearch.Test(
      kind: .value, entity: entity, property: attribute, rows: rows,
      remedy: column.map { .nullify([$0]) } ?? .none)
    guard var repair = repair(test) else { return [] }
    repair.find = { db in
      step.prepare(db)
      return try DefectSearch.keys(of: test, in: db)
    }
    return [repair]
  }

  private func duplicates(_ demands: [StageDemands]) -> [Repair] {
    guard choices.duplicates != .fail else { return [] }
    let direction = choices.duplicates == .keepLast ? " DESC" : ""
    return demands.flatMap { step in
      // Subentities have the constraint as well, and their objects are among those compared.
      step.checker.questions(step.conditions).compactMap { condition, question in
        guard case .unique(let properties) = condition.demand, case .groups(let groups) = question,
          !groups.by.isEmpty
        else { return nil }
        let declaring = step.checker.mapping.mapping(
          toDestination: step.checker.declaringEntity(of: condition))
        let window =
          "OVER (PARTITION BY \(groups.by.joined(separator: ", ")) ORDER BY s.Z_PK\(direction))"
        let pairs =
          "SELECT key, kept FROM (SELECT s.Z_PK AS key, first_value(s.Z_PK) \(window) AS kept, "
          + "row_number() \(window) AS n FROM \(groups.from) WHERE \(groups.test)) WHERE n > 1"
        let others = "SELECT key FROM (\(pairs)) ORDER BY key"
        return Repair(
          defect: Defect(
            kind: .duplicate, entity: declaring?.sourceEntityName ?? condition.sourceEntity,
            property: properties.joined(separator: ","), count: 0, keys: [], fate: .removed),
          find: { try Int64.fetchAll($0, sql: others) },
          statement: "DELETE FROM \(SQL.identifier(name: groups.table)) "
            + "WHERE Z_PK IN (SELECT key FROM temp.touched)", removesFrom: groups.table,
          survivors: choices.duplicates == .merge ? pairs : nil)
      }
    }
  }
}

extension ManagedObjectModel {
  /// The relationship that a derived attribute is computed from.
  fileprivate func relationship(of input: DerivationInput) -> Relationship? {
    entity(name: input.entity).flatMap { owner in
      relationship(named: input.property, of: owner)
    }
  }
}
