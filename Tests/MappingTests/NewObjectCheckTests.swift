import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct NewObjectCheckTests {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init() throws {
    old = try ManagedObjectModel(
      Entity(
        "Book", [.optional("title"), .optional("author"), .optional("starred", .boolean)],
        [.toMany("tags", "Tag", inverse: "books"), .toOne("shelf", "Shelf", inverse: "books")]),
      Entity("Tag", [.optional("name")], [.toMany("books", "Book", inverse: "tags")]),
      Entity("Shelf", [.optional("name")], [.toMany("books", "Book", inverse: "shelf")]))
    new = try ManagedObjectModel(
      Entity(
        "Book", [.optional("title")],
        [
          .toOne("writer", "Author", inverse: "books"),
          .toMany("tagged", "Tagging", inverse: "book"),
          .toOne("shelf", "Shelf", inverse: "books"),
        ]),
      Entity("Tag", [.optional("name")], [.toMany("tagged", "Tagging", inverse: "tag")]),
      Entity(
        "Shelf", [.optional("name")],
        [.toMany("books", "Book", inverse: "shelf", isOrdered: true)]),
      Entity(
        "Author", [.optional("name")],
        [.toMany("books", "Book", inverse: "writer")]),
      Entity(
        "Tagging", [.optional("text")],
        [.toOne("book", "Book", inverse: "tagged"), .toOne("tag", "Tag", inverse: "tagged")]))
  }

  private func copies() -> [EntityMapping] {
    ["Book", "Tag", "Shelf"].map { (name: String) in
      EntityMapping(name: "\(name)To\(name)", kind: .copy, source: name, destination: name)
    }
  }

  private func pairs(
    _ relationship: String = "tags", source: String? = "book", member: String? = "tag",
    text: String = "$member.name"
  ) throws -> EntityMapping {
    var mapping = EntityMapping(
      name: "Pairs", kind: .transform, source: "Book", destination: "Tagging")
    mapping.newObjects = NewObjects(unit: .pair(relationship: relationship))
    mapping.newObjects?.sourceRelationship = source
    mapping.newObjects?.memberRelationship = member
    mapping.attributeMappings = [
      PropertyMapping(name: "text", valueExpression: try ValueExpression(format: text))
    ]
    return mapping
  }

  private func values(_ expression: String = "$source.author") throws -> EntityMapping {
    var mapping = EntityMapping(
      name: "Writers", kind: .transform, source: "Book", destination: "Author")
    mapping.newObjects = NewObjects(
      unit: .value(try ValueExpression(format: expression), takesNil: false))
    mapping.newObjects?.attribute = "name"
    mapping.newObjects?.sourceRelationship = "books"
    return mapping
  }

  private func model(_ mappings: [EntityMapping]) -> MappingModel {
    MappingModel(entityMappings: copies() + mappings).completingCopies(from: old, to: new)
  }

  private func reasons(_ mappings: [EntityMapping]) -> [MappingProblem.Reason] {
    MappingCheck(models: [model(mappings)], source: old, destination: new).problems.map(\.reason)
  }

  private func losses(_ mappings: [EntityMapping]) -> [String] {
    MappingLosses(models: [model(mappings)], source: old, destination: new).possible.map {
      switch $0.kind {
      case .attribute(let name): "\($0.entity).\(name)"
      case .relationship(let name): "\($0.entity).\(name)"
      default: $0.entity
      }
    }.sorted()
  }

  @Test func `sound mappings have no problem`() throws {
    #expect(try reasons([pairs(), values()]).isEmpty)
  }

  @Test func `every name that leads nowhere is found`() throws {
    #expect(
      try reasons([pairs("tagz")])
        == [.sourcePropertyMissing(entity: "Book", property: "tagz")])
    #expect(
      try reasons([pairs(source: "boo")]) == [.propertyMissing(entity: "Tagging")])
    #expect(
      try reasons([pairs(text: "$member.nam")])
        == [.sourcePropertyMissing(entity: "Tag", property: "nam")])
    #expect(
      try reasons([values("$source.autor")])
        == [.sourcePropertyMissing(entity: "Book", property: "autor")])
    #expect(try reasons([values("$member.name")]) == [.memberOutsidePair])
    // The other end of the pair is a tag, and "book" holds books.
    #expect(
      try reasons([pairs(source: nil, member: "book")])
        == [.notMadeFrom("Tag", holding: "Book")])
    var twice = try values()
    twice.attributeMappings = [PropertyMapping(name: "name", valueExpression: nil)]
    #expect(reasons([twice]) == [.filledTwice])
  }

  @Test func `the attribute that holds the value has one`() throws {
    let strict = try ManagedObjectModel(
      entities: new.entities.map {
        var entity = $0
        if entity.name == "Author" {
          entity.attributes = [.mandatory("name"), .mandatory("born", .integer32)]
        }
        return entity
      })
    let mapping = MappingModel(entityMappings: copies() + [try values()])
      .completingCopies(from: old, to: strict)
    let check = MappingCheck(models: [mapping], source: old, destination: strict)
    #expect(check.valuesLeftOut.map(\.attribute) == ["born"])
  }

  private func sorted(_ path: String, in relationship: String, of entity: String) -> [EntityMapping]
  {
    var mappings = copies()
    guard let place = mappings.firstIndex(where: { $0.sourceEntityName == entity }) else {
      return mappings
    }
    var property = PropertyMapping(name: relationship, valueExpression: nil)
    property.sortedBy = [SortKey(path: path, isDescending: false)]
    mappings[place].relationshipMappings = [property]
    return mappings
  }

  private func problems(_ mappings: [EntityMapping]) -> [MappingProblem.Reason] {
    MappingCheck(
      models: [MappingModel(entityMappings: mappings)], source: old, destination: new
    ).problems.map(\.reason)
  }

  @Test func `only ordered relationships are sorted, by attributes`() {
    #expect(problems(sorted("author", in: "books", of: "Shelf")).isEmpty)
    #expect(problems(sorted("shelf.name", in: "books", of: "Shelf")).isEmpty)
    #expect(
      problems(sorted("tags", in: "books", of: "Shelf"))
        == [.sortKeyMissing(entity: "Book", key: "tags")])
    #expect(
      problems(sorted("name", in: "tagged", of: "Tag")) == [.notOrdered(entity: "Tag")])
  }

  @Test func `what new objects and orders are made of is not lost`() throws {
    #expect(losses([]) == ["Book.author", "Book.starred", "Book.tags", "Tag.books"])
    #expect(try losses([pairs(), values()]) == ["Book.starred"])
    var folder = EntityMapping(
      name: "Starred", kind: .transform, source: "Book", destination: "Author")
    folder.sourceExpression = .sourceObjects(of: "Book", where: "starred == YES")
    folder.newObjects = NewObjects(unit: .all)
    folder.newObjects?.sourceRelationship = "books"
    // What a filter chooses by is kept by the reference; the author is counted object by object.
    let chosen = try MappingLosses(
      models: [model([pairs(), folder])], source: old, destination: new)
    #expect(chosen.divisions.first?.properties.map(\.name).contains("starred") == false)
    #expect(chosen.divisions.first?.properties.map(\.name).contains("author") == true)
    var sorting = sorted("author", in: "books", of: "Shelf")
    sorting.append(try pairs())
    let mapping = MappingModel(entityMappings: sorting).completingCopies(from: old, to: new)
    let possible = MappingLosses(models: [mapping], source: old, destination: new).possible
    #expect(possible.map(\.kind) == [.attribute("starred")])
  }

  @Test func `what is only sorted is copied`() {
    let mapping = MappingModel(entityMappings: sorted("author", in: "books", of: "Shelf"))
      .completingCopies(from: old, to: new)
    let property = mapping.mapping(named: "ShelfToShelf")?.relationshipMappings.first
    #expect(property?.sourceRelationshipName == "books")
    #expect(property?.sortedBy.map(\.path) == ["author"])
  }

  @Test func `they go object by object, together with what they relate`() throws {
    for mappings in [copies() + [try pairs()], sorted("author", in: "books", of: "Shelf")] {
      let mapping = MappingModel(entityMappings: mappings).completingCopies(from: old, to: new)
      #expect(throws: RowFallback.self) {
        try RowCalls(
          mapping: mapping, source: old, destination: new, independentPolicies: [],
          allowsFilters: true)
      }
    }
    let groups = MappingGroups(models: [model([try pairs()])], source: old, destination: new)
    let roots = groups.groups.first { $0.roots.contains("Tagging") }?.roots ?? []
    #expect(Set(roots).isSuperset(of: ["Tagging", "Book", "Tag"]))
  }
}
