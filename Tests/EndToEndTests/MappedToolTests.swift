import Foundation
import GRDB
import Planning
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Migrations by mapping models in worker processes, with policies.
@Suite(.needsCorpus, .scratchFolder) struct MappedToolTests {
  private var folder: FilePath { ScratchFolder.current }
  private static let tool = BuiltTool.path.removingLastComponent().appending("PolicyTool")

  private func migrate(
    _ store: String, to model: String, in bundle: String, by mappings: [FilePath],
    workers: Int, _ more: [String] = [], environment: [Environment.Key: String?] = [:]
  ) async throws -> (result: FilePath, outcome: BuiltTool.Outcome) {
    let source = folder.appending("source")
    try FileManager.default.createDirectory(
      atPath: source.string, withIntermediateDirectories: true)
    let name = FilePath(store).lastComponent?.string ?? ""
    var copy = source.appending(name)
    if !FileManager.default.fileExists(atPath: copy.string) {
      copy = try Corpus.copyStore(store, to: source)
    }
    let result = folder.appending("result-\(workers)-\(UUID().uuidString).sqlite")
    let outcome = try await BuiltTool.run(
      [
        "migrate", copy.string, "--to", Corpus.path("\(bundle)/\(model)").string, "--models",
        Corpus.path(bundle).string, "--output", result.string, "--workers", "\(workers)",
      ] + mappings.flatMap { ["--mapping", $0.string] } + more,
      environment: environment, tool: Self.tool)
    #expect(try FileManager.default.contentsOfDirectory(atPath: source.string) == [name])
    return (result, outcome)
  }

  private static var carMapping: FilePath {
    Corpus.path("samplemodel/MappingModels/V2toV3.xcmappingmodel")
  }

  private func cars(
    workers: Int, by mapping: FilePath? = nil,
    _ more: [String] = [], environment: [Environment.Key: String?] = [:]
  ) async throws -> (result: FilePath, outcome: BuiltTool.Outcome) {
    try await migrate(
      "samplemodel/Fixtures/SampleModel_V2.sqlite", to: "SampleModel3.xcdatamodel",
      in: "samplemodel/SampleModel.xcdatamodeld", by: [mapping ?? Self.carMapping],
      workers: workers, more,
      environment: environment)
  }

  private func numbers(_ store: FilePath, _ queries: [String]) throws -> [Int64] {
    let queue = try DatabaseQueue(path: "file:\(store)?immutable=1")
    return try queue.writeWithoutTransaction { db in
      try queries.map { try Int64.fetchOne(db, sql: $0) ?? -1 }
    }
  }

