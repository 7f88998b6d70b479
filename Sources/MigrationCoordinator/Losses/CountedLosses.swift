import EngineList
import Expressions
import GRDB
import Mapping
import MigrationEngine
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import StoreNames
import Survey

/// Counts in a store what the mapping models of one step do not migrate.
struct CountedLosses {
  let survey: StoreSurvey
  let destination: StoreSchema
  let mappings: [MappingModel]
  let losses: MappingLosses
  private let mark: @Sendable (PossibleLoss) -> PossibleLoss

  /// - Parameter mark: gives a loss the cause that it has on the route.
  init(
    survey: StoreSurvey, mappings: [MappingModel], to destination: StoreSchema,
    mark: @escaping @Sendable (PossibleLoss) -> PossibleLoss = { $0 }
  ) {
    self.mark = mark
    self.survey = survey
    self.destination = destination
    self.mappings = mappings
    losses = MappingLosses(models: mappings, source: survey.model, destination: destination.model)
  }

  /// All losses that are known before an object is made.
  ///
  /// - Parameter looking: called periodically with the number of filters evaluated, of
  ///   `filtersToTry`.
  func beforehand(
    now: Double, untakenKeeper: UntakenRowKeeper? = nil, looking: (Int64) -> Void
  ) throws -> [Loss] {
    let divided = try divided(now: now, untakenKeeper: untakenKeeper, looking: looking)
    try untakenKeeper?.finish()
    return try Self.count(
      possible: losses.possible.map(mark), survey: survey, destination: destination,
      mapping: allMappings, untakenKeys: untakenKeeper?.keys) + divided
  }

  /// What becomes of references, as far as mappings decide it.
  var fates: ReferenceFates {
    ReferenceFates(
      models: mappings, source: survey.model, destination: destination.model, isByRows: false,
      isInferred: false
    ) { [mark] in mark($0).cause }
  }

  /// The rows of the store.
  var view: RowView { RowView(of: survey) }

  /// The mappings of all models.
  var allMappings: MappingModel { MappingModel(entityMappings: mappings.flatMap(\.entityMappings)) }

  /// Keeps the keys of objects by the mappings that do not take them, where references or others
  /// depend on it.
  func untakenKeeper(for fates: ReferenceFates, and others: Set<UntakenRows>) throws
    -> UntakenRowKeeper?
  {
    try untakenKeeper(of: ReferenceCounts.filters(fates, view: view).union(others))
  }

  /// Keeps the keys of some rows; nil if there are none to keep.
  func untakenKeeper(of rows: Set<UntakenRows>) throws -> UntakenRowKeeper? {
    try rows.isEmpty
      ? nil
      : UntakenRowKeeper(rows, mapping: allMappings, exclusive: [], destination: destination.model)
  }

  /// The filters that have to be tried, for each object one by one.
  var filtersToTry: Int64 {
    losses.divisions.filter(\.isKnown).reduce(0) {
      $0 + survey.count(of: $1.entity) * Int64($1.filters.count)
    }
  }

  /// Losses of properties that policies could have read and did not.
  ///
  /// - Parameter policies: what policies read.
  func unread(by policies: PropertiesRead) throws -> [Loss] {
    try count(possible: Self.unread(losses, by: policies, survey: survey))
  }

  /// Those of the open losses that policies left behind.
  static func unread(
    _ losses: MappingLosses, by policies: PropertiesRead, survey: StoreSurvey
  ) -> [PossibleLoss] {
    var read = losses.read
    read.add(policies)
    return losses.open.compactMap { loss in
      switch loss.kind {
      case .attribute(let name): read.contains(name, of: loss.entity) ? nil : loss
      case .relationship: survey.model.unread(loss, read: read)
      case .entity, .conversion, .order: loss
      }
    }
  }

  private func count(possible: [PossibleLoss]) throws -> [Loss] {
    try Self.count(possible: possible, survey: survey, destination: destination)
  }

  /// Counts possible losses in the rows of the store, and omits those that affect none.
  ///
  /// - Parameter untakenKeys: the keys of rows that filtered mappings do not take, whose values are
  ///   not converted.
  static func count(
    possible: [PossibleLoss], survey: StoreSurvey, destination: StoreSchema,
    mapping: MappingModel = MappingModel(entityMappings: []), untakenKeys: RowKeys? = nil
  ) throws -> [Loss] {
    if possible.isEmpty { return [] }
    let prepare = { @Sendable (db: Database) in
      if let untakenKeys { RowKeyReader(untakenKeys).install(in: db) }
    }
    try survey.reader.connection.run(prepare)
    let checker = ConditionChecker(
      view: RowView(of: survey), destination: destination, mapping: mapping,
      reader: survey.reader, excludesUntaken: untakenKeys != nil)
    let questions = possible.compactMap { loss in
      checker.question(possible: loss).map { (loss, $0) }
    }
    var counter = RowCounter(survey.reader, prepare: prepare)
    for case (_, .rows(let question)) in questions { counter.ask(question) }
    try counter.count()
    return try questions.compactMap {
      try checker.loss(possible: $0, question: $1, counter: counter)
    }
  }

  /// The losses caused by filter predicates, found by evaluating them for each object.
  ///
  /// - Parameters:
  ///   - untakenKeeper: takes the keys of objects by what takes them.
  ///   - looking: as for `beforehand`.
  func divided(
    now: Double, untakenKeeper: UntakenRowKeeper? = nil, looking: (Int64) -> Void = { _ in }
  ) throws -> [Loss] {
    if losses.divisions.isEmpty { return [] }
    var result: [Loss] = []
    var tried: Int64 = 0
    let filters = SharedFilterSurvey(
      try TableDivision(survey.reader), schema: survey.schema,
      support: SupportFolder.path(of: survey.store), now: now,
      pages: EngineList.filterPages(of: survey))
    defer { filters.close() }
    for division in losses.divisions {
      let question = untakenKeeper?.begin(division) ?? FilterSurvey.Question()
      let outcome = try filters.outcome(division: division, asking: question) { found in
        try untakenKeeper?.add(found)
        tried += Int64(found.looked * division.filters.count)
        if found.looked > 0 { looking(tried) }
      }
      guard let outcome else { continue }
      untakenKeeper?.end(outcome.left)
      result += losses(division: division, outcome: outcome)
    }
    return result
  }

  private func losses(
    division: MappingLosses.Division, outcome: FilterSurvey.Outcome
  ) -> [Loss] {
    var result: [Loss] = []
    if outcome.untaken > 0 {
      result.append(
        Loss(
          kind: .entity, cause: .filter, entity: division.entity, property: nil,
          count: outcome.untaken, keys: outcome.untakenKeys))
    }
    for property in division.properties {
      guard let count = outcome.forgotten[property.name], count > 0 else { continue }
      let isAttribute = property.targets == nil
      let possible = PossibleLoss(
        entity: division.entity,
        kind: isAttribute ? .attribute(property.name) : .relationship(property.name),
        cause: property.cause)
      result.append(
        Loss(
          kind: isAttribute ? .attribute : .relationship, cause: mark(possible).cause,
          entity: division.entity, property: property.name, count: count))
    }
    return result
  }
}
