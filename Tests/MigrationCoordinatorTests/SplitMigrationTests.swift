import Expressions
import Foundation
import GRDB
import Mapping
import MappingFiles
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Migrations whose mapping model shares the objects of an entity out.
@Suite(.scratchFolder) struct SplitMigrationTests {
  private struct Given {
    let given: GivenMigration
    var mapping: MappingModel

    /// Items with an odd number, and the rest; each with its orders and tags.
    ///
    /// - Parameter parent: the entity that the rest's is one of, whose table it then shares.
    init(
      restIn parent: String? = nil, filters: (String, String), rows: Int64 = 600
    ) throws {
      let old = try ManagedObjectModel(entities: SplitMigrationTests.entities(["Item"]))
      let new = try ManagedObjectModel(
        entities: parent == nil
          ? SplitMigrationTests.entities(["Item", "Rest"])
          : SplitMigrationTests.entities(["Item"]) + [Entity("Rest", in: parent, [])])
      given = try GivenMigration(from: old, to: new, rows: rows)
      mapping = .inferred(MappingInference(from: old, to: new), source: old, destination: new)
      mapping.entityMappings.removeAll { $0.destinationEntityName == "Rest" }
      let isApart = parent == nil
      for place in mapping.entityMappings.indices {
        mapping.entityMappings[place].kind = .transform
        let name = mapping.entityMappings[place].sourceEntityName
        if name == "Item" || !isApart { continue }
        let (prefix, old) = name == "Order" ? ("of", "ofItem") : ("with", "withItem")
        mapping.entityMappings[place].relationshipMappings = ["Item", "Rest"].map {
          (made: String) in
          PropertyMapping(
            name: prefix + made,
            valueExpression: .destinations(ofRelationship: old, mapping: made))
        }
      }
      guard let place = mapping.entityMappings.firstIndex(where: { $0.sourceEntityName == "Item" })
      else { preconditionFailure("the models have items") }
      mapping.entityMappings[place].name = "Item"
      var rest = mapping.entityMappings[place]
      (rest.name, rest.destinationEntityName) = ("Rest", "Rest")
      rest.destinationVersionHash = nil
      mapping.entityMappings[place].sourceExpression = .sourceObjects(
        of: "Item", where: filters.0)
      rest.sourceExpression = .sourceObjects(of: "Item", where: filters.1)
      mapping.entityMappings.append(rest)
    }

    func request(_ engine: EngineName?, workers: Int = 2) throws -> MigrationRequest {
      let file = given.folder.appending("Map.json")
      try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
      let name = engine?.rawValue ?? "auto"
      var request = given.request(
        workers: workers, output: given.folder.appending("\(name)-\(workers).sqlite"))
      request.mappings = [file]
      request.engine = engine
      request.lossConsent = .all
      return request
    }
  }

  private static func entities(_ items: [String]) -> [Entity] {
    items.map { name in
      Entity(
        name, [.optional("number", .integer32), .optional("word")],
        [
          .toMany("orders", "Order", inverse: "of\(name)"),
          .toMany("tags", "Tag", inverse: "with\(name)"),
        ])
    } + [
      Entity(
        "Order", [.optional("code")], items.map { .toOne("of\($0)", $0, inverse: "orders") }),
      Entity("Tag", [], items.map { .toMany("with\($0)", $0, inverse: "tags") }),
    ]
  }

