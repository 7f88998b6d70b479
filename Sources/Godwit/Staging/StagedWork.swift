import Foundation
import MigrationCoordinator
import Planning
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// The folder of a staged migration, locked against other runs: `New.sqlite.godwit-stages`.
final class StagedWork {
  private let folder: FilePath
  private let lock: FileLock
  private var state: State

  /// What the folder is for, and how many steps are done.
  private struct State: Codable, Equatable {
    static let format = 1

    var format = State.format
    var source: SourceFingerprint
    var versions: [[String: String]]
    /// The number of completed steps.
    var done = 0
  }

  /// How many steps are done.
  var done: Int { state.done }

  /// Creates the folder, or takes over that of an interrupted run with the same stages and the same
  /// source.
  init(output: FilePath, of store: FilePath, versions: [[String: String]]) throws {
    folder = Self.folder(output: output)
    if try Files.fileStatusIfPresent(folder, followLinks: false) == nil {
      try Files.createDirectory(folder, mode: .ownerReadWriteExecute)
    } else if try Self.state(folder: folder) == nil {
      try Self.requireEmpty(folder)
    }
    try Files.setAccess(toFolder: folder, like: store)
    guard let lock = try FileLock.acquire(folder.appending("stages.lock")) else {
      throw PlaceError.alreadyRunning(store: store, lock: folder.appending("stages.lock"))
    }
    self.lock = lock
    let new = State(source: try SourceFingerprint(of: store), versions: versions)
    state = new
    if let found = try Self.state(folder: folder) {
      if (found.format, found.source, found.versions) == (new.format, new.source, new.versions) {
        state = found
      } else {
        for number in 1...max(1, found.versions.count) { try removeStores(number) }
      }
    }
    try write()
  }

  /// Checks that there is nothing but the lock: otherwise Godwit did not create the folder.
  private static func requireEmpty(_ folder: FilePath) throws {
    let foreign = try Files.listDirectory(folder).filter { $0.string != "stages.lock" }
    if let first = foreign.first {
      throw PlaceError.workFolderForeign(folder, .unmarked(holds: first.string))
    }
  }

  private static func folder(output: FilePath) -> FilePath {
    FilePath("\(output).godwit-stages")
  }

  private static func state(folder: FilePath) throws -> State? {
    let file = folder.appending("stages.json")
    guard try Files.fileStatusIfPresent(file, followLinks: false)?.kind == .file else { return nil }
    // A state that cannot be decoded may be of another version, so the folder is left alone.
    return try? JSONDecoder().decode(State.self, from: Data(Files.readFile(file, limit: 1 << 24)))
  }

  private func write() throws {
    try Files.writeFileAtomically(
      Array(JSONEncoder().encode(state)), to: folder.appending("stages.json"))
  }

  /// Whether a store is unchanged since the folder of an output was created for it.
  static func isUnchanged(_ store: FilePath, since output: FilePath) throws -> Bool {
    try state(folder: folder(output: output))?.source == SourceFingerprint(of: store)
  }

  /// The copy for the code before a step.
  func before(_ number: Int) -> FilePath { folder.appending("before-\(number).sqlite") }

  /// The store that a step makes.
  func made(_ number: Int) -> FilePath { folder.appending("stage-\(number).sqlite") }

  /// Records that a step is done, and removes the stores that only it needed.
  func finish(_ number: Int) throws {
    try Files.syncDirectory(folder)
    state.done = number
    try write()
    try removeStore(before(number))
    if number > 1 { try removeStore(made(number - 1)) }
  }

  /// Removes a store of the folder with its logs and external files.
  func removeStore(_ store: FilePath) throws {
    for suffix in StoreFile.suffixes {
      try Files.removeRegularFile(FilePath(store.string + suffix))
    }
    try ExternalDataFolder.remove(support: MigrationPaths.support(of: store))
  }

  private func removeStores(_ number: Int) throws {
    try removeStore(before(number))
    try removeStore(made(number))
  }

  /// Removes the folder; files that handlers created in it remain, and the folder with them.
  func remove(steps: Int) throws {
    for number in 1...steps { try removeStores(number) }
    try Files.removeRegularFile(folder.appending("stages.json"))
    try Files.removeRegularFile(folder.appending("stages.lock"))
    try Files.removeDirectory(folder)
  }
}
