import Expressions
import Mapping
import ObjectModel
import Planning
import TestSupport
import Testing

/// Which of several mapping models a step uses, and which step a mapping model is for.
struct ExactMappingTests {
  /// A version whose entity `Kept` never changes and whose entity `Left` has so many attributes.
  private func version(_ number: Int) throws -> RouteVersion {
    let left = Entity("Left", (1...number).map { .optional("a\($0)") })
    let model = try ManagedObjectModel(Entity("Kept", [.optional("name")]), left)
    return RouteVersion(names: ["V\(number)"], model: model, hashes: try model.versionHashes())
  }

  /// A mapping model that leaves out `Left`, made for two versions where they are given.
  private func partial(
    _ name: String, for pair: (Int, Int)? = nil, _ standing: RouteMapping.Standing = .found
  ) throws -> RouteMapping {
    let one = try version(1)
    var mapping = EntityMapping(
      name: "KeptToKept", kind: .copy, source: "Kept", destination: "Kept")
    mapping.sourceVersionHash = one.hashes["Kept"]
    mapping.destinationVersionHash = one.hashes["Kept"]
    mapping.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .source(name: "name"))
    ]
    return RouteMapping(
      name: name, standing: standing, mapping: MappingModel(entityMappings: [mapping]),
      madeFor: try pair.map {
        .init(
          source: try version($0.0).hashes.checksum,
          destination: try version($0.1).hashes.checksum)
      })
  }

  private func route(
    _ from: Int, _ to: Int, _ mappings: [RouteMapping], refused: Bool = false
  ) throws -> MigrationRoute {
    try MigrationRoute(
      from: version(from), to: version(to),
      bundles: [VersionNumbering([version(1), version(2), version(3)])], mappings: mappings,
      isProgressive: false
    ) { _, _ in refused ? [Refusal(reason: .relationshipForm, entity: "Left")] : [] }
  }

  private func names(
    _ from: Int, _ to: Int, _ mappings: [RouteMapping], refused: Bool = false
  ) throws -> [[String]] {
    try route(from, to, mappings, refused: refused).steps.map { $0.mappings.map(\.name) }
  }

  private func names(_ route: MigrationRoute) -> [[String]] {
    route.steps.map { $0.mappings.map(\.name) }
  }

  @Test func `a mapping model that was found is used for its own two versions alone`() throws {
    let given = try partial("1to2", for: (1, 2))
    #expect(try names(1, 2, [given]) == [["1to2"]])
    #expect(try names(2, 3, [given]) == [[]])
    #expect(try route(2, 3, [given]).unused.map(\.reason) == [.elsewhere])
    #expect(try names(1, 3, [given]) == [["1to2"], []])
  }

  @Test func `one that names no versions and loses what inference keeps is left out`() throws {
    let given = try partial("part")
    let found = try route(2, 3, [given])
    #expect(names(found) == [[]])
    #expect(found.unused.map(\.reason) == [.losesMore("Left")])
    #expect(try names(2, 3, [given], refused: true) == [["part"]])
  }

  @Test func `the mapping model for exactly the two versions keeps out others`() throws {
    let (exact, part) = (try partial("exact", for: (2, 3)), try partial("a"))
    let found = try route(2, 3, [part, exact])
    #expect(names(found) == [["exact"]])
    #expect(found.unused.map(\.reason) == [.lessExact(than: "exact")])
  }

  @Test func `one that the user named is used where it fits`() throws {
    let given = try partial("1to3", for: (1, 3), .named)
    #expect(try names(2, 3, [given]) == [["1to3"]])
    #expect(try names(2, 3, [partial("part", .named)]) == [["part"]])
  }
}

/// The order of versions that hash alike, or whose names have more than a number.
struct VersionOrderTests {
  private func version(_ name: String, _ count: Int) throws -> RouteVersion {
    let model = try ManagedObjectModel(Entity("Item", (1...count).map { .optional("a\($0)") }))
    return RouteVersion(
      names: name.isEmpty ? [] : [name], model: model, hashes: try model.versionHashes())
  }

  private func route(
    from start: Int, to end: Int, named: String? = nil, among counts: [Int]
  ) throws -> MigrationRoute {
    let all = try counts.enumerated().map { try version("Shop \($0 + 1)", $1) }
    return try MigrationRoute(
      from: version("", start), to: version("", end), bundles: [VersionNumbering(all)],
      mappings: [], isProgressive: true, targetName: named
    ) { _, _ in [] }
  }

  @Test func `a step forward is no downgrade where the old version came back later`() throws {
    // Shop 2 and 4 are alike, and so are 1 and 3.
    let counts = [1, 2, 1, 2]
    #expect(try !route(from: 2, to: 1, named: "Shop 3", among: counts).isDowngrade)
    #expect(try !route(from: 2, to: 1, among: counts).isDowngrade)
    #expect(try route(from: 2, to: 1, named: "Shop 1", among: counts).isDowngrade)
    #expect(try !route(from: 2, to: 1, among: [9, 2, 1, 2]).isDowngrade)
    #expect(try route(from: 3, to: 1, among: [1, 2, 3]).isDowngrade)
    #expect(try route(from: 3, to: 2, among: [1, 2, 3, 3]).isDowngrade)
  }

  @Test func `the versions between are those before the target`() throws {
    let route = try route(from: 1, to: 3, among: [1, 2, 3, 1])
    #expect(route.steps.map { $0.destination.names } == [["Shop 2"], ["Shop 3"]])
  }

  @Test(
    arguments: [
      (
        ["Shop_tags_v2", "Shop_v1", "Shop_prices_v10"],
        ["Shop_v1", "Shop_tags_v2", "Shop_prices_v10"]
      ),
      (
        ["Shop v3 more", "Shop v2.9 tags", "Shop v2.10"],
        ["Shop v2.9 tags", "Shop v2.10", "Shop v3 more"]
      ),
      (["ShopTags2", "Shop", "ShopPrices3"], nil),
      (["Shop tags 2", "Shop", "Shop prices 3"], ["Shop", "Shop tags 2", "Shop prices 3"]),
      (["Shop_b_v2", "Shop_a_v2"], nil),
      (["Ash v1", "Bay v2"], nil),
      (["Shop_final", "Shop_new"], nil),
    ] as [([String], [String]?)])
  func `names with a version number among other words have an order`(
    names: [String], order: [String]?
  ) throws {
    let found = VersionNumbering(try names.enumerated().map { try version($1, $0 + 1) })
    #expect(found.evidence == (order == nil ? .none : .names))
    if let order { #expect(found.versions.map { $0.names[0] } == order) }
  }
}
