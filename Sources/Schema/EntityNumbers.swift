package import ObjectModel

/// The number by which a store knows an entity, the column `Z_ENT`.
package struct EntityNumber: RawRepresentable, Hashable, Comparable, Codable, Sendable {
  /// The number, 1 or more.
  package var rawValue: Int64
  /// Takes a number from a store or a plan.
  package init(rawValue: Int64) { self.rawValue = rawValue }

  /// Whether the first entity comes before the second, depth first.
  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The numbers that a model gives its entities: 1 and up, depth first, siblings without regard to
/// case.
package struct EntityNumbers: Hashable, Sendable {
  /// The entity names, in the order of their numbers.
  package let names: [String]
  private let numbers: [String: EntityNumber]

  /// Numbers all entities of a model, abstract ones as well.
  package init(_ model: ManagedObjectModel) {
    names = model.roots.flatMap { model.family(of: $0.name) }.map(\.name)
    numbers = Dictionary(
      uniqueKeysWithValues: names.enumerated().map {
        ($1, EntityNumber(rawValue: Int64($0 + 1)))
      })
  }

  /// The number of the entity with that name; nil where the model has none.
  package subscript(_ name: String) -> EntityNumber? { numbers[name] }

  /// The name of the entity with that number, or nil.
  package subscript(_ number: EntityNumber) -> String? {
    guard number.rawValue >= 1, number.rawValue <= Int64(names.count) else { return nil }
    return names[Int(number.rawValue) - 1]
  }
}
