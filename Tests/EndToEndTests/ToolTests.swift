import Subprocess
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Whole migrations by the built tool, with worker processes.
@Suite(.scratchFolder) struct ToolTests {
  private static let scenarios = FilePath(#filePath).removingLastComponent().appending("Scenarios")
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("Store.sqlite") }
  private let models = scenarios.appending("one-to-many-becomes-ordered-many-to-many")

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted() }
  }

  private func generate(rows: Int) async throws {
    let made = try await BuiltTool.run([
      "generate", models.appending("source.xcdatamodel").string, "--rows", "\(rows)", "--output",
      store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
  }

  private func migrate(
    _ more: [String] = [], faults: String? = nil
  ) async throws -> BuiltTool.Outcome {
    try await BuiltTool.run(
      ["migrate", store.string, "--to", models.appending("destination.xcdatamodel").string] + more,
      environment: faults.map { ["GODWIT_FAULT": $0] } ?? [:])
  }

  @Test func `a store is migrated in its place by processes, and verifies`() async throws {
    try await generate(rows: 2_000)
    let old = try Data(contentsOf: URL(filePath: store.string))
    let outcome = try await migrate(["--workers", "2", "--verify", "full"])
    #expect(outcome.status == 0, "\(outcome.standardError)")
    let left = try names
    #expect(left.count == 2 && left[0] == "Store.sqlite")
    let kept = folder.appending(left[1])
    #expect(try Data(contentsOf: URL(filePath: kept.string)) == old)
    let verified = try await BuiltTool.run(["verify", kept.string, store.string])
    #expect(verified.status == 0, "\(verified.standardError)")
    let again = try await migrate()
    #expect(again.status == 0)
    #expect(try names == left)
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `a killed worker is replaced, and the result is the same`() async throws {
    try await generate(rows: 300)
    let plain = folder.appending("Plain.sqlite")
    let other = folder.appending("Other.sqlite")
    #expect(try await migrate(["--output", plain.string]).status == 0)
    let report = folder.appending("report.json")
    let killed = try await migrate(
      ["--output", other.string, "--report", report.string], faults: "worker:first-flush")
    #expect(killed.status == 0, "\(killed.standardError)")
    #expect(try StoreDump.text(of: plain) == StoreDump.text(of: other))
    let text = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(text.contains("\"attempts\" : 2") || text.contains("\"attempts\":2"))
    #expect(try names == ["Other.sqlite", "Plain.sqlite", "Store.sqlite", "report.json"])
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `a killed coordinator leaves a migration that goes on`() async throws {
    try await generate(rows: 300)
    let old = try Data(contentsOf: URL(filePath: store.string))
    let more = ["--range-rows", "20", "--workers", "1"]
    #expect(try await migrate(more, faults: "coordinator:migrating").status == -9)
    #expect(try Data(contentsOf: URL(filePath: store.string)) == old)
    #expect(try names == ["Store.sqlite", "Store.sqlite.godwit"])
    let report = folder.appending("report.json")
    let resumed = try await migrate(more + ["--report", report.string])
    #expect(resumed.status == 0, "\(resumed.standardError)")
    let text = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(text.contains("\"resumed\" : true") || text.contains("\"resumed\":true"))
    #expect(try names.count == 3)
  }

  static let isRelease: Bool = {
    #if DEBUG
      false
    #else
      true
    #endif
  }()
}
