import Expressions
import KeyedArchives
import ModelFiles
import ObjectModel
import TestSupport
import Testing

@Suite struct ModelDocumentTests {
  static func model(_ inside: String) throws -> ManagedObjectModel {
    try ModelDocument.model(
      decoding: Array("<model userDefinedModelVersionIdentifier=\"7\">\(inside)</model>".utf8))
  }

  static func attribute(_ text: String) throws -> Attribute {
    let model = try model("<entity name=\"E\"><attribute name=\"a\" \(text)/></entity>")
    return model.entities[0].attributes[0]
  }

  static let defaults: [(String, AttributeValue)] = [
    ("attributeType=\"Boolean\" defaultValueString=\"YES\"", .boolean(true)),
    ("attributeType=\"Integer 16\" defaultValueString=\"NO\"", .integer(0)),
    ("attributeType=\"Integer 64\" defaultValueString=\"-7\"", .integer(-7)),
    ("attributeType=\"Double\" defaultValueString=\"0.5\"", .real(0.5)),
    ("attributeType=\"Decimal\" defaultValueString=\"12.50\"", .decimal("12.50")),
    ("attributeType=\"String\" defaultValueString=\"NO\"", .string("NO")),
    ("attributeType=\"Date\" defaultDateTimeInterval=\"-1.5\"", .date(-1.5)),
    ("attributeType=\"URI\" defaultValueString=\"http://a.b\"", .uri("http://a.b")),
    (
      "attributeType=\"UUID\" defaultValueString=\"00000000-0000-0000-0000-0000000000FF\"",
      .uuid([UInt8](repeating: 0, count: 15) + [255])
    ),
    ("attributeType=\"Binary\"", .null),
  ]

  @Test(arguments: [
    "<model op\u{e9}tional=\"YES\"/>", "<model><entit\u{e9} name=\"E\"/></model>",
    "<model a=\"\u{ff}\"/>",
  ])
  func `names that are no UTF-8 are an error`(text: String) throws {
    let bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    let error = #expect(throws: ModelFileError.self) { try ModelDocument.model(decoding: bytes) }
    #expect(error?.problem == .unknownEncoding("not UTF-8"))
  }

