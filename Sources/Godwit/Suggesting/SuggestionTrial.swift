import MigrationCoordinator
import Planning
import SystemCalls
import SystemPackage

/// A trial of what is suggested for a migration: on a copy of a small store, else by conditions.
struct SuggestionTrial {
  /// What came of a trial, and what would still stand in the way.
  typealias Outcome = (found: MigrationSuggestion.Trial, refusals: [MigrationFailure.Reason])

  /// The maximum size of a store whose copy is migrated.
  private static let mostTried: Int64 = 256 << 20

  private let state: StoreMigration
  private let original: StoreMigration
  private let patch: ModelPatch?

  /// - Parameters:
  ///   - state: the migration with what is suggested.
  ///   - original: the migration without.
  ///   - patch: the patch that the model of the state has.
  init(of state: StoreMigration, for original: StoreMigration, patch: ModelPatch?) {
    (self.state, self.original, self.patch) = (state, original, patch)
  }

  func outcome() async throws -> Outcome {
    var trial = MigrationSuggestion.Trial(
      isPossible: false, rows: nil, isCompared: false, losses: [], reasons: [])
    do {
      let isByCopy = try isByCopy
      let found = try await state.prepare(trying: isByCopy ? 0 : StoreMigration.triedObjects)
      if let refusal = found.refusal { throw refusal }
      trial.losses = (found.losses + found.chosenLosses).map(\.description)
      trial.isPossible = true
      guard isByCopy, found.isNeeded else { return (trial, []) }
      var check = try StoreCheck(of: state)
      (check.migratesCopies, check.listsChosenLosses) = (true, true)
      let finding = try await check.run(.init(path: state.store, failure: nil))
      (trial.isPossible, trial.rows) = (finding.isPossible, finding.trial?.rows)
      trial.isCompared = finding.trial?.isCompared ?? false
      trial.losses = finding.losses.map(\.description)
      trial.reasons = finding.reasons.map(named)
      return (trial, finding.refusals)
    } catch let failure as MigrationFailure where failure.kind != .interrupted {
      trial.isPossible = false
      trial.reasons =
        failure.reasons.isEmpty ? failure.sentences : failure.reasons.map(\.description)
      trial.reasons = trial.reasons.map(named)
      return (trial, failure.reasons)
    }
  }

  /// A sentence with the path of the model in place of its copy's.
  private func named(_ sentence: String) -> String {
    guard patch != nil, let copy = state.target.first, let target = original.target.first else {
      return sentence
    }
    return sentence.replacing(copy.string, with: target.string)
  }

  /// Whether a copy of the store is made.
  private var isByCopy: Bool {
    get throws {
      try MigrationFailure.catching {
        let store = original.store
        let bytes = try Files.fileStatusIfPresent(store)?.size ?? 0
        return bytes + MigrationPaths.externalBytes(of: try Files.resolved(store)) <= Self.mostTried
      }
    }
  }
}
