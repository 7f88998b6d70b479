import Foundation
import ModelFiles
import SystemPackage
import Testing

@Suite struct DeclarationLinesTests {
  private static let source = """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <!-- <entity name="Book"> in a comment is none -->
      <entity name="Book">
        <attribute name="title" attributeType="String"/>
        <relationship name="author" destinationEntity="Author" maxCount="1"/>
      </entity>

      <entity name="AudioBook" parentEntity="Book">
        <attribute name="place" attributeType="Composite" composite="Point"/>
      </entity>
      <entity name="Loop" parentEntity="Loop"/>
    </model>
    """

  private func lines(_ text: String = Self.source, as type: String = "xcdatamodel") throws
    -> DeclarationLines?
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lines-\(UUID())")
    let version = folder.appending(path: "A.\(type)")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data(text.utf8).write(to: version.appending(path: "contents"))
    return try DeclarationLines(of: ModelVersion(name: "A", path: FilePath(version.path)))
  }

  @Test func `entities and properties have the lines of their elements`() throws {
    let lines = try #require(try lines())
    #expect(lines.line(ofEntity: "Book") == 4)
    #expect(lines.line(ofProperty: "title", of: "Book") == 5)
    #expect(lines.line(ofProperty: "author", of: "Book") == 6)
    #expect(lines.line(ofEntity: "AudioBook") == 9)
    #expect(lines.file.string.hasSuffix("A.xcdatamodel/contents"))
  }

  @Test func `an inherited property has the line of the superentity's`() throws {
    let lines = try #require(try lines())
    #expect(lines.line(ofProperty: "title", of: "AudioBook") == 5)
    #expect(lines.line(ofProperty: "place.latitude", of: "AudioBook") == 10)
    #expect(lines.line(ofProperty: "none", of: "Loop") == nil)
    #expect(lines.line(ofProperty: "title", of: "Nobody") == nil)
  }

  @Test func `a compiled version has no lines, and a damaged source is told with its file`() throws
  {
    #expect(try lines(as: "mom") == nil)
    let error = try #require(throws: ModelFileError.self) { _ = try lines("<model>") }
    #expect(error.file?.string.hasSuffix("contents") == true)
  }
}