  @Test(arguments: [
    "<?xml version=\"1.0\" encoding = 'UTF-7'?><model/>",
    "\u{feff}<?xml version=\"1.0\" encoding='latin1'?><model/>",
    "<?xml \(String(repeating: " ", count: 500))version=\"1.0\" encoding=\"utf-7\"?><model/>",
  ])
  func `another encoding is refused however it is declared`(text: String) throws {
    let error = #expect(throws: ModelFileError.self) {
      try ModelDocument.model(decoding: Array(text.utf8))
    }
    guard case .unknownEncoding? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: [
    "+0000000-0000-0000-0000-0000000000FF", "0000000000000000-0000-0000-0000000-FF-",
    "00000000-0000-0000-0000-0000000000FG",
  ])
  func `a default that is no UUID stays unread`(text: String) throws {
    let attribute = try Self.attribute("attributeType=\"UUID\" defaultValueString=\"\(text)\"")
    #expect(attribute.defaultValue == .null && attribute.unread.count == 1)
  }

  @Test(arguments: defaults)
  func `a default is read for the attribute's type`(text: String, value: AttributeValue) throws {
    #expect(try Self.attribute(text).defaultValue == value)
  }

  @Test func `the bounds of a text are lengths, those of a number are values`() throws {
    let bounds = "minValueString=\"1\" maxValueString=\"64\""
    let text = try Self.attribute(
      "attributeType=\"String\" \(bounds) regularExpressionString=\"a+\"")
    #expect((text.limits.minimumLength, text.limits.maximumLength) == (1, 64))
    #expect(text.limits.pattern == "a+")
    let number = try Self.attribute("attributeType=\"Integer 32\" \(bounds)")
    #expect(number.limits.minimum == .integer(1) && number.limits.maximum == .integer(64))
  }

  @Test func `an index keeps its order, kind and condition`() throws {
    let model = try Self.model(
      """
      <entity name="E"><attribute name="a" attributeType="Double"/>\
      <fetchIndex name="byA" partialIndexPredicate="a &gt; 3">\
      <fetchIndexElement property="a" type="RTree" order="descending"/></fetchIndex></entity>
      """)
    var element = FetchIndex.Element(property: "a", isAscending: false)
    element.kind = .rTree
    let condition = ValuePredicate(parsing: "a > 3")
    #expect(
      model.entities[0].fetchIndexes
        == [FetchIndex(name: "byA", elements: [element], partialPredicate: condition)])
    #expect(model.entities[0].attributes[0].isIndexed == false)
  }

  @Test func `an index of one attribute marks the attribute`() throws {
    let model = try Self.model(
      """
      <entity name="E"><attribute name="a" attributeType="Double"/>\
      <fetchIndex name="byA"><fetchIndexElement property="a"/></fetchIndex></entity>
      """)
    #expect(model.entities[0].attributes[0].isIndexed)
  }

  static let odd: [(text: String, place: [String?], part: UnreadPart, hashed: Bool)] = [
    ("<entity/>", [nil, nil], UnreadPart(part: .element, form: "entity without name"), false),
    (
      "<surprise name=\"s\"/>", [nil, nil], UnreadPart(part: .element, name: "s", form: "surprise"),
      false
    ),
    (
      "<entity name=\"E\"><surprise/></entity>", ["E", nil],
      UnreadPart(part: .element, form: "surprise"), true
    ),
    (
      "<entity name=\"E\"><attribute name=\"a\" attributeType=\"Colour\"/></entity>", ["E", "a"],
      UnreadPart(part: .type, form: "Colour"), true
    ),
    (
      "<entity name=\"E\"><attribute name=\"a\" attributeType=\"Double\""
        + " defaultValueString=\"x\"/></entity>", ["E", "a"],
      UnreadPart(part: .defaultValue, form: "defaultValueString x"), false
    ),
    (
      "<entity name=\"E\"><attribute name=\"a\" attributeType=\"Double\" optional=\"MAYBE\"/>"
        + "</entity>", ["E", nil], UnreadPart(part: .element, name: "a", form: "optional MAYBE"),
      true
    ),
    (
      "<entity name=\"E\"><relationship name=\"r\" destinationEntity=\"F\"/></entity>", ["E", nil],
      UnreadPart(part: .destination, name: "F of the relationship r", form: "absent"), true
    ),
    (
      "<entity name=\"E\" parentEntity=\"F\"/>", ["E", nil],
      UnreadPart(part: .superentity, name: "F", form: "absent"), true
    ),
    (
      "<entity name=\"E\"><relationship name=\"r\" destinationEntity=\"E\" deletionRule=\"Keep\"/>"
        + "</entity>", ["E", "r"], UnreadPart(part: .deleteRule, form: "deletionRule Keep"), false
    ),
    (
      "<fetchRequest name=\"f\" entity=\"Plain\" fetchLimit=\"few\"/>", [nil, nil],
      UnreadPart(part: .fetchRequest, name: "f", form: "fetchLimit few"), false
    ),
  ]

  @Test(arguments: odd)
  func `what cannot be read is named, and the rest is read`(
    text: String, place: [String?], part: UnreadPart, hashed: Bool
  ) throws {
    let plain = "<entity name=\"Plain\"><attribute name=\"a\" attributeType=\"Double\"/></entity>"
    let model = try Self.model(text + plain)
    #expect(model.unreadParts.map(\.part) == [part])
    #expect(model.unreadParts.map { [$0.entity, $0.property] } == [place])
    #expect(model.entity(name: "Plain")?.attributes.map(\.name) == ["a"])
    #expect(model.knownVersionHashes()["Plain"] != nil)
    // No hash is guessed without a part that it covers.
    #expect((try? model.versionHashes()) == nil ? hashed : !hashed)
  }

  @Test func `a document that declares entities is refused`() {
    let text = """
      <!DOCTYPE model [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><model><entity name="&c;"/></model>
      """
    #expect { try ModelDocument.model(decoding: Array(text.utf8)) } throws: {
      ($0 as? ModelFileError)?.problem == .entityDeclaration
    }
  }

  @Test(arguments: [
    "", "<model>", "<model><entity></model>", "nonsense", "<model/><model/>", "<model/>text",
    "<model a='1' a='2'/>", "<model>&none;</model>",
  ])
  func `a damaged document is refused`(text: String) {
    #expect { try ModelDocument.model(decoding: Array(text.utf8)) } throws: {
      if case .damagedXML? = ($0 as? ModelFileError)?.problem { true } else { false }
    }
  }

  @Test func `a document of a hundred thousand levels is not followed`() throws {
    let count = 100_000
    let text =
      "<model>" + String(repeating: "<entity name=\"E\">", count: count)
      + String(repeating: "</entity>", count: count) + "</model>"
    let model = try ModelDocument.model(decoding: Array(text.utf8))
    #expect(
      model.unreadParts.map(\.part) == [UnreadPart(part: .element, name: "E", form: "entity")])
  }

  @Test func `two thousand damaged compiled models are read or refused`() throws {
    let document = """
      <model><entity name="A"><attribute name="a" optional="YES" attributeType="Decimal" \
      defaultValueString="1.5"/><relationship name="b" optional="YES" maxCount="1" \
      destinationEntity="B" inverseName="c"/></entity><entity name="B" parentEntity="A">\
      <attribute name="n" attributeType="Double" derived="YES" derivationExpression="now()"/>\
      <relationship name="c" optional="YES" toMany="YES" destinationEntity="A" inverseName="b"/>\
      <fetchIndex name="i" partialIndexPredicate="n &gt; 3"><fetchIndexElement property="n"/>\
      </fetchIndex></entity>\
      <fetchRequest name="f" entity="A" predicateString="a == $X OR n &lt; 2"/>\
      </model>
      """
    let model = try ModelDocument.model(decoding: Array(document.utf8))
    var sources = [try ModelArchive.encode(model).bytes]
    for name in Corpus.files(endingIn: ".mom") { sources.append(try Corpus.bytes(name)) }
    var random = SeededRandom(seed: 21)
    var (read, refused) = (0, 0)
    for round in 0..<2000 {
      var bytes = sources[round % sources.count]
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      do {
        _ = try CompiledModel.model(decoding: bytes)
        read += 1
      } catch {
        refused += 1
      }
    }
    #expect(read > 0 && refused > 0)
  }

  /// No file of the corpus has such a proxy; the archive is made here after descriptions of it.
  @Test func `a proxy of an inherited property is not a property of its own`() throws {
    typealias Class = KeyedArchiveWriter.Class
    var writer = KeyedArchiveWriter()
    let dictionary = Class("NSDictionary", "NSObject")
    let entity = Class("NSEntityDescription", "NSObject")
    let (root, parent, child) = (writer.reserve(), writer.reserve(), writer.reserve())
    let name = writer.add("name")
    let attribute = writer.add(
      Class("NSAttributeDescription", "NSPropertyDescription", "NSObject"),
      fields: [
        ("NSPropertyName", .reference(name)), ("NSEntity", .reference(parent)),
        ("NSAttributeType", .integer(700)),
      ])
    let proxy = writer.add(
      Class("_NSPropertyDescriptionProxy", "NSObject"),
      fields: [
        ("NSUnderlyingProperty", .reference(attribute)), ("NSEntityDescription", .reference(child)),
      ])
    for (id, title, property) in [(parent, "Parent", attribute), (child, "Child", proxy)] {
      let properties = writer.add(dictionary, of: [(key: "name", value: property)])
      writer.set(
        id, kind: entity,
        fields: [
          ("NSEntityName", .reference(writer.add(title))), ("NSProperties", .reference(properties)),
          ("NSSuperentity", .reference(id == child ? parent : nil)),
        ])
    }
    let entities = writer.add(
      dictionary, of: [(key: "Parent", value: parent), (key: "Child", value: child)])
    writer.set(
      root, kind: Class("NSManagedObjectModel", "NSObject"),
      fields: [("NSEntities", .reference(entities))])
    let model = try CompiledModel.model(decoding: writer.encoded(root: root))
    #expect(model.entity(name: "Parent")?.attributes.map(\.name) == ["name"])
    #expect(model.entity(name: "Child")?.attributes.isEmpty == true)
  }
}
