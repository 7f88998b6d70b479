import Expressions
package import GRDB
package import Mapping
import ObjectModel
package import Schema
package import SystemPackage

/// Finds out which objects of a source entity the filters of its mappings take, and which values
/// the mappings that take them forget.
package struct FilterSurvey {
  /// What became of the objects of one entity.
  package struct Outcome: Hashable, Sendable {
    /// Objects that nothing takes.
    package var untaken: Int64 = 0
    /// The lowest keys of what nothing takes.
    package var untakenKeys: [Int64] = []
    /// Objects that each of the mappings does not take.
    package var left: [Int64]
    /// Values that are not nil, and references, that no mapping reads which takes their object, by
    /// property.
    package var forgotten: [String: Int64] = [:]

    /// Knows nothing yet of what so many mappings take.
    package init(mappings: Int) { left = Array(repeating: 0, count: mappings) }
  }

  /// The most keys that an outcome lists.
  package static let reportedKeyLimit = 10

  /// Further questions about the objects of an entity, in places of its mappings.
  package struct Question: Sendable {
    /// For each of these, the survey reports the keys of objects that none of its mappings takes.
    package var untaken: [[Int]]
    /// Of each of these, no two mappings may take one object.
    package var exclusive: [[Int]]

    /// Takes the questions, by default none.
    package init(untaken: [[Int]] = [], exclusive: [[Int]] = []) {
      (self.untaken, self.exclusive) = (untaken, exclusive)
    }
  }

  /// The results for consecutive objects, in key order.
  package struct Finding: Sendable {
    /// What became of them.
    package fileprivate(set) var outcome: Outcome
    /// How many of them were not left to SQLite.
    package fileprivate(set) var looked = 0
    /// For each requested set of mappings, the keys of objects that none of them takes.
    package fileprivate(set) var keys: [[Int64]]
    /// Two mappings that take one object and must not, the first that were found.
    package fileprivate(set) var shared: (Int, Int)?
    /// How many keys there are.
    fileprivate var told = 0
  }

  private let context: ObjectContext
  private let now: Double
  private let pages: (any FilterPages)?
  /// Whether SQLite evaluates filters if it certainly agrees with the evaluator.
  package var asksSQLite = true

  /// Takes a connection to the source store, and what reads its pages where that will do.
  package init(
    db: Database, schema: StoreSchema, support: FilePath?, now: Double,
    pages: (any FilterPages)? = nil
  ) {
    context = ObjectContext(of: db, schema: schema, support: support)
    (self.now, self.pages) = (now, pages)
  }

  /// Ends what would keep the connection from closing.
  package func close() { context.statements.close() }

  /// Evaluates the filters for every object of the entity; no result if a filter has none.
  ///
  /// - Parameters:
  ///   - question: further questions.
  ///   - found: called for the objects, in key order.
  package func outcome(
    division: MappingLosses.Division, asking question: Question = Question(),
    found: (Finding) throws -> Void = { _ in }
  ) throws -> Outcome? {
    guard let survey = try self.division(division, asking: question) else { return nil }
    var outcome = Outcome(mappings: division.filters.count)
    try survey.look(at: .min ... .max) { finding in
      outcome.add(finding.outcome)
      try found(finding)
    }
    return outcome
  }

  /// The survey of the objects of one entity; nil where a filter is none.
  package func division(
    _ division: MappingLosses.Division, asking question: Question = Question()
  ) throws -> DivisionSurvey? {
    guard division.isKnown else { return nil }
    return try DivisionSurvey(
      division, question: question, context: context, asksSQLite: asksSQLite, pages: pages,
      now: now)
  }
}

