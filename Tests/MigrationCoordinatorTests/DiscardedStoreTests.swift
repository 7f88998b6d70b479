import MigrationEngine
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// A migration that keeps no old store leaves older ones and their files alone.
@Suite(.scratchFolder) struct DiscardedStoreTests {
  private static func model(_ attributes: String...) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: [Entity("Book", [.mandatory("title")] + attributes.map { .optional($0) })])
  }

  private func given() throws -> GivenMigration {
    try GivenMigration(from: Self.model(), to: Self.model("color"), rows: 50)
  }

  private func migrate(
    _ given: GivenMigration, to model: ManagedObjectModel, _ engine: EngineName, discards: Bool
  ) async throws -> FilePath? {
    try Files.writeFileAtomically(ModelArchive.encode(model).bytes, to: given.target)
    var request = given.request()
    (request.engine, request.discardsOld) = (engine, discards)
    let report = try await given.run(request)
    #expect(report.engine == engine)
    return report.oldStore.map { FilePath($0) }
  }

  @Test(arguments: [EngineName.sql, .edit])
  func `an older kept store comes back only by its name after one was discarded`(
    engine: EngineName
  ) async throws {
    let given = try given()
    let first = try given.bytes(given.store)
    let kept = try #require(
      try await migrate(given, to: Self.model("color"), .sql, discards: false))
    let none = try await migrate(given, to: Self.model("color", "size"), engine, discards: true)
    #expect(none == nil)
    let now = try given.bytes(given.store)
    let upkeep = try StoreUpkeep(of: given.store)
    func refused(_ body: () throws -> Void) -> FilePath? {
      do {
        try body()
        return nil
      } catch PlaceError.oldStoreDiscarded(_, let earlier) { return earlier } catch {
        return FilePath("\(error)")
      }
    }
    let copy = given.folder.appending("Copy.sqlite")
    #expect(refused { _ = try upkeep.rollBack() } == kept)
    #expect(refused { _ = try upkeep.copyOld(to: copy) } == kept)
    #expect(try given.bytes(given.store) == now)
    // A later migration keeps its old store again.
    _ = try await migrate(given, to: Self.model("color", "size", "year"), .sql, discards: false)
    _ = try upkeep.rollBack()
    #expect(try given.bytes(given.store) == now)
    #expect(refused { _ = try upkeep.rollBack() } == kept)
    _ = try upkeep.rollBack(to: kept)
    #expect(try given.bytes(given.store) == first)
  }

  @Test func `a swap that was killed before its end is recorded in the list of kept stores`()
    async throws
  {
    let given = try given()
    _ = try await migrate(given, to: Self.model("color"), .sql, discards: false)
    let list = KeptStores(of: given.store)
    #expect(try list.entries().map(\.precedesDiscard) == [nil])
    // The new store has the name already.
    let paths = MigrationPaths(destination: given.store, below: ScratchFolder.current)
    try Files.createDirectory(paths.work)
    let identity = SwapJournal.Identity(try Files.fileStatus(given.store))
    try SwapJournal(paths).begin(
      .init(result: identity, replaced: .init(store: identity, keptFile: identity)))
    #expect(try SwapJournal(paths).recover() == .ended)
    #expect(try list.entries().map(\.precedesDiscard) == [true])
  }

  /// How a store differs from one that an edit without an undo file has made.
  enum Difference: CaseIterable { case none, model, bytes, counter }

  @Test(arguments: Difference.allCases)
  func `external files of the store before an edit go only with that store`(
    difference: Difference
  ) throws {
    let given = try given()
    let paths = MigrationPaths(destination: given.store, below: ScratchFolder.current)
    try Files.createDirectory(paths.work)
    let folder = OldExternalFiles.folder(of: given.store)
    try Files.createDirectory(Files.parent(of: folder))
    try Files.createDirectory(folder)
    let name = "5D2A0000-0000-4000-8000-000000000000"
    try Files.writeFileAtomically([1], to: folder.appending(name))
    var after = UndoNote.State(
      bytes: try Files.fileStatus(given.store).size,
      counter: try StoreHeader(of: given.store).changeCounter, modified: 1,
      model: try StoreReader(immutable: given.store).metadata().versionHashes.checksum)
    switch difference {
    case .none: break
    // SQLite has restored the old store, and commits of the app have brought the counter there.
    case .model: after.model = try Self.model("color").versionHashes().checksum
    case .bytes: after.bytes += 4096
    case .counter: after.counter += 1
    }
    let journal = SwapJournal(paths)
    try journal.begin(
      .init(
        result: .init(try Files.fileStatus(given.store)),
        edit: .init(undo: nil, after: after, obsolete: [name])))
    #expect(try journal.recover() == (difference == .model ? .putBack : .ended))
    let isThere = try Files.fileStatusIfPresent(folder.appending(name)) != nil
    #expect(isThere == (difference != .none))
  }
}