  private func vacuumed(_ path: FilePath) throws -> [UInt8] {
    let copy = FilePath("\(path).vacuumed")
    let connection = try StoreConnection.immutable(path)
    try connection.run { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy.string]) }
    return try Files.readFile(copy, limit: 1 << 30)
  }

  private func said(_ path: FilePath) throws -> String {
    try StoreDump.text(of: path).replacing(/Z_OPT=\d+/, with: "")
  }

  @Test(arguments: [nil, "Item"])
  func `all engines share the objects out alike`(parent: String?) async throws {
    let given = try Given(restIn: parent, filters: ("number > 40", "NOT (number > 40)"))
    var bytes: [[UInt8]] = []
    var texts: [String] = []
    for (engine, workers) in [(EngineName.sql, 1), (.pages, 1), (.pages, 3), (.objects, 2)] {
      let request = try given.request(engine, workers: workers)
      let report = try await given.given.run(request)
      #expect(report.engine == engine)
      #expect(report.engineDeclined == nil)
      let account = try #require(
        report.accounts.first?.entities.first { $0.entity == "Item" })
      #expect(account.rowsIn == account.rowsOut)
      let rows = try #require(report.accounts.first?.rows)
      #expect(rows["Item", default: 0] > 10)
      #expect(rows["Rest", default: 0] > 10)
      #expect(rows["Item", default: 0] + rows["Rest", default: 0] == account.rowsIn)
      for pairs in report.accounts.flatMap(\.pairs) {
        #expect(pairs.rowsIn == pairs.rowsOut)
        #expect(pairs.rowsIn > 0)
      }
      let planned = try #require(report.timeline).workOrders.reduce(0) { $0 + $1.rows }
      let read = report.accounts.flatMap(\.entities).reduce(0) { $0 + $1.rowsIn }
      // Of objects no pairs are planned; those of shared rows are estimated from their owners.
      let pairs =
        engine == .objects
        ? 0 : report.accounts.flatMap(\.pairs).reduce(0) { $0 + $1.rowsIn }
      #expect(abs(planned - read - pairs) <= pairs / 4)
      texts.append(try said(request.destination))
      if engine != .objects { bytes.append(try vacuumed(request.destination)) }
    }
    #expect(Set(bytes).count == 1)
    #expect(Set(texts).count == 1)
  }

  @Test func `a survey that tells of its filters meanwhile comes to its end`() async throws {
    // SQLite can try neither of them.
    let given = try Given(
      filters: ("word CONTAINS[cd] 'e'", "NOT (word CONTAINS[cd] 'e')"), rows: 4_500)
    let report = try await given.given.run(given.request(.objects))
    let account = try #require(report.accounts.first?.entities.first { $0.entity == "Item" })
    // It is told of 1024 objects at a time.
    #expect(account.rowsIn > 1024 && account.rowsIn == account.rowsOut)
  }

  @Test func `an object that two mappings take is made twice, in two tables`() async throws {
    let given = try Given(filters: ("number > 40", "number > 20"))
    let rows = try given.request(.sql)
    let report = try await given.given.run(rows)
    #expect(report.engine == .sql)
    let objects = try given.request(.objects)
    _ = try await given.given.run(objects)
    #expect(try said(rows.destination) == said(objects.destination))
    let account = try #require(report.accounts.first?.entities.first { $0.entity == "Item" })
    let made = report.accounts.first?.rows ?? [:]
    #expect(account.rowsOut == made["Rest"])
    #expect(made["Item", default: 0] > 0)
  }

  @Test func `an object that two mappings put into one table goes object by object`()
    async throws
  {
    let given = try Given(restIn: "Item", filters: ("number > 40", "number > 20"))
    let request = try given.request(.pages)
    let report = try await given.given.run(request)
    #expect(report.engine == .objects)
    #expect(report.engineDeclined?.hasSuffix("read or make objects of the same entity") == true)
    let asked = try given.request(.objects)
    #expect(try await given.given.run(asked).engineDeclined == nil)
    #expect(try vacuumed(request.destination) == vacuumed(asked.destination))
  }

  @Test func `an interrupted split keeps the work orders that are done`() async throws {
    let given = try Given(filters: ("number > 40", "NOT (number > 40)"))
    var request = try given.request(.pages, workers: 1)
    request.rangeRows = 30
    let interrupted = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.given.run(request, interrupted) }
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.given.run(request, second)
    #expect(report.resumed)
    #expect(!second.starts.contains("1.1"))
    let plain = try given.request(.sql, workers: 3)
    _ = try await given.given.run(plain)
    #expect(try vacuumed(request.destination) == vacuumed(plain.destination))
  }
}
