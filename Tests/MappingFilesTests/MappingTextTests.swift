import Expressions
import Mapping
import Testing

@testable import MappingFiles

@Suite struct MappingTextTests {
  @Test(arguments: ["01", "1.", "+1", ".5", "-", "1e", "0x1", "\"\\u+1ab\"", "\"\\ud800\""])
  func `what JSON does not allow is refused`(text: String) {
    #expect(throws: MappingFileError.self) { try JSONTree(parsing: Array(text.utf8)) }
  }

  @Test(arguments: ["0", "-0.5", "10", "1e9", "1.25E-3", "\"\\u01ab\"", "\"\\ud83d\\ude00\""])
  func `what JSON allows is read`(text: String) {
    #expect(throws: Never.self) { try JSONTree(parsing: Array(text.utf8)) }
  }

  private func read(_ text: String) throws(MappingFileError) -> MappingModel {
    try MappingTextReader.mapping(decoding: Array(text.utf8))
  }

  private func file(_ mapping: String) -> String {
    "{\"format\": \"godwit mapping model\", \"version\": 1, \"mappings\": [\n\(mapping)\n]}"
  }

  private func failure(_ text: String) -> MappingFileError? {
    do {
      _ = try read(text)
      return nil
    } catch {
      return error
    }
  }

  @Test func `what a person leaves out has its usual meaning`() throws {
    let mapping = try read(
      file(
        """
        {"source": "A", "destination": "B", "filter": "size > 3",
         "attributes": {"z": "$source.z", "a": null}},
        {"destination": "C"}, {"source": "D"},
        {"source": "A", "destination": "E", "policy": "P"}
        """))
    #expect(mapping.entityMappings.map(\.name) == ["AToB", "C", "D", "AToE"])
    #expect(mapping.entityMappings.map(\.kind) == [.copy, .add, .remove, .custom])
    #expect(mapping.entityMappings[0].filter == "size > 3")
    #expect(mapping.entityMappings[0].attributeMappings.map(\.name) == ["z", "a"])
    #expect(mapping.entityMappings[3].filter == "TRUEPREDICATE")
  }

  @Test func `everything that a mapping can hold reads back`() throws {
    var mapping = EntityMapping(
      name: "One \"two\"", kind: .transform, source: "A", destination: "B")
    mapping.userInfo = [
      "text": .string("ä\n\u{1}"), "flag": .boolean(true), "whole": .integer(-3),
      "real": .real(1), "date": .date(12.5), "bytes": .data([0, 255]), "nothing": .null,
    ]
    mapping.sourceExpression = .function(
      operand: .variable("entityPolicy"), selector: "objects", [])
    var property = PropertyMapping(name: "p", valueExpression: .constant(.uuid(Array(0..<16))))
    property.userInfo = ["k": .string("v")]
    mapping.attributeMappings = [
      property, PropertyMapping(name: "q", valueExpression: .constant(.decimal("-12.50"))),
      PropertyMapping(name: "r", valueExpression: nil),
      PropertyMapping(name: "s", valueExpression: .constant(.data([1, 2]))),
      PropertyMapping(name: "t", valueExpression: .source(name: "t", replacingNull: .date(1))),
      PropertyMapping(name: "u", valueExpression: .constant(.string("a \"quoted\" \\ text"))),
    ]
    var other = EntityMapping(name: "none", kind: .custom, source: "A", destination: "B")
    other.sourceExpression = nil
    var third = EntityMapping(name: "third", kind: .copy, source: "A", destination: "B")
    third.sourceExpression = .sourceObjects(of: "A", where: "not a predicate (")
    let model = MappingModel(entityMappings: [mapping, other, third])
    let text = try MappingText.text(mapping: model)
    #expect(try read(text) == model)
    #expect(try MappingText.text(mapping: try read(text)) == text)
  }

  @Test func `a typo in an expression is named with mapping, property, line and column`() {
    let error = failure(
      file(
        "{\"source\": \"A\", \"destination\": \"B\",\n\"attributes\": {\"p\": \"$source.a + \"}}"))
    #expect(error?.mapping == "AToB")
    #expect(error?.property == "p")
    #expect(error?.line == 3)
    guard case .badExpression(let format)? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(format.column == error?.column)
    #expect(format.column == 13)
  }

  @Test func `a typo in a filter is named`() {
    let error = failure(
      file("{\"source\": \"A\", \"destination\": \"B\", \"filter\": \"size >\"}"))
    #expect(error?.mapping == "AToB")
    #expect(error?.property == "filter")
    guard case .badPredicate? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: [
    "", "{", "[]", "{\"format\": 1}", "{\"format\": \"other\"}", "null", "{\"a\": 1, \"a\": 2}",
    "{\"format\": \"godwit mapping model\"}",
    "{\"format\": \"godwit mapping model\", \"version\": 2, \"mappings\": []}",
    "{\"format\": \"godwit mapping model\", \"version\": 1, \"mappings\": {}}",
    "{\"format\": \"godwit mapping model\", \"version\": 1, \"mappings\": [], \"more\": 1}",
    "{\"format\": \"godwit mapping model\", \"version\": 1, \"mappings\": [1]}",
    "{\"x\": \"\\ud800\"}", "{\"x\": \"\\uzzzz\"}", "{\"x\": 1e999}", "{\"x\": \"a",
    String(repeating: "[", count: 100_000),
  ])
  func `text that is no mapping file is refused`(text: String) {
    #expect(failure(text) != nil)
  }

  @Test(arguments: [
    "{}", "{\"source\": 1}", "{\"source\": \"A\", \"typo\": 1}",
    "{\"source\": \"A\", \"type\": \"wrong\"}", "{\"source\": \"A\", \"sourceHash\": \"12\"}",
    "{\"source\": \"A\", \"filter\": \"TRUEPREDICATE\"}",
    "{\"source\": \"A\", \"attributes\": []}", "{\"source\": \"A\", \"attributes\": {\"p\": 1}}",
    "{\"source\": \"A\", \"attributes\": {\"p\": {\"valeu\": null}}}",
    "{\"source\": \"A\", \"userInfo\": {\"k\": []}}",
    "{\"source\": \"A\", \"userInfo\": {\"k\": {\"constant\": \"$source\"}}}",
    "{\"source\": \"A\"}, {\"source\": \"A\"}",
    "{\"source\": \"A\", \"destination\": \"B\", \"filter\": \"a > 1\", "
      + "\"sourceExpression\": null}",
  ])
  func `a wrong mapping is refused with its line`(mapping: String) {
    #expect(failure(file(mapping))?.line == 2)
  }

  @Test func `bytes that are not UTF-8 are refused`() {
    #expect(throws: MappingFileError.self) { try MappingTextReader.mapping(decoding: [0xff]) }
  }
}
