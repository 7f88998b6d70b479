import ModelFiles
import ObjectModel
import TestSupport
import Testing

/// Composite attributes in model sources and archives.
struct CompositeFilesTests {
  private static func document(_ composites: String, attributes: String) -> [UInt8] {
    Array(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Drink">\(attributes)</entity>
        \(composites)
      </model>
      """.utf8)
  }

  private static let author = """
    <compositeAttribute name="Author">
      <attribute name="person" optional="YES" attributeType="String" defaultValueString="Ada"/>
      <attribute name="id" attributeType="UUID" elementID="key"/>
    </compositeAttribute>
    """

  @Test func `an archive of a composite says what the model says, and hashes alike`() throws {
    let model = try ModelDocument.model(
      decoding: Self.document(
        Self.author,
        attributes: """
          <attribute name="writer" optional="YES" attributeType="Composite" \
          compositeName="Author" elementID="author"/>
          """))
    let encoded = try ModelArchive.encode(model)
    #expect(encoded.leftOut.isEmpty)
    let read = try CompiledModel.model(decoding: encoded.bytes)
    #expect(try read.versionHashes() == model.versionHashes())
    let attribute = try #require(read.entities[0].attributes.first)
    #expect(attribute.renamingIdentifier == "author" && attribute.isOptional)
    #expect(attribute.elements == model.entities[0].attributes[0].elements)
    #expect(attribute.elements.map(\.name) == ["person", "id"])
  }

  @Test func `a model whose composites multiply is refused`() throws {
    let elements = (0..<1_000).map { "<attribute name=\"e\($0)\" attributeType=\"String\"/>" }
    let uses = (0..<1_000).map {
      "<attribute name=\"a\($0)\" attributeType=\"Composite\" compositeName=\"C\"/>"
    }
    let error = #expect(throws: ModelFileError.self) {
      try ModelDocument.model(
        decoding: Self.document(
          "<compositeAttribute name=\"C\">\(elements.joined())</compositeAttribute>",
          attributes: uses.joined()))
    }
    #expect(error?.problem == .tooLarge(limit: 500_000))
  }

  @Test func `a composite within itself ends`() throws {
    let model = try ModelDocument.model(
      decoding: Self.document(
        """
        <compositeAttribute name="C">
          <attribute name="c" attributeType="Composite" compositeName="C"/>
          <attribute name="d" attributeType="Composite" compositeName="C"/>
        </compositeAttribute>
        """, attributes: "<attribute name=\"a\" attributeType=\"Composite\" compositeName=\"C\"/>"))
    #expect(model.entities[0].leafAttributes.map(\.name) == ["a.c", "a.d"])
    #expect(throws: UnknownVersionHash.self) { try model.versionHashes() }
  }
}
