/// Data that a migration of a store has dropped or changed, or the sum over several stores.
package struct FleetLoss: Codable, Hashable, Sendable {
  /// The kind of data: an entity, an attribute and so on.
  package var kind: String
  /// Why it is lost.
  package var cause: String
  /// The entity.
  package var entity: String
  /// The property; nil if whole objects or rows are lost.
  package var property: String?
  /// How many objects, values, references or rows are lost.
  package var count: Int64
  /// The end of the sentence, where the cause does not give it.
  package var reason: String?

  /// Creates a loss.
  package init(
    kind: String, cause: String, entity: String, property: String?, count: Int64,
    reason: String? = nil
  ) {
    (self.kind, self.cause, self.entity) = (kind, cause, entity)
    (self.property, self.count, self.reason) = (property, count, reason)
  }

  /// The text that losses of one kind, cause, reason and name share.
  var key: String { "\(kind) \(cause) \(entity).\(property ?? "") \(reason ?? "")" }

  /// The most losses of one store that are recorded: their names come from models.
  private static let mostPerStore = 100

  /// Losses with those of one kind, cause, reason and name summed; the first ones, if there are
  /// many.
  package static func summed(_ losses: [FleetLoss]) -> [FleetLoss] {
    var places: [String: Int] = [:]
    var sums: [FleetLoss] = []
    for loss in losses {
      if let place = places[loss.key] {
        sums[place].count += loss.count
      } else if sums.count < mostPerStore {
        places[loss.key] = sums.count
        sums.append(loss)
      }
    }
    return sums
  }
}
