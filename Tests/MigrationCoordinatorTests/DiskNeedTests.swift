import Expressions
import Foundation
import Mapping
import MappingFiles
import MigrationEngine
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct DiskNeedTests {
  private let mebibyte: Int64 = 1 << 20

  @Test func `pages take little more than the result, tables of workers as much again`() {
    let source = 1000 * mebibyte
    let pages = DiskNeed(sourceBytes: source, shardTenths: 1)
    #expect(pages.bytes == 1224 * mebibyte)
    #expect(DiskNeed(sourceBytes: source).bytes == 2524 * mebibyte)
    #expect(DiskNeed(sourceBytes: 0).bytes == 24 * mebibyte)
    let legs = DiskNeed(
      sourceBytes: source, stages: 3, shardTenths: 1, externalBytes: 10 * mebibyte)
    #expect(legs.bytes == pages.bytes + 1130 * mebibyte)
    #expect(legs.external == 10 * mebibyte)
    #expect(DiskNeed(sourceBytes: .max, stages: 2, externalBytes: .max).bytes == .max)
  }

  @Test func `what goes to one file system counts together, and each is checked`() {
    let wanted: [(folder: FilePath, bytes: Int64, purpose: String)] = [
      ("/a/work", 60, "work"), ("/b", 30, "the new store"), ("/a", 50, "external files"),
      ("/c", 0, "nothing"),
    ]
    func find(_ room: [String: Int64]) -> [DiskShortage] {
      DiskShortage.find(
        wanted: wanted, device: { $0.string.hasPrefix("/a") ? 1 : 2 },
        room: { room[$0.string.hasPrefix("/a") ? "a" : "b"] ?? 0 })
    }
    #expect(find(["a": 110, "b": 30]).isEmpty)
    // Each of the two would fit alone.
    #expect(
      find(["a": 109, "b": 30]) == [
        DiskShortage(
          path: "/a/work", needed: 110, available: 109, purposes: ["work", "external files"])
      ])
    #expect(find(["a": 109, "b": 29]).map(\.path) == ["/a/work", "/b"])
  }

  @Test func `what objects made one by one take is told within a fifth`() async throws {
    let old = try ManagedObjectModel(
      Entity("Person", [.optional("name"), .optional("born", .date)]),
      Entity("Town", [.optional("name")]))
    let new = try ManagedObjectModel(
      Entity(
        "Person",
        [
          .optional("name"), .optional("born", .date),
          .optional("word", default: .string("sixteen letters.")),
        ], [.toOne("town", "Town", inverse: "people")]),
      Entity("Town", [.optional("name")], [.toMany("people", "Person", inverse: "town")]))
    try await expectNeed(from: old, to: new) { _ in }
  }

  @Test func `objects that two mappings take count twice`() async throws {
    let old = try ManagedObjectModel(Entity("Person", [.optional("name"), .optional("note")]))
    let new = try ManagedObjectModel(
      Entity("Person", [.optional("name"), .optional("note")]),
      Entity("Twin", [.optional("name"), .optional("note")]))
    try await expectNeed(from: old, to: new) { mapping in
      let attributes = mapping.entityMappings.flatMap(\.attributeMappings)
      for index in mapping.entityMappings.indices {
        mapping.entityMappings[index].sourceEntityName = "Person"
        mapping.entityMappings[index].kind = .transform
        mapping.entityMappings[index].attributeMappings = attributes
      }
    }
  }

  /// Migrates object by object, and expects a result and shards of the sizes that were told.
  private func expectNeed(
    from old: ManagedObjectModel, to new: ManagedObjectModel,
    _ change: (inout MappingModel) throws -> Void
  ) async throws {
    let given = try GivenMigration(from: old, to: new, rows: 12_000)
    let output = given.folder.appending("New.sqlite")
    var request = given.request(output: output)
    var mapping = MappingModel.inferred(
      MappingInference(from: old, to: new), source: old, destination: new)
    try change(&mapping)
    request.mappings = [given.folder.appending("Map.json")]
    try Files.writeFileAtomically(
      Array(MappingText.text(mapping: mapping).utf8), to: request.mappings[0])
    request.engine = .objects
    let target = try TargetModel(paths: request.target, configuration: nil)
    let need = try MigrationPreview.with(request, target: target) { $0.diskNeed }
    _ = try await given.run(request)
    let made = Double(try Files.fileStatus(output).size)
    #expect((0.8...1.2).contains(Double(need.result) / made))
    // The shards have all objects, and each takes a little besides.
    #expect((1...4).contains((need.work - need.result) / mebibyte))
  }

  @Test func `nothing is written where a disk has too little room`() async throws {
    let given = try GivenMigration()
    let paths = given.request().paths
    let workspace = try Workspace.open(paths, store: given.store)
    let error = #expect(throws: PlaceError.self) {
      try workspace.requireSpace(DiskNeed(sourceBytes: 1 << 60))
    }
    guard case .diskFull(let shortages)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(shortages.count == 1 && shortages[0].available < shortages[0].needed)
    try workspace.requireSpace(DiskNeed(sourceBytes: 1))
  }
}
