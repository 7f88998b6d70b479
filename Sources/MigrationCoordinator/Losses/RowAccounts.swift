import GRDB
import Mapping
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey

/// The accounts of a stage that migrated rows by programs.
struct RowAccounts {
  private(set) var accounts = StageAccounts()
  /// Losses that only the workers could count.
  private(set) var lateLosses: [Loss] = []

  private let survey: StoreSurvey
  private let assessment: RowAssessment
  private let program: MigrationProgram
  private var rowCounts: RowCounts
  private var check = AccountCheck()
  private let results: [String: [ShardManifest.PieceResult]]
  /// Tables of the result whose b-trees moved as they were.
  private let moved: Set<String>
  /// Rows of the unread tables, as the survey estimates them.
  private let staying: [String: Int64]
  private let stayingSources: Set<String>

  /// Compares the survey's counts with those in the manifests.
  ///
  /// - Throws: `MigrationError.accountsDiffer`, if rows that were read are neither written nor
  ///   known losses.
  init(
    survey: StoreSurvey, assessment: RowAssessment, plan: MigrationPlan,
    manifests: [ShardManifest], moved: Set<String>
  ) throws {
    self.moved = moved
    let staying = Dictionary(
      plan.staying.map { ($0.table, $0.rows) }, uniquingKeysWith: { first, _ in first })
    self.staying = staying
    stayingSources = Set(
      plan.program.tables.filter { staying[$0.destinationTable] != nil }.map(\.sourceTable))
    self.survey = survey
    self.assessment = assessment
    program = plan.program
    rowCounts = RowCounts(survey)
    let tables = Dictionary(
      plan.workOrders.flatMap(\.pieces).map { ($0.number, $0.destinationTable) },
      uniquingKeysWith: { first, _ in first })
    results = Dictionary(
      grouping: manifests.flatMap(\.pieces), by: { tables[$0.piece] ?? $0.table })
    try countTables()
    try countHistory()
    addEntities()
    try addPairs()
    try addUnread(manifests)
    try check.requireAgreement()
  }

  // MARK: Tables

  /// Rows read, and rows written by entity number, of a destination table; nil if it had no pieces.
  private func outcome(
    table: TableProgram
  ) -> (seen: Int64, made: [Int64: Int64])? {
    guard let pieces = results[table.destinationTable], !pieces.isEmpty else { return nil }
    var seen: Int64 = 0
    var made: [Int64: Int64] = [:]
    for piece in pieces {
      guard let count = piece.count else {
        // Moved unchanged: all rows, each of an entity that the table takes.
        return (pieces.reduce(0) { $0 + $1.rowsWritten }, movedRows(table))
      }
      seen += count.seen
      for entity in count.made { made[entity.number, default: 0] += entity.rows }
    }
    return (seen, made)
  }

  private func movedRows(_ table: TableProgram) -> [Int64: Int64] {
    Dictionary(
      table.entities.map {
        (
          $0.destination,
          rowsIn(table, entity: $0)
        )
      }, uniquingKeysWith: +)
  }

  private mutating func countTables() throws {
    var recounted: Set<String> = []
    for table in program.tables where survey.history?.rows[table.sourceTable] == nil {
      if staying[table.destinationTable] != nil {
        let counts = survey.rowCounts.estimate(table.sourceTable)
        for entity in table.entities {
          let number = EntityNumber(rawValue: entity.destination)
          guard let name = assessment.schema.numbers[number] else { continue }
          accounts.rows[name, default: 0] += counts?[EntityNumber(rawValue: entity.source)] ?? 0
        }
        continue
      }
      guard var found = outcome(table: table) else {
        try requireNone(of: table)
        continue
      }
      if !agrees(table, found: found), recounted.insert(table.sourceTable).inserted {
        try rowCounts.recount(table.sourceTable)
        found = outcome(table: table) ?? found
        if let own = survey.schema.tables.first(where: { $0.name == table.sourceTable }),
          let loss = try rowCounts.strays(in: own),
          !assessment.losses.contains(where: { $0.cause == .unknownEntity && $0.name == loss.name })
        {
          lateLosses.append(loss)
        }
      }
      check.expect(
        rowCounts.total(table: table.sourceTable), found: found.seen, side: .table,
        name: table.destinationTable)
      try addStrayReferences(table)
      try addOddValues(table)
      for entity in table.entities {
        let number = EntityNumber(rawValue: entity.destination)
        guard let name = assessment.schema.numbers[number] else { continue }
        // Of entities that become one, all rows together have been counted.
        guard table.entities.first(where: { $0.destination == entity.destination }) == entity else {
          continue
        }
        let made = found.made[entity.destination] ?? 0
        check.expect(
          rowsTaken(table, destination: entity.destination), found: made, side: .destination,
          name: name)
        accounts.rows[name, default: 0] += made
      }
    }
  }

