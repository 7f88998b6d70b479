import Expressions
import ModelFiles
import ObjectModel
import TestSupport
import Testing

/// Default values of compiled models, which are held to what sources are held to.
@Suite struct DefaultValueReadingTests {
  private func read(_ attribute: Attribute) throws -> Attribute {
    let bytes = try ModelArchive.encode(ManagedObjectModel(Entity("E", [attribute]))).bytes
    let model = try CompiledModel.model(decoding: bytes)
    return try #require(model.entity(name: "E")?.attributes.first)
  }

  private static let unfit: [(AttributeType, AttributeValue)] = [
    (.integer16, .integer(40000)),
    (.integer32, .integer(3_000_000_000)), (.double, .real(.infinity)), (.double, .real(.nan)),
    (.float, .real(1e300)), (.date, .date(.infinity)), (.integer64, .string("abc")),
    (.string, .integer(5)), (.date, .string("yesterday")),
  ]

  @Test(arguments: unfit)
  func `a default that its type cannot have is noted, and kept as it is`(
    type: AttributeType, value: AttributeValue
  ) throws {
    for isOptional in [true, false] {
      var attribute = Attribute.optional("x", type, default: value)
      attribute.isOptional = isOptional
      let found = try read(attribute)
      #expect(found.defaultValue == .null)
      #expect(found.unreadDefault != nil)
      #expect(found.opaqueDefault != nil)
      #expect(try read(found) == found)
    }
  }

  @Test func `a text that another type left behind means nothing`() throws {
    for type in [AttributeType.binary, .transformable, .uuid] {
      let found = try read(.optional("x", type, default: .string("#555555")))
      #expect(found.defaultValue == .null && found.unreadDefault == nil)
      #expect(found.unread.map(\.part) == [.leftoverDefault])
    }
    #expect(try read(.mandatory("x", .uuid, default: .string("empy"))).unreadDefault != nil)
  }

  private static let fit: [(AttributeType, AttributeValue)] = [
    (.integer16, .integer(-7)), (.double, .real(1.5)),
    (.decimal, .decimal("12.50")), (.boolean, .boolean(true)), (.string, .string("")),
    (.date, .date(0.5)), (.uuid, .uuid([UInt8](repeating: 3, count: 16))),
    (.uri, .uri("https://a.b")), (.binary, .data([1, 2])),
  ]

  @Test(arguments: fit)
  func `a default that its type can have is read`(
    type: AttributeType, value: AttributeValue
  ) throws {
    let found = try read(.mandatory("x", type, default: value))
    #expect(found.defaultValue == value && found.unread == [])
  }
}
