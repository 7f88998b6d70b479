import Expressions
import GRDB
import Mapping
import SystemCalls

/// Takes one mapping model through creation, relation and validation.
struct ThreePasses {
  private let manager: ObjectMigrationManager
  private let tally: ObjectTally
  private let mappings: [(EntityMapping, any MigrationPolicy)]
  private let progress: (Double, EntityMapping) throws -> Void
  /// How many objects each mapping takes, as far as is known by now.
  private var expected: [Int64] = []
  /// The mapping whose objects are created, nil while none are: its place, how many objects it
  /// took, and the key range that it searches.
  private var creating: (index: Int, taken: Int64, keys: ClosedRange<Int64>?)?
  /// What all passes take, as far as is known by now, in the unit of `done`.
  private var total = 1.0
  private var steps: Int64 = 0
  private var done: Int64 = 0
  /// What the objects of each mapping take, and how many of the mapping at work are done.
  private var forecast = PassForecast([])
  private var doneNow: Int64 = 0
  private var told = 0.0
  private var read: Int64 = 0
  /// What makes new objects, by the names of the mappings.
  private var makers: [String: NewObjectMaker] = [:]
  /// How many objects may wait for the next flush.
  private static let batch = 1000
  /// The fewest objects of an entity that are worth being read by another thread.
  private static let fewestAhead = 1000
  /// The progress for policies: fixed weights for creating and relating an object, so that it is
  /// the same in every run.
  private static let (creation, relation): (Int64, Int64) = (4, 3)
  /// The share of a migration that the passes take; what is checked and counted of the result takes
  /// the rest.
  static let share = 0.93

  /// Takes one policy for each mapping, in their order.
  init(
    manager: ObjectMigrationManager, tally: ObjectTally,
    mappings: [(EntityMapping, any MigrationPolicy)],
    progress: @escaping (Double, EntityMapping) throws -> Void
  ) {
    self.manager = manager
    self.tally = tally
    self.mappings = mappings
    self.progress = progress
  }

  /// Runs the passes; how many source objects were read.
  mutating func migrate() throws -> Int64 {
    let start = Self.now
    for (mapping, policy) in mappings { manager.enter(mapping, policy: policy) }
    let source = manager.sourceContext
    let costs = try ObjectCosts.all(of: mappings.map(\.0), in: source.schema) {
      try source.rowCount(ofTable: $0)
    }
    let extents = try extents(costs)
    expected = extents.map(\.count)
    forecast = PassForecast(costs, spent: Self.now - start)
    // New objects are of what all others became.
    let places = mappings.indices.filter { mappings[$0].0.newObjects == nil }
    for index in places + mappings.indices.filter({ mappings[$0].0.newObjects != nil }) {
      let (mapping, policy) = mappings[index]
      creating = (index, 0, extents[index].keys)
      begin(.creation, mapping: index)
      try create(mapping, policy: policy)
      forecast.end(objects: doneNow, at: Self.now)
      expected[index] = creating?.taken ?? 0
    }
    creating = nil
    for (index, (mapping, policy)) in mappings.enumerated() {
      begin(.relation, mapping: index)
      try relate(mapping, policy: policy)
      forecast.end(objects: doneNow, at: Self.now)
    }
    try RelationshipSorting(
      manager: manager, makers: makers, foreign: manager.foreignNames
    ).sort(for: mappings.map(\.0))
    for (mapping, policy) in mappings { try validate(mapping, policy: policy) }
    if let last = mappings.last { try progress(1, last.0) }
    manager.leaveMapping()
    manager.progress = 1
    return read
  }

  /// How many objects each mapping may take, and the key range that its filter searches, nil
  /// without one.
  private func extents(
    _ costs: [ObjectCosts]
  ) throws -> [(count: Int64, keys: ClosedRange<Int64>?)] {
    try zip(mappings, costs).map { mapping, costs in
      guard let name = mapping.0.sourceEntityName else { return (0, nil) }
      let (count, keys) = try manager.sourceContext.extent(entityName: name)
      return (costs.taken(of: count), costs.tries > 0 ? keys : nil)
    }
  }

  // MARK: Creation