  /// Adds references to unknown entities, where workers came across some or did not look.
  private mutating func addStrayReferences(_ table: TableProgram) throws {
    guard !assessment.knowsStrayReferences, StrayReferences.mayConcern(table),
      results[table.destinationTable]?.contains(where: { $0.count?.strays != 0 }) == true,
      let own = survey.schema.tables.first(where: { $0.name == table.sourceTable })
    else { return }
    lateLosses += try StrayReferences(survey: survey, program: program).losses(in: [own])
  }

  /// Adds values that no number is and that a conversion has changed, where workers came across odd
  /// rows or did not look.
  private mutating func addOddValues(_ table: TableProgram) throws {
    guard !assessment.knowsStrayReferences, assessment.steps.count == 1,
      results[table.destinationTable]?.contains(where: { $0.count?.strays != 0 }) == true,
      let own = survey.schema.tables.first(where: { $0.name == table.sourceTable })
    else { return }
    let odd = assessment.steps[0].possibleLosses.filter {
      $0.isOfOddValues && own.entityNames.contains($0.entity)
    }
    lateLosses += try CountedLosses.count(
      possible: odd, survey: survey, destination: assessment.schema,
      mapping: assessment.steps[0].mapping, untakenKeys: assessment.untakenKeys)
  }

  /// Records rows without a work order, since the index has no entries for them.
  private mutating func requireNone(of table: TableProgram) throws {
    guard rowCounts.total(table: table.sourceTable) > 0 else { return }
    try rowCounts.recount(table.sourceTable)
    for entity in table.entities {
      check.expect(
        rowsIn(table, entity: entity), found: 0, side: .table, name: table.destinationTable)
    }
  }

  private func rowsIn(_ table: TableProgram, entity: TableProgram.Renumbering) -> Int64 {
    rowCounts.counts(table: table.sourceTable)[EntityNumber(rawValue: entity.source)] ?? 0
  }

  /// The rows that mappings take for a destination entity.
  private func rowsTaken(_ table: TableProgram, destination: Int64) -> Int64 {
    table.entities.filter { $0.destination == destination }.reduce(0) {
      $0 + rowsIn(table, entity: $1) - left(to: $1)
    }
  }

  /// The rows of an entity that the mapping to another one does not take; the only step of a stage
  /// may have filters.
  private func left(to entity: TableProgram.Renumbering) -> Int64 {
    guard entity.others != nil, let step = assessment.steps.first,
      let source = survey.schema.numbers[EntityNumber(rawValue: entity.source)],
      let made = assessment.schema.numbers[EntityNumber(rawValue: entity.destination)]
    else { return 0 }
    return step.mapping.maker(from: source, to: made).flatMap { assessment.left[$0.name] } ?? 0
  }

  /// The objects of an entity that no filter takes; the only step of a stage may have filters.
  private func untaken(of entity: String) -> Loss? {
    assessment.losses.first { $0.kind == .entity && $0.cause == .filter && $0.entity == entity }
  }

  private func agrees(
    _ table: TableProgram, found: (seen: Int64, made: [Int64: Int64])
  ) -> Bool {
    found.seen == rowCounts.total(table: table.sourceTable)
      && table.entities.allSatisfy {
        found.made[$0.destination] ?? 0 == rowsTaken(table, destination: $0.destination)
      }
  }

