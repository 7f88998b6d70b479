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
    #expect(seen.standardOutput.contains("history: 1,000 changes in 125 transactions, "))
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

  @Test(arguments: ["sql", "pages"])
  func `a history that is gone is missing, unless it was dropped`(engine: String) async throws {
    let models = Self.scenarios.appending("renamed-entity-and-attribute")
    let new = models.appending("destination.xcdatamodel").string
    let store = folder.appending("Old.sqlite").string
    let (kept, dropped) = (
      folder.appending("Kept.sqlite").string, folder.appending("Dropped.sqlite").string
    )
    _ = try await run(
      "generate", models.appending("source.xcdatamodel").string, "--rows", "50", "--transactions",
      "5", "--changes", "40", "--output", store)
    let migration = ["migrate", store, "--to", new, "--engine", engine, "--allow-loss"]
    for (result, choice) in [(kept, "keep"), (dropped, "drop")] {
      let outcome = try await BuiltTool.run(
        migration + ["--output", result, "--history", choice, "--verify", "full"])
      #expect(outcome.status == 0, "\(outcome.standardError)")
    }
    let missing = try await BuiltTool.run(["verify", store, dropped, "--to", new])
    #expect(missing.status == 65)
    let lines = missing.standardOutput.split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("rowMissing: ACHANGE ") } == 40)
    #expect(lines.count { $0.hasPrefix("rowMissing: ATRANSACTION ") } == 5)
    #expect(missing.standardError.contains("use --history drop if it was dropped"))
    let expected = try await run("verify", store, dropped, "--to", new, "--history", "drop")
    #expect(expected.standardOutput.contains("without the persistent history of"))
    #expect(expected.standardError.contains("40 rows of persistent history (ACHANGE)"))
    let left = try await BuiltTool.run(["verify", store, kept, "--to", new, "--history", "drop"])
    #expect(left.status == 65)
    #expect(left.standardOutput.contains("rowExtra: ACHANGE"))
    #expect(left.standardOutput.contains("rowExtra: ATRANSACTION"))
  }
}
