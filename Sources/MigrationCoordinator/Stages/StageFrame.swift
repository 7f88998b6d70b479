import Foundation
import MigrationEngine
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey

/// What the result of a stage has besides rows, and what the model in it lacks.
struct StageFrame {
  /// What engines write; the keys of objects are those that the assembly finds.
  let store: StoreFrame
  /// The model that is in it.
  let archived: ArchivedModel

  /// Archives the model of the result.
  ///
  /// - Throws: `Deflate.Problem`, where zlib has no memory.
  init(
    stage: Stage, survey: StoreSurvey, assessment: StageAssessment, givesNewUUID: Bool
  ) throws {
    let model = assessment.schema.model
    archived = try ArchivedModel(model)
    var metadata = survey.metadata.restated(
      hashes: stage.destination.hashes, versionIdentifiers: model.versionIdentifiers)
    if givesNewUUID { metadata.uuid = UUID().uuidString }
    store = StoreFrame(
      metadata: metadata,
      modelCache: archived.bytes, maxima: assessment.maxima(summary: nil),
      appNumbers: survey.header.appNumbers)
  }
}
