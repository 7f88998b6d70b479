/// What a finished result or stage lacks of its store: each run that takes it over has to accept
/// that.
package struct MadeLosses: Codable, Hashable, Sendable {
  /// Without keys, which no decision needs.
  private var found: [Loss]
  /// What choices removed, which is a loss only where none is permitted.
  private var chosen: [Loss]
  /// What the run was permitted to lose; nil where that is not known.
  private var consent: LossConsent?

  /// Takes the losses of a complete report.
  package init(_ report: MigrationReport, consent: LossConsent) {
    self.init(found: report.losses, chosen: report.chosenLosses, consent: consent)
  }

  init(found: [Loss], chosen: [Loss], consent: LossConsent? = nil) {
    func withoutKeys(_ losses: [Loss]) -> [Loss] {
      losses.map { loss in
        var loss = loss.beforeDiscarding
        loss.keys = []
        return loss
      }
    }
    (self.found, self.chosen) = (withoutKeys(found), withoutKeys(chosen))
    self.consent = consent
  }

  /// Checks that a request accepts them.
  ///
  /// - Throws: `MigrationError.losses`.
  package func requireConsent(of request: MigrationRequest) throws {
    let decision = request.lossDecision
    let open = (request.failsOnLoss ? found + chosen : found).filter { loss in
      // The same names cover the same properties of subentities.
      consent != request.lossConsent || decision.groundAfterwards(for: loss) == nil
    }
    if let refusal = decision.decide(open, keepsNothing: false).refusal {
      throw MigrationError.losses(store: request.store, refusal)
    }
  }
}
