import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct PairProposalTests {
  /// Books with tags, in a family; each pair becomes a link.
  private struct Models {
    var old: ManagedObjectModel
    var new: ManagedObjectModel

    /// - Parameters:
    ///   - isAbstract: whether no object is of the topmost entity itself.
    ///   - isOrdered: whether the tags of a book have an order.
    ///   - tags: the subentities of tags.
    init(isAbstract: Bool = false, isOrdered: Bool = false, tags: [String] = []) throws {
      let family = ["Comic", "Novel"].map { Entity($0, in: "Book") }
      let labels = tags.map { Entity($0, in: "Tag") }
      old = try ManagedObjectModel(
        entities: [
          Entity(
            "Book", isAbstract: isAbstract, [],
            [.toMany("tags", "Tag", inverse: "books", isOrdered: isOrdered)]),
          Entity("Tag", [], [.toMany("books", "Book", inverse: "tags")]),
        ] + family + labels)
      new = try ManagedObjectModel(
        entities: [
          Entity(
            "Book", isAbstract: isAbstract, [], [.toMany("links", "Link", inverse: "book")]),
          Entity(
            "Link", [],
            [.toOne("book", "Book", inverse: "links"), .toOne("tag", "Tag", inverse: "links")]),
          Entity("Tag", [], [.toMany("links", "Link", inverse: "tag")]),
        ] + family + labels)
    }

    func proposal() -> (mapping: MappingModel, added: [String]) {
      MappingModel.inferred(
        MappingInference(from: old, to: new), source: old, destination: new
      ).proposingPairs(from: old, to: new)
    }

    func set(_ mapping: MappingModel) -> MappingSet {
      MappingSet(
        pieces: [.init(name: "one", mapping: mapping)], source: old, destination: new)
    }

    /// The source entity, the relationship and the ends of each proposed mapping.
    func proposed() -> [String] {
      let (mapping, added) = proposal()
      return added.compactMap { name in
        mapping.mapping(named: name).map {
          "\(name) \($0.sourceEntityName ?? "").\($0.newObjects?.pairRelationship ?? "") "
            + ($0.newObjects?.relationships ?? []).joined(separator: " ")
        }
      }
    }
  }

  @Test func `pairs come from the end with one entity, which has those of all subentities`() throws
  {
    #expect(try Models().proposed() == ["LinkPairs Tag.books tag book"])
    #expect(try Models(isAbstract: true).proposed() == ["LinkPairs Tag.books tag book"])
  }

  @Test func `each concrete entity that has the relationship gets a mapping`() throws {
    #expect(
      try Models(isOrdered: true).proposed() == [
        "LinkPairsOfBook Book.tags book tag", "LinkPairsOfComic Comic.tags book tag",
        "LinkPairsOfNovel Novel.tags book tag",
      ])
    #expect(
      try Models(isAbstract: true, isOrdered: true).proposed() == [
        "LinkPairsOfComic Comic.tags book tag", "LinkPairsOfNovel Novel.tags book tag",
      ])
    #expect(
      try Models(tags: ["Topic"]).proposed() == [
        "LinkPairsOfTag Tag.books tag book", "LinkPairsOfTopic Topic.books tag book",
      ])
  }

  @Test func `what is proposed is sound and leaves no pairs out`() throws {
    for models in [
      try Models(), try Models(isAbstract: true), try Models(isOrdered: true),
      try Models(isAbstract: true, isOrdered: true), try Models(tags: ["Topic"]),
    ] {
      let mapping = models.proposal().mapping
      let check = MappingCheck(models: [mapping], source: models.old, destination: models.new)
      #expect(check.problems.isEmpty)
      #expect(models.set(mapping).leftOut.isEmpty)
      let losses = MappingLosses(models: [mapping], source: models.old, destination: models.new)
      // An abstract entity has no objects that could be lost.
      #expect(losses.possible.filter { $0.targets != ["Book"] }.map(\.kind) == [])
    }
  }

  @Test func `pairs of an entity without a mapping of its own are left out`() throws {
    let models = try Models(isOrdered: true)
    var mapping = models.proposal().mapping
    mapping.entityMappings.removeAll { $0.name == "LinkPairsOfNovel" }
    #expect(
      models.set(mapping).leftOut.map(\.reason) == [
        .pairsLeftOut(mapping: "LinkPairsOfBook", entity: "Novel", relationship: "tags")
      ])
  }

  @Test func `pairs that are left out are no removal by the model`() throws {
    let models = try Models(isOrdered: true)
    var mapping = models.proposal().mapping
    mapping.entityMappings.removeAll { $0.name == "LinkPairsOfNovel" }
    let losses = MappingLosses(models: [mapping], source: models.old, destination: models.new)
    let lost = losses.possible.filter { $0.entity == "Novel" }
    #expect(lost.map(\.kind) == [.relationship("tags")])
    #expect(lost.map(\.cause) == [.unmappedPair])
    mapping.entityMappings.removeAll { $0.newObjects != nil }
    let all = MappingLosses(models: [mapping], source: models.old, destination: models.new)
    #expect(Set(all.possible.map(\.cause)) == [.removed])
  }

  @Test func `new objects need source objects of a concrete entity`() throws {
    let models = try Models(isAbstract: true, isOrdered: true)
    var mapping = models.proposal().mapping
    for index in mapping.entityMappings.indices
    where mapping.entityMappings[index].name == "LinkPairsOfNovel" {
      mapping.entityMappings[index].sourceEntityName = "Book"
    }
    let check = MappingCheck(models: [mapping], source: models.old, destination: models.new)
    #expect(
      check.problems.map(\.reason) == [.abstractSource("Book", concrete: ["Comic", "Novel"])])
  }
}
