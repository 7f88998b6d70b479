import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// Key paths through relationships to families, each hop of which leads to every member.
struct KeyPathBoundTests {
  /// A family of so many entities, whose objects lead to each other.
  private static func family(
    of count: Int, by random: inout SeededRandom
  ) throws -> ManagedObjectModel {
    var entities = [
      Entity(
        "E0", [.optional("name")],
        [
          .toOne("parent", "E0", inverse: "kids"), .toMany("kids", "E0", inverse: "parent"),
          .toOne("next", "E\(Int.random(in: 0..<count, using: &random))", inverse: nil),
        ])
    ]
    for number in 1..<max(count, 2) {
      let parent = "E\(Int.random(in: 0..<number, using: &random))"
      entities.append(Entity("E\(number)", in: parent, [.optional("a\(number)")]))
    }
    return try ManagedObjectModel(entities: entities)
  }

  private static func mapping(_ path: String) -> EntityMapping {
    var mapping = EntityMapping(name: "E", kind: .transform, source: "E0", destination: "E0")
    mapping.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .source(name: path))
    ]
    return mapping
  }

  @Test func `random paths through random families take keys times entities`() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<200 {
      let model = try Self.family(of: Int.random(in: 2...24, using: &random), by: &random)
      let hops = Int.random(in: 1...200, using: &random)
      let keys = (0..<hops).map { _ in
        ["parent", "next", "kids"][Int.random(in: 0..<3, using: &random)]
      }
      let path = (keys + ["name"]).joined(separator: ".")
      let mapping = Self.mapping(path)
      let read = PropertiesRead(mapping: mapping, source: model)
      #expect(read.contains(keys[0], of: "E0"))
      #expect(read.contains("name", of: "E0") || keys.contains("next"))
      let check = MappingCheck(
        models: [MappingModel(entityMappings: [mapping])], source: model, destination: model)
      #expect(
        check.problems.map(\.reason)
          == (keys.contains("kids")
            ? [.notOneValue("a collection", entity: "E0", type: .string)] : []))
    }
  }

  @Test func `a path of a hundred thousand characters is read through`() throws {
    var random = SeededRandom(seed: 4)
    let model = try Self.family(of: 13, by: &random)
    let path = String(repeating: "parent.", count: 14_000) + "a12"
    let read = PropertiesRead(mapping: Self.mapping(path), source: model)
    for number in 0..<13 { #expect(read.contains("parent", of: "E\(number)")) }
    #expect(read.contains("a12", of: "E12"))
  }
}
