import ObjectModel
import RowPrograms
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct JoinNameTests {
  /// Versions 1 to 3 of a model; the second joins an entity with itself, the last adds another one.
  private static func model(_ version: Int) throws -> ManagedObjectModel {
    let pairs: [Relationship] = [
      .toMany("links", "Node", inverse: "backs"), .toMany("backs", "Node", inverse: "links"),
    ]
    let node = Entity("Node", [.optional("name")], version > 1 ? pairs : [])
    return try ManagedObjectModel(
      entities: version > 2 ? [node, Entity("Other", [.optional("name")])] : [node])
  }

  @Test(arguments: [false, true])
  func `a join table whose name a step before the last has assumed is told`(
    isStepwise: Bool
  ) async throws {
    let given = try GivenMigration(from: Self.model(1), to: Self.model(3), rows: 10)
    let bundle = try given.bundle(of: (1...3).map { try Self.model($0) })
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.target = [bundle]
    (request.isProgressive, request.isStepwise) = (true, isStepwise)
    let told = try await given.run(request).joinTables
    #expect(told.map(\.relationship) == ["links"] && told.map(\.reason) == [.new])
    request.joinTables = ["Node.backs"]
    request.output = given.folder.appending("Other.sqlite")
    #expect(try await given.run(request).joinTables.isEmpty)
  }
}
