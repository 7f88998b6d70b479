import GRDB
package import Mapping
import ObjectModel
package import Schema
package import StoreFormat
package import SystemPackage

/// A survey of filters that reads large tables on several connections at once.
package final class SharedFilterSurvey {
  /// A connection that one thread after the other uses, never two at once.
  private final class Surveyor {
    private let connection: StoreConnection
    private let survey: FilterSurvey
    private var division: DivisionSurvey?

    init(_ connection: StoreConnection, making make: (Database) -> FilterSurvey) throws {
      self.connection = connection
      survey = try connection.perform(make)
    }

    func begin(
      _ division: MappingLosses.Division, asking question: FilterSurvey.Question
    ) throws {
      self.division = try connection.perform { _ in
        try survey.division(division, asking: question)
      }
    }

    func look(
      at keys: ClosedRange<Int64>, found: (FilterSurvey.Finding) throws -> Void
    ) throws {
      try connection.perform { _ in try division?.look(at: keys, found: found) }
    }

    func close() { try? connection.run { _ in survey.close() } }
  }

  private let tables: TableDivision
  private let schema: StoreSchema
  private let support: FilePath?
  private let now: Double
  private let pages: (any FilterPages)?
  private var surveyors: [Surveyor] = []

  /// Reads an unchanging store; its maker closes it.
  ///
  /// - Parameter pages: what finds rows without SQLite where it can.
  package init(
    _ tables: TableDivision, schema: StoreSchema, support: FilePath?, now: Double,
    pages: (any FilterPages)? = nil
  ) {
    (self.tables, self.schema, self.support, self.now) = (tables, schema, support, now)
    self.pages = pages
  }

  /// Ends what would keep connections from closing.
  package func close() { for surveyor in surveyors { surveyor.close() } }

  /// Evaluates the filters for every object of the entity; no result if a filter has none.
  ///
  /// - Parameters:
  ///   - question: further questions.
  ///   - found: called for the objects, in key order, on any thread, one call at a time.
  package func outcome(
    division: MappingLosses.Division, asking question: FilterSurvey.Question = .init(),
    found: (FilterSurvey.Finding) throws -> Void = { _ in }
  ) throws -> FilterSurvey.Outcome? {
    guard division.isKnown else { return nil }
    let table = schema.model.entity(name: division.entity).flatMap(schema.table)?.name
    let scan = table.map { tables.scan(of: $0) } ?? .whole
    var outcome = FilterSurvey.Outcome(mappings: division.filters.count)
    try open(scan.readers)
    for surveyor in surveyors.prefix(scan.readers) {
      try surveyor.begin(division, asking: question)
    }
    try scan.read(with: Array(surveyors.prefix(scan.readers))) { surveyor, keys, found in
      try surveyor.look(at: keys, found: found)
    } take: { finding in
      outcome.add(finding.outcome)
      try found(finding)
    }
    return outcome
  }

  private func open(_ count: Int) throws {
    while surveyors.count < count {
      // The first is there; fewer will do where no more files may be open.
      guard let connection = try? tables.connection(surveyors.count) else { return }
      surveyors.append(
        try Surveyor(connection) {
          FilterSurvey(db: $0, schema: schema, support: support, now: now, pages: pages)
        })
    }
  }
}
