import Foundation
import GRDB
import Planning
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Migrations of small stores to an output, which no later run finds anything of.
@Suite(.scratchFolder) struct InstantTests {
  private var folder: FilePath { ScratchFolder.current }
  private var models: FilePath { folder.appending("Model.xcdatamodeld") }
  private var store: FilePath { folder.appending("Store.sqlite") }
  private var outputs: FilePath { folder.appending("Outputs") }
  private var output: FilePath { outputs.appending("New.sqlite") }

  private func arguments(_ more: [String] = []) -> [String] {
    [
      "migrate", store.string, "--to", models.appending("2.xcdatamodel").string, "--models",
      models.string, "--output", output.string,
    ] + more
  }

  private func migrate(
    _ more: String..., temporary: FilePath? = nil, dyingAt point: FaultPoint? = nil
  ) async throws -> BuiltTool.Outcome {
    var environment = BuiltTool.environment(dyingAt: point)
    if let temporary { environment["TMPDIR"] = temporary.string }
    return try await BuiltTool.run(
      arguments(more), environment: environment, keepsRecord: true)
  }

  private func make(rows: Int, filling value: String? = nil) async throws {
    let filling = value.map { " defaultValueString=\"\($0)\"" } ?? " optional=\"YES\""
    for (version, attribute) in [("1", ""), ("2", "<attribute name=\"b\"\(filling)/>")] {
      let path = models.appending("\(version).xcdatamodel")
      try FileManager.default.createDirectory(
        atPath: path.string, withIntermediateDirectories: true)
      let added = attribute.replacing("/>", with: " attributeType=\"String\"/>")
      try """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="Note"><attribute name="a" optional="YES" attributeType="String"/>\(added)\
      </entity></model>
      """.write(toFile: path.appending("contents").string, atomically: true, encoding: .utf8)
    }
    try makeOutputs()
    let made = try await BuiltTool.run([
      "generate", models.appending("1.xcdatamodel").string, "--rows", "\(rows)", "--output",
      store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: store.string)
  }

  private func makeOutputs() throws {
    try FileManager.default.createDirectory(
      atPath: outputs.string, withIntermediateDirectories: false)
  }

  private func names(in folder: FilePath) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: folder.string))
  }

  /// Whether there is another file system that everybody may write to.
  private static let isElsewhere = FileManager.default.isWritableFile(atPath: "/dev/shm")

  @Test(
    arguments: [(40, false), (30_000, false)] + (isElsewhere ? [(40, true), (30_000, true)] : []))
  func `an output is the same wherever it was made, and nothing else is left`(
    rows: Int, isElsewhere: Bool
  ) async throws {
    let place = isElsewhere ? FilePath("/dev/shm") : folder
    let temporary = place.appending("godwit-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      atPath: temporary.string, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: temporary.string) }
    try await make(rows: rows)
    let made = try await migrate(temporary: temporary)
    #expect(made.status == 0, "\(made.standardError)")
    #expect(try names(in: temporary) == [])
    #expect(try names(in: outputs) == ["New.sqlite", "New.sqlite.godwit-status.json"])
    let attributes = try FileManager.default.attributesOfItem(atPath: output.string)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    let bytes = try vacuumed(output)

    let again = try await migrate(temporary: temporary)
    #expect(again.status == 0, "\(again.standardError)")

    try FileManager.default.removeItem(atPath: outputs.string)
    try makeOutputs()
    let work = try await migrate("--work", folder.appending("Work").string)
    #expect(work.status == 0, "\(work.standardError)")
    #expect(try vacuumed(output) == bytes)
  }

  @Test func `an output that is much larger than its store is made beside it`() async throws {
    // At most 64 MiB are made among temporary files.
    try await make(rows: 9_000, filling: String(repeating: "x", count: 10_000))
    let reports = folder.appending("report.json")
    let made = try await migrate("--report", reports.string)
    #expect(made.status == 0, "\(made.standardError)")
    #expect(try names(in: outputs) == ["New.sqlite", "New.sqlite.godwit-status.json"])
    let queue = try DatabaseQueue(path: output.string)
    let bytes = try await queue.read {
      try Int64.fetchOne($0, sql: "SELECT sum(length(ZB)) FROM ZNOTE")
    }
    #expect(bytes == 90_000_000)
    try queue.close()
  }

  @Test func `a run that is killed leaves the output whole or not at all`() async throws {
    try await make(rows: 2_000)
    for delay in stride(from: 2, through: 200, by: 9) {
      let run = Process()
      run.executableURL = URL(filePath: BuiltTool.path.string)
      run.arguments = arguments()
      (run.standardOutput, run.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      try run.run()
      try await Task.sleep(for: .milliseconds(delay))
      kill(run.processIdentifier, SIGKILL)
      run.waitUntilExit()
      // A record that was being written has no name yet.
      let left = try names(in: outputs).filter { !$0.hasSuffix(".tmp") }
      #expect(
        left.isSubset(of: ["New.sqlite", "New.sqlite.godwit-status.json"]),
        "\(run.terminationStatus), \(left)")
      if left.contains("New.sqlite") { _ = try vacuumed(output) }
      let ended = try await migrate()
      #expect(ended.status == 0, "\(ended.standardError)")
      try FileManager.default.removeItem(atPath: outputs.string)
      try makeOutputs()
    }
  }

  @Test func `of several runs to one output at once one makes it, and tells of it`() async throws {
    try await make(rows: 2_000)
    for _ in 0..<4 {
      async let (one, other, third) = (migrate(), migrate(), migrate())
      let ended = try await [one, other, third]
      #expect(ended.contains { $0.status == 0 })
      for run in ended where run.status != 0 {
        #expect(run.status == 73)
        #expect(run.standardError.contains("New.sqlite exists"), "\(run.standardError)")
      }
      _ = try vacuumed(output)
      let told = try await BuiltTool.run(["status", output.string])
      #expect(told.status == 0, "\(told.standardOutput)")
      try FileManager.default.removeItem(atPath: outputs.string)
      try makeOutputs()
    }
  }

  @Test func `a name that is taken stays whose it is`() async throws {
    try await make(rows: 40)
    try "mine".write(toFile: output.string, atomically: true, encoding: .utf8)
    let refused = try await migrate()
    #expect(refused.status == 73, "\(refused.standardError)")
    #expect(try String(contentsOfFile: output.string, encoding: .utf8) == "mine")
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `what an earlier run has left in its work folder is ended there`() async throws {
    try await make(rows: 40)
    let killed = try await migrate(dyingAt: .coordinatorAssembled)
    #expect(killed.status == -9)
    #expect(try names(in: outputs).contains("New.sqlite.godwit"))
    let ended = try await migrate()
    #expect(ended.status == 0, "\(ended.standardError)")
    #expect(try names(in: outputs) == ["New.sqlite", "New.sqlite.godwit-status.json"])
  }
}
