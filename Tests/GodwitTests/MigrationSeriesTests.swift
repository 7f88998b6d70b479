import Foundation
import Godwit
import Synchronization
import SystemPackage
import Testing

@Suite struct MigrationSeriesTests {
  private func series(
    _ given: GivenStore, to folder: URL? = nil
  ) throws -> MigrationSeries {
    var migration = given.migration()
    migration.output = nil
    return try MigrationSeries(of: migration, outputFolder: folder.map { FilePath($0.path) })
  }

  /// Stores of both versions and one that is cut off, by their names.
  private func stores(_ given: GivenStore) throws -> [FilePath] {
    try (1...8).map { number in
      let store = given.folder.appending(path: "Store\(number).sqlite")
      switch number {
      case 3: try Data("SQLite format 3\0".utf8).write(to: store)
      case 5: try given.makeStore(of: "2", objects: 7, at: store)
      default:
        try given.makeStore(of: "1", objects: Int64(number), at: store, seed: UInt64(number))
      }
      return FilePath(store.path)
    }
  }

  @Test func `each of several stores is migrated in place as by itself`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let stores = try stores(given)
    let told = Mutex<[(share: Double, done: Int)]>([])
    let order = Mutex<[FilePath]>([])
    let series = try series(given)
    let ends = try await series.run(stores) { share, _, done in
      told.withLock { $0.append((share, done)) }
    } ended: { end in
      order.withLock { $0.append(end.store) }
    }
    #expect(ends.map(\.store) == stores)
    for (number, end) in zip(1..., ends) {
      switch number {
      case 3: #expect(end.failure != nil && end.result == nil)
      case 5: #expect(end.result?.outcome == .alreadyCurrent)
      default:
        #expect(end.result?.outcome == .migrated && end.result?.rows == Int64(number))
        let old = try #require(end.result?.oldStore)
        #expect(FileManager.default.fileExists(atPath: old.string))
      }
    }
    order.withLock { #expect($0 == stores) }
    told.withLock { told in
      #expect(told.last?.done == stores.count && abs((told.last?.share ?? 0) - 1) < 1e-9)
      #expect(zip(told, told.dropFirst()).allSatisfy { $0.share <= $1.share && $0.done <= $1.done })
    }
    // All but the one that is none are there already.
    let again = try await series.run(stores)
    #expect(again.map { $0.result?.outcome == .alreadyCurrent } == ends.map { $0.failure == nil })
    #expect(try given.names.filter { $0.hasSuffix(".godwit") }.isEmpty)
  }

  #if os(Linux)
    /// The files of a folder that this process has open, those without a name among them.
    private func open(below folder: URL) throws -> [String] {
      let own = "/proc/self/fd"
      let manager = FileManager.default
      return try manager.contentsOfDirectory(atPath: own)
        .compactMap { try? manager.destinationOfSymbolicLink(atPath: "\(own)/\($0)") }
        .filter { $0.contains(folder.lastPathComponent) }
    }

    @Test func `stores that fail leave no file open`() async throws {
      let given = try GivenStore(Model.note, Model.longNote)
      let stores = try stores(given)
      for store in stores where store.stem != "Store3" {
        try given.plantForeignType(in: "ZNOTE", of: URL(filePath: store.string))
      }
      var migration = given.migration()
      migration.output = nil
      migration.checks.source = .off
      let ends = try await MigrationSeries(of: migration).run(stores)
      #expect(ends.count { $0.failure?.kind == .fileDamaged } == 7)
      let left = try open(below: given.folder)
      #expect(left == [])
    }
  #endif

  @Test func `new stores go to a folder, and the old ones stay as they are`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let stores = try stores(given)
    let folder = given.folder.appending(path: "Migrated")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let before = try stores.map { try Data(contentsOf: URL(filePath: $0.string)) }
    let ends = try await series(given, to: folder).run(stores)
    #expect(try stores.map { try Data(contentsOf: URL(filePath: $0.string)) } == before)
    #expect(
      try Set(FileManager.default.contentsOfDirectory(atPath: folder.path))
        == Set([1, 2, 4, 6, 7, 8].map { "Store\($0).sqlite" }))
    #expect(ends.count { $0.result?.outcome == .migrated } == 6)
    var alone = given.migration()
    alone.store = stores[7]
    #expect(try await alone.run().rows == ends[7].result?.rows)
    #expect(
      try Data(contentsOf: given.output)
        == Data(contentsOf: folder.appending(path: "Store8.sqlite")))
  }

  @Test func `what two migrations would both write is refused before either`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let manager = FileManager.default
    let other = given.folder.appending(path: "Other")
    try manager.createDirectory(at: other, withIntermediateDirectories: true)
    let link = given.folder.appending(path: "Link.sqlite")
    try manager.createSymbolicLink(at: link, withDestinationURL: given.store)
    let copy = other.appending(path: "Store.sqlite")
    try manager.copyItem(at: given.store, to: copy)
    let before = try Data(contentsOf: given.store)
    func refused(_ stores: [URL], to folder: URL?) async throws {
      let error = await #expect(throws: MigrationFailure.self) {
        try await series(given, to: folder).run(stores.map { FilePath($0.path) })
      }
      #expect(error?.exitStatus == .usage)
    }
    try await refused([given.store, given.store], to: nil)
    try await refused([given.store, link], to: nil)
    try await refused([given.store, copy], to: other)
    try await refused([given.store, copy], to: given.folder.appending(path: "Missing"))
    try await refused([given.store, copy], to: given.store)
    #expect(try Data(contentsOf: given.store) == before)
    #expect(try given.names == ["Notes.xcdatamodeld", "Store.sqlite", "Other", "Link.sqlite"])
  }

  #if os(Linux)
    @Test func `names that are only canonically equal are two`() async throws {
      let given = try GivenStore(Model.note, Model.longNote)
      let folder = given.folder.appending(path: "Migrated")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let stores = ["caf\u{E9}.sqlite", "cafe\u{301}.sqlite"].map {
        FilePath(given.folder.path).appending($0)
      }
      for (number, store) in zip(1..., stores) {
        try given.makeStore(of: "1", objects: Int64(number), at: URL(filePath: store.string))
      }
      let ends = try await series(given, to: folder).run(stores)
      #expect(ends.map { $0.result?.rows } == [1, 2])
      #expect(ends.compactMap { $0.result?.outcome } == [.migrated, .migrated])
    }
  #endif

  @Test func `stores that a cancelled series has not begun with are left, and told`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let stores = try stores(given)
    let before = try stores.map { try Data(contentsOf: URL(filePath: $0.string)) }
    let series = try series(given)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await series.run(stores)
    }
    task.cancel()
    let ends = try await task.value
    #expect(ends.allSatisfy { $0.failure?.exitStatus == .interrupted && $0.result == nil })
    #expect(try stores.map { try Data(contentsOf: URL(filePath: $0.string)) } == before)
  }
}
