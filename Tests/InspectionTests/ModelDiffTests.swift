import Expressions
import Foundation
import Godwit
import ObjectModel
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct ModelDiffTests {
  /// One change of a model, and the lines that tell it.
  struct Planted: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let change: @Sendable (inout [Entity]) throws -> Void
    let told: [String]

    init(
      _ name: String, _ told: String..., change: @escaping @Sendable (inout [Entity]) throws -> Void
    ) {
      (testDescription, self.told, self.change) = (name, told, change)
    }
  }

  private static func attribute(
    _ told: String..., change: @escaping @Sendable (inout Attribute) -> Void
  ) -> Planted {
    var planted = Planted(told.joined(separator: " ")) { entities in
      let place = try #require(entities[0].attributes.firstIndex { $0.name == "title" })
      change(&entities[0].attributes[place])
    }
    planted = Planted(all: ["~ Item  changed", "~ attribute title  changed"] + told, planted)
    return planted
  }

  private static func relationship(
    _ told: String..., change: @escaping @Sendable (inout Relationship) -> Void
  ) -> Planted {
    let planted = Planted(told.joined(separator: " ")) { entities in
      change(&entities[0].relationships[0])
    }
    return Planted(all: ["~ Item  changed", "~ relationship author  changed"] + told, planted)
  }

  static let attributes: [Planted] = [
    attribute("type: String → Integer 64") { $0.type = .integer64 },
    attribute("optional: yes → no") { $0.isOptional = false },
    attribute("transient: no → yes") { $0.isTransient = true },
    attribute("default: none → \"x\"") { $0.defaultValue = .string("x") },
    attribute("external storage: no → yes") { $0.storesBinaryDataExternally = true },
    attribute("kept after deletion: no → yes") { $0.preservesValueAfterDeletion = true },
    attribute("minimum length: none → 3") { $0.limits.minimumLength = 3 },
    attribute("maximum length: none → 9") { $0.limits.maximumLength = 9 },
    attribute("pattern: none → a+") { $0.limits.pattern = "a+" },
    attribute("class: none → MyText") { $0.valueClassName = "MyText" },
    attribute("indexed: no → yes") { $0.isIndexed = true },
    attribute("indexed by Spotlight: no → yes") { $0.isIndexedBySpotlight = true },
    attribute("encrypted in iCloud: no → yes") { $0.allowsCloudEncryption = true },
    attribute("version hash modifier: none → 2") { $0.versionHashModifier = "2" },
    attribute("user info: none → key = value") { $0.userInfo = ["key": "value"] },
  ]

  static let relationships: [Planted] = [
    relationship("optional: yes → no") { $0.isOptional = false },
    relationship("delete rule: Nullify → Cascade") { $0.deleteRule = .cascade },
    relationship("version hash modifier: none → 2") { $0.versionHashModifier = "2" },
    relationship("indexed by Spotlight: no → yes") { $0.isIndexedBySpotlight = true },
    relationship("to many: no → yes", "maximum count: 1 → 0") { relationship in
      (relationship.isToMany, relationship.maxCount) = (true, 0)
    },
  ]

  static let others: [Planted] = [
    Planted("a new attribute", "~ Item  changed", "+ attribute size  new: type Double") {
      $0[0].attributes.append(.optional("size", .double))
    },
    Planted("a lost attribute", "~ Item  changed", "- attribute price  lost: type Double") {
      $0[0].attributes.removeAll { $0.name == "price" }
    },
    Planted(
      "a renamed attribute", "~ Item  changed",
      "> attribute price → worth  renamed by its renaming identifier",
      "renaming identifier: none → price"
    ) {
      let place = try #require($0[0].attributes.firstIndex { $0.name == "price" })
      $0[0].attributes[place] = .optional("worth", .double, was: "price")
    },
    Planted("a lost relationship", "- relationship tags  lost: destination Tag") {
      $0[0].relationships.removeLast()
      $0[3].relationships[0].inverseName = nil
    },
    Planted("an order", "~ Author  changed", "~ relationship items  changed", "ordered: yes → no") {
      $0[2].relationships[0].isOrdered = false
    },
    Planted("a new entity", "+ Shop  new", "+ attribute name  new: type String") {
      $0.append(Entity("Shop", [.optional("name")]))
    },
    Planted("a lost entity", "- Comic  lost", "superentity Item") {
      $0.removeAll { $0.name == "Comic" }
    },
    Planted("a renamed entity", "> Comic → Cartoon  renamed by its renaming identifier") {
      $0[1].name = "Cartoon"
      $0[1].renamingIdentifier = "Comic"
    },
    Planted("an abstract entity", "~ Tag  changed", "abstract: no → yes") {
      $0[3].isAbstract = true
    },
    Planted("a class", "~ Tag  changed", "class: none → MyTag") { $0[3].className = "MyTag" },
    Planted("a superentity", "~ Comic  changed", "superentity: Item → none") {
      $0[1].superentityName = nil
    },
    Planted("a property that moves up", "+ attribute colours  new: type Integer 32") {
      $0[0].attributes.append($0[1].attributes.removeLast())
    },
    Planted("an index", "~ Item  changed", "+ index byTitle  new: elements title, pages descending")
    {
      $0[0].fetchIndexes = [
        FetchIndex(
          name: "byTitle",
          elements: [.init(property: "title"), .init(property: "pages", isAscending: false)])
      ]
    },
    Planted("a constraint", "~ Tag  changed", "+ constraint name  new") {
      $0[3].uniquenessConstraints = [["name"]]
    },
    Planted("a fetched property", "+ fetchedProperty all  new: request Tag") {
      $0[3].fetchedProperties = [
        FetchedProperty(name: "all", request: FetchRequest(entityName: "Tag"))
      ]
    },
  ]

  @Test(arguments: attributes + relationships + others)
  func `a change of a model is found`(planted: Planted) throws {
    let (first, second) = (
      ScratchFolder.current.appending("1.xcdatamodel"),
      ScratchFolder.current.appending("2.xcdatamodel")
    )
    var entities = GivenShop.entities()
    try GivenShop.write(ManagedObjectModel(entities: entities), to: first)
    try planted.change(&entities)
    try GivenShop.write(ManagedObjectModel(entities: entities), to: second)
    let diff = try ModelDiff(from: first, to: second)
    #expect(!diff.isAlike)
    let lines = diff.lines.map { $0.replacing("fetched property", with: "fetchedProperty") }
    for told in planted.told {
      #expect(lines.contains { $0.contains(told) }, "\(told) is not in:\n\(lines)")
    }
    #expect(try !ModelDiff(from: second, to: first).isAlike)
    #expect(try ModelDiff(from: second, to: second).isAlike)
  }

  @Test func `models that say the same are alike`() throws {
    let first = ScratchFolder.current.appending("1.xcdatamodel")
    try GivenShop.write(ManagedObjectModel(entities: GivenShop.entities()), to: first)
    let diff = try ModelDiff(from: first, to: first)
    #expect(diff.isAlike && diff.entities == [] && diff.changes == [] && diff.inference == nil)
    #expect(diff.same == ["Author", "Comic", "Item", "Tag"] && diff.needsMigration == false)
  }

  @Test func `all reasons against an inferred mapping are listed, and what it demands`() throws {
    let (first, second) = (
      ScratchFolder.current.appending("1.xcdatamodel"),
      ScratchFolder.current.appending("2.xcdatamodel")
    )
    var entities = GivenShop.entities()
    try GivenShop.write(ManagedObjectModel(entities: entities), to: first)
    entities[0].attributes[0].isOptional = false
    entities[3].attributes.append(.mandatory("colour"))
    try GivenShop.write(ManagedObjectModel(entities: entities), to: second)
    var inference = try #require(try ModelDiff(from: first, to: second).inference)
    #expect(inference.isPossible && inference.refusals == [])
    #expect(
      inference.conditions.contains { $0.contains("every Item must have a value of title") })
    #expect(inference.conditions.contains { $0.contains("so there may be no Tag") })
    entities[0].attributes[0].type = .date
    entities[0].attributes[1].type = .string
    try FileManager.default.removeItem(atPath: second.string)
    try GivenShop.write(ManagedObjectModel(entities: entities), to: second)
    let diff = try ModelDiff(from: first, to: second)
    inference = try #require(diff.inference)
    #expect(!inference.isPossible)
    #expect(inference.refusals.contains { $0.hasPrefix("Item.title: source and destination") })
    #expect(inference.refusals.contains { $0.hasPrefix("Item.pages: source and destination") })
    #expect(diff.lines.contains { $0.hasPrefix("It cannot be inferred, for") })
  }

  @Test func `a version is shown with all that it says`() throws {
    let path = ScratchFolder.current.appending("Shop.xcdatamodel")
    var entities = GivenShop.entities()
    entities[0].renamingIdentifier = "Thing"
    entities[0].attributes[1].defaultValue = .integer(5)
    entities[0].uniquenessConstraints = [["code"]]
    entities[0].fetchIndexes = [FetchIndex(name: "byTitle", elements: [.init(property: "title")])]
    try GivenShop.write(ManagedObjectModel(entities: entities), to: path)
    let inspection = try ModelInspection(of: path)
    let item = try #require(inspection.versions[0].entities.first { $0.name == "Item" })
    let pages = try #require(item.attributes.first { $0.name == "pages" })
    #expect(pages.type == "Integer 16" && !pages.isOptional && pages.defaultValue == "5")
    let author = try #require(item.relationships.first { $0.name == "author" })
    #expect(author.inverse == "items" && author.deleteRule == "Nullify" && !author.isToMany)
    #expect(item.indexes.map(\.name) == ["byTitle"] && item.indexes[0].elements == "title")
    #expect(item.uniquenessConstraints == [["code"]] && item.renamingIdentifier == "Thing")
    for told in [
      "(renaming identifier Thing)", "pages   Integer 16, default 5", "index byTitle: title",
      "author  to one Author, optional, inverse items, delete rule Nullify", "unique: code",
      "cover   Binary, optional, may lie in files",
    ] {
      #expect(inspection.summary.contains(told), "\(told) is not in:\n\(inspection.summary)")
    }
  }

  @Test func `the schema of a model and that of its store are told`() throws {
    let shop = try GivenShop()
    let model = try SchemaInspection(of: shop.model)
    #expect(model.tables.map(\.name).prefix(3) == ["ZAUTHOR", "ZITEM", "ZTAG"])
    #expect(model.tables.count == 4 && model.missing == [] && model.extra == [])
    #expect(model.indexes.contains { $0.name == "ZITEM_ZAUTHOR_INDEX" })
    #expect(model.summary.contains("CREATE TABLE ZITEM ("))
    let store = try SchemaInspection(of: shop.first, models: [shop.model])
    #expect(store.tables == model.tables && store.missing == [])
    try shop.change("DROP TABLE ZTAG; CREATE TABLE MINE (A)", in: shop.first)
    let changed = try SchemaInspection(of: shop.first, models: [shop.model])
    #expect(changed.missing == ["ZTAG"] && changed.extra == ["MINE"])
  }
}

extension ModelDiffTests.Planted {
  fileprivate init(all told: [String], _ other: Self) {
    (testDescription, self.told, change) = (other.testDescription, told, other.change)
  }
}
