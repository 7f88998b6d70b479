import Mapping
import ObjectModel
import Planning
import TestSupport
import Testing

/// What a route loses on the way although both of its ends have it.
struct DetourTests {
  private func version(
    _ name: String, _ attributes: [Attribute], entity: String = "Note", was: String? = nil
  ) throws -> RouteVersion {
    let model = try ManagedObjectModel(Entity(entity, was: was, attributes))
    return RouteVersion(names: [name], model: model, hashes: try model.versionHashes())
  }

  private func route(
    _ versions: [RouteVersion], mappings: [RouteMapping] = [], progressive: Bool = false
  ) throws -> MigrationRoute {
    let last = versions.count - 1
    return try MigrationRoute(
      from: versions[0], to: versions[last], bundles: [VersionNumbering(versions)],
      mappings: mappings, isProgressive: progressive
    ) { InferredStep.refusals(from: $0.model, to: $1.model) }
  }

  private func names(_ route: MigrationRoute) -> [String] {
    route.steps.map { $0.destination.names.joined() }
  }

  @Test func `a version without the attribute is marked as a detour around a refusal`() throws {
    let found = try route([
      version("V1", [.optional("code", .string), .optional("a")]), version("V2", [.optional("a")]),
      version("V3", [.optional("code", .binary), .optional("a")]),
    ])
    #expect(names(found) == ["V2", "V3"])
    #expect(
      found.steps.map(\.detourLosses)
        == [[PossibleLoss(entity: "Note", kind: .attribute("code"))], []])
    #expect(found.directRefusals.map(\.property) == ["code"])
  }

  @Test func `an entity that is gone on the way is lost as one`() throws {
    let gone = try version("V2", [.optional("a")], entity: "Other")
    let found = try route([
      version("V1", [.optional("code", .string)]), gone,
      version("V3", [.optional("code", .binary)]),
    ])
    #expect(found.steps.first?.detourLosses == [PossibleLoss(entity: "Note", kind: .entity)])
  }

  @Test func `of two ways the one that keeps more wins`() throws {
    // From V1 to V4 nothing can be inferred; V2 lacks the attribute, V3 keeps it.
    let found = try MigrationRoute(
      from: version("V1", [.optional("code"), .optional("a")]),
      to: version("V4", [.optional("code"), .optional("d")]),
      bundles: [
        VersionNumbering([
          version("V1", [.optional("code"), .optional("a")]), version("V2", [.optional("a")]),
          version("V3", [.optional("code"), .optional("c")]),
          version("V4", [.optional("code"), .optional("d")]),
        ])
      ], mappings: [], isProgressive: false
    ) { from, to in
      from.names == ["V1"] && to.names == ["V4"]
        ? [Refusal(reason: .relationshipForm, entity: "Note")] : []
    }
    #expect(names(found) == ["V3", "V4"])
    #expect(found.steps.allSatisfy { $0.detourLosses.isEmpty })
  }

  @Test func `version by version, a version that drops what comes again is left out`() throws {
    let versions = try [
      version("V1", [.optional("code"), .optional("a")]), version("V2", [.optional("a")]),
      version("V3", [.optional("code"), .optional("b")]),
    ]
    #expect(try names(route(versions, progressive: true)) == ["V3"])
  }

  @Test func `what the destination lacks as well is no detour's loss`() throws {
    let versions = try [
      version("V1", [.optional("code"), .optional("a")]), version("V2", [.optional("a")]),
      version("V3", [.optional("a"), .optional("b")]),
    ]
    let found = try route(versions, progressive: true)
    #expect(names(found) == ["V2", "V3"])
    #expect(found.steps.allSatisfy { $0.detourLosses.isEmpty })
  }

  @Test func `a name that changed twice is found again from version to version`() throws {
    let found = try route([
      version("V1", [.optional("a")]), version("V2", [.optional("b", was: "a")]),
      version("V3", [.optional("c", was: "b")]),
    ])
    #expect(names(found) == ["V2", "V3"])
    #expect(found.steps.allSatisfy { $0.detourLosses.isEmpty })
  }

  @Test func `a name that is kept under another one on the way is not lost`() throws {
    let versions = try [
      version("V1", [.optional("a")]), version("V2", [.optional("b", was: "a")]),
      version("V3", [.optional("c", was: "a"), .optional("d")]),
    ]
    let found = try route(versions, progressive: true)
    #expect(names(found) == ["V2", "V3"])
    #expect(found.steps.allSatisfy { $0.detourLosses.isEmpty })
  }
}

/// In which order versions followed each other.
struct VersionNumberingTests {
  private func version(_ name: String, _ identifier: String? = nil) throws -> RouteVersion {
    var model = try ManagedObjectModel(Entity("E\(name.count)", [.optional(name)]))
    model.versionIdentifiers = identifier.map { [$0] } ?? []
    return RouteVersion(names: [name], model: model, hashes: try model.versionHashes())
  }

  private func order(_ versions: [RouteVersion], named: [String] = []) -> String {
    let numbering = VersionNumbering(versions, named: named)
    return numbering.versions.flatMap(\.names).joined(separator: " ") + ", \(numbering.evidence)"
  }

  @Test func `identifiers tell the order, whatever the names say`() throws {
    let versions = try [version("Alpha", "2"), version("Mike", "3"), version("Zulu", "1")]
    #expect(order(versions) == "Zulu Alpha Mike, identifiers")
    #expect(order(versions, named: ["Mike", "Zulu"]) == "Mike Zulu, named")
  }

  @Test func `identifiers that some lack or share tell nothing`() throws {
    #expect(
      try order([version("M 2", "1"), version("M", "2"), version("M 10")]) == "M M 2 M 10, names")
    #expect(try order([version("M 2", "1"), version("M", "1")]) == "M M 2, names")
    #expect(try order([version("M 2", "beta"), version("M", "alpha")]) == "M M 2, names")
  }

  @Test func `names count by their numbers, and the first needs none`() throws {
    let versions = try [version("Shop 10"), version("Shop"), version("Shop v2"), version("shop3")]
    #expect(order(versions) == "Shop Shop v2 shop3 Shop 10, names")
    #expect(try order([version("A2.10"), version("A2.9")]) == "A2.9 A2.10, names")
  }

  @Test func `names without an order are not taken for one`() throws {
    let versions = try [version("Alpha"), version("Mike"), version("Zulu")]
    #expect(order(versions) == "Alpha Mike Zulu, none")
    let error = #expect(throws: RouteError.self) {
      try MigrationRoute(
        from: versions[0], to: versions[2], bundles: [VersionNumbering(versions)], mappings: [],
        isProgressive: true
      ) { _, _ in [] }
    }
    guard case .orderUnknown? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a target that came before the store is a downgrade`() throws {
    let versions = try [version("M"), version("M 2"), version("M 3")]
    func isDowngrade(_ from: Int, _ to: Int) throws -> Bool {
      try MigrationRoute(
        from: versions[from], to: versions[to], bundles: [VersionNumbering(versions)],
        mappings: [], isProgressive: false
      ) { _, _ in [] }.isDowngrade
    }
    #expect(try isDowngrade(2, 0))
    #expect(try !isDowngrade(0, 2))
  }
}
