import Mapping
import ObjectModel
import Planning
import RowPrograms
import StoreFormat
package import Survey
package import SystemPackage

extension MigrationRequest {
  /// The rules by which this request accepts losses.
  package var lossDecision: LossDecision {
    // That of a stage has an output of its own, and discards what the whole migration does.
    let discards = discardsOld && (output == nil || isIntermediate)
    var decision = LossDecision(
      consent: lossConsent.including(inheritedConsent), failsOnLoss: failsOnLoss,
      discardsOld: discards)
    decision.convertsValues = rules.defectChoices.values == .convert
    decision.dropsHistory = rules.history == .drop
    return decision
  }
}

extension LossDecision {
  /// Returns the losses with their final causes.
  ///
  /// - Throws: `MigrationError.losses`, if one of them is not accepted.
  package func require(_ losses: [Loss], of survey: StoreSurvey, store: FilePath) throws -> [Loss] {
    let lost = losses.filter {
      // What a choice dropped is no part of the store that is counted.
      $0.kind == .entity && $0.cause != .missingReference
        || $0.cause == .unknownEntity && $0.entity != Loss.historyName
    }
    .reduce(0) { $0 + $1.count }
    // Lost objects are counted and empty tables are estimated as empty, so an estimate of twice as
    // many shows that some are kept. To count all would read the header of every leaf.
    let isPart = lost == 0 || survey.rowCounts.estimatedTotal / 2 > lost
    let keepsNothing = try !isPart && lost >= survey.rowCounts.total()
    let decision = decide(losses, keepsNothing: keepsNothing)
    if let refusal = decision.refusal {
      throw MigrationError.losses(store: store, refusal)
    }
    return decision.losses
  }
}

/// Checks on losses that need the models of a route only.
struct LossRules {
  let request: MigrationRequest
  let survey: StoreSurvey
  let stages: [Stage]

  /// The models of all versions on the route.
  private var models: [ManagedObjectModel] {
    stages.flatMap(\.steps).map(\.source.model)
      + [stages.last?.destination.model].compactMap(\.self)
  }

  /// The properties of subentities that the consent covers.
  var inheritedConsent: Set<String> { request.lossConsent.inheritedNames(in: models) }

  /// Checks that the consent names what exists, and that the target is not the model of another
  /// application.
  ///
  /// - Throws: `MigrationError.consentUnknown` or `foreignModel`.
  func check() throws {
    guard let last = stages.last else { return }
    let names = request.lossConsent.unknownNames(models)
    guard names.unknown.isEmpty else {
      throw MigrationError.consentUnknown(names.unknown, known: names.known)
    }
    if isForeign, request.lossConsent != .all {
      throw MigrationError.foreignModel(
        store: request.store, survey.metadata.versionHashes, target: request.target,
        last.destination.hashes)
    }
  }

  /// Whether no entity of the store becomes one of the target, by its name or a renaming
  /// identifier.
  private var isForeign: Bool {
    guard let last = stages.last, !survey.model.entities.isEmpty,
      stages.allSatisfy({ $0.steps.allSatisfy(\.mappings.isEmpty) })
    else { return false }
    let wanted = Set(last.destination.model.entities.map(\.name))
    var names = Set(survey.model.entities.map(\.name))
    if !names.isDisjoint(with: wanted) { return false }
    for case .rows(let steps) in stages.map(\.method) {
      for step in steps {
        names = Set(names.compactMap { step.mapping.destinationName(ofSource: $0) })
      }
    }
    return names.isEmpty
  }
}
