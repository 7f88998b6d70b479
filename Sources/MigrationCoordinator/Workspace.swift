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

  /// Makes the folder or takes over one that an interrupted migration left.
  static func open(_ paths: MigrationPaths, store: FilePath) throws -> Workspace {
    let wasMade: Bool
    do {
      wasMade = try Files.createDirectory(paths.work)
    } catch {
      throw MigrationError.folderNotWritable(Files.parent(of: paths.work), cause: error)
    }
    guard let lock = try FileLock.acquire(paths.lock) else {
      throw MigrationError.alreadyRunning(store: store, lock: paths.lock)
    }
    var placed = paths
    let folder = Files.parent(of: paths.destination)
    if try Files.fileStatus(paths.work).device != Files.fileStatus(folder).device {
      placed.result = paths.resultBesideDestination
    }
    return Workspace(paths: placed, lock: lock, wasThere: !wasMade)
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

  /// Removes all that an earlier migration left, but the lock.
  func clear(keeping: Set<FilePath> = []) throws {
    for name in try Files.listDirectory(paths.work) {
      let path = paths.work.appending(name)
      if path != paths.lock && !keeping.contains(path) { try Files.removeTree(path) }
    }
  }

  /// Removes the folder and all in it, and what is left of a result beside the destination.
  func remove() throws {
    try Files.remove(paths.result)
    // As long as there is anything else, the journal tells what it is.
    try clear(keeping: [paths.swapJournal])
    try Files.removeTree(paths.work)
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
