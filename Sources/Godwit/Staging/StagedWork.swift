import Foundation
import MigrationCoordinator
import MigrationStatus
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

// Only steps that are done are compared with those of an earlier run: what an error left undone may
// be done in another way.

/// The folder of a staged migration, locked against other runs: `New.sqlite.godwit-stages`.
final class StagedWork {
  private let folder: FilePath
  private let output: FilePath
  private let lock: FileLock
  private let run: Run
  private var state: State

  /// The task of a run: a route, and all on which its stores depend.
  struct Run {
    var request: MigrationRequest
    var route: StagedRoute
    var source: SourceFingerprint

    init(_ migration: StoreMigration, _ route: StagedRoute) throws {
      request = migration.request
      self.route = route
      source = try SourceFingerprint(of: migration.store)
    }

    /// The inputs of these steps, the first ones of the route.
    func inputs(of steps: ArraySlice<StagedStep>) throws -> RunInputs {
      let hasCode = steps.contains { $0.stage.willMigrate != nil || $0.stage.didMigrate != nil }
      return try RunInputs(
        request: request, source: source, versions: [route.start] + steps.map(\.checksum),
        program: hasCode ? Processes.executable : nil)
    }
  }

  /// How far a run has got.
  private struct State: ResumableFile {
    static let formatVersion = 2

    /// The inputs of the completed steps.
    var inputs: RunInputs
    var done: [Step] = []
    /// The output, once it is there.
    var output: SourceFingerprint?

    /// A completed step: its losses, and whether code ran before and after it.
    struct Step: Codable, Hashable {
      var losses: MadeLosses
      var hasCodeBefore: Bool
      var hasCodeAfter: Bool

      init(_ stage: MigrationStage, losses: MadeLosses) {
        self.losses = losses
        hasCodeBefore = stage.willMigrate != nil
        hasCodeAfter = stage.didMigrate != nil
      }

      /// Whether a stage runs code where this one did.
      func hasCode(of stage: MigrationStage) -> Bool {
        (hasCodeBefore, hasCodeAfter) == (stage.willMigrate != nil, stage.didMigrate != nil)
      }
    }
  }

  /// How many steps are done.
  var done: Int { state.done.count }

  /// Whether the output is there, and only the folder is left.
  var hasOutput: Bool {
    get throws {
      guard let made = state.output else { return false }
      return try made == SourceFingerprint(of: output)
    }
  }

  /// Creates the folder, or takes over that of an interrupted run with the same stages and the same
  /// source.
  ///
  /// - Throws: `PlaceError.otherRun` for a folder of other stages or of another source, and
  ///   `MigrationError.losses` for stages that have lost what this run may not lose, unless the
  ///   request is to start over.
  init(_ run: Run, output: FilePath) throws {
    (self.run, self.output) = (run, output)
    folder = StoreCompanion.stages.path(of: output)
    if try Files.fileStatusIfPresent(folder, followLinks: false) == nil {
      try Files.createDirectory(folder, mode: .ownerReadWriteExecute)
    } else if try Self.state(folder: folder) == nil {
      try Self.requireEmpty(folder)
    }
    try Files.setAccess(toFolder: folder, like: run.request.store)
    guard let lock = try FileLock.acquire(folder.appending("stages.lock")) else {
      throw PlaceError.alreadyRunning(
        store: run.request.store, lock: folder.appending("stages.lock"))
    }
    self.lock = lock
    state = State(inputs: try run.inputs(of: []))
    if let found = try Self.state(folder: folder) {
      if run.request.restarts || found.done.isEmpty {
        for number in 1...(found.done.count + 1) { try removeStores(number) }
      } else {
        let differences = try Self.differences(of: run, from: found)
        guard differences.isEmpty else { throw PlaceError.otherRun(work: folder, differences) }
        for (step, earlier) in zip(run.route.steps, found.done) {
          var request = run.request
          request.lossConsent = step.stage.allowedLoss.consent
          try earlier.losses.requireConsent(of: request)
        }
        state = found
      }
    }
    try write()
  }

  /// The differences between a run and the one that did the completed steps.
  private static func differences(of run: Run, from found: State) throws -> [RunDifference] {
    let steps = run.route.steps.prefix(found.done.count)
    var differences = try run.inputs(of: steps).differences(from: found.inputs)
    let hasSameCode = zip(found.done, steps).allSatisfy { $0.hasCode(of: $1.stage) }
    if !hasSameCode, !differences.contains(.program) { differences.append(.program) }
    return differences
  }

  /// Whether an interrupted run completed all steps to this output, or even put it there.
  static func isComplete(_ output: FilePath, route: StagedRoute) throws -> Bool {
    try state(folder: StoreCompanion.stages.path(of: output))?.done.count == route.steps.count
  }

  /// Checks that there is nothing but the lock: otherwise Godwit did not create the folder.
  private static func requireEmpty(_ folder: FilePath) throws {
    let foreign = try Files.listDirectory(folder).filter { $0.string != "stages.lock" }
    if let first = foreign.first {
      throw PlaceError.workFolderForeign(folder, .unmarked(holds: first.string))
    }
  }

  private static func state(folder: FilePath) throws -> State? {
    try VersionedFile<State>.content(at: folder.appending("stages.json"), limit: 1 << 24)
  }

  private func write() throws {
    try Files.writeFileAtomically(
      VersionedFile(state).sealed(), to: folder.appending("stages.json"))
  }

  /// Whether the store is unchanged since the run began with it.
  var isSourceUnchanged: Bool {
    get throws { try run.source == SourceFingerprint(of: run.request.store) }
  }

  /// The copy for the code before a step.
  func before(_ number: Int) -> FilePath { folder.appending("before-\(number).sqlite") }

  /// The store that a step makes.
  func made(_ number: Int) -> FilePath { folder.appending("step-\(number).sqlite") }

  /// Records that a step is done with these losses, and removes the stores that only it needed.
  func finish(_ number: Int, losing losses: MadeLosses) throws {
    try Files.syncDirectory(folder)
    let steps = run.route.steps.prefix(number)
    state.inputs = try run.inputs(of: steps)
    state.done.append(.init(steps[number - 1].stage, losses: losses))
    try write()
    try removeStore(before(number))
    if number > 1 { try removeStore(made(number - 1)) }
  }

  /// Records that the output is there, and removes the record by which an interrupted run would
  /// have known it.
  func noteOutput() throws {
    state.output = try SourceFingerprint(of: output)
    try write()
    try Files.removeRegularFile(OutcomeFile(beside: output).path)
  }

  /// Removes a store of the folder with its logs and external files.
  func removeStore(_ store: FilePath) throws {
    for suffix in StoreFile.suffixes {
      try Files.removeRegularFile(FilePath(store.string + suffix))
    }
    try ExternalDataFolder.remove(support: SupportFolder.path(of: store))
  }

  private func removeStores(_ number: Int) throws {
    try removeStore(before(number))
    try removeStore(made(number))
  }

  /// Removes the folder; files that handlers created in it remain, and the folder with them.
  func remove() throws {
    for number in 1...run.route.steps.count { try removeStores(number) }
    try Files.removeRegularFile(folder.appending("stages.json"))
    try Files.removeRegularFile(folder.appending("stages.lock"))
    try Files.removeDirectory(folder)
  }
}
