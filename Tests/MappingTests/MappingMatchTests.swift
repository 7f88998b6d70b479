import Expressions
import Mapping
import ObjectModel
import Testing

@Suite struct MappingMatchTests {
  @Test func `a mapping fits the versions whose hashes it holds, and no others`() throws {
    let old = try ShopModels.model()
    let new = try ShopModels.model { $0[0].attributes[0].isOptional = true }
    let mapping = ShopModels.mapping().stamped(source: old, destination: new)
    let (before, after) = (try old.versionHashes(), try new.versionHashes())
    #expect(mapping.fits(source: before, destination: after))
    #expect(mapping.fits(source: after, destination: after) == false)
    #expect(mapping.fits(source: before, destination: before) == false)
    #expect(mapping.mismatches(.source, model: old).isEmpty)
    #expect(mapping.mismatches(.destination, model: new).isEmpty)
  }

  @Test func `a mapping without hashes fits any version of its entities`() throws {
    let hashes = try ShopModels.model().versionHashes()
    #expect(ShopModels.mapping().fits(source: hashes, destination: hashes))
    #expect(ShopModels.mapping().fits(source: hashes, destination: [:]) == false)
  }

  @Test func `a mapping model without mappings fits nothing`() {
    #expect(MappingModel(entityMappings: []).fits(source: [:], destination: [:]) == false)
  }

  @Test func `a changed entity is told property by property`() throws {
    let made = try ShopModels.model()
    let now = try ShopModels.model { entities in
      entities[0].attributes[0].type = .binary
      entities[0].attributes.append(Attribute(name: "age", type: .integer16))
      entities[2].relationships[0].isOptional = true
      entities[2].attributes = []
    }
    let mapping = ShopModels.mapping().stamped(source: made, destination: made)
    let found = mapping.mismatches(.source, model: now, original: made)
    #expect(
      found == [
        MappingMismatch(
          mapping: "CustomerToCustomer", side: .source, entity: "Customer",
          reason: .entityChanged([
            .propertyAdded("age"), .property("name", aspect: .type, "String", now: "Binary"),
          ])),
        MappingMismatch(
          mapping: "OrderToOrder", side: .source, entity: "Order",
          reason: .entityChanged([
            .property("customer", aspect: .optional, "false", now: "true"),
            .propertyRemoved("number"),
          ])),
      ])
  }

  @Test func `without the original model the hashes are told`() throws {
    let made = try ShopModels.model()
    let now = try ShopModels.model { $0[1].attributes = [] }
    let mapping = ShopModels.mapping().stamped(source: made, destination: made)
    let (expected, found) = (try made.versionHashes()["Log"], try now.versionHashes()["Log"])
    #expect(
      mapping.mismatches(.destination, model: now) == [
        MappingMismatch(
          mapping: "LogToLog", side: .destination, entity: "Log",
          reason: .hashDiffers(expected: try #require(expected), found: try #require(found)))
      ])
  }

  @Test func `a missing entity and a missing property are told`() throws {
    let now = try ShopModels.model { entities in entities.remove(at: 1) }
    var mapping = ShopModels.mapping()
    mapping.entityMappings[0].attributeMappings.append(
      PropertyMapping(name: "gone", valueExpression: nil))
    #expect(
      mapping.mismatches(.destination, model: now) == [
        MappingMismatch(
          mapping: "CustomerToCustomer", side: .destination, entity: "Customer",
          reason: .propertyMissing("gone")),
        MappingMismatch(
          mapping: "LogToLog", side: .destination, entity: "Log", reason: .entityMissing),
      ])
  }
}
