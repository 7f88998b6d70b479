import Foundation
import Godwit
import ObjectModel
import StoreGenerator
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct StoreObjectsTests {
  private func property(_ name: String, _ object: StoreObjects.Object) throws
    -> StoreObjects.Property
  {
    try #require(object.properties.first { $0.name == name })
  }

  @Test func `values are told as their attributes mean them`() throws {
    let shop = try GivenShop()
    let (found, outcome) = try shop.objects("Item")
    #expect(found.map(\.entity) == ["Item", "Item", "Comic", "Comic"])
    #expect(found.map(\.key) == [1, 2, 3, 4])
    #expect(outcome.total == 4 && outcome.shown == 4 && !outcome.hasMore && outcome.strays == [])
    let words = Dictionary(uniqueKeysWithValues: found[0].properties.map { ($0.name, $0.words) })
    #expect(
      words == [
        "author": "Author/1", "code": "00112233-4455-6677-8899-AABBCCDDEEFF", "cost": "12.25",
        "cover": "cafe (2 bytes)", "isOld": "true", "notes": "0102 (2 bytes)", "pages": "412",
        "page": "\"https://example.org/a\"", "price": "9.5", "small": "fffe (2 bytes)",
        "sold": "2020-03-10T12:00:00.250Z", "tags": "1: Tag/1", "title": "\"Dune\"",
      ])
    #expect(try property("sold", found[1]).words == "nil")
    #expect(try property("colours", found[2]).words == "4")
    let (authors, _) = try shop.objects("Author")
    #expect(try property("items", authors[0]).words == "2: Item/1 Item/2")
    #expect(try property("items", authors[1]).words == "1: Comic/3")
  }

  @Test(
    arguments: AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) })
  func `no generated value of a type is one of another`(type: AttributeType) throws {
    let model = try ManagedObjectModel(entities: [Entity("A", [.optional("x", type)])])
    let (store, path) = (
      ScratchFolder.current.appending("A.sqlite"), ScratchFolder.current.appending("A.xcdatamodel")
    )
    _ = try StoreGenerator(model: model, rows: 40, seed: 5).generate(to: store)
    try GivenShop.write(model, to: path)
    var objects = StoreObjects(of: "A", in: store)
    objects.models = [path]
    var (values, faults) = (0, [String]())
    try objects.read { object in
      for property in object.properties {
        values += property.words == "nil" ? 0 : 1
        faults += [property.fault].compactMap(\.self)
      }
      return true
    }
    #expect(values > 5 && faults == [])
  }

  @Test func `long texts and bytes are told whole where that is asked for`() throws {
    let shop = try GivenShop()
    try shop.change(
      "UPDATE ZITEM SET ZTITLE = replace(hex(zeroblob(40000)), '00', 'Dü'), "
        + "ZNOTES = randomblob(900) WHERE Z_PK = 1", in: shop.first)
    var objects = StoreObjects(of: "Item", in: shop.first)
    objects.models = [shop.model]
    objects.limit = 1
    for isWhole in [false, true] {
      objects.readsWhole = isWhole
      var found: [StoreObjects.Object] = []
      try objects.read { object in
        found.append(object)
        return true
      }
      let (title, notes) = try (property("title", found[0]), property("notes", found[0]))
      #expect(title.isCut != isWhole && notes.isCut != isWhole)
      #expect(title.text?.count == (isWhole ? 80_000 : 121))
      #expect(notes.text?.count == (isWhole ? 1_800 : 33) && notes.bytes == 900)
    }
  }

  @Test func `ordered relationships are told in their order, long ones by their first`() throws {
    let shop = try GivenShop()
    try shop.change(
      "UPDATE ZITEM SET Z_FOK_AUTHOR = 3000 - Z_FOK_AUTHOR WHERE ZAUTHOR = 1", in: shop.first)
    #expect(try property("items", shop.objects("Author").0[0]).words == "2: Item/2 Item/1")
    try shop.change(
      """
      WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 119)
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZAUTHOR, Z_FOK_AUTHOR)
      SELECT i, 2, 1, 1, 2, i * 1024 FROM n
      """, in: shop.first)
    let items = try property("items", shop.objects("Author").0[1])
    #expect(items.count == 21 && items.references.count == 5)
    #expect(items.words == "21: Comic/3 Item/100 Item/101 Item/102 Item/103 …")
  }

  @Test(
    arguments: [
      ("pages > 100", [1]), ("pages < 6", [3, 4]), ("title BEGINSWITH[cd] 'e'", [2]),
      ("title == nil", [4]), ("author.name == 'Ada'", [1, 2]), ("author == nil", [4]),
      ("ANY tags.name == 'red'", [1, 2]), ("tags.@count == 0", [4]), ("isOld == YES", [1]),
      ("pages > 100 OR author.name == 'Bo'", [1, 3]), ("NOT pages BETWEEN {4, 500}", [3]),
      ("title MATCHES '[A-Z]une'", [1]), ("sold > CAST(1, 'NSDate')", [1]),
      ("SUBQUERY(tags, $t, $t.name == 'blue').@count > 0", [3]), ("FALSEPREDICATE", []),
      ("TRUEPREDICATE", [1, 2, 3, 4]), ("page == nil", [2, 3, 4]),
    ])
  func `a predicate chooses objects`(predicate: String, keys: [Int64]) throws {
    let shop = try GivenShop()
    #expect(try shop.objects("Item", where: predicate).0.map(\.key) == keys)
  }

  @Test func `subentities have their own objects and properties`() throws {
    let shop = try GivenShop()
    #expect(try shop.objects("Comic").0.map(\.key) == [3, 4])
    #expect(try shop.objects("Comic", where: "colours > 10").0.map(\.key) == [4])
    #expect(try shop.objects("Comic").1.total == 2)
  }

  @Test(
    arguments: [
      ("titel == 'x'", "names titel at column 1, and Item has no such property: it has author"),
      ("pages > 1 AND author.nam == 'x'", "names nam at column 22, and Author has no such"),
      ("colours > 1", "Item has no such property"), ("pages >", "at column 8"),
      ("pages > $limit", "names $limit at column 9, which has no value here"),
      ("title > 5", "the predicate has no value for Item/1"), ("", "cannot be read"),
      ("pages === 1", "cannot be read"),
    ])
  func `a predicate that cannot be used says where and why`(text: String, told: String) throws {
    let shop = try GivenShop()
    let failure = #expect(throws: MigrationFailure.self) { try shop.objects("Item", where: text) }
    #expect(failure?.exitStatus == .usage)
    #expect(failure?.description.contains(told) == true, "\(failure?.description ?? "")")
  }

  @Test func `as many objects are read as asked for`() throws {
    let shop = try GivenShop()
    for limit in 0...5 {
      let (found, outcome) = try shop.objects("Item", limit: Int64(limit))
      #expect(found.count == min(4, limit) && outcome.hasMore == (limit < 4))
      #expect(outcome.total == 4)
    }
    let failure = #expect(throws: MigrationFailure.self) { try shop.objects("Itm") }
    #expect(failure?.exitStatus == .usage)
    #expect(failure?.description.contains("it has Author, Comic, Item, Tag") == true)
  }

  @Test(
    arguments: [
      ("ZPAGES = 'seven'", "pages", "\"seven\"", "a text instead of Integer 16"),
      ("ZPAGES = 70000", "pages", "70000", "beyond Integer 16"),
      ("ZPAGES = NULL", "pages", "nil", "nil, but mandatory"),
      ("ZSOLD = 1e300", "sold", "1e+300", "beyond the calendar"),
      ("ZSOLD = -1e300", "sold", "-1e+300", "beyond the calendar"),
      ("ZSOLD = 9e999", "sold", "inf", "beyond the calendar"),
      ("ZSOLD = -9e999", "sold", "-inf", "beyond the calendar"),
      ("ZSOLD = X'00'", "sold", "00", "1 byte instead of Date"),
      ("ZISOLD = 7", "isOld", "true", "7 instead of Boolean"),
      ("ZCODE = X'0011'", "code", "0011", "2 bytes instead of UUID"),
      ("ZCODE = 5", "code", "5", "a whole number instead of UUID"),
      ("ZTITLE = X'0011'", "title", "0011", "2 bytes instead of String"),
      ("ZTITLE = CAST(X'41FF42' AS TEXT)", "title", "\"A\u{FFFD}B\"", "not well-formed"),
      ("ZAUTHOR = 'x'", "author", "nil", "a text instead of a key"),
      ("ZAUTHOR = 99", "author", "Author/99", "there is no such object"),
      ("ZCOVER = X'0900'", "cover", "", "neither bytes nor a file"),
      ("ZCOVER = X'022E2E00'", "cover", "", "not the name of a file"),
      ("ZCOVER = X'02676F6E6500'", "cover", "", "the file is missing"),
      ("ZCOVER = 'text'", "cover", "\"text\"", "a text instead of Binary"),
      ("ZNOTES = 5", "notes", "5", "a whole number instead of Transformable"),
    ])
  func `a value that its attribute cannot mean is shown with what is wrong`(
    change: String, name: String, text: String, fault: String
  ) throws {
    let shop = try GivenShop()
    try shop.change("UPDATE ZITEM SET \(change) WHERE Z_PK = 1", in: shop.first)
    let found = try property(name, shop.objects("Item").0[0])
    #expect(found.words.hasPrefix(text) && found.words.contains(fault), "\(found.words)")
  }

  @Test(arguments: StoreExport.Format.allCases)
  func `a row with the number of another table's entity is exported, and counts in no entity`(
    format: StoreExport.Format
  ) throws {
    let shop = try GivenShop()
    try shop.change("UPDATE ZITEM SET Z_ENT = 1 WHERE Z_PK = 2", in: shop.first)
    try shop.change("UPDATE ZITEM SET Z_ENT = 99 WHERE Z_PK = 3", in: shop.first)
    var export = StoreExport(of: shop.first)
    (export.models, export.format) = ([shop.model], format)
    let report = try export.write(to: shop.folder.appending("out"))
    let rows = Dictionary(uniqueKeysWithValues: report.tables.map { ($0.name, $0.rows) })
    #expect(rows["Item"] == 1 && rows["Comic"] == 1 && rows["ZITEM"] == 2)
    #expect(report.notes.contains { $0.hasPrefix("ZITEM: 2 rows of no entity of the table") })
    export.entities = ["Comic"]
    let comics = try export.write(to: shop.folder.appending("comics")).tables
    #expect(comics.first { $0.name == "ZITEM" }?.rows == 2)
    let store = try StoreInspection(of: shop.first, models: [shop.model])
    #expect(store.entities.map(\.rows) == [2, 1, 1, 2])
    #expect(store.strays.map(\.keys) == [[2, 3]])
  }

  @Test func `rows of no entity are told, and left out`() throws {
    let shop = try GivenShop()
    try shop.change("UPDATE ZITEM SET Z_ENT = 99 WHERE Z_PK = 1", in: shop.first)
    try shop.change("UPDATE ZITEM SET Z_ENT = NULL WHERE Z_PK = 2", in: shop.first)
    try shop.change("UPDATE ZITEM SET Z_ENT = 'Comic' WHERE Z_PK = 3", in: shop.first)
    let (found, outcome) = try shop.objects("Item")
    #expect(found.map(\.key) == [4] && outcome.total == 1)
    #expect(outcome.strays.map(\.table) == ["ZITEM"] && outcome.strays.map(\.rows) == [3])
    #expect(outcome.strays.map(\.keys) == [[1, 2, 3]])
    let store = try StoreInspection(of: shop.first, models: [shop.model])
    #expect(store.strays == outcome.strays)
    #expect(store.summary.contains("ZITEM  3 rows of no entity of the table (Z_PK 1, 2, 3)"))
    let (authors, _) = try shop.objects("Author")
    let items = try property("items", authors[0])
    #expect(items.words.contains("Item/1 (unknown entity number 99)"))
    #expect(items.words.contains("Item/2 (no entity number)"))
  }

  @Test func `of long values the beginning is shown, with the number of bytes`() throws {
    let shop = try GivenShop()
    try shop.change(
      """
      UPDATE ZITEM SET ZTITLE = printf('%.*c', 100000, 'x'), ZSMALL = zeroblob(3000000),
      ZNOTES = zeroblob(40) WHERE Z_PK = 1
      """, in: shop.first)
    let object = try shop.objects("Item").0[0]
    let title = try property("title", object)
    #expect(title.isCut && title.bytes == 100_000 && title.text?.count == 121)
    #expect(title.words.hasSuffix("x…\" (100000 bytes)"))
    let small = try property("small", object)
    #expect(small.words == "00000000000000000000000000000000… (3000000 bytes)")
    #expect(try property("notes", object).bytes == 40)
  }

  @Test func `external values are told by file and size, and links are not followed`() throws {
    let shop = try GivenShop()
    let name = "00000000-0000-0000-0000-000000000001"
    try shop.externalize([1, 2, 3], name: name, in: shop.first)
    let cover = try property("cover", shop.objects("Item").0[0])
    #expect(cover.words == "010203 (3 bytes in \(name))" && cover.file == name)
    let store = try StoreInspection(of: shop.first, models: [shop.model])
    #expect(store.externalFiles?.files == 1 && store.externalFiles?.bytes == 3)
    #expect(store.externalFiles?.others == 0 && store.bytes > 4096)
    let file = shop.folder.appending(".First_SUPPORT/_EXTERNAL_DATA/\(name)").string
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/etc/passwd")
    let link = try property("cover", shop.objects("Item").0[0])
    #expect(link.bytes == nil && link.fault?.contains("is a link") == true)
    let files = try StoreInspection(of: shop.first, models: [shop.model]).externalFiles
    #expect(files?.files == 0 && files?.bytes == 0 && files?.others == 1)
  }

  @Test func `a store without the table or its columns is a failure with their names`() throws {
    let shop = try GivenShop()
    try shop.change("ALTER TABLE ZITEM RENAME COLUMN ZPAGES TO ZOTHER", in: shop.first)
    let column = #expect(throws: MigrationFailure.self) { try shop.objects("Item") }
    #expect(column?.exitStatus == .damaged)
    #expect(column?.description.contains("ZITEM.ZPAGES") == true)
    try shop.change("DROP TABLE ZITEM", in: shop.first)
    let table = #expect(throws: MigrationFailure.self) { try shop.objects("Item") }
    #expect(table?.description.contains("ZITEM") == true)
    // What is there is shown, and what leads away from it.
    let authors = try shop.objects("Author").0
    #expect(try property("items", authors[0]).fault == "its table is missing")
    try shop.change(
      "DROP TABLE ZTAG; CREATE TABLE ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME)", in: shop.first)
    let keys = #expect(throws: MigrationFailure.self) { try shop.objects("Tag") }
    #expect(keys?.description.contains("whose row number is not Z_PK (ZTAG)") == true)
  }
}