/// Finds out what the mappings of one entity take of its objects in ranges of their keys, on one
/// connection.
package struct DivisionSurvey {
  private let context: ObjectContext
  private let now: Double
  private let division: MappingLosses.Division
  private let question: FilterSurvey.Question
  private let facts: EntityFacts
  private let filters: [ObjectFilter]
  /// The filters in SQL, if each of them has a certain result.
  private let statements: [FilterStatement]?
  /// The same test without SQLite; nil if there is none.
  private let scan: (any FilterScan)?
  /// Properties that some mapping does not read, of objects that are known only by rows.
  private let properties: [(property: MappingLosses.Division.Property, column: String)]

  /// The maximum number of keys per report, and of objects evaluated at a time.
  private static let mostKeys = 1 << 14

  fileprivate init(
    _ division: MappingLosses.Division, question: FilterSurvey.Question, context: ObjectContext,
    asksSQLite: Bool, pages: (any FilterPages)?, now: Double
  ) throws {
    (self.division, self.question, self.context, self.now) = (division, question, context, now)
    let facts = try context.entityFacts(name: division.entity)
    self.facts = facts
    let filters = try division.filters.map {
      try ObjectFilter(text: $0 ?? ValueExpression.everything, facts: facts, now: now)
    }
    self.filters = filters
    let asks = asksSQLite && division.properties.allSatisfy { facts.attributes[$0.name] != nil }
    let statements = asks ? filters.compactMap { $0.statement(facts) } : []
    self.statements = statements.count == filters.count ? statements : nil
    properties = division.properties.filter { $0.readers.count < filters.count }
      .compactMap { property in
        facts.attributes[property.name].map { (property, facts.columns[$0.index]) }
      }
    let tests = self.statements == nil ? [] : filters.compactMap { $0.test(facts) }
    scan =
      tests.count == filters.count
      ? try pages?.scan(
        table: facts.tableName, number: facts.number, tests: tests,
        columns: properties.map(\.column), db: context.db) : nil
  }

  /// Evaluates the objects of a key range, and reports results in key order, up to the first error.
  package func look(
    at keys: ClosedRange<Int64>, found: (FilterSurvey.Finding) throws -> Void
  ) throws {
    let none = FilterSurvey.Finding(mappings: filters.count, sets: question.untaken.count)
    var finding = none
    func next(_ finding: inout FilterSurvey.Finding) throws {
      guard finding.told >= Self.mostKeys || finding.looked >= Self.mostKeys else { return }
      try found(finding)
      finding = none
    }
    do {
      if let statements {
        let rest = try scan.map {
          try search($0, statements, keys: keys, finding: &finding, next: next)
        }
        if let keys = rest ?? keys {
          try ask(statements, keys: keys, finding: &finding, next: next)
        }
      } else {
        try evaluate(keys: keys, finding: &finding, next: next)
      }
    } catch {
      try found(finding)
      throw error
    }
    try found(finding)
  }

  /// Evaluates each object with the evaluator.
  private func evaluate(
    keys: ClosedRange<Int64>, finding: inout FilterSurvey.Finding,
    next: (inout FilterSurvey.Finding) throws -> Void
  ) throws {
    let properties = division.properties.compactMap { property in
      facts.attributes[property.name].map { (property, $0.index) }
    }
    let relationships = division.properties.compactMap { property in
      facts.relationships[property.name].map { (property, $0) }
    }
    var takes = Array(repeating: Int8(0), count: filters.count)
    try context.forEach(
      division.entity, where: nil, includesSubentities: false, keys: keys, now: now
    ) { object in
      for (place, filter) in filters.enumerated() {
        takes[place] = try filter.takes(object) ? 1 : 0
      }
      if finding.add(takes, key: object.primaryKey, question) {
        for (property, index) in properties where !property.isRead(takes) {
          if try object.loadedRow()[index] != .null { finding.outcome.forget(property, 1) }
        }
        for (property, relationship) in relationships where !property.isRead(takes) {
          let left = try context.places(of: object.place, facts: relationship)
            .count { property.targets?.contains($0.facts.name) ?? true }
          if left > 0 { finding.outcome.forget(property, Int64(left)) }
        }
      }
      finding.looked += 1
      try next(&finding)
      return true
    }
  }

  /// Finds objects by their rows, the evaluator where they are not certain; the keys that are left
  /// to SQLite, nil where none are.
  private func search(
    _ scan: any FilterScan, _ statements: [FilterStatement], keys: ClosedRange<Int64>,
    finding: inout FilterSurvey.Finding, next: (inout FilterSurvey.Finding) throws -> Void
  ) throws -> ClosedRange<Int64>? {
    let rows = FilterRows(filters: filters.count, columns: properties.count)
    let first = try scan.look(at: keys, into: rows) {
      defer { rows.removeAll() }
      if properties.isEmpty, rows.isCertain {
        finding.add(rows, question)
        return try next(&finding)
      }
      for row in 0..<rows.count {
        let said = rows.said(of: row)
        let key = rows.key(of: row)
        if said[0] == FilterRows.unread {
          try ask(statements, keys: key...key, finding: &finding, next: next)
          continue
        }
        for place in filters.indices where said[place] == FilterRows.uncertain {
          let object = context.object(at: ObjectPlace(facts: facts, key: key))
          said[place] = try filters[place].takes(object) ? 1 : 0
        }
        if finding.add(said, key: key, question) {
          for (place, property) in properties.map(\.property).enumerated()
          where rows.isSet(column: place, of: row) && !property.isRead(said) {
            finding.outcome.forget(property, 1)
          }
        }
        try next(&finding)
      }
    }
    return first.map { $0...keys.upperBound }
  }

  /// Has SQLite evaluate the filters, the evaluator where SQLite is not certain.
  private func ask(
    _ statements: [FilterStatement], keys: ClosedRange<Int64>,
    finding: inout FilterSurvey.Finding, next: (inout FilterSurvey.Finding) throws -> Void
  ) throws {
    let flags = properties.map { "(\(SQL.identifier(name: $0.column)) IS NOT NULL)" }
    let list = ["Z_PK"] + statements.map(\.sql) + flags
    let isWanted = (statements.map { "\($0.sql) IS NOT 1" } + flags).joined(separator: " OR ")
    let test = filters.count > 1 ? "" : " AND (\(isWanted))"
    let rows = try context.statements.statement(
      sql: """
        SELECT \(list.joined(separator: ", ")) FROM \(context.sqlTable(name: facts.tableName)) \
        NOT INDEXED WHERE Z_PK BETWEEN ?2 AND ?3 AND Z_ENT = ?1\(test) ORDER BY Z_PK
        """)
    rows.bind(all: [facts.number, keys.lowerBound, keys.upperBound])
    // What goes wrong elsewhere leaves it in the midst of its rows.
    defer { rows.reset() }
    var takes = Array(repeating: Int8(0), count: filters.count)
    while try rows.step() {
      let key = rows.integer(column: 0)
      for place in filters.indices {
        if let certain = rows.key(column: place + 1) {
          takes[place] = certain == 1 ? 1 : 0
        } else {
          let object = context.object(at: ObjectPlace(facts: facts, key: key))
          takes[place] = try filters[place].takes(object) ? 1 : 0
        }
      }
      if finding.add(takes, key: key, question) {
        for (place, property) in properties.map(\.property).enumerated()
        where rows.integer(column: place + 1 + filters.count) == 1 && !property.isRead(takes) {
          finding.outcome.forget(property, 1)
        }
      }
      try next(&finding)
    }
  }
}

