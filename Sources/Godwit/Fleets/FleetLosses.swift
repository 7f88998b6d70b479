import Fleets
import Mapping
import MigrationCoordinator

extension StoreFleet.Status {
  /// Losses of one kind, cause and name, summed over the stores of a fleet.
  public struct Loss: Hashable, Sendable, Encodable {
    /// The kind of data: an entity, an attribute and so on.
    public var kind: String
    /// Why it is lost.
    public var cause: String
    /// The entity.
    public var entity: String
    /// The property; nil if whole objects or rows are lost.
    public var property: String?
    /// How many objects, values, references or rows are lost in all stores.
    public var count: Int64
    /// The number of stores.
    public var stores: Int
    /// The loss as a sentence.
    public var sentence: String
  }

  /// The losses of all stores that are done, those of the most stores first.
  ///
  /// Stores that an earlier version has migrated, or whose result was rebuilt, have none here.
  public var losses: [Loss] {
    tally.losses.map { sum in
      Loss(
        kind: sum.loss.kind, cause: sum.loss.cause, entity: sum.loss.entity,
        property: sum.loss.property, count: sum.loss.count, stores: sum.stores,
        sentence: sum.loss.sentence)
    }
  }
}

extension StoreFleet.Outcome {
  /// The losses of the store, a sentence each; those of one kind, cause and name in one.
  public var losses: [String] { (core.lost ?? []).map(\.sentence) }
}

extension FleetLoss {
  /// Takes a loss of a migration, without the keys.
  init(_ loss: Loss) {
    self.init(
      kind: loss.kind.rawValue, cause: loss.cause.rawValue, entity: loss.entity,
      property: loss.property, count: loss.count, reason: loss.reason)
  }

  /// The loss as a sentence.
  fileprivate var sentence: String {
    guard let kind = Loss.Kind(rawValue: kind), let cause = LossCause(rawValue: cause) else {
      return "\(entity)\(property.map { ".\($0)" } ?? ""): \(GroupedText(count)) lost."
    }
    var loss = Loss(kind: kind, cause: cause, entity: entity, property: property, count: count)
    loss.reason = reason
    return loss.sentence
  }
}
