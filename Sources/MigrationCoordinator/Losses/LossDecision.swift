import Mapping

/// Decides which losses are accepted.
package struct LossDecision: Hashable, Sendable {
  /// The losses that the user accepts.
  package var consent: LossConsent
  /// Whether every loss needs consent, even those that the destination model implies.
  package var failsOnLoss: Bool
  /// Whether the source store, the only other copy of the data, is removed at the end.
  package var discardsOld: Bool
  /// Whether the user chose that values become the nearest of the new type.
  package var convertsValues = false
  /// Whether persistent history is dropped by the user's choice.
  package var dropsHistory = false

  /// Creates the decision of a request; `MigrationRequest.lossDecision` is the usual one.
  package init(consent: LossConsent, failsOnLoss: Bool, discardsOld: Bool) {
    self.consent = consent
    self.failsOnLoss = failsOnLoss
    self.discardsOld = discardsOld
  }

  /// Returns the losses with their final causes, and a refusal unless all of them are accepted.
  ///
  /// A loss that the destination model implies needs no consent, unless it is all of the data or
  /// the last copy of it.
  package func decide(
    _ losses: [Loss], keepsNothing: Bool
  ) -> (losses: [Loss], refusal: LossRefusal?) {
    let causes = lost(of: losses).map { loss in
      var loss = loss
      if loss.cause == .removed, keepsNothing { loss.cause = .allObjects }
      if loss.cause == .removed, discardsOld { loss.cause = .lastCopy }
      return loss
    }
    let refused = causes.filter { ground(for: $0) == nil }
    guard !refused.isEmpty else { return (causes, nil) }
    return (
      causes,
      LossRefusal(
        losses: causes, refused: refused, isForbidden: failsOnLoss,
        isImplied: refused.allSatisfy { impliedGround(for: $0.cause) != nil })
    )
  }

  /// Returns the losses without references that lead nowhere and are allowed, which the result
  /// keeps.
  package func lost(of losses: [Loss]) -> [Loss] {
    losses.filter { $0.cause != .dangling || !consent.covers($0) }
  }

  /// Why a loss is allowed; nil where it is not.
  package func ground(for loss: Loss) -> LossGround? {
    if consent.covers(loss) { return consent == .all ? .anything : .named }
    return failsOnLoss ? nil : impliedGround(for: loss.cause)
  }

  /// Why a loss of a migration that is done was allowed.
  ///
  /// Without the models, it is unknown which subentities a name covers, but only names that the
  /// migration accepted can have allowed it.
  package func groundAfterwards(for loss: Loss) -> LossGround? {
    ground(for: loss) ?? (consent.namesProperty(of: loss) ? .named : nil)
  }

  /// Why a loss of this cause is allowed without `--allow-loss`; nil where it is not.
  private func impliedGround(for cause: LossCause) -> LossGround? {
    switch cause {
    case .removed: .model
    case .severalObjects, .duplicate, .outsideModel: .choice
    case .conversion: convertsValues ? .choice : nil
    case .history: dropsHistory ? .choice : nil
    case .filter, .policy, .unmappedEntity, .outsideConfiguration, .unmappedProperty,
      .unmappedPair, .order, .elsewhere, .collision, .unknownEntity, .unknownReference, .dangling,
      .missingReference,
      .missingKey, .index, .cloudKit, .allObjects, .detour, .downgrade, .lastCopy:
      nil
    }
  }
}
