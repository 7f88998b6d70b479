import Mapping

/// Why a loss was allowed.
package enum LossGround: String, Hashable, Codable, Sendable, CaseIterable {
  /// `--allow-loss` names its entity or property.
  case named
  /// `--allow-loss` without a name allows any loss.
  case anything
  /// A choice about values, duplicates, several objects or history implies it.
  case choice
  /// The new model lacks what is lost, which needs no consent.
  case model
}

extension LossDecision {
  /// Why a loss that a migration has reported was allowed.
  package func ground(for loss: Loss) -> LossGround {
    if consent.covers(loss) { return consent == .all ? .anything : .named }
    return loss.cause.isByModel ? .model : .choice
  }
}
