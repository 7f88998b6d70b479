import Expressions
import Foundation
import GRDB
import Godwit
import Logging
import MigrationWorker
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import StoreFormat
import StoreGenerator
import Synchronization
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// A store of one model and the file of another, in a folder of their own.
struct GivenMigration {
  let folder: FilePath
  /// What its requests allow to be lost: pages that are no whole numbers.
  let consent: LossConsent
  var store: FilePath { folder.appending("Shop.sqlite") }
  var target: FilePath { folder.appending("New.mom") }

  init(
    from old: ManagedObjectModel = GivenMigration.old,
    to new: ManagedObjectModel = GivenMigration.new,
    rows: Int64 = 240, journalMode: StoreFormat.JournalMode = .delete, isMirrored: Bool = false,
    history: HistorySize? = nil
  ) throws {
    let pages = [old, new].map { model in
      model.entity(name: "Comic")?.attributes.first { $0.name == "pages" }?.type
    }
    consent = pages == [.double, .integer64] ? .some(["Comic.pages"]) : .none
    folder = ScratchFolder.current.appending("data")
    try Files.createDirectory(folder)
    _ = try StoreGenerator(
      model: old, rows: rows, seed: 3, isMirrored: isMirrored, history: history
    ).generate(to: store, journalMode: journalMode, modelCache: ModelArchive.encode(old).bytes)
    try Files.writeFileAtomically(ModelArchive.encode(new).bytes, to: target)
  }

  func request(
    workers: Int = 1, rangeRows: Int64? = nil, output: FilePath? = nil
  ) -> MigrationRequest {
    var request = MigrationRequest(
      store: store, target: [target], workers: workers, memory: 64 << 20)
    request.rangeRows = rangeRows
    request.output = output
    request.lossConsent = consent
    return request
  }

  /// Migrates with workers in this process, unless others are given.
  func run(
    _ request: MigrationRequest, _ launcher: any WorkerLauncher = InProcessLauncher()
  ) async throws -> MigrationReport {
    try await MigrationRun.migrate(
      request, launcher: launcher, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Makes a bundle of versions, the last of which is current; its folder.
  func bundle(of versions: [ManagedObjectModel]) throws -> FilePath {
    let bundle = folder.appending("Shop.momd")
    try Files.createDirectory(bundle)
    for (index, version) in versions.enumerated() {
      try Files.writeFileAtomically(
        ModelArchive.encode(version).bytes, to: bundle.appending("Shop \(index + 1).mom"))
    }
    let info = ["NSManagedObjectModel_CurrentVersionName": "Shop \(versions.count)"]
    let text = try PropertyListSerialization.data(
      fromPropertyList: info, format: .xml, options: 0)
    try Files.writeFileAtomically(Array(text), to: bundle.appending("VersionInfo.plist"))
    return bundle
  }

  /// Changes the store as a user of SQLite would.
  func change(_ sql: String) throws {
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: sql) }
    try connection.queue.close()
  }

  /// Replaces the metadata of the store.
  func write(_ metadata: StoreMetadata) throws {
    let connection = try StoreConnection.writable(store)
    try connection.run { db in
      try db.execute(
        sql: "UPDATE Z_METADATA SET Z_PLIST = ?", arguments: [Data(metadata.encoded)])
    }
    try connection.queue.close()
  }

  var names: [String] { get throws { try Files.listDirectory(folder).map(\.string) } }

  func bytes(_ path: FilePath) throws -> [UInt8] { try Files.readFile(path, limit: 1 << 30) }

  // MARK: Models

  static let old = made {
    try ManagedObjectModel(
      Entity(
        "Book", [.mandatory("title"), .optional("year", .integer32), .optional("gone")],
        [
          .toOne("author", "Person", inverse: "books"), .toMany("tags", "Tag", inverse: "books"),
        ]),
      Entity("Comic", in: "Book", [.optional("pages", .double)]),
      Entity("Person", [.optional("name")], [.toMany("books", "Book", inverse: "author")]),
      Entity("Tag", [.optional("word")], [.toMany("books", "Book", inverse: "tags")]))
  }

  /// `new` with another default value, which its hashes do not cover.
  static var withOtherPrice: ManagedObjectModel {
    get throws {
      var entities = new.entities
      let book = try #require(entities.firstIndex { $0.name == "Book" })
      let price = try #require(entities[book].attributes.firstIndex { $0.name == "price" })
      entities[book].attributes[price].defaultValue = .decimal("7.25")
      return try ManagedObjectModel(entities: entities)
    }
  }

  static let new = made {
    try ManagedObjectModel(
      Entity(
        "Book",
        [
          .mandatory("name", was: "title"), .mandatory("year", .integer64, default: .integer(0)),
          .mandatory("price", .decimal, default: .decimal("9.50")),
        ],
        [
          .toOne("writer", "Human", inverse: "books", was: "author"),
          .toMany("tags", "Tag", inverse: "books", isOrdered: true),
        ]),
      Entity("Comic", in: "Book", [.optional("pages", .integer64)]),
      Entity(
        "Human", was: "Person", [.optional("name")],
        [.toMany("books", "Book", inverse: "writer", isOrdered: true)]),
      Entity("Added", [.mandatory("x")]),
      Entity("Tag", [.optional("word")], [.toMany("books", "Book", inverse: "tags")]))
  }

  private static func made(_ make: () throws -> ManagedObjectModel) -> ManagedObjectModel {
    do { return try make() } catch { preconditionFailure("\(error)") }
  }
}

/// Runs workers in this process.
struct InProcessLauncher: WorkerLauncher {
  var policies = MigrationPolicies()

  func execute(_ document: WorkOrderDocument, link: OrderLink) async throws -> WorkerEnding {
    do {
      // What a process reads is what was written.
      let read = try Worker.decode(document.encoded())
      try #require(read == document)
      return .made(try Worker(document: read, link: link, policies: policies.factories).makeShard())
    } catch let error as ObjectMigrationError {
      let facts = String(decoding: try JSONEncoder().encode(error), as: UTF8.self)
      return WorkerEnding(exitStatus: WorkerProtocol.objectsFailed, facts: facts)
    } catch {
      return .failed(.exited(74, message: "\(error)"))
    }
  }
}

/// Ends workers as a test wants them to end, and remembers who was started.
final class FaultyLauncher: WorkerLauncher {
  let started = Mutex<[String]>([])
  private let policies: MigrationPolicies
  private let ending: @Sendable (WorkOrderDocument, Int) throws -> WorkerEnding?

  /// `ending` says how the so-manieth start ends, or nil for a worker that does its work.
  init(
    policies: MigrationPolicies = MigrationPolicies(),
    _ ending: @escaping @Sendable (WorkOrderDocument, Int) throws -> WorkerEnding?
  ) {
    self.policies = policies
    self.ending = ending
  }

  func execute(_ document: WorkOrderDocument, link: OrderLink) async throws -> WorkerEnding {
    let count = started.withLock {
      $0.append("\(document.order.number).\(document.attempt)")
      return $0.count
    }
    if let ending = try ending(document, count) {
      // A worker that dies leaves half a shard.
      try Files.writeFileAtomically(Array("half".utf8), to: FilePath(document.shard))
      return ending
    }
    return try await InProcessLauncher(policies: policies).execute(document, link: link)
  }

  var starts: [String] { started.withLock(\.self) }
}
