/// One difference between the objects of two stores.
package struct StoreDifference: Hashable, Sendable {
  /// What differs.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The first store has the object alone.
    case onlyInFirst
    /// The second store has the object alone.
    case onlyInSecond
    /// The object is of another entity.
    case entity
    /// An attribute or a to-one relationship has another value.
    case value
    /// A to-many relationship whose inverse is one too has an object in one store alone.
    case member
    /// The objects of an ordered relationship are the same, and their order is not.
    case order
  }

  /// What differs.
  package var kind: Kind
  /// The entity of the object; its table where the model has no entity of its number.
  package var entity: String
  /// The key of its row (`Z_PK`).
  package var key: Int64
  /// The property; nil where the object itself is meant.
  package var property: String?
  /// What the first store has; nil for nothing.
  package var first: String?
  /// What the second store has; nil for nothing.
  package var second: String?
}

/// What a comparison of two stores has found: everything counted, and the first differences.
package struct StoreDifferences: Sendable {
  /// The objects of one entity.
  package struct Counts: Hashable, Sendable {
    /// Objects whose key is in both stores.
    package var compared: Int64 = 0
    /// Objects that the first store has alone.
    package var onlyInFirst: Int64 = 0
    /// Objects that the second store has alone.
    package var onlyInSecond: Int64 = 0
    /// Objects of both stores whose rows differ.
    package var differing: Int64 = 0
  }

  /// The first differences, table by table in the order of keys.
  package private(set) var differences: [StoreDifference] = []
  /// All differences, by kind.
  package private(set) var counts: [StoreDifference.Kind: Int64] = [:]
  /// The objects, by entity.
  package internal(set) var entities: [String: Counts] = [:]
  /// Differences of properties, by `Entity.property`.
  package private(set) var properties: [String: Int64] = [:]
  /// Values that could not be compared, by `Entity.property`, and why the first could not.
  package private(set) var notCompared: [String: (count: Int64, why: String)] = [:]
  /// Tables that could not be compared, and why.
  package internal(set) var tablesNotCompared: [String] = []

  private let limit: Int

  /// - Parameter limit: how many differences are kept.
  init(limit: Int) { self.limit = limit }

  /// The number of all differences.
  package var total: Int64 { counts.values.reduce(0, +) }

  /// Counts a difference that has no values.
  mutating func note(
    _ kind: StoreDifference.Kind, of entity: String, key: Int64, property: String? = nil
  ) {
    note(kind, of: entity, key: key, property: property) { (nil, nil) }
  }

  /// Counts a difference, whose values are requested only if it is kept.
  mutating func note(
    _ kind: StoreDifference.Kind, of entity: String, key: Int64, property: String? = nil,
    values: () throws -> (String?, String?)
  ) rethrows {
    counts[kind, default: 0] += 1
    switch kind {
    case .onlyInFirst: entities[entity, default: Counts()].onlyInFirst += 1
    case .onlyInSecond: entities[entity, default: Counts()].onlyInSecond += 1
    case .entity, .value, .member, .order: break
    }
    if let property { properties["\(entity).\(property)", default: 0] += 1 }
    guard differences.count < limit else { return }
    let (first, second) = try values()
    differences.append(
      StoreDifference(
        kind: kind, entity: entity, key: key, property: property, first: first, second: second))
  }

  /// Counts a value that cannot be compared.
  mutating func noteNotCompared(_ name: String, why: String) {
    let known = notCompared[name] ?? (0, why)
    notCompared[name] = (known.count + 1, known.why)
  }
}
