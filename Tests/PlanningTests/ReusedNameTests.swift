import ObjectModel
import Planning
import TestSupport
import Testing

/// A name that was given to another property after its own was renamed.
struct ReusedNameTests {
  private func version(_ name: String, _ attributes: Attribute...) throws -> RouteVersion {
    let model = try ManagedObjectModel(Entity("Foo", attributes))
    return RouteVersion(names: [name], model: model, hashes: try model.versionHashes())
  }

  private func versions() throws -> [RouteVersion] {
    [
      try version("M 1", .optional("old")),
      try version("M 2", .optional("new", was: "old"), .optional("k")),
      try version("M 3", .optional("new", was: "old"), .optional("old"), .optional("k")),
    ]
  }

  private func steps(
    _ versions: [RouteVersion], known: [RouteVersion], isProgressive: Bool
  ) throws -> [[String]] {
    try MigrationRoute(
      from: versions[0], to: versions[2], bundles: [VersionNumbering(known)], mappings: [],
      isProgressive: isProgressive
    ) { _, _ in [] }.steps.map(\.destination.names)
  }

  @Test func `one step goes the way of the versions between, as a chain does`() throws {
    let all = try versions()
    let chain = try steps(all, known: all, isProgressive: true)
    #expect(chain == [["M 2"], ["M 3"]])
    #expect(try steps(all, known: all, isProgressive: false) == chain)
  }

  @Test func `versions at which the value would be lost are gone around by both`() throws {
    var all = try versions()
    // Its identifier is another one than the next version's.
    all.insert(try version("M 2b", .optional("newest", was: "new"), .optional("k")), at: 2)
    for isProgressive in [false, true] {
      let route = try MigrationRoute(
        from: all[0], to: all[3], bundles: [VersionNumbering(all)], mappings: [],
        isProgressive: isProgressive
      ) { _, _ in [] }
      #expect(route.steps.map(\.destination.names) == [["M 2"], ["M 3"]])
    }
  }

  @Test func `without versions between the name goes to itself in both`() throws {
    let all = try versions()
    let ends = [all[0], all[2]]
    #expect(try steps(all, known: ends, isProgressive: false) == [["M 3"]])
    #expect(try steps(all, known: ends, isProgressive: true) == [["M 3"]])
  }
}
