import Expressions
import ObjectModel
import Testing

@Suite struct LeafAttributeTests {
  private func model() throws -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType) -> Attribute {
      VersionHashTests.attribute(name, type)
    }
    func composite(_ name: String, _ elements: Attribute...) -> Attribute {
      var result = attribute(name, .composite)
      result.elements = elements
      return result
    }
    var parent = Entity("Parent")
    parent.attributes = [
      attribute("title", .string), attribute("count", .integer16),
      composite("place", attribute("x", .double), attribute("y", .double)),
      composite("empty"),
    ]
    var child = Entity("Child")
    child.superentityName = "Parent"
    child.attributes = [
      attribute("count", .integer64), attribute("color", .string),
      composite("place", attribute("x", .float)),
    ]
    return try ManagedObjectModel(entities: [parent, child])
  }

  @Test(arguments: ["Parent", "Child"])
  func `an attribute by its name is that of the list of all`(name: String) throws {
    let model = try model()
    let entity = try #require(model.entity(name: name))
    let all = model.allLeafAttributes(of: entity)
    #expect(!all.isEmpty)
    for attribute in all {
      #expect(model.leafAttribute(named: attribute.name, of: entity) == attribute)
    }
    for name in ["place", "place.z", "none", "", ".x", "title.x", "color.x"] {
      #expect(
        model.leafAttribute(named: name, of: entity) == all.first { $0.name == name }, "\(name)")
    }
  }

  @Test func `the lowest declaration counts, with its elements`() throws {
    let model = try model()
    let child = try #require(model.entity(name: "Child"))
    #expect(model.leafAttribute(named: "count", of: child)?.type == .integer64)
    #expect(model.leafAttribute(named: "place.x", of: child)?.type == .float)
    #expect(model.leafAttribute(named: "place.y", of: child) == nil)
    #expect(model.leafAttribute(named: "title", of: child)?.type == .string)
  }

  @Test func `an attribute that is named like an element above it is there once`() throws {
    var parent = Entity("Parent")
    var place = VersionHashTests.attribute("place", .composite)
    place.elements = [VersionHashTests.attribute("x", .double)]
    parent.attributes = [place]
    var child = Entity("Child")
    child.superentityName = "Parent"
    child.attributes = [VersionHashTests.attribute("place.x", .string)]
    let model = try ManagedObjectModel(entities: [parent, child])
    let leaves = model.allLeafAttributes(of: try #require(model.entity(name: "Child")))
    #expect(leaves.map(\.name) == ["place.x"])
    #expect(leaves[0].type == .string)
  }
}
