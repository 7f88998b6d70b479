import Foundation
import Mapping
import Planning
import SystemCalls
import SystemPackage

/// The work folder of one migration, locked against others.
struct Workspace {
  var paths: MigrationPaths
  private let lock: FileLock
  private let wasThere: Bool

  private var folder: WorkFolder { WorkFolder(path: paths.work) }

  /// Makes the folder or takes over one that an interrupted migration left.
  static func open(_ paths: MigrationPaths, store: FilePath) throws -> Workspace {
    let folder = WorkFolder(path: paths.work)
    let (wasMade, madeParent) = try make(paths.work)
    if !wasMade { try folder.requireOwn() }
    let lock: FileLock
    do {
      guard let found = try FileLock.acquire(paths.lock) else {
        throw MigrationError.alreadyRunning(store: store, lock: paths.lock)
      }
      lock = found
    } catch let error as SystemCallError {
      throw MigrationError.folderNotWritable(paths.work, cause: error)
    }
    // Whoever had the lock before may have made the folder its own meanwhile.
    try folder.requireOwn()
    let mark = try folder.takeOver(for: paths, store: store, madeParent: madeParent)
    var placed = paths
    let target = Files.parent(of: paths.destination)
    if try Files.fileStatus(paths.work).device != Files.fileStatus(target).device {
      placed.result = paths.resultBesideDestination(mark.id.uuidString)
    }
    return Workspace(paths: placed, lock: lock, wasThere: !wasMade)
  }

  /// Makes the folder, and the one around it if that was asked for and is missing.
  private static func make(_ folder: FilePath) throws -> (wasMade: Bool, madeParent: Bool) {
    let parent = Files.parent(of: folder)
    do {
      var madeParent = false
      if try Files.fileStatusIfPresent(parent) == nil {
        madeParent = try Files.createDirectory(parent)
      }
      if try Files.fileStatusIfPresent(folder, followLinks: false) != nil { return (false, false) }
      return (try Files.createDirectory(folder), madeParent)
    } catch {
      throw MigrationError.folderNotWritable(parent, cause: error)
    }
  }

  /// The plan that an interrupted migration left, if it was made from the same inputs.
  func savedPlan(_ inputs: PlanInputs) throws -> SavedPlan? {
    guard wasThere, try Files.fileStatusIfPresent(paths.plan) != nil else { return nil }
    let bytes = try Files.readFile(paths.plan, limit: 1 << 30)
    guard var saved = try? PlanCoding.decoder.decode(SavedPlan.self, from: Data(bytes)),
      saved.inputs == inputs
    else { return nil }
    // A restart of the system may have lost what was never synced.
    if let boot = saved.pages?.boot, boot != Processes.bootID { return nil }
    // What workers wrote as pages is gone with the result: a run that got as far as to give it its
    // name may have been cut off there.
    if saved.pages != nil, try Files.fileStatusIfPresent(paths.claims) != nil,
      try Files.fileStatusIfPresent(paths.result) == nil
    {
      return nil
    }
    saved.isTakenUp = true
    return saved
  }

  func save(_ plan: SavedPlan) throws {
    try Files.writeFileAtomically(Array(PlanCoding.encoder.encode(plan)), to: paths.plan)
  }

  /// Removes all that an earlier migration left, but the lock and the mark.
  func clear(keeping: Set<FilePath> = []) throws { try folder.clear(keeping: keeping) }

  /// Removes the folder with what Godwit made in it, and what is left of a result beside the
  /// destination.
  ///
  /// - Returns: what is left because Godwit did not make it.
  @discardableResult
  func remove() throws -> [FilePath] {
    for suffix in ["", "-wal", "-shm", "-journal"] {
      try Files.removeRegularFile(FilePath("\(paths.result)\(suffix)"))
    }
    return try folder.remove()
  }
}

/// All that a plan depends on; a plan of other inputs is not resumed.
struct PlanInputs: Hashable, Codable, Sendable {
  var fingerprint: SourceFingerprint
  /// Checksums of the version hashes before and after.
  var sourceModel: String
  var destinationModel: String
  var rangeRows: Int64?
  var engine: MigrationRequest.Engine
  /// What else a migration by mapping models depends on.
  var objects: Objects?

  struct Objects: Hashable, Codable, Sendable {
    var mappings: [MappingModel]
    var validates: Bool
  }
  /// What the steps between are, where there are several.
  var steps: [String] = []
  /// What was asked of the names of join tables.
  var joinTables: [String] = []
}

/// A plan with what it takes to resume it.
struct SavedPlan: Codable, Sendable {
  var id: String
  var inputs: PlanInputs
  var plan: MigrationPlan
  /// Where the pages of workers go; nil has the rows written by SQL.
  var pages: PageLayout?
  /// Seconds since 2001, the same for every run of the plan.
  var now: Double
  /// The groups of mappings that work orders are made of; nil has rows migrated.
  var objects: Objects?
  /// Whether an earlier run made it.
  var isTakenUp = false

  private enum CodingKeys: CodingKey { case id, inputs, plan, pages, now, objects }

  struct Objects: Codable, Sendable {
    /// Partition 1 is the first.
    var groups: MappingGroups
  }
}
