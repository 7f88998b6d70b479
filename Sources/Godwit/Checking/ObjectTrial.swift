import Mapping
import MigrationCoordinator
import ObjectModel
import Planning
import Survey
import SystemCalls
import SystemPackage

// What becomes of objects by mapping models is seen only where their values are computed: an
// expression may have none, and a rule of the model may forbid one.

extension StoreMigration {
  /// How many objects `check` and `plan` of the tool try.
  public static let triedObjects: Int64 = 10_000
  /// The bytes of a store that is tried, and of its external files.
  private static let triedBytes: Int64 = 32 << 20

  /// Finds out what the migration would do, and tries it where values are computed or where stages
  /// begin with stores that are not there yet.
  ///
  /// The result is made in a temporary folder, which is removed. No policy is called: with
  /// policies, or more objects, ``Preparation/untried`` lists the objects that were not tried.
  ///
  /// - Parameters:
  ///   - objects: how many objects a store may have for it to be tried, such as ``triedObjects``.
  ///   - target: the model to migrate to, if it was read before; nil reads it.
  /// - Throws: as ``prepare(for:)``; of the kind `interrupted`, if the task was cancelled.
  public func prepare(
    trying objects: Int64, for target: MigrationTarget? = nil
  ) async throws(MigrationFailure) -> Preparation {
    var preparation = try await prepare(for: target)
    guard preparation.isNeeded, preparation.isPossible, !preparation.untried.isEmpty,
      !preparation.callsPolicies, preparation.objects.values.reduce(0, +) <= objects,
      try isSmall()
    else { return preparation }
    do {
      let result = try await tried(for: target)
      preparation.note(result)
    } catch {
      guard error.kind != .interrupted else { throw error }
      // Missing resources for a trial are no reason against the migration.
      guard error.isOfObjects else { return preparation }
      preparation.note(error)
    }
    return preparation
  }

  /// Whether store and external files are small enough for a copy of them to be made.
  private func isSmall() throws(MigrationFailure) -> Bool {
    try MigrationFailure.catching {
      let bytes = try Files.fileStatusIfPresent(store)?.size ?? 0
      return bytes + MigrationPaths.externalBytes(of: try Files.resolved(store)) <= Self.triedBytes
    }
  }

  /// Makes the result in a temporary folder.
  private func tried(
    for target: MigrationTarget?
  ) async throws(MigrationFailure) -> Result {
    let folder = try MigrationFailure.catching { try TemporaryFolder() }
    defer { withExtendedLifetime(folder) {} }
    return try await trial(in: folder).run(for: target)
  }

  /// The same migration into a folder that goes again.
  func trial(in folder: TemporaryFolder) -> StoreMigration {
    var trial = self
    trial.executesSmallOrders = true
    trial.isTrial = true
    trial.output = folder.path.appending("result.sqlite")
    trial.resources.workFolder = nil
    trial.handover.keepsRecord = false
    trial.handover.discardsOld = false
    trial.restarts = false
    (trial.pauseFile, trial.handover.swapFile) = (nil, nil)
    trial.resources.bytesPerSecond = nil
    trial.lastRun = LastRun()
    return trial
  }
}

extension StoreMigration.Preparation {
  /// Objects whose values only the migration computes.
  public struct Untried: Hashable, Sendable, Codable {
    /// The entity in the store.
    public var entity: String
    /// How many objects it has, without those of subentities.
    public var objects: Int64
  }

  /// The objects that mapping models take, or that later stages begin with.
  static func computed(_ preview: MigrationPreview) -> [Untried] {
    let steps = preview.stages.flatMap(\.steps)
    guard preview.stages.count > 1 || steps.contains(where: { !$0.mappings.isEmpty }) else {
      return []
    }
    let first = steps.first?.mappings.flatMap(\.mapping.entityMappings) ?? []
    let taken = Set(first.filter(\.makesObjects).compactMap(\.sourceEntityName))
    return preview.survey.model.entities.compactMap { entity in
      let count = preview.survey.count(of: entity.name)
      guard count > 0, preview.stages.count > 1 || taken.contains(entity.name) else { return nil }
      return Untried(entity: entity.name, objects: count)
    }
  }

  /// The objects that only the migration can check, in one sentence; nil if there are none.
  public var untriedNote: String? {
    guard !untried.isEmpty else { return nil }
    let parts = untried.map { "\(CountText($0.objects, "object")) of \($0.entity)" }
    return "possible, except for values that only the migration computes: \(ListText(parts)); "
      + "\(command: .check) tries them."
  }

  fileprivate mutating func note(_ result: StoreMigration.Result) {
    untried = []
    stepsNotSurveyed = 0
    losses = result.losses
  }

  fileprivate mutating func note(_ failure: MigrationFailure) {
    untried = []
    refusal = failure
  }
}

extension MigrationFailure {
  /// Whether it is about the objects of a store, and not about the system on which it was tried.
  fileprivate var isOfObjects: Bool {
    switch kind {
    case .notMigratable, .lossRefused, .objectsInvalid, .policyFailed, .mappingModelUnusable,
      .storeUnsupported, .fileDamaged:
      true
    default: exitStatus == .impossible
    }
  }
}
