import ObjectModel
import TestSupport
import Testing

@testable import Mapping

@Suite struct RenamingProposalTests {
  private func model(_ entities: Entity...) throws -> ManagedObjectModel {
    try ManagedObjectModel(entities: entities)
  }

  private func entity(_ name: String, _ attributes: [String: AttributeType]) -> Entity {
    var entity = Entity(name)
    entity.attributes = attributes.sorted { $0.key < $1.key }.map {
      Attribute.optional($0.key, $0.value)
    }
    return entity
  }

  private func proposals(
    _ old: [String: AttributeType], _ new: [String: AttributeType]
  ) throws -> [String: String] {
    let found = RenamingProposal.all(
      from: try model(entity("Note", old)), to: try model(entity("Note", new)))
    return Dictionary(found.map { ($0.oldName, $0.name) }, uniquingKeysWith: { $1 })
  }

  @Test func `the only attributes of a type that are gone and new belong together`() throws {
    #expect(
      try proposals(
        ["title": .string, "pages": .integer16], ["heading": .string, "pages": .integer16])
        == ["title": "heading"])
  }

  @Test func `attributes of different types do not belong together`() throws {
    #expect(try proposals(["title": .string], ["pages": .integer16]).isEmpty)
  }

  @Test func `of several the one with the most similar name is meant`() throws {
    #expect(
      try proposals(["name": .string], ["fullName": .string, "email": .string])
        == ["name": "fullName"])
  }

  @Test func `where none is clear, none is proposed`() throws {
    #expect(try proposals(["title": .string], ["a": .string, "b": .string]).isEmpty)
    #expect(
      try proposals(["name": .string], ["firstName": .string, "finalName": .string]).isEmpty)
  }

  @Test func `what is not clear is told with all that it could be`() throws {
    let old = try model(
      entity("Note", ["title": .string, "memo": .string, "when": .date, "pages": .integer16]))
    let new = try model(
      entity("Note", ["alpha": .string, "beta": .string, "day": .date, "size": .integer32]))
    #expect(RenamingProposal.all(from: old, to: new).map(\.name) == ["day"])
    let found = RenamingProposal.unclear(from: old, to: new)
    #expect(
      found == [
        .init(
          kind: .attribute, entity: "Note", oldEntity: "Note", names: ["alpha", "beta"],
          oldNames: ["memo", "title"], identifiers: ["memo", "title"], words: "String")
      ])
    #expect(RenamingProposal.unclear(from: old, to: old).isEmpty)
  }

  @Test func `one property in common is no evidence for an entity`() throws {
    let old = try model(entity("Author", ["name": .string]))
    #expect(
      RenamingProposal.all(from: old, to: try model(entity("Tag", ["name": .string]))).isEmpty)
    let two = ["name": AttributeType.string, "born": .date]
    #expect(
      RenamingProposal.all(
        from: try model(entity("Author", two)), to: try model(entity("Writer", two))
      ).map(\.name) == ["Writer"])
  }

  @Test func `what a renaming identifier says already is not proposed again`() throws {
    var note = entity("Note", ["heading": .string, "text": .string])
    note.attributes[0].renamingIdentifier = "title"
    let found = RenamingProposal.all(
      from: try model(entity("Note", ["title": .string])), to: try model(note))
    #expect(found.isEmpty)
  }

  @Test func `a name with a renaming identifier is continued by that identifier`() throws {
    var old = entity("Note", ["street": .string])
    old.attributes[0].renamingIdentifier = "road"
    let found = RenamingProposal.all(
      from: try model(old), to: try model(entity("Note", ["address": .string])))
    #expect(found.map(\.oldName) == ["street"] && found.map(\.identifier) == ["road"])
  }

  @Test func `what both versions have with one renaming identifier is not gone`() throws {
    var old = entity("Note", ["street": .string])
    old.attributes[0].renamingIdentifier = "road"
    var new = entity("Note", ["city": .string, "street": .string])
    new.attributes[1].renamingIdentifier = "road"
    #expect(RenamingProposal.all(from: try model(old), to: try model(new)).isEmpty)
    var link = Relationship(name: "street", to: "Road")
    link.renamingIdentifier = "way"
    (old.attributes, new.attributes) = ([], [])
    old.relationships = [link]
    new.relationships = [link, Relationship(name: "city", to: "Road")]
    let road = entity("Road", ["name": .string])
    #expect(
      RenamingProposal.all(from: try model(old, road), to: try model(new, road)).isEmpty)
  }

  @Test func `an entity with half of the properties is proposed, and its properties follow`() throws
  {
    let old = try model(entity("Order", ["total": .double, "placed": .date, "memo": .string]))
    let new = try model(entity("Purchase", ["total": .double, "placed": .date, "note": .string]))
    let found = RenamingProposal.all(from: old, to: new)
    #expect(found.map(\.kind) == [.entity, .attribute])
    #expect(found[0].words == "2 of 3 properties" && found[0].isSole)
    #expect((found[1].oldName, found[1].name) == ("memo", "note"))
    let other = try model(entity("Purchase", ["total": .double, "a": .date, "b": .string]))
    #expect(RenamingProposal.all(from: old, to: other).isEmpty)
  }

  @Test func `relationships belong together where their entities do`() throws {
    func models(_ relationship: String, _ destination: String) throws -> ManagedObjectModel {
      var note = entity("Note", ["title": .string])
      note.relationships = [Relationship(name: relationship, to: destination)]
      return try model(note, entity("Tag", ["name": .string]), entity("Link", ["url": .uri]))
    }
    let old = try models("tag", "Tag")
    #expect(
      RenamingProposal.all(from: old, to: try models("label", "Tag")).map(\.name) == ["label"])
    #expect(RenamingProposal.all(from: old, to: try models("label", "Link")).isEmpty)
  }
}
