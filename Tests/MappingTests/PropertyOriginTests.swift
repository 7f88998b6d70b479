import Expressions
import Mapping
import ObjectModel
import Testing

@Suite struct PropertyOriginTests {
  @Test(
    arguments: [
      (nil, PropertyOrigin.standard),
      (.constant(.integer(7)), .constant(.integer(7))),
      (.source(name: "name"), .attribute("name", replacingNull: .null)),
      (
        .source(name: "name", replacingNull: .string("none")),
        .attribute("name", replacingNull: .string("none"))
      ),
      (.destinations(ofRelationship: "pet"), .relationship("pet", mapping: nil)),
      (
        .destinations(ofRelationship: "pet", mapping: "PetToPet"),
        .relationship("pet", mapping: "PetToPet")
      ),
      (.source(name: "game.type"), .computed(.source(name: "game.type"))),
      (.variable("source"), .computed(.variable("source"))),
    ] as [(ValueExpression?, PropertyOrigin)])
  func `a plain expression is recognised`(expression: ValueExpression?, origin: PropertyOrigin) {
    #expect(PropertyMapping(name: "any", valueExpression: expression).origin == origin)
  }

  @Test func `a relationship under another name than its source's is not plain`() {
    let expression = ValueExpression.function(
      operand: .variable("manager"), selector: MappingSelector.byRelationship,
      [.constant(.string("cars")), .source(name: "trucks")])
    #expect(
      PropertyMapping(name: "cars", valueExpression: expression).origin == .computed(expression))
  }

  @Test func `a source expression says its filter`() {
    var mapping = EntityMapping(name: "AToB", kind: .copy, source: "A", destination: "B")
    #expect(mapping.filter == "TRUEPREDICATE")
    mapping.sourceExpression = .sourceObjects(of: "A", where: "size > 3")
    #expect(mapping.filter == "size > 3")
    mapping.sourceExpression = .sourceObjects(of: "Other")
    #expect(mapping.filter == nil)
    mapping.sourceExpression = nil
    #expect(mapping.filter == nil)
  }

  @Test func `an inferred mapping is written by expressions`() throws {
    let old = try ShopModels.model()
    let new = try ShopModels.model { entities in
      entities[0].attributes[0].isOptional = true
      entities[2].attributes.append(Attribute(name: "state", type: .integer16))
      entities[2].attributes[1].defaultValue = .integer(1)
    }
    let inference = MappingInference(from: old, to: new)
    let mapping = MappingModel.inferred(inference, source: old, destination: new)
    #expect(
      mapping.entityMappings.map(\.name) == [
        "IEM_Transform_Customer", "IEM_Copy_Log", "IEM_Transform_Order",
      ])
    let order = try #require(mapping.mapping(toDestination: "Order"))
    #expect(
      order.attributeMappings == [
        PropertyMapping(name: "number", valueExpression: .source(name: "number")),
        PropertyMapping(name: "state", valueExpression: .constant(.integer(1))),
      ])
    #expect(
      order.relationshipMappings == [
        PropertyMapping(
          name: "customer", valueExpression: .destinations(ofRelationship: "customer"))
      ])
    #expect(mapping.fits(source: try old.versionHashes(), destination: try new.versionHashes()))
  }
}
