import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct ValueCheckTests {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init() throws {
    old = try ManagedObjectModel(
      Entity(
        "Item",
        [
          .optional("name"), .optional("size", .integer16), .optional("day", .date),
          .optional("blob", .transformable),
        ],
        [.toOne("owner", "Person", inverse: "items")]),
      Entity(
        "Person", [.optional("name"), .optional("age", .integer64)],
        [.toMany("items", "Item", inverse: "owner")]))
    new = try ManagedObjectModel(
      Entity(
        "Item",
        [
          .optional("name"), .optional("size", .integer16), .optional("day", .date),
          .mandatory("code"), .optional("blob", .transformable),
          .mandatory("rank", .integer16, default: .integer(1)),
        ],
        [.toOne("owner", "Person", inverse: "items")]),
      Entity(
        "Person", [.optional("name"), .optional("age", .integer64)],
        [.toMany("items", "Item", inverse: "owner")]))
  }

  private func check(
    _ property: String, _ text: String?, isRelationship: Bool = false,
    change: (inout EntityMapping) -> Void = { _ in }
  ) throws -> MappingCheck {
    var mapping = EntityMapping(
      name: "Items", kind: .transform, source: "Item", destination: "Item")
    let made = PropertyMapping(
      name: property, valueExpression: try text.map { try ValueExpression(format: $0) })
    let code = PropertyMapping(name: "code", valueExpression: .constant(.string("c")))
    mapping.attributeMappings = (property == "code" ? [] : [code]) + (isRelationship ? [] : [made])
    mapping.relationshipMappings = isRelationship ? [made] : []
    change(&mapping)
    return MappingCheck(
      models: [MappingModel(entityMappings: [mapping])], source: old, destination: new)
  }

  private static let wrong: [(String, String, MappingProblem.Reason)] = [
    ("name", "Bob", .pathFromNothing("Bob")),
    ("name", "uppercase(Bob.name)", .pathFromNothing("Bob.name")),
    ("name", "TERNARY(size == 1, \"a\", \"b\")", .pathFromNothing("size")),
    ("name", "$source.name.words", .valuePropertyMissing(of: .string(""), key: "words")),
    (
      "name", "$source.owner.name.length.stringValues",
      .valuePropertyMissing(of: .integer(0), key: "stringValues")
    ),
    ("size", "\"abc\"", .constantRefused(.string("abc"), entity: "Item", type: .integer16, .kind)),
    ("size", "40000", .constantRefused(.integer(40000), entity: "Item", type: .integer16, .range)),
    ("day", "5 + 5", .constantRefused(.integer(10), entity: "Item", type: .date, .kind)),
    ("size", "{1, 2}", .notOneValue("a collection", entity: "Item", type: .integer16)),
    ("day", "$source.name", .kindRefused(.string(""), entity: "Item", type: .date)),
    ("name", "$source.name.length", .kindRefused(.integer(0), entity: "Item", type: .string)),
    (
      "size", "uuid()",
      .kindRefused(.uuid([UInt8](repeating: 0, count: 16)), entity: "Item", type: .integer16)
    ),
    (
      "name", "TERNARY($source.size == 1, $source.name, $source.size)",
      .kindRefused(.integer(1), entity: "Item", type: .string)
    ),
    ("day", "CAST($source.name, \"NSDate\")", .castRefused(.string(""), to: "NSDate")),
    (
      "name", "CAST($source.day, \"NSNumber\")",
      .kindRefused(.real(1), entity: "Item", type: .string)
    ),
    ("name", "$source.owner", .notOneValue("Person", entity: "Item", type: .string)),
    ("name", "$source.owner.items", .notOneValue("a collection", entity: "Item", type: .string)),
    (
      "name", "$source.owner.items.name",
      .notOneValue("a collection", entity: "Item", type: .string)
    ),
    (
      "name", "$Source.name",
      .valueless(EvaluationError(.unknownVariable("Source"), expression: "$Source"))
    ),
    (
      "name", "FUNCTION($entityPolicy, \"foo\")",
      .valueless(
        EvaluationError(
          .unknownSelector("foo", of: "the standard policy"),
          expression: "FUNCTION($entityPolicy, \"foo\")"))
    ),
    (
      "name", "FUNCTION($source.name, \"nosuch\")",
      .valueless(
        EvaluationError(
          .unknownSelector("nosuch", of: "a text"),
          expression: "FUNCTION($source.name, \"nosuch\")"))
    ),
  ]

  @Test func `a filter has no variables`() throws {
    let found = try check("size", "1") {
      $0.sourceExpression = .sourceObjects(of: "Item", where: "$source.size > 0")
    }
    #expect(
      found.problems.map(\.reason)
        == [.valueless(EvaluationError(.unknownVariable("source"), expression: "$source"))])
  }

  @Test(arguments: wrong)
  func `what no object can get is found without objects`(
    property: String, text: String, reason: MappingProblem.Reason
  ) throws {
    let found = try check(property, text)
    #expect(found.problems.map(\.reason) == [reason])
    #expect(found.problems.map(\.property) == [property])
  }

  @Test(arguments: [
    ("size", "$source.owner.age"), ("name", "$source.size.stringValue"), ("size", "TRUE"),
    ("name", "TERNARY($source.size == 1, nil, $source.name)"), ("size", "$source.name.intValue"),
    ("day", "$source.day + 5"), ("name", "$source.owner.items.@count.stringValue"),
    ("size", "$source.owner.items.@sum.size"), ("name", "$source.blob"),
    ("name", "SUBQUERY($source.owner.items, $x, $x.size > 1)[0].name"),
    ("day", "date($source.name, \"yyyy-MM-dd\")"), ("size", "1.9"), ("day", "now()"),
    ("name", "CAST(uuid(), \"NSString\")"), ("size", "CAST($source.name, \"NSNumber\")"),
  ])
  func `what some object can get is no problem`(property: String, text: String) throws {
    let found = try check(property, text)
    #expect(found.problems == [])
    #expect(found.valuesLeftOut.isEmpty)
  }

  @Test(arguments: [("5", AttributeValue.integer(5)), ("\"Bob\"", .string("Bob"))])
  func `a constant is no object`(text: String, value: AttributeValue) throws {
    #expect(
      try check("owner", text, isRelationship: true).problems.map(\.reason)
        == [.constantForObjects(value, destination: "Person")])
    #expect(try check("owner", "nil", isRelationship: true).problems == [])
  }

  @Test func `a mandatory attribute without a value is found, one with a default is not`() throws {
    for text in [nil, "nil", "uppercase(nil)"] {
      let found = try check("code", text)
      #expect(found.problems == [])
      #expect(found.valuesLeftOut.map(\.attribute) == ["code"])
    }
    #expect(try check("rank", nil).valuesLeftOut.isEmpty)
    #expect(try check("rank", "nil").valuesLeftOut.map(\.attribute) == ["rank"])
    // A policy may give it.
    #expect(
      try check("code", nil) { $0.migrationPolicyClassName = "Policy" }.valuesLeftOut.isEmpty)
    // Nothing is made.
    #expect(try check("code", nil) { $0.sourceEntityName = nil }.valuesLeftOut.isEmpty)
  }
}
