import Expressions
import GRDB
import ObjectModel
import StoreFormat
import StoreGenerator
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Tables whose rows change in their entity numbers and masks alone are moved and patched.
@Suite(.scratchFolder) struct PatchedMovingTests {
  /// Three tables; the owner of a book may be of another entity, so its number stands beside it.
  private static func model(
    before: [String] = [], between: [String] = [], _ more: Attribute...
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: before.map { Entity($0, [.optional("x")]) } + [
        Entity(
          "Book", [.mandatory("title"), .optional("cover", .binary)],
          [
            .toOne("owner", "Person", inverse: "books"), .toMany("tags", "Tag", inverse: "books"),
          ])
      ]
        + between.map { Entity($0, [.optional("x")]) } + [
          Entity("Person", [.optional("name")], [.toMany("books", "Book", inverse: "owner")]),
          Entity("Reader", in: "Person", [.optional("card")]),
          Entity(
            "Tag", [.optional("word")] + more, [.toMany("books", "Book", inverse: "tags")]),
        ])
  }

  private func given(
    from old: ManagedObjectModel? = nil, to new: ManagedObjectModel, rows: Int64 = 6000,
    history: HistorySize? = nil, _ change: String = ""
  ) throws -> GivenMigration {
    let given = try GivenMigration(
      from: old ?? Self.model(), to: new, rows: rows, history: history)
    try given.change(change)
    return given
  }

  @Test(arguments: [nil, 700], [false, true])
  func `tables of entities that are numbered anew are moved`(
    rangeRows: Int64?, verifiesFully: Bool
  ) async throws {
    let given = try given(to: Self.model(between: ["Cask"]))
    let moved = try await given.moved(rangeRows: rangeRows) { $0.verifiesFully = verifiesFully }
    #expect(moved == ["ZBOOK", "ZTAG", "Z_1TAGS"])
  }

  @Test(arguments: [1, 3, 130, 300], [false, true])
  func `numbers that take more or fewer bytes than before have their rows laid out anew`(
    entities: Int, isShrinking: Bool
  ) async throws {
    let names = (0..<entities).map { "A\($0)" }
    let given = try given(
      from: Self.model(before: isShrinking ? names : []),
      to: Self.model(before: isShrinking ? [] : names), rows: 3000,
      "UPDATE ZBOOK SET ZCOVER = zeroblob(37 * Z_PK) WHERE Z_PK % 40 = 1")
    let moved = try await given.moved(rangeRows: 700) { $0.lossConsent = .all }
    #expect(moved.contains("ZBOOK"))
    #expect(moved.contains("ZTAG"))
  }

  @Test func `a reference with a number that no entity has is found, and rows are made anew`()
    async throws
  {
    let given = try given(
      to: Self.model(between: ["Cask"]), "UPDATE ZBOOK SET Z2_OWNER = 77 WHERE Z_PK = 1500")
    let moved = try await given.moved { $0.lossConsent = .all }
    #expect(moved.isEmpty)
  }

  @Test(arguments: [["Cask"], []], [["Aisle"], []])
  func `history is moved, with its numbers and masks`(
    between: [String], before: [String]
  ) async throws {
    let history = try #require(HistorySize(transactions: 400, changes: 20_000))
    let given = try given(
      to: Self.model(before: before, between: between, .optional("color")), rows: 2000,
      history: history)
    let moved = try await given.moved(rangeRows: 3000)
    #expect(moved.contains("ACHANGE"))
    #expect(moved.contains("ATRANSACTION"))
  }

  @Test func `masks of other lengths are laid out anew`() async throws {
    let history = try #require(HistorySize(transactions: 300, changes: 9000))
    let old = try ManagedObjectModel(
      Entity("Book", (0..<7).map { .optional("p\($0)") }), Entity("Tag", [.optional("word")]))
    let new = try ManagedObjectModel(
      Entity("Book", (0..<7).map { .optional("p\($0)") } + [.optional("a"), .optional("p55")]),
      Entity("Tag", [.optional("word")]))
    #expect(
      try await given(from: old, to: new, rows: 500, history: history).moved()
        .contains("ACHANGE"))
  }
}
