public import Foundation
import MigrationCoordinator
import Schema
import StoreNames
public import SystemPackage

/// A store and the files that migrations left next to it: kept old stores, and the work of
/// interrupted runs.
///
/// ```swift
/// let store = try MigratedStore("Shop.sqlite")
/// if try opensInTheApp(store.path) { try store.finish() } else { try store.rollBack() }
/// ```
public struct MigratedStore: Sendable {
  /// The store, without links.
  public var path: FilePath { core.store }
  private let core: StoreUpkeep

  /// Names a store, or an output that was never finished.
  ///
  /// - Parameters:
  ///   - path: the store or the output.
  ///   - workFolder: the ``StoreMigration/Resources/workFolder`` of the migration.
  public init(_ path: FilePath, workFolder: FilePath? = nil) throws(MigrationFailure) {
    core = try MigrationFailure.catching { try StoreUpkeep(of: path, work: workFolder) }
  }

  /// Names a store, or an output that was never finished.
  public init(_ file: URL, workFolder: URL? = nil) throws(MigrationFailure) {
    try self.init(FilePath(file), workFolder: workFolder.map { FilePath($0) })
  }

  /// What came of a rollback.
  public struct Rollback: Sendable, Encodable {
    /// The store, which is again the one before the migration unless that went to an output.
    public var store: FilePath
    /// The name that the old store was kept under; nothing has it any more, unless there is an
    /// output.
    public var restored: FilePath
    /// Where the old store was written instead of taking its place again.
    public var output: FilePath?
    /// Where what the migration had made is kept; nil where it had edited the store itself.
    public var kept: FilePath?
    /// What failed once the store was back in its place, a sentence each.
    public var notes: [String]

    private enum CodingKeys: CodingKey {
      case version, store, restored, output, kept, notes
    }

    /// Encodes the output of `godwit rollback --json` (docs/schemas/rollback.schema.json).
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(1, forKey: .version)
      try container.encode(store.string, forKey: .store)
      try container.encode(restored.string, forKey: .restored)
      try container.encodeIfPresent(output?.string, forKey: .output)
      try container.encodeIfPresent(kept?.string, forKey: .kept)
      try container.encode(notes, forKey: .notes)
    }
  }

  /// Puts the old store back in its place with its external files, and keeps the
  /// one that it replaces as `STORE.after-TIME`.
  ///
  /// Where the migration had edited the store itself, the edit is undone and nothing else is kept;
  /// a store that was written to since is refused.
  ///
  /// - Parameter kept: the kept store to go back to, or nil for the one that was kept last.
  /// - Throws: `MigrationFailure`; the store is as it was then.
  @discardableResult
  public func rollBack(to kept: FilePath? = nil) throws(MigrationFailure) -> Rollback {
    let done = try MigrationFailure.catching { try core.rollBack(to: kept) }
    let earlier =
      done.wasDone ? ["an earlier run restored the store, and was stopped at its end."] : []
    return Rollback(
      store: path, restored: done.restored, kept: done.kept,
      notes: earlier + done.notes.map(\.sentence))
  }

  /// Whether a store that was kept is back in its place.
  ///
  /// - Parameter time: the end of the migration that kept it, in seconds since 1970.
  func isRestored(_ kept: FilePath, since time: Double) throws(MigrationFailure) -> Bool {
    try MigrationFailure.catching { try core.isRestored(kept, since: time) }
  }

  /// Writes the old store to another file with its external files, and leaves the new one and what
  /// is kept as they are.
  ///
  /// - Parameters:
  ///   - kept: the kept store to write, or nil for the one that was kept last.
  ///   - output: the file to make, which must not exist.
  /// - Throws: `MigrationFailure`; there is no output then.
  @discardableResult
  public func copyOld(_ kept: FilePath? = nil, to output: FilePath) throws(MigrationFailure)
    -> Rollback
  {
    let done = try MigrationFailure.catching { try core.copyOld(kept, to: output) }
    return Rollback(store: path, restored: done.kept, output: done.output, notes: [])
  }

  /// Removes the old stores that are kept, with the external files that are there for them alone.
  ///
  /// One that is not there stays in the list, and in ``contents()`` as missing: moved back, it can
  /// be restored or removed.
  ///
  /// - Returns: the stores that are gone.
  /// - Throws: `MigrationFailure` where one has changed since it was kept, which stays.
  @discardableResult
  public func finish() throws(MigrationFailure) -> [FilePath] {
    try MigrationFailure.catching { try core.finish() }
  }

  /// What was left of interrupted and failed migrations, and is gone now.
  public struct Discarded: Sendable {
    /// The files and folders that are gone.
    public var removed: [FilePath]
    /// What lies in the work folder and Godwit did not make.
    public var leftAlone: [FilePath]
  }

  /// Removes what interrupted and failed migrations left, and nothing else.
  @discardableResult
  public func discard() throws(MigrationFailure) -> Discarded {
    let done = try MigrationFailure.catching { try core.discard() }
    return Discarded(removed: done.removed, leftAlone: done.foreign)
  }

  /// The files next to the store; reading them writes nothing.
  public func contents() throws(MigrationFailure) -> Contents {
    Contents(try MigrationFailure.catching { try core.contents() })
  }
}