  // MARK: History

  /// Adds the rows of history; those of entities that are gone go with them, as with Core Data.
  private mutating func countHistory() throws {
    guard let history = survey.history else { return }
    var account = StageAccounts.OfHistory()
    var lost: Int64 = 0
    for name in HistoryTables.names {
      let table = program.tables.first { $0.sourceTable == name }
      var rows = history.rows[name] ?? 0
      let isStaying = table.map { staying[$0.destinationTable] != nil } ?? false
      let found =
        isStaying ? (seen: rows, made: rows) : table.flatMap { historyOutcome($0) } ?? (0, 0)
      if table != nil, found.seen != rows {
        rows = try survey.reader.rowCount(of: name, by: .rows)
        check.expect(rows, found: found.seen, side: .table, name: name)
      }
      account.tables.append(.init(table: name, rowsIn: rows, rowsOut: found.made))
      guard let table else { continue }
      guard table.isOfChanges else {
        // Transactions and texts have a single entity each.
        lost += found.seen - found.made
        continue
      }
      account.wideMasks = wideMasks(table)
      guard found.made != found.seen else { continue }
      let dropped = try changesDropped(table)
      check.expect(
        found.seen - found.made, found: dropped.values.reduce(0, +), side: .table, name: name)
      let unknown = dropped.filter { survey.schema.numbers[$0.key] == nil }
      account.removed = Dictionary(
        uniqueKeysWithValues: dropped.compactMap { number, rows in
          survey.schema.numbers[number].map { ($0, rows) }
        })
      lost += unknown.values.reduce(0, +)
    }
    let loss = Loss(
      kind: .row, cause: .unknownEntity, entity: Loss.historyName, property: nil, count: lost)
    if lost > 0, !assessment.losses.contains(loss) { lateLosses.append(loss) }
    accounts.history = account
  }

  /// Rows of a history table that were read, and those that were written.
  private func historyOutcome(_ table: TableProgram) -> (seen: Int64, made: Int64)? {
    results[table.destinationTable].map { pieces in
      pieces.reduce((0, 0)) {
        ($0.0 + ($1.count?.seen ?? $1.rowsWritten), $0.1 + $1.rowsWritten)
      }
    }
  }

  /// The changes that name more properties than are known to be updated, by destination entity.
  private func wideMasks(_ table: TableProgram) -> [String: Int64] {
    let counts = (results[table.destinationTable] ?? []).flatMap { $0.count?.wideMasks ?? [] }
    return Dictionary(
      counts.filter { $0.rows > 0 }.compactMap { entity in
        assessment.schema.numbers[EntityNumber(rawValue: entity.number)]
          .map { ($0, entity.rows) }
      }, uniquingKeysWith: +)
  }

