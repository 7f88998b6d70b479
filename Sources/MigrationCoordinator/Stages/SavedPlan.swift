import EngineList
import Foundation
import Mapping
import MigrationEngine
import ObjectMigration
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// The store, models and mapping models on which a plan depends; a plan with other inputs is not
/// resumed.
///
/// The options on which it depends are those of its run, see `RunInputs`.
struct PlanInputs: Hashable, Codable, Sendable {
  var fingerprint: SourceFingerprint
  /// The checksum of the source's version hashes; `destinationModel` likewise.
  var sourceModel: String
  var destinationModel: String
  var mappings: [MappingModel]
  /// Checksums of the versions between the first and the last.
  var steps: [String] = []

  init(survey: StoreSurvey, stage: Stage) {
    fingerprint = survey.access.fingerprint
    sourceModel = survey.metadata.versionHashes.checksum
    destinationModel = stage.destination.hashes.checksum
    mappings = stage.mappings
    steps = stage.steps.dropFirst().map(\.source.hashes.checksum)
  }
}

/// A plan with what is needed to resume it.
struct SavedPlan: ResumableFile, Sendable {
  /// The version of `plan.json` and of all files without one of their own: the result under
  /// assembly, the claims, the places.
  static let formatVersion = 10

  var id: String
  var inputs: PlanInputs
  var plan: MigrationPlan
  let engineName: EngineName
  private let engineState: EnginePayload
  /// What the plan was made to avoid, nil for the first plan.
  var restriction: PlanRestriction?
  /// The value of `now()` in all workers and runs of the plan, in seconds since 2001.
  var now: Double
  /// Whether an earlier run made the plan.
  var isTakenUp = false

  private enum CodingKeys: CodingKey {
    case id, inputs, plan, engineName, engineState, restriction, now
  }

  init(
    plan: MigrationPlan, by engine: any MigrationEngine, under restriction: PlanRestriction?,
    of inputs: PlanInputs
  ) throws {
    id = UUID().uuidString
    self.inputs = inputs
    self.plan = plan
    engineName = type(of: engine).name
    engineState = EnginePayload(engine)
    self.restriction = restriction
    now = Date().timeIntervalSinceReferenceDate
  }

  /// The engine, in the state in which it made the plan.
  func engine() throws -> any MigrationEngine {
    guard let engine = EngineList.engine(named: engineName) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [CodingKeys.engineName], debugDescription: engineName.rawValue))
    }
    return try Self.decode(engine, from: engineState)
  }

  private static func decode<Engine: MigrationEngine>(
    _ type: Engine.Type, from state: EnginePayload
  ) throws -> any MigrationEngine {
    try state.decoded(as: type)
  }
}

extension Workspace {
  /// The plan of an interrupted migration, nil unless it has the same inputs and its engine can
  /// resume.
  func savedPlan(_ inputs: PlanInputs, by engine: EngineName) throws -> SavedPlan? {
    guard wasThere, try Files.fileStatusIfPresent(paths.plan) != nil else { return nil }
    let bytes = try Files.readFile(paths.plan, limit: 1 << 30)
    let file = try? VersionedFile<SavedPlan>(sealed: bytes, by: PlanCoding.decoder)
    guard var saved = file?.content, saved.inputs == inputs, saved.engineName == engine,
      let engine = try? saved.engine(), try engine.canResume(in: paths)
    else { return nil }
    saved.isTakenUp = true
    return saved
  }

  /// - Parameter syncs: as for `begin`.
  func save(_ plan: SavedPlan, syncs: Bool) throws {
    guard keepsWork else { return }
    try Files.writeFileAtomically(
      VersionedFile(plan).sealed(by: PlanCoding.encoder), to: paths.plan, syncs: syncs)
  }
}
