import ObjectModel
import Schema
import TestSupport
import Testing

struct CatalogTests {
  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity(
        "Person", [.optional("name")],
        [
          .toMany("fans", "Person", inverse: "idols"), .toMany("idols", "Person", inverse: "fans"),
        ]))
  }

  private let person: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT", "ZNAME"]

  @Test func `a join table is found under either of its names`() throws {
    for name in ["Z_1IDOLS", "Z_1FANS"] {
      let catalog = Catalog(tables: ["ZPERSON": person, name: ["Z_1IDOLS", "Z_1FANS"]])
      let (schema, differences) = try StoreSchema(model()).resolved(in: catalog)
      #expect(schema.joinTables.map(\.name) == [name])
      #expect(differences == SchemaDifferences())
    }
  }

  @Test func `a missing table is told, and read as empty`() throws {
    let (schema, differences) = try StoreSchema(model()).resolved(in: Catalog(tables: [:]))
    #expect(schema.tables.isEmpty && schema.joinTables.isEmpty)
    #expect(differences.missingTables == ["ZPERSON", "Z_1IDOLS"])
  }

  @Test func `extra tables and columns are told, missing columns too`() throws {
    let catalog = Catalog(tables: [
      "ZPERSON": ["Z_PK", "Z_ENT", "Z_OPT", "ZOLD"], "Z_1IDOLS": ["Z_1IDOLS", "Z_1FANS"],
      "ZGONE": ["Z_PK"], "Z_METADATA": ["Z_UUID"], "sqlite_stat1": ["tbl"],
    ])
    let (_, differences) = try StoreSchema(model()).resolved(in: catalog)
    #expect(differences.extraTables == ["ZGONE"])
    #expect(differences.extraColumns == ["ZPERSON.ZOLD"])
    #expect(differences.missingColumns == ["ZPERSON.ZNAME"])
  }
}
