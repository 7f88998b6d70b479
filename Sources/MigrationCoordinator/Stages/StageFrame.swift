import MigrationEngine
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey

/// What the result of a stage has besides rows, and what the model in it lacks.
struct StageFrame {
  /// What engines write; the keys of objects are those that the assembly finds.
  let frame: StoreFrame
  /// Parts that the archived model lacks.
  private(set) var leftOut: [MigrationReport.CachePart] = []
  /// Why there is no archived model, nil if there is one.
  private(set) var omitted: String?

  init(stage: Stage, survey: StoreSurvey, assessment: StageAssessment) {
    let model = assessment.destination.model
    var cache: [UInt8]?
    do {
      let encoded = try ModelArchive.encode(model)
      cache = encoded.bytes
      leftOut = encoded.leftOut.map { .init($0) }
    } catch {
      omitted = error.problem.words
    }
    frame = StoreFrame(
      metadata: survey.metadata.restated(
        hashes: stage.destination.hashes, versionIdentifiers: model.versionIdentifiers),
      modelCache: cache, maxima: assessment.maxima(summary: nil))
  }
}