  private mutating func create(_ mapping: EntityMapping, policy: any MigrationPolicy) throws {
    manager.enter(mapping, policy: policy)
    let (context, source) = (manager.destinationContext, manager.sourceContext)
    let most = 2 * ObjectContext.batchBytes(memory: source.file?.memory)
    // What is made of so many bytes is written before more are read.
    var full = source.bytesRead + most
    try hook("begin", mapping: mapping) { try policy.begin(mapping, core: manager) }
    manager.forgetCreated()
    let maker = try mapping.newObjects.map {
      try NewObjectMaker(mapping, objects: $0, manager: manager)
    }
    makers[mapping.name] = maker
    try maker?.begin()
    if mapping.kind != .add, mapping.kind != .remove {
      try forEachSource(of: mapping) { run, object in
        run.manager.currentSource = object
        run.tally.take(object, mapping: mapping)
        try run.hook("createDestinationInstances", mapping: mapping, source: object) {
          if let maker { return try maker.take(object) }
          try policy.createDestinations(of: object, mapping: mapping, core: run.manager)
        }
        try run.manager.checkAssociations(mapping, of: object)
        run.read += 1
        let bytes = source.bytesRead
        if context.waitingCount >= Self.batch || bytes >= full || context.waitingBytes >= most {
          try context.flush()
          full = bytes + most
        }
        try run.step(key: object.primaryKey)
      }
    }
    try maker?.end()
    manager.newObjectCounts[mapping.name] = maker?.count
    try hook("endInstanceCreation", mapping: mapping) {
      try policy.endCreation(mapping, core: manager)
    }
    manager.forgetCreated()
    try context.flush()
  }

  private mutating func forEachSource(
    of mapping: EntityMapping, body: (inout ThreePasses, ManagedObject) throws -> Void
  ) throws {
    guard let entity = mapping.sourceEntityName else { return }
    if mapping.sourceExpression == nil || mapping.filter != nil {
      var run = self
      defer { self = run }
      let predicate = try predicate(of: mapping)
      let isAhead = creating.map { expected[$0.index] >= Self.fewestAhead } ?? false
      try placed(mapping) {
        try run.manager.sourceContext.forEach(
          entity, where: predicate, includesSubentities: false, now: run.manager.now,
          isAhead: isAhead
        ) { object in
          try body(&run, object)
          return true
        }
      }
      return
    }
    guard let expression = mapping.sourceExpression else { return }
    let value = try placed(mapping) {
      try ExpressionEvaluator(manager.scope(of: mapping)).value(of: expression)
    }
    for object in value.objects {
      guard let object = object as? ManagedObject, object.isSource else {
        throw ObjectMigrationError(.wrongSource(found: object.typeName), mapping: mapping.name)
      }
      try body(&self, object)
    }
  }

  private func predicate(of mapping: EntityMapping) throws -> ValuePredicate? {
    guard let text = mapping.filter else { return nil }
    return try placed(mapping) { try ValuePredicate(format: text) }
  }

