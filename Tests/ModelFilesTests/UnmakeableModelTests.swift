import Foundation
import ModelFiles
import ObjectModel
import Testing

/// Sources of models that Apple's compiler does not make, or that have settings of later versions.
struct UnmakeableModelTests {
  private func model(_ entities: String) throws -> ManagedObjectModel {
    try ModelDocument.model(
      decoding: Array(
        "<model type=\"com.apple.IDECoreDataModeler.DataModel\">\(entities)</model>".utf8))
  }

  private func problem(_ entities: String) -> ModelError? {
    let error = #expect(throws: ModelFileError.self) { try model(entities) }
    if case .notAModel(let problem)? = error?.problem { return problem }
    return nil
  }

  private static let text = "<attribute name=\"x\" optional=\"YES\" attributeType=\"String\"/>"

  @Test(arguments: [
    "<attribute name=\"x\" optional=\"YES\" attributeType=\"String\"/>",
    "<attribute name=\"x\" optional=\"YES\" attributeType=\"Integer 64\"/>",
    "<fetchedProperty name=\"x\"><fetchRequest entity=\"E\"/></fetchedProperty>",
  ])
  func `a property that an entity above declares is refused by name`(again: String) {
    let found = problem(
      "<entity name=\"E\">\(Self.text)</entity><entity name=\"M\" parentEntity=\"E\"/>"
        + "<entity name=\"F\" parentEntity=\"M\">\(again)</entity>")
    #expect((found?.entity, found?.property) == ("F", "x"))
  }

  @Test func `the superentity that declares the property is named`() {
    let found = problem(
      "<entity name=\"E\">\(Self.text)</entity>"
        + "<entity name=\"F\" parentEntity=\"E\">\(Self.text)</entity>")
    #expect(found?.problem == .propertyDeclaredAbove("E"))
  }

  @Test func `doubled names, cycles and doubled entities are refused by name`() {
    #expect(
      problem("<entity name=\"E\">\(Self.text)\(Self.text)</entity>")?.problem
        == .propertyDefinedTwice)
    #expect(
      problem("<entity name=\"E\" parentEntity=\"F\"/><entity name=\"F\" parentEntity=\"E\"/>")?
        .problem == .inheritanceCycle)
    #expect(problem("<entity name=\"E\"/><entity name=\"E\"/>")?.problem == .entityDefinedTwice)
  }

  private static func relationship(_ name: String, to entity: String, inverse: String) -> String {
    "<relationship name=\"\(name)\" optional=\"YES\" maxCount=\"1\" "
      + "destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" inverseEntity=\"\(entity)\"/>"
  }

  @Test func `inverse relationships that do not name each other are refused`() {
    let one = Self.relationship("b", to: "B", inverse: "a")
    func found(_ other: String, more: String = "") -> ModelError.Problem? {
      problem("<entity name=\"A\">\(one)</entity><entity name=\"B\">\(other)</entity>\(more)")?
        .problem
    }
    #expect(found("") == .inverseMissing("a"))
    #expect(found(Self.relationship("a", to: "A", inverse: "c")) == .inverseDiffers("B.a"))
    #expect(
      found(Self.relationship("a", to: "C", inverse: "b"), more: "<entity name=\"C\"/>")
        == .inverseDiffers("B.a"))
  }

  @Test func `an inverse in a superentity, and one whose destination is missing, are read`() throws
  {
    let above = try model(
      "<entity name=\"A\">\(Self.relationship("b", to: "B", inverse: "a"))</entity>"
        + "<entity name=\"B\" parentEntity=\"C\"/>"
        + "<entity name=\"C\">\(Self.relationship("a", to: "A", inverse: "b"))</entity>")
    #expect(above.entities.count == 3)
    let loose = try model(
      "<entity name=\"A\">\(Self.relationship("b", to: "Q", inverse: "a"))</entity>")
    #expect(loose.unreadParts.count == 1)
  }

  @Test func `a setting that is not known is named and changes no hash`() throws {
    let plain = try model("<entity name=\"E\">\(Self.text)</entity>")
    let odd = try model(
      "<entity name=\"E\" tint=\"red\">"
        + Self.text.replacingOccurrences(of: "/>", with: " renamingIdentifier=\"y\"/>")
        + "</entity>")
    #expect(odd.unreadParts.map { $0.part.name } == ["tint", "renamingIdentifier"])
    #expect(odd.unreadParts.map { $0.property } == [nil, "x"])
    #expect(try odd.versionHashes() == plain.versionHashes())
  }

  @Test func `composites as the model compiler takes them are read like the earlier form`() throws {
    func composite(_ element: String, _ key: String) throws -> ManagedObjectModel {
      try model(
        "<entity name=\"E\"><attribute name=\"at\" optional=\"YES\" attributeType=\"Composite\" "
          + "\(key)=\"Point\"/></entity><\(element) name=\"Point\">"
          + "<attribute name=\"lat\" attributeType=\"Double\" defaultValueString=\"0.0\"/>"
          + "<attribute name=\"lon\" attributeType=\"Double\" defaultValueString=\"0.0\"/>"
          + "</\(element)>")
    }
    let read = try composite("composite", "composite")
    #expect(read.unreadParts.isEmpty)
    #expect(read.entities[0].leafAttributes.map(\.name) == ["at.lat", "at.lon"])
    #expect(try read == composite("compositeAttribute", "compositeName"))
    let written = String(decoding: try ModelSource.encode(read).bytes, as: UTF8.self)
    #expect(written.contains("<composite name=\"At\">"))
    #expect(written.contains("composite=\"At\""))
    let again = try ModelDocument.model(decoding: Array(written.utf8))
    #expect(try again.versionHashes() == read.versionHashes())
  }
}
