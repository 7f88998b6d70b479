import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct LockedVersionTests {
  private let weight: [Attribute] = [.optional("weight", .integer16), .optional("name")]

  private func version(
    _ attributes: [Attribute], _ relationships: [Relationship] = [], isAbstract: Bool = false,
    modifier: String? = nil, unique: [[String]] = [], others: [Entity] = []
  ) throws -> LockedVersion {
    var product = Entity("Product", attributes, relationships, unique: unique)
    product.isAbstract = isAbstract
    product.versionHashModifier = modifier
    return LockedVersion(
      name: "Shop", model: try ManagedObjectModel(entities: [product] + others))
  }

  @Test func `a version is like itself, whatever no hash covers`() throws {
    let one = try version(weight)
    var other = weight
    other[0].defaultValue = .integer(3)
    other[0].renamingIdentifier = "mass"
    #expect(one.hashes(like: try version(other)))
    #expect(one.edits(to: try version(other)).isEmpty)
    #expect(one.edits(to: one).isEmpty)
  }

  @Test func `each edit is found with its place`() throws {
    let old = try version(weight)
    func edits(_ now: LockedVersion) -> [LockedVersion.Edit] {
      #expect(!old.hashes(like: now))
      return old.edits(to: now)
    }
    #expect(
      try edits(version([.optional("mass", .integer16), .optional("name")]))
        == [.propertyRenamed(entity: "Product", "weight", to: "mass")])
    #expect(
      try edits(version([.optional("name")])) == [.propertyGone(entity: "Product", "weight")])
    #expect(
      try edits(version(weight + [.optional("more", .boolean)]))
        == [.propertyNew(entity: "Product", "more", "Boolean, optional")])
    #expect(
      try edits(version([.optional("weight", .integer32), .optional("name")])) == [
        .property(
          entity: "Product", "weight", old: "Integer 16, optional", new: "Integer 32, optional")
      ])
    #expect(
      try edits(version(weight, isAbstract: true))
        == [.entity("Product", old: "", new: "abstract")])
    #expect(
      try edits(version(weight, modifier: "2"))
        == [.entity("Product", old: "", new: "hash modifier 2")])
    #expect(
      try edits(version(weight, unique: [["name"]]))
        == [.entity("Product", old: "", new: "unique (name)")])
    #expect(try edits(version(weight, others: [Entity("Tag")])) == [.entityNew("Tag")])
    #expect(
      try version(weight, others: [Entity("Tag")]).edits(to: old) == [.entityGone("Tag")])
  }

  @Test func `of two properties that could be the renamed one none is taken`() throws {
    let old = try version([.optional("a"), .optional("b")])
    let now = try version([.optional("c"), .optional("d")])
    #expect(
      old.edits(to: now) == [
        .propertyGone(entity: "Product", "a"), .propertyGone(entity: "Product", "b"),
        .propertyNew(entity: "Product", "c", "String, optional"),
        .propertyNew(entity: "Product", "d", "String, optional"),
      ])
  }

  @Test func `relationships are told by all that their hash covers`() throws {
    let tag = Entity("Tag")
    func with(_ change: (inout Relationship) -> Void) throws -> LockedVersion {
      var tags = Relationship.toMany("tags", "Tag", inverse: nil)
      change(&tags)
      return try version(weight, [tags], others: [tag])
    }
    let old = try with { _ in }
    let words = "to-many to Tag, optional"
    for (change, now) in [
      ({ $0.isOrdered = true }, "ordered to-many to Tag, optional"),
      ({ $0.minCount = 2 }, "to-many to Tag, optional, at least 2"),
      ({ $0.maxCount = 5 }, "to-many to Tag, optional, at most 5"),
      ({ $0.isOptional = false }, "to-many to Tag"),
      ({ $0.versionHashModifier = "x" }, "to-many to Tag, optional, hash modifier x"),
    ] as [((inout Relationship) -> Void, String)] {
      let edited = try with(change)
      #expect(!old.hashes(like: edited))
      #expect(
        old.edits(to: edited) == [.property(entity: "Product", "tags", old: words, new: now)])
    }
  }

  @Test func `an edit of a superentity is told there and not of all below it`() throws {
    func version(_ type: AttributeType) throws -> LockedVersion {
      LockedVersion(
        name: "Shop",
        model: try ManagedObjectModel(
          Entity("Thing", [.optional("size", type)]), Entity("Small", in: "Thing", []),
          Entity("Tiny", in: "Small", [])))
    }
    #expect(
      try version(.integer16).edits(to: version(.integer32)) == [
        .property(
          entity: "Thing", "size", old: "Integer 16, optional", new: "Integer 32, optional")
      ])
  }

  @Test func `what hashes like another one is found whatever its properties are called in words`()
    throws
  {
    let one = try version(weight)
    var other = one
    other.entities["Product"]?.facts = "said otherwise by another version of the tool"
    #expect(one.hashes(like: other))
    #expect(one.edits(to: other).isEmpty)
  }
}