  /// The changes of entities without a place, by the number in the source; 0 for what is no number.
  private func changesDropped(_ table: TableProgram) throws -> [EntityNumber: Int64] {
    let column = SQL.identifier(name: table.entityColumn)
    let rows = try survey.reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT \(column), count(*) FROM \(SQL.identifier(name: table.sourceTable)) NOT INDEXED
          WHERE \(table.isOther(than: table.entities.map(\.source))) GROUP BY 1
          """)
    }
    return Dictionary(
      rows.map { (EntityNumber(rawValue: Int64.fromDatabaseValue($0[0]) ?? 0), $0[1]) },
      uniquingKeysWith: +)
  }

  // MARK: Entities

  private mutating func addEntities() {
    var takenNumbers: [String: Set<Int64>] = [:]
    for table in program.tables {
      takenNumbers[table.sourceTable, default: []].formUnion(table.entities.map(\.source))
    }
    for entity in survey.model.entities where !entity.isAbstract {
      let rows = rowCounts.count(of: entity.name, estimates: isStaying(entity))
      let number = survey.schema.numbers[entity.name]?.rawValue
      let numbers = survey.schema.table(of: entity).flatMap { takenNumbers[$0.name] }
      let taken = number.flatMap { numbers?.contains($0) } ?? false
      var account = StageAccounts.OfEntity(
        entity: entity.name, rowsIn: rows, rowsOut: taken ? rows : 0, dropped: [])
      account.isEstimated = isStaying(entity) ? true : nil
      if taken, let loss = untaken(of: entity.name) {
        account.rowsOut -= loss.count
        account.dropped = [.init(cause: .filter, objects: loss.count)]
      }
      if !taken, rows > 0 {
        let loss = loss(of: entity.name)
        check.expect(rows, found: loss?.count ?? 0, side: .source, name: entity.name)
        account.dropped = [.init(cause: loss?.cause ?? .removed, objects: rows)]
      }
      accounts.entities.append(account)
    }
  }

  /// Whether the rows of an entity were not read.
  private func isStaying(_ entity: Entity) -> Bool {
    guard let table = survey.schema.table(of: entity) else { return false }
    return stayingSources.contains(table.name)
  }

  /// The loss of all objects of an entity, whose name may change in the steps before the loss.
  private func loss(of entity: String) -> Loss? {
    var name = entity
    for step in assessment.steps {
      if let loss = assessment.losses.first(where: {
        $0.kind == .entity && $0.entity == name
      }) {
        return loss
      }
      guard let next = step.mapping.destinationName(ofSource: name) else { return nil }
      name = next
    }
    return nil
  }

  // MARK: Join tables

  private mutating func addPairs() throws {
    for join in survey.schema.joinTables {
      let programs = program.joins.filter { $0.sourceTable == join.name }
      if let rows = programs.first.flatMap({ staying[$0.destinationTable] }) {
        accounts.pairs.append(
          .init(
            entity: join.first.entityName, relationship: join.first.relationshipName, rowsIn: rows,
            rowsOut: rows, incomplete: 0, dropped: 0, isEstimated: true))
        continue
      }
      let out = try written(of: programs, from: join.name)
      // Of a b-tree that moved as it was, every row was seen.
      let rows =
        programs.contains { moved.contains($0.destinationTable) }
        ? out : try survey.reader.rowCount(of: join.name, by: .rows)
      var incomplete = assessment.losses.incompletePairs(of: join)
      if let only = programs.first, only.filters.isEmpty, only.drops.isEmpty {
        if rows - incomplete != out, let loss = try rowCounts.strays(in: join) {
          if loss.count != incomplete { lateLosses.append(loss) }
          incomplete = loss.count
        }
        check.expect(rows - incomplete, found: out, side: .table, name: join.name)
      }
      accounts.pairs.append(
        .init(
          entity: join.first.entityName, relationship: join.first.relationshipName, rowsIn: rows,
          rowsOut: out, incomplete: incomplete, dropped: rows - incomplete - out))
    }
  }

  /// The pairs that some programs of one table wrote, those that several did counted once.
  private mutating func written(of programs: [JoinProgram], from name: String) throws -> Int64 {
    let first = programs.first.map { written($0) } ?? 0
    let parts = programs.reduce(into: [JoinProgram]()) { parts, program in
      let isKnown = parts.contains { $0.filters == program.filters && $0.drops == program.drops }
      if !isKnown { parts.append(program) }
    }
    guard parts.count > 1 else { return first }
    let out = try survey.reader.number(
      sql: JoinProgram.count(takenByAny: parts, schema: "main"))
    let sum = parts.reduce(0) { $0 + written($1) }
    if sum < out { check.expect(out, found: sum, side: .table, name: name) }
    return out
  }

  private func written(_ join: JoinProgram) -> Int64 {
    results[join.destinationTable]?.reduce(0) { $0 + $1.rowsWritten } ?? 0
  }

  // MARK: Policies

  /// Adds the losses of properties that not even policies read.
  private mutating func addUnread(_ manifests: [ShardManifest]) throws {
    guard let losses = assessment.steps.first?.calls?.losses, !losses.open.isEmpty else { return }
    var read = PropertiesRead()
    for manifest in manifests { if let own = manifest.read { read.add(own) } }
    lateLosses += try CountedLosses.count(
      possible: CountedLosses.unread(losses, by: read, survey: survey), survey: survey,
      destination: assessment.schema)
  }
}
