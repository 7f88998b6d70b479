import Expressions
import ObjectModel
import Schema
import TestSupport
import Testing

/// The columns of composite attributes (docs/reference/store-format.md, "Composite attributes").
struct CompositeLayoutTests {
  private func composite(_ name: String, _ elements: [Attribute]) -> Attribute {
    var attribute = Attribute.optional(name, .composite)
    attribute.elements = elements
    return attribute
  }

  private func problems(_ entity: Entity) throws -> [String] {
    let model = try ManagedObjectModel(entities: [entity])
    do throws(SchemaError) {
      _ = try StoreSchema(model)
      return []
    } catch {
      return error.places.map { "\($0.property) \($0.type.name)" }
    }
  }

  @Test func `elements have columns without the composite's name, sorted by that`() throws {
    let author = composite(
      "author", [.optional("person"), .optional("id", .uuid), .optional("year", .integer16)])
    let prep = composite("prep", [.optional("id", .uuid), .optional("recipe", .binary)])
    let model = try ManagedObjectModel(
      Entity("Cocktail", [.optional("id", .uuid), .optional("place"), author]),
      Entity("Base", [prep, .optional("id", .uuid), .optional("zest")]))
    let tables = try StoreSchema(model).tables
    #expect(
      tables[1].columns.dropFirst(3).map { "\($0.name) \($0.type.rawValue)" } == [
        "ZYEAR INTEGER", "ZPERSON VARCHAR", "ZPLACE VARCHAR", "ZID BLOB", "ZID1 BLOB",
      ])
    #expect(
      tables[1].column(role: .attribute(entity: "Cocktail", name: "author.id"))?.name == "ZID")
    #expect(tables[1].column(role: .attribute(entity: "Cocktail", name: "id"))?.name == "ZID1")
    #expect(
      tables[0].columns.dropFirst(3).map(\.name) == ["ZZEST", "ZID", "ZID1", "ZRECIPE"])
    #expect(tables[0].column(role: .attribute(entity: "Base", name: "id"))?.name == "ZID")
  }

  @Test func `elements of one type keep their declared order`() throws {
    let color = composite("color", [.optional("red", .float), .optional("blue", .float)])
    let back = composite("back", [.optional("red", .float), .optional("blue", .float)])
    let table = try StoreSchema(ManagedObjectModel(Entity("Image", [color, back]))).tables[0]
    #expect(table.columns.dropFirst(3).map(\.name) == ["ZRED", "ZBLUE", "ZRED1", "ZBLUE1"])
    #expect(table.column(role: .attribute(entity: "Image", name: "back.red"))?.name == "ZRED")
  }

  @Test func `what no store shows of composites is refused by name`() throws {
    let inner = composite("inner", [.optional("x")])
    #expect(
      try problems(Entity("E", [composite("outer", [inner])])) == ["outer.inner Composite"])
    #expect(try problems(Entity("E", [composite("empty", [])])) == ["empty Composite"])
    var derived = Attribute.optional("x")
    derived.derivation = .init(expression: .keyPath(operand: nil, "y"))
    #expect(try problems(Entity("E", [composite("c", [derived])])) == ["c.x Composite"])
    for name in ["c", "c.x"] {
      var unique = Entity("E", [composite("c", [.optional("x")])])
      unique.uniquenessConstraints = [[name]]
      #expect(try problems(unique) == ["\(name) Composite"])
    }
  }

  @Test(arguments: ["c", "c.x"])
  func `an index of a composite is left out by name`(property: String) throws {
    var entity = Entity("E", [composite("c", [.optional("x")])])
    entity.fetchIndexes = [FetchIndex(name: "by", elements: [.init(property: property)])]
    let schema = try StoreSchema(ManagedObjectModel(entities: [entity]))
    #expect(schema.indexes.isEmpty)
    #expect(schema.omissions.map(\.index) == ["by"])
    #expect(schema.omissions.allSatisfy { $0.reason.contains("composite") })
  }

  @Test func `bits of changes may move where elements of a composite do`() throws {
    func layout(_ elements: [Attribute]) throws -> HistoryLayout {
      let model = try ManagedObjectModel(Entity("E", [composite("c", elements), .optional("d")]))
      let schema = try StoreSchema(model)
      return HistoryLayout(of: model.entities[0], table: schema.tables[0], in: model)
    }
    let plain = try layout([.optional("x")])
    #expect(try layout([.optional("x")]) == plain)
    #expect(try layout([.optional("x"), .optional("y")]) != plain)
  }
}
