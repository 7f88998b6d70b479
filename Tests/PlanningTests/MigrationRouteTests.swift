import Expressions
import Mapping
import ObjectModel
import Planning
import Testing

/// Versions of a model whose only entity has as many attributes as the version's number.
private func version(_ number: Int, name: String? = nil) throws -> RouteVersion {
  var entity = Entity("Note")
  entity.attributes = (1...number).map { Attribute(name: "a\($0)", type: .string) }
  let model = try ManagedObjectModel(entities: [entity])
  return RouteVersion(
    names: [name ?? "V\(number)"], model: model, hashes: try model.versionHashes())
}

/// A mapping model between two of them.
private func mapping(
  _ from: Int, _ to: Int, _ standing: RouteMapping.Standing = .listed, name: String? = nil
) throws -> RouteMapping {
  var entityMapping = EntityMapping(
    name: "NoteToNote", kind: .copy, source: "Note", destination: "Note")
  entityMapping.sourceVersionHash = try version(from).hashes["Note"]
  entityMapping.destinationVersionHash = try version(to).hashes["Note"]
  return RouteMapping(
    name: name ?? "\(from)to\(to)", standing: standing,
    mapping: MappingModel(entityMappings: [entityMapping]))
}

struct MigrationRouteTests {
  /// The route from one version to another, as text: `V1 > V2 by 1to2 > V3`.
  private func route(
    _ from: Int, _ to: Int, known: [Int], _ mappings: [RouteMapping] = [],
    progressive: Bool = false, impossible: Set<[Int]> = []
  ) throws -> String {
    let all = try known.enumerated().map { place, number in
      var version = try version(number)
      version.model.versionIdentifiers = ["\(place)"]
      return version
    }
    func number(_ version: RouteVersion) -> Int { version.model.entities[0].attributes.count }
    let route = try MigrationRoute(
      from: version(from), to: version(to), bundles: [VersionNumbering(all)], mappings: mappings,
      isProgressive: progressive
    ) { source, destination in
      impossible.contains([number(source), number(destination)])
        ? [Refusal(reason: .relationshipForm, entity: "Note")] : []
    }
    return route.steps.reduce(route.steps.first?.source.names.first ?? "") { text, step in
      let by = step.mappings.map(\.name).joined(separator: "+")
      return "\(text) > \(step.destination.names.first ?? "")" + (by.isEmpty ? "" : " by \(by)")
    }
  }

  @Test func `without mapping models one step is inferred`() throws {
    #expect(try route(1, 4, known: [1, 2, 3, 4]) == "V1 > V4")
  }