extension MappingLosses.Division.Property {
  /// Whether any of the mappings that take an object, by a 1 for each, reads it.
  fileprivate func isRead(_ takes: UnsafePointer<Int8>) -> Bool {
    readers.contains { takes[$0] == 1 }
  }
}

extension FilterSurvey.Finding {
  fileprivate init(mappings: Int, sets: Int) {
    outcome = FilterSurvey.Outcome(mappings: mappings)
    keys = Array(repeating: [], count: sets)
  }

  /// Counts an object by what takes it, a 1 for each mapping that does; whether anything does.
  @inline(__always)
  fileprivate mutating func add(
    _ takes: UnsafePointer<Int8>, key: Int64, _ question: FilterSurvey.Question
  ) -> Bool {
    for set in keys.indices {
      var isTaken = false
      for place in question.untaken[set] where takes[place] == 1 { isTaken = true }
      if isTaken { continue }
      keys[set].append(key)
      told += 1
    }
    if shared == nil, !question.exclusive.isEmpty { shared = question.shared(by: takes) }
    return outcome.add(takes, key: key)
  }

  /// Counts objects whose results are all certain.
  fileprivate mutating func add(_ rows: FilterRows, _ question: FilterSurvey.Question) {
    for set in keys.indices {
      rows.untaken(by: question.untaken[set]) {
        keys[set] += $0
        told += $0.count
      }
    }
    if shared == nil {
      shared = question.exclusive.compactMap(rows.shared).min { $0.row < $1.row }?.filters
    }
    outcome.add(rows)
  }
}

extension FilterSurvey.Question {
  /// The first two mappings that take an object and must not.
  fileprivate func shared(by takes: UnsafePointer<Int8>) -> (Int, Int)? {
    for places in exclusive {
      let takers = places.filter { takes[$0] == 1 }
      if takers.count > 1 { return (takers[0], takers[1]) }
    }
    return nil
  }
}

extension FilterSurvey.Outcome {
  /// Counts an object by what takes it; whether anything does.
  @inline(__always)
  fileprivate mutating func add(_ takes: UnsafePointer<Int8>, key: Int64) -> Bool {
    var isTaken = false
    for place in left.indices {
      if takes[place] == 1 { isTaken = true } else { left[place] += 1 }
    }
    if isTaken { return true }
    untaken += 1
    if untakenKeys.count < FilterSurvey.reportedKeyLimit { untakenKeys.append(key) }
    return false
  }

  /// Counts objects whose results are all certain.
  fileprivate mutating func add(_ rows: FilterRows) {
    for place in left.indices { left[place] += Int64(rows.count) - rows.taken(by: place) }
    rows.untaken(by: Array(left.indices)) {
      untaken += Int64($0.count)
      untakenKeys += $0.prefix(FilterSurvey.reportedKeyLimit - untakenKeys.count)
    }
  }

  fileprivate mutating func forget(_ property: MappingLosses.Division.Property, _ count: Int64) {
    forgotten[property.name, default: 0] += count
  }

  /// Adds what became of objects whose keys are higher.
  package mutating func add(_ other: Self) {
    untaken += other.untaken
    untakenKeys += other.untakenKeys.prefix(FilterSurvey.reportedKeyLimit - untakenKeys.count)
    for place in left.indices { left[place] += other.left[place] }
    forgotten.merge(other.forgotten, uniquingKeysWith: +)
  }
}
