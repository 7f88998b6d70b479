import Foundation
import Godwit
import ObjectModel
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct StoreDiffTests {
  @Test func `stores with the same objects are alike, whatever they were saved and numbered as`()
    throws
  {
    let shop = try GivenShop()
    #expect(try shop.diff().isAlike)
    try shop.change(
      """
      UPDATE ZITEM SET Z_OPT = 9, Z_FOK_AUTHOR = Z_FOK_AUTHOR * 7 + 1;
      UPDATE ZITEM SET ZCOVER = X'01CAFE' WHERE Z_PK = 1;
      """, in: shop.second)
    let join = try GivenShop.join()
    try shop.change(
      "UPDATE \(join.table) SET \(join.place) = \(join.place) + 5", in: shop.second)
    let report = try shop.diff()
    #expect(report.isAlike && report.total == 0 && report.differences == [])
    #expect(report.notCompared == [] && report.notes == [])
    #expect(report.entities.map(\.entity) == ["Author", "Comic", "Item", "Tag"])
    #expect(report.entities.map(\.compared) == [2, 2, 2, 2])
  }

  @Test(
    arguments: [
      ("DELETE FROM ZTAG WHERE Z_PK = 2", "onlyInFirst Tag/2 nil nil nil"),
      (
        "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT) VALUES (9, 1, 1)",
        "onlyInSecond Author/9 nil nil nil"
      ),
      ("UPDATE ZITEM SET Z_ENT = 2 WHERE Z_PK = 4", "entity Comic/4 nil Comic Item"),
      ("UPDATE ZITEM SET ZTITLE = 'dune' WHERE Z_PK = 1", "value Item/1 title \"Dune\" \"dune\""),
      ("UPDATE ZITEM SET ZTITLE = NULL WHERE Z_PK = 1", "value Item/1 title \"Dune\" nil"),
      ("UPDATE ZITEM SET ZPAGES = 413 WHERE Z_PK = 1", "value Item/1 pages 412 413"),
      ("UPDATE ZITEM SET ZPRICE = 9.25 WHERE Z_PK = 1", "value Item/1 price 9.5 9.25"),
      ("UPDATE ZITEM SET ZISOLD = 0 WHERE Z_PK = 1", "value Item/1 isOld true false"),
      (
        "UPDATE ZITEM SET ZSOLD = 0.0 WHERE Z_PK = 1",
        "value Item/1 sold 2020-03-10T12:00:00.250Z 2001-01-01T00:00:00Z"
      ),
      (
        "UPDATE ZITEM SET ZSMALL = X'FFFF' WHERE Z_PK = 1",
        "value Item/1 small fffe (2 bytes) ffff (2 bytes)"
      ),
      ("UPDATE ZITEM SET ZCOLOURS = 5 WHERE Z_PK = 3", "value Comic/3 colours 4 5"),
      ("UPDATE ZITEM SET ZAUTHOR = NULL WHERE Z_PK = 3", "value Comic/3 author Author/2 nil"),
      (
        "UPDATE ZITEM SET ZAUTHOR = 77 WHERE Z_PK = 3",
        "value Comic/3 author Author/2 Author/77 (there is no such object)"
      ),
      (
        "UPDATE ZITEM SET Z_FOK_AUTHOR = 3000 - Z_FOK_AUTHOR WHERE ZAUTHOR = 1",
        "order Author/1 items nil nil"
      ),
    ])
  func `a difference in a row is found, and nothing else`(sql: String, told: String) throws {
    let shop = try GivenShop()
    try shop.change(sql, in: shop.second)
    let report = try shop.diff()
    #expect(report.differences.map(Self.words) == [told])
    #expect(!report.isAlike && report.total == 1)
    // The other way round it is found as well.
    var back = StoreDiff(of: shop.second, and: shop.first)
    back.models = [shop.model]
    #expect(try back.run().total == 1)
  }

  /// Texts of 300,000 characters of two bytes and blobs of as many bytes, in rows 1, 2 and 4.
  private static let long = """
    UPDATE ZITEM SET ZTITLE = replace(hex(zeroblob(150000)), '0', 'é') WHERE Z_PK IN (1, 2);
    UPDATE ZITEM SET ZSMALL = zeroblob(300000) WHERE Z_PK IN (2, 4);
    """

  @Test(
    arguments: [
      ("UPDATE ZITEM SET ZTITLE = ZTITLE || 'e' WHERE Z_PK = 1", "value Item/1 title"),
      (
        "UPDATE ZITEM SET ZTITLE = substr(ZTITLE, 1, 299999) || 'è' WHERE Z_PK = 2",
        "value Item/2 title"
      ),
      ("UPDATE ZITEM SET ZTITLE = 'short' WHERE Z_PK = 2", "value Item/2 title"),
      ("UPDATE ZITEM SET ZTITLE = CAST(ZTITLE AS BLOB) WHERE Z_PK = 1", "value Item/1 title"),
      ("UPDATE ZITEM SET ZSMALL = X'01' WHERE Z_PK = 1", "value Item/1 small"),
      (
        "UPDATE ZITEM SET ZSMALL = CAST(zeroblob(299999) || X'01' AS BLOB) WHERE Z_PK = 4",
        "value Comic/4 small"
      ),
      ("UPDATE ZITEM SET ZPAGES = 413 WHERE Z_PK = 1", "value Item/1 pages"),
      ("UPDATE ZITEM SET ZAUTHOR = NULL WHERE Z_PK = 3", "value Comic/3 author"),
      ("DELETE FROM ZITEM WHERE Z_PK = 4", "onlyInFirst Comic/4"),
    ])
  func `a difference beside and within long values is found, and nothing else`(
    sql: String, told: String
  ) throws {
    let shop = try GivenShop()
    for store in [shop.first, shop.second] { try shop.change(Self.long, in: store) }
    #expect(try shop.diff().isAlike)
    try shop.change(sql, in: shop.second)
    let report = try shop.diff()
    #expect(report.differences.count == 1)
    #expect(report.differences.map(Self.words).allSatisfy { $0.hasPrefix(told) })
    var back = StoreDiff(of: shop.second, and: shop.first)
    back.models = [shop.model]
    #expect(try back.run().total == 1)
  }

  private static func words(_ difference: StoreDiff.Difference) -> String {
    "\(difference.kind) \(difference.entity)/\(difference.key) \(difference.property ?? "nil") "
      + "\(difference.first ?? "nil") \(difference.second ?? "nil")"
  }

  @Test func `pairs of a many-to-many relationship and their order are compared`() throws {
    let shop = try GivenShop()
    let join = try GivenShop.join()
    try shop.change("DELETE FROM \(join.table) WHERE \(join.item) = 3", in: shop.second)
    var report = try shop.diff()
    #expect(report.counts == ["member": 1])
    let difference = try #require(report.differences.first)
    #expect([difference.first, difference.second].compactMap(\.self).count == 1)
    try shop.change(
      """
      INSERT INTO \(join.table) (\(join.item), \(join.tag), \(join.place)) VALUES (3, 2, 1);
      UPDATE \(join.table) SET \(join.place) = 5000 - \(join.place) WHERE \(join.tag) = 1;
      """, in: shop.second)
    report = try shop.diff()
    #expect(report.differences.map(Self.words) == ["order Tag/1 items nil nil"])
  }

  @Test func `external values are compared wherever their bytes are`() throws {
    let shop = try GivenShop()
    let (one, other) = (
      "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
    )
    try shop.externalize([0xCA, 0xFE], name: one, in: shop.second)
    #expect(try shop.diff().isAlike)
    let long = [UInt8](repeating: 7, count: 700_000)
    try shop.externalize(long, name: one, in: shop.first)
    try shop.externalize(long, name: other, in: shop.second)
    #expect(try shop.diff().isAlike)
    try shop.externalize(Array(long.dropLast()) + [8], name: other, in: shop.second)
    let difference = try #require(try shop.diff().differences.first)
    #expect(difference.property == "cover" && difference.second?.contains(other) == true)
    // A file that one store lacks is a difference; one that both lack cannot be compared.
    try shop.change(
      "UPDATE ZITEM SET ZCOVER = X'02676F6E6500' WHERE Z_PK = 1",
      in: shop.second)
    #expect(try shop.diff().counts == ["value": 1])
    try shop.change(
      "UPDATE ZITEM SET ZCOVER = X'02676F6E6500' WHERE Z_PK = 1",
      in: shop.first)
    let report = try shop.diff()
    #expect(report.isAlike && report.notCompared.count == 1)
    #expect(report.notCompared.first?.contains("1 value of Item.cover") == true)
  }

  @Test func `long values are compared to their last byte`() throws {
    let shop = try GivenShop()
    for store in [shop.first, shop.second] {
      try shop.change("UPDATE ZITEM SET ZSMALL = zeroblob(400000) WHERE Z_PK = 2", in: store)
    }
    #expect(try shop.diff().isAlike)
    try shop.change(
      "UPDATE ZITEM SET ZSMALL = CAST(zeroblob(399999) || X'01' AS BLOB) WHERE Z_PK = 2",
      in: shop.second)
    let difference = try #require(try shop.diff().differences.first)
    #expect(difference.property == "small" && difference.key == 2)
    #expect(difference.second?.contains("differs after the shown part") == true)
  }

  @Test func `all differences are counted, and as many kept as asked for`() throws {
    let shop = try GivenShop()
    try shop.change(
      "UPDATE ZITEM SET ZPAGES = ZPAGES + 1; UPDATE ZITEM SET ZTITLE = 'x'; DELETE FROM ZTAG",
      in: shop.second)
    for limit in [0, 1, 100] {
      let report = try shop.diff(limit: limit)
      #expect(report.total == 10 && report.differences.count == min(limit, 10))
      #expect(report.counts == ["value": 8, "onlyInFirst": 2])
      #expect(report.properties["Item.pages"] == 2 && report.properties["Comic.title"] == 2)
      let item = try #require(report.entities.first { $0.entity == "Item" })
      #expect(item.differing == 2 && item.compared == 2)
      #expect(report.lines.contains { $0.contains("raise limit") } == (limit < 10))
    }
  }

  @Test func `rows of no entity are compared by their table`() throws {
    let shop = try GivenShop()
    for store in [shop.first, shop.second] {
      try shop.change("UPDATE ZITEM SET Z_ENT = 99 WHERE Z_PK = 1", in: store)
      try shop.change("UPDATE ZITEM SET Z_ENT = NULL WHERE Z_PK = 2", in: store)
    }
    #expect(try shop.diff().isAlike)
    try shop.change("UPDATE ZITEM SET ZPAGES = 'many' WHERE Z_PK IN (1, 2)", in: shop.second)
    let found = try shop.diff().differences
    #expect(found.map(\.entity) == ["ZITEM (Z_ENT 99)", "ZITEM (Z_ENT no number)"])
    #expect(found.map(\.second) == ["\"many\"", "\"many\""])
  }

  @Test func `stores of different models are told apart by their models`() throws {
    let shop = try GivenShop()
    let other = try GivenStoreOfNotes(in: shop.folder)
    var diff = StoreDiff(of: shop.first, and: other.store)
    diff.models = [shop.model, other.model]
    let report = try diff.run()
    #expect(!report.isAlike && report.differences == [])
    let models = try #require(report.models)
    #expect(models.entities.map(\.name).contains("Note") && models.needsMigration == true)
    #expect(report.lines[0].contains("are of different models"))
  }

  @Test(arguments: [true, false])
  func `damage is told with the name of the store that has it`(isFirst: Bool) throws {
    let shop = try GivenShop()
    let damaged = isFirst ? shop.first : shop.second
    try shop.change(
      "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZTITLE) VALUES (50, 2, 1, 1, 'unlike all')",
      in: damaged)
    // The page of the row's table: its last cell claims to be elsewhere.
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: damaged.string)))
    let text = try #require(bytes.firstRange(of: Array("unlike all".utf8)))
    let page = text.lowerBound / 4096 * 4096
    for place in page..<page + 8 { bytes[place] = 0xFF }
    try Data(bytes).write(to: URL(filePath: damaged.string))
    let failure = #expect(throws: MigrationFailure.self) { try shop.diff() }
    #expect(failure?.exitStatus == .damaged)
    #expect(failure?.description.contains("\(damaged.lastComponent?.string ?? "") is") == true)
  }

  @Test func `a store without its model or its tables is a failure with its name`() throws {
    let shop = try GivenShop()
    let unknown = #expect(throws: MigrationFailure.self) {
      try StoreDiff(of: shop.first, and: shop.second).run()
    }
    #expect(unknown?.kind == .sourceModelMissing)
    try shop.change("DROP TABLE ZTAG", in: shop.second)
    let missing = #expect(throws: MigrationFailure.self) { try shop.diff() }
    #expect(missing?.exitStatus == .damaged && missing?.description.contains("ZTAG") == true)
  }
}

/// A store of another model.
struct GivenStoreOfNotes {
  let store: FilePath
  let model: FilePath

  init(in folder: FilePath) throws {
    (store, model) = (folder.appending("Notes.sqlite"), folder.appending("Notes.xcdatamodel"))
    try GivenShop.write(.init(entities: [.init("Note", [.optional("text")])]), to: model)
    try SampleStore(of: model, objects: 3).write(to: store)
  }
}