  @Test func `version by version each is met once, those that hash alike as one`() throws {
    #expect(
      try route(1, 4, known: [1, 2, 2, 3, 4], progressive: true) == "V1 > V2 > V3 > V4")
    #expect(try route(4, 2, known: [1, 2, 3, 4], progressive: true) == "V4 > V3 > V2")
  }

  @Test func `a version that was taken back is left out`() throws {
    #expect(try route(1, 4, known: [1, 2, 3, 2, 4], progressive: true) == "V1 > V2 > V4")
  }

  @Test func `mapping models that cover the way win over inference`() throws {
    #expect(
      try route(1, 3, known: [1, 2, 3], [mapping(1, 2), mapping(2, 3)])
        == "V1 > V2 by 1to2 > V3 by 2to3")
    #expect(
      try route(1, 3, known: [1, 2, 3], [mapping(1, 2), mapping(2, 3), mapping(1, 3)])
        == "V1 > V3 by 1to3")
  }

  @Test func `inference fills the gaps between mapping models`() throws {
    #expect(
      try route(1, 5, known: [1, 2, 3, 4, 5], [mapping(3, 4)])
        == "V1 > V3 > V4 by 3to4 > V5")
  }

  @Test func `a branch is taken where mapping models lead over it`() throws {
    #expect(
      try route(1, 3, known: [1, 2, 3, 9], [mapping(1, 9), mapping(9, 3)])
        == "V1 > V9 by 1to9 > V3 by 9to3")
  }

  @Test func `a step that cannot be inferred is gone around`() throws {
    #expect(try route(1, 3, known: [1, 2, 3], [mapping(1, 2)], impossible: [[2, 3]]) == "V1 > V3")
    #expect(
      try route(1, 3, known: [1, 2, 3], progressive: true, impossible: [[1, 2]]) == "V1 > V3")
  }

  @Test func `mapping models that the user named keep their order within a step`() throws {
    let first = try mapping(1, 2, .named, name: "z")
    #expect(try route(1, 2, known: [1, 2], [first]) == "V1 > V2 by z")
  }

  @Test func `a mapping model without hashes is for the way forward`() throws {
    var newer = try version(3)
    newer.model = try ManagedObjectModel(entities: newer.model.entities + [Entity("Tag")])
    newer.hashes = try newer.model.versionHashes()
    // It leaves out an entity of the newer version, and none of the older one.
    let bare = RouteMapping(
      name: "bare", standing: .named,
      mapping: MappingModel(entityMappings: [
        EntityMapping(name: "NoteToNote", kind: .copy, source: "Note", destination: "Note")
      ]))
    let route = try MigrationRoute(
      from: version(2), to: newer, bundles: [VersionNumbering([version(1), version(2), newer])],
      mappings: [bare],
      isProgressive: false
    ) { _, _ in [] }
    #expect(route.steps.map { $0.mappings.map(\.name) } == [["bare"]])
  }

  @Test func `without inference every step needs a mapping model`() throws {
    func run(_ mappings: [RouteMapping]) throws -> MigrationRoute {
      try MigrationRoute(
        from: version(1), to: version(3),
        bundles: [VersionNumbering([version(1), version(2), version(3)])], mappings: mappings,
        isProgressive: false, infers: false
      ) { _, _ in [] }
    }
    #expect(try run([mapping(1, 2), mapping(2, 3)]).steps.count == 2)
    let error = #expect(throws: RouteError.self) { try run([mapping(1, 2)]) }
    guard case .mappingsMissing(let gaps, _, infers: false)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(gaps.map(\.source) == [["V2"]] && gaps.map(\.destination) == [["V3"]])
    #expect(throws: RouteError.self) { try run([]) }
  }

  @Test func `a mapping model that leaves out new entities is used where its hashes fit`() throws {
    var newer = try version(2)
    newer.model = try ManagedObjectModel(entities: newer.model.entities + [Entity("Tag")])
    newer.hashes = try newer.model.versionHashes()
    let given = try mapping(1, 2, .found)
    let route = try MigrationRoute(
      from: version(1), to: newer, bundles: [VersionNumbering([version(1), newer])],
      mappings: [given], isProgressive: false
    ) { _, _ in [] }
    #expect(route.steps.map { $0.mappings.map(\.name) } == [["1to2"]])
  }

  @Test func `a mapping model that cannot be read is an error where it would be used`() throws {
    var unreadable = try mapping(1, 2, .found)
    unreadable.isOutline = true
    let error = #expect(throws: RouteError.self) {
      try route(1, 3, known: [1, 2, 3], [unreadable], progressive: true)
    }
    guard case .mappingsUnreadable(["1to2"])? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try route(2, 3, known: [1, 2, 3], [unreadable]) == "V2 > V3")
    let readable = try mapping(1, 2, .found, name: "z")
    #expect(try route(1, 2, known: [1, 2], [unreadable, readable]) == "V1 > V2 by z")
  }

  @Test func `what is missing is named`() throws {
    let error = try #require(throws: RouteError.self) {
      try route(
        1, 3, known: [1, 2, 3], [mapping(1, 2), mapping(7, 8)],
        impossible: [[1, 3], [2, 3]])
    }
    guard case .mappingsMissing(let gaps, let unknown, infers: true) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(gaps.map(\.source) == [["V2"]])
    #expect(gaps.map(\.destination) == [["V3"]])
    #expect(gaps.first?.refusals.isEmpty == false)
    #expect(unknown.map(\.name) == ["7to8"])
  }

  @Test func `a mapping model that was named and fits nothing is an error`() throws {
    let error = try #require(throws: RouteError.self) {
      try route(1, 2, known: [1, 2], [mapping(7, 8, .named)])
    }
    guard case .mappingFitsNothing("7to8") = error else {
      Issue.record("\(error)")
      return
    }
  }

  @Test func `mapping models in a folder are told where none fits, and left out where some do`()
    throws
  {
    #expect(
      try route(1, 2, known: [1, 2], [mapping(1, 2), mapping(7, 8)]) == "V1 > V2 by 1to2")
    #expect(throws: RouteError.self) { try route(1, 2, known: [1, 2], [mapping(7, 8)]) }
  }
}