  @Test func `cars get their makers with one and with three workers`() async throws {
    var results: [FilePath] = []
    for (workers, mapping) in [
      (1, Self.carMapping), (3, Corpus.path("samplemodel/Fixtures/V2toV3.cdm")),
    ] {
      let (result, outcome) = try await cars(workers: workers, by: mapping)
      try #require(outcome.status == 0, "\(outcome.standardError)")
      results.append(result)
    }
    #expect(
      try numbers(
        results[0],
        [
          "SELECT count(*) FROM ZCAR", "SELECT count(*) FROM ZMAKER",
          "SELECT count(ZCREATEDBY) FROM ZCAR", "SELECT count(*) FROM Z_1PREVIOUSOWNERS",
        ]) == [125, 10, 125, 118])
    #expect(try vacuumed(results[0]) == vacuumed(results[1]))
  }

  @Test func `a worker that a policy kills is tried again`() async throws {
    let report = folder.appending("report.json")
    let mark = folder.appending("died")
    let (plain, _) = try await cars(workers: 1)
    let odd = try await policy("Dying")
    let (result, outcome) = try await cars(
      workers: 2, by: odd, ["--report", report.string], environment: ["GODWIT_DIED": mark.string])
    #expect(outcome.status == 0, "\(outcome.standardError)")
    let text = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(text.contains("\"attempts\" : 2"))
    let list = ["SELECT sum(Z_PK) FROM ZCAR", "SELECT sum(ZOWNER) FROM ZCAR"]
    #expect(try numbers(result, list) == numbers(plain, list))
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `killed workers and coordinators leave a migration by policies that goes on`()
    async throws
  {
    let store = try Corpus.copyStore("samplemodel/Fixtures/SampleModel_V2.sqlite", to: folder)
    let bundle = Corpus.path("samplemodel/SampleModel.xcdatamodeld")
    let (result, report) = (folder.appending("New.sqlite"), folder.appending("report.json"))
    func migrate(_ fault: FaultPoint?) async throws -> Int32 {
      try await BuiltTool.run(
        [
          "migrate", store.string, "--to", bundle.appending("SampleModel3.xcdatamodel").string,
          "--models", bundle.string, "--mapping", Self.carMapping.string, "--output",
          result.string, "--report", report.string,
        ], environment: BuiltTool.environment(dyingAt: fault), tool: Self.tool
      ).status
    }
    #expect(try await migrate(.coordinatorAssembled) == -9)
    #expect(try await migrate(nil) == 0)
    let resumed = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(resumed.contains("\"resumed\" : true"))
    #expect(try numbers(result, ["SELECT count(*) FROM ZMAKER"]) == [10])
    let first = try vacuumed(result)
    try FileManager.default.removeItem(atPath: result.string)
    #expect(try await migrate(.workerLastFlush) == 0)
    let again = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(again.contains("\"attempts\" : 2"))
    #expect(try vacuumed(result) == first)
  }

  /// The mapping model of the cars with another policy, as a file of ours.
  private func policy(_ name: String) async throws -> FilePath {
    let file = folder.appending("\(name).json")
    let made = try await BuiltTool.run(["map", Self.carMapping.string, "--output", file.string])
    try #require(made.status == 0, "\(made.standardError)")
    let text = try String(contentsOfFile: file.string, encoding: .utf8)
    try text.replacing("REPLACE_AT_RUNTIME.V2to3MakerPolicy", with: name)
      .write(toFile: file.string, atomically: true, encoding: .utf8)
    return file
  }

  @Test(arguments: [
    ("Throwing", "no more of these"), ("Cancelling", "no more of these"),
    ("Forgetful", "did not associate"), ("Nobody", "Nobody"),
  ])
  func `what goes wrong in a worker is told with its place, and nothing is left`(
    name: String, words: String
  ) async throws {
    let (result, outcome) = try await cars(workers: 2, by: try await policy(name))
    #expect(outcome.status != 0)
    #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
    if name != "Nobody" {
      #expect(outcome.standardError.contains("CarToCar"), "\(outcome.standardError)")
      #expect(outcome.standardError.contains("Car 5"), "\(outcome.standardError)")
    }
    #expect(!FileManager.default.fileExists(atPath: result.string))
    #expect(!FileManager.default.fileExists(atPath: "\(result).godwit"))
  }

  @Test func `what a policy prints does not disturb its worker`() async throws {
    let (_, outcome) = try await cars(workers: 1, by: try await policy("Talkative"))
    #expect(outcome.status == 0)
    #expect(outcome.standardError.contains("a policy at work"))
    #expect(!outcome.standardOutput.contains("a policy at work"))
  }

  @Test func `books keep authors, users and files through two mapping models of one step`()
    async throws
  {
    let bundle = "bookmigration/Model.xcdatamodeld"
    let (second, first) = try await migrate(
      "bookmigration/Model1.sqlite", to: "Model2.xcdatamodel", in: bundle,
      by: [Corpus.path("bookmigration/Model1_to_Model2.xcmappingmodel")], workers: 1)
    try #require(first.status == 0, "\(first.standardError)")
    var results: [FilePath] = []
    for workers in [1, 3] {
      let result = folder.appending("third-\(workers).sqlite")
      let outcome = try await BuiltTool.run(
        [
          "migrate", second.string, "--to", Corpus.path("\(bundle)/Model3.xcdatamodel").string,
          "--models", Corpus.path(bundle).string, "--output", result.string, "--workers",
          "\(workers)", "--mapping",
          Corpus.path("bookmigration/Model2_to_Model3_User.xcmappingmodel").string, "--mapping",
          Corpus.path("bookmigration/Model2_to_Model3.xcmappingmodel").string,
        ], tool: Self.tool)
      try #require(outcome.status == 0, "\(outcome.standardError)")
      results.append(result)
    }
    #expect(
      try numbers(
        results[0],
        [
          "SELECT count(*) FROM ZAUTHOR", "SELECT count(*) FROM ZBOOK",
          "SELECT count(*) FROM ZFILE WHERE ZBOOK NOT NULL", "SELECT count(*) FROM ZUSER",
          "SELECT count(DISTINCT ZUSER) FROM ZFILE",
        ]) == [3, 4, 4, 3, 1])
    #expect(try vacuumed(results[0]) == vacuumed(results[1]))
  }
}
