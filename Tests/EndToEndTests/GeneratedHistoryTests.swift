import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Generated stores with persistent history, migrated by each engine and verified.
@Suite(.scratchFolder) struct GeneratedHistoryTests {
  private var folder: FilePath { ScratchFolder.current }
  private static let scenarios = FilePath(#filePath).removingLastComponent().appending("Scenarios")

  private func run(_ arguments: String...) async throws -> BuiltTool.Outcome {
    let outcome = try await BuiltTool.run(arguments)
    try #require(outcome.status == 0, "\(arguments): \(outcome.standardError)")
    return outcome
  }

  /// The changes of a store, and the transactions that are there from the start.
  private func history(_ store: FilePath) throws -> [String] {
    try DatabaseQueue(path: "file:\(store)?immutable=1").writeWithoutTransaction { db in
      try ["SELECT * FROM ACHANGE ORDER BY 1", "SELECT * FROM ATRANSACTION ORDER BY 1 LIMIT 125"]
        .flatMap { sql in
          try Row.fetchAll(db, sql: sql).map { row in
            row.databaseValues.map(StoreDump.text).joined(separator: " ")
          }
        }
    }
  }

  @Test(arguments: [
    "new-parent-and-child-renumber-entities", "composites-are-mapped-by-element",
    "renamed-entity-and-attribute",
  ])
  func `a generated history goes through both engines and is verified`(
    scenario: String
  ) async throws {
    let models = Self.scenarios.appending(scenario)
    let (old, new) = (
      models.appending("source.xcdatamodel").string,
      models.appending("destination.xcdatamodel").string
    )
    let store = folder.appending("Old.sqlite")
    let made = try await run(
      "generate", old, "--rows", "200", "--transactions", "125", "--changes", "1000", "--output",
      store.string)
    #expect(made.standardOutput.contains("200 objects"))
    let seen = try await run("inspect", store.string)
    #expect(seen.standardOutput.contains("history: 1000 changes in 125 transactions, "))
    var results: [[String]] = []
    for engine in ["sql", "pages"] {
      let result = folder.appending("\(engine).sqlite")
      let migrated = try await run(
        "migrate", store.string, "--to", new, "--output", result.string, "--engine", engine,
        "--allow-loss")
      let verified = try await run("verify", store.string, result.string, "--to", new)
      // Both say how many changes name more than is known, or neither does.
      let notes = [migrated, verified].map { outcome in
        outcome.standardError.split(separator: "\n").filter { $0.contains("of the history name") }
          .map { $0.hasSuffix(".") ? String($0.dropLast()) : String($0) }
      }
      #expect(notes[0] == notes[1])
      #expect(notes[0].isEmpty == !scenario.hasPrefix("composites"))
      results.append(try history(result))
    }
    #expect(results[0] == results[1])
    #expect(results[0].count > 1000)
  }
}