  /// Adds the mapping to the error of an expression.
  private func placed<Result>(
    _ mapping: EntityMapping, body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let error as EvaluationError {
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping.name, entity: mapping.sourceEntityName, cause: error)
    } catch let error as FormatError {
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping.name, entity: mapping.sourceEntityName, cause: error)
    }
  }

  // MARK: Relation

  private mutating func relate(_ mapping: EntityMapping, policy: any MigrationPolicy) throws {
    manager.enter(mapping, policy: policy)
    let associations = manager.associations
    let number = try manager.number(of: mapping.name)
    let merges = associations.mergesSources(mapping: number)
    // What Core Data does needs no objects in memory, where each source object is of the entity.
    let plan =
      policy is StandardPolicy && mapping.takesEachObjectOnce
      ? try standardPlan(mapping: mapping) : nil
    try manager.destinationContext.makeIndexes()
    var last: (source: Associations.Place, destination: Associations.Place)?
    while true {
      let pairs = try associations.pairs(mapping: number, after: last, limit: 500)
      guard let end = pairs.last else { break }
      last = (end.source, end.destination.place)
      for (source, found) in pairs {
        if let maker = makers[mapping.name] {
          guard let place = manager.place(found: found) else { continue }
          try hook("createRelationships", mapping: mapping, place: source) {
            try maker.relate(place, source: source)
          }
          try step(key: source.key)
          continue
        }
        guard try !merges || isFirst(source, destination: found.place, mapping: number),
          let place = manager.place(found: found)
        else { continue }
        try hook("createRelationships", mapping: mapping, place: source) {
          if let plan, let facts = plan.source {
            return try plan.relate(place, from: ObjectPlace(facts: facts, key: source.key))
          }
          manager.relating = (found.place, source)
          let object = manager.destinationContext.object(at: place)
          try policy.createRelationships(of: object, mapping: mapping, core: manager)
        }
        try step(key: source.key)
      }
      if manager.destinationContext.waitingCount >= Self.batch {
        try manager.destinationContext.flush()
      }
    }
    manager.relating = nil
    try makers[mapping.name]?.endRelation()
    try hook("endRelationshipCreation", mapping: mapping) {
      try policy.endRelationships(mapping, core: manager)
    }
    manager.forgetCreated()
    try manager.destinationContext.flush()
  }

  private func standardPlan(mapping: EntityMapping) throws -> MappingPlan? {
    guard let name = mapping.sourceEntityName, mapping.destinationEntityName != nil else {
      return nil
    }
    return try manager.plan(
      mapping: mapping, source: try manager.sourceContext.entityFacts(name: name))
  }

  /// An object that was made of several source objects is related once.
  private func isFirst(
    _ source: Associations.Place, destination: Associations.Place, mapping: Int64
  ) throws -> Bool {
    try manager.associations.sources(of: destination, mapping: mapping).first == source
  }

  // MARK: Validation

  private mutating func validate(_ mapping: EntityMapping, policy: any MigrationPolicy) throws {
    manager.enter(mapping, policy: policy)
    try hook("performCustomValidation", mapping: mapping) {
      try policy.performCustomValidation(mapping, core: manager)
    }
    try hook("end", mapping: mapping) { try policy.end(mapping, core: manager) }
    manager.forgetCreated()
    try manager.destinationContext.flush()
  }

  // MARK: Hooks

  private func hook(
    _ name: String, mapping: EntityMapping, source: ManagedObject? = nil,
    place: Associations.Place? = nil, body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as ObjectMigrationError {
      throw placed(
        error.under(mapping, hook: name), mapping: mapping, source: source, place: place)
    } catch {
      try manager.checkCancellation()
      // What is missing because it could not be written is no fault of the policy.
      try manager.destinationContext.statements.inserts.check()
      throw ObjectMigrationError(
        .policyFailed(hook: name), mapping: mapping.name,
        entity: entity(of: source, place: place) ?? mapping.sourceEntityName,
        key: source?.primaryKey ?? place?.key, cause: error)
    }
    if let error = manager.destinationContext.reachedBeyond { throw error }
    do {
      try manager.checkCancellation()
    } catch let error as ObjectMigrationError {
      throw placed(error, mapping: mapping, source: source, place: place)
    }
  }

  /// A key that is filled in is that of a source object.
  private func placed(
    _ error: ObjectMigrationError, mapping: EntityMapping, source: ManagedObject?,
    place: Associations.Place?
  ) -> ObjectMigrationError {
    error.at(
      mapping: mapping.name, entity: entity(of: source, place: place) ?? mapping.sourceEntityName,
      key: source?.primaryKey ?? place?.key)
  }

  /// The entity of a source object, which a source expression may take from anywhere.
  private func entity(of source: ManagedObject?, place: Associations.Place?) -> String? {
    source?.entityName ?? place.flatMap { try? manager.source(place: $0)?.entityName }
  }

  /// Seconds of a clock that never goes back.
  private static var now: Double { Double(MonotonicClock.now()) / 1e9 }

  private mutating func begin(_ pass: PassForecast.Pass, mapping index: Int) {
    forecast.begin(pass, mapping: index, at: Self.now)
    doneNow = 0
  }

  private mutating func step(key: Int64) throws {
    steps += 1
    if doneNow == 0 { forecast.reachObjects(at: Self.now) }
    doneNow += 1
    done += creating == nil ? Self.relation : Self.creation
    if let (index, taken, keys) = creating {
      creating = (index, taken + 1, keys)
      if let keys, steps.isMultiple(of: 256) {
        // Objects come in the order of their keys.
        let (first, last) = (Double(keys.lowerBound), Double(keys.upperBound))
        let share = (Double(key) - first + 1) / (last - first + 1)
        if share > 0.02 { expected[index] = Int64(Double(taken + 1) / min(1, share)) }
      }
      expected[index] = max(expected[index], taken + 1)
    }
    if steps % 256 == 1 { total = Double((Self.creation + Self.relation) * expected.reduce(1, +)) }
    manager.progress = min(1, max(manager.progress, Double(done) / total))
    if steps.isMultiple(of: 256), let mapping = manager.currentMapping {
      told = max(told, forecast.share(done: doneNow, expected: expected, at: Self.now))
      try progress(told, mapping)
    }
  }
}

extension ObjectContext {
  /// How many rows a table has, under the name that it has in this store.
  fileprivate func rowCount(ofTable name: String) throws -> Int64 {
    try Int64.fetchOne(db, sql: "SELECT count(*) FROM \(sqlTable(name: name))") ?? 0
  }
}
