import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Composite attributes in mapping files: object by object, and row by row.
@Suite(.scratchFolder) struct CompositeToolTests {
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("Old.sqlite") }
  private let models = FilePath(#filePath).removingLastComponent()
    .appending("Scenarios/composites-are-mapped-by-element")
  private var destination: FilePath { models.appending("destination.xcdatamodel") }

  private func make() async throws {
    let made = try await BuiltTool.run([
      "generate", models.appending("source.xcdatamodel").string, "--rows", "0", "--output",
      store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
    try fill(
      with: String(contentsOfFile: models.appending("rows.sql").string, encoding: .utf8))
  }

  private func fill(with rows: String) throws {
    let queue = try DatabaseQueue(path: store.string)
    try queue.writeWithoutTransaction { try $0.execute(sql: rows) }
    try queue.close()
  }

  private func rows(_ store: FilePath) throws -> [String] {
    let queue = try DatabaseQueue(path: "file:\(store)?immutable=1")
    return try queue.writeWithoutTransaction { db in
      try Row.fetchAll(
        db, sql: "SELECT ZID1, ZID, ZID2, ZWHO, ZYEAR, ZCURRENCY, ZNOTE FROM ZDRINK ORDER BY 1"
      ).map { row in row.databaseValues.map(StoreDump.text).joined(separator: " ") }
    }
  }

  /// Migrates by a mapping file; the rows, and what the tool said.
  private func migrate(
    filter: String?, attributes: String, _ more: [String] = []
  ) async throws -> (rows: [String], outcome: BuiltTool.Outcome) {
    try await make()
    let file = folder.appending("Map.json")
    let chosen = filter.map { "\"filter\": \"\($0)\"," } ?? ""
    let text = """
      {"format": "godwit mapping model", "version": 1, "mappings": [
        {"name": "DrinkToDrink", "type": "transform", "source": "Drink", "destination": "Drink",
         \(chosen) "attributes": {\(attributes)}}]}
      """
    try Data(text.utf8).write(to: URL(filePath: file.string))
    let result = folder.appending("New.sqlite")
    let outcome = try await BuiltTool.run(
      [
        "migrate", store.string, "--to", destination.string, "--mapping", file.string,
        "--output", result.string,
      ] + more)
    guard outcome.status == 0 else { return ([], outcome) }
    let verified = try await BuiltTool.run([
      "verify", store.string, result.string, "--mapping", file.string,
    ])
    #expect(verified.status == 0, "\(verified.standardOutput)\(verified.standardError)")
    return (try rows(result), outcome)
  }

  private static let whole = """
    "id": "$source.id", "writer": "$source.author", "box.id": "\\"boxed\\"",
    "price.currency": "TERNARY($source.price.currency == nil, \\"EUR\\", $source.price.currency)",
    "writer.note": "$source.author.person"
    """

  @Test(arguments: [nil, "author.year < 2000"])
  func `a whole composite and single elements are mapped`(filter: String?) async throws {
    let (rows, outcome) = try await migrate(
      filter: filter, attributes: Self.whole,
      filter == nil ? [] : ["--allow-loss", "Drink"])
    #expect(outcome.status == 0, "\(outcome.standardError)")
    let all = [
      "'drink 1' 'boxed' 'author 1' 'Ada' 1901 'NZD' 'Ada'",
      "'drink 2' 'boxed' NULL NULL NULL 'EUR' NULL",
      "'drink 3' 'boxed' 'author 3' NULL -3 'USD' NULL",
    ]
    #expect(rows == (filter == nil ? all : [all[0], all[2]]))
  }

  @Test func `elements that a mapping forgets are losses by name`() async throws {
    let (_, outcome) = try await migrate(
      filter: nil,
      attributes: "\"id\": \"$source.id\", \"writer.id\": \"$source.author.id\"")
    #expect(outcome.status == 78)
    for name in ["Drink.author.person", "Drink.author.year", "Drink.price.currency"] {
      #expect(outcome.standardError.contains("\(name): "), "\(outcome.standardError)")
    }
    #expect(!outcome.standardError.contains("Drink.author.id"))
  }

  @Test func `an element that is not there is told with its mapping`() async throws {
    let (_, outcome) = try await migrate(
      filter: nil, attributes: "\"id\": \"$source.author.nickname\"")
    #expect(outcome.status == 78)
    #expect(outcome.standardError.contains("author.nickname"), "\(outcome.standardError)")
  }

  @Test func `inspect shows what a composite consists of`() async throws {
    let shown = try await BuiltTool.run(["inspect", destination.string, "--json"])
    #expect(
      shown.standardOutput.contains(
        "\"type\" : \"Composite (id String, who String, year Integer 64, note String)\""),
      "\(shown.standardOutput)")
  }
}
