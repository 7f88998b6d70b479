import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import Godwit

@Suite struct MadeStoresTests {
  private func findings(_ given: GivenStore, objects: Int64 = 40) async throws
    -> [StoreCheck.Finding]
  {
    let made = try await MadeStores(of: FilePath(given.model.path), objects: objects, seed: 3)
    var check = try StoreCheck(of: given.migration())
    check.migratesCopies = true
    check.made = made
    return made.named(await check.run(made.entries))
  }

  @Test func `a store of each version is made, migrated, compared and taken back`() async throws {
    let file = Model.entity(
      "Note",
      Model.attribute("title", "String")
        + Model.attribute(
          "scan", "Binary", "optional=\"YES\" allowsExternalBinaryDataStorage=\"YES\""))
    let given = try GivenStore(Model.note, file, Model.longNote + Model.tag)
    let found = try await findings(given)
    #expect(found.map(\.store) == ["1 (generated)", "2 (generated)", "3 (generated)"])
    #expect(found.map(\.from) == [["1"], ["2"], ["3"]])
    #expect(found.allSatisfy { $0.isPossible && $0.exitStatus == 0 }, "\(found.flatMap(\.reasons))")
    #expect(found.map { $0.trial?.isCompared } == [true, true, nil])
    #expect(found.map { $0.trial?.isTakenBack } == [true, true, nil])
    #expect(found.prefix(2).allSatisfy { ($0.trial?.rows ?? 0) == 40 })
  }

  @Test func `a step that cannot be is told of its version, and no other is left out`() async throws
  {
    let mandatory = Model.entity(
      "Note", Model.attribute("title", "String") + Model.attribute("pages", "Integer 16", ""))
    let given = try GivenStore(Model.noteWithoutPages, Model.note, mandatory)
    let found = try await findings(given)
    #expect(found.map(\.isPossible) == [false, false, true])
    #expect(found[0].reasons[0].hasPrefix("1 (generated) cannot be migrated"))
    #expect(found[0].reasons.contains { $0.contains("Note.pages") })
    #expect(!found.flatMap(\.reasons).contains { $0.contains("/godwit-") })
    #expect(found[1].reasons.contains { $0.contains("missing in") })
  }

  @Test func `a version of which no store can be made is told, and no other is left out`()
    async throws
  {
    let given = try GivenStore(Model.note, Model.longNote)
    try given.write("<entity name=\"A\" parentEntity=\"Gone\"/>", as: "0")
    let found = try await findings(given)
    #expect(found.map(\.store) == ["0 (generated)", "1 (generated)", "2 (generated)"])
    #expect(found.map(\.isPossible) == [false, true, true])
    #expect(
      found[0].reasons == [
        "the model cannot be used at A: the superentity Gone is not in the model."
      ])
  }

  @Test func `the same seed makes the same stores, which go with the value`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    func bytes(_ seed: UInt64) async throws -> ([Data], [FilePath]) {
      let made = try await MadeStores(of: FilePath(given.model.path), objects: 30, seed: seed)
      let paths = made.entries.map(\.path)
      return (try paths.map { try Data(contentsOf: URL(filePath: $0.string)) }, paths)
    }
    let (one, paths) = try await bytes(5)
    #expect(try await bytes(5).0 == one)
    #expect(try await bytes(6).0 != one)
    #expect(!paths.contains { FileManager.default.fileExists(atPath: $0.string) })
  }

  @Test func `the stores that are made are counted one by one`() async throws {
    let given = try GivenStore(Model.note, Model.longNote, Model.note + Model.tag)
    let told = Mutex<[Int]>([])
    let made = try await MadeStores(of: FilePath(given.model.path), objects: 5, seed: 1) {
      done, all in
      told.withLock { $0.append(done * 10 + all) }
    }
    #expect(told.withLock { $0 } == [13, 23, 33])
    #expect(made.versions == ["1", "2", "3"])
  }
}
