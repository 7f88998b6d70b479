import Expressions
import Mapping
import Testing

@testable import MappingFiles

@Suite struct NewObjectsTextTests {
  private func read(_ mapping: String) throws(MappingFileError) -> EntityMapping? {
    let text =
      "{\"format\": \"godwit mapping model\", \"version\": 1, \"mappings\": [\n\(mapping)\n]}"
    return try MappingTextReader.mapping(decoding: Array(text.utf8)).entityMappings.first
  }

  private func failure(_ mapping: String) -> MappingFileError? {
    do {
      _ = try read(mapping)
      return nil
    } catch {
      return error
    }
  }

  @Test func `one object per pair, per value and for all are read`() throws {
    let pairs = try read(
      """
      {"source": "A", "destination": "P",
       "onePer": {"pairIn": "bs", "sourceIn": "a", "memberIn": "b"}}
      """)
    #expect(pairs?.newObjects?.unit == .pair(relationship: "bs"))
    #expect(pairs?.newObjects?.relationships == ["a", "b"])
    #expect(pairs?.kind == .transform)
    let values = try read(
      """
      {"source": "A", "destination": "V", "onePer": {"value": "$source.x", "nil": "one",
       "attribute": "x", "findsExisting": true, "sourceIn": "as"}}
      """)
    #expect(values?.newObjects?.unit == .value(.source(name: "x"), takesNil: true))
    #expect(values?.newObjects?.attribute == "x")
    #expect(values?.newObjects?.findsExisting == true)
    let one = try read("{\"destination\": \"S\", \"onePer\": {\"all\": true}}")
    #expect(one?.newObjects?.unit == .all)
    #expect(one?.kind == .add)
  }

  @Test func `sort keys are texts or objects, and what is only sorted is open`() throws {
    let mapping = try read(
      """
      {"source": "A", "destination": "A", "relationships": {"bs": {"sortedBy":
       ["x", "-y.z", {"key": "w"}, {"key": "v", "descending": true}]}}}
      """)
    let keys = mapping?.relationshipMappings.first?.sortedBy
    #expect(keys?.map(\.path) == ["x", "y.z", "w", "v"])
    #expect(keys?.map(\.isDescending) == [false, true, false, true])
    #expect(mapping?.relationshipMappings.first?.valueExpression == nil)
  }

  @Test func `what is written reads back`() throws {
    var mapping = EntityMapping(name: "N", kind: .transform, source: "A", destination: "B")
    var property = PropertyMapping(name: "bs", valueExpression: nil)
    property.sortedBy = [
      SortKey(path: "x", isDescending: false), SortKey(path: "y", isDescending: true),
    ]
    mapping.relationshipMappings = [property]
    var objects = NewObjects(unit: .pair(relationship: "r"))
    (objects.sourceRelationship, objects.memberRelationship) = ("a", "b")
    mapping.newObjects = objects
    var values = NewObjects(unit: .value(.source(name: "x"), takesNil: true))
    (values.attribute, values.findsExisting) = ("x", true)
    var second = EntityMapping(name: "V", kind: .transform, source: "A", destination: "C")
    second.newObjects = values
    var third = EntityMapping(name: "O", kind: .transform, source: "A", destination: "D")
    third.newObjects = NewObjects(unit: .all)
    third.newObjects?.sourceRelationship = "as"
    let model = MappingModel(entityMappings: [mapping, second, third])
    let text = try MappingText.text(mapping: model)
    #expect(try MappingTextReader.mapping(decoding: Array(text.utf8)) == model)
  }

  @Test(arguments: [
    #""source": "A", "destination": "B", "onePer": {}"#,
    #""source": "A", "destination": "B", "onePer": {"all": false}"#,
    #""source": "A", "destination": "B", "onePer": {"all": true, "pairIn": "b"}"#,
    #""source": "A", "destination": "B", "onePer": {"all": true, "memberIn": "b"}"#,
    #""source": "A", "destination": "B", "onePer": {"all": true, "attribute": "b"}"#,
    #""source": "A", "destination": "B", "onePer": {"value": "$source."}"#,
    #""source": "A", "destination": "B", "onePer": {"value": "1", "nil": "two"}"#,
    #""source": "A", "destination": "B", "onePer": {"value": "1", "findsExisting": true}"#,
    #""source": "A", "destination": "B", "policy": "P", "onePer": {"all": true}"#,
    #""source": "A", "destination": "B", "type": "copy", "onePer": {"all": true}"#,
    #""source": "A", "onePer": {"all": true}"#,
    #""destination": "B", "onePer": {"value": "1"}"#,
    #""destination": "B", "onePer": {"pairIn": "x"}"#,
    #""source": "A", "destination": "B", "attributes": {"x": {"sortedBy": ["y"]}}"#,
    #""source": "A", "destination": "B", "relationships": {"x": {"sortedBy": []}}"#,
    #""source": "A", "destination": "B", "relationships": {"x": {"sortedBy": "y"}}"#,
    #""source": "A", "destination": "B", "relationships": {"x": {"sortedBy": [{}]}}"#,
  ])
  func `what contradicts itself is refused with its place`(members: String) {
    let error = failure("{\(members)}")
    #expect(error?.mapping != nil)
    #expect(error?.line == 2)
  }
}
