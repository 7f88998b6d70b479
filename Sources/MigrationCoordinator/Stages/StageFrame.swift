import MigrationEngine
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import Survey
import Synchronization

/// What the result of a stage has besides rows, and what the model in it lacks.
struct StageFrame {
  /// What engines write; the keys of objects are those that the assembly finds.
  let store: StoreFrame
  /// The model that is in it.
  let archived: ArchivedModel

  /// Archives the model of the result.
  ///
  /// - Throws: `Deflate.Problem`, where zlib has no memory.
  init(stage: Stage, survey: StoreSurvey, assessment: StageAssessment) throws {
    let model = assessment.destination.model
    archived = try ArchivedModel(model)
    store = StoreFrame(
      metadata: survey.metadata.restated(
        hashes: stage.destination.hashes, versionIdentifiers: model.versionIdentifiers),
      modelCache: archived.bytes, maxima: assessment.maxima(summary: nil))
  }
}

/// A model as it lies in `Z_MODELCACHE`.
struct ArchivedModel: Sendable {
  /// The deflated archive; nil where there can be none.
  private(set) var bytes: [UInt8]?
  /// Parts of the model that the archive lacks.
  private(set) var leftOut: [MigrationReport.CachePart] = []
  /// Why there is no archive, nil if there is one.
  private(set) var omitted: String?

  /// The last one: several stores become those of one model, which is read once.
  private static let recent = Mutex<(model: ManagedObjectModel, archived: Self)?>(nil)

  init(_ model: ManagedObjectModel) throws {
    let known = Self.recent.withLock { $0 }
    if let known, known.model == model {
      self = known.archived
      return
    }
    do {
      let encoded = try ModelArchive.encode(model)
      bytes = try Deflate.deflate(encoded.bytes)
      leftOut = encoded.leftOut.map { .init($0) }
    } catch let error as ModelFileError {
      omitted = error.problem.words
    }
    Self.recent.withLock { [self] in $0 = (model, self) }
  }
}
