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
