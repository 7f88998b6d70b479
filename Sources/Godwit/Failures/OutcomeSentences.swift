package import MigrationCoordinator
import StoreFormat

extension OutcomeWords {
  /// The sentences and exit statuses of the tool.
  package static let sentences = OutcomeWords(
    failure: { error in
      let failure = MigrationFailure(error)
      return (failure.exitStatus.rawValue, failure.sentences)
    }, losses: { ($0.salvage?.lossSentences ?? []) + $0.losses.map(\.sentence) })
}
