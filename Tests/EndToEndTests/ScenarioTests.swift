import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// A folder for each claim: two models, rows by SQL, and what must come of them.
///
/// A run with GODWIT_RECORD=1 writes the expectations anew, one with GODWIT_RECORD=NAME those of
/// the scenarios whose names contain it; read them before they are committed.
@Suite(.scratchFolder) struct ScenarioTests {
  private static let folder = FilePath(#filePath).removingLastComponent().appending("Scenarios")

  private static let claims: [String] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.string)) ?? []
    return names.filter { !$0.hasPrefix(".") }.sorted()
  }()

  private var store: FilePath { ScratchFolder.current.appending("Source.sqlite") }
  private var output: FilePath { ScratchFolder.current.appending("Out.sqlite") }

  @Test func `there are scenarios`() {
    #expect(Self.claims.count >= 12)
  }

  @Test(arguments: claims, ["sql", "pages"])
  func `a scenario comes out as expected`(claim: String, engine: String) async throws {
    let scenario = Self.folder.appending(claim)
    try await make(scenario)
    let before = try Data(contentsOf: URL(filePath: store.string))
    let mapping = scenario.appending("mapping.json")
    let isMapped = FileManager.default.fileExists(atPath: mapping.string)
    let way = isMapped ? ["--mapping", mapping.string] : []
    let allowed = try? String(
      contentsOfFile: scenario.appending("allowed.txt").string, encoding: .utf8)
    let arguments =
      [
        "migrate", store.string, "--to", scenario.appending("destination.xcdatamodel").string,
        "--output", output.string, "--engine", engine,
      ] + way
    if allowed != nil {
      // What is lost beyond the model's own removals is refused until it is named.
      let refused = try await BuiltTool.run(arguments)
      #expect(refused.status == 78, "\(refused.standardError)")
    }
    let names = allowed?.split(separator: "\n").flatMap { ["--allow-loss", "\($0)"] } ?? []
    let outcome = try await BuiltTool.run(arguments + names)
    var found = "exit \(outcome.status)\n" + scrubbed(outcome.standardError)
    if outcome.status == 0 { found += try StoreDump.text(of: output) }
    let expected = URL(filePath: scenario.appending("expected.txt").string)
    let recorded = ProcessInfo.processInfo.environment["GODWIT_RECORD"]
    if let recorded, recorded == "1" || scenario.string.contains(recorded) {
      try Data(found.utf8).write(to: expected)
    }
    #expect(found == (try String(contentsOf: expected, encoding: .utf8)))
    if isMapped, outcome.status == 0 {
      let to = ["--to", scenario.appending("destination.xcdatamodel").string]
      let judged = try await BuiltTool.run(["verify", store.string, output.string] + to + way)
      #expect(judged.status == 0, "\(judged.standardOutput)")
    }
    #expect(try Data(contentsOf: URL(filePath: store.string)) == before)
    let left = try FileManager.default.contentsOfDirectory(atPath: ScratchFolder.current.string)
    #expect(
      left.sorted() == (outcome.status == 0 ? ["Out.sqlite", "Source.sqlite"] : ["Source.sqlite"]))
  }

  /// Makes the store of the source model, and fills it.
  private func make(_ scenario: FilePath) async throws {
    let made = try await BuiltTool.run([
      "generate", scenario.appending("source.xcdatamodel").string, "--rows", "0", "--output",
      store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
    try fill(with: String(contentsOfFile: scenario.appending("rows.sql").string, encoding: .utf8))
  }

  private func fill(with rows: String) throws {
    let queue = try DatabaseQueue(path: store.string)
    try queue.writeWithoutTransaction { try $0.execute(sql: rows) }
    try queue.close()
  }

  /// What was said, without the folder and without progress, which long runs tell.
  private func scrubbed(_ text: String) -> String {
    text.replacing(ScratchFolder.current.string + "/", with: "")
      .replacing(Self.folder.string + "/", with: "")
      .replacing(/godwit: (?:\d+ % )?after [^\n]*\n/, with: "")
  }
}
