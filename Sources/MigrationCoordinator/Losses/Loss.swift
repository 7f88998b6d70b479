package import Mapping
package import ObjectModel

/// Data of a store that have no place in the result.
package struct Loss: Hashable, Codable, Sendable {
  package enum Kind: String, Hashable, Codable, Sendable {
    /// Objects.
    case entity
    /// Values that are not nil.
    case attribute
    /// References or pairs.
    case relationship
    /// Rows that stand for nothing that the model knows.
    case row
  }

  package var kind: Kind
  package var cause: LossCause
  /// The source entity; of a row, the root entity whose table it is in.
  package var entity: String
  package var property: String?
  package var count: Int64
  /// Some keys of what is lost, the lowest first, where they are known.
  package var keys: [Int64]

  package init(
    kind: Kind, cause: LossCause = .removed, entity: String, property: String?, count: Int64,
    keys: [Int64] = []
  ) {
    self.kind = kind
    self.cause = cause
    self.entity = entity
    self.property = property
    self.count = count
    self.keys = keys
  }

  /// What a consent calls it: `Entity` or `Entity.property`.
  package var name: String { property.map { "\(entity).\($0)" } ?? entity }
}

/// What whoever migrates allows to be lost.
package enum LossConsent: Hashable, Sendable {
  case none
  case all
  /// Whatever is lost of these entities (`Entity`) or of these properties (`Entity.property`).
  case some(Set<String>)

  package func covers(_ loss: Loss) -> Bool {
    switch self {
    case .none: false
    case .all: true
    case .some(let names): names.contains(loss.entity) || names.contains(loss.name)
    }
  }

  /// The names that are none of an entity or a property of these models, and those that are: of a
  /// property that an entity lacks, the entity's.
  package func unknownNames(
    _ models: [ManagedObjectModel]
  ) -> (unknown: [String], known: [String]) {
    guard case .some(let names) = self else { return ([], []) }
    let entities = models.flatMap { model in model.entities.map { (model, $0) } }
    func members(name: String) -> [String] {
      entities.filter { $1.name == name }.flatMap { model, entity in
        model.allAttributes(of: entity).map(\.name)
          + model.allRelationships(of: entity).map(\.name)
      }.map { "\(name).\($0)" }
    }
    var unknown: [String] = []
    var known: Set<String> = []
    for name in names.sorted() {
      let entity = name.split(separator: ".", maxSplits: 1).first.map(String.init) ?? name
      let properties = members(name: entity)
      let isEntity = entities.contains { $1.name == entity }
      if name == entity ? isEntity : properties.contains(name) { continue }
      unknown.append(name)
      known.formUnion(isEntity ? properties : entities.map(\.1.name))
    }
    return (unknown, known.sorted())
  }
}

/// Losses that keep a migration from being done.
package struct LossRefusal: Hashable, Sendable {
  /// All losses, those that are allowed among them.
  package var losses: [Loss]
  /// Those that are not.
  package var refused: [Loss]
  /// Whether it is the request that forbids losses, even those that go with the model.
  package var isForbidden: Bool
  /// Why the one step that would keep what a detour loses cannot be inferred.
  package var directRefusals: [Refusal] = []
}

/// Decides which losses are allowed.
package struct LossDecision: Hashable, Sendable {
  package var consent: LossConsent
  /// Whether nothing may be lost but what the consent names.
  package var failsOnLoss: Bool
  /// Whether the only store that has the data is removed in the end.
  package var discardsOld: Bool

  package init(consent: LossConsent, failsOnLoss: Bool, discardsOld: Bool) {
    self.consent = consent
    self.failsOnLoss = failsOnLoss
    self.discardsOld = discardsOld
  }

  /// The losses with the causes that count, and what keeps them from being accepted.
  ///
  /// What goes with the model is allowed unless it is all that there is, or the last of it.
  package func decide(
    _ losses: [Loss], keepsNothing: Bool
  ) -> (losses: [Loss], refusal: LossRefusal?) {
    let causes = losses.map { loss in
      var loss = loss
      if loss.cause.isByModel, keepsNothing { loss.cause = .allObjects }
      if loss.cause.isByModel, discardsOld { loss.cause = .lastCopy }
      return loss
    }
    let refused = causes.filter { loss in
      !consent.covers(loss) && (failsOnLoss || !loss.cause.isByModel)
    }
    guard !refused.isEmpty else { return (causes, nil) }
    return (causes, LossRefusal(losses: causes, refused: refused, isForbidden: failsOnLoss))
  }
}
