import Planning
import Schema
package import StoreNames
import SystemCalls
package import SystemPackage

extension StoreUpkeep {
  /// The files next to a store.
  package struct Contents: Sendable {
    /// A store that a migration or a rollback kept.
    package struct Kept: Sendable {
      /// Whether the file is still what was kept.
      package enum State: String, Sendable, CaseIterable {
        /// It has the size and the time that were noted.
        case whole
        /// It was written since.
        case changed
        /// It is noted and not there.
        case missing
        /// Its removal was begun, and something of it is left.
        case leaving
        /// It has such a name, and is none that Godwit has noted.
        case unknown
      }

      /// The path of the kept store.
      package var path: FilePath
      /// Whether a migration or a rollback kept it.
      package var kind: KeptStoreKind
      /// Whether it can be brought back.
      package var state: State
      /// The size of its main file.
      package var bytes: Int64
      /// Seconds since 1970 at which it gave up the store's name.
      package var time: Double?
    }

    /// The work folder of the store.
    package struct Work: Sendable {
      /// What becomes of the work in a folder.
      package enum State: String, Sendable, CaseIterable {
        /// A migration works in it.
        case running
        /// A migration was interrupted, and the next run resumes it.
        case interrupted
        /// It has no mark of Godwit's, or that of another migration.
        case foreign
      }

      /// The path of the folder.
      package var path: FilePath
      /// What becomes of the work in it.
      package var state: State
      /// The size of all files in it.
      package var bytes: Int64
    }

    /// The path of the store.
    package var store: FilePath
    /// The size of the store's main file; nil where there is no store.
    package var bytes: Int64?
    /// The kept stores in the order of the list, then those that it does not have.
    package var kept: [Kept] = []
    /// The work folder; nil where there is none.
    package var work: Work?
    /// Files that interrupted or failed runs left outside the work folder.
    package var leftovers: [FilePath] = []
  }

  /// Reads the files next to the store, and writes nothing.
  package func contents() throws -> Contents {
    var contents = Contents(
      store: store, bytes: try Files.fileStatusIfPresent(store)?.size, work: try work())
    let entries = try kept.entries()
    for entry in entries {
      let path = kept.path(of: entry)
      let status = try Files.fileStatusIfPresent(path, followLinks: false)
      let state: Contents.Kept.State =
        if entry.isLeaving { .leaving } else if status == nil { .missing } else {
          try kept.isThere(entry) ? .whole : .changed
        }
      guard let kind = path.lastComponent.flatMap({ KeptStores.kind(of: $0, beside: store) })
      else { continue }
      contents.kept.append(
        .init(
          path: path, kind: kind, state: state, bytes: status?.size ?? 0, time: entry.time))
    }
    for name in try Files.listDirectory(Files.parent(of: store)) {
      guard let kind = KeptStores.kind(of: name, beside: store),
        !entries.contains(where: { $0.name == name.string })
      else { continue }
      let path = Files.parent(of: store).appending(name)
      let status = try Files.fileStatus(path, followLinks: false)
      contents.kept.append(.init(path: path, kind: kind, state: .unknown, bytes: status.size))
    }
    contents.leftovers = try leftovers()
    return contents
  }

  private func work() throws -> Contents.Work? {
    guard let status = try Files.fileStatusIfPresent(paths.work, followLinks: false) else {
      return nil
    }
    let mark = status.isDirectory ? try? WorkFolder(path: paths.work).mark() : nil
    var work = Contents.Work(path: paths.work, state: .foreign, bytes: 0)
    guard mark?.destination == store.string else { return work }
    work.bytes = try Files.listDirectory(paths.work).reduce(0) { sum, name in
      let found = try Files.fileStatus(paths.work.appending(name), followLinks: false)
      return sum + (found.kind == .file ? found.size : 0)
    }
    work.state = .interrupted
    if try Files.fileStatusIfPresent(paths.lock, followLinks: false)?.kind == .file {
      // A running migration holds the lock; the one that is taken here is released at once.
      work.state = try FileLock.acquire(paths.lock) == nil ? .running : .interrupted
    }
    return work
  }
}