extension MigratedStore {
  /// The files next to a store.
  public struct Contents: Sendable, Encodable {
    /// A store that was kept.
    public struct KeptStore: Sendable, Encodable {
      /// What it is.
      public enum Kind: String, Hashable, Sendable, CaseIterable, Encodable {
        /// The store before a migration.
        case before
        /// The store before a rollback.
        case after
      }

      /// How it is.
      public enum State: String, Hashable, Sendable, CaseIterable, Encodable {
        /// As it was kept.
        case whole
        /// Something wrote to it since.
        case changed
        /// Somebody removed it.
        case missing
        /// It is being let go, and something of it is left.
        case leaving
        /// It has such a name, and Godwit has not noted that it made it.
        case unknown
      }

      /// Its file.
      public var path: String
      /// What it is.
      public var kind: Kind
      /// How it is.
      public var state: State
      /// Its size.
      public var bytes: Int64
      /// When it gave up the store's name, where that is known.
      public var date: Date?
      /// Whether it holds the pages alone that the migration changed in the store itself.
      public var isUndo: Bool

      private enum CodingKeys: String, CodingKey {
        case path, kind, state, bytes, date
        case isUndo = "undo"
      }

      /// Encodes the date as ISO 8601 has it.
      public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(kind, forKey: .kind)
        try container.encode(state, forKey: .state)
        try container.encode(bytes, forKey: .bytes)
        try container.encodeIfPresent(date?.ISO8601Format(), forKey: .date)
        if isUndo { try container.encode(isUndo, forKey: .isUndo) }
      }
    }

    /// The work folder of a migration that runs or was interrupted.
    public struct Work: Sendable, Encodable {
      /// What is known of it.
      public enum State: String, Hashable, Sendable, CaseIterable, Encodable {
        /// A migration is at work in it.
        case running
        /// The next run of the same migration resumes it.
        case interrupted
        /// Godwit did not make it, or not for this store.
        case foreign
      }

      /// The folder.
      public var path: String
      /// What is known of it.
      public var state: State
      /// The bytes of the files in it.
      public var bytes: Int64
    }

    private var version = 1
    /// The store.
    public var store: String
    /// Its size, or nil where there is none.
    public var bytes: Int64?
    /// The stores that are kept, the oldest first.
    public var kept: [KeptStore]
    /// The work folder, where there is one.
    public var work: Work?
    /// Files that a killed run left, and that no run needs.
    public var leftovers: [String]

    init(_ core: StoreUpkeep.Contents) {
      (store, bytes) = (core.store.string, core.bytes)
      kept = core.kept.map { kept in
        KeptStore(
          path: kept.path.string, kind: KeptStore.Kind(mirroring: kept.kind),
          state: KeptStore.State(mirroring: kept.state), bytes: kept.bytes,
          date: kept.time.map { Date(timeIntervalSince1970: $0) },
          isUndo: KeptName.isUndo(kept.path))
      }.sorted { $0.path < $1.path }
      work = core.work.map { work in
        Work(
          path: work.path.string, state: Work.State(mirroring: work.state),
          bytes: work.bytes)
      }
      leftovers = core.leftovers.map(\.string)
    }
  }
}
