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

/// A plan with what is needed to resume it.
///
/// The models, mapping models and options on which it depends are those of its run (`RunInputs`).
struct SavedPlan: ResumableFile, Sendable {
  /// The version of `plan.json` and of all files without one of their own: the result under
  /// assembly, the claims, the places.
  static let formatVersion = 11

  var id: String
  /// The run that it belongs to.
  let run: String?
  /// The store of the stage.
  var fingerprint: SourceFingerprint
  var plan: MigrationPlan
  let engineName: EngineName
  private let engineState: EnginePayload
  /// What the plan was made to avoid, nil for the first plan.
  var restriction: PlanRestriction?
  /// The value of `now()` in all workers and runs of the plan, in seconds since 2001.
  var now: Double
  /// Whether an earlier run made the plan.
  var wasResumed = false

  private enum CodingKeys: CodingKey {
    case id, run, fingerprint, plan, engineName, engineState, restriction, now
  }

  init(
    plan: MigrationPlan, by engine: any MigrationEngine, under restriction: PlanRestriction?,
    of fingerprint: SourceFingerprint, in run: String?
  ) throws {
    id = UUID().uuidString
    (self.run, self.fingerprint) = (run, fingerprint)
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
  /// The plan of an interrupted migration, nil unless it was made in this run for the same
  /// store and its engine can resume.
  func savedPlan(_ fingerprint: SourceFingerprint, by engine: EngineName) throws -> SavedPlan? {
    guard folderExisted, var saved = try savedPlan(), saved.run == run,
      saved.fingerprint == fingerprint,
      saved.engineName == engine,
      let engine = try? saved.engine(), try engine.canResume(in: paths)
    else { return nil }
    saved.wasResumed = true
    return saved
  }

  /// The plan that is there; nil where there is none that this version can read.
  func savedPlan() throws -> SavedPlan? {
    guard try Files.fileStatusIfPresent(paths.plan) != nil else { return nil }
    let bytes = try Files.readFile(paths.plan, limit: 1 << 30)
    return try? VersionedFile<SavedPlan>(sealed: bytes, by: PlanCoding.decoder).content
  }

  /// - Parameter syncs: as for `begin`.
  func save(_ plan: SavedPlan, syncs: Bool) throws {
    guard keepsWork else { return }
    try Files.writeFileAtomically(
      VersionedFile(plan).sealed(by: PlanCoding.encoder), to: paths.plan, syncs: syncs)
  }
}
