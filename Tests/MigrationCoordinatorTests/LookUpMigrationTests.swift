import GRDB
import Godwit
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Rows that take something of other rows: the same by pages as by SQL, whatever those are like.
@Suite(.scratchFolder) struct LookUpMigrationTests {
  /// Posts with notes and tags, of which each relationship may have an order.
  private static func posts(
    notes: Bool = false, tags: Bool = false, posts: Bool = false
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity(
        "Post", [.optional("title")],
        [
          .toMany("notes", "Note", inverse: "post", isOrdered: notes),
          .toMany("tags", "Tag", inverse: "posts", isOrdered: tags),
        ]),
      Entity(
        "Note", [.optional("text"), .optional("count", .integer32)],
        [.toOne("post", "Post", inverse: "notes")]),
      Entity(
        "Tag", [.optional("name")], [.toMany("posts", "Post", inverse: "tags", isOrdered: posts)]))
  }

  /// Loans of books, which become volumes: items, some of which may be heard.
  private static func books(areItems: Bool) throws -> ManagedObjectModel {
    let book = areItems ? "Volume" : "Book"
    let loan = Entity(
      "Loan", [.optional("until")], [.toOne("book", book, inverse: "loans")])
    let loans = Relationship.toMany("loans", "Loan", inverse: "book")
    guard areItems else {
      return try ManagedObjectModel(Entity("Book", [.optional("title")], [loans]), loan)
    }
    return try ManagedObjectModel(
      Entity("Item", []), Entity("Volume", in: "Item", was: "Book", [.optional("title")], [loans]),
      Entity("Heard", in: "Volume", [.optional("reader")]), loan)
  }

  /// Owners of one thing each, which gets to know its owner.
  private static func owners(areKnown: Bool) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity(
        "Owner", [.optional("x")], [.toOne("thing", "Thing", inverse: areKnown ? "owner" : nil)]),
      Entity(
        "Thing", [.optional("y")], areKnown ? [.toOne("owner", "Owner", inverse: "thing")] : []))
  }

  private func vacuumed(_ path: FilePath) throws -> [UInt8] {
    let copy = FilePath("\(path).vacuumed")
    let connection = try StoreConnection.immutable(path)
    try connection.run { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy.string]) }
    return try Files.readFile(copy, limit: 1 << 30)
  }

  /// Expects the results of pages, cut in several ways, to be that of SQL.
  private func expectAlike(
    from old: ManagedObjectModel, to new: ManagedObjectModel, _ change: String
  ) async throws {
    let given = try GivenMigration(from: old, to: new, rows: 3000)
    if !change.isEmpty { try given.change(change) }
    var results: [[UInt8]] = []
    for (engine, range) in [(.sql, nil), (.pages, nil), (.pages, 70)] as [(EngineName, Int64?)] {
      var request = given.request(
        workers: 2, rangeRows: range, output: given.folder.appending("\(results.count).sqlite"))
      request.engine = engine
      request.lossConsent = .all
      request.verifiesFully = range != nil
      let report = try await given.run(request)
      #expect(report.engine == engine)
      results.append(try vacuumed(request.destination))
    }
    #expect(results.dropFirst().allSatisfy { $0 == results[0] })
  }

  @Test(arguments: [
    "", "UPDATE ZNOTE SET ZPOST = NULL WHERE Z_PK % 3 = 0",
    "UPDATE ZNOTE SET ZPOST = 'x' WHERE Z_PK = 7",
    "UPDATE ZNOTE SET ZCOUNT = 'many' WHERE Z_PK % 5 = 0",
    "UPDATE ZNOTE SET Z_PK = -Z_PK WHERE Z_PK < 50",
    "UPDATE ZNOTE SET Z_PK = Z_PK * 1000003 WHERE Z_PK > 500",
  ])
  func `a to-many relationship gets an order`(change: String) async throws {
    try await expectAlike(from: Self.posts(), to: Self.posts(notes: true), change)
  }

  @Test(arguments: [(true, false), (false, true), (true, true)])
  func `a many-to-many relationship gets orders`(tags: Bool, posts: Bool) async throws {
    try await expectAlike(from: Self.posts(), to: Self.posts(tags: tags, posts: posts), "")
  }

  @Test(arguments: [
    "", "UPDATE ZLOAN SET ZBOOK = NULL WHERE Z_PK % 4 = 0",
    "UPDATE ZLOAN SET ZBOOK = 777777 WHERE Z_PK % 40 = 0",
    "UPDATE ZLOAN SET ZBOOK = 2.5 WHERE Z_PK = 41", "UPDATE ZBOOK SET Z_ENT = 'z' WHERE Z_PK = 3",
    "UPDATE ZBOOK SET Z_PK = Z_PK * 1000000007; UPDATE ZLOAN SET ZBOOK = ZBOOK * 1000000007",
    "DELETE FROM ZLOAN WHERE Z_PK > 20",
  ])
  func `what rows lead to becomes one of several entities`(change: String) async throws {
    try await expectAlike(
      from: Self.books(areItems: false), to: Self.books(areItems: true), change)
  }

  @Test(arguments: [
    "UPDATE ZOWNER SET ZTHING = CASE WHEN Z_PK % 3 THEN 1501 - Z_PK END",
    "UPDATE ZOWNER SET ZTHING = 1 + Z_PK / 2",
    "UPDATE ZOWNER SET ZTHING = 'k' WHERE Z_PK = 5",
    """
    UPDATE ZOWNER SET ZTHING = 1501 - Z_PK;
    UPDATE ZOWNER SET Z_PK = Z_PK * 100000000 WHERE Z_PK > 10
    """,
  ])
  func `a to-one relationship gets its other side`(change: String) async throws {
    try await expectAlike(
      from: Self.owners(areKnown: false), to: Self.owners(areKnown: true), change)
  }
}
